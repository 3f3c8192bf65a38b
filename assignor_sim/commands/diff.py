"""`assignor-sim diff`: changes of one rebalance, or differences between two assignors in it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.console.exits import BAD_INPUT, exit_on_error, print_error
from assignor_sim.console.formats import FormatOfTables, OutputFormat, print_in_format


def diff(
    directory: Annotated[Path, typer.Argument(help="Result directory of run --out.", metavar="DIR")],
    round_: Annotated[int, typer.Option("--round", help="Number of the rebalance.", min=1, metavar="N")],
    assignor: Annotated[
        list[str] | None,
        typer.Option(help="Label of an assignor; given twice, the two are compared."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the run; the first by default.")] = None,
    format_: FormatOfTables = OutputFormat.TABLE,
) -> None:
    """Show which clients lost and gained tasks in a rebalance, and why; or how two assignors differ in it.

    Example: [bold]assignor-sim diff out/first --round 2 --assignor HA --assignor 'HA min_traffic'[/bold]
    """
    from reports.analysis.comparison import TableError
    from reports.analysis.runs.round_diff import diff_assignors, diff_rounds, record
    from reports.analysis.runs.run_rows import RunLookupError, select_assignors
    from reports.analysis.text import printable
    from reports.render.terminal.round_diff import draw
    from reports.render.terminal.round_diff import tables as tables_of
    from simulator.results.result_directory import ResultsError, read_results

    if len(assignor or ()) > 2:
        print_error("--assignor: expected one, or two to compare")
        raise typer.Exit(BAD_INPUT)
    with exit_on_error(ResultsError, TableError, RunLookupError):
        tables, _ = read_results(directory)
        labels = select_assignors(tables, assignor or ())
        if assignor and len(assignor) == 2:
            diffs = [diff_assignors(tables, (assignor[0], assignor[1]), round_, seed)]
        else:
            diffs = [diff_rounds(tables, label, round_, seed) for label in labels]
    print_in_format(
        format_,
        text=lambda: draw(diffs),
        record=lambda: [record(round_diff) for round_diff in diffs],
        tables=lambda: tables_of(diffs),
    )
    if format_ is OutputFormat.TABLE:
        moves = [
            (task.task, round_diff.assignors[0])
            for round_diff in diffs
            if len(round_diff.assignors) == 1
            for task in round_diff.tasks
            if task.is_move
        ]
        if moves:
            task, label = moves[0]
            command = ["assignor-sim", "explain", str(directory), "--task", task, "--round", str(round_)]
            print(f"\nTo explain a move: {printable(shlex.join([*command, '--assignor', label]))}")
