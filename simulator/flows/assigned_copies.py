"""The assigned copies of task state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray, cells


@dataclass(frozen=True, slots=True, eq=False)
class AssignedCopies:
    """The assigned copies of stateful tasks, K of them.

    Attributes:
        task: shape (K,); row of the task.
        client: shape (K,); row of the client.
        active: shape (K,); whether the copy is the active task, not a standby or warm-up.
    """

    task: IntArray
    client: IntArray
    active: BoolArray

    def __len__(self) -> int:
        return len(self.task)

    @classmethod
    def none(cls) -> AssignedCopies:
        """Return no copies."""
        empty = np.zeros(0, dtype=np.int64)
        return cls(empty, empty, np.zeros(0, dtype=np.bool_))

    @classmethod
    def of(cls, owner: IntArray, standby: BoolArray) -> AssignedCopies:
        """Return the copies of an assignment, active tasks first.

        `owner`, shape (T,): the client that has each active task, UNASSIGNED if none. `standby`, shape (T, N): which
        clients have a standby or warm-up.
        """
        return cls.of_cells(owner, *cells(standby))

    @classmethod
    def of_cells(cls, owner: IntArray, standby_of: IntArray, standby_on: IntArray) -> AssignedCopies:
        """Return the copies of an assignment, given the tasks and clients of its standbys and warm-ups."""
        active = np.flatnonzero(owner != UNASSIGNED)
        task, client = np.concatenate((active, standby_of)), np.concatenate((owner[active], standby_on))
        return cls(task, client, np.arange(len(task)) < len(active))

    def where(self, chosen: BoolArray) -> AssignedCopies:
        """Return the chosen copies, shape (K,)."""
        return AssignedCopies(self.task[chosen], self.client[chosen], self.active[chosen])

    def mask(self, shape: tuple[int, ...]) -> BoolArray:
        """Return which copies of T tasks on N clients are assigned, shape (T, N)."""
        assigned = np.zeros(shape, dtype=np.bool_)
        assigned[self.task, self.client] = True
        return assigned

    def active_mask(self, shape: tuple[int, ...]) -> BoolArray:
        """Return which copies of T tasks on N clients are active tasks, shape (T, N)."""
        active = np.zeros(shape, dtype=np.bool_)
        active[self.task[self.active], self.client[self.active]] = True
        return active
