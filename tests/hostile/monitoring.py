"""Damaged answers of monitoring systems, divided into rows as the workers of `ingest` do it."""

from __future__ import annotations

import csv
import json
import random
import time
import traceback
from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any, Final

import pyarrow as pa

from pipeline.ingest.document_worker import document_rows
from pipeline.ingest.documents import FORMATS, document_format
from tests.hostile.mutations import HOSTILE_TEXTS, HOSTILE_VALUES, changed_json, damaged_text
from tests.pipeline.ingest.test_documents import CONFLUENT, DATADOG, DATADOG_CSV, PROMETHEUS

_TIME_LIMIT_S: Final = 5.0
_JSON: Final = {"prometheus": PROMETHEUS, "datadog": DATADOG, "confluent": CONFLUENT}
_TIMES: Final = (0, -1, 1e300, 10**400, "0001-01-01", "9999-12-31T23:59:59Z", "2025-03-01T00:00:00+99:00", "1e9", "²")


def document_failure(rng: random.Random) -> str | None:
    """Change a document of a monitoring system and divide it into rows; return what is wrong, or None."""
    format_ = rng.choice(FORMATS)
    text = _changed_csv(rng) if format_ == "datadog-csv" else _changed_json(rng, _JSON[format_])
    text = text.encode("utf-8", "replace").decode()  # As Spark reads it.
    file = rng.choice(("file:/received_bytes-1.json", "file:/a%20b.json", "file:/%ff"))
    batch = pa.RecordBatch.from_pylist([{"file": file, "written": 1, "value": text}])
    started = time.perf_counter()
    try:
        recognized = document_format(text[:65_536])
        rows = [row for rows in document_rows(iter([batch]), format_) for row in rows.to_pylist()]
    except Exception:
        return f"{format_}: {text[:1000]!r}\n{traceback.format_exc()}"
    if time.perf_counter() - started > _TIME_LIMIT_S:
        return f"{format_}: {time.perf_counter() - started:.0f} s for {text[:300]!r}"
    if recognized not in (None, *FORMATS):
        return f"{format_}: recognized as {recognized}: {text[:300]!r}"
    if [row["row"] for row in rows] != list(range(len(rows))):
        return f"{format_}: rows are not numbered: {text[:300]!r}"
    broken = [row for row in rows if row["broken"] is None and not isinstance(json.loads(row["raw"]), dict)]
    return f"{format_}: not a row: {broken[0]}" if broken else None


def _changed_json(rng: random.Random, document: Mapping[str, Any]) -> str:
    text = json.dumps(document)
    if rng.random() < 0.3:
        for old in ("1700000000.5", "1000000000000.0", '"2025-03-01T00:00:00Z"', "120.0", "2.5"):
            text = text.replace(old, json.dumps(rng.choice((*_TIMES, *HOSTILE_VALUES))))
    return changed_json(rng, text)


def _changed_csv(rng: random.Random) -> str:
    """Return an export with a changed cell, damaged characters, or a field longer than the `csv` module reads."""
    rows = list(csv.reader(StringIO(DATADOG_CSV)))
    row = rng.choice(rows)
    row[rng.randrange(len(row))] = str(rng.choice((*HOSTILE_TEXTS, *_TIMES, "x" * 200_000, '"', "metric", "date")))
    out = StringIO()
    csv.writer(out).writerows(rows)
    change: Callable[[str], str] = (lambda text: damaged_text(rng, text)) if rng.random() < 0.5 else str
    text = change(out.getvalue())
    return text.replace("\r\n", rng.choice(("\n", "\r"))) if rng.random() < 0.2 else text
