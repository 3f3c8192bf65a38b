"""What is said below a comparison."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from reports.analysis.comparison import compare_runs
from reports.analysis.notes import Note, notes
from simulator.results.tables import SCHEMAS
from tests.reports.sample_runs import four_assignors, tables


def said(*runs: dict[str, Any]) -> list[str]:
    return [note.text for note in notes(compare_runs(tables(runs)))]


def test_an_ordinary_comparison_needs_no_words() -> None:
    assert notes(compare_runs(four_assignors())) == []


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
def test_a_run_that_does_not_end_well_is_explained(run: dict[str, Any], text: str) -> None:
    assert said(run) == [text]


def test_of_several_seeds_each_way_to_end_is_told_once_with_an_example() -> None:
    bad = {"verdict": "cycling", "verdict_round": 9, "repeats_round": 5}
    assert said(
        {"seed": 1}, {"seed": 2, **bad}, {"seed": 3, **bad}, {"seed": 4, "verdict": "failed", "cause": "no"}
    ) == [
        "sticky cycles (2 of 4 runs, for example seed 2): round 9 repeats the assignment of round 5.",
        "sticky failed (1 of 4 runs, for example seed 4): no.",
    ]


def test_a_leader_that_computes_for_seconds_is_mentioned_and_a_faster_one_is_not() -> None:
    assert said({"seed": 1, "leader_compute_ms": 900.0}) == []
    slow = {"seed": 1, "leader_compute_ms": 2_000.0}, {"seed": 2, "leader_compute_ms": 12_400.0}
    assert said(*slow) == ["sticky: the group leader needs about 12.4 s to compute."]


def test_a_leader_that_is_put_out_of_the_group_is_told_of_once() -> None:
    cause = "the group leader would compute for 400 s, and is put out of the group after 300 s (max.poll.interval.ms)"
    assert said({"verdict": "never", "cause": cause, "leader_compute_ms": 400_000.0}) == [
        f"sticky never converges: {cause}."
    ]
    assert len(said({"verdict": "never", "cause": "x grows", "leader_compute_ms": 4_000.0})) == 2


def test_fewest_partitions_that_are_not_fewest_bytes_are_pointed_out() -> None:
    found = notes(
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
    [note] = found
    assert (note.scenario, note.assignors) == ("rack_outage", ("a", "b"))
    assert note.text.startswith(
        "a has the fewest cross-rack source partitions, 3 versus 9, but b sends fewer bytes between racks in the "
        "steady state: 12 MB/s versus 15 MB/s. Kafka's cost counts partitions"
    )


def test_what_agrees_at_rest_may_disagree_over_the_whole_run() -> None:
    [text] = said(
        {"assignor": "a", "cross_rack_source_partitions": 3, "cross_rack_bytes": 15e9},
        {"assignor": "b", "cross_rack_source_partitions": 9, "cross_rack_bytes": 12e9},
    )
    assert "but b sends fewer bytes between racks in the whole run: 12 GB versus 15 GB." in text


def test_nothing_is_pointed_out_where_some_of_the_best_agree_or_nobody_can_compare() -> None:
    one: dict[str, Any] = {"assignor": "a", "cross_rack_source_partitions": 3, "cross_rack_bytes_per_s": 15e6}
    other: dict[str, Any] = {"assignor": "b", "cross_rack_source_partitions": 9, "cross_rack_bytes_per_s": 12e6}
    assert said(one, {**other, "cross_rack_source_partitions": 3}) == []
    assert said(one, {**other, "cross_rack_bytes_per_s": 14.99e6}) == []
    assert said(one, {**other, "cross_rack_bytes_per_s": None}) == []
    assert said(one, {**other, "scenario": "elsewhere"}) == []
    assert said(one, {**other, "verdict": "failed", "cause": "no"}) == ["b failed: no."]


def test_a_note_names_its_scenario() -> None:
    runs: list[dict[str, Any]] = [{"scenario": "one"}, {"scenario": "two", "leader_compute_ms": 5e3}]
    [note] = notes(compare_runs(tables(runs)))
    assert note == Note("two", ("sticky",), "sticky: the group leader needs about 5 s to compute.")


def test_partitions_that_were_unavailable_are_mentioned_once_for_all_assignors() -> None:
    down = {"unavailable_partitions": 3, "worst_unavailable_ms": 7_200_000}
    assert said({"assignor": "HA", **down}, {"assignor": "sticky", **down}) == [
        "3 partitions had no leader or too few in-sync replicas, for up to 2 h; tasks that read or write them were "
        "down (table unavailable_partitions)."
    ]
    one = {"unavailable_partitions": 1, "worst_unavailable_ms": 60_000}
    assert said(one)[0].startswith("1 partition had no leader or too few in-sync replicas, for up to 60 s")


def test_the_partitions_that_were_unavailable_are_named_the_longest_first() -> None:
    down = {"unavailable_partitions": 5, "worst_unavailable_ms": 7_200_000}
    made = tables([{"assignor": "HA", **down}])
    key = {"scenario": made["runs"]["scenario"][0].as_py(), "assignor": "HA", "seed": made["runs"]["seed"][0].as_py()}
    rows = [
        {**key, "topic": "orders", "partition": number, "reason": "no_leader", "from_ms": 0, "until_ms": end_ms}
        for number, end_ms in ((0, 10), (1, 30), (2, 10), (3, 10), (3, 7_200_000), (4, 5))
    ]
    made["unavailable_partitions"] = pa.Table.from_pylist(rows, schema=SCHEMAS["unavailable_partitions"])
    [note] = notes(compare_runs(made))
    assert note.text.startswith(
        "5 partitions had no leader or too few in-sync replicas (orders-3, orders-1, orders-0, orders-2, …), "
        "for up to 2 h;"
    )
