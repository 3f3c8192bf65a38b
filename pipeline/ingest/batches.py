"""Batches: what ingests into a folder have read, so that later ones can add files without reading the old ones again.

The folder of a batch, `readings/NUMBER`, is written once and never changed. It contains `batch.json`, the good rows of
time series in `chunks` (`chunk_files`) or in `rows`, the bad ones in `quarantine`, the relevant lines of leader logs in
`leader_logs`, and copies of dumps in folders named by their kinds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any

from pipeline.errors import IngestError
from pipeline.ingest.mapping import BUILT_IN, NamedMapping, SourceMapping
from pipeline.ingest.sources import FileGroup, SourceFile

BATCHES = "readings"
"""The folder of the batches in the output folder of an ingest."""

METRICS = "metrics"
"""The kind of files with time series; the others are those of dumps."""

CHUNKS, ROWS, QUARANTINED, LOGS = "chunks", "rows", "quarantine", "leader_logs"

_FILE = "batch.json"
_VERSIONS = {False: 1, True: 2}
"""Version of the description of a batch, by whether the batch has chunks."""


@dataclass(frozen=True, slots=True)
class IngestedFile:
    """A file that an ingest has read.

    Attributes:
        kind: METRICS, or the kind of the dump.
        size: its size in bytes.
        modified_ms: when it was last modified, in ms since 1970.
        name: its name in rows, as Spark writes it.
        format: format of time series; None for dumps.
        header: header of CSV; None without one.
        copy: name of the copy of a dump; None for other files.
    """

    kind: str
    uri: str
    size: int
    modified_ms: int
    name: str
    format: str | None = None
    header: str | None = None
    copy: str | None = None

    def is_unchanged(self, file: SourceFile) -> bool:
        """Return whether a file of the same URI has the same size and time."""
        return (self.size, self.modified_ms) == (file.size, file.modified_ms)


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Counts of rows of time series.

    Attributes:
        rows: number of rows read, including malformed and ignored ones.
        malformed: number of rows in quarantine.
        ignored: number of rows whose metric the mapping does not contain.
        bytes_out: number of good rows with bytes out.
        lags: number of good rows with a lag.
    """

    rows: int = 0
    malformed: int = 0
    ignored: int = 0
    bytes_out: int = 0
    lags: int = 0

    def __add__(self, other: RowCounts) -> RowCounts:
        return RowCounts(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True)
class IngestBatch:
    """What one ingest has read.

    Attributes:
        counts: counts of its rows of time series.
        mapping: the meaning of their columns; None without time series.
        columns: names and types of the columns of its Parquet files; empty without them.
        chunks: number of files with chunks; 0 if its rows are kept.
    """

    number: int
    files: tuple[IngestedFile, ...]
    counts: RowCounts
    mapping: Mapping[str, Any] | None
    columns: tuple[tuple[str, str], ...]
    chunks: int = 0

    def place(self, *names: str) -> tuple[str, ...]:
        """Return the names on the way from the output folder to a file or folder of the batch."""
        return (BATCHES, str(self.number), *names)

    @property
    def chunk_places(self) -> list[tuple[str, ...]]:
        """Return the places of the files with chunks, by number."""
        return [self.place(CHUNKS, f"{number}.arrow") for number in range(self.chunks)]

    @property
    def file_place(self) -> tuple[str, ...]:
        """Return the names on the way from the output folder to the description of the batch."""
        return self.place(_FILE)

    def to_json(self) -> str:
        """Return the description of the batch."""
        record = {"version": _VERSIONS[self.chunks > 0], **asdict(self)}
        if not self.chunks:
            del record["chunks"]
        return json.dumps(record, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> IngestBatch:
        """Read the description of a batch; raise IngestError if another release has written it."""
        record = json.loads(text)
        if record.pop("version") != _VERSIONS["chunks" in record]:
            raise IngestError(
                f"{BATCHES}/{record['number']}: written by another release of assignor-sim; ingest all files with "
                "--add into another folder"
            )
        return cls(
            record["number"],
            tuple(IngestedFile(**file) for file in record["files"]),
            RowCounts(**record["counts"]),
            record["mapping"],
            tuple((name, type_) for name, type_ in record["columns"]),
            record.get("chunks", 0),
        )


def batch_places(numbers: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the places of the descriptions of batches, by number."""
    return [(BATCHES, number, _FILE) for number in sorted(numbers, key=int)]


def select_new(files: Sequence[SourceFile], batches: Sequence[IngestBatch], kind: str) -> list[SourceFile]:
    """Return the files of a kind that no batch contains.

    Raises IngestError if a file has changed since a batch was made of it.
    """
    known = {file.uri: file for batch in batches for file in batch.files if file.kind == kind}
    changed = [file.uri for file in files if file.uri in known and not known[file.uri].is_unchanged(file)]
    if changed:
        more = f" (and {len(changed) - 1:,} more)" if len(changed) > 1 else ""
        raise IngestError(
            f"{changed[0]}{more}: has changed since it was ingested; ingest all files with --add into another folder, "
            "and add files only when they are complete"
        )
    return [file for file in files if file.uri not in known]


def check_mapping(mapping: NamedMapping, batches: Sequence[IngestBatch], out: str) -> None:
    """Check that time series can be added to those of batches.

    Raises IngestError if the batches have another mapping, maybe that of the same name in another release.
    """
    record = mapping.record
    other = next((batch.mapping for batch in batches if batch.mapping not in (None, record)), None)
    if other is not None:
        release = " of this release" if mapping.name in BUILT_IN else ""
        names = ", ".join(name for name in SourceMapping.model_fields if other.get(name) != record.get(name))
        raise IngestError(
            f"{out}: its readings were ingested with another mapping than --map {mapping.name}{release} (different: "
            f"{names}); use the mapping of the readings, or ingest all files with --add into another folder"
        )


def check_columns(batches: Sequence[IngestBatch], added: IngestBatch) -> None:
    """Check that rows of Parquet files have the same text whether they are read together or not.

    Raises IngestError if the columns of the files differ in more than further ones at the end.
    """
    for batch in batches:
        shared = min(len(batch.columns), len(added.columns))
        if batch.columns[:shared] != added.columns[:shared]:
            first = next(file.uri for file in added.files if file.format == "parquet")
            raise IngestError(
                f"{first}: its columns ({_describe(added)}) are not those of the files before ({_describe(batch)}); "
                "ingest it into another folder"
            )


def groups_of(batches: Sequence[IngestBatch]) -> list[FileGroup]:
    """Return the files with time series of all batches, as `sources.group_files` groups them."""
    groups: dict[tuple[str, str | None], list[SourceFile]] = {}
    files = (file for batch in batches for file in batch.files if file.kind == METRICS)
    for file in sorted(files, key=lambda file: file.uri):
        source = SourceFile(file.uri, file.size, file.modified_ms)
        groups.setdefault((file.format or "", file.header), []).append(source)
    return [FileGroup(format_, tuple(members), header) for (format_, header), members in groups.items()]


def _describe(batch: IngestBatch) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in batch.columns)
