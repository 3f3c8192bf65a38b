"""Answers of monitoring systems in one document, as rows with the name of a metric, its labels, a time and a value.

Formats:
    `prometheus`: the JSON of `query_range` or `query` of Prometheus' HTTP API, which Thanos, Mimir and VictoriaMetrics
    have as well, and `promtool query range -o json`, which prints the result alone.
    `datadog`: the JSON of Datadog's `GET /api/v1/query`, with a list of points per series.
    `datadog-csv`: CSV with a column of times and one column per series, `avg:NAME{tag:value,…}`; or with scopes
    (`tag:value,…`) as columns, and the metric in the column `metric`.
    `confluent`: the JSON of Confluent Cloud's Metrics API, whose name of the file says the metric that was queried.

Source: prometheus.io/docs/prometheus/latest/querying/api (data types); docs.datadoghq.com/api/v1/metrics (query
timeseries); docs.confluent.io/cloud/current/monitoring/metrics-api-examples.html. Does not import Spark.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from itertools import pairwise
from typing import Any, Final

NAME: Final = "__name__"
TIME: Final = "timestamp"
VALUE: Final = "value"
MAX_BYTES: Final = 256_000_000
"""Maximum size of a document, which is read as a whole."""

CONFLUENT_SUMS: Final = ("received_bytes", "received_records", "sent_bytes")
"""Metrics of Confluent Cloud with the sum of an interval; the name of the file contains one, or CONFLUENT_LAG."""

CONFLUENT_LAG: Final = "consumer_lag_offsets"

Row = dict[str, Any]

_SERIES_COLUMN = re.compile(r"(?:\w+:)?(?P<metric>[\w.]+)\s*\{(?P<scope>[^}]*)\}")
_SCOPE = re.compile(r"[\w.\-/]+:[^,]*(?:,\s*[\w.\-/]+:[^,]*)*")
_TIME_COLUMNS = ("date", "time", "timestamp")


class NotADocumentError(ValueError):
    """A document cannot be read; the message says why."""


def document_format(head: str) -> str | None:
    """Return the format of a document by its first characters; None if it is a file of rows."""
    text = head.removeprefix("\ufeff").lstrip()
    if text.startswith("{"):
        if re.search(r'"resultType"\s*:', text):
            return "prometheus"
        if re.search(r'"pointlist"\s*:', text):
            return "datadog"
        is_confluent = re.match(r'\{\s*"(?:data|meta)"\s*:', text) and re.search(r'"metric\.topic"\s*:', text)
        return "confluent" if is_confluent else None
    if re.match(r'\[\s*\{\s*"(?:metric|values?)"\s*:', text):
        return "prometheus"
    columns = next(csv.reader([first_line(text)]), [])
    return "datadog-csv" if _is_datadog(columns) else None


def first_line(text: str) -> str:
    """Return the first line; like Spark, a lone carriage return ends it, too."""
    return re.split(r"[\r\n]", text, maxsplit=1)[0]


def rows_of(format_: str, text: str, file: str) -> Iterator[tuple[Row, str | None]]:
    """Yield the rows of a document.

    `format_`: its format, as `document_format` returns it. Yields a row, and why it is malformed; None if it is not.
    Raises NotADocumentError if the document has no such form.
    """
    yield from _READERS[format_](text.removeprefix("\ufeff"), file)


def as_line(row: Row) -> str:
    """Return a row as a line of JSON."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def _prometheus(text: str, file: str) -> Iterator[tuple[Row, str | None]]:
    tree = _json(text)
    if isinstance(tree, Mapping):
        if tree.get("status") == "error":
            raise NotADocumentError(f"the query failed: {tree.get('error')}")
        tree = (tree.get("data") or {}).get("result") if isinstance(tree.get("data"), Mapping) else None
    for series in _list(tree, "series"):
        labels = series.get("metric") if isinstance(series, Mapping) else None
        if not isinstance(labels, Mapping):
            yield {"series": series}, "not a series of Prometheus"
            continue
        points = series.get("values") or ([series["value"]] if "value" in series else [])
        yield from _points(dict(labels), points, seconds=1)


def _datadog(text: str, file: str) -> Iterator[tuple[Row, str | None]]:
    tree = _json(text)
    for series in _list(tree.get("series") if isinstance(tree, Mapping) else None, "series"):
        if not isinstance(series, Mapping) or not isinstance(series.get("metric"), str):
            yield {"series": series}, "not a series of Datadog"
            continue
        labels = {NAME: series["metric"], **_tags(str(series.get("scope") or ""))}
        yield from _points(labels, series.get("pointlist"), seconds=1_000)


def _datadog_csv(text: str, file: str) -> Iterator[tuple[Row, str | None]]:
    reader = _csv_rows(text)
    columns = [name.strip() for name in next(reader, [])]
    time_column = next((at for at, name in enumerate(columns) if name.lower() in _TIME_COLUMNS), 0)
    metric_column = next((at for at, name in enumerate(columns) if name.lower() == "metric"), None)
    series: dict[int, Row] = {}
    for at, name in enumerate(columns):
        if found := _SERIES_COLUMN.fullmatch(name):
            series[at] = {NAME: found["metric"], **_tags(found["scope"])}
        elif metric_column is not None and _SCOPE.fullmatch(name):
            series[at] = _tags(name)
    for cells in reader:
        if not cells:
            continue
        if len(cells) != len(columns):
            yield {"row": cells}, f"not {len(columns)} fields"
            continue
        shared = {} if metric_column is None else {NAME: cells[metric_column].split(" (")[0].strip()}
        time = _utc(cells[time_column])
        for at, labels in series.items():
            if cells[at].strip():
                yield {**shared, **labels, TIME: time, VALUE: cells[at].strip()}, None


def _confluent(text: str, file: str) -> Iterator[tuple[Row, str | None]]:
    metric = next((name for name in (*CONFLUENT_SUMS, CONFLUENT_LAG) if name in file), None)
    if metric is None:
        raise NotADocumentError(
            "the answer does not contain the name of the metric: name the file after it, such as "
            f"{CONFLUENT_SUMS[0]}-2025-03-01.json"
        )
    tree = _json(text)
    points = _list(tree.get("data") if isinstance(tree, Mapping) else None, "data")
    seconds = 1.0 if metric == CONFLUENT_LAG else _granularity_s(points)
    for point in points:
        if not isinstance(point, Mapping):
            yield {"point": point}, "not a point of Confluent Cloud"
            continue
        labels = {name.removeprefix("metric."): value for name, value in point.items()}
        yield {**labels, NAME: metric, VALUE: _divided(point.get(VALUE), seconds)}, None


def _granularity_s(points: list[Any]) -> float:
    """Return the shortest time between two points, in seconds."""
    found = {_milliseconds(point.get(TIME)) for point in points if isinstance(point, Mapping)}
    times = sorted(time for time in found if time is not None)
    steps = [later - earlier for earlier, later in pairwise(times)]
    if not steps:
        raise NotADocumentError("the answer has a single time, so the granularity is unknown; query several")
    return min(steps) / 1_000


_READERS: Final[Mapping[str, Callable[[str, str], Iterator[tuple[Row, str | None]]]]] = {
    "prometheus": _prometheus,
    "datadog": _datadog,
    "datadog-csv": _datadog_csv,
    "confluent": _confluent,
}
FORMATS: Final = tuple(_READERS)
"""The formats of documents."""


def _points(labels: Row, points: Any, seconds: int) -> Iterator[tuple[Row, str | None]]:
    """Yield the rows of pairs of a time and a value; a time is in units of which `seconds` are a second."""
    if not isinstance(points, list):
        yield labels, "no list of values"
        return
    for point in points:
        if not isinstance(point, list) or len(point) != 2:
            yield {**labels, "point": point}, "not a pair of a time and a value"
        elif point[1] is not None:
            yield {**labels, TIME: _divided(point[0], seconds), VALUE: point[1]}, None


def _divided(value: Any, divisor: float) -> Any:
    """Return the quotient; a value that is no number, or too large for one, as it is, for the row to be rejected."""
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > sys.float_info.max:
        return value
    return value / divisor


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotADocumentError(f"not JSON: {error}") from None


def _csv_rows(text: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(io.StringIO(text, newline=None))
    except csv.Error as error:
        raise NotADocumentError(f"not CSV: {error}") from None


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise NotADocumentError(f"no list of {what}")
    return value


def _tags(scope: str) -> dict[str, str]:
    """Return the tags of a scope, such as `topic:orders,host:b1`; `*` has none."""
    pairs = (tag.strip().partition(":") for tag in scope.split(","))
    return {name: value for name, colon, value in pairs if colon}


def _is_datadog(columns: list[str]) -> bool:
    names = [name.strip() for name in columns]
    if any(_SERIES_COLUMN.fullmatch(name) for name in names):
        return True
    has_time = any(name.lower() in _TIME_COLUMNS for name in names)
    return has_time and "metric" in names and any(_SCOPE.fullmatch(name) for name in names)


def _utc(text: str) -> str:
    """Return a time with its zone, which is UTC by default."""
    return f"{text.strip()}Z" if re.fullmatch(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?", text.strip()) else text


def _milliseconds(text: Any) -> int | None:
    try:
        return round(datetime.fromisoformat(str(text)).timestamp() * 1_000)
    except (ValueError, OverflowError):
        return None
