"""What is proven of the cost of an assignment, held against trying everything."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np
import pytest

from assignors import registry
from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import BoolArray, IntArray
from assignors.model.state import ApplicationState
from assignors.objective.cost import Weights, compute_cost_and_bound
from assignors.optimum import proof
from assignors.optimum.proof import prove_bound
from tests.assignors.random_assignments import plain_cost, random_answer
from tests.assignors.tasks.exhaustive import Option, grown, options, tiny_state
from tests.contract.random_applications import RandomApplication

WEIGHTS = Weights(traffic_cost=10, non_overlap_cost=3)
LIMIT_S = 10.0


@dataclass(frozen=True)
class Proven:
    """What an assignment costs, the bound by flows, that which is proven, and the cheapest cost that is known."""

    cost: int
    relaxed: int
    bound: int
    cheapest: int


def proven(state: ApplicationState, columns: AssignmentColumns, limit_s: float = LIMIT_S) -> Proven:
    """What is proven, checked for being consistent in itself and with the bound by flows."""
    plain, found = compute_cost_and_bound(state, columns, WEIGHTS), prove_bound(state, columns, WEIGHTS, limit_s)
    assert plain is not None
    assert plain.proof is None
    assert found is not None
    assert found.proof is not None
    assert (found.cost, found.proof.relaxed_bound) == (plain.cost, plain.bound)
    assert plain.bound <= found.bound <= found.proof.best_known_cost <= found.cost
    return Proven(found.cost, found.proof.relaxed_bound, found.bound, found.proof.best_known_cost)


def one_task(state: ApplicationState, row: int, way: Option) -> AssignmentColumns:
    active = np.full(len(state.tasks), UNASSIGNED, dtype=np.int64)
    standby = np.zeros((len(active), len(state.clients)), dtype=np.bool_)
    active[row] = way.owner
    standby[row, list(way.standbys)] = True
    return AssignmentColumns(active, standby, None)


def tables(state: ApplicationState, columns: AssignmentColumns) -> IntArray:
    """Shape (3, C); active stateful tasks, stateless ones and standbys of each client."""
    active = np.eye(len(state.clients), dtype=np.int64)[columns.active]
    stateful = state.tasks.stateful
    return np.array([active[stateful].sum(axis=0), active[~stateful].sum(axis=0), columns.standby.sum(axis=0)])


def least_cost(state: ApplicationState, columns: AssignmentColumns) -> int:
    """The least of all assignments of the same copies in which no client has more per thread than one has here."""
    total = 0
    threads = state.clients.threads
    most = (tables(state, columns) / threads).max(axis=1)
    for of_kind in (state.tasks.stateful, ~state.tasks.stateful):
        costs, loads = np.zeros(1, dtype=np.int64), np.zeros((1, 3, len(threads)), dtype=np.int64)
        for row in np.flatnonzero(of_kind):
            ways = options(len(threads), int(columns.standby[row].sum()))
            ones = [one_task(state, int(row), way) for way in ways]
            paid = np.array([plain_cost(state, one, WEIGHTS) for one in ones])
            taken = np.array([tables_of_one(state, int(row), way) for way in ways])
            costs = (costs[:, None] + paid).ravel()
            loads = (loads[:, None] + taken).reshape(-1, 3, len(threads))
        fine: BoolArray = ((loads / threads).max(axis=2) <= most).all(axis=1)
        total += int(costs[fine].min())
    return total


def tables_of_one(state: ApplicationState, row: int, way: Option) -> IntArray:
    taken = np.zeros((3, len(state.clients)), dtype=np.int64)
    taken[0 if state.tasks.stateful[row] else 1, way.owner] = 1
    taken[2, list(way.standbys)] = 1
    return taken


def test_what_is_proven_is_what_trying_everything_finds() -> None:
    raised = 0
    for seed in range(40):
        state = tiny_state(seed)
        columns = random_answer(state, random.Random(seed), 2)
        found = proven(state, columns)
        assert found.bound == found.cheapest == least_cost(state, columns), seed
        raised += found.bound > found.relaxed
    assert raised > 3


ASSIGNORS = ("high_availability", "legacy_sticky", "sticky_task_assignor", "streams_group_sticky", "optimal")


@pytest.mark.parametrize("name", ASSIGNORS)
def test_no_answer_costs_less_than_what_is_proven(name: str) -> None:
    assignor, raised = registry.make(registry.find(name)), 0
    for seed in range(8):
        life = RandomApplication.from_seed(seed)
        for _ in range(2):
            life.apply_random_event()
            state = life.state()
            answer = assignor.assign(state)
            found = proven(state, AssignmentColumns.of(state, answer))
            assert found.bound == found.cheapest
            raised += found.bound > found.relaxed
            life.apply(answer)
    assert raised > 0


def test_without_standbys_the_bound_by_flows_is_proven_already() -> None:
    state = grown(3)
    columns = random_answer(state, random.Random(3), 0)
    found = proven(state, columns)
    assert found.bound == found.relaxed == found.cheapest < found.cost


def test_what_is_too_large_to_be_solved_keeps_the_bound_by_flows(monkeypatch: pytest.MonkeyPatch) -> None:
    state = grown(3)
    columns = random_answer(state, random.Random(3), 2)
    closed = proven(state, columns)
    monkeypatch.setattr(proof, "MAX_VARIABLES", 10)
    found = proven(state, columns)
    assert found.bound == found.relaxed < closed.bound == closed.cheapest <= found.cheapest


def test_what_the_limit_cuts_short_keeps_the_better_bound() -> None:
    life = RandomApplication.from_seed(11)
    state = life.state()
    columns = random_answer(state, random.Random(11), 2)
    short, long = (proven(state, columns, limit_s) for limit_s in (1e-9, LIMIT_S))
    assert short.relaxed <= short.bound <= long.bound == long.cheapest <= short.cheapest


def test_where_racks_are_not_known_nothing_is_proven() -> None:
    state = grown(3)
    unknown = replace(state, clients=replace(state.clients, rack=np.full(len(state.clients), -1)))
    assert prove_bound(unknown, random_answer(state, random.Random(3), 1), WEIGHTS, LIMIT_S) is None


def test_the_same_is_proven_every_time() -> None:
    state = grown(5)
    columns = random_answer(state, random.Random(5), 2)
    assert len({prove_bound(state, columns, WEIGHTS, LIMIT_S) for _ in range(3)}) == 1
