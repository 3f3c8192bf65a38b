"""`assignor-sim init`: write a commented starter scenario."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.console.exits import exit_on_error, exit_with_error

_STANDARD_OUTPUT = Path("-")


def init(
    file: Annotated[Path, typer.Argument(help="Scenario file to write; - for standard output.", metavar="FILE")] = Path(
        "scenario.yaml"
    ),
) -> None:
    """Write a commented starter scenario, which runs as it is; an existing file is not replaced.

    Example: [bold]assignor-sim init shop.yaml[/bold]
    """
    from scenarios.shipped import starter_scenario
    from simulator.results.files import write_file

    if file == _STANDARD_OUTPUT:
        print(starter_scenario("starter"), end="")
        return
    if file.is_dir():
        exit_with_error(f"{file}: is a directory (a file: {file / 'scenario.yaml'})")
    if not file.parent.is_dir():
        exit_with_error(f"{file}: the folder {file.parent} does not exist")
    with exit_on_error(OSError):
        if os.path.lexists(file):
            exit_with_error(f"{file}: exists and is not replaced; choose another FILE")
        write_file(file, starter_scenario(file.stem).encode())
    print(f"starter scenario: {file}; replace its figures by yours")
    argument = f"./{file}" if str(file).startswith("-") else str(file)
    print(shlex.join(["assignor-sim", "run", argument, "--out", str(Path("out") / file.stem)]))
