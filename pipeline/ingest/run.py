"""The whole ingest: sources in, a folder of tables out."""

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


_MOST_ROWS_IN_A_FILE = 5_000_000
_MOST_SHOWN = 1_000


@dataclass(frozen=True, slots=True)
class IngestSources:
    """What is ingested: paths or URIs of files, folders or patterns.

    Attributes:
        metrics: time series: CSV, JSON lines or Parquet.
        topics: what `kafka-topics.sh --describe` prints.
        log_dirs: what `kafka-log-dirs.sh --describe` prints.
        groups: what `kafka-consumer-groups.sh --describe --members --verbose` (or `--offsets`) prints.
        leader_logs: logs of the application, with the lines of the group's leader at INFO.
    """

    metrics: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    log_dirs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    leader_logs: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise an IngestError if there is nothing to ingest."""
        if self == IngestSources():
            raise IngestError("nothing to ingest; name time series, dumps or logs")


@dataclass(frozen=True, slots=True)
class IngestResult:
    """How much was read and written.

    Attributes:
        rows: rows of time series.
        malformed: how many of these are in quarantine.
        passed_over: how many of these are of metrics that the mapping does not know.
        without_partitions: topics that are measured as a whole and of which no partition is known: they have no rates.
        tables: how many rows each table has.
    """

    rows: int
    malformed: int
    passed_over: int
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
    """Ingest sources into a folder, all of it or nothing.

    Args:
        spark: where the work is done.
        sources: what is read.
        out: path or URI of the folder; an earlier ingest there is replaced.
        mapping: what the columns of the time series mean.
        interval_ms: time from one reading to the next; if None, the median of each series.
        command: what to write down as the command that did this.
        tell: told each step.

    Raises:
        IngestError: a source, the mapping or the folder cannot be used.
    """
    from pyspark.errors import PySparkException

    sources.check()
    target = Target(spark, out)
    try:
        work = _Ingest(spark, target, on_progress)
        if sources.metrics:
            work.measure(sources.metrics, mapping.mapping, interval_ms)
        for kind, paths in work.dumps(sources):
            work.read(kind, paths)
        done = work.write()
        target.publish(
            {
                "sources": asdict(sources),
                "mapping": {"name": mapping.name, **mapping.mapping.model_dump(mode="json", exclude_defaults=True)},
                "interval_ms": interval_ms,
                "versions": {name: version(name) for name in ("assignor-sim", "pyspark")}
                | {"python": platform.python_version()},
                "command": command,
                **asdict(done),
            }
        )
        return done
    except PySparkException as error:
        raise IngestError(f"Spark cannot read the sources or write the tables: {str(error)[:_MOST_SHOWN]}") from error
    finally:
        target.discard()


@dataclass(slots=True)
class _Ingest:
    """What has been read so far, by the table that it is for; `broken` is what goes to quarantine."""

    spark: SparkSession
    target: Target
    on_progress: Callable[[str], None]
    measured: Measured | None = None
    parts: dict[str, list[DataFrame]] = field(default_factory=dict)
    broken: list[DataFrame] = field(default_factory=list)

    def measure(self, paths: Sequence[str], mapping: SourceMapping, interval_ms: int | None) -> None:
        self.on_progress("looking for files")
        groups = group_files(self.spark, paths)
        files, size = sum(len(group.files) for group in groups), sum(group.size for group in groups)
        self.on_progress(f"reading {files:,} files, {size / 1e6:,.0f} MB")
        self.measured = measure(self.spark, groups, mapping, interval_ms, self.target.scratch("hours"))
        if self.measured.sizes is not None:
            self.parts.setdefault(SIZES.name, []).append(self.measured.sizes)
        if self.measured.quarantine is not None:
            self.broken.append(self.measured.quarantine)

    @staticmethod
    def dumps(sources: IngestSources) -> Iterator[tuple[str, tuple[str, ...]]]:
        for kind in TABLE_OF:
            if paths := getattr(sources, kind):
                yield kind, paths

    def read(self, kind: str, paths: Sequence[str]) -> None:
        self.on_progress(f"reading {kind.replace('_', ' ')}")
        rows = read_dumps(self.spark, kind, paths, self.target.scratch(kind))
        self.parts.setdefault(TABLE_OF[kind].name, []).append(rows.where("reason is null"))
        self.broken.append(rows.where("reason is not null").select("file", "reason", "raw"))

    def write(self) -> IngestResult:
        """Write the tables that there is something for."""
        tables = self._dumped()
        if self.measured is not None:
            tables[RATES] = distribute_over_partitions(self.measured.hours, tables.get(SIZES), tables.get(PLACEMENTS))
            tables[QUALITY] = quality(self.measured.hours)
        if self.broken:
            tables[QUARANTINE] = reduce(lambda one, other: one.unionByName(other), self.broken)
        written = {}
        for table in (table for table in TABLES if table in tables):
            self.on_progress(f"writing {table.name}")
            written[table.name] = self.target.write(table, tables[table], table is RATES and self._is_large())
        told = self.measured
        return IngestResult(
            rows=told.rows if told else 0,
            malformed=told.malformed if told else 0,
            passed_over=told.passed_over if told else 0,
            without_partitions=self._without_partitions(tables[RATES]) if told else (),
            tables=written,
        )

    def _without_partitions(self, rates: DataFrame) -> tuple[str, ...]:
        assert self.measured is not None
        topics = self.measured.hours.where(f"partition = {WHOLE_TOPIC}").select("topic").distinct()
        left = topics.join(rates.select("topic").distinct(), "topic", "left_anti").orderBy("topic")
        return tuple(row["topic"] for row in left.collect())

    def _is_large(self) -> bool:
        return self.measured is not None and self.measured.hours.count() > _MOST_ROWS_IN_A_FILE

    def _dumped(self) -> dict[Table, DataFrame]:
        from pyspark.sql import functions as fn

        tables = {}
        if SIZES.name in self.parts:
            known = reduce(lambda one, other: one.unionByName(other, True), self.parts[SIZES.name])
            tables[SIZES] = known.groupBy("topic", "partition").agg(
                fn.max("size_bytes").alias("size_bytes"), fn.max("replicas").alias("replicas")
            )
        for table in (PLACEMENTS, HISTORY):
            if table.name in self.parts:
                tables[table] = reduce(lambda one, other: one.unionByName(other, True), self.parts[table.name])
        return tables
