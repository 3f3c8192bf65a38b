"""`assignor-sim validate`: check scenario files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assignor_sim.console.completion import complete_scenario
from assignor_sim.console.exits import BAD_INPUT, print_error
from assignor_sim.console.formats import Format, OutputFormat

if TYPE_CHECKING:
    from scenarios.sampling.blueprint import Blueprint


def validate(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Scenario files, or names of shipped scenarios.", metavar="FILE…", autocompletion=complete_scenario
        ),
    ],
    format_: Format = OutputFormat.TABLE,
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
        if format_ is OutputFormat.TABLE:
            print(f"{file}: OK ({scenario.name})")
            for warning in scenario.warnings:
                print(f"  warning: {warning}")
            for note in notes:
                print(f"  note: {note}")
    if format_ is not OutputFormat.TABLE:
        from reports.render.terminal.facts import FactTable, render

        titles = ("file", "valid", "name", "errors", "warnings", "notes")
        print(
            render([FactTable("files", "Files", dict(zip(titles, titles, strict=True)), rows)], format_.value), end=""
        )
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
