"""`assignor-sim explain`: why a task moved."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assignor_sim.console.exits import exit_on_error

if TYPE_CHECKING:
    from reports.analysis.explanation import Explanation


class ExplainFormat(StrEnum):
    """How an explanation is printed."""

    TABLE = "table"
    JSON = "json"


def explain(
    directory: Annotated[Path, typer.Argument(help="What run --out wrote.", metavar="DIR")],
    task: Annotated[str, typer.Option(help="The task, as in 0_3.", metavar="TASK")],
    round_: Annotated[int | None, typer.Option("--round", help="Only this round.", min=1, metavar="N")] = None,
    assignor: Annotated[
        list[str] | None, typer.Option(help="Only this one, by its label; all if not given. May be repeated.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the run; the first of each assignor's if not given.")
    ] = None,
    format_: Annotated[ExplainFormat, typer.Option("--format", help="How to print it.")] = ExplainFormat.TABLE,
) -> None:
    """Tell why a task moved: each step with its numbers, and what cost would have kept it.

    Which cost would have is found out by deciding again with others, in the scenario that DIR has kept.

    Example: [bold]assignor-sim explain out/first --task 0_3[/bold]
    """
    import json

    from reports.analysis.comparison import TableError
    from reports.analysis.explanation import ExplanationError
    from reports.analysis.explanation import explain as gather
    from reports.analysis.runs.run_rows import RunLookupError, select_assignors
    from reports.render.terminal.explanation import draw, record
    from simulator.results.result_directory import ResultsError, read_results

    with exit_on_error(ResultsError, TableError, RunLookupError, ExplanationError):
        tables, manifest = read_results(directory)
        shown = select_assignors(tables, assignor or ())
        told = [gather(tables, label, seed, task, round_) for label in shown]
        told = _with_break_evens(directory, tables, manifest, told, round_)
    if format_ is ExplainFormat.JSON:
        print(json.dumps([record(each) for each in told], indent=2, ensure_ascii=False))
    else:
        print(draw(told), end="")


def _with_break_evens(
    directory: Path, tables: dict[str, Any], manifest: dict[str, Any], told: Sequence[Explanation], round_: int | None
) -> list[Explanation]:
    """The same with the costs that would have kept the task, if it can be run again; says so if not."""
    from assignor_sim.api.rerun import rerun
    from assignor_sim.api.stored_scenario import StoredScenarioError
    from assignor_sim.console.progress import show_progress
    from reports.analysis.explanation import explain as gather

    found = []
    with show_progress() as on_progress:
        for each in told:
            if each.lacks_break_evens:
                on_progress(f"{each.assignor}: deciding again with other costs")
                try:
                    again = rerun(directory, tables, manifest, each.assignor, each.seed, each.task)
                    each = gather(again, each.assignor, each.seed, each.task, round_)
                except StoredScenarioError as error:
                    print(f"{error}; so what cost would have kept the task is not known", file=sys.stderr)
            found.append(each)
    return found
