"""Samples of Prometheus, and the metrics of Kafka Streams clients by the names that its JMX exporter gives them.

Samples are an exporter's text, with or without times, or rows of a query as JSON lines.
What the metrics mean (Kafka 3.9.1 and 4.3.1; all are recorded at level INFO, those of single tasks only at DEBUG):

- `stream-thread-metrics`: `process-rate` is in records per second, `process-latency-avg` in ms per record.
- `stream-state-updater-metrics`: `restore-records-rate` is in records per second; `active-restoring-tasks`.
- `consumer-fetch-manager-metrics` of a restore consumer: `records-consumed-total` and `bytes-consumed-total`, by topic
  and in total. Bytes are uncompressed.

An average without a record in the last 30 to 60 s is NaN; a rate is then 0. A rate covers the same time
(`metrics.num.samples` windows of `metrics.sample.window.ms`), at least 30 s, so it understates a shorter restoration.

Source: `StreamThread`, `ThreadMetrics`, `DefaultStateUpdater.StateUpdaterMetrics`, `FetchMetricsManager`, `Rate`;
Prometheus' text-based exposition format 0.0.4 and OpenMetrics 1.0 (a federation endpoint adds times).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from scenarios.kafka.formats.lines import FormatError

_LABEL = r'[a-zA-Z_][\w-]*\s*=\s*"(?:[^"\\]|\\.)*"'
_SAMPLE: Final = re.compile(
    rf"(?P<name>[a-zA-Z_:][\w:.-]*)\s*(?:\{{(?P<labels>\s*(?:{_LABEL}\s*,?\s*)*)\}})?\s+(?P<value>\S+)"
    r"(?:\s+(?P<time>-?[\d.eE+]+))?(?:\s+#.*)?\s*"
)
_LABEL_PAIR: Final = re.compile(r'([a-zA-Z_][\w-]*)\s*=\s*"((?:[^"\\]|\\.)*)"')
_ESCAPED: Final = {r"\\": "\\", r"\"": '"', r"\n": "\n"}
_END_OF_OPEN_METRICS: Final = "# EOF"
_MAX_SHOWN: Final = 60
_NOT_BLANK: Final = re.compile(r"\S")
_ROW_KEYS: Final = ("__name__", "timestamp", "value")


@dataclass(frozen=True, slots=True)
class Sample:
    """A value of a metric.

    Attributes:
        name: Name of the metric, as written.
        value: The value; NaN if the metric has none.
        at_ms: Its time since 1970; None if the text has no times.
    """

    line: int
    name: str
    labels: Mapping[str, str]
    value: float
    at_ms: int | None


def parse_samples(text: str) -> Iterator[Sample]:
    """Yield the samples of a text; raise FormatError if a line is not a sample."""
    if text.lstrip().startswith("{"):
        yield from _parse_rows(text)
        return
    lines = text.split("\n")
    # OpenMetrics has times in seconds.
    factor = 1_000 if any(line.strip() == _END_OF_OPEN_METRICS for line in lines[-3:]) else 1
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield _parse_sample(number, line.strip(), factor)


def _parse_sample(number: int, line: str, factor: int) -> Sample:
    match = _SAMPLE.fullmatch(line)
    if match is None:
        raise FormatError(number, f"not a sample of Prometheus (such as name{{label=\"value\"}} 1.5): '{_shown(line)}'")
    labels = {key: _unescape(value) for key, value in _LABEL_PAIR.findall(match["labels"] or "")}
    at_ms = None if match["time"] is None else round(_number(number, match["time"]) * factor)
    return Sample(number, match["name"], labels, _number(number, match["value"], allows_nan=True), at_ms)


def _parse_rows(text: str) -> Iterator[Sample]:
    """Yield the samples of JSON objects, each in a line or, as `jq` prints them, over several."""
    decoder, number, position = json.JSONDecoder(), 1, 0
    while start := _NOT_BLANK.search(text, position):
        number += text.count("\n", position, start.start())
        try:
            row, end = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError) as error:
            raise FormatError(number, f"invalid JSON: {error}") from None
        yield _parse_row(number, row)
        number += text.count("\n", start.start(), end)
        position = end


def _parse_row(number: int, row: Any) -> Sample:
    missing = [key for key in _ROW_KEYS if not isinstance(row, dict) or key not in row]
    if missing:
        raise FormatError(number, f"not a row of a Prometheus query: {', '.join(missing)} missing")
    labels = {str(key): str(value) for key, value in row.items() if key not in _ROW_KEYS}
    at_ms = round(_number(number, row["timestamp"]) * 1_000)
    return Sample(number, str(row["__name__"]), labels, _number(number, row["value"], allows_nan=True), at_ms)


def _number(line: int, value: object, *, allows_nan: bool = False) -> float:
    try:
        number = float(str(value).replace("_", "?"))
    except ValueError:
        number = None
    if number is None or (not math.isfinite(number) and not allows_nan):
        raise FormatError(line, f"'{_shown(str(value))}' is not a number")
    return number


def _unescape(text: str) -> str:
    return re.sub(r"\\.", lambda match: _ESCAPED.get(match[0], match[0]), text)


def _shown(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


_THREAD: Final = re.compile(
    r"(?P<client>.+)-(?P<thread>(?:StreamThread|StateUpdater)-\d{1,9})(?P<restore>-restore-consumer)?"
)
_METRIC: Final = re.compile(
    r"kafka_(?:streams_|consumer_)?"
    r"(?P<group>stream_thread|stream_state_updater|consumer_fetch_manager)_metrics_(?P<metric>\w+?)(?:_total)?"
)
_UPTIME_MS_PER_UNIT: Final = {"java_lang_runtime_uptime": 1, "process_uptime_seconds": 1_000}
_STARTS: Final = ("process_start_time_seconds", "java_lang_runtime_starttime")
"""Gauges of a Java process: its age, which is the clock of a text without times, and its start, which identifies it."""

_RATES: Final = {
    ("stream_thread", "process_rate"): "process_rate",
    ("stream_thread", "process_latency_avg"): "process_latency_ms",
    ("stream_thread", "commit_ratio"): "commit_ratio",
    ("stream_thread", "punctuate_ratio"): "punctuate_ratio",
    ("stream_state_updater", "restore_records_rate"): "restore_records_rate",
    ("stream_state_updater", "active_restoring_tasks"): "restoring_tasks",
}
_COUNTERS: Final = {"bytes_consumed": "restored_bytes", "records_consumed": "restored_records"}


@dataclass(slots=True)
class ThreadMetrics:
    """The metrics of a stream thread and its state updater at one point in time; None if absent or NaN.

    Attributes:
        process_rate: Records processed per second.
        process_latency_ms: Mean processing time of a record.
        commit_ratio: Share of the time spent on commits.
        punctuate_ratio: Share of the time spent on punctuation.
        restore_records_rate: Records restored per second, over at least 30 s.
        restoring_tasks: Number of active tasks that are being restored.
        restored_bytes: Uncompressed bytes that the restore consumer has read, in total.
        restored_records: Records that it has read, by topic.
    """

    process_rate: float | None = None
    process_latency_ms: float | None = None
    commit_ratio: float | None = None
    punctuate_ratio: float | None = None
    restore_records_rate: float | None = None
    restoring_tasks: float | None = None
    restored_bytes: float | None = None
    restored_records: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class ClientScrape:
    """The metrics of one client at one point in time.

    Attributes:
        client_id: The client's id, with which the names of its threads begin.
        process: Identifies the process among those with the same client id; empty if unknown.
        at_ms: Time on a clock that all scrapes of the process share; None if unknown.
    """

    client_id: str
    process: str
    at_ms: int | None
    threads: dict[str, ThreadMetrics] = field(default_factory=dict)


_Scrapes = dict[tuple[str, str, int | None], ClientScrape]


def client_scrapes(samples: Iterable[Sample]) -> list[ClientScrape]:
    """Return the metrics of each client and time, ordered by client, process and time; ignore other metrics."""
    scrapes: _Scrapes = {}
    uptime_ms: int | None = None
    start = ""
    for sample in samples:
        name = re.sub(r"[-.:]", "_", sample.name.lower())
        if name in _UPTIME_MS_PER_UNIT and math.isfinite(sample.value):
            uptime_ms = round(sample.value * _UPTIME_MS_PER_UNIT[name])
        elif name in _STARTS:
            start = start or str(sample.value)
        elif match := _METRIC.fullmatch(name):
            _add(scrapes, sample, match["group"], match["metric"])
    for scrape in scrapes.values():
        scrape.process = scrape.process or start
        scrape.at_ms = uptime_ms if scrape.at_ms is None else scrape.at_ms
    return sorted(scrapes.values(), key=lambda scrape: (scrape.client_id, scrape.process, scrape.at_ms or 0))


def _add(scrapes: _Scrapes, sample: Sample, group: str, metric: str) -> None:
    labels = {key.replace("-", "_"): value for key, value in sample.labels.items()}
    owner = _THREAD.fullmatch(labels.get("thread_id") or labels.get("client_id") or "")
    if owner is None or math.isnan(sample.value):
        return
    key = owner["client"], labels.get("instance", ""), sample.at_ms
    threads = scrapes.setdefault(key, ClientScrape(*key)).threads
    thread = threads.setdefault(owner["thread"].rpartition("-")[2], ThreadMetrics())
    if group != "consumer_fetch_manager":
        name = _RATES.get((group, metric))
        if name is not None:
            setattr(thread, name, sample.value)
    elif owner["restore"] and metric in _COUNTERS and "partition" not in labels:
        topic = labels.get("topic")
        if topic is None and metric == "bytes_consumed":
            thread.restored_bytes = sample.value
        elif topic is not None and metric == "records_consumed":
            thread.restored_records[topic] = sample.value
