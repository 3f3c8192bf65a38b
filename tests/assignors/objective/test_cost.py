"""The cost of an assignment, and its lower bound."""

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
def test_no_assignment_costs_less_than_its_bound(info: registry.AssignorInfo) -> None:
    assignor, above = registry.make(info), 0
    for seed in range(60):
        application = RandomApplication.from_seed(seed)
        for _ in range(3):
            application.apply_random_event()
            state = application.state()
            assignment = assignor.assign(state)
            columns = AssignmentColumns.of(state, assignment)
            cost_and_bound = compute_cost_and_bound(state, columns, WEIGHTS)
            assert cost_and_bound is not None
            assert cost_and_bound.cost == plain_cost(state, columns, WEIGHTS), seed
            assert cost_and_bound.bound <= cost_and_bound.cost, seed
            above += cost_and_bound.bound < cost_and_bound.cost
            application.apply(assignment)
    assert above > 0


def small_state(seed: int) -> ApplicationState:
    """Return at most five tasks on three clients, some of which held some of the tasks."""
    for attempt in itertools.count(seed * 1_000):
        application = RandomApplication.from_seed(attempt)
        while len(application.clients) > 3:
            application.leave()
        state = application.state()
        if not 1 <= len(state.tasks) <= 5:
            continue
        application.apply(registry.make(registry.find("legacy_sticky")).assign(state))
        return application.state()
    raise AssertionError


def loads(state: ApplicationState, active: IntArray, *, stateful: bool) -> IntArray:
    chosen = active[state.tasks.stateful == stateful]
    return np.bincount(chosen, minlength=len(state.clients))


@pytest.mark.parametrize("seed", range(25))
def test_bound_without_standbys_matches_exhaustive_search(seed: int) -> None:
    state = small_state(seed)
    threads = state.clients.threads
    columns = random_answer(state, random.Random(seed), 0)
    cost_and_bound = compute_cost_and_bound(state, columns, WEIGHTS)
    assert cost_and_bound is not None
    rates = {kind: (loads(state, columns.active, stateful=kind) / threads).max() for kind in (False, True)}
    costs = []
    for choice in itertools.product(range(len(threads)), repeat=len(state.tasks)):
        active = np.array(choice)
        if all((loads(state, active, stateful=kind) / threads).max() <= rate for kind, rate in rates.items()):
            costs.append(plain_cost(state, AssignmentColumns(active, columns.standby, None), WEIGHTS))
    assert cost_and_bound.bound == min(costs)


@pytest.mark.parametrize("seed", range(40))
def test_bound_never_exceeds_the_cost_of_random_standbys(seed: int) -> None:
    application = RandomApplication.from_seed(seed)
    state = application.state()
    rng = random.Random(seed)
    for _ in range(20):
        columns = random_answer(state, rng, 1)
        cost_and_bound = compute_cost_and_bound(state, columns, WEIGHTS)
        assert cost_and_bound is not None
        assert cost_and_bound.bound <= cost_and_bound.cost == plain_cost(state, columns, WEIGHTS)


def test_previous_holders_are_counted_by_client() -> None:
    application = RandomApplication.from_seed(4)
    application.apply(registry.make(registry.find("high_availability")).assign(application.state()))
    state = application.state()
    ran, held = previous_holders(state)
    for column, client in enumerate(state.kafka_streams_states.values()):
        rows = [state.row_of_task[task] for task in client.previous_active_tasks]
        assert np.flatnonzero(ran[:, column]).tolist() == sorted(rows)
        assert set(np.flatnonzero(held[:, column])) >= set(rows)
    assert ran.sum() == len(state.tasks)


def test_unknown_rack_of_a_client_has_no_cost() -> None:
    application = RandomApplication.from_seed(2)
    state = application.state()
    columns = AssignmentColumns(np.full(len(state.tasks), UNASSIGNED), np.zeros_like(state.lags, dtype=np.bool_), None)
    cost_and_bound = compute_cost_and_bound(state, columns, WEIGHTS)
    assert cost_and_bound is not None
    assert (cost_and_bound.cost, cost_and_bound.bound) == (0, 0)
    from dataclasses import replace

    unknown = replace(state, clients=replace(state.clients, rack=np.full(len(state.clients), -1)))
    assert compute_cost_and_bound(unknown, columns, WEIGHTS) is None
