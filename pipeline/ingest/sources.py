"""Files of a source and their format: Parquet, CSV, JSON lines, or an answer of a monitoring system.

A source is a file, a folder, or a pattern such as `metrics/2025-*.csv.gz`, as path or URI. The format follows from the
file name, or else from the beginning of the file.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pipeline.connect_session import is_connect
from pipeline.errors import IngestError
from pipeline.file_systems import with_scheme
from pipeline.ingest.documents import document_format, first_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SUFFIXES = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
COMPRESSED = (".gz", ".bz2", ".zst", ".snappy", ".lz4", ".deflate")
_MAX_HEAD_BYTES = 65_536
_MAX_HEAD_LINES = 50


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a source.

    Attributes:
        size: its size in bytes.
        modified_ms: when it was last modified, in ms since 1970.
    """

    uri: str
    size: int
    modified_ms: int


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files that are read together: of one format, and with equal headers if CSV.

    Attributes:
        format: `parquet`, `csv`, `jsonl`, or a format of `documents`.
        header: the first line of each; None without a header.
        columns: column names of the header; empty without a header.
        separator: field separator of CSV.
    """

    format: str
    files: tuple[SourceFile, ...]
    header: str | None = None
    columns: tuple[str, ...] = ()
    separator: str = ","

    @property
    def uris(self) -> list[str]:
        """Return the URIs of the files."""
        return [file.uri for file in self.files]

    @property
    def size(self) -> int:
        """Return the total size in bytes."""
        return sum(file.size for file in self.files)


def are_parquet(paths: Sequence[str]) -> bool:
    """Return whether sources are Parquet files by their names, without Spark.

    `paths`: files, folders or patterns; a folder counts if its first file is one.
    """
    return bool(paths) and all(_first_file(path).endswith(".parquet") for path in paths)


def _first_file(path: str) -> str:
    """Return the name of the first file of a source; the pattern or URI itself if it is no folder on this machine."""
    for _, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        for name in sorted(files):
            if not name.startswith((".", "_")):
                return name
    return path


class SourceFiles(Protocol):
    """The file systems that Spark reads from."""

    def list_files(self, path: str) -> list[SourceFile]:
        """List the files of a source, sorted; names that begin with a dot or an underscore are ignored.

        Returns at least one file. Raises IngestError if no file matches, or all are empty.
        """

    def head(self, uri: str) -> str:
        """Read the beginning of a text file, decompressed according to its name."""


def source_files(spark: SparkSession) -> SourceFiles:
    """Return the file systems of a session: by Java if it has it, else as its server reads them."""
    return ServerFiles(spark) if is_connect(spark) else HadoopSourceFiles(spark)


class ServerFiles:
    """The file systems of a Spark Connect server, which are read by jobs."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def list_files(self, path: str) -> list[SourceFile]:
        """List the files of a source, sorted; names that begin with a dot or an underscore are ignored.

        Returns at least one file. Raises IngestError if no file matches, or all are empty.
        """
        from pyspark.errors import AnalysisException
        from pyspark.sql import functions as fn

        # Spark's format for whole files opens none if their content is not read.
        found = self._spark.read.format("binaryFile").option("recursiveFileLookup", True)
        try:
            modified = fn.unix_millis("modificationTime").alias("modified_ms")
            rows = found.load(with_scheme(path)).select("path", "length", modified).where("length > 0").collect()
        except AnalysisException as error:
            if "PATH_NOT_FOUND" not in str(error):
                raise
            rows = []
        if not rows:
            raise IngestError(f"{path}: no such file on the machine of the Spark Connect server, or it is empty")
        files = (SourceFile(row["path"], row["length"], row["modified_ms"]) for row in rows)
        return sorted(files, key=lambda file: file.uri)

    def head(self, uri: str) -> str:
        """Read the beginning of a text file, decompressed according to its name."""
        rows = self._spark.read.text(uri).limit(_MAX_HEAD_LINES).collect()
        return "\n".join(row["value"] for row in rows)[:_MAX_HEAD_BYTES]


class HadoopSourceFiles:
    """Spark's Hadoop file systems, by the Java process of the driver."""

    def __init__(self, spark: SparkSession) -> None:
        assert spark._jvm is not None
        self._jvm: Any = spark._jvm
        self._configuration = spark._jsc.hadoopConfiguration()

    def list_files(self, path: str) -> list[SourceFile]:
        """List the files of a source, sorted; names that begin with a dot or an underscore are ignored.

        Returns at least one file. Raises IngestError if no file matches, or all are empty.
        """
        file_path = self._jvm.org.apache.hadoop.fs.Path(with_scheme(path))
        system = file_path.getFileSystem(self._configuration)
        files: dict[str, SourceFile] = {}
        for status in system.globStatus(file_path) or ():
            for file in self._walk(system, status):
                files[file.uri] = file
        if not files:
            raise IngestError(f"{path}: no such file, or it is empty")
        return [files[uri] for uri in sorted(files)]

    def head(self, uri: str) -> str:
        """Read the beginning of a text file, decompressed according to its name."""
        file_path = self._jvm.org.apache.hadoop.fs.Path(uri)
        stream = file_path.getFileSystem(self._configuration).open(file_path)
        codec = self._jvm.org.apache.hadoop.io.compress.CompressionCodecFactory(self._configuration).getCodec(file_path)
        unpacked = stream if codec is None else codec.createInputStream(stream)
        try:
            start = bytes(
                self._jvm.org.apache.commons.io.IOUtils.toByteArray(
                    self._jvm.org.apache.commons.io.input.BoundedInputStream(unpacked, _MAX_HEAD_BYTES)
                )
            )
        finally:
            unpacked.close()
        return start.decode("utf-8", errors="replace")

    def _walk(self, system: Any, status: Any) -> Iterator[SourceFile]:
        if status.getPath().getName().startswith(("_", ".")):
            return
        if status.isFile():
            if status.getLen():
                yield SourceFile(status.getPath().toString(), status.getLen(), status.getModificationTime())
        else:
            for child in system.listStatus(status.getPath()):
                yield from self._walk(system, child)


def find_files(spark: SparkSession, paths: Sequence[str]) -> list[SourceFile]:
    """Find the files of sources.

    Returns at least one file if there is a source; a file of several sources once. Raises IngestError if a source has
    no files.
    """
    files = source_files(spark)
    return list({file.uri: file for path in paths for file in files.list_files(path)}.values())


def names_in_rows(spark: SparkSession, uris: Sequence[str]) -> dict[str, str]:
    """Return the names of files by URI, as Spark writes them into rows."""
    from pyspark.sql import functions as fn

    # Spark's format for whole files opens none if their content is not read.
    files = spark.read.format("binaryFile").load(list(uris)).select("path", fn.col("_metadata.file_path").alias("file"))
    return {row["path"]: row["file"] for row in files.collect()}


def group_files(spark: SparkSession, found: Sequence[SourceFile]) -> list[FileGroup]:
    """Group the files that can be read together."""
    files = source_files(spark)
    groups: dict[tuple[str, str | None], list[SourceFile]] = {}
    for file in found:
        format_ = _by_name(file.uri)
        head = "" if format_ in ("parquet", "jsonl") else files.head(file.uri)
        format_ = document_format(head) or format_ or _by_content(head)
        first = first_line(head)
        groups.setdefault((format_, first if format_ == "csv" else None), []).append(file)
    return [_group(format_, header, members) for (format_, header), members in groups.items()]


def _group(format_: str, header: str | None, files: list[SourceFile]) -> FileGroup:
    if header is None:
        return FileGroup(format_, tuple(files))
    separator = max(",;\t", key=header.count)
    columns = next(csv.reader([header.removeprefix("\ufeff")], delimiter=separator), [])
    return FileGroup(format_, tuple(files), header, tuple(name.strip() for name in columns), separator)


def _by_name(uri: str) -> str | None:
    name = uri
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    return next((format_ for suffix, format_ in _SUFFIXES.items() if name.endswith(suffix)), None)


def _by_content(head: str) -> str:
    if head.startswith("PAR1"):
        return "parquet"
    return "jsonl" if head.lstrip().startswith(("{", "[")) else "csv"
