"""Decomposition of the difference of two assignments into cycles."""

from __future__ import annotations

import random

import numpy as np
import pytest

from assignors.flow import min_traffic
from assignors.flow.decomposition import decompose_into_cycles


def test_nothing_moved_is_no_cycle() -> None:
    assert decompose_into_cycles([], []) == []


def test_two_tasks_that_change_places_are_a_cycle_of_two() -> None:
    assert decompose_into_cycles([4, 7], [7, 4]) == [[0, 1]]


def test_a_walk_that_comes_by_a_client_again_is_two_cycles() -> None:
    assert decompose_into_cycles([0, 1, 2, 1], [1, 2, 1, 0]) == [[1, 2], [0, 3]]


@pytest.mark.parametrize("seed", range(200))
def test_every_move_is_in_one_closed_cycle_that_meets_no_client_twice(seed: int) -> None:
    chance = random.Random(seed)
    before = [chance.randrange(6) for _ in range(chance.randrange(30))]
    after = chance.sample(before, len(before))
    moved = [task for task in range(len(before)) if before[task] != after[task]]
    sources, destinations = [before[task] for task in moved], [after[task] for task in moved]
    cycles = decompose_into_cycles(sources, destinations)
    assert sorted(move for cycle in cycles for move in cycle) == list(range(len(moved)))
    for cycle in cycles:
        for move, following in zip(cycle, cycle[1:] + cycle[:1], strict=True):
            assert destinations[move] == sources[following]
        assert len({sources[move] for move in cycle}) == len(cycle)


def test_no_cycle_of_a_min_traffic_flow_costs_anything() -> None:
    chance = np.random.default_rng(5)
    cycles_seen = 0
    for _ in range(300):
        tasks, clients = int(chance.integers(1, 40)), int(chance.integers(2, 9))
        owner = chance.integers(clients, size=tasks)
        costs = 10 * chance.integers(0, 3, size=(tasks, clients)) + int(chance.integers(0, 12))
        costs[np.arange(tasks), owner] -= costs.min()
        after = min_traffic(costs.astype(np.int64), owner.astype(np.intp))
        moved = np.flatnonzero(after != owner)
        change = costs[moved, after[moved]] - costs[moved, owner[moved]]
        sums = [change[cycle].sum() for cycle in decompose_into_cycles(owner[moved].tolist(), after[moved].tolist())]
        assert all(total <= 0 for total in sums)
        cycles_seen += len(sums)
    assert cycles_seen > 300
