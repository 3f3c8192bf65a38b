"""Pairs of tasks that were placed on the same client; the sticky assignors prefer new pairs."""

from __future__ import annotations

from collections.abc import Sequence

from assignors.tasks.task_placement import TaskPlacement


class TaskPairs:
    """The unordered pairs of tasks that share a client because one of them was placed there.

    Kafka keeps a set of pairs, whose size is quadratic in the number of tasks. Here, a set of tasks is a bit mask, and
    a pair is stored only for the task that arrives. The pairs of the other task are looked up when needed: the standbys
    of a task are placed one after the other, and its pairs do not matter later.

    Args:
        num_tasks: number of tasks.
        num_clients: number of clients.

    Complexity: O(T / 64) machine words for each query or placement.

    Source: `LegacyStickyTaskAssignor.TaskPairs`, `StickyTaskAssignor.TaskPairs`.
    """

    def __init__(self, num_tasks: int, num_clients: int) -> None:
        self._paired = [0] * num_tasks
        self._held = [0] * num_clients
        self._arrived = [0] * num_clients  # subset of `_held` that was placed there, not moved

    def is_new(self, task: int, client: int) -> bool:
        """Return whether the client holds a task with which this task is not yet paired."""
        return self._held[client] & ~self._paired[task] != 0

    def place(self, task: int, client: int) -> None:
        """Pair the task with all tasks of the client, and add it there."""
        self._paired[task] |= self._held[client]
        self._held[client] |= 1 << task
        self._arrived[client] |= 1 << task

    def recall(self, task: int, owner: int) -> None:
        """Add the tasks that were placed on the owner of a task to its pairs, before its standbys are placed."""
        self._paired[task] |= self._arrived[owner]

    def follow_moves(self, placed: Sequence[int], placement: TaskPlacement) -> None:
        """Update the clients of active tasks after an optimization moved them; such moves form no new pairs.

        Args:
            placed: client on which each task was placed.
            placement: current clients of the tasks; there are no standbys yet.
        """
        for task, client in enumerate(placed):
            self._paired[task] |= self._arrived[client]
        self._held = [0] * len(self._held)
        for task, client in enumerate(placement.owner):
            self._held[client] |= 1 << task
        self._arrived = [0] * len(self._held)
