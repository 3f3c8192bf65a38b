"""Rows of documents of monitoring systems, in Spark workers; does not import Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa

from pipeline.ingest.documents import NotADocumentError, as_line, rows_of

DOCUMENT_ROWS: Final = "file string, written bigint, row bigint, raw string, broken string"
"""Columns of `document_rows` in Spark SQL."""

_ROWS_PER_BATCH = 10_000
_MAX_CHARS = 2_000
_SCHEMA = pa.schema(
    [("file", pa.string()), ("written", pa.int64()), ("row", pa.int64()), ("raw", pa.string()), ("broken", pa.string())]
)


def document_rows(batches: Iterator[pa.RecordBatch], format_: str) -> Iterator[pa.RecordBatch]:
    """Divide documents into rows.

    `batches`: `file` (URI), `written` (µs since 1970) and `value` (the document). Yields batches of `file`, `written`,
    `row` (number in the file), `raw` (the row as JSON) and `broken` (why the row, or the document, cannot be read; null
    if it can).
    """
    for batch in batches:
        for document in batch.to_pylist():
            yield from _batches(document, format_)


def _batches(document: dict[str, Any], format_: str) -> Iterator[pa.RecordBatch]:
    lines: list[tuple[str, str | None]] = []
    first = 0
    for line in _lines(document, format_):
        lines.append(line)
        if len(lines) == _ROWS_PER_BATCH:
            yield _batch(document, first, lines)
            first, lines = first + len(lines), []
    if lines:
        yield _batch(document, first, lines)


def _lines(document: dict[str, Any], format_: str) -> Iterator[tuple[str, str | None]]:
    text = document["value"]
    try:
        for row, fault in rows_of(format_, text, unquote(document["file"].rsplit("/", 1)[-1])):
            line = as_line(row)
            if fault is None and not _is_text(line):
                fault = "an unpaired surrogate, which no text contains"
            yield _as_text(line), fault
    except NotADocumentError as error:
        yield _as_text(text[:_MAX_CHARS]), _as_text(str(error))


def _is_text(line: str) -> bool:
    try:
        line.encode()
    except UnicodeEncodeError:
        return False
    return True


def _as_text(line: str) -> str:
    return line.encode(errors="replace").decode()


def _batch(document: dict[str, Any], first: int, lines: list[tuple[str, str | None]]) -> pa.RecordBatch:
    count = len(lines)
    raw, broken = zip(*lines, strict=True)
    columns = {
        "file": [document["file"]] * count,
        "written": [document["written"]] * count,
        "row": range(first, first + count),
        "raw": raw,
        "broken": broken,
    }
    return pa.RecordBatch.from_pydict(columns, schema=_SCHEMA)
