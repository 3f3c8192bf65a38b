"""`assignor-sim bill` and `frontier`: what cross-rack traffic costs, and the moves that less of it needs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assignor_sim.console import options
from assignor_sim.console.messages import BAD_INPUT, DIFFERENT, exit_on_error, print_error, print_warnings_and_notes
from assignor_sim.console.progress import show_progress

if TYPE_CHECKING:
    from reports.analysis.bill.monthly_bill import MonthlyBill
    from reports.document import Report


def frontier(
    scenario: options.ScenarioFile,
    assignor: Annotated[
        str | None,
        typer.Option(
            help="Assignor that runs the scenario: a label or a name; the scenario's first by default.",
            autocompletion=options.complete_assignor,
        ),
    ] = None,
    round_: Annotated[
        int | None,
        typer.Option("--round", help="Rebalance; by default the last one with the longest frontier.", min=1),
    ] = None,
    slack: Annotated[
        int, typer.Option(help="Number of tasks by which a client may deviate from its share.", min=0)
    ] = 0,
    set_: options.Changes = None,
    seed: options.ScenarioSeed = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="File for the figure: .png, .svg or .pdf.", metavar="FILE")
    ] = None,
    format_: options.Format = options.OutputFormat.TABLE,
) -> None:
    """Compute every assignment that is optimal for some ratio of traffic_cost to non_overlap_cost.

    Example: [bold]assignor-sim frontier a_partition_changes_rack[/bold]
    """
    from assignor_sim.api.frontier import frontier as compute_frontier
    from assignor_sim.api.loading import load
    from assignor_sim.text_files import check_output
    from reports.analysis.frontier import record
    from reports.render.frontier import frontier_report

    _check_out(out)
    with exit_on_error(OSError):
        check_output(out, "--out", makes_folder=True)
        loaded = load(scenario, options.parse_overrides(set_))
        front = compute_frontier(loaded, assignor, round=round_, slack=slack, seed=seed)
    options.print_report(format_, frontier_report(front), lambda: record(front))
    if out is not None:
        from reports.render.figures.run_figures import figure_bytes
        from reports.render.frontier import traffic_against_movement
        from simulator.results.files import write_file

        with exit_on_error(OSError):
            out.parent.mkdir(parents=True, exist_ok=True)
            write_file(out, figure_bytes(traffic_against_movement(front), out.suffix[1:]))


def _check_out(out: Path | None) -> None:
    from reports.render.figures.run_figures import FORMATS

    if out is not None and out.suffix[1:] not in FORMATS:
        print_error(f"--out {out}: a figure ends in {', '.join(f'.{name}' for name in FORMATS)}")
        raise typer.Exit(BAD_INPUT)


_KIND = "bill"
_PAGE = "bill.html"


class BilledResources(StrEnum):
    """The resources whose lines a cost report has."""

    ALL = "all"
    BROKERS = "brokers"


def bill(
    scenario: options.ScenarioFile,
    assignor: Annotated[
        str | None,
        typer.Option(
            help="Assignor: a label or a name; the scenario's first by default.",
            autocompletion=options.complete_assignor,
        ),
    ] = None,
    days: Annotated[float, typer.Option(help="Number of days of the bill.", min=0.01, max=36_600)] = 30,
    set_: options.Changes = None,
    seed: options.ScenarioSeed = None,
    no_savings: Annotated[
        bool, typer.Option("--no-savings", help="Do not simulate the changes that can lower the bill.")
    ] = False,
    check: Annotated[
        Path | None,
        typer.Option(
            help="Cost report to compare with: AWS CUR 2.0 or FOCUS, as .csv, .csv.gz or .parquet; or a folder.",
            metavar="FILE",
        ),
    ] = None,
    resource: Annotated[
        list[str] | None,
        typer.Option(help="With --check: only lines with this resource id, as in 'i-0a*'. Repeatable.", metavar="ID"),
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(help="With --check: only lines with this tag. Repeatable.", metavar="KEY=VALUE"),
    ] = None,
    resources: Annotated[
        BilledResources,
        typer.Option(help="With --check: whether its lines are of brokers and clients (all), or of brokers only."),
    ] = BilledResources.ALL,
    tolerance: Annotated[
        float,
        typer.Option(help="With --check: accepted difference of the dollars, in percent.", min=0, max=1_000),
    ] = 10,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Directory for page and JSON.", metavar="DIR")] = None,
    format_: options.FormatOfTables = options.OutputFormat.TABLE,
) -> None:
    """Compute the bill of the traffic between zones and what lowers it; check it against a cost report.

    Exit codes: 0; 1 if the cost report differs by more than the tolerance; 2 for invalid input.

    Example: [bold]assignor-sim bill cross_zone_bill --days 30[/bold]
    """
    from assignor_sim.api.bill import BillError
    from assignor_sim.api.bill import bill as compute_bill
    from assignor_sim.api.loading import load
    from reports.analysis.bill.cost_report import LineFilter, check_bill, read_cost_report
    from reports.render.bill import bill_report
    from simulator.results.result_directory import check_writable

    with exit_on_error():
        if out is not None:
            check_writable(out, _KIND)
        if check is None and (resource or tag):
            raise BillError(f"--{'resource' if resource else 'tag'} requires --check")
        pairs = [options.split_pair("--tag", text, "KEY=VALUE, as in app=kafka") for text in tag or ()]
        tags = tuple((key.strip(), value.strip()) for key, value in pairs)
        report = None if check is None else read_cost_report(check, LineFilter(tuple(resource or ()), tags))
        loaded = load(scenario, options.parse_overrides(set_))
        print_warnings_and_notes(loaded)
        with show_progress() as on_progress:
            found = compute_bill(
                loaded, assignor, days=days, seed=seed, savings=not no_savings, on_progress=on_progress
            )
    only_brokers = resources is BilledResources.BROKERS
    compared = None if report is None else check_bill(found, report, tolerance / 100, only_brokers=only_brokers)

    def record() -> Mapping[str, Any]:
        return found.record() if compared is None else {**found.record(), "check": compared.record()}

    report_of_bill = bill_report(found, compared)
    options.print_report(format_, report_of_bill, record)
    if out is not None:
        with exit_on_error():
            _write(out, found, report_of_bill, record())
    if out is not None and format_ is options.OutputFormat.TABLE:
        print(f"\nPage: {out / _PAGE}")
    if compared is not None and not compared.agrees:
        print_error(f"the bill differs from {check} by more than {tolerance:g} %")
        raise typer.Exit(DIFFERENT)


def _write(out: Path, bill: MonthlyBill, report: Report, record: Mapping[str, Any]) -> None:
    """Write the page and the record."""
    from assignor_sim.text_files import json_text
    from reports.render.report_formats import report_page
    from simulator.results.result_directory import write_results

    files = {
        _PAGE: report_page(report).encode(),
        "bill.json": json_text(record).encode(),
    }
    write_results(out, {}, {"kind": _KIND, "scenario": bill.scenario, "assignor": bill.assignor}, files)
