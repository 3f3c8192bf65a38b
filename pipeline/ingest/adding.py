"""Ingest of new files into a folder that keeps what earlier ingests have read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pipeline.connect_session import is_connect
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
from pipeline.ingest.dumps import dump_texts, texts_of_copies
from pipeline.ingest.errors import IngestError
from pipeline.ingest.kept_series import keep_chunks, keep_rows
from pipeline.ingest.mapping import NamedMapping, SourceMapping
from pipeline.ingest.parquet_files import column_types, plan_parquet
from pipeline.ingest.rows import parquet_columns
from pipeline.ingest.sources import COMPRESSED, SourceFile, find_files, group_files, names_in_rows
from pipeline.ingest.target import Target
from pipeline.parquet import write_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class KeptReadings:
    """What the ingests into a folder have read, including the current one.

    Attributes:
        spark: the session.
        target: the folder.
        batches: the batches, by number.
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

    Args:
        spark: the session.
        target: the folder; it is locked.
        sources: paths by kind.
        mapping: the meaning of the columns of the time series.
        on_progress: called with a description of each step.

    Returns:
        The earlier batches and the new one.

    Raises:
        IngestError: the folder does not keep readings or has others, a file has changed, or a source cannot be read.
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
    """Writes a batch.

    Attributes:
        spark: the session.
        target: the output folder.
        batch: the batch.
    """

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
