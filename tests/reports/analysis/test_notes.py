"""Notes below a comparison."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from reports.analysis.comparison import compare_runs
from reports.analysis.notes import Note, notes
from simulator.results.tables import SCHEMAS
from tests.reports.sample_runs import four_assignors, tables


def note_texts(*runs: dict[str, Any]) -> list[str]:
    return [note.text for note in notes(compare_runs(tables(runs)))]


def test_comparison_without_problems_has_no_notes() -> None:
    assert notes(compare_runs(four_assignors())) == []


def test_releases_and_protocols_that_differ_are_noted() -> None:
    old = {"assignor": "old", "broker_release": "3.9", "client_release": "3.9", "protocol": "classic"}
    new = {"assignor": "new", "broker_release": "4.3", "client_release": "4.2.2", "protocol": "streams"}
    assert note_texts(old, {**old, "seed": 2}, new) == [
        "old: Kafka 3.9, classic protocol.",
        "new: brokers of Kafka 4.3, clients of Kafka 4.2.2, streams protocol.",
    ]
    assert note_texts(old, new, {**old, "assignor": "other"})[0] == "old and other: Kafka 3.9, classic protocol."
    assert note_texts(old, {**old, "assignor": "other"}) == []
    assert note_texts(old, {**new, "scenario": "elsewhere"}) == []
    assert len(note_texts(old, {**old, "assignor": "other", "protocol": "streams"})) == 2


@pytest.mark.parametrize(
    ("run", "text"),
    [
        ({"verdict": "failed", "cause": "round 2: no such task."}, "sticky failed: round 2: no such task."),
        ({"verdict": "never", "cause": "x grows"}, "sticky never converges: x grows."),
        (
            {"verdict": "cycling", "verdict_round": 9, "repeats_round": 5},
            "sticky cycles: round 9 repeats the assignment of round 5.",
        ),
    ],
)
def test_failed_or_unstable_run_is_explained(run: dict[str, Any], text: str) -> None:
    assert note_texts(run) == [text]


def test_problem_of_several_seeds_is_reported_once_with_an_example() -> None:
    cycling = {"verdict": "cycling", "verdict_round": 9, "repeats_round": 5}
    assert note_texts(
        {"seed": 1}, {"seed": 2, **cycling}, {"seed": 3, **cycling}, {"seed": 4, "verdict": "failed", "cause": "no"}
    ) == [
        "sticky cycles (2 of 4 runs, for example seed 2): round 9 repeats the assignment of round 5.",
        "sticky failed (1 of 4 runs, for example seed 4): no.",
    ]


def test_leader_compute_time_is_reported_above_threshold() -> None:
    assert note_texts({"seed": 1, "leader_compute_ms": 900.0}) == []
    slow = {"seed": 1, "leader_compute_ms": 2_000.0}, {"seed": 2, "leader_compute_ms": 12_400.0}
    assert note_texts(*slow) == ["sticky: the group leader needs about 12.4 s to compute."]


def test_leader_above_poll_interval_is_reported_once() -> None:
    cause = "the group leader would compute for 400 s, and is put out of the group after 300 s (max.poll.interval.ms)"
    assert note_texts({"verdict": "never", "cause": cause, "leader_compute_ms": 400_000.0}) == [
        f"sticky never converges: {cause}."
    ]
    assert len(note_texts({"verdict": "never", "cause": "x grows", "leader_compute_ms": 4_000.0})) == 2


def test_conflict_of_fewest_partitions_and_fewest_bytes_is_reported() -> None:
    all_notes = notes(
        compare_runs(
            tables(
                [
                    {"assignor": "a", "cross_rack_source_partitions": 3, "cross_rack_bytes_per_s": 15e6},
                    {"assignor": "b", "cross_rack_source_partitions": 9, "cross_rack_bytes_per_s": 12e6},
                    {"assignor": "c", "cross_rack_source_partitions": 3, "cross_rack_bytes_per_s": 16e6},
                ]
            )
        )
    )
    [note] = all_notes
    assert (note.scenario, note.assignors) == ("rack_outage", ("a", "b"))
    assert note.text.startswith(
        "a has the fewest cross-rack source partitions, 3 versus 9, but b sends fewer bytes between racks in the "
        "steady state: 12 MB/s versus 15 MB/s. Kafka's cost counts partitions"
    )


def test_conflict_over_whole_run_is_reported_without_conflict_in_steady_state() -> None:
    [text] = note_texts(
        {"assignor": "a", "cross_rack_source_partitions": 3, "cross_rack_bytes": 15e9},
        {"assignor": "b", "cross_rack_source_partitions": 9, "cross_rack_bytes": 12e9},
    )
    assert "but b sends fewer bytes between racks in the whole run: 12 GB versus 15 GB." in text


def test_no_conflict_without_clear_difference() -> None:
    first: dict[str, Any] = {"assignor": "a", "cross_rack_source_partitions": 3, "cross_rack_bytes_per_s": 15e6}
    second: dict[str, Any] = {"assignor": "b", "cross_rack_source_partitions": 9, "cross_rack_bytes_per_s": 12e6}
    assert note_texts(first, {**second, "cross_rack_source_partitions": 3}) == []
    assert note_texts(first, {**second, "cross_rack_bytes_per_s": 14.99e6}) == []
    assert note_texts(first, {**second, "cross_rack_bytes_per_s": None}) == []
    assert note_texts(first, {**second, "scenario": "elsewhere"}) == []
    assert note_texts(first, {**second, "verdict": "failed", "cause": "no"}) == ["b failed: no."]


def test_note_has_its_scenario() -> None:
    runs: list[dict[str, Any]] = [{"scenario": "one"}, {"scenario": "two", "leader_compute_ms": 5e3}]
    [note] = notes(compare_runs(tables(runs)))
    assert note == Note("two", ("sticky",), "sticky: the group leader needs about 5 s to compute.")


def test_unavailable_partitions_are_reported_once_for_all_assignors() -> None:
    down = {"unavailable_partitions": 3, "worst_unavailable_ms": 7_200_000}
    assert note_texts({"assignor": "HA", **down}, {"assignor": "sticky", **down}) == [
        "3 partitions had no leader or too few in-sync replicas, for up to 2 h; tasks that read or write them were "
        "down (table unavailable_partitions)."
    ]
    single = {"unavailable_partitions": 1, "worst_unavailable_ms": 60_000}
    assert note_texts(single)[0].startswith("1 partition had no leader or too few in-sync replicas, for up to 60 s")


def test_unavailable_partitions_are_listed_by_decreasing_downtime() -> None:
    down = {"unavailable_partitions": 5, "worst_unavailable_ms": 7_200_000}
    results = tables([{"assignor": "HA", **down}])
    key = {
        "scenario": results["runs"]["scenario"][0].as_py(),
        "assignor": "HA",
        "seed": results["runs"]["seed"][0].as_py(),
    }
    rows = [
        {**key, "topic": "orders", "partition": number, "reason": "no_leader", "from_ms": 0, "until_ms": end_ms}
        for number, end_ms in ((0, 10), (1, 30), (2, 10), (3, 10), (3, 7_200_000), (4, 5))
    ]
    results["unavailable_partitions"] = pa.Table.from_pylist(rows, schema=SCHEMAS["unavailable_partitions"])
    [note] = notes(compare_runs(results))
    assert note.text.startswith(
        "5 partitions had no leader or too few in-sync replicas (orders-3, orders-1, orders-0, orders-2, …), "
        "for up to 2 h;"
    )
