"""One rebalance: from what is known to a state, from the state to an assignment, checked and measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assignors.assignment import AssignmentColumns, TaskAssignor
from assignors.columns import NO_RACK, BoolArray, ClientTable, IntArray, PartitionTable, TaskTable
from assignors.configs import AssignmentConfigs
from assignors.errors import AssignorError
from assignors.state import ApplicationState
from simulator.errors import AssignorFailedError
from simulator.world import Client


@dataclass(frozen=True, slots=True, eq=False)
class Rebalance:
    """What the group leader was shown, and what it decided.

    Attributes:
        state: the input of the assignor; columns in the order of process ids.
        columns: the answer along the rows of the state.
    """

    state: ApplicationState
    columns: AssignmentColumns


def rebalance(state: ApplicationState, assignor: TaskAssignor) -> Rebalance:
    """Let an assignor decide, and check its answer.

    Raises:
        AssignorFailedError: it threw, or its answer is not valid.
    """
    try:
        assignment = assignor.assign(state)
        return Rebalance(state, AssignmentColumns.of(state, assignment))
    except AssignorError as error:
        raise AssignorFailedError(f"{type(assignor).__name__}: {error}") from error


def client_table(members: Sequence[Client], racks: Sequence[str]) -> ClientTable:
    """The members of the group in Kafka's order.

    Args:
        members: sorted by process id.
        racks: the rack names that columns of racks stand for.
    """
    column_of = {rack: column for column, rack in enumerate(racks)}
    return ClientTable(
        ids=tuple(member.process_id for member in members),
        threads=np.array([member.threads for member in members], dtype=np.int64),
        rack=np.array([NO_RACK if m.rack is None else column_of[m.rack] for m in members], dtype=np.int64),
        tags=tuple(member.tags for member in members),
    )


def snapshot(
    tasks: TaskTable,
    clients: ClientTable,
    partitions: PartitionTable,
    lags: IntArray,
    previous: tuple[BoolArray, BoolArray],
    configs: AssignmentConfigs,
) -> ApplicationState:
    """What the group leader would learn from its members now.

    Args:
        tasks: T tasks.
        clients: C members in Kafka's order.
        partitions: where the partitions stand.
        lags: shape (T, C).
        previous: what each client ran, and what else it has a copy of; two arrays of shape (T, C).
        configs: the assignment configs.
    """
    active, standby = (
        tuple(tuple(tasks.ids[row] for row in np.flatnonzero(held[:, column])) for column in range(len(clients)))
        for held in previous
    )
    return ApplicationState(tasks, clients, partitions, lags, active, standby, configs)
