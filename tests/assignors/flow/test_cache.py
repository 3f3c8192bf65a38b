"""The flow cache returns the solutions that solving would, and caches nothing outside of its block."""

from __future__ import annotations

import numpy as np
import pytest

from assignors.flow import cache, cached_solve, flow_cache
from assignors.model.configs import AssignmentConfigs, RackAwareStrategy
from assignors.tasks.high_availability import HighAvailability
from tests.contract.random_applications import RandomApplication

ONE, TWO = np.array([1, 2]), np.array([[1, 2]])


def count_calls() -> tuple[list[int], object]:
    calls: list[int] = []

    def solve() -> int:
        calls.append(1)
        return len(calls)

    return calls, solve


def test_problem_is_solved_once_inside_the_cache_and_always_outside() -> None:
    calls, solve = count_calls()
    with flow_cache():
        assert [cached_solve("flow", (ONE,), solve) for _ in range(3)] == [1, 1, 1]  # type: ignore[arg-type]
    assert [cached_solve("flow", (ONE,), solve) for _ in range(2)] == [2, 3]  # type: ignore[arg-type]
    with flow_cache():
        assert cached_solve("flow", (ONE,), solve) == 4, "each memory begins empty"  # type: ignore[arg-type]
    assert len(calls) == 4


@pytest.mark.parametrize(
    "other",
    [("else", (ONE,)), ("flow", (ONE + 1,)), ("flow", (TWO,)), ("flow", (ONE.astype(np.int32),)), ("flow", (ONE, ONE))],
)
def test_every_part_of_a_problem_is_in_the_cache_key(other: tuple[str, tuple[np.ndarray, ...]]) -> None:
    _, solve = count_calls()
    with flow_cache():
        assert cached_solve("flow", (ONE,), solve) == 1  # type: ignore[arg-type]
        assert cached_solve(*other, solve) == 2  # type: ignore[arg-type]


def test_least_recently_used_solution_is_evicted() -> None:
    _, solve = count_calls()
    with flow_cache():
        for number in range(cache.MAX_ENTRIES + 1):
            cached_solve("flow", (np.array([number]),), solve)  # type: ignore[arg-type]
            cached_solve("flow", (np.array([0]),), solve)  # type: ignore[arg-type]
        assert cached_solve("flow", (np.array([0]),), solve) == 1  # type: ignore[arg-type]
        assert cached_solve("flow", (np.array([1]),), solve) == cache.MAX_ENTRIES + 2  # type: ignore[arg-type]


@pytest.mark.parametrize("strategy", [RackAwareStrategy.MIN_TRAFFIC, RackAwareStrategy.BALANCE_SUBTOPOLOGY])
def test_random_histories_are_the_same_with_and_without_cache(strategy: RackAwareStrategy) -> None:
    def run_history(seed: int) -> list[object]:
        application = RandomApplication.from_seed(seed)
        application.configs = AssignmentConfigs(rack_aware_assignment_strategy=strategy, num_standby_replicas=seed % 2)
        assignments: list[object] = []
        for _ in range(6):
            assignment = HighAvailability().assign(application.state())
            assignments.append(assignment)
            application.apply(assignment)
            application.apply_random_event()
        return assignments

    for seed in range(40):
        with flow_cache():
            cached = run_history(seed)
        assert cached == run_history(seed)
