"""`assignor-sim record`: store what scenarios come to, for `verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.failures import told_to_the_user


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
    from assignor_sim import regression
    from assignor_sim.progress import progress
    from assignors.errors import AssignorError
    from reports.stored.results import StoredError
    from scenarios.load import ScenarioError

    with told_to_the_user(ScenarioError, AssignorError, StoredError, OSError):
        for file in regression.scenario_files(scenarios):
            with progress() as tell:
                outcome = regression.record(file, assignor or (), tell)
            print(f"{regression.stored_beside(file)}: {outcome}")
