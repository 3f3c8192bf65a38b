"""`assignor-sim validate`: check scenario files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.failures import BAD_INPUT


def validate(
    files: Annotated[
        list[Path], typer.Argument(help="Scenario files, or names of shipped scenarios.", metavar="FILE…")
    ],
) -> None:
    """Check scenario files, and name every mistake in them with file and line.

    What was inferred from imported files is listed too.

    Example: [bold]assignor-sim validate scenarios/*.yaml[/bold]
    """
    from scenarios.load import ScenarioError, load
    from scenarios.shipped import find

    wrong = False
    for file in files:
        try:
            scenario = load(find(file))
        except ScenarioError as error:
            wrong = True
            print(error, file=sys.stderr)
        else:
            print(f"{file}: fine ({scenario.name})")
            for note in scenario.notes:
                print(f"  inferred: {note}")
    if wrong:
        raise typer.Exit(BAD_INPUT)
