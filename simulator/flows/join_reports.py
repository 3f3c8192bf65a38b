"""The offsets that the members of a classic group report when they join a rebalance, each at a moment of its own.

A thread reports its own tasks, and the tasks on its disk that no thread of its client has open. All threads of a client
report the latter, which do not change while they are not open; so they are listed for the first of them only.

Source: `StreamsPartitionAssignor.subscriptionUserData`, `TaskManager.taskOffsetSums`, Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from assignors.model.columns import IntArray
from simulator.flows.assigned_copies import AssignedCopies
from simulator.flows.lag_reports import LagReports
from simulator.world.group_assignment import GroupAssignment
from simulator.world.layout import FloatArray


class CopiesAtJoin:
    """The copies that threads report with one assignment, and the clients that have reported what is not open.

    Stateless tasks are left out, since they have no offsets.
    """

    def __init__(self, assignment: GroupAssignment, copies: AssignedCopies) -> None:
        """List the copies by thread.

        `assignment`: the current assignment of T tasks to N clients; `copies`: its K assigned copies of stateful tasks.
        """
        self.assignment = assignment
        self.copies = copies
        num_clients = assignment.thread.shape[1]
        thread = assignment.thread[copies.task, copies.client]
        self._num_threads = int(thread.max(initial=-1)) + 1
        of_thread = copies.client * self._num_threads + thread
        order = np.argsort(of_thread, kind="stable")
        self._places: list[int] = order.tolist()
        self._tasks = copies.task[order]
        counts = np.bincount(of_thread, minlength=num_clients * self._num_threads)
        self._ends: list[int] = [0, *counts.cumsum().tolist()]
        self._reported: set[int] = set()

    def open_on(self, threads: Iterable[tuple[int, int]]) -> list[int]:
        """Return the copies that threads have open: their places among the assigned copies.

        `threads`: rows of clients, and their threads.
        """
        places: list[int] = []
        for client, thread in threads:
            if thread < self._num_threads:
                row = client * self._num_threads + thread
                places += self._places[self._ends[row] : self._ends[row + 1]]
        return places

    def take_clients(self, clients: Iterable[int]) -> list[int]:
        """Return the clients that have not been passed before, each once."""
        new = [client for client in dict.fromkeys(clients) if client not in self._reported]
        self._reported.update(new)
        return new

    def open_on_client(self, client: int) -> IntArray:
        """Return the rows of the tasks that the threads of a client have open."""
        return self._tasks[self._ends[client * self._num_threads] : self._ends[(client + 1) * self._num_threads]]


class JoinReports:
    """Records which copies members report, and where these are at that moment.

    `lag_reports`: receives the positions of the copies.
    """

    def __init__(self, lag_reports: LagReports) -> None:
        self._lag_reports = lag_reports
        self._copies_at_join: CopiesAtJoin | None = None

    def report(
        self,
        assignment: GroupAssignment,
        copies: AssignedCopies,
        joins: Sequence[Sequence[tuple[int, int]]],
        steps: Sequence[int],
        positions: FloatArray,
    ) -> None:
        """Record the offsets that members report at J moments.

        `joins`: the rows of the members' clients, and their threads, for each moment. `steps`: the number of steps in
        time before each moment. `positions`, shape (S + 1, K): the positions of the assigned copies after each number
        of steps.
        """
        reported = self._copies_at_join
        if reported is None or reported.assignment is not assignment or reported.copies is not copies:
            self._copies_at_join = reported = CopiesAtJoin(assignment, copies)
        for client in reported.take_clients([client for threads in joins for client, _ in threads]):
            self._lag_reports.report_closed_at_join(reported.open_on_client(client), client)
        opened = [reported.open_on(threads) for threads in joins]
        places = np.array([place for of_join in opened for place in of_join], dtype=np.int64)
        step = np.repeat(np.array(steps, dtype=np.int64), [len(of_join) for of_join in opened])
        held = positions.reshape(-1).take(step * len(copies) + places)
        self._lag_reports.report_at_join(copies.task.take(places), copies.client.take(places), held)

    def forget_threads(self) -> None:
        """Let the first thread of each client report the copies again that no thread has open."""
        self._copies_at_join = None
