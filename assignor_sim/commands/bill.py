"""`assignor-sim bill`: the bill of cross-rack traffic, what lowers it, and its check against a cost report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assignor_sim.console.completion import complete_assignor
from assignor_sim.console.exits import DIFFERENT, exit_on_error, print_error
from assignor_sim.console.formats import FormatOfTables, OutputFormat, print_report
from assignor_sim.console.scenario_arguments import ScenarioFile

if TYPE_CHECKING:
    from reports.analysis.bill.monthly_bill import MonthlyBill
    from reports.document import Report

_KIND = "bill"
_PAGE = "bill.html"


class BilledResources(StrEnum):
    """The resources whose lines a cost report has."""

    ALL = "all"
    BROKERS = "brokers"


def bill(
    scenario: ScenarioFile,
    assignor: Annotated[
        str | None,
        typer.Option(
            help="Assignor: a label or a name; the scenario's first by default.", autocompletion=complete_assignor
        ),
    ] = None,
    days: Annotated[float, typer.Option(help="Number of days of the bill.", min=0.01, max=36_600)] = 30,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Change the scenario. Repeatable.", metavar="PATH=VALUE")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed; the scenario's first by default.", min=0)] = None,
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
    format_: FormatOfTables = OutputFormat.TABLE,
) -> None:
    """Compute the bill of the traffic between zones and what lowers it; check it against a cost report.

    Exit codes: 0; 1 if the cost report differs by more than the tolerance; 2 for invalid input.

    Example: [bold]assignor-sim bill cross_zone_bill --days 30[/bold]
    """
    from assignor_sim.api.bill import BillError
    from assignor_sim.api.bill import bill as compute_bill
    from assignor_sim.api.loading import load
    from assignor_sim.console.key_value_options import parse_overrides
    from assignor_sim.console.progress import show_progress
    from assignor_sim.console.remarks import print_warnings_and_notes
    from assignors.errors import AssignorError
    from reports.analysis.bill.cost_report import CostReportError, LineFilter, check_bill, read_cost_report
    from reports.render.bill import bill_report
    from scenarios.load import ScenarioError
    from simulator.results.result_directory import ResultsError, check_writable

    with exit_on_error(ScenarioError, AssignorError, BillError, CostReportError, ResultsError):
        if out is not None:
            check_writable(out, _KIND)
        if check is None and (resource or tag):
            raise BillError(f"--{'resource' if resource else 'tag'} requires --check")
        pairs = [text.partition("=") for text in tag or ()]
        if wrong := [text for text, (key, equals, _) in zip(tag or (), pairs, strict=True) if not key or not equals]:
            raise BillError(f"--tag {wrong[0]}: expected KEY=VALUE, as in app=kafka")
        tags = tuple((key.strip(), value.strip()) for key, _, value in pairs)
        report = None if check is None else read_cost_report(check, LineFilter(tuple(resource or ()), tags))
        loaded = load(scenario, parse_overrides(set_))
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
    print_report(format_, report_of_bill, record)
    if out is not None:
        with exit_on_error(ResultsError):
            _write(out, found, report_of_bill, record())
    if out is not None and format_ is OutputFormat.TABLE:
        print(f"\nPage: {out / _PAGE}")
    if compared is not None and not compared.agrees:
        print_error(f"the bill differs from {check} by more than {tolerance:g} %")
        raise typer.Exit(DIFFERENT)


def _write(out: Path, bill: MonthlyBill, report: Report, record: Mapping[str, Any]) -> None:
    """Write the page and the record."""
    from reports.render.report_formats import report_page
    from simulator.results.result_directory import write_results

    files = {
        _PAGE: report_page(report).encode(),
        "bill.json": (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode(),
    }
    write_results(out, {}, {"kind": _KIND, "scenario": bill.scenario, "assignor": bill.assignor}, files)
