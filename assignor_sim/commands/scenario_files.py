"""`assignor-sim init`, `validate` and `schema`: scenario files before their first run."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assignor_sim.console import options
from assignor_sim.console.messages import BAD_INPUT, exit_on_error, exit_with_error, print_error, print_message

if TYPE_CHECKING:
    from scenarios.sampling.blueprint import Blueprint


def schema(
    output: Annotated[Path, typer.Option("-o", "--output", help="File to write; - for standard output.")] = Path("-"),
) -> None:
    """Write the JSON Schema of scenario files, for completion and checks in editors.

    Example: [bold]assignor-sim schema -o scenario.schema.json[/bold]
    """
    from assignor_sim.text_files import write_text
    from scenarios.schema import format_json_schema

    with exit_on_error(OSError):
        write_text(output, format_json_schema())


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


def validate(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Scenario files, or names of shipped scenarios.",
            metavar="FILE…",
            autocompletion=options.complete_scenario,
        ),
    ],
    format_: options.Format = options.OutputFormat.TABLE,
) -> None:
    """Check scenario files; report every mistake with file and line.

    Also print warnings, such as events that cannot end before the run does, and values inferred from imported files.

    Example: [bold]assignor-sim validate scenarios/*.yaml[/bold]
    """
    from scenarios.load import ScenarioError, load
    from scenarios.shipped import find_scenario

    has_errors = False
    rows: list[dict[str, Any]] = []
    for file in files:
        try:
            scenario = load(find_scenario(file))
        except ScenarioError as error:
            has_errors = True
            print_error(error)
            rows.append({"file": str(file), "valid": False, "errors": [str(mistake) for mistake in error.mistakes]})
            continue
        notes = [*_running_state(scenario.blueprint), *scenario.notes]
        warnings = list(scenario.warnings)
        rows.append({"file": str(file), "valid": True, "name": scenario.name, "warnings": warnings, "notes": notes})
        if format_ is options.OutputFormat.TABLE:
            print(f"{file}: OK ({scenario.name})")
            for warning in scenario.warnings:
                print_message(f"  warning: {warning}", sys.stdout)
            for note in notes:
                print_message(f"  note: {note}", sys.stdout)
    if format_ is not options.OutputFormat.TABLE:
        from reports.document import records_report

        keys = ("file", "valid", "name", "errors", "warnings", "notes")
        options.print_report(format_, records_report("Scenario files", keys, rows), lambda: rows)
    if has_errors:
        raise typer.Exit(BAD_INPUT)


def _running_state(blueprint: Blueprint) -> Iterator[str]:
    """Yield the state of an application that is running at the start of the scenario."""
    from scenarios.language.units import format_duration
    from simulator.world.world import Start

    if blueprint.start is not Start.RUNNING:
        return
    held_tasks = [client.tasks for client in blueprint.clients if client.starts]
    active = sum(len(tasks) for held in held_tasks for tasks in held.active)
    standby = sum(len(tasks) for held in held_tasks for tasks in held.standby)
    due_ms = blueprint.next_rebalance_ms
    due = "" if due_ms is None else f"; a rebalance is due in {format_duration(due_ms)}"
    yield f"starts running: {len(held_tasks)} clients with {active:,} active and {standby:,} standby tasks{due}"
