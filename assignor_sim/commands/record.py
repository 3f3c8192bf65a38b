"""`assignor-sim record`: store what scenarios come to, for `verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.console.exits import exit_on_error


def record(
    scenarios: Annotated[
        list[Path],
        typer.Argument(help="Scenario files, directories of them, or names of shipped ones.", metavar="SCENARIO…"),
    ],
    assignor: Annotated[
        list[str] | None,
        typer.Option(help="Run this one, in place of those that the scenario lists, as in run. May be repeated."),
    ] = None,
) -> None:
    """Run scenarios and store their results beside them, as NAME.expected.json.

    A file whose results are as before is left as it is.

    Example: [bold]assignor-sim record scenarios/*.yaml[/bold]
    """
    from assignor_sim.api import regression
    from assignor_sim.console.progress import show_progress
    from assignors.errors import AssignorError
    from reports.analysis.stored.results import StoredResultsError
    from scenarios.load import ScenarioError

    with exit_on_error(ScenarioError, AssignorError, StoredResultsError, OSError):
        for file in regression.scenario_files(scenarios):
            with show_progress() as on_progress:
                outcome = regression.record(file, assignor or (), on_progress)
            print(f"{regression.stored_results_path(file)}: {outcome}")
