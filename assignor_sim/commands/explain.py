"""`assignor-sim explain`: why tasks moved."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console.exits import exit_on_error
from assignor_sim.console.formats import FormatOfTables, OutputFormat, print_in_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assignor_sim.api.results import RunResult


def explain(
    directory: Annotated[Path, typer.Argument(help="Result directory of run --out.", metavar="DIR")],
    task: Annotated[
        str | None, typer.Option(help="Task id, as in 0_3, to show each step; all moves by default.", metavar="TASK")
    ] = None,
    round_: Annotated[
        int | None, typer.Option("--round", help="Rebalance; all by default.", min=1, metavar="N")
    ] = None,
    assignor: Annotated[
        list[str] | None, typer.Option(help="Label of an assignor; all by default. Repeatable.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the run; the first by default.")] = None,
    format_: FormatOfTables = OutputFormat.TABLE,
) -> None:
    """List the moves of tasks, with reasons and downtimes; with --task, each step of the assignor.

    With --task, the scenario stored in DIR is simulated again to find the cost at which the task would have stayed.

    Example: [bold]assignor-sim explain out/first --round 2[/bold]
    """
    from assignor_sim.api.results import open as open_result
    from reports.analysis.comparison import TableError
    from reports.analysis.explanation import ExplanationError
    from reports.analysis.runs.run_rows import RunLookupError
    from simulator.results.result_directory import ResultsError

    with exit_on_error(ResultsError, TableError, RunLookupError, ExplanationError):
        result = open_result(directory)
        if task is None:
            _list_moves(result, directory, round_, assignor or (), seed, format_)
        else:
            _explain(result, task, round_, assignor or (), seed, format_)


def _list_moves(
    result: RunResult,
    directory: Path,
    round_: int | None,
    assignors: Sequence[str],
    seed: int | None,
    format_: OutputFormat,
) -> None:
    """Print all moves, and the command that explains one of them."""
    from assignor_sim.api.explanations import list_moves
    from reports.analysis.text import printable
    from reports.render.terminal.explanation import record_of_moves, tables_of_moves

    lists = list_moves(result, round_, assignors, seed)
    print_in_format(
        format_,
        text=lambda: str(lists),
        record=lambda: [record_of_moves(move_list) for move_list in lists],
        tables=lambda: tables_of_moves(lists),
    )
    if format_ is not OutputFormat.TABLE:
        return
    moves = [(move_list, move) for move_list in lists for move in move_list.moves if move.role == "active"]
    if moves:
        move_list, move = moves[0]
        command = ["assignor-sim", "explain", str(directory), "--task", move.task, "--round", str(move.round["round"])]
        command += ["--assignor", move_list.assignor, *([] if seed is None else ["--seed", str(seed)])]
        print(f"\nTo show each step of a move:\n{printable(shlex.join(command))}")


def _explain(
    result: RunResult,
    task: str,
    round_: int | None,
    assignors: Sequence[str],
    seed: int | None,
    format_: OutputFormat,
) -> None:
    """Print the explanations of a task."""
    from assignor_sim.api.explanations import explain as explain_task
    from assignor_sim.console.progress import show_progress
    from reports.render.terminal.explanation import record, tables

    with show_progress() as on_progress:
        explanations = explain_task(result, task, round_, assignors, seed, on_progress)
    for remark in explanations.remarks:
        print(remark, file=sys.stderr)
    print_in_format(
        format_,
        text=lambda: str(explanations),
        record=lambda: [record(explanation) for explanation in explanations],
        tables=lambda: tables(explanations),
    )
