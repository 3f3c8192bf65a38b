"""The ingest: reads sources and writes a folder of tables."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pipeline.ingest.adding import KeptReadings, keep_new_files
from pipeline.ingest.batches import RowCounts
from pipeline.ingest.consumption import GroupLag, bytes_out_of_topics, summarize_lags
from pipeline.ingest.dumps import TABLE_OF, dump_texts, read_dumps
from pipeline.ingest.errors import IngestError
from pipeline.ingest.kept_series import measure_kept
from pipeline.ingest.mapping import NamedMapping, SourceMapping
from pipeline.ingest.measured import Measured, quality
from pipeline.ingest.partition_shares import distribute_over_partitions, distribute_sizes
from pipeline.ingest.row_mapping import WHOLE_TOPIC
from pipeline.ingest.source_series import measure
from pipeline.ingest.sources import find_files, group_files
from pipeline.ingest.tables import (
    BYTES_OUT,
    HISTORY,
    LAGS,
    PLACEMENTS,
    QUALITY,
    QUARANTINE,
    RATES,
    SIZES,
    TABLES,
    Table,
)
from pipeline.ingest.target import Target
from pipeline.spark_jobs import spark_jobs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_MAX_ROWS_PER_FILE = 5_000_000
_MAX_CHARS = 1_000
_CANCEL_INTERVAL_S = 0.5


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
        new_files: with `add`, number of files that were read; else None.
        seen_files: with `add`, number of files that an earlier ingest has read; else None.
        lags: the lag of each consumer group, if it is measured.
    """

    rows: int
    malformed: int
    ignored: int
    without_partitions: tuple[str, ...]
    tables: Mapping[str, int]
    new_files: int | None = None
    seen_files: int | None = None
    lags: tuple[GroupLag, ...] = ()

    @property
    def counts(self) -> dict[str, Any]:
        """Return the counts that the ingest has."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def ingest(
    spark: SparkSession,
    sources: IngestSources,
    out: str,
    mapping: NamedMapping,
    interval_ms: int | None = None,
    command: str = "",
    on_progress: Callable[[str], None] = lambda step: None,
    add: bool = False,
) -> IngestResult:
    """Ingest sources into a folder, completely or not at all.

    With `add`, the folder keeps what it needs of the files, and later ingests add files to them. The tables are those
    of one ingest of all files.

    Args:
        spark: the session.
        sources: the sources.
        out: path or URI of the folder; an earlier ingest there is replaced.
        mapping: the meaning of the columns of the time series.
        interval_ms: time between readings; the median of each series by default.
        command: the command line, for the manifest.
        on_progress: called with a description of each step.
        add: whether to add the files that are new to those of earlier ingests into the folder.

    Returns:
        Counts of rows and tables.

    Raises:
        IngestError: a source, the mapping or the folder cannot be used.
    """
    sources.check()
    target = Target(spark, out)
    with target.lock():
        target.discard()
        if not add and target.batches():
            raise IngestError(f"{out}: keeps the readings of its files; add files with --add, or choose another folder")
        job = _IngestJob(spark, target, on_progress)
        with _spark_errors():
            try:
                kept, described = None, _describe_mapping(mapping)
                if add:
                    kept = keep_new_files(spark, target, asdict(sources), mapping, on_progress)
                    manifest = target.read_manifest()
                    if manifest is not None and not sources.metrics:
                        described = manifest["mapping"]
                    if kept.added is None and manifest is not None and manifest["interval_ms"] == interval_ms:
                        return _unchanged(manifest, kept)
                    job.read_kept(kept, mapping.mapping, interval_ms)
                else:
                    job.read_sources(sources, mapping.mapping, interval_ms)
                result = job.write()
                if kept is not None:
                    result = replace(result, new_files=kept.new_files, seen_files=kept.seen_files)
                target.publish(
                    {
                        "sources": asdict(sources),
                        "mapping": described,
                        "interval_ms": interval_ms,
                        "versions": {name: version(name) for name in ("assignor-sim", "pyspark")}
                        | {"python": platform.python_version()},
                        "command": command,
                        **result.counts,
                    },
                    with_batches=add,
                )
                return result
            finally:
                target.discard()


def _describe_mapping(mapping: NamedMapping) -> dict[str, Any]:
    return {"name": mapping.name, **mapping.record}


def _unchanged(manifest: Mapping[str, Any], kept: KeptReadings) -> IngestResult:
    """Return the counts of the earlier ingest, since no file is new."""
    return IngestResult(
        rows=manifest["rows"],
        malformed=manifest["malformed"],
        ignored=manifest["ignored"],
        without_partitions=tuple(manifest["without_partitions"]),
        tables=manifest["tables"],
        new_files=0,
        seen_files=kept.seen_files,
        lags=tuple(GroupLag(**lag) for lag in manifest.get("lags", ())),
    )


@contextmanager
def _spark_errors() -> Iterator[None]:
    """Turn errors of Spark into `IngestError`.

    Yields:
        Nothing.

    Raises:
        IngestError: Spark cannot read a source or write a table.
    """
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        raise IngestError(f"Spark cannot read the sources or write the tables: {str(error)[:_MAX_CHARS]}") from error


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

    def read_sources(self, sources: IngestSources, mapping: SourceMapping, interval_ms: int | None) -> None:
        """Read the files of sources."""
        if sources.metrics:
            self.on_progress("looking for files")
            groups = group_files(self.spark, find_files(self.spark, sources.metrics))
            files, size = sum(len(group.files) for group in groups), sum(group.size for group in groups)
            self.on_progress(f"reading {files:,} files, {size / 1e6:,.0f} MB")
            hours, chunks = self.target.scratch("hours"), self.target.local_folder("_chunks")
            self._add_measured(measure(self.spark, groups, mapping, interval_ms, hours, chunks))
        for kind, paths in sources.dumps():
            self.on_progress(f"reading {kind.replace('_', ' ')}")
            self._add_dumps(kind, dump_texts(self.spark, kind, find_files(self.spark, paths)))

    def read_kept(self, kept: KeptReadings, mapping: SourceMapping, interval_ms: int | None) -> None:
        """Read what the folder keeps of all files."""
        if kept.measured:
            self.on_progress(f"aggregating the readings of {len(kept.measured):,} ingests")
            scratch = self.target.scratch("hours")
            used = kept.mapping or mapping
            self._add_measured(measure_kept(self.spark, kept.measured, kept.path, used, interval_ms, scratch))
        for kind in TABLE_OF:
            if (texts := kept.texts(kind)) is not None:
                self._add_dumps(kind, texts)

    def _add_measured(self, measured: Measured) -> None:
        self.measured = measured
        if measured.sizes is not None:
            self.parts.setdefault(SIZES.name, []).append(measured.sizes)
        if measured.quarantine is not None:
            self.broken.append(measured.quarantine)

    def _add_dumps(self, kind: str, texts: DataFrame) -> None:
        rows = read_dumps(self.spark, kind, texts, self.target.scratch(kind))
        self.parts.setdefault(TABLE_OF[kind].name, []).append(rows.where("reason is null"))
        self.broken.append(rows.where("reason is not null").select("file", "reason", "raw"))

    def write(self) -> IngestResult:
        """Write the tables that have a source."""
        tables = self._dump_tables()
        if self.measured is not None:
            tables[RATES] = self._rates(self.measured, tables)
            tables[QUALITY] = quality(self.measured)
            if self.measured.bytes_out is not None:
                tables[BYTES_OUT] = bytes_out_of_topics(self.measured.bytes_out)
            if self.measured.lags is not None:
                tables[LAGS] = self.measured.lags
        if self.broken:
            tables[QUARANTINE] = reduce(lambda rows, more: rows.unionByName(more), self.broken)
        written = self._write_together({table: tables[table] for table in TABLES if table in tables})
        counts = RowCounts() if self.measured is None else self.measured.counts
        return IngestResult(
            rows=counts.rows,
            malformed=counts.malformed,
            ignored=counts.ignored,
            without_partitions=() if self.measured is None else self._without_partitions(tables[RATES]),
            tables=written,
            lags=self._lags() if LAGS.name in written else (),
        )

    def _lags(self) -> tuple[GroupLag, ...]:
        """Summarize the written table."""
        return summarize_lags(self.spark.read.parquet(self.target.unpublished(LAGS.name)))

    def _rates(self, measured: Measured, tables: Mapping[Table, DataFrame]) -> DataFrame:
        """Return the hours with samples; those of topics are distributed over their partitions."""
        if measured.measures_topics:
            return distribute_over_partitions(measured.hours, tables.get(SIZES), tables.get(PLACEMENTS))
        return measured.hours.where("samples > 0")

    def _write_together(self, tables: Mapping[Table, DataFrame]) -> dict[str, int]:
        """Write tables at the same time, because a small one occupies one core; return their numbers of rows."""
        self.on_progress(f"writing {', '.join(table.name for table in tables)}")
        jobs, name = spark_jobs(self.spark), f"tables-{uuid4().hex}"

        def write(table: Table) -> int:
            jobs.begin(name, f"ingest, {table.name}")
            return self.target.write(table, tables[table], table is RATES and self._is_large())

        with ThreadPoolExecutor(len(TABLES)) as threads:
            written = {table.name: threads.submit(write, table) for table in tables}
            try:
                return {table_name: future.result() for table_name, future in written.items()}
            except BaseException:
                while not all(future.done() for future in written.values()):  # A thread may begin a job after a call.
                    jobs.cancel([name])
                    wait(written.values(), _CANCEL_INTERVAL_S)
                raise

    def _without_partitions(self, rates: DataFrame) -> tuple[str, ...]:
        """Return the topics that are measured as a whole and have no rates."""
        assert self.measured is not None
        if not self.measured.measures_topics:
            return ()
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
        if SIZES in tables and self.measured is not None and self.measured.has_topic_sizes:
            tables[SIZES] = distribute_sizes(tables[SIZES], tables.get(PLACEMENTS))
        return tables
