"""A run says which threads cannot keep up, by how much, since when, and what helps."""

from __future__ import annotations

import random
from typing import Any

import pytest
import yaml

import assignor_sim as sim
from reports.analysis.conclusion import conclude
from scenarios.load import loads

WIDE, NARROW, RECORD_BYTES = 16, 3, 1_000


def scenario(**changes: Any) -> dict[str, Any]:
    """Return an application with a subtopology that merges 16 topics, and three that read one each."""
    wide = [f"notify-{number}" for number in range(WIDE)]
    narrow = [f"meta-{number}" for number in range(NARROW)]
    topic = {"partitions": 3, "replication_factor": 1, "bytes_per_s": "300 kB/s"}
    return {
        "name": "wide",
        "cluster": {"brokers": {"count": 1}, "topics": [{"name": name, **topic} for name in (*wide, *narrow)]},
        "application": {
            "id": "wide",
            "subtopologies": [{"sources": wide}, *({"sources": [name]} for name in narrow)],
        },
        "clients": [{"name": "app", "count": 1, "threads": 12, "records_per_s": 1_000}],
        "events": [],
        "duration": "10m",
        **changes,
    }


def result_of(document: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows of the table `thread_loads`, and the sentences of the conclusion on them."""
    result = sim.run(loads(yaml.safe_dump(document)))
    [conclusion] = conclude(result.tables, [result.manifest])
    sentences = [sentence for sentence in conclusion.findings if "cannot keep up" in sentence]
    return result.tables["thread_loads"].to_pylist(), sentences


def test_threads_with_too_much_input_are_named() -> None:
    rows, [sentence] = result_of(scenario())
    behind = [row for row in rows if row["behind_since_ms"] is not None]
    assert [row["input_records_per_s"] for row in behind] == [1_600.0] * 3
    # From the first assignment on, 600 of 1,600 records wait each second.
    assert {row["processing_delay_ms"] for row in behind} == {222_750}
    assert {row["behind_since_ms"] for row in behind} == {6_000}
    assert "3 of 12 threads cannot keep up" in sentence
    assert (
        "1,600 records/s arrive for thread 0 of app-0, which processes 1,000 records/s: 3.71 min of usual input behind"
        in sentence
    )
    assert "More threads do not help a thread with one task" in sentence


def test_advice_depends_on_what_all_threads_process() -> None:
    def with_threads(threads: int, records_per_s: int) -> list[str]:
        clients = [{"name": "app", "count": 1, "threads": threads, "records_per_s": records_per_s}]
        return result_of(scenario(clients=clients))[1]

    assert "more threads or instances help" in with_threads(3, 1_700)[0]  # 5,700 arrive.
    assert "All threads together process enough" in with_threads(4, 1_650)[0]
    assert not with_threads(12, 1_700)


def test_a_thread_falls_behind_when_the_traffic_grows() -> None:
    clients = [{"name": "app", "count": 1, "threads": 12, "records_per_s": 1_700}]
    rows, [sentence] = result_of(scenario(clients=clients, events=[{"at": "4m", "traffic": {"factor": 2}}]))
    assert {row["behind_since_ms"] for row in rows} == {None, 240_000}
    # 3,200 records arrive in a second, and 1,600 are a second of usual input.
    assert max(row["processing_delay_ms"] for row in rows) == round(360_000 * 1_500 / 1_600)
    assert "since 0:04:00" in sentence


def test_a_thread_that_catches_up_keeps_up() -> None:
    clients = [{"name": "app", "count": 1, "threads": 12, "records_per_s": 1_700}]
    rows, sentences = result_of(
        scenario(clients=clients, events=[{"at": "4m", "crash": {"clients": "app-0", "down": "2m"}}])
    )
    assert max(row["processing_delay_ms"] for row in rows) > 60_000
    assert not sentences


PEAK = {"hourly": [1, 1, 1, 1, 1, 1, 1, 1, 4, 4, 4, *([1] * 13)]}
USUAL = {"hourly": [1] * 24}


def daily(records_per_s: int = 3_000, **changes: Any) -> dict[str, Any]:
    """Return three clients with two tasks each, whose input is four times as much from 8 to 11."""
    return {
        "name": "daily",
        "cluster": {
            "brokers": {"count": 3, "racks": ["a", "b", "c"]},
            "topics": [{"name": "in", "partitions": 6, "replication_factor": 3, "bytes_per_s": "6 MB/s"}],
        },
        "application": {"id": "daily", "subtopologies": [{"sources": ["in"]}]},
        "clients": [{"name": "pod", "count": 3, "racks": ["a", "b", "c"], "records_per_s": records_per_s}],
        "traffic": PEAK,
        "events": [],
        "duration": "24h",
        **changes,
    }


def peaks_of(document: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows of the table `overloads`, and the sentences of the conclusion on threads."""
    result = sim.run(loads(yaml.safe_dump(document)))
    [conclusion] = conclude(result.tables, [result.manifest])
    sentences = [text for text in conclusion.findings if "fell behind" in text or "cannot keep up" in text]
    return result.tables["overloads"].to_pylist(), sentences


def test_threads_behind_at_the_daily_peak_are_named_although_they_process_enough_at_the_end() -> None:
    """Each thread gets 8,000 records/s and processes 3,000: 54 million records wait at 11, and 7.2 million at 24."""
    [row], [sentence] = peaks_of(daily())
    hour = 3_600_000
    assert (row["from_ms"], row["delay_at_ms"], row["until_ms"]) == (8 * hour, 11 * hour, None)
    assert row["processing_delay_ms"] == 54_000_000 / 2_000 * 1_000
    assert (row["threads"], row["active_tasks"]) == (3, 2)
    assert (row["input_records_per_s"], row["all_input_records_per_s"]) == (8_000, 24_000)
    assert (row["max_records_per_s"], row["all_max_records_per_s"]) == (3_000, 9_000)
    assert sentence == (
        "high_availability: 3 threads fell behind from 8:00:00 on, by up to 7.5 h of usual input at 11:00:00. Until "
        f"then, 8,000 records/s arrived for thread 0 of {row['client']}, which processes 3,000 records/s. Tasks are "
        "still behind at the end. All threads process 9,000 records/s of 24,000 records/s: more threads or instances "
        "help."
    )


def test_threads_that_caught_up_after_the_daily_peak_are_named() -> None:
    """54 million records take 15 h at 1,000 records/s above the usual input: until 2 on the next day."""
    [row], [sentence] = peaks_of(daily(duration="30h"))
    assert row["until_ms"] == pytest.approx(26 * 3_600_000, abs=2)
    assert "All tasks had caught up at 26:00:00." in sentence
    rows, [sentence] = peaks_of(daily(duration="52h"))
    assert len(rows) == 2
    assert "(the worst of 2 times)" in sentence


def test_a_peak_that_goes_on_at_the_end_is_named_once() -> None:
    rows, [sentence] = peaks_of(daily(duration="10h"))
    assert len(rows) == 1
    assert "3 of 3 threads cannot keep up" in sentence
    assert "5 h of usual input behind, since 8:00:00" in sentence
    # The peak of the day before was longer.
    _, [now, before] = peaks_of(daily(duration="33h"))
    assert "2.5 h of usual input behind, since 32:00:00" in now
    assert "by up to 7.5 h of usual input at 11:00:00" in before


def test_threads_that_process_the_peak_are_not_named() -> None:
    assert peaks_of(daily(records_per_s=8_000)) == ([], [])


@pytest.mark.parametrize(("down", "is_named"), [("1m", False), ("40m", True)])
def test_a_short_restart_does_not_count(down: str, is_named: bool) -> None:
    """Two threads do not process the input of three: for a minute, that is no finding; for 40 minutes, it is one."""
    crash = {"at": "1h", "crash": {"clients": "pod-0", "down": down}}
    rows, sentences = peaks_of(daily(records_per_s=2_500, traffic=USUAL, events=[crash], duration="12h"))
    assert len(rows) == 1
    assert bool(sentences) == is_named
    if is_named:
        # From the session timeout on, one task of three on a thread more than two; then 500 records/s more than needed.
        behind_ms = 39.25 * 60_000 / 6
        assert rows[0]["processing_delay_ms"] == pytest.approx(behind_ms, rel=0.05)
        assert "2 threads fell behind from 1:00:4" in sentences[0]
        assert "All tasks had caught up at" in sentences[0]


def test_downtime_is_no_overload() -> None:
    """A thread that catches up after an hour without any client processes more than arrives."""
    crash = {"at": "1h", "crash": {"clients": ["pod-0", "pod-1", "pod-2"], "down": "1h"}}
    assert peaks_of(daily(records_per_s=2_500, traffic=USUAL, events=[crash], duration="12h")) == ([], [])


def test_no_limit_has_no_rows() -> None:
    rows, sentences = result_of(scenario(clients=[{"name": "app", "count": 2, "threads": 2}]))
    assert not rows
    assert not sentences


@pytest.mark.parametrize("seed", range(6))
def test_loads_are_those_of_the_tasks(seed: int) -> None:
    """The input of threads is that of the tasks that they run; one is behind if that is more than it processes."""
    draw = random.Random(seed)
    names = [f"in{number}" for number in range(3)]
    rates = {name: draw.choice((50, 300, 900)) for name in names}
    partitions = draw.choice((4, 7))
    limits = {"fast": draw.choice((1_000, 3_000)), "slow": draw.choice((200, 600))}
    factor = draw.choice((1, 2))
    topics = [
        {"name": name, "partitions": partitions, "bytes_per_s": f"{rates[name] * partitions} kB/s"} for name in names
    ]
    document = {
        "name": "loads",
        "cluster": {"brokers": {"count": 1}, "topics": topics},
        "application": {"id": "loads", "subtopologies": [{"sources": [name]} for name in names]},
        "clients": [
            {"name": name, "count": 2, "threads": draw.choice((1, 3)), "records_per_s": limit}
            for name, limit in limits.items()
        ],
        "events": [
            {"at": "5m", "traffic": {"factor": factor}},
            {"at": "20m", "crash": {"clients": "fast-0", "down": "1m"}},
        ],
        "duration": "2h",
    }
    result = sim.run(loads(yaml.safe_dump(document)))
    rows = result.tables["thread_loads"].to_pylist()
    last = max(row["round"] for row in result.tables["rounds"].to_pylist())
    by_client: dict[str, list[str]] = {}
    for row in result.tables["assignments"].to_pylist():
        if row["round"] == last:
            by_client.setdefault(row["client"], []).append(row["task"])
    assert {row["client"] for row in rows} == set(by_client)
    for client, tasks in by_client.items():
        of_client = [row for row in rows if row["client"] == client]
        assert sum(row["active_tasks"] for row in of_client) == len(tasks)
        arriving = sum(rates[names[int(task[0])]] * 1_000 / RECORD_BYTES * factor for task in tasks)
        assert sum(row["input_records_per_s"] for row in of_client) == pytest.approx(arriving)
        for row in of_client:
            assert row["max_records_per_s"] == limits[client.partition("-")[0]]
            is_behind = row["input_records_per_s"] > row["max_records_per_s"]
            assert (row["behind_since_ms"] is not None) == is_behind
            assert is_behind <= (row["processing_delay_ms"] > 0)
    [run] = result.tables["runs"].to_pylist()
    overloads = result.tables["overloads"].to_pylist()
    for row, following in zip(overloads, [*overloads[1:], None], strict=True):
        assert 0 < row["processing_delay_ms"] <= run["max_processing_delay_ms"]
        assert row["input_records_per_s"] > row["max_records_per_s"] == limits[row["client"].partition("-")[0]]
        assert row["from_ms"] < row["delay_at_ms"] <= (row["until_ms"] or 7_200_000)
        assert following is None or row["until_ms"] <= following["from_ms"]
    if any(row["behind_since_ms"] is not None for row in rows):
        assert overloads[-1]["until_ms"] is None
