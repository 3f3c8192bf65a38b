"""The frontier of traffic and moves."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from assignors import registry
from assignors.model.columns import IntArray
from assignors.model.state import ApplicationState, previous_holders
from assignors.objective import frontier
from tests.contract.random_applications import RandomApplication


def state_of(seed: int, *, at_most: int = 1_000, clients: int = 8) -> ApplicationState | None:
    """Return an application after a client joined or left."""
    application = RandomApplication.from_seed(seed)
    application.apply(registry.make(registry.find("legacy_sticky")).assign(application.state()))
    application.apply_random_event()
    application.apply_random_event()
    state = application.state()
    return state if state.tasks.stateful.sum() <= at_most and len(state.clients) <= clients else None


def balanced_points(state: ApplicationState, slack: int) -> list[tuple[int, int]]:
    """Return remote partitions and moves of each balanced assignment of the stateful tasks."""
    rows = np.flatnonzero(state.tasks.stateful)
    remote = state.remote_partitions(state.tasks.source)[rows]
    ran = previous_holders(state)[0][rows]
    threads = state.clients.threads
    shares = [Fraction(len(rows) * int(count), int(threads.sum())) for count in threads]
    actual = set()
    for choice in itertools.product(range(len(threads)), repeat=len(rows)):
        owner: IntArray = np.array(choice, dtype=np.int64)
        loads = np.bincount(owner, minlength=len(threads)).tolist()
        if all(-(-s // 1) + slack >= load >= s // 1 - slack for load, s in zip(loads, shares, strict=True)):
            count = np.arange(len(rows))
            actual.add((int(remote[count, owner].sum()), int((~ran[count, owner]).sum())))
    return sorted(actual)


@pytest.mark.parametrize("slack", [0, 1])
def test_frontier_has_the_best_assignment_for_every_cost_ratio(slack: int) -> None:
    states = [state for seed in range(400) if (state := state_of(seed, at_most=6, clients=3)) is not None]
    states = [state for state in states if state.tasks.stateful.any()][:25]
    assert len(states) > 10
    longest = 0
    for state in states:
        possible = balanced_points(state, slack)
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
def test_cost_ratios_are_contiguous_and_owners_have_the_stated_cost(seed: int) -> None:
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
    places = np.arange(len(rows))
    for point in front:
        assert remote[places, point.owner].sum() == point.remote_partitions
        assert (~ran[places, point.owner]).sum() == point.moves


def test_costs_of_zero_are_the_ends() -> None:
    fronts = [frontier(state) for seed in range(80) if (state := state_of(seed)) is not None]
    front = max(fronts, key=len)
    assert len(front) > 2
    assert [point.is_best_at(1, 0) for point in front] == [False] * (len(front) - 1) + [True]
    assert [point.is_best_at(0, 1) for point in front] == [True] + [False] * (len(front) - 1)
    assert not any(point.is_best_at(0, 0) for point in front)


def test_unknown_racks_have_no_frontier() -> None:
    from dataclasses import replace

    state = state_of(1)
    assert state is not None
    with pytest.raises(ValueError, match="the racks of all clients"):
        frontier(replace(state, clients=replace(state.clients, rack=np.full(len(state.clients), -1))))
