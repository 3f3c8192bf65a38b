"""Numbers that are no measurements: rows with them go to quarantine in every format, and none stops an ingest."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.ingest.mapping import BUILT_IN, find_mapping
from pipeline.ingest.rows import read_rows
from pipeline.ingest.run import IngestSources, ingest
from pipeline.ingest.sources import find_files, group_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

TIME_MS = 1_736_121_600_000
GOOD = {
    "timestamp": str(TIME_MS),
    "topic": "orders",
    "partition": "0",
    "broker": "b1",
    "received": str(TIME_MS),
    "bytes_in_total": "5",
    "messages_in_total": "5",
}
NO_NUMBERS = ["NaN", "nan", "Infinity", "-Infinity", "inf", "1e400", "-1e400", "0x10", "0x1p3", "0x1p60", "5f", "5d"]
NO_NUMBERS += ["abc", "true", "1_000", "١٢", "1,5", "1 2"]
HUGE = ["1e19", "9223372036854775808", "9223372036854775807", "99999999999999999999999999", "1e300"]
NO_TIMES = [*NO_NUMBERS, "", "1e30", "-1e30", "1e300", "99999999999999999999999999", f"{TIME_MS}d"]
NO_TIMES += ["+294248-01-01T00:00:00", "-999999-01-01", "999999-12-31"]

NO_VALUE, NEGATIVE_OR_NONE, TOO_LARGE = "no measured value", "not a number ≥ 0", "2^63 or more"
NO_TIME, EARLY, LATE = (
    "timestamp: not a time",
    "timestamp: before the year 2000",
    "timestamp: after the file was written",
)
NO_PARTITION = "partition: not a partition number"

Case = tuple[str, object, str | None]
"""A column, its value, and the reason for quarantine; None if the row is good."""

TEXTS: list[Case] = [
    *(("timestamp", text, NO_TIME) for text in NO_TIMES),
    *(("timestamp", text, EARLY) for text in ("-5", "0", "7", "1e-400", "-0")),
    *(("timestamp", text, LATE) for text in ("1e19", "9223372036854775807", "9223372036854775808")),
    # A collector's time is optional: without a valid one, the clock of the broker is not checked.
    *(("received", text, None) for text in NO_TIMES),
    *(("partition", text, NO_PARTITION) for text in (*NO_NUMBERS, *HUGE, "", "-5", "2147483648", "1.5")),
    *(("bytes_in_total", text, f"bytes_in_total: {NEGATIVE_OR_NONE}") for text in (*NO_NUMBERS, "-5", "-1e-9")),
    *(("bytes_in_total", text, f"bytes_in_total: {TOO_LARGE}") for text in HUGE),
    *(("messages_in_total", text, f"messages_in_total: {TOO_LARGE}") for text in HUGE),
    *(("bytes_in_total", text, None) for text in ("", "1e-400", "0", "-0", "1e18", "9223372036854774784", " 7 ")),
    ("topic", "", "topic: missing"),
    *(("topic", text, None) for text in (*NO_NUMBERS, *HUGE)),
]

COLUMNS: list[tuple[str, pa.Array, str | None]] = [
    ("timestamp", pa.array([math.nan, math.inf, -math.inf, 1e300, -1e300, 1e25]), NO_TIME),
    ("timestamp", pa.array([math.nan, math.inf, 1e30], pa.float32()), NO_TIME),
    ("timestamp", pa.array([Decimal(10) ** 37], pa.decimal128(38, 0)), NO_TIME),
    ("timestamp", pa.array([2**63 - 1]), LATE),
    ("timestamp", pa.array([2**64 - 1], pa.uint64()), LATE),
    ("timestamp", pa.array([-(2**63), 0, -1]), EARLY),
    ("timestamp", pa.array([2**63 - 1], pa.timestamp("us", "UTC")), LATE),
    ("received", pa.array([math.nan, math.inf, -math.inf, 1e300, -1e300]), None),
    ("partition", pa.array([math.nan, math.inf, 1e300]), NO_PARTITION),
    ("partition", pa.array([2**63 - 1, -(2**63), 2**31, -1]), NO_PARTITION),
    ("bytes_in_total", pa.array([math.nan, math.inf, -math.inf, -1e-300]), f"bytes_in_total: {NEGATIVE_OR_NONE}"),
    ("bytes_in_total", pa.array([1e19, 1e300, 2.0**63]), f"bytes_in_total: {TOO_LARGE}"),
    ("bytes_in_total", pa.array([2**64 - 1], pa.uint64()), f"bytes_in_total: {TOO_LARGE}"),
    ("bytes_in_total", pa.array([-1, -(2**63)]), f"bytes_in_total: {NEGATIVE_OR_NONE}"),
]


def _rows(spark: SparkSession, path: Path) -> DataFrame:
    (group,) = group_files(spark, find_files(spark, [str(path)]))
    return read_rows(spark, group, BUILT_IN["plain"])


def _reasons(spark: SparkSession, path: Path) -> list[str | None]:
    return [row["reason"] for row in _rows(spark, path).orderBy("block", "row").select("reason").collect()]


def _csv(cases: list[Case]) -> str:
    lines = [",".join(f'"{text}"' for text in {**GOOD, name: text}.values()) for name, text, _ in cases]
    return "\n".join([",".join(GOOD), *lines])


def test_texts_in_csv_and_json_lines_go_to_quarantine(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text(_csv(TEXTS))
    (tmp_path / "texts.jsonl").write_text("\n".join(json.dumps({**GOOD, name: text}) for name, text, _ in TEXTS))
    expected = [(name, text, reason) for name, text, reason in TEXTS]
    for file in ("texts.csv", "texts.jsonl"):
        reasons = _reasons(spark, tmp_path / file)
        assert [(name, text, reason) for (name, text, _), reason in zip(TEXTS, reasons, strict=True)] == expected


def test_values_of_json_go_to_quarantine(spark: SparkSession, tmp_path: Path) -> None:
    faults = [math.nan, math.inf, -math.inf, 1e300, 10**30, True, [1], {"a": 1}]
    lines = [json.dumps({**GOOD, name: value}) for name in ("timestamp", "bytes_in_total") for value in faults]
    (tmp_path / "values.jsonl").write_text("\n".join([*lines, json.dumps({**GOOD, "timestamp": TIME_MS})]))
    reasons = _reasons(spark, tmp_path / "values.jsonl")
    assert [reason is None for reason in reasons] == [False] * len(lines) + [True]
    assert set(reasons[: len(faults)]) == {NO_TIME}


@pytest.mark.slow
def test_columns_of_parquet_go_to_quarantine(spark: SparkSession, tmp_path: Path) -> None:
    good = {name: pa.array([int(text)]) if text.isdigit() else pa.array([text]) for name, text in GOOD.items()}
    reasons = []
    for number, (name, values, _) in enumerate(COLUMNS):
        path = tmp_path / f"{number}.parquet"
        columns = {key: pa.concat_arrays([column] * len(values)) for key, column in good.items()}
        pq.write_table(pa.table({**columns, name: values}), path)
        reasons.append((name, str(values.type), _reasons(spark, path)))
    expected = [(name, str(values.type), [reason] * len(values)) for name, values, reason in COLUMNS]
    assert reasons == expected


def test_rows_with_strange_values_do_not_stop_an_ingest(spark: SparkSession, tmp_path: Path) -> None:
    sample = {"__name__": "kafka_log_log_size", "topic": "orders", "instance": "b1", "partition": "0"}
    counter = {**sample, "__name__": "kafka_log_log_logendoffset"}
    rows: list[dict[str, object]] = [{**counter, "timestamp": TIME_MS + at, "value": at} for at in (0, 60_000, 120_000)]
    rows += [{**sample, "timestamp": TIME_MS, "value": "7"}, {**sample, "timestamp": TIME_MS + 1, "value": "1e19"}]
    rows += [{**sample, "timestamp": "NaN", "value": "7"}, {**counter, "timestamp": "1e400", "value": "7"}]
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    sources, out = IngestSources(metrics=(str(tmp_path / "rows.jsonl"),)), tmp_path / "out"
    result = ingest(spark, sources, str(out), find_mapping("jmx-exporter"))
    assert (result.rows, result.malformed) == (7, 3)
    assert pd.read_parquet(out / "sizes")["size_bytes"].tolist() == [7]
    assert sorted(pd.read_parquet(out / "quarantine")["raw"]) == sorted(json.dumps(row) for row in rows[4:])
