"""The cost and the bound of a run's assignments are those of a single assignment, also where they recur."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import simulator.assignment.leader
from assignors.model.assignment import AssignmentColumns
from assignors.objective import Weights, compute_cost_and_bound, flow_bound
from simulator.assignment.leader import MAX_BOUNDS, Appraiser
from tests.assignors.tasks.random_states import draw_placement, draw_state


def test_recurring_bounds_are_those_of_each_assignment() -> None:
    """One appraiser sees assignments of several states, some of them again after their bounds were evicted."""
    rng = random.Random(1)
    appraiser, appraised = Appraiser(), 0
    cases = []
    for _ in range(60):
        state = draw_state(rng)
        shape = (len(state.tasks), len(state.clients))
        for _ in range(4):
            placement = draw_placement(rng, state)
            columns = AssignmentColumns(placement.owners().copy(), placement.standbys().T.copy(), None)
            previous = np.random.default_rng(rng.randrange(1000)).random((2, *shape)) < 0.3
            weights = Weights(rng.choice([0, 1, 10]), rng.choice([0, 1, 10]))
            cases.append((state, columns, weights, (previous[0], previous[0] | previous[1])))
    assert len(cases) * 2 > MAX_BOUNDS
    for case in [*cases, *cases]:
        result = appraiser.appraise(*case)
        assert result == compute_cost_and_bound(*case)
        appraised += result is not None and result.bound < result.cost
    assert appraised > 100


def test_a_problem_is_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    solved = 0

    def solve(*arguments: Any) -> int:
        nonlocal solved
        solved += 1
        return flow_bound(*arguments)

    monkeypatch.setattr(simulator.assignment.leader, "flow_bound", solve)
    rng = random.Random(2)
    appraiser = Appraiser()
    while not solved:
        state = draw_state(rng)
        placement = draw_placement(rng, state)
        columns = AssignmentColumns(placement.owners().copy(), placement.standbys().T.copy(), None)
        none = np.zeros((len(state.tasks), len(state.clients)), dtype=np.bool_)
        appraiser.appraise(state, columns, Weights(10, 1), (none, none))
    first = solved
    for _ in range(3):
        appraiser.appraise(state, columns, Weights(10, 1), (none, none))
    assert solved == first
