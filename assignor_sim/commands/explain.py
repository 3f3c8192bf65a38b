"""`assignor-sim explain`: why a task moved."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.console.exits import exit_on_error
from assignor_sim.console.formats import TableOrJson


def explain(
    directory: Annotated[Path, typer.Argument(help="Result directory of run --out.", metavar="DIR")],
    task: Annotated[str, typer.Option(help="Task id, as in 0_3.", metavar="TASK")],
    round_: Annotated[
        int | None, typer.Option("--round", help="Rebalance; all by default.", min=1, metavar="N")
    ] = None,
    assignor: Annotated[
        list[str] | None, typer.Option(help="Label of an assignor; all by default. Repeatable.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the run; the first by default.")] = None,
    format_: Annotated[TableOrJson, typer.Option("--format", help="Output format.")] = TableOrJson.TABLE,
) -> None:
    """Explain why a task moved: each step of the assignor, and the cost at which the task would have stayed.

    To find that cost, simulate the scenario stored in DIR again.

    Example: [bold]assignor-sim explain out/first --task 0_3[/bold]
    """
    import json

    from assignor_sim.api.explanations import explain as explain_task
    from assignor_sim.api.results import open as open_result
    from assignor_sim.console.progress import show_progress
    from reports.analysis.comparison import TableError
    from reports.analysis.explanation import ExplanationError
    from reports.analysis.runs.run_rows import RunLookupError
    from reports.render.terminal.explanation import record
    from simulator.results.result_directory import ResultsError

    with exit_on_error(ResultsError, TableError, RunLookupError, ExplanationError):
        result = open_result(directory)
        with show_progress() as on_progress:
            explanations = explain_task(result, task, round_, assignor or (), seed, on_progress)
    for remark in explanations.remarks:
        print(remark, file=sys.stderr)
    if format_ is TableOrJson.JSON:
        print(json.dumps([record(explanation) for explanation in explanations], indent=2, ensure_ascii=False))
    else:
        print(explanations, end="")
