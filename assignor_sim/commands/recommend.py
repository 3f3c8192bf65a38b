"""`assignor-sim recommend`: which of Kafka's configs to set."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.console.exits import DIFFERENT, INTERRUPTED, exit_on_error
from assignor_sim.console.spark_options import Conf, Master, PyFiles, parse_spark_conf


class RecommendFormat(StrEnum):
    """How the answer is printed."""

    TABLE = "table"
    JSON = "json"
    PROPERTIES = "properties"


def recommend(
    scenario: Annotated[Path, typer.Argument(help="Scenario file, or name of a shipped scenario.", metavar="SCENARIO")],
    objective: Annotated[
        str,
        typer.Option(
            help="What is to be as small as possible: arithmetic over usd, cross_rack (GB), moves, restored (GB), "
            "downtime and worst_downtime (s), convergence (min), and the metrics of a comparison.",
            metavar="EXPRESSION",
        ),
    ],
    max_moves: Annotated[float | None, typer.Option(help="No run may move more tasks.", min=0, metavar="N")] = None,
    max_downtime: Annotated[
        str | None, typer.Option(help="No run may have more downtime, all tasks together, as in 20s.", metavar="TIME")
    ] = None,
    max_convergence: Annotated[
        str | None, typer.Option(help="No event may take longer to converge, as in 30m.", metavar="TIME")
    ] = None,
    max_unprotected_tasks: Annotated[
        int | None,
        typer.Option(
            help="No run may end with more stateful tasks that lose all copies with one rack or one client.",
            min=0,
            metavar="N",
        ),
    ] = None,
    today: Annotated[
        str | None,
        typer.Option(help="The scenario's assignor that stands for today; the first if not given.", metavar="LABEL"),
    ] = None,
    assignor: Annotated[
        list[str] | None,
        typer.Option(
            help="Built-in assignor that may be recommended beside today's, in place of high_availability and "
            "sticky_task_assignor. May be repeated."
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Key of Kafka's that stays as it is, or assignor. May be repeated.", metavar="KEY"),
    ] = None,
    runs: Annotated[int, typer.Option(help="About how many runs the search may take.", min=20)] = 400,
    seeds: Annotated[int, typer.Option(help="Fresh seeds that the answer is measured with.", min=2)] = 20,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change the scenario first, as in run. May be repeated.", metavar="PATH=VALUE"),
    ] = None,
    format_: Annotated[RecommendFormat, typer.Option("--format", help="How to print it.")] = RecommendFormat.TABLE,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where it goes; standard output if not given.", metavar="FILE")
    ] = None,
    sweeps: Annotated[
        str | None,
        typer.Option(
            help="Keep the sweeps underneath here: a path, or a URI that every machine of a cluster reaches.",
            metavar="DIR",
        ),
    ] = None,
    master: Master = None,
    conf: Conf = None,
    py_files: PyFiles = None,
) -> None:
    """Search for the settings with which an objective is least, and say what they gain against today's.

    Example: [bold]assignor-sim recommend cross_zone_bill --objective "usd + 0.05*moves"[/bold]
    """
    from assignor_sim.console.overrides import parse_overrides
    from assignor_sim.console.progress import show_run_progress
    from assignor_sim.console.remarks import print_warnings_and_notes
    from assignor_sim.text_files import STANDARD, write_text
    from assignors.errors import AssignorError
    from pipeline.recommend.errors import RecommendError
    from pipeline.recommend.evaluator import Evaluator
    from pipeline.recommend.limits import parse_limits
    from pipeline.recommend.objective import parse_objective
    from pipeline.recommend.recommender import recommend as work_out
    from pipeline.recommend.request import RecommendationRequest, check_price, current_assignor
    from pipeline.recommend.space import search_space
    from pipeline.recommend.spark_runs import SparkRuns
    from pipeline.session import SparkError, connect
    from pipeline.sweep.errors import SweepError
    from reports.render.terminal.recommendation import render
    from scenarios.load import ScenarioError, load
    from scenarios.shipped import find_scenario

    with exit_on_error(ScenarioError, AssignorError, RecommendError, SweepError, SparkError, OSError):
        if output is not None and not output.parent.is_dir():
            raise RecommendError(f"-o {output}: there is no folder {output.parent}")
        file = find_scenario(scenario)
        loaded = load(file, parse_overrides(set_))
        print_warnings_and_notes(loaded)
        choice = current_assignor(loaded, today)
        wanted, within = (
            parse_objective(objective),
            parse_limits(max_moves, max_downtime, max_convergence, max_unprotected_tasks),
        )
        check_price(loaded, wanted)
        question = RecommendationRequest(
            file, loaded, choice, search_space(loaded, choice, assignor or (), keep or ()), runs, seeds
        )
        with (
            _folder(sweeps) as folder,
            connect(master, parse_spark_conf(conf), py_files or (), java_works_little=True) as spark,
        ):
            if sweeps is None and not str(spark.sparkContext.master).startswith("local"):
                raise RecommendError("on a cluster, say where all machines reach the sweeps underneath: --sweeps URI")
            command = shlex.join(["assignor-sim", *sys.argv[1:]])
            with show_run_progress() as on_progress:
                bench = Evaluator(
                    question.space, wanted, within, SparkRuns(spark, question, folder, command, on_progress)
                )
                found = work_out(question, bench, lambda step: print(step, file=sys.stderr))
        write_text(output or STANDARD, render(found, format_.value))
    if found.verdict == "none_feasible":
        raise typer.Exit(DIFFERENT)


@contextmanager
def _folder(kept: str | None) -> Iterator[str]:
    """Where the sweeps go: to where they are kept, or to where they are not."""
    try:
        if kept is not None:
            yield kept
        else:
            with tempfile.TemporaryDirectory(prefix="assignor-sim-") as folder:
                yield folder
    except KeyboardInterrupt:
        again = "nothing is kept" if kept is None else f"what is done is in {kept}; the same command goes on with it"
        print(f"\nInterrupted: {again}.", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
