"""Answers of monitoring systems in one document."""

from __future__ import annotations

import contextlib
import json

import pyarrow as pa
import pytest

from pipeline.ingest.document_worker import document_rows
from pipeline.ingest.documents import FORMATS, NotADocumentError, as_line, document_format, rows_of

pytestmark = pytest.mark.spark

PROMETHEUS = {
    "status": "success",
    "data": {
        "resultType": "matrix",
        "result": [
            {
                "metric": {"__name__": "m", "topic": "a", "timestamp": "x"},
                "values": [[1_700_000_000.5, "1"], [1, "NaN"]],
            },
            {"metric": {"__name__": "m"}, "values": []},
        ],
    },
    "warnings": ["some stores are not reachable"],
}
DATADOG = {
    "status": "ok",
    "series": [
        {"metric": "kafka.topic.net.bytes_in.rate", "scope": "topic:a,host:b", "pointlist": [[1e12, 2.5], [2e12, None]]}
    ],
}
CONFLUENT = {
    "data": [
        {"timestamp": "2025-03-01T00:00:00Z", "value": 120.0, "metric.topic": "a"},
        {"timestamp": "2025-03-01T00:01:00Z", "value": 60.0, "metric.topic": "a"},
    ],
    "meta": {"pagination": {"page_size": 1000}},
}
DATADOG_CSV = (
    'time,"avg:kafka.topic.net.bytes_in.rate{topic:a,host:b}",kafka.topic.net.bytes_in.rate{*}\r\n'
    "2025-03-01 00:00:00,1.5,\r\n"
    "2025-03-01T00:01:00Z,,7\r\n"
    "broken\r\n"
)


@pytest.mark.parametrize(
    ("text", "format_"),
    [
        (json.dumps(PROMETHEUS), "prometheus"),
        (json.dumps(PROMETHEUS, indent=2), "prometheus"),
        ("\ufeff" + json.dumps(PROMETHEUS["data"]["result"]), "prometheus"),  # type: ignore[index]
        (json.dumps(DATADOG), "datadog"),
        (json.dumps(CONFLUENT), "confluent"),
        (DATADOG_CSV, "datadog-csv"),
        ("date,metric,topic:a,topic:b\n", "datadog-csv"),
        ('{"__name__": "m", "timestamp": 1, "value": "resultType"}', None),
        ("time,topic,partition,bytes_in_total\n", None),
        ("timestamp,metric,topic,partition,value\n", None),
        ("", None),
    ],
)
def test_format_is_recognized_by_content(text: str, format_: str | None) -> None:
    assert document_format(text) == format_


def _rows(format_: str, text: str, file: str = "x") -> list[tuple[dict[str, object], str | None]]:
    return list(rows_of(format_, text, file))


def test_points_of_prometheus_have_the_labels_of_their_series() -> None:
    rows = _rows("prometheus", json.dumps(PROMETHEUS))
    assert rows == [
        ({"__name__": "m", "topic": "a", "timestamp": 1_700_000_000.5, "value": "1"}, None),
        ({"__name__": "m", "topic": "a", "timestamp": 1.0, "value": "NaN"}, None),
    ]


def test_promtool_prints_the_result_alone() -> None:
    result = PROMETHEUS["data"]["result"]  # type: ignore[index]
    assert _rows("prometheus", json.dumps(result)) == _rows("prometheus", json.dumps(PROMETHEUS))


def test_vector_of_prometheus_has_one_value() -> None:
    vector = {"data": {"resultType": "vector", "result": [{"metric": {"a": "b"}, "value": [3, "4"]}]}}
    assert _rows("prometheus", json.dumps(vector)) == [({"a": "b", "timestamp": 3.0, "value": "4"}, None)]


def test_points_of_datadog_are_in_seconds_and_without_nulls() -> None:
    assert _rows("datadog", json.dumps(DATADOG)) == [
        ({"__name__": "kafka.topic.net.bytes_in.rate", "topic": "a", "host": "b", "timestamp": 1e9, "value": 2.5}, None)
    ]


def test_columns_of_datadog_are_series() -> None:
    name = "kafka.topic.net.bytes_in.rate"
    assert _rows("datadog-csv", DATADOG_CSV) == [
        ({"__name__": name, "topic": "a", "host": "b", "timestamp": "2025-03-01 00:00:00Z", "value": "1.5"}, None),
        ({"__name__": name, "timestamp": "2025-03-01T00:01:00Z", "value": "7"}, None),
        ({"row": ["broken"]}, "not 3 fields"),
    ]


def test_scopes_of_datadog_are_columns() -> None:
    text = 'date,metric,topic:a,"topic:b,host:c"\n2025-03-01 00:00:00.5,kafka.broker_offset (avg),1,2\n'
    shared = {"__name__": "kafka.broker_offset", "timestamp": "2025-03-01 00:00:00.5Z"}
    assert _rows("datadog-csv", text) == [
        ({**shared, "topic": "a", "value": "1"}, None),
        ({**shared, "topic": "b", "host": "c", "value": "2"}, None),
    ]


def test_sums_of_confluent_cloud_become_rates() -> None:
    rows = _rows("confluent", json.dumps(CONFLUENT), "received_bytes-2025.json")
    assert [(row["__name__"], row["topic"], row["value"]) for row, _ in rows] == [
        ("received_bytes", "a", 2.0),
        ("received_bytes", "a", 1.0),
    ]


def test_lag_of_confluent_cloud_is_not_divided() -> None:
    point = {"timestamp": "2025-03-01T00:00:00Z", "value": 7, "metric.topic": "a", "metric.consumer_group_id": "g"}
    [(row, fault)] = _rows("confluent", json.dumps({"data": [point]}), "consumer_lag_offsets-2025.json")
    assert (row["consumer_group_id"], row["value"], fault) == ("g", 7, None)


@pytest.mark.parametrize(
    ("format_", "text", "file", "message"),
    [
        ("prometheus", '{"status": "error", "error": "query timed out"}', "x", "the query failed: query timed out"),
        ("prometheus", '{"data": {"resultType": "matrix"}}', "x", "no list of series"),
        ("prometheus", '{"data": []}', "x", "no list of series"),
        ("prometheus", '{"data": {"resultType": "matrix", "result": [', "x", "not JSON: Expecting value"),
        ("prometheus", "[" * 100_000, "x", "not JSON"),
        ("datadog", "[]", "x", "no list of series"),
        ("confluent", json.dumps(CONFLUENT), "export.json", "name the file after it, such as received_bytes"),
        ("confluent", '{"data": [{"timestamp": "2025-03-01T00:00:00Z"}]}', "received_bytes", "the granularity is unkn"),
    ],
)
def test_document_without_the_form_is_rejected(format_: str, text: str, file: str, message: str) -> None:
    with pytest.raises(NotADocumentError, match=message):
        _rows(format_, text, file)


def test_number_too_large_for_a_float_stays_for_the_row_to_be_rejected() -> None:
    text = f'{{"series": [{{"metric": "m", "pointlist": [[{10**400}, 1]]}}]}}'
    assert _rows("datadog", text) == [({"__name__": "m", "timestamp": 10**400, "value": 1}, None)]


def test_field_longer_than_python_reads_is_reported() -> None:
    with pytest.raises(NotADocumentError, match="not CSV: field larger than field limit"):
        _rows("datadog-csv", f"{DATADOG_CSV}2025-03-01 00:02:00,{'9' * 200_000},\r\n")


def test_lone_carriage_returns_end_lines() -> None:
    text = DATADOG_CSV.replace("\r\n", "\r")
    assert document_format(text) == "datadog-csv"
    assert _rows("datadog-csv", text) == _rows("datadog-csv", DATADOG_CSV)


def test_row_with_an_unpaired_surrogate_is_malformed() -> None:
    text = json.dumps([{"metric": {"topic": "\ud800"}, "values": [[1, "2"]]}, {"metric": {}, "values": [[1, "2"]]}])
    batch = pa.RecordBatch.from_pylist([{"file": "file:/x.json", "written": 1, "value": text}])
    [rows] = document_rows(iter([batch]), "prometheus")
    assert rows["broken"].to_pylist() == ["an unpaired surrogate, which no text contains", None]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("value", ["null", "1", '"x"', "[]", "{}", '{"series": 3}', '{"data": {"result": [1, null]}}'])
def test_no_document_fails_otherwise(format_: str, value: str) -> None:
    with contextlib.suppress(NotADocumentError):
        assert all(reason for _, reason in _rows(format_, value, "received_bytes"))


@pytest.mark.parametrize(
    ("series", "fault"),
    [
        ('{"metric": "m", "values": []}', "not a series of Prometheus"),
        ('{"metric": {}, "values": 3}', "no list of values"),
        ('{"metric": {}, "values": [[1]]}', "not a pair of a time and a value"),
    ],
)
def test_malformed_series_has_a_reason(series: str, fault: str) -> None:
    [(_, reason)] = _rows("prometheus", f'{{"data": {{"result": [{series}]}}}}')
    assert reason == fault


def test_row_with_long_labels_is_one_complete_line() -> None:
    row = {"__name__": "m", "job": "x" * 5_000, "note": "two\nlines", "timestamp": 1, "value": "2"}
    assert "\n" not in as_line(row)
    assert json.loads(as_line(row)) == row
