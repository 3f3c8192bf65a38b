"""Parsing of dumps in workers, without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.ingest.dump_worker import RotatedLogs, describe_bounds, parse_texts

pytestmark = pytest.mark.spark

DIALECTS = Path(__file__).parents[2] / "scenarios" / "kafka" / "formats" / "dialects"
SCHEMA = pa.schema(
    {name: pa.string() for name in ("client", "task", "kind", "leader", "reason")} | {"at_ms": pa.int64()}
)


def _rows(text: str) -> list[dict[str, object]]:
    batch = pa.RecordBatch.from_pylist([{"file": "a.log", "text": text}])
    [bounds] = describe_bounds(iter([batch]))
    assert '"is_open": true' not in bounds["bounds"].to_pylist()[0]
    return [
        row
        for rows in parse_texts("leader_logs", iter([batch]), SCHEMA, RotatedLogs.of({}))
        for row in rows.to_pylist()
    ]


def test_prefixes_of_a_log_do_not_change_its_rows() -> None:
    text = (DIALECTS / "leader_3_9.log").read_text()
    prefixed = "".join(f"[pod/shop-0/shop] 2026-02-01T09:00:00.000000000Z {line}\n" for line in text.splitlines())
    assert _rows(prefixed) == _rows(text)
    assert {row["leader"] for row in _rows(text)} != {None}
