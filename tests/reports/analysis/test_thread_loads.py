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
    assert {row["behind_since_ms"] for row in behind} == {0}
    assert "3 of 12 threads cannot keep up" in sentence
    assert "1,600 records/s arrive for thread 0 of app-0, which processes 1,000 records/s: 3.71 min behind" in sentence
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
