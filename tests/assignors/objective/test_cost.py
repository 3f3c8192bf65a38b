"""The cost of an assignment, and its lower bound."""

from __future__ import annotations

import dataclasses
import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors import registry
from assignors.flow.min_cost import TransportProblem, solve_transport
from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import IntArray
from assignors.model.state import ApplicationState, previous_holders
from assignors.objective import (
    TaskCopies,
    Weights,
    bound_of_moves,
    capacity_at_max_load,
    compute_cost_and_bound,
    cost_of_copies,
)
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


@given(seed=st.integers(0, 2**32 - 1), are_on_several=st.booleans())
def test_bound_of_moves_is_that_of_the_flow(seed: int, are_on_several: bool) -> None:
    """Where traffic costs the same in every rack, and each task was on one client, on several or on none."""
    rng = np.random.default_rng(seed)
    num_tasks, num_clients, num_racks = (int(number) for number in rng.integers(1, 9, 3))
    held = np.zeros((num_tasks, num_clients), dtype=np.bool_)
    was_held = np.flatnonzero(rng.random(num_tasks) < 0.7)
    for _ in range(1 + 2 * are_on_several):
        held[was_held, rng.integers(0, num_clients, len(was_held))] = True
    copies = TaskCopies(
        tasks=np.arange(num_tasks),
        num_copies=np.ones(num_tasks, dtype=np.int64),
        traffic_cost=np.repeat(rng.integers(0, 3, (num_tasks, 1)), num_racks, axis=1),
        held=held,
        move_cost=int(rng.integers(0, 4)),
        place=np.arange(num_tasks),
        client=rng.integers(0, num_clients, num_tasks),
    )
    rack, threads = rng.integers(0, num_racks, num_clients), rng.integers(1, 4, num_clients)
    bound = bound_of_moves(copies, cost_of_copies(copies, rack), threads)
    assert bound == bound_by_flow(copies, rack, threads)
    other = dataclasses.replace(copies, traffic_cost=rng.integers(0, 2, (num_tasks, num_racks)) + np.arange(num_racks))
    if num_racks > 1 and (other.traffic_cost != other.traffic_cost[:, :1]).any():
        assert bound_of_moves(other, cost_of_copies(other, rack), threads) is None


def bound_by_flow(copies: TaskCopies, rack: IntArray, threads: IntArray) -> int:
    capacity = capacity_at_max_load(copies, threads)
    problem = TransportProblem(
        num_copies=copies.num_copies,
        traffic_cost=copies.traffic_cost,
        held=copies.held,
        move_cost=copies.move_cost,
        rack=rack,
        max_copies=capacity,
        min_copies=np.zeros_like(capacity),
    )
    solution = solve_transport(problem)
    assert solution is not None
    return solution.cost
