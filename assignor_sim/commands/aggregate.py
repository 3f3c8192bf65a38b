"""`assignor-sim aggregate`: statistics, differences and Pareto front of sweeps."""

from __future__ import annotations

from typing import Annotated

import typer

from assignor_sim.console.exits import exit_on_error
from assignor_sim.console.formats import FormatOfTables, OutputFormat, print_in_format
from assignor_sim.console.spark_options import Conf, Master, PyFiles, parse_spark_conf


def aggregate(
    directories: Annotated[
        list[str], typer.Argument(help="Directories of sweeps, complete or not: paths or URIs.", metavar="DIR…")
    ],
    out: Annotated[
        str | None,
        typer.Option(help="Folder for the tables; DIR/aggregate by default, if there is one sweep.", metavar="DIR"),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="Label of the baseline assignor, in place of the sweep's.", metavar="LABEL"),
    ] = None,
    master: Master = None,
    conf: Conf = None,
    py_files: PyFiles = None,
    format_: FormatOfTables = OutputFormat.TABLE,
) -> None:
    """Aggregate sweeps: means, differences, the Pareto front, and the most influential factors.

    Example: [bold]assignor-sim aggregate out/weights --baseline high_availability[/bold]
    """
    from pipeline.aggregate import AggregateError
    from pipeline.aggregate import aggregate as aggregate_sweeps
    from pipeline.errors import SparkError
    from pipeline.session import connect
    from reports.render.terminal.sweep import draw, tables

    with (
        exit_on_error(AggregateError, SparkError),
        connect(master, parse_spark_conf(conf), py_files or ()) as spark,
    ):
        summary = aggregate_sweeps(spark, directories, out, baseline)
    print_in_format(format_, text=lambda: draw(summary), record=lambda: summary, tables=lambda: tables(summary))
