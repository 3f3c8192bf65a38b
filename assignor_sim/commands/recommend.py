"""`assignor-sim recommend`: find Kafka configs that minimize an objective."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.console import options
from assignor_sim.console.messages import DIFFERENT, INTERRUPTED, exit_on_error, print_warnings_and_notes
from assignor_sim.console.progress import show_run_progress


class RecommendFormat(StrEnum):
    """Output format of the recommendation."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    PROPERTIES = "properties"


def recommend(
    scenario: options.ScenarioFile,
    objective: Annotated[
        str,
        typer.Option(
            help="Objective to minimize: arithmetic over usd, cross_rack (GB), moves, restored (GB), downtime and "
            "worst_downtime (s), convergence (min), and keys of metrics.",
            metavar="EXPRESSION",
        ),
    ],
    max_moves: Annotated[
        float | None, typer.Option(help="Maximum number of active task moves of a run.", min=0, metavar="N")
    ] = None,
    max_downtime: Annotated[
        str | None, typer.Option(help="Maximum downtime of all tasks of a run, as in 20s.", metavar="TIME")
    ] = None,
    max_convergence: Annotated[
        str | None, typer.Option(help="Maximum time to converge after any event, as in 30m.", metavar="TIME")
    ] = None,
    max_unprotected_tasks: Annotated[
        int | None,
        typer.Option(
            help="Maximum number of stateful tasks that lose all copies with one rack or one client.",
            min=0,
            metavar="N",
        ),
    ] = None,
    today: options.Today = None,
    assignor: Annotated[
        list[str] | None,
        typer.Option(
            help="Built-in assignor to consider beside the current one, in place of high_availability and "
            "sticky_task_assignor. Repeatable.",
            autocompletion=options.complete_assignor,
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Kafka config key to leave unchanged, or assignor. Repeatable.", metavar="KEY"),
    ] = None,
    runs: Annotated[int, typer.Option(help="Approximate number of simulated runs.", min=20)] = 400,
    seeds: Annotated[int, typer.Option(help="Number of fresh seeds that evaluate the recommendation.", min=2)] = 20,
    set_: options.FirstChanges = None,
    format_: Annotated[RecommendFormat, typer.Option("--format", help="Output format.")] = RecommendFormat.TABLE,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Output file; standard output by default.", metavar="FILE")
    ] = None,
    sweeps: Annotated[
        str | None,
        typer.Option(
            help="Folder to keep the underlying sweeps in: a path, or a URI that every machine of a cluster reaches.",
            metavar="DIR",
        ),
    ] = None,
    master: options.Master = None,
    conf: options.Conf = None,
    py_files: options.PyFiles = None,
) -> None:
    """Find configs that minimize an objective; report the gain over the current ones.

    Example: [bold]assignor-sim recommend cross_zone_bill --objective "usd + 0.05*moves"[/bold]
    """
    from assignor_sim.api.loading import load
    from assignor_sim.api.recommendations import recommend as find_configs
    from assignor_sim.text_files import STANDARD, check_output, write_text
    from reports.render.recommendation import render

    with exit_on_error(OSError):
        check_output(output, "-o")
        loaded = load(scenario, options.parse_overrides(set_))
        print_warnings_and_notes(loaded)
        with (
            _resumable(sweeps),
            options.requested_session(master, conf, py_files) as spark,
            show_run_progress() as on_progress,
        ):
            recommendation = find_configs(
                loaded,
                objective,
                max_moves=max_moves,
                max_downtime=max_downtime,
                max_convergence=max_convergence,
                max_unprotected_tasks=max_unprotected_tasks,
                today=today,
                assignors=assignor or (),
                keep=keep or (),
                runs=runs,
                seeds=seeds,
                sweeps=sweeps,
                spark=spark,
                command=options.command_line(),
                on_progress=on_progress,
                on_step=lambda step: print(step, file=sys.stderr),
            )
        text = render(recommendation, format_.value)
        try:
            write_text(output or STANDARD, text)
        except OSError:
            if output is not None:
                print(text, end="")  # The runs must not have been in vain.
            raise
    if recommendation.verdict == "none_feasible":
        raise typer.Exit(DIFFERENT)


@contextmanager
def _resumable(sweeps: str | None) -> Iterator[None]:
    """Exit with code 130 on Ctrl-C, and print how to resume."""
    try:
        yield
    except KeyboardInterrupt:
        advice = "no runs are kept" if sweeps is None else f"the finished runs are in {sweeps}; repeat the command"
        print(f"\nInterrupted: {advice}.", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
