"""Client metrics in the text of a real JMX exporter, and in rows of a Prometheus query."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from scenarios.kafka.formats.client_metrics import client_scrapes, parse_samples
from scenarios.kafka.formats.lines import FormatError

RECORDED = Path(__file__).parent / "client_metrics"


def _text(name: str) -> str:
    return (RECORDED / f"{name}.prom").read_text(encoding="utf-8")


def test_threads_of_a_real_client_have_their_metrics() -> None:
    (scrape,) = client_scrapes(parse_samples(_text("processing")))
    assert (scrape.client_id, scrape.at_ms) == ("shop-one", 30_355)
    assert sorted(scrape.threads) == ["1", "2"]
    first = scrape.threads["1"]
    assert first.process_rate is not None
    assert first.process_rate > 1_000
    assert first.process_latency_ms is not None
    assert 0 < first.process_latency_ms < 1
    assert first.restoring_tasks == 0


def test_restore_consumer_counts_by_topic_and_in_total() -> None:
    (scrape,) = client_scrapes(parse_samples(_text("restoring-2")))
    threads = scrape.threads
    assert (threads["1"].restoring_tasks, threads["2"].restoring_tasks) == (6, 5)
    assert threads["1"].restored_bytes == 1_474_242
    assert threads["1"].restored_records == {
        "shop-page-changes-changelog": 27_835,
        "shop-pages-store-changelog": 27_835,
    }


def test_average_without_records_is_missing() -> None:
    assert 'process_latency_avg{thread_id="shop-one-StreamThread-1"} NaN' in _text("restoring-2")
    (scrape,) = client_scrapes(parse_samples(_text("restoring-2")))
    assert scrape.threads["1"].process_latency_ms is None
    assert scrape.threads["1"].process_rate == 0


def test_rows_of_a_query_equal_the_text() -> None:
    rows = [
        json.dumps({"__name__": sample.name, **sample.labels, "timestamp": 30.355, "value": str(sample.value)})
        for sample in parse_samples(_text("processing"))
    ]
    (from_rows,) = client_scrapes(parse_samples("\n".join(rows)))
    (from_text,) = client_scrapes(parse_samples(_text("processing")))
    assert from_rows == from_text


@pytest.mark.parametrize(
    "spelling", ["active_restoring_tasks", "active-restoring-tasks", "ACTIVE_restoring_tasks_total"]
)
@pytest.mark.parametrize("prefix", ["kafka_streams_", "kafka.streams:"])
def test_names_of_other_exporter_rules_are_recognized(prefix: str, spelling: str) -> None:
    name = f"{prefix}stream-state-updater-metrics_{spelling}"
    (scrape,) = client_scrapes(parse_samples(f'{name}{{client-id="a-StateUpdater-3"}} 2.0 1700000000000'))
    assert scrape.client_id == "a"
    assert scrape.at_ms == 1_700_000_000_000
    assert scrape.threads["3"].restoring_tasks == 2


def test_processes_with_the_same_client_id_are_separate() -> None:
    rows = [
        {
            "__name__": "kafka_streams_stream_thread_metrics_process_rate",
            "thread_id": "shop-StreamThread-1",
            "instance": instance,
            "timestamp": 1,
            "value": "5",
        }
        for instance in ("b:1", "a:1")
    ]
    scrapes = client_scrapes(parse_samples("\n".join(map(json.dumps, rows))))
    assert [(scrape.client_id, scrape.process) for scrape in scrapes] == [("shop", "a:1"), ("shop", "b:1")]


def test_rows_of_a_query_may_be_printed_over_several_lines() -> None:
    rows = [{"__name__": "up", "timestamp": 1, "value": str(value)} for value in range(3)]
    lines = list(parse_samples("\n".join(json.dumps(row, indent=2) for row in rows)))
    assert [(sample.line, sample.value) for sample in lines] == [(1, 0), (6, 1), (11, 2)]


def test_open_metrics_have_times_in_seconds() -> None:
    line = 'kafka_streams_stream_thread_metrics_process_rate{thread_id="a-StreamThread-1"} 1 12.5'
    assert client_scrapes(parse_samples(f"{line}\n# EOF\n"))[0].at_ms == 12_500
    assert [sample.at_ms for sample in parse_samples("up 1 12500\n")] == [12_500]


def test_labels_are_unescaped() -> None:
    (sample,) = parse_samples('a{b="x\\"y\\\\n\\n",c="1,2"} +Inf')
    assert sample.labels == {"b": 'x"y\\n\n', "c": "1,2"}
    assert math.isinf(sample.value)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("up 1\n<html>\n", 2, "not a sample of Prometheus"),
        ("# HELP up\nup one\n", 2, "'one' is not a number"),
        ("up 1 1_0\n", 1, "not a sample"),
        ('up{a="b} 1\n', 1, "not a sample"),
        ('{"__name__": "up", "timestamp": 1, "value": "1"}\n{\n', 2, "invalid JSON"),
        ('{"__name__": "up", "value": "1"}\n', 1, "timestamp missing"),
        ('{"__name__": "up", "timestamp": "NaN", "value": "1"}\n', 1, "'NaN' is not a number"),
    ],
)
def test_error_names_the_line(text: str, line: int, message: str) -> None:
    with pytest.raises(FormatError, match=message) as error:
        list(parse_samples(text))
    assert error.value.line == line
