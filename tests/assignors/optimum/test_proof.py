"""Proven bounds against exhaustive search."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np
import pytest

from assignors import registry
from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import BoolArray, IntArray
from assignors.model.state import ApplicationState
from assignors.objective import Weights, compute_cost_and_bound
from assignors.optimum.proof import prove_bound
from assignors.optimum.task_placement_program import MAX_VARIABLES
from tests.assignors.random_assignments import plain_cost, random_answer
from tests.assignors.tasks.exhaustive import Option, options, state_after_event, tiny_state
from tests.contract.random_applications import RandomApplication

WEIGHTS = Weights(traffic_cost=10, non_overlap_cost=3)
LIMIT_S = 10.0


@dataclass(frozen=True)
class Proven:
    """The cost of an assignment, the bound by flows, the proven bound, and the best known cost."""

    cost: int
    relaxed: int
    bound: int
    cheapest: int


def proven(
    state: ApplicationState,
    columns: AssignmentColumns,
    limit_s: float = LIMIT_S,
    max_variables: int = MAX_VARIABLES,
) -> Proven:
    """Return the proof, and check that it is consistent with the bound by flows."""
    by_flows = compute_cost_and_bound(state, columns, WEIGHTS)
    closed = prove_bound(state, columns, WEIGHTS, limit_s, max_variables)
    assert by_flows is not None
    assert by_flows.proof is None
    assert closed is not None
    assert closed.proof is not None
    assert (closed.cost, closed.proof.relaxed_bound) == (by_flows.cost, by_flows.bound)
    assert by_flows.bound <= closed.bound <= closed.proof.best_known_cost <= closed.cost
    return Proven(closed.cost, closed.proof.relaxed_bound, closed.bound, closed.proof.best_known_cost)


def one_task(state: ApplicationState, row: int, option: Option) -> AssignmentColumns:
    active = np.full(len(state.tasks), UNASSIGNED, dtype=np.int64)
    standby = np.zeros((len(active), len(state.clients)), dtype=np.bool_)
    active[row] = option.owner
    standby[row, list(option.standbys)] = True
    return AssignmentColumns(active, standby, None)


def tables(state: ApplicationState, columns: AssignmentColumns) -> IntArray:
    """Return the active stateful tasks, stateless tasks and standbys of each client, shape (3, C)."""
    active = np.eye(len(state.clients), dtype=np.int64)[columns.active]
    stateful = state.tasks.stateful
    return np.array([active[stateful].sum(axis=0), active[~stateful].sum(axis=0), columns.standby.sum(axis=0)])


def min_cost(state: ApplicationState, columns: AssignmentColumns) -> int:
    """Return the minimum cost over all assignments of the same copies whose maximum load per thread is not higher."""
    total = 0
    threads = state.clients.threads
    most = (tables(state, columns) / threads).max(axis=1)
    for of_kind in (state.tasks.stateful, ~state.tasks.stateful):
        costs, loads = np.zeros(1, dtype=np.int64), np.zeros((1, 3, len(threads)), dtype=np.int64)
        for row in np.flatnonzero(of_kind):
            all_options = options(len(threads), int(columns.standby[row].sum()))
            single_tasks = [one_task(state, int(row), option) for option in all_options]
            cost_sum = np.array([plain_cost(state, columns, WEIGHTS) for columns in single_tasks])
            taken = np.array([tables_of_one(state, int(row), option) for option in all_options])
            costs = (costs[:, None] + cost_sum).ravel()
            loads = (loads[:, None] + taken).reshape(-1, 3, len(threads))
        fine: BoolArray = ((loads / threads).max(axis=2) <= most).all(axis=1)
        total += int(costs[fine].min())
    return total


def tables_of_one(state: ApplicationState, row: int, option: Option) -> IntArray:
    taken = np.zeros((3, len(state.clients)), dtype=np.int64)
    taken[0 if state.tasks.stateful[row] else 1, option.owner] = 1
    taken[2, list(option.standbys)] = 1
    return taken


def test_proven_bound_matches_exhaustive_search() -> None:
    raised = 0
    for seed in range(40):
        state = tiny_state(seed)
        columns = random_answer(state, random.Random(seed), 2)
        proof = proven(state, columns)
        assert proof.bound == proof.cheapest == min_cost(state, columns), seed
        raised += proof.bound > proof.relaxed
    assert raised > 3


ASSIGNORS = ("high_availability", "legacy_sticky", "sticky_task_assignor", "streams_group_sticky", "optimal")


@pytest.mark.parametrize("name", ASSIGNORS)
def test_no_assignment_costs_less_than_the_proven_bound(name: str) -> None:
    assignor, raised = registry.make(registry.find(name)), 0
    for seed in range(8):
        application = RandomApplication.from_seed(seed)
        for _ in range(2):
            application.apply_random_event()
            state = application.state()
            assignment = assignor.assign(state)
            proof = proven(state, AssignmentColumns.of(state, assignment))
            assert proof.bound == proof.cheapest
            raised += proof.bound > proof.relaxed
            application.apply(assignment)
    assert raised > 0


def test_flow_bound_is_exact_without_standbys() -> None:
    state = state_after_event(3)
    columns = random_answer(state, random.Random(3), 0)
    proof = proven(state, columns)
    assert proof.bound == proof.relaxed == proof.cheapest < proof.cost


def test_problem_above_max_variables_keeps_the_bound_by_flows() -> None:
    state = state_after_event(3)
    columns = random_answer(state, random.Random(3), 2)
    closed = proven(state, columns)
    unsolved = proven(state, columns, max_variables=10)
    assert unsolved.bound == unsolved.relaxed < closed.bound == closed.cheapest <= unsolved.cheapest


def test_time_limit_keeps_the_better_bound() -> None:
    application = RandomApplication.from_seed(11)
    state = application.state()
    columns = random_answer(state, random.Random(11), 2)
    short, long = (proven(state, columns, limit_s) for limit_s in (1e-9, LIMIT_S))
    assert short.relaxed <= short.bound <= long.bound == long.cheapest <= short.cheapest


def test_unknown_racks_have_no_bound() -> None:
    state = state_after_event(3)
    unknown = replace(state, clients=replace(state.clients, rack=np.full(len(state.clients), -1)))
    assert prove_bound(unknown, random_answer(state, random.Random(3), 1), WEIGHTS, LIMIT_S) is None


def test_proof_is_deterministic() -> None:
    state = state_after_event(5)
    columns = random_answer(state, random.Random(5), 2)
    assert len({prove_bound(state, columns, WEIGHTS, LIMIT_S) for _ in range(3)}) == 1
