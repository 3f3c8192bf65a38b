"""`assignor-sim show`: results of a run, in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.console.column_options import ColumnError, Columns, Wide, parse_columns
from assignor_sim.console.exits import exit_on_error
from assignor_sim.console.formats import OutputFormat


def show(
    directory: Annotated[Path, typer.Argument(help="Result directory of run --out.", metavar="DIR")],
    assignor: Annotated[
        list[str] | None,
        typer.Option(help="Label of an assignor whose rebalances to show; all by default. Repeatable."),
    ] = None,
    format_: Annotated[
        OutputFormat, typer.Option("--format", help="Output format; csv and markdown have the comparison only.")
    ] = OutputFormat.TABLE,
    columns: Columns = None,
    wide: Wide = False,
) -> None:
    """Show results: the comparison, and the rebalances of each assignor's first run.

    Example: [bold]assignor-sim show out/first[/bold]
    """
    import json

    from reports.analysis.comparison import TableError, compare_runs
    from reports.analysis.conclusion import conclude
    from reports.analysis.notes import records
    from reports.analysis.runs.run_rows import RunLookupError, select_assignors
    from reports.render.terminal import rounds as terminal_rounds
    from reports.render.terminal.comparison import render
    from reports.render.terminal.conclusion import draw as draw_conclusion
    from simulator.results.result_directory import ResultsError, read_results

    with exit_on_error(ResultsError, TableError, RunLookupError, ColumnError):
        metrics = parse_columns(columns)
        tables, manifest = read_results(directory)
        labels = select_assignors(tables, assignor or ())
        if format_ is OutputFormat.JSON:
            rounds = [row for row in terminal_rounds.records(tables) if row["assignor"] in labels]
            print(json.dumps({"runs": records(compare_runs(tables)), "rounds": rounds}, indent=2, ensure_ascii=False))
            return
        print(render(tables, format_.value, wide=wide, metrics=metrics), end="")
        if format_ is not OutputFormat.TABLE:
            return
        print(f"\n{draw_conclusion(conclude(tables, [manifest]))}", end="")
        print(terminal_rounds.draw(tables, labels), end="")
