"""Time of a flow by itself, and of building a state: `make bench`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from assignors.flow import min_traffic
from assignors.model.configs import AssignmentConfigs
from assignors.model.state import ApplicationState
from scenarios.problems import parse_problem
from simulator.assignment.rebalance import build_state
from tests.benchmarks.conftest import Measure
from tests.benchmarks.shapes import rack_costs, rack_problem

pytestmark = pytest.mark.bench

FLOWS = [(1_000, 100, 50), (3_000, 300, 1_000), (10_000, 1_000, 15_000)]


@pytest.mark.parametrize(("tasks", "clients", "goal_ms"), FLOWS)
def test_a_flow(measure: Measure, tasks: int, clients: int, goal_ms: int) -> None:
    costs, owner = rack_costs(tasks, clients)
    about = {"what": f"a `min_traffic` flow, {tasks:,} × {clients:,}", "goal_ms": goal_ms, "goal_bytes": 10**9}
    measure(min_traffic, costs, owner, rounds=3, **about)


def build_complete_state(*columns: Any) -> ApplicationState:
    """Return a state, with its lazily built lists of previous tasks."""
    state = build_state(*columns)
    assert state.previous_active[0] is not None
    assert state.previous_standby[0] is not None
    return state


def test_a_state(measure: Measure) -> None:
    state = parse_problem(rack_problem("min_traffic", 3_000, 300))
    rng = np.random.default_rng(1)
    active, standby = (rng.integers(300, size=3_000)[:, None] == np.arange(300) for _ in range(2))
    columns = (state.tasks, state.clients, state.partitions, state.lags, (active, standby & ~active))
    measure(build_complete_state, *columns, AssignmentConfigs(), what="a state from arrays, 3,000 × 300", goal_ms=10)
