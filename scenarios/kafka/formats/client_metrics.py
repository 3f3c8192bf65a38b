"""Metrics of Kafka Streams clients, by the names that Prometheus' JMX exporter gives them.

What the metrics mean (Kafka 3.9.1 and 4.3.1; all are recorded at level INFO, those of single tasks only at DEBUG):

- `stream-thread-metrics`: `process-rate` is in records per second, `process-latency-avg` in ms per record.
- `stream-state-updater-metrics`: `restore-records-rate` is in records per second; `active-restoring-tasks`.
- `consumer-fetch-manager-metrics` of a restore consumer: `records-consumed-total` and `bytes-consumed-total`, by topic
  and in total. Bytes are uncompressed.

An average without a record in the last 30 to 60 s is NaN; a rate is then 0. A rate covers the same time
(`metrics.num.samples` windows of `metrics.sample.window.ms`), at least 30 s, so it understates a shorter restoration.

Source: `StreamThread`, `ThreadMetrics`, `DefaultStateUpdater.StateUpdaterMetrics`, `FetchMetricsManager`, `Rate`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from scenarios.kafka.formats.exposition import Sample

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
