"""The arguments of commands that take scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.console.completion import complete_scenario

ScenarioFile = Annotated[
    Path,
    typer.Argument(
        help="Scenario file, or name of a shipped scenario.", metavar="SCENARIO", autocompletion=complete_scenario
    ),
]
ScenarioFiles = Annotated[
    list[Path],
    typer.Argument(
        help="Scenario files, directories of them, or names of shipped ones.",
        metavar="SCENARIO…",
        autocompletion=complete_scenario,
    ),
]
