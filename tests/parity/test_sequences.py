"""Recorded sequences of rebalances, replayed round by round through the simulator's rebalance function."""

from __future__ import annotations

import numpy as np
import pytest

from assignors import registry
from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray
from assignors.model.ids import ProcessId
from assignors.model.state import ApplicationState
from scenarios.problems import Problem, parse_problem
from simulator.assignment.rebalance import ComputedAssignment, build_state, compute_assignment
from tests.parity.recorded_problems import vectors

pytestmark = pytest.mark.answers


def sequences(assignor: str) -> dict[str, list[Problem]]:
    problems_of: dict[str, list[Problem]] = {}
    for problem in vectors("public"):
        if problem.id.startswith("seq") and problem.problem["assignor"] == assignor:
            problems_of.setdefault(problem.id.split("/")[0], []).append(problem)
    return problems_of


TasksOfClients = dict[ProcessId, tuple[BoolArray, BoolArray]]


def previous_of(state: ApplicationState, tasks_of: TasksOfClients) -> tuple[BoolArray, BoolArray]:
    """Return the tasks of each client when it was last a member; a returning client keeps its previous tasks."""
    no_tasks = np.zeros(len(state.tasks), dtype=np.bool_)
    pairs = [tasks_of.get(process_id, (no_tasks, no_tasks)) for process_id in state.clients.ids]
    return np.stack([active for active, _ in pairs], axis=1), np.stack([standby for _, standby in pairs], axis=1)


@pytest.mark.parametrize("name", list(sequences("ha")))
def test_sequence_replays_rebalance_by_rebalance(name: str) -> None:
    assignor = registry.make(registry.find("high_availability"))
    tasks_of: TasksOfClients = {}
    for problem in sequences("ha")[name]:
        recorded = parse_problem(problem.problem)
        state = build_state(
            recorded.tasks,
            recorded.clients,
            recorded.partitions,
            recorded.lags,
            previous_of(recorded, tasks_of),
            recorded.assignment_configs,
        )
        assert tuple(state.previous_active) == recorded.previous_active
        assert tuple(state.previous_standby) == recorded.previous_standby
        result = compute_assignment(state, assignor)
        for column, process_id in enumerate(state.clients.ids):
            tasks_of[process_id] = result.columns.active == column, result.columns.standby[:, column]
        assert problem.expected is not None
        assert assignment_by_client(result) == problem.expected["assignment"], problem.id
        requests_followup = result.columns.followup_rebalance_delay_ms is not None
        assert requests_followup == problem.expected["probing_rebalance"], problem.id


def assignment_by_client(result: ComputedAssignment) -> dict[str, dict[str, list[str]]]:
    ids, columns = result.state.tasks.ids, result.columns
    return {
        str(process_id): {
            "active": [str(ids[t]) for t in np.flatnonzero(columns.active == c) if columns.active[t] != UNASSIGNED],
            "standby": [str(ids[t]) for t in np.flatnonzero(columns.standby[:, c])],
        }
        for c, process_id in enumerate(result.state.clients.ids)
    }
