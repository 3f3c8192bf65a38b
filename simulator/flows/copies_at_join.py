"""The copies whose offsets the members of a classic group report when they join a rebalance.

A thread reports its own tasks, and the tasks on its disk that no thread of its client has open. All threads of a client
report the latter, which do not change while they are not open; so they are listed for the first of them only.

Source: `StreamsPartitionAssignor.subscriptionUserData`, `TaskManager.taskOffsetSums`, Kafka 4.3.1.
"""

from __future__ import annotations

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from simulator.flows.assigned_copies import AssignedCopies
from simulator.world.group_assignment import GroupAssignment


class CopiesAtJoin:
    """The copies that threads report with one assignment, and the clients that have reported what is not open.

    Stateless tasks are left out, since they have no offsets.

    Attributes:
        assignment: the assignment.
    """

    def __init__(self, assignment: GroupAssignment, copies: AssignedCopies) -> None:
        """List the copies by thread.

        Args:
            assignment: the current assignment of T tasks to N clients.
            copies: its K assigned copies of stateful tasks.
        """
        self.assignment = assignment
        shape = assignment.thread.shape
        thread = assignment.thread[copies.task, copies.client]
        self._num_threads = int(thread.max(initial=-1)) + 1
        of_thread = copies.client * self._num_threads + thread
        self._tasks = copies.task[np.argsort(of_thread, kind="stable")]
        counts = np.bincount(of_thread, minlength=shape[1] * self._num_threads)
        self._ends: list[int] = [0, *counts.cumsum().tolist()]
        # By client, so that the tasks of a client are contiguous.
        self._is_closed: BoolArray = np.ones((shape[1], shape[0]), dtype=np.bool_)
        self._is_closed[copies.client, copies.task] = False
        self._reported: set[int] = set()

    def open_on(self, client: int, thread: int) -> IntArray:
        """Return the rows of the tasks that a thread of a client has open."""
        if thread >= self._num_threads:
            return self._tasks[:0]
        place = client * self._num_threads + thread
        return self._tasks[self._ends[place] : self._ends[place + 1]]

    def take_closed(self, client: int) -> BoolArray | None:
        """Return which tasks no thread of a client has open, shape (T,); None after the first call for a client."""
        if client in self._reported:
            return None
        self._reported.add(client)
        is_closed: BoolArray = self._is_closed[client]
        return is_closed
