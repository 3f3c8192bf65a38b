"""The ingest: reads sources and writes a folder of tables."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import reduce
from importlib.metadata import version
from typing import TYPE_CHECKING

from pipeline.ingest.dumps import TABLE_OF, read_dumps
from pipeline.ingest.errors import IngestError
from pipeline.ingest.mapping import NamedMapping, SourceMapping
from pipeline.ingest.measured import Measured, measure, quality
from pipeline.ingest.partition_shares import distribute_over_partitions
from pipeline.ingest.row_mapping import WHOLE_TOPIC
from pipeline.ingest.sources import group_files
from pipeline.ingest.tables import HISTORY, PLACEMENTS, QUALITY, QUARANTINE, RATES, SIZES, TABLES, Table
from pipeline.ingest.target import Target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_MAX_ROWS_PER_FILE = 5_000_000
_MAX_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class IngestSources:
    """The sources of an ingest: paths or URIs of files, folders or patterns.

    Attributes:
        metrics: time series as CSV, JSON lines or Parquet.
        topics: output of `kafka-topics.sh --describe`.
        log_dirs: output of `kafka-log-dirs.sh --describe`.
        groups: output of `kafka-consumer-groups.sh --describe --members --verbose` (or `--offsets`).
        leader_logs: logs of the application with the INFO lines of the group leader.
    """

    metrics: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    log_dirs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    leader_logs: tuple[str, ...] = ()

    def check(self) -> None:
        """Check that sources are given.

        Raises:
            IngestError: no source is given.
        """
        if self == IngestSources():
            raise IngestError("no sources; name time series, dumps or logs")

    def dumps(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the kinds of dumps that have sources, with their paths."""
        for kind in TABLE_OF:
            if paths := getattr(self, kind):
                yield kind, paths


@dataclass(frozen=True, slots=True)
class IngestResult:
    """Counts of an ingest.

    Attributes:
        rows: number of rows of time series.
        malformed: number of rows in quarantine.
        ignored: number of rows whose metric the mapping does not contain.
        without_partitions: topics that are measured as a whole and have no known partition; they have no rates.
        tables: number of rows by table.
    """

    rows: int
    malformed: int
    ignored: int
    without_partitions: tuple[str, ...]
    tables: Mapping[str, int]


def ingest(
    spark: SparkSession,
    sources: IngestSources,
    out: str,
    mapping: NamedMapping,
    interval_ms: int | None = None,
    command: str = "",
    on_progress: Callable[[str], None] = lambda step: None,
) -> IngestResult:
    """Ingest sources into a folder, completely or not at all.

    Args:
        spark: the session.
        sources: the sources.
        out: path or URI of the folder; an earlier ingest there is replaced.
        mapping: the meaning of the columns of the time series.
        interval_ms: time between readings; the median of each series by default.
        command: the command line, for the manifest.
        on_progress: called with a description of each step.

    Returns:
        Counts of rows and tables.

    Raises:
        IngestError: a source, the mapping or the folder cannot be used.
    """
    sources.check()
    target = Target(spark, out)
    with target.lock():
        target.discard()
        return _ingest(spark, sources, target, mapping, interval_ms, command, on_progress)


def _ingest(
    spark: SparkSession,
    sources: IngestSources,
    target: Target,
    mapping: NamedMapping,
    interval_ms: int | None,
    command: str,
    on_progress: Callable[[str], None],
) -> IngestResult:
    """Ingest sources into a folder that is locked.

    Returns:
        Counts of rows and tables.

    Raises:
        IngestError: a source or the folder cannot be used.
    """
    from pyspark.errors import PySparkException

    try:
        job = _IngestJob(spark, target, on_progress)
        if sources.metrics:
            job.measure(sources.metrics, mapping.mapping, interval_ms)
        for kind, paths in sources.dumps():
            job.read(kind, paths)
        result = job.write()
        target.publish(
            {
                "sources": asdict(sources),
                "mapping": {"name": mapping.name, **mapping.mapping.model_dump(mode="json", exclude_defaults=True)},
                "interval_ms": interval_ms,
                "versions": {name: version(name) for name in ("assignor-sim", "pyspark")}
                | {"python": platform.python_version()},
                "command": command,
                **asdict(result),
            }
        )
        return result
    except PySparkException as error:
        raise IngestError(f"Spark cannot read the sources or write the tables: {str(error)[:_MAX_CHARS]}") from error
    finally:
        target.discard()


@dataclass(slots=True)
class _IngestJob:
    """State of an ingest.

    Attributes:
        spark: the session.
        target: the output folder.
        on_progress: called with a description of each step.
        measured: the time series; None until they are read.
        parts: rows read so far, by table.
        broken: rows for quarantine.
    """

    spark: SparkSession
    target: Target
    on_progress: Callable[[str], None]
    measured: Measured | None = None
    parts: dict[str, list[DataFrame]] = field(default_factory=dict)
    broken: list[DataFrame] = field(default_factory=list)

    def measure(self, paths: Sequence[str], mapping: SourceMapping, interval_ms: int | None) -> None:
        """Read the time series."""
        self.on_progress("looking for files")
        groups = group_files(self.spark, paths)
        files, size = sum(len(group.files) for group in groups), sum(group.size for group in groups)
        self.on_progress(f"reading {files:,} files, {size / 1e6:,.0f} MB")
        self.measured = measure(self.spark, groups, mapping, interval_ms, self.target.scratch("hours"))
        if self.measured.sizes is not None:
            self.parts.setdefault(SIZES.name, []).append(self.measured.sizes)
        if self.measured.quarantine is not None:
            self.broken.append(self.measured.quarantine)

    def read(self, kind: str, paths: Sequence[str]) -> None:
        """Read dumps of one kind."""
        self.on_progress(f"reading {kind.replace('_', ' ')}")
        rows = read_dumps(self.spark, kind, paths, self.target.scratch(kind))
        self.parts.setdefault(TABLE_OF[kind].name, []).append(rows.where("reason is null"))
        self.broken.append(rows.where("reason is not null").select("file", "reason", "raw"))

    def write(self) -> IngestResult:
        """Write the tables that have a source."""
        tables = self._dump_tables()
        if self.measured is not None:
            tables[RATES] = distribute_over_partitions(self.measured.hours, tables.get(SIZES), tables.get(PLACEMENTS))
            tables[QUALITY] = quality(self.measured.hours)
        if self.broken:
            tables[QUARANTINE] = reduce(lambda rows, more: rows.unionByName(more), self.broken)
        written = {}
        for table in (table for table in TABLES if table in tables):
            self.on_progress(f"writing {table.name}")
            written[table.name] = self.target.write(table, tables[table], table is RATES and self._is_large())
        measured = self.measured
        return IngestResult(
            rows=measured.rows if measured else 0,
            malformed=measured.malformed if measured else 0,
            ignored=measured.ignored if measured else 0,
            without_partitions=self._without_partitions(tables[RATES]) if measured else (),
            tables=written,
        )

    def _without_partitions(self, rates: DataFrame) -> tuple[str, ...]:
        """Return the topics that are measured as a whole and have no rates."""
        assert self.measured is not None
        topics = self.measured.hours.where(f"partition = {WHOLE_TOPIC}").select("topic").distinct()
        missing = topics.join(rates.select("topic").distinct(), "topic", "left_anti").orderBy("topic")
        return tuple(row["topic"] for row in missing.collect())

    def _is_large(self) -> bool:
        return self.measured is not None and self.measured.hours.count() > _MAX_ROWS_PER_FILE

    def _dump_tables(self) -> dict[Table, DataFrame]:
        """Return the tables of the rows read so far; sizes of several sources are combined."""
        from pyspark.sql import functions as fn

        tables = {}
        if SIZES.name in self.parts:
            sizes = reduce(lambda rows, more: rows.unionByName(more, True), self.parts[SIZES.name])
            tables[SIZES] = sizes.groupBy("topic", "partition").agg(
                fn.max("size_bytes").alias("size_bytes"), fn.max("replicas").alias("replicas")
            )
        for table in (PLACEMENTS, HISTORY):
            if table.name in self.parts:
                tables[table] = reduce(lambda rows, more: rows.unionByName(more, True), self.parts[table.name])
        return tables
