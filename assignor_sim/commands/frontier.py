"""`assignor-sim frontier`: the trade-off between cross-rack traffic and task moves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.console.completion import complete_assignor
from assignor_sim.console.exits import BAD_INPUT, exit_on_error, print_error
from assignor_sim.console.formats import Format, OutputFormat, print_report
from assignor_sim.console.scenario_arguments import ScenarioFile


def frontier(
    scenario: ScenarioFile,
    assignor: Annotated[
        str | None,
        typer.Option(
            help="Assignor that runs the scenario: a label or a name; the scenario's first by default.",
            autocompletion=complete_assignor,
        ),
    ] = None,
    round_: Annotated[
        int | None,
        typer.Option("--round", help="Rebalance; by default the last one with the longest frontier.", min=1),
    ] = None,
    slack: Annotated[
        int, typer.Option(help="Number of tasks by which a client may deviate from its share.", min=0)
    ] = 0,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Change the scenario. Repeatable.", metavar="PATH=VALUE")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed; the scenario's first by default.", min=0)] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="File for the figure: .png, .svg or .pdf.", metavar="FILE")
    ] = None,
    format_: Format = OutputFormat.TABLE,
) -> None:
    """Compute every assignment that is optimal for some ratio of traffic_cost to non_overlap_cost.

    Example: [bold]assignor-sim frontier a_partition_changes_rack[/bold]
    """
    from assignor_sim.api.frontier import FrontierError
    from assignor_sim.api.frontier import frontier as compute_frontier
    from assignor_sim.api.loading import load
    from assignor_sim.console.key_value_options import parse_overrides
    from assignor_sim.text_files import check_output
    from assignors.errors import AssignorError
    from reports.analysis.frontier import record
    from reports.render.frontier import frontier_report
    from scenarios.load import ScenarioError

    _check_out(out)
    with exit_on_error(ScenarioError, AssignorError, FrontierError, OSError):
        check_output(out, "--out", makes_folder=True)
        loaded = load(scenario, parse_overrides(set_))
        front = compute_frontier(loaded, assignor, round=round_, slack=slack, seed=seed)
    print_report(format_, frontier_report(front), lambda: record(front))
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
