"""A mutable assignment that assignors build and change."""

from __future__ import annotations

from array import array

import numpy as np

from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import BoolArray, IntArray
from assignors.model.state import ApplicationState


class TaskPlacement:
    """The active client and the standbys of each task, with the counts from which loads are computed.

    Tasks and clients are row numbers of the state. Loads are tasks per thread, as in Kafka. The data is stored in
    buffers, so that plain Python and kernels (`assignors.compilation`) share it.

    Attributes:
        threads: [client] number of threads.
        owner: [task] client that runs it, or UNASSIGNED.
        standby: [client * tasks + task] 1 where the client holds a standby.
        active_count: [client] number of active tasks.
        assigned_count: [client] number of active and standby tasks.
    """

    def __init__(self, state: ApplicationState) -> None:
        num_tasks, num_clients = len(state.tasks), len(state.clients)
        self.state = state
        self.threads = array("q", map(int, state.clients.threads))
        self.owner = array("q", [UNASSIGNED]) * num_tasks
        self.standby = bytearray(num_clients * num_tasks)
        self.active_count = array("q", [0]) * num_clients
        self.assigned_count = array("q", [0]) * num_clients

    def assign_active(self, task: int, client: int) -> None:
        """Assign an unassigned task to a client as active."""
        self.owner[task] = client
        self.active_count[client] += 1
        self.assigned_count[client] += 1

    def unassign_active(self, task: int) -> None:
        """Remove the active task from its client."""
        client = self.owner[task]
        self.owner[task] = UNASSIGNED
        self.active_count[client] -= 1
        self.assigned_count[client] -= 1

    def move_actives(self, tasks: IntArray, clients: IntArray) -> None:
        """Assign active tasks to clients, regardless of their current owners.

        `tasks`: rows of distinct tasks.
        """
        owners = self.owners()
        before, num_clients = owners[tasks], len(self.threads)
        gained = np.bincount(clients, minlength=num_clients)
        gained -= np.bincount(before[before != UNASSIGNED], minlength=num_clients)
        owners[tasks] = clients
        np.frombuffer(self.active_count, dtype=np.int64)[:] += gained
        np.frombuffer(self.assigned_count, dtype=np.int64)[:] += gained

    def assign_standby(self, task: int, client: int) -> None:
        """Add a standby on a client that does not hold the task."""
        self.standby[client * len(self.owner) + task] = 1
        self.assigned_count[client] += 1

    def unassign_standby(self, task: int, client: int) -> None:
        """Remove a standby."""
        self.standby[client * len(self.owner) + task] = 0
        self.assigned_count[client] -= 1

    def holds(self, client: int, task: int) -> bool:
        """Return whether the client holds the task in either role."""
        return self.owner[task] == client or self.standby[client * len(self.owner) + task] == 1

    def owners(self) -> IntArray:
        """Return `owner` as an array that shares its memory."""
        return np.frombuffer(self.owner, dtype=np.int64)

    def standbys(self) -> BoolArray:
        """Return `standby` as an array of shape (C, T) that shares its memory."""
        flat = np.frombuffer(self.standby, dtype=np.bool_)
        return flat.reshape(len(self.threads), len(self.owner))

    def assigned_load(self, client: int) -> float:
        """Return the active and standby tasks per thread of a client."""
        return self.assigned_count[client] / self.threads[client]

    def active_load(self, client: int) -> float:
        """Return the active tasks per thread of a client."""
        return self.active_count[client] / self.threads[client]

    def columns(self, followup_rebalance_delay_ms: int | None) -> AssignmentColumns:
        """Return the finished assignment."""
        shape = (len(self.owner), len(self.threads))
        has_standbys = self.standby.find(1) >= 0
        standbys = self.standbys().T.copy() if has_standbys else np.zeros(shape, dtype=np.bool_)
        return AssignmentColumns(self.owners().copy(), standbys, followup_rebalance_delay_ms)
