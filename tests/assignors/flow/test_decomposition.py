"""Decomposition of the difference of two assignments into cycles."""

from __future__ import annotations

import random

import numpy as np
import pytest

from assignors.flow import min_traffic
from assignors.flow.network import decompose_into_cycles


def test_unchanged_owners_have_no_cycle() -> None:
    assert decompose_into_cycles([], []) == []


def test_swapped_tasks_are_a_cycle_of_two() -> None:
    assert decompose_into_cycles([4, 7], [7, 4]) == [[0, 1]]


def test_walk_that_revisits_a_client_is_two_cycles() -> None:
    assert decompose_into_cycles([0, 1, 2, 1], [1, 2, 1, 0]) == [[1, 2], [0, 3]]


@pytest.mark.parametrize("seed", range(200))
def test_every_move_is_in_one_simple_cycle(seed: int) -> None:
    rng = random.Random(seed)
    before = [rng.randrange(6) for _ in range(rng.randrange(30))]
    after = rng.sample(before, len(before))
    moved = [task for task in range(len(before)) if before[task] != after[task]]
    sources, destinations = [before[task] for task in moved], [after[task] for task in moved]
    cycles = decompose_into_cycles(sources, destinations)
    assert sorted(move for cycle in cycles for move in cycle) == list(range(len(moved)))
    for cycle in cycles:
        for move, following in zip(cycle, cycle[1:] + cycle[:1], strict=True):
            assert destinations[move] == sources[following]
        assert len({sources[move] for move in cycle}) == len(cycle)


def test_cycles_of_min_traffic_flow_never_cost_anything() -> None:
    rng = np.random.default_rng(5)
    cycles_seen = 0
    for _ in range(300):
        tasks, clients = int(rng.integers(1, 40)), int(rng.integers(2, 9))
        owner = rng.integers(clients, size=tasks)
        costs = 10 * rng.integers(0, 3, size=(tasks, clients)) + int(rng.integers(0, 12))
        costs[np.arange(tasks), owner] -= costs.min()
        after = min_traffic(costs.astype(np.int64), owner.astype(np.intp))
        moved = np.flatnonzero(after != owner)
        change = costs[moved, after[moved]] - costs[moved, owner[moved]]
        sums = [change[cycle].sum() for cycle in decompose_into_cycles(owner[moved].tolist(), after[moved].tolist())]
        assert all(total <= 0 for total in sums)
        cycles_seen += len(sums)
    assert cycles_seen > 300
