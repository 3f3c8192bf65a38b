"""The state and the decisions of a run, from which another run continues or with which it is compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.flows.execution import Execution
from simulator.results.trace import Trace
from simulator.world.world import HeldTasks


def held_tasks(execution: Execution, client: int) -> HeldTasks:
    """Return the tasks, standbys and lags of a client at this time."""
    ids, assignment, restoration = execution.layout.tasks.ids, execution.assignment, execution.restoration
    roles = (assignment.owner == client, assignment.standby[:, client])
    threads = range(len(execution.fleet.members(client)))
    active, standby = (
        tuple(
            tuple(ids[row] for row in np.flatnonzero(role & (assignment.thread[:, client] == thread)).tolist())
            for thread in threads
        )
        for role in roles
    )
    copies = np.flatnonzero(restoration.holds_copy(np.array([client]))[:, 0]).tolist()
    behind = (restoration.end_bytes - restoration.held_bytes[:, client]) / execution.layout.record_bytes
    assigned = set(np.flatnonzero(roles[0] | roles[1]).tolist())
    lags = {ids[row]: int(behind[row]) for row in copies if behind[row] >= 1 or row not in assigned}
    return HeldTasks(active, standby, lags)


def decisions(trace: Trace, after: int, since_ms: int) -> list[tuple[Any, ...]]:
    """Return the decision of each round after the given one, with times relative to `since_ms`."""
    return [
        (
            round_.at_ms - since_ms,
            round_.reason,
            round_.members.tolist(),
            round_.owner.tolist(),
            round_.standby.tolist(),
            round_.withheld.tolist(),
            round_.thread_moves,
            round_.followup_delay_ms,
            round_.warming_up,
        )
        for round_ in trace.rounds
        if round_.number > after
    ]
