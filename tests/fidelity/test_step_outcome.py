"""Times, restored bytes and threads of a step are compared as the page says."""

from __future__ import annotations

import random

import pytest

from tests.fidelity.prediction import predict_period, simulate_document
from tests.fidelity.scenario_edits import EVENT_AT_MS, STEP_DURATION_MS
from tests.fidelity.step_outcome import (
    count_close_times,
    count_moves,
    count_tasks_on_predicted_thread,
    cross_rack_partitions,
    is_close,
    predict_outcome,
)

TASK_BYTES = 26_000_000
DOCUMENT = {
    "name": "newcomer",
    "cluster": {
        "brokers": {"count": 1},
        "topics": [{"name": "orders", "partitions": 2, "size": 2 * TASK_BYTES, "record_size": 500}],
    },
    "application": {
        "id": "shop",
        "starts": "running",
        "configs": {"probing.rebalance.interval.ms": 60_000},
        "subtopologies": [{"sources": ["orders"], "stores": [{"name": "table", "size": 2 * TASK_BYTES}]}],
    },
    "clients": [
        {"name": "first", "tasks": {"active": ["0_0", "0_1"]}},
        {"name": "second", "starts": False, "restore": 2_000_000},
    ],
    "events": [{"at": EVENT_AT_MS, "join": {"clients": "second"}}],
    "assignors": ["high_availability"],
    "duration": STEP_DURATION_MS,
}


@pytest.mark.parametrize(
    ("predicted_ms", "observed_ms", "expected"),
    [(0, 3_000, True), (0, 3_001, False), (62_000, 70_000, True), (62_000, 74_000, False), (70_000, 60_000, False)],
)
def test_times_are_close_within_three_seconds_or_15_percent(
    predicted_ms: int, observed_ms: int, expected: bool
) -> None:
    assert is_close(predicted_ms, observed_ms) is expected


@pytest.mark.parametrize(
    ("predicted_ms", "observed_ms", "close"),
    [
        ([0, 2_000, 62_000], [500, 1_000, 61_000], 3),
        ([0, 62_000], [500, 1_000, 61_000], 2),
        ([0, 62_000, 122_000], [500, 1_000], 1),
        ([0], [9_000], 0),
        ([], [0], 0),
        ([], [], 0),
    ],
)
def test_rebalances_are_paired_in_order(predicted_ms: list[int], observed_ms: list[int], close: int) -> None:
    assert count_close_times(predicted_ms, observed_ms) == close


@pytest.mark.parametrize(("observed_ms", "expected"), [(6_000, False), (8_000, True), (29_000, True), (36_000, False)])
def test_delay_excuses_only_what_is_late(observed_ms: int, expected: bool) -> None:
    assert is_close(10_000, observed_ms, delay_ms=15_000) is expected
    assert count_close_times([10_000], [observed_ms], delay_ms=15_000) == expected


def test_no_pairing_beats_the_result() -> None:
    rng = random.Random(7)
    for _ in range(200):
        predicted, observed = (sorted(rng.randrange(0, 120_000) for _ in range(rng.randrange(5))) for _ in range(2))
        assert count_close_times(predicted, observed) == _most_pairs(predicted, observed)
        assert count_close_times(observed, observed) == len(observed)


def _most_pairs(predicted: list[int], observed: list[int]) -> int:
    """Try every pairing."""
    if not predicted or not observed:
        return 0
    skipped = max(_most_pairs(predicted[1:], observed), _most_pairs(predicted, observed[1:]))
    if not is_close(predicted[0], observed[0]):
        return skipped
    return max(skipped, 1 + _most_pairs(predicted[1:], observed[1:]))


def test_threads_are_matched_whatever_their_order() -> None:
    predicted = {"a": (frozenset({"0_0", "0_1"}), frozenset({"0_2"})), "b": (frozenset({"0_3"}),)}
    observed = {
        "a": (frozenset({"0_2"}), frozenset({"0_0"}), frozenset({"0_1"})),
        "b": (frozenset({"0_3"}),),
        "c": (frozenset({"0_4"}),),
    }
    assert count_tasks_on_predicted_thread(predicted, observed) == 3
    assert count_tasks_on_predicted_thread({}, observed) == 0


def test_a_return_counts_as_a_move_and_a_first_assignment_does_not() -> None:
    assert count_moves([{"0_0": "a"}, {"0_0": "b", "0_1": "a"}, {"0_0": "a", "0_1": "a"}]) == 2
    assert count_moves([{"0_0": "a"}]) == 0


def test_partitions_read_from_another_rack_depend_on_where_tasks_run() -> None:
    brokers = {"count": 2, "racks": ["az1", "az2"]}
    topics = [{"name": "orders", "partitions": 2, "replicas": [[0], [1]], "size": 1_000, "record_size": 500}]
    document = {
        **DOCUMENT,
        "cluster": {"brokers": brokers, "topics": topics},
        "clients": [{"name": rack, "rack": rack} for rack in brokers["racks"]],
        "application": {key: value for key, value in DOCUMENT["application"].items() if key != "starts"},
        "events": [],
    }
    trace, _ = simulate_document(document, "high_availability", "a test")
    first, second = (str(client.process_id) for client in trace.world.clients)
    crossing = [
        cross_rack_partitions(trace, STEP_DURATION_MS, {"0_0": owner, "0_1": other})
        for owner, other in ((first, second), (second, first), (first, first))
    ]
    assert sorted(crossing) == [0, 1, 2]
    predicted = predict_period(trace, 0, STEP_DURATION_MS).tasks.process_of
    outcome = predict_outcome(trace, 0, STEP_DURATION_MS)
    assert outcome.cross_rack_partitions == cross_rack_partitions(trace, STEP_DURATION_MS, predicted)


def test_outcome_of_a_newcomer_includes_its_warm_up() -> None:
    trace, _ = simulate_document(DOCUMENT, "high_availability", "a test")
    outcome = predict_outcome(trace, EVENT_AT_MS, STEP_DURATION_MS)
    assert outcome.restored_bytes == pytest.approx(TASK_BYTES, rel=0.01)
    assert len(outcome.rebalances_ms) >= 2
    assert outcome.converged_ms is not None
    assert outcome.active_moves == 1
    # The warm-up takes 13 s, so the task moves at a probing rebalance, a minute after the join.
    assert 60_000 < outcome.rebalances_ms[-1] <= outcome.converged_ms < 130_000
    assert predict_outcome(trace, 0, EVENT_AT_MS).rebalances_ms == ()
    assert predict_outcome(trace, 0, EVENT_AT_MS).restored_bytes == 0
