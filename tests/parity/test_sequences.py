"""Recorded sequences of rebalances, replayed through the simulator's states."""

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
from tests.parity.test_vectors import vectors


def sequences(assignor: str) -> dict[str, list[Problem]]:
    found: dict[str, list[Problem]] = {}
    for problem in vectors("public"):
        if problem.id.startswith("seq") and problem.problem["assignor"] == assignor:
            found.setdefault(problem.id.split("/")[0], []).append(problem)
    return found


Held = dict[ProcessId, tuple[BoolArray, BoolArray]]


def previous_of(state: ApplicationState, held: Held) -> tuple[BoolArray, BoolArray]:
    """Return the tasks that each client held when it was last a member; a client that returns still has them."""
    nothing = np.zeros(len(state.tasks), dtype=np.bool_)
    pairs = [held.get(process_id, (nothing, nothing)) for process_id in state.clients.ids]
    return np.stack([active for active, _ in pairs], axis=1), np.stack([standby for _, standby in pairs], axis=1)


@pytest.mark.parametrize("name", list(sequences("ha")))
def test_a_sequence_replays_round_by_round(name: str) -> None:
    assignor = registry.make(registry.find("high_availability"))
    held: Held = {}
    for problem in sequences("ha")[name]:
        recorded = parse_problem(problem.problem)
        state = build_state(
            recorded.tasks,
            recorded.clients,
            recorded.partitions,
            recorded.lags,
            previous_of(recorded, held),
            recorded.assignment_configs,
        )
        assert tuple(state.previous_active) == recorded.previous_active
        assert tuple(state.previous_standby) == recorded.previous_standby
        decided = compute_assignment(state, assignor)
        for column, process_id in enumerate(state.clients.ids):
            held[process_id] = decided.columns.active == column, decided.columns.standby[:, column]
        assert problem.expected is not None
        assert named(decided) == problem.expected["assignment"], problem.id
        asked = decided.columns.followup_rebalance_delay_ms is not None
        assert asked == problem.expected["probing_rebalance"], problem.id


def named(decided: ComputedAssignment) -> dict[str, dict[str, list[str]]]:
    ids, columns = decided.state.tasks.ids, decided.columns
    return {
        str(process_id): {
            "active": [str(ids[t]) for t in np.flatnonzero(columns.active == c) if columns.active[t] != UNASSIGNED],
            "standby": [str(ids[t]) for t in np.flatnonzero(columns.standby[:, c])],
        }
        for c, process_id in enumerate(decided.state.clients.ids)
    }
