"""`assignor-sim generate`: synthetic metrics and clusters of any size."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from assignor_sim.console.exits import exit_on_error
from assignor_sim.console.help_page import CommandWithHelp, GroupWithHelp
from assignor_sim.console.spark_options import Conf, Master, PyFiles, parse_spark_conf

generate = typer.Typer(cls=GroupWithHelp, no_args_is_help=True, rich_markup_mode="rich")


class MetricsFormat(StrEnum):
    """File format of the metrics."""

    PARQUET = "parquet"
    CSV = "csv"
    JSONL = "jsonl"


@generate.callback()
def _generate() -> None:
    """Generate synthetic metrics and clusters of any size."""


@generate.command("metrics", cls=CommandWithHelp)
def metrics(
    out: Annotated[str, typer.Option(help="New folder: a path or URI.", metavar="DIR")],
    partitions: Annotated[int, typer.Option(help="Number of partitions.", min=1)] = 1_000,
    days: Annotated[int, typer.Option(help="Number of days, from Monday, 6 January 2025.", min=1)] = 7,
    interval: Annotated[str, typer.Option(help="Time between two samples.", metavar="TIME")] = "5m",
    format_: Annotated[MetricsFormat, typer.Option("--format", help="File format.")] = MetricsFormat.PARQUET,
    seed: Annotated[int, typer.Option(help="Random seed.", min=0)] = 1,
    faults: Annotated[
        str,
        typer.Option(
            "--faults",
            help="Faults in the data: none, some, or shares of gaps, duplicates, late, malformed, resets and "
            "skew, as in gaps=0.001,late=0.01.",
            metavar="FAULTS",
        ),
    ] = "none",
    master: Master = None,
    conf: Conf = None,
    py_files: PyFiles = None,
) -> None:
    """Generate byte and message counters of partitions, in the form in which a metrics collector writes them.

    Rates follow the time of day and the day of the week; topics and keys follow Zipf's law. DIR/truth has the true
    rates, DIR/faults the place of every fault.

    Example: [bold]assignor-sim generate metrics --partitions 10000 --days 30 --out raw[/bold]
    """
    from assignor_sim.console.progress import show_progress
    from pipeline.errors import SparkError
    from pipeline.generate.faults import Faults, FaultsError
    from pipeline.generate.measurements import Schedule, ScheduleError
    from pipeline.generate.population import Population
    from pipeline.generate.writing import GenerateError
    from pipeline.generate.writing import generate as write
    from pipeline.session import connect

    with exit_on_error(FaultsError, ScheduleError, GenerateError, SparkError), show_progress() as on_progress:
        parsed_faults, schedule = Faults.parse(faults), Schedule.parse(days, interval)
        population = Population(partitions, seed, parsed_faults.skew)
        on_progress("starting Spark")
        with connect(master, parse_spark_conf(conf), py_files or ()) as spark:
            on_progress(f"writing {schedule.slots * partitions:,} rows")
            written = write(spark, out, population, schedule, parsed_faults, format_.value)
    print(f"{written.rows:,} samples: {out}/metrics")


@generate.command("cluster", cls=CommandWithHelp)
def cluster(
    out: Annotated[str, typer.Option(help="New folder.", metavar="DIR")],
    brokers: Annotated[int, typer.Option(help="Number of brokers.", min=1)] = 40,
    racks: Annotated[int, typer.Option(help="Number of racks, assigned round-robin.", min=1)] = 10,
    topics: Annotated[int, typer.Option(help="Number of topics.", min=1)] = 3_000,
    partitions: Annotated[int, typer.Option(help="Number of partitions of all topics.", min=1)] = 16_667,
    factor: Annotated[int, typer.Option("--replication-factor", help="Number of replicas per partition.", min=1)] = 3,
    seed: Annotated[int, typer.Option(help="Random seed.", min=0)] = 1,
) -> None:
    """Generate a cluster with random replica placements for `plan`: assignment, brokers and log directories.

    The default sizes are those of Cruise Control's tests.

    Example: [bold]assignor-sim generate cluster --out forty[/bold]
    """
    from dataclasses import asdict
    from pathlib import Path

    from scenarios.clusters.cluster_generator import ClusterShape, generate_cluster
    from scenarios.kafka.plan_files import cluster_files
    from simulator.results.result_directory import ResultsError, write_results

    with exit_on_error(ValueError, ResultsError):
        shape = ClusterShape(brokers, racks, topics, partitions, factor)
        files = cluster_files(generate_cluster(shape, seed))
        write_results(Path(out), {}, {"kind": "cluster", "shape": asdict(shape), "seed": seed}, files)
    print(f"{partitions:,} partitions on {brokers:,} brokers: {out}")
    print(f"assignor-sim plan {out}/assignment.json --brokers {out}/brokers.csv --log-dirs {out}/log_dirs.json --all")
