"""Read the rows of cost reports from CSV, gzipped CSV and Parquet files."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final

from reports.analysis.bill.report_formats import CUR, FOCUS, CostReportError, columns_of
from reports.analysis.text import printable
from simulator.results.regular_files import open_regular

_SUFFIXES: Final = (".csv", ".csv.gz", ".parquet")
csv.field_size_limit(2**24)


def report_files(path: Path) -> list[Path]:
    """Return the files of a report: the file itself, or those of a folder.

    Raises:
        CostReportError: there is none.
    """
    if not path.exists():
        raise CostReportError(f"{path}: no such file or folder")
    if not path.is_dir():
        if not path.name.lower().endswith(_SUFFIXES):
            raise CostReportError(f"{path}: unknown type of file (files: {', '.join(_SUFFIXES)})")
        return [path]
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.name.lower().endswith(_SUFFIXES))
    if not files:
        raise CostReportError(f"{path}: no cost report in this folder (files: {', '.join(_SUFFIXES)})")
    return files


def report_rows(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Read a file.

    Returns:
        The file and its columns, then the place and the columns of each row.

    Raises:
        CostReportError: the file is damaged.
    """
    return _parquet_rows(file) if file.name.lower().endswith(".parquet") else _csv_rows(file)


def _csv_rows(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the columns, then each row with its place."""
    try:
        with _open_text(file) as text:
            reader = csv.reader(text, strict=True)
            header = [_column(name) for name in next(reader, [])]
            yield str(file), dict.fromkeys(header)
            for row in reader:
                if len(row) != len(header):
                    fields = f"{len(row)} fields, but the header has {len(header)}"
                    raise CostReportError(f"{file}:{reader.line_num}: {fields}")
                yield f"{file}:{reader.line_num}", dict(zip(header, row, strict=True))
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise CostReportError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _open_text(file: Path) -> IO[str]:
    if file.suffix.lower() == ".gz":
        return gzip.open(file, "rt", encoding="utf-8-sig", newline="")
    return file.open(encoding="utf-8-sig", newline="")


def _parquet_rows(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the columns, then each row with its place; only the needed columns are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    needed = {name for format_ in (CUR, FOCUS) for name in columns_of(format_)}
    try:
        with open_regular(file) as opened:
            parquet = pq.ParquetFile(opened)
            names = parquet.schema_arrow.names
            yield str(file), dict.fromkeys(names)
            columns = [name for name in names if name in needed or name.startswith("resource_tags_")]
            first = 0
            for batch in parquet.iter_batches(columns=columns, use_threads=False):
                for number, row in enumerate(batch.to_pylist(), start=first):
                    yield f"{file}, row {number}", row
                first += batch.num_rows
    except (OSError, ValueError, TypeError, NotImplementedError, OverflowError, pa.ArrowException) as error:
        reason = str(getattr(error, "strerror", None) or error).split("\n")[0]
        raise CostReportError(f"{file}: cannot be read as Parquet: {printable(reason)}") from None


def _column(name: str) -> str:
    """Return the name of a column in CUR 2.0 for one of the legacy report, such as `lineItem/UsageType`."""
    if "/" not in name or name.startswith("resourceTags/"):
        return name
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.replace("/", "_")).lower().replace("__", "_")
