"""The working copy of an assignment while an assignor moves tasks about."""

from __future__ import annotations

import numpy as np

from assignors.assignment import UNASSIGNED, AssignmentColumns
from assignors.state import ApplicationState


class Placement:
    """Which client runs and which clients stand by each task, with the counts that loads are made of.

    Rows only: tasks and clients are row numbers of the state. Loads are tasks per thread, as Kafka compares them.
    """

    def __init__(self, state: ApplicationState) -> None:
        clients = range(len(state.clients))
        self.state = state
        self.threads: list[int] = state.clients.threads.tolist()
        self.owner: list[int] = [UNASSIGNED] * len(state.tasks)
        self.active: list[set[int]] = [set() for _ in clients]
        self.standby: list[set[int]] = [set() for _ in clients]
        self.assigned_count: list[int] = [0 for _ in clients]

    def assign_active(self, task: int, client: int) -> None:
        """Let the client run the task."""
        self.owner[task] = client
        self.active[client].add(task)
        self.assigned_count[client] += 1

    def unassign_active(self, task: int, client: int) -> None:
        """Stop running the task there; its owner stays whoever was given it last."""
        if self.owner[task] == client:
            self.owner[task] = UNASSIGNED
        self.active[client].remove(task)
        self.assigned_count[client] -= 1

    def assign_standby(self, task: int, client: int) -> None:
        """Let the client hold a standby of the task."""
        self.standby[client].add(task)
        self.assigned_count[client] += 1

    def unassign_standby(self, task: int, client: int) -> None:
        """Take the standby away."""
        self.standby[client].remove(task)
        self.assigned_count[client] -= 1

    def holds(self, client: int, task: int) -> bool:
        """Whether the client has the task in either role."""
        return task in self.active[client] or task in self.standby[client]

    def assigned_load(self, client: int) -> float:
        """Active and standby tasks per thread."""
        return self.assigned_count[client] / self.threads[client]

    def active_load(self, client: int) -> float:
        """Active tasks per thread."""
        return len(self.active[client]) / self.threads[client]

    def columns(self, followup_rebalance_delay_ms: int | None) -> AssignmentColumns:
        """The finished assignment, laid out along the state's rows."""
        standby = np.zeros((len(self.owner), len(self.threads)), dtype=np.bool_)
        for client, tasks in enumerate(self.standby):
            standby[list(tasks), client] = True
        return AssignmentColumns(np.array(self.owner, dtype=np.int64), standby, followup_rebalance_delay_ms)
