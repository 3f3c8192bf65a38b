"""Which tasks have been put on the same client before: the sticky assignors would rather mix than repeat."""

from __future__ import annotations

from collections.abc import Sequence

from assignors.tasks.task_placement import TaskPlacement


class TaskPairs:
    """The unordered pairs of tasks that met on a client because one of them was placed there.

    Kafka keeps a set of pairs, which grows with the square of the tasks. Here a set of tasks is the bits of one
    integer, and a meeting is written down only for the task that arrives; whom the others met since is looked up when
    it matters: a task's standbys are placed one right after the other, and nothing asks about its pairs later.

    Complexity: O(T / 64) machine words a question or placement.

    Source: `LegacyStickyTaskAssignor.TaskPairs`, `StickyTaskAssignor.TaskPairs`.
    """

    def __init__(self, num_tasks: int, num_clients: int) -> None:
        self._met = [0] * num_tasks
        self._held = [0] * num_clients
        self._arrived = [0] * num_clients  # the part of `_held` that was placed, not moved, there

    def is_new(self, task: int, client: int) -> bool:
        """Whether the client holds some task that this one has not met."""
        return self._held[client] & ~self._met[task] != 0

    def place(self, task: int, client: int) -> None:
        """Let the task meet those that the client holds, and join them."""
        self._met[task] |= self._held[client]
        self._held[client] |= 1 << task
        self._arrived[client] |= 1 << task

    def recall(self, task: int, owner: int) -> None:
        """Note down for a task whom it met where it runs, before its standbys are placed."""
        self._met[task] |= self._arrived[owner]

    def follow_moves(self, placed: Sequence[int], placement: TaskPlacement) -> None:
        """Take over where the active tasks are after they have been moved: tasks that are moved together do not meet.

        Args:
            placed: the client on which each task was placed.
            placement: where the tasks are now; nobody holds a standby yet.
        """
        for task, client in enumerate(placed):
            self._met[task] |= self._arrived[client]
        self._held = [0] * len(self._held)
        for task, client in enumerate(placement.owner):
            self._held[client] |= 1 << task
        self._arrived = [0] * len(self._held)
