"""`assignor-sim aggregate`: work out what sweeps say."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from assignor_sim.console.exits import exit_on_error
from assignor_sim.console.spark_options import Conf, Master, PyFiles, parse_spark_conf


class AggregateFormat(StrEnum):
    """How the summary is printed."""

    TABLE = "table"
    JSON = "json"


def aggregate(
    directories: Annotated[
        list[str], typer.Argument(help="Directories of sweeps, finished or not: paths or URIs.", metavar="DIR…")
    ],
    out: Annotated[
        str | None,
        typer.Option(help="Where the tables go; DIR/aggregate if there is one sweep only.", metavar="DIR"),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="The assignor that the others are compared with, in place of the sweep's.", metavar="LABEL"),
    ] = None,
    master: Master = None,
    conf: Conf = None,
    py_files: PyFiles = None,
    format_: Annotated[AggregateFormat, typer.Option("--format", help="How to print it.")] = AggregateFormat.TABLE,
) -> None:
    """Work out what sweeps say: means, differences, the Pareto front, and what matters most.

    Example: [bold]assignor-sim aggregate out/weights --baseline high_availability[/bold]
    """
    from pipeline.aggregate import AggregateError
    from pipeline.aggregate import aggregate as work_out
    from pipeline.session import SparkError, connect
    from reports.render.terminal.sweep import render

    with (
        exit_on_error(AggregateError, SparkError),
        connect(master, parse_spark_conf(conf), py_files or ()) as spark,
    ):
        summary = work_out(spark, directories, out, baseline)
    print(render(summary, format_.value), end="")
