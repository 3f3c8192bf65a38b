"""`assignor-sim diff`: changes of one rebalance, or differences between two assignors in it."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.console.exits import BAD_INPUT, exit_on_error


class DiffFormat(StrEnum):
    """Output format of a diff."""

    TABLE = "table"
    JSON = "json"


def diff(
    directory: Annotated[Path, typer.Argument(help="Result directory of run --out.", metavar="DIR")],
    round_: Annotated[int, typer.Option("--round", help="Number of the rebalance.", min=1, metavar="N")],
    assignor: Annotated[
        list[str] | None,
        typer.Option(help="Label of an assignor; given twice, the two are compared."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the run; the first by default.")] = None,
    format_: Annotated[DiffFormat, typer.Option("--format", help="Output format.")] = DiffFormat.TABLE,
) -> None:
    """Show which clients lost and gained tasks in a rebalance, and why; or how two assignors differ in it.

    Example: [bold]assignor-sim diff out/first --round 2 --assignor HA --assignor 'HA min_traffic'[/bold]
    """
    import json

    from reports.analysis.comparison import TableError
    from reports.analysis.runs.round_diff import diff_assignors, diff_rounds, record
    from reports.analysis.runs.run_rows import RunLookupError, select_assignors
    from reports.analysis.text import printable
    from reports.render.terminal.round_diff import draw
    from simulator.results.result_directory import ResultsError, read_results

    if len(assignor or ()) > 2:
        print("--assignor: expected one, or two to compare", file=sys.stderr)
        raise typer.Exit(BAD_INPUT)
    with exit_on_error(ResultsError, TableError, RunLookupError):
        tables, _ = read_results(directory)
        shown = select_assignors(tables, assignor or ())
        if assignor and len(assignor) == 2:
            diffs = [diff_assignors(tables, (assignor[0], assignor[1]), round_, seed)]
        else:
            diffs = [diff_rounds(tables, each, round_, seed) for each in shown]
    if format_ is DiffFormat.JSON:
        print(json.dumps([record(each) for each in diffs], indent=2, ensure_ascii=False))
    else:
        print(draw(diffs), end="")
        moved = [(each, task) for each in diffs if len(each.assignors) == 1 for task in each.tasks if task.is_move]
        if moved:
            each, task = moved[0]
            command = ["assignor-sim", "explain", str(directory), "--task", task.task, "--round", str(round_)]
            print(f"\nMore of one task: {printable(shlex.join([*command, '--assignor', each.assignors[0]]))}")
