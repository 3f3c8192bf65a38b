"""What an assignment costs, and what it cannot undercut."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from assignors import registry
from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import IntArray
from assignors.model.state import ApplicationState, previous_holders
from assignors.objective.cost import Weights, compute_cost_and_bound
from tests.assignors.random_assignments import plain_cost, random_answer
from tests.contract.random_applications import RandomApplication

WEIGHTS = Weights(traffic_cost=10, non_overlap_cost=3)


@pytest.mark.parametrize("info", registry.built_in(), ids=lambda info: info.name)
def test_no_answer_of_any_assignor_costs_less_than_its_bound(info: registry.AssignorInfo) -> None:
    assignor, above = registry.make(info), 0
    for seed in range(60):
        life = RandomApplication.from_seed(seed)
        for _ in range(3):
            life.apply_random_event()
            state = life.state()
            answer = assignor.assign(state)
            columns = AssignmentColumns.of(state, answer)
            found = compute_cost_and_bound(state, columns, WEIGHTS)
            assert found is not None
            assert found.cost == plain_cost(state, columns, WEIGHTS), seed
            assert found.bound <= found.cost, seed
            above += found.bound < found.cost
            life.apply(answer)
    assert above > 0


def tiny(seed: int) -> ApplicationState:
    """At most five tasks and three clients, some of which had some of the tasks."""
    for attempt in itertools.count(seed * 1_000):
        life = RandomApplication.from_seed(attempt)
        while len(life.clients) > 3:
            life.leave()
        state = life.state()
        if not 1 <= len(state.tasks) <= 5:
            continue
        life.apply(registry.make(registry.find("legacy_sticky")).assign(state))
        return life.state()
    raise AssertionError


def loads(state: ApplicationState, active: IntArray, *, stateful: bool) -> IntArray:
    chosen = active[state.tasks.stateful == stateful]
    return np.bincount(chosen, minlength=len(state.clients))


@pytest.mark.parametrize("seed", range(25))
def test_without_standbys_the_bound_is_what_trying_everything_finds(seed: int) -> None:
    state = tiny(seed)
    threads = state.clients.threads
    columns = random_answer(state, random.Random(seed), 0)
    found = compute_cost_and_bound(state, columns, WEIGHTS)
    assert found is not None
    rates = {kind: (loads(state, columns.active, stateful=kind) / threads).max() for kind in (False, True)}
    costs = []
    for choice in itertools.product(range(len(threads)), repeat=len(state.tasks)):
        active = np.array(choice)
        if all((loads(state, active, stateful=kind) / threads).max() <= rate for kind, rate in rates.items()):
            costs.append(plain_cost(state, AssignmentColumns(active, columns.standby, None), WEIGHTS))
    assert found.bound == min(costs)


@pytest.mark.parametrize("seed", range(40))
def test_standbys_that_could_be_anywhere_cost_no_less_than_the_bound(seed: int) -> None:
    life = RandomApplication.from_seed(seed)
    state = life.state()
    chance = random.Random(seed)
    for _ in range(20):
        columns = random_answer(state, chance, 1)
        found = compute_cost_and_bound(state, columns, WEIGHTS)
        assert found is not None
        assert found.bound <= found.cost == plain_cost(state, columns, WEIGHTS)


def test_what_was_held_before_is_known_by_client() -> None:
    life = RandomApplication.from_seed(4)
    life.apply(registry.make(registry.find("high_availability")).assign(life.state()))
    state = life.state()
    ran, held = previous_holders(state)
    for column, client in enumerate(state.kafka_streams_states.values()):
        rows = [state.row_of_task[task] for task in client.previous_active_tasks]
        assert np.flatnonzero(ran[:, column]).tolist() == sorted(rows)
        assert set(np.flatnonzero(held[:, column])) >= set(rows)
    assert ran.sum() == len(state.tasks)


def test_where_a_client_has_no_rack_nothing_is_said() -> None:
    life = RandomApplication.from_seed(2)
    state = life.state()
    columns = AssignmentColumns(np.full(len(state.tasks), UNASSIGNED), np.zeros_like(state.lags, dtype=np.bool_), None)
    found = compute_cost_and_bound(state, columns, WEIGHTS)
    assert found is not None
    assert (found.cost, found.bound) == (0, 0)
    from dataclasses import replace

    unknown = replace(state, clients=replace(state.clients, rack=np.full(len(state.clients), -1)))
    assert compute_cost_and_bound(unknown, columns, WEIGHTS) is None
