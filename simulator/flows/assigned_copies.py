"""The assigned copies of task state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.columns import BoolArray, IntArray


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
