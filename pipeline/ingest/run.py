"""The ingest: reads sources and writes a folder of tables.

It also adds new files to a folder that keeps what earlier ingests have read.
"""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from importlib.metadata import version
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pipeline.connect_session import is_connect
from pipeline.errors import IngestError
from pipeline.ingest.batches import (
    CHUNKS,
    LOGS,
    METRICS,
    QUARANTINED,
    ROWS,
    IngestBatch,
    IngestedFile,
    RowCounts,
    check_columns,
    check_mapping,
    select_new,
)
from pipeline.ingest.consumption import GroupLag, bytes_out_of_topics, summarize_lags
from pipeline.ingest.dumps import TABLE_OF, dump_texts, read_dumps, texts_of_copies
from pipeline.ingest.kept_series import keep_chunks, keep_rows, measure_kept
from pipeline.ingest.mapping import NamedMapping, SourceMapping
from pipeline.ingest.measured import Measured, quality
from pipeline.ingest.parquet_files import column_types, plan_parquet
from pipeline.ingest.partition_shares import distribute_over_partitions, distribute_sizes
from pipeline.ingest.row_mapping import WHOLE_TOPIC
from pipeline.ingest.rows import parquet_columns
from pipeline.ingest.source_series import measure
from pipeline.ingest.sources import COMPRESSED, SourceFile, find_files, group_files, names_in_rows
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
from pipeline.storage import write_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class KeptReadings:
    """What the ingests into a folder have read, including the current one.

    Attributes:
        target: the folder.
        added: the number of the batch that the current ingest writes; None without new files.
        new_files: number of files that the current ingest reads.
        seen_files: number of its files that earlier ones have read.
    """

    spark: SparkSession
    target: Target
    batches: tuple[IngestBatch, ...]
    added: int | None
    new_files: int
    seen_files: int

    @property
    def measured(self) -> tuple[IngestBatch, ...]:
        """Return the batches with time series."""
        return tuple(batch for batch in self.batches if batch.mapping is not None)

    @property
    def mapping(self) -> SourceMapping | None:
        """Return the meaning of the columns of the time series; None without any."""
        record = next((batch.mapping for batch in self.measured), None)
        return None if record is None else SourceMapping.model_validate(record)

    def path(self, *names: str) -> str:
        """Return the URI of a place of a batch, which may not be published yet."""
        is_added = int(names[1]) == self.added
        return self.target.unpublished(*names) if is_added else self.target.published(*names)

    def texts(self, kind: str) -> DataFrame | None:
        """Return the texts of all dumps of a kind, as `dumps.dump_texts` does; None without any."""
        files = [(file, batch) for batch in self.batches for file in batch.files if file.kind == kind]
        if not files:
            return None
        if kind == LOGS:
            places = dict.fromkeys(self.path(*batch.place(LOGS)) for _, batch in files)
            return self.spark.read.parquet(*places)
        ordered = sorted(files, key=lambda item: item[0].uri)
        copies = {self.path(*batch.place(kind, file.copy or "")): file.name for file, batch in ordered}
        return texts_of_copies(self.spark, copies)


def keep_new_files(
    spark: SparkSession,
    target: Target,
    sources: Mapping[str, tuple[str, ...]],
    mapping: NamedMapping,
    on_progress: Callable[[str], None],
) -> KeptReadings:
    """Write a batch of the files that no earlier ingest into a folder has read.

    `sources`: paths by kind; `mapping`: the meaning of the columns of the time series. Raises IngestError if the folder
    does not keep readings or has others, a file has changed, or a source cannot be read.
    """
    earlier = target.batches()
    if not earlier and target.read_manifest() is not None:
        raise IngestError(
            f"{target.out}: does not keep its readings, so none can be added; ingest all files with --add into another "
            "folder"
        )
    on_progress("looking for files")
    found = {kind: find_files(spark, paths) for kind, paths in sources.items() if paths}
    new = {kind: select_new(files, earlier, kind) for kind, files in found.items()}
    if METRICS in found:
        check_mapping(mapping, earlier, target.out)
    count = sum(map(len, new.values()))
    seen = sum(map(len, found.values())) - count
    if not count:
        return KeptReadings(spark, target, tuple(earlier), None, 0, seen)
    number = max((batch.number for batch in earlier), default=0) + 1
    batch = _Writer(spark, target, IngestBatch(number, (), RowCounts(), None, ())).write(
        new, mapping, earlier, on_progress
    )
    return KeptReadings(spark, target, (*earlier, batch), number, count, seen)


@dataclass(slots=True)
class _Writer:
    """Writes a batch. `target`: the output folder."""

    spark: SparkSession
    target: Target
    batch: IngestBatch

    def write(
        self,
        new: Mapping[str, list[SourceFile]],
        mapping: NamedMapping,
        earlier: list[IngestBatch],
        on_progress: Callable[[str], None],
    ) -> IngestBatch:
        """Write the batch, its description last."""
        for kind, files in new.items():
            if not files:
                continue
            size = sum(file.size for file in files)
            what = f"{len(files):,} files" if kind == METRICS else kind.replace("_", " ")
            on_progress(f"reading {what}, {size / 1e6:,.0f} MB")
            if kind == METRICS:
                self._keep_series(files, mapping, earlier)
            else:
                self._keep_dumps(kind, files)
        self.target.write_bytes(self.batch.to_json().encode(), *self.batch.file_place)
        return self.batch

    def _keep_series(self, files: list[SourceFile], named: NamedMapping, earlier: list[IngestBatch]) -> None:
        mapping = named.mapping
        groups = group_files(self.spark, files)
        plan = plan_parquet(self.spark, groups, mapping)
        names = names_in_rows(self.spark, [file.uri for file in files])
        ingested = tuple(
            IngestedFile(METRICS, file.uri, file.size, file.modified_ms, names[file.uri], group.format, group.header)
            for group in groups
            for file in group.files
        )
        columns = (
            next((parquet_columns(self.spark, group) for group in groups if group.format == "parquet"), ())
            if plan is None
            else column_types(plan.schema)
        )
        self.batch = dataclasses.replace(self.batch, files=ingested, mapping=named.record, columns=columns)
        check_columns(earlier, self.batch)
        rows, bad = (self._path(name) for name in (ROWS, QUARANTINED))
        folder, scratch = self.target.local_folder(*self.batch.place(CHUNKS)), self.target.local_folder("_chunks")
        if plan is not None and folder is not None and scratch is not None and not is_connect(self.spark):
            written = keep_chunks(self.spark, plan, mapping, folder, scratch, bad)
            self.batch = dataclasses.replace(self.batch, counts=written.counts, chunks=len(written.files))
        else:
            self.batch = dataclasses.replace(self.batch, counts=keep_rows(self.spark, groups, mapping, rows, bad))

    def _keep_dumps(self, kind: str, files: list[SourceFile]) -> None:
        names = names_in_rows(self.spark, [file.uri for file in files])
        if kind == LOGS:
            write_parquet(dump_texts(self.spark, kind, files), self._path(LOGS))
        ingested = []
        for number, file in enumerate(files):
            copy = None
            if kind != LOGS:
                # Spark decompresses a file according to its name.
                suffix = PurePosixPath(file.uri).suffix
                copy = f"{number}{suffix if suffix in COMPRESSED else '.txt'}"
                (row,) = self.spark.read.format("binaryFile").load(file.uri).select("content").collect()
                self.target.write_bytes(bytes(row["content"]), *self.batch.place(kind, copy))
            ingested.append(IngestedFile(kind, file.uri, file.size, file.modified_ms, names[file.uri], copy=copy))
        self.batch = dataclasses.replace(self.batch, files=(*self.batch.files, *ingested))

    def _path(self, name: str) -> str:
        return self.target.unpublished(*self.batch.place(name))


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
        """Check that sources are given; raise IngestError if no source is given."""
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
        conflicts: number of readings with another value than one of the same time; None without any.
        conflicting_partitions: number of partitions that have them; None without any.
    """

    rows: int
    malformed: int
    ignored: int
    without_partitions: tuple[str, ...]
    tables: Mapping[str, int]
    new_files: int | None = None
    seen_files: int | None = None
    lags: tuple[GroupLag, ...] = ()
    conflicts: int | None = None
    conflicting_partitions: int | None = None

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
    of one ingest of all files. `out`: path or URI of the folder; an earlier ingest there is replaced. `mapping`: the
    meaning of the columns of the time series. `interval_ms`: time between readings; the median of each series by
    default. `command`: the command line, for the manifest. `add` says whether to add the files that are new to those of
    earlier ingests into the folder. Returns counts of rows and tables. Raises IngestError if a source, the mapping or
    the folder cannot be used.
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
        conflicts=manifest.get("conflicts"),
        conflicting_partitions=manifest.get("conflicting_partitions"),
    )


@contextmanager
def _spark_errors() -> Iterator[None]:
    """Turn errors of Spark, which cannot read a source or write a table, into `IngestError`."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        raise IngestError(f"Spark cannot read the sources or write the tables: {str(error)[:_MAX_CHARS]}") from error


@dataclass(slots=True)
class _IngestJob:
    """State of an ingest.

    Attributes:
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
        conflicts, partitions = self._conflicts() if QUALITY.name in written else (None, None)
        counts = RowCounts() if self.measured is None else self.measured.counts
        return IngestResult(
            rows=counts.rows,
            malformed=counts.malformed,
            ignored=counts.ignored,
            without_partitions=() if self.measured is None else self._without_partitions(tables[RATES]),
            tables=written,
            lags=self._lags() if LAGS.name in written else (),
            conflicts=conflicts,
            conflicting_partitions=partitions,
        )

    def _conflicts(self) -> tuple[int | None, int | None]:
        """Return the number of conflicts in the written table and of partitions that have them; None without any."""
        found = self.spark.read.parquet(self.target.unpublished(QUALITY.name)).where("conflicts > 0")
        (row,) = found.selectExpr("sum(conflicts) as conflicts", "count(*) as conflicting_partitions").collect()
        return row["conflicts"], row["conflicting_partitions"] or None

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
