"""The working copy of an assignment while an assignor moves tasks about."""

from __future__ import annotations

from array import array

import numpy as np

from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import BoolArray, IntArray
from assignors.model.state import ApplicationState


class TaskPlacement:
    """Which client runs and which clients stand by each task, with the counts that loads are made of.

    Rows only: tasks and clients are row numbers of the state. Loads are tasks per thread, as Kafka compares them.

    The numbers lie in buffers, so that plain Python and kernels (`assignors.compilation`) work on the same ones.

    Attributes:
        threads: [client]
        owner: [task] the client that runs it, or UNASSIGNED.
        standby: [client * tasks + task] 1 where the client holds a standby.
        active_count: [client] active tasks.
        assigned_count: [client] active and standby tasks.
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
        """Let the client run a task that nobody runs."""
        self.owner[task] = client
        self.active_count[client] += 1
        self.assigned_count[client] += 1

    def unassign_active(self, task: int) -> None:
        """Let nobody run the task."""
        client = self.owner[task]
        self.owner[task] = UNASSIGNED
        self.active_count[client] -= 1
        self.assigned_count[client] -= 1

    def move_actives(self, tasks: IntArray, clients: IntArray) -> None:
        """Let clients run tasks, whoever ran them until now; two rows of one length."""
        owners = self.owners()
        before, num_clients = owners[tasks], len(self.threads)
        gained = np.bincount(clients, minlength=num_clients)
        gained -= np.bincount(before[before != UNASSIGNED], minlength=num_clients)
        owners[tasks] = clients
        np.frombuffer(self.active_count, dtype=np.int64)[:] += gained
        np.frombuffer(self.assigned_count, dtype=np.int64)[:] += gained

    def assign_standby(self, task: int, client: int) -> None:
        """Let the client hold a standby of the task, which it does not have yet."""
        self.standby[client * len(self.owner) + task] = 1
        self.assigned_count[client] += 1

    def unassign_standby(self, task: int, client: int) -> None:
        """Take the standby away."""
        self.standby[client * len(self.owner) + task] = 0
        self.assigned_count[client] -= 1

    def holds(self, client: int, task: int) -> bool:
        """Whether the client has the task in either role."""
        return self.owner[task] == client or self.standby[client * len(self.owner) + task] == 1

    def owners(self) -> IntArray:
        """`owner` as an array that shows every change."""
        return np.frombuffer(self.owner, dtype=np.int64)

    def standbys(self) -> BoolArray:
        """`standby` as an array, shape (C, T), that shows every change."""
        flat = np.frombuffer(self.standby, dtype=np.bool_)
        return flat.reshape(len(self.threads), len(self.owner))

    def assigned_load(self, client: int) -> float:
        """Active and standby tasks per thread."""
        return self.assigned_count[client] / self.threads[client]

    def active_load(self, client: int) -> float:
        """Active tasks per thread."""
        return self.active_count[client] / self.threads[client]

    def columns(self, followup_rebalance_delay_ms: int | None) -> AssignmentColumns:
        """The finished assignment, laid out along the state's rows."""
        return AssignmentColumns(self.owners().copy(), self.standbys().T.copy(), followup_rebalance_delay_ms)
