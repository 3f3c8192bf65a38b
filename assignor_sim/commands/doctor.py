"""`assignor-sim doctor`: what is missing on this machine, and for which command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from assignor_sim.console.exits import DIFFERENT
from assignor_sim.console.formats import Format, OutputFormat, print_in_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assignor_sim.console.machine_checks import Check


def doctor(
    format_: Format = OutputFormat.TABLE,
) -> None:
    """Check what the commands need on this machine; exit with code 1 if something is missing.

    Checked are Python, Java, Spark, kafka-python, the terminal and the temporary folder.

    Example: [bold]assignor-sim doctor[/bold]
    """
    from dataclasses import asdict

    from assignor_sim.console.machine_checks import check_machine
    from reports.render.terminal.console import terminal_width
    from reports.render.terminal.facts import FactTable

    checks = check_machine(terminal_width(None))
    records = [{**asdict(check), "status": check.status} for check in checks]
    keys = ("status", "name", "found", "problem", "commands")
    table = FactTable("checks", "Checks", dict(zip(keys, keys, strict=True)), records)
    print_in_format(format_, text=lambda: _text(checks), record=lambda: records, tables=lambda: [table])
    if any(check.status == "missing" for check in checks):
        raise typer.Exit(DIFFERENT)


def _text(checks: Sequence[Check]) -> str:
    """Return a line per check, then what is missing and which commands are affected."""
    from rich.text import Text

    from reports.analysis.text import printable
    from reports.render.terminal.console import BAD, GOOD, QUIET, grid, lines

    table = grid()
    table.padding = (0, 2, 0, 0)
    table.show_header = False
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    for check in checks:
        about = Text(printable(check.found))
        if check.problem:
            about.append(f"{'; ' if check.found else ''}{printable(check.problem)}")
        if check.commands:
            about.append(f"\nneeded by: {', '.join(check.commands)}", QUIET)
        style = {"OK": GOOD, "missing": BAD}.get(check.status, "")
        table.add_row(Text(check.status, style), Text(check.name), about)
    missing = [check for check in checks if check.status == "missing"]
    affected = sorted({command for check in missing for command in check.commands})
    if any(not check.commands for check in missing):
        result = "Commands may fail until this is corrected."
    elif affected:
        result = f"All commands work except {', '.join(affected)}."
    else:
        result = "All commands work."
    return lines([table, Text(), Text(result)])
