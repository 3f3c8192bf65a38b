"""The front of traffic against movement."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from assignors import registry
from assignors.model.columns import IntArray
from assignors.model.state import ApplicationState, previous_holders
from assignors.objective.frontier import frontier
from tests.contract.random_applications import RandomApplication


def state_of(seed: int, *, at_most: int = 1_000, clients: int = 8) -> ApplicationState | None:
    """An application after somebody came and somebody left."""
    life = RandomApplication.from_seed(seed)
    life.apply(registry.make(registry.find("legacy_sticky")).assign(life.state()))
    life.apply_random_event()
    life.apply_random_event()
    state = life.state()
    return state if state.tasks.stateful.sum() <= at_most and len(state.clients) <= clients else None


def answers(state: ApplicationState, slack: int) -> list[tuple[int, int]]:
    """Remote partitions and moves of every balanced assignment of the stateful tasks."""
    rows = np.flatnonzero(state.tasks.stateful)
    remote = state.remote_partitions(state.tasks.source)[rows]
    ran = previous_holders(state)[0][rows]
    threads = state.clients.threads
    shares = [Fraction(len(rows) * int(each), int(threads.sum())) for each in threads]
    found = set()
    for choice in itertools.product(range(len(threads)), repeat=len(rows)):
        owner: IntArray = np.array(choice, dtype=np.int64)
        loads = np.bincount(owner, minlength=len(threads)).tolist()
        if all(-(-s // 1) + slack >= load >= s // 1 - slack for load, s in zip(loads, shares, strict=True)):
            each = np.arange(len(rows))
            found.add((int(remote[each, owner].sum()), int((~ran[each, owner]).sum())))
    return sorted(found)


@pytest.mark.parametrize("slack", [0, 1])
def test_for_every_ratio_the_best_of_all_assignments_is_on_the_front(slack: int) -> None:
    states = [state for seed in range(400) if (state := state_of(seed, at_most=6, clients=3)) is not None]
    states = [state for state in states if state.tasks.stateful.any()][:25]
    assert len(states) > 10
    longest = 0
    for state in states:
        possible = answers(state, slack)
        front = frontier(state, slack)
        longest = max(longest, len(front))
        assert {(point.remote_partitions, point.moves) for point in front} <= set(possible)
        for traffic, moving in itertools.product([1, 2, 3, 5, 7, 10], repeat=2):
            least = min(traffic * remote + moving * moves for remote, moves in possible)
            best = [point for point in front if point.is_best_at(traffic, moving)]
            assert 1 <= len(best) <= 2
            assert {traffic * point.remote_partitions + moving * point.moves for point in best} == {least}
    assert longest > 1


@pytest.mark.parametrize("seed", range(30))
def test_ratios_follow_on_one_another_and_owners_are_what_the_point_says(seed: int) -> None:
    state = state_of(seed, clients=99)
    assert state is not None
    front = frontier(state)
    rows = np.flatnonzero(state.tasks.stateful)
    if not len(rows):
        assert front == ()
        return
    assert front[0].from_ratio == 0
    assert front[-1].to_ratio is None
    for before, after in itertools.pairwise(front):
        assert before.to_ratio == after.from_ratio > before.from_ratio
        assert before.moves < after.moves
        assert before.remote_partitions > after.remote_partitions
    remote = state.remote_partitions(state.tasks.source)[rows]
    ran = previous_holders(state)[0][rows]
    each = np.arange(len(rows))
    for point in front:
        assert remote[each, point.owner].sum() == point.remote_partitions
        assert (~ran[each, point.owner]).sum() == point.moves


def test_costs_of_zero_are_the_ends() -> None:
    fronts = [frontier(state) for seed in range(80) if (state := state_of(seed)) is not None]
    front = max(fronts, key=len)
    assert len(front) > 2
    assert [point.is_best_at(1, 0) for point in front] == [False] * (len(front) - 1) + [True]
    assert [point.is_best_at(0, 1) for point in front] == [True] + [False] * (len(front) - 1)
    assert not any(point.is_best_at(0, 0) for point in front)


def test_where_racks_are_not_known_there_is_no_front() -> None:
    from dataclasses import replace

    state = state_of(1)
    assert state is not None
    with pytest.raises(ValueError, match="the racks of all clients"):
        frontier(replace(state, clients=replace(state.clients, rack=np.full(len(state.clients), -1))))
