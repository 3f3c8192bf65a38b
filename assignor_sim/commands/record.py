"""`assignor-sim record`: store results of scenarios, for `verify`."""

from __future__ import annotations

from typing import Annotated

import typer

from assignor_sim.console.exits import exit_on_error
from assignor_sim.console.formats import Format, OutputFormat
from assignor_sim.console.scenario_arguments import ScenarioFiles


def record(
    scenarios: ScenarioFiles,
    assignor: Annotated[
        list[str] | None,
        typer.Option(help="Assignor in place of the scenario's, as in run. Repeatable."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Run even if the estimated time or memory exceeds its limit.")
    ] = False,
    format_: Format = OutputFormat.TABLE,
) -> None:
    """Simulate scenarios and store their results beside them, as NAME.expected.json.

    Leave a file unchanged if its results are the same.

    Example: [bold]assignor-sim record scenarios/*.yaml[/bold]
    """
    from assignor_sim.api import regression
    from assignor_sim.console.progress import show_progress
    from assignor_sim.console.run_estimates import announce
    from assignors.errors import AssignorError
    from reports.analysis.stored.results import StoredResultsError
    from reports.render.terminal.facts import FactTable, render
    from scenarios.load import ScenarioError

    rows: list[dict[str, str]] = []
    with exit_on_error(ScenarioError, AssignorError, StoredResultsError, OSError):
        for file in regression.scenario_files(scenarios):
            with show_progress() as on_progress:
                outcome = regression.record(
                    file,
                    assignor or (),
                    on_progress=on_progress,
                    on_estimate=lambda estimate: announce(estimate, may_exceed=force, options="--force"),
                )
            target = regression.stored_results_path(file)
            rows.append({"file": str(target), "outcome": outcome})
            if format_ is OutputFormat.TABLE:
                print(f"{target}: {outcome}")
    if format_ is not OutputFormat.TABLE:
        table = FactTable("files", "Stored results", {"file": "file", "outcome": "outcome"}, rows)
        print(render([table], format_.value), end="")
