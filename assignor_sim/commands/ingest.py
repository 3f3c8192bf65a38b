"""`assignor-sim ingest` and `generate`: raw metrics as tables that a scenario can import, and synthetic ones."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console import options
from assignor_sim.console.help_page import CommandWithHelp, GroupWithHelp
from assignor_sim.console.messages import exit_on_error
from assignor_sim.console.progress import show_progress
from reports.analysis.text import plain_text
from simulator.plurals import counted

if TYPE_CHECKING:
    from pipeline.ingest.run import IngestResult
    from reports.document import Report


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
    master: options.Master = None,
    conf: options.Conf = None,
    py_files: options.PyFiles = None,
) -> None:
    """Generate byte and message counters of partitions, in the form in which a metrics collector writes them.

    Rates follow the time of day and the day of the week; topics and keys follow Zipf's law. DIR/truth has the true
    rates, DIR/faults the place of every fault.

    Example: [bold]assignor-sim generate metrics --partitions 10000 --days 30 --out raw[/bold]
    """
    from pipeline.generate import Faults, Population, Schedule
    from pipeline.generate import generate as write
    from pipeline.session import connect

    with exit_on_error(), show_progress() as on_progress:
        parsed_faults, schedule = Faults.parse(faults), Schedule.parse(days, interval)
        population = Population(partitions, seed, parsed_faults.skew)
        on_progress("starting Spark")
        with connect(master, options.parse_spark_conf(conf), py_files or ()) as spark:
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
    from simulator.results.result_directory import write_results

    with exit_on_error(ValueError):
        shape = ClusterShape(brokers, racks, topics, partitions, factor)
        files = cluster_files(generate_cluster(shape, seed))
        write_results(Path(out), {}, {"kind": "cluster", "shape": asdict(shape), "seed": seed}, files)
    print(f"{partitions:,} partitions on {brokers:,} brokers: {out}")
    print(f"assignor-sim plan {out}/assignment.json --brokers {out}/brokers.csv --log-dirs {out}/log_dirs.json --all")


_MAX_GROUPS = 10


def ingest(
    metrics: Annotated[
        list[str] | None,
        typer.Argument(
            help="Time series of bytes, messages or lags: CSV, JSON or Parquet, as files, folders, patterns or URIs.",
            metavar="METRICS",
        ),
    ] = None,
    out: Annotated[str, typer.Option(help="Folder for the tables: a path or URI.", metavar="DIR")] = "ingested",
    map_: Annotated[
        str,
        typer.Option(
            "--map",
            help="Names of the columns: plain, plain-rates, jmx-exporter, msk, kminion, …, or a YAML file.",
            metavar="NAME|FILE",
        ),
    ] = "plain",
    interval: Annotated[
        str | None,
        typer.Option(help="Time between two samples, such as 5m; inferred from the data by default.", metavar="TIME"),
    ] = None,
    topics: Annotated[
        list[str] | None, typer.Option(help="Output of kafka-topics.sh --describe. Repeatable.", metavar="FILE")
    ] = None,
    log_dirs: Annotated[
        list[str] | None, typer.Option(help="Output of kafka-log-dirs.sh --describe. Repeatable.", metavar="FILE")
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            help="Output of kafka-consumer-groups.sh --describe --members --verbose. Repeatable.", metavar="FILE"
        ),
    ] = None,
    leader_log: Annotated[
        list[str] | None, typer.Option(help="Log of the application at INFO. Repeatable.", metavar="FILE")
    ] = None,
    add: Annotated[
        bool,
        typer.Option(
            "--add", help="Add new files to those of earlier ingests with --add into the folder; skip the others."
        ),
    ] = False,
    master: options.Master = None,
    conf: options.Conf = None,
    py_files: options.PyFiles = None,
    format_: options.Format = options.OutputFormat.TABLE,
) -> None:
    """Convert raw metrics and output of Kafka's tools to tables that a scenario can import.

    Example: [bold]assignor-sim ingest metrics/ --topics topics.txt --log-dirs log_dirs.txt --out ingested/march[/bold]
    """
    from pipeline.ingest.mapping import find_mapping
    from pipeline.ingest.run import IngestSources
    from pipeline.ingest.run import ingest as ingest_sources
    from pipeline.ingest.sources import are_parquet
    from pipeline.session import connect

    sources = IngestSources(*(tuple(paths or ()) for paths in (metrics, topics, log_dirs, groups, leader_log)))
    command = options.command_line()
    with exit_on_error():
        mapping, interval_ms = find_mapping(map_), _milliseconds(interval)
        sources.check()
        with show_progress() as on_progress:
            on_progress("starting Spark")
            # Java hardly works on what Python workers read, so its start matters more than its speed.
            by_workers = are_parquet(sources.metrics) and not mapping.mapping.is_long
            with connect(master, options.parse_spark_conf(conf), py_files or (), fast_start=by_workers) as spark:
                result = ingest_sources(spark, sources, out, mapping, interval_ms, command, on_progress, add)
        _print_result(result, out, format_)


def _milliseconds(interval: str | None) -> int | None:
    from pipeline.errors import IngestError
    from scenarios.language.units import parse_duration_ms

    if interval is None:
        return None
    try:
        milliseconds = parse_duration_ms(interval)
    except ValueError as error:
        raise IngestError(f"--interval {interval}: {error}") from None
    if milliseconds < 1:
        raise IngestError(f"--interval {interval}: must be at least 1 ms")
    return milliseconds


def _print_result(result: IngestResult, out: str, format_: options.OutputFormat) -> None:
    """Print the number of rows by table, and warnings."""
    options.print_report(format_, _report(result, out), lambda: {"out": out, **result.counts})
    if result.without_partitions:
        print(
            f"warning: {len(result.without_partitions):,} topics have metrics per topic only and get no rates, because "
            f"their partitions are unknown; add --topics: {', '.join(result.without_partitions[:5])}…",
            file=sys.stderr,
        )
    if result.conflicts is not None:
        partitions = counted(result.conflicting_partitions or 0, "partition")
        readings = counted(result.conflicts, "reading")
        print(
            f"warning: {readings} of {partitions} with another value at the same time (see {out}/quality): the largest "
            "counts, and without a broker, a partition with them at most times gets no rates; name the column of the "
            "broker by broker in the mapping (--map)",
            file=sys.stderr,
        )
    if quarantined := result.tables.get("quarantine"):
        print(f"warning: {quarantined:,} rows or dumps could not be read: see {out}/quarantine", file=sys.stderr)


def _report(result: IngestResult, out: str) -> Report:
    from reports.analysis.cells import Cell
    from reports.document import Block, Paragraph, Points, Report, ReportColumn, ReportRow, ReportSection, ReportTable

    columns = [ReportColumn("table", "table"), ReportColumn("rows", "rows", is_number=True)]
    rows: list[ReportRow] = [[name, Cell(f"{count:,}", value=count)] for name, count in result.tables.items()]
    facts = []
    if result.rows:
        ignored = f", {result.ignored:,} of other metrics ignored" if result.ignored else ""
        facts.append(f"{result.rows:,} rows of time series read{ignored}")
    if result.new_files is not None:
        facts.append(f"{result.new_files:,} new files, {result.seen_files:,} already ingested")
    lag_columns = [
        ReportColumn("group", "group"),
        ReportColumn("topics", "topics", only=("markdown",)),
        ReportColumn("mean_records", "mean", is_number=True),
        ReportColumn("max_records", "highest of a partition", is_number=True),
    ]
    worst = sorted(result.lags, key=lambda lag: (-lag.mean_records, lag.group))
    lags = [[lag.group, plain_text(lag.topics), f"{lag.mean_records:,}", f"{lag.max_records:,}"] for lag in worst]
    hidden = len(lags) - _MAX_GROUPS
    blocks: list[Block] = [
        ReportTable("lags", lag_columns, lags[:_MAX_GROUPS], only=("terminal",)),
        Paragraph(f"{hidden:,} other groups are less behind" if hidden > 0 else "", only=("terminal",)),
        ReportTable("lags", lag_columns, lags, only=("markdown",)),
    ]
    sections = [
        ReportSection("tables", "", [ReportTable("tables", columns, rows), Points(facts)], leads=True),
        ReportSection("lags", "Lag of consumer groups in records", blocks),
    ]
    return Report(f"Tables: {out}", sections)
