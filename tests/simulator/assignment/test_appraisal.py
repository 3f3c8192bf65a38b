"""The cost and the bound of a run's assignments are those of a single assignment, also where they recur."""

from __future__ import annotations

import random

import numpy as np

from assignors.flow import flow_cache
from assignors.model.assignment import AssignmentColumns
from assignors.objective.cost import Weights, compute_cost_and_bound
from simulator.assignment.appraisal import appraise
from tests.assignors.tasks.random_states import draw_placement, draw_state


def test_recurring_bounds_are_those_of_each_assignment() -> None:
    """The tasks that each client had before differ each time, on which the bounds of stateless tasks do not depend."""
    rng = random.Random(1)
    appraised = 0
    for _ in range(60):
        state = draw_state(rng)
        shape = (len(state.tasks), len(state.clients))
        with flow_cache():
            for _ in range(4):
                placement = draw_placement(rng, state)
                columns = AssignmentColumns(placement.owners().copy(), placement.standbys().T.copy(), None)
                previous = np.random.default_rng(rng.randrange(1000)).random((2, *shape)) < 0.3
                arguments = state, columns, Weights(rng.choice([0, 1, 10]), rng.choice([0, 1, 10]))
                result = appraise(*arguments, (previous[0], previous[0] | previous[1]))
                assert result == compute_cost_and_bound(*arguments, (previous[0], previous[0] | previous[1]))
                appraised += result is not None and result.bound < result.cost
    assert appraised > 20
