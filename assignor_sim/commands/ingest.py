"""`assignor-sim ingest`: from raw measurements to tables that a scenario can point at."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console.exits import exit_on_error
from assignor_sim.console.spark_options import Conf, Master, PyFiles, parse_spark_conf

if TYPE_CHECKING:
    from pipeline.ingest.run import IngestResult


def ingest(
    metrics: Annotated[
        list[str] | None,
        typer.Argument(
            help="Time series of bytes and messages: files, folders or patterns of CSV, JSON lines or Parquet, by path "
            "or URI.",
            metavar="METRICS",
        ),
    ] = None,
    out: Annotated[str, typer.Option(help="Folder for the tables, by path or URI.", metavar="DIR")] = "ingested",
    map_: Annotated[
        str,
        typer.Option(
            "--map",
            help="What the columns are called: plain, plain-rates, jmx-exporter, cruise-control, or a YAML file.",
            metavar="NAME|FILE",
        ),
    ] = "plain",
    interval: Annotated[
        str | None,
        typer.Option(help="Time between two readings, such as 5m; told from the data if not given.", metavar="TIME"),
    ] = None,
    topics: Annotated[
        list[str] | None, typer.Option(help="What kafka-topics.sh --describe prints.", metavar="FILE")
    ] = None,
    log_dirs: Annotated[
        list[str] | None, typer.Option(help="What kafka-log-dirs.sh --describe prints.", metavar="FILE")
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(help="What kafka-consumer-groups.sh --describe --members --verbose prints.", metavar="FILE"),
    ] = None,
    leader_log: Annotated[
        list[str] | None, typer.Option(help="Log of the application whose group it is, at INFO.", metavar="FILE")
    ] = None,
    master: Master = None,
    conf: Conf = None,
    py_files: PyFiles = None,
) -> None:
    """Turn raw measurements and dumps of Kafka's tools into tables that a scenario can point at.

    Example: [bold]assignor-sim ingest metrics/ --topics topics.txt --log-dirs log_dirs.txt --out ingested/march[/bold]
    """
    from assignor_sim.console.progress import show_progress
    from pipeline.ingest.errors import IngestError
    from pipeline.ingest.mapping import find_mapping
    from pipeline.ingest.run import IngestSources
    from pipeline.ingest.run import ingest as run
    from pipeline.session import SparkError, connect

    sources = IngestSources(*(tuple(paths or ()) for paths in (metrics, topics, log_dirs, groups, leader_log)))
    command = shlex.join(["assignor-sim", *sys.argv[1:]])
    with exit_on_error(IngestError, SparkError):
        mapping, interval_ms = find_mapping(map_), _milliseconds(interval)
        sources.check()
        with show_progress() as on_progress:
            on_progress("starting Spark")
            with connect(master, parse_spark_conf(conf), py_files or ()) as spark:
                done = run(spark, sources, out, mapping, interval_ms, command, on_progress)
        _report(done, out)


def _milliseconds(interval: str | None) -> int | None:
    from pipeline.ingest.errors import IngestError
    from scenarios.language.units import parse_duration_ms

    if interval is None:
        return None
    try:
        milliseconds = parse_duration_ms(interval)
    except ValueError as error:
        raise IngestError(f"--interval {interval}: {error}") from None
    if milliseconds < 1:
        raise IngestError(f"--interval {interval}: must be more than nothing")
    return milliseconds


def _report(done: IngestResult, out: str) -> None:
    for name, rows in done.tables.items():
        print(f"{name:<12}{rows:>15,} rows")
    print(f"\nTables: {out}")
    if done.rows:
        print(f"{done.rows:,} rows of time series read", end="")
        print(f", {done.passed_over:,} of other metrics passed over" if done.passed_over else "")
    if done.without_partitions:
        print(
            f"warning: {len(done.without_partitions):,} topics are measured as a whole and have no rates, as nothing "
            f"says which partitions they have; add --topics: {', '.join(done.without_partitions[:5])}…",
            file=sys.stderr,
        )
    if quarantined := done.tables.get("quarantine"):
        print(f"warning: {quarantined:,} rows or dumps could not be read: see {out}/quarantine", file=sys.stderr)
