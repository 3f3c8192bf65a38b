"""`assignor-sim fuzz`: search scenarios in which an assignor violates an invariant, or is far from the optimum."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.console.assignor_options import AssignorMemory, AssignorTimeout, Isolate, call_limits
from assignor_sim.console.completion import complete_assignor
from assignor_sim.console.exits import DIFFERENT, INTERRUPTED, exit_on_error, exit_with_error
from assignor_sim.console.formats import FormatOfTables, OutputFormat, print_report
from assignor_sim.console.key_value_options import parse_configs


def fuzz(
    assignor: Annotated[
        str, typer.Option(help="The assignor, as in run.", autocompletion=complete_assignor)
    ] = "high_availability",
    config: Annotated[
        list[str] | None, typer.Option(help="Streams config of the assignor. Repeatable.", metavar="KEY=VALUE")
    ] = None,
    cases: Annotated[
        int | None, typer.Option(help="Number of cases; default: 400 without --until.", min=1, metavar="N")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Time after which no further case starts, such as 10m.", metavar="DURATION")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the search.", min=0)] = 1,
    corpus: Annotated[
        Path | None,
        typer.Option(help="Folder of the found cases and kept inputs; an existing one is continued.", metavar="DIR"),
    ] = None,
    objective: Annotated[
        str, typer.Option(help="Key of the metric whose highest value is searched.", metavar="METRIC")
    ] = "cost_above_bound",
    workers: Annotated[int | None, typer.Option(help="Number of processes; default: one per CPU.", min=1)] = None,
    assignor_timeout: AssignorTimeout = None,
    isolate: Isolate = False,
    assignor_memory: AssignorMemory = None,
    format_: FormatOfTables = OutputFormat.TABLE,
) -> None:
    """Search scenarios in which an assignor violates an invariant, or is far from the optimum.

    Exit codes: 0 if no invariant is violated; 1 if one is, now or in a case of the corpus; 2 for invalid input.
    The corpus is complete after every batch; verify replays its cases.

    Example: [bold]assignor-sim fuzz --assignor mypkg:Mine --until 10m --corpus corpus[/bold]
    """
    limits = call_limits(assignor_timeout, isolate, assignor_memory)
    from assignor_sim.api.fuzzing import fuzz as search
    from assignor_sim.console.progress import show_progress
    from assignors.errors import AssignorError
    from pipeline.fuzz.corpus import CorpusError
    from pipeline.pool import PoolError
    from reports.analysis.stored.results import StoredResultsError
    from reports.render.fuzz import fuzz_report

    with exit_on_error(AssignorError, CorpusError, PoolError, StoredResultsError, ValueError, OSError):
        until_s = None if until is None else _seconds(until)
        try:
            with show_progress() as on_progress:
                found = search(
                    assignor,
                    cases=cases,
                    until_s=until_s,
                    seed=seed,
                    corpus=corpus,
                    objective=objective,
                    configs=parse_configs("--config", config or ()),
                    limits=limits,
                    workers=workers,
                    on_progress=on_progress,
                )
        except KeyboardInterrupt:
            kept = "Nothing is kept without --corpus." if corpus is None else f"The same command continues {corpus}."
            print(f"\nInterrupted. {kept}", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
    print_report(format_, fuzz_report(found.report), found.record)
    if found.found:
        raise typer.Exit(DIFFERENT)


def _seconds(text: str) -> float:
    from scenarios.language.units import parse_duration_ms

    try:
        return parse_duration_ms(text) / 1000
    except ValueError as error:
        exit_with_error(f"--until: {error}")
