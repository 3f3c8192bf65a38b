"""The offsets that the members of a classic group report when they join a rebalance, and the lags that follow.

Lags are in records; a client may report stale offsets or none. Each thread reports at a moment of its own: its own
tasks, and the tasks on its disk that no thread of its client has open. All threads of a client report the latter, which
do not change while they are not open; so they are listed for the first of them only.

Source: KIP-441 (lags), `ClientState.computeTaskLags`; `StreamsPartitionAssignor.subscriptionUserData`,
`TaskManager.taskOffsetSums`, Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray, cells
from assignors.model.state import LATEST_OFFSET, NO_LAG
from simulator.flows.assigned_copies import AssignedCopies
from simulator.world.group_assignment import GroupAssignment
from simulator.world.layout import FloatArray, Layout
from simulator.world.world import Client, OffsetReports

_RECORD_TOLERANCE = 1e-6


class LagReports:
    """The lags that N clients report for their copies of T tasks.

    Under exactly-once, the last offset of a changelog is that of the marker that commits a transaction. A copy that
    has read all records ends before it, so its lag is at least 1 per changelog (observed with Kafka 4.3.1).
    """

    def __init__(self, layout: Layout, clients: Sequence[Client], *, exactly_once: bool = False) -> None:
        changelogs = layout.changelogs
        num_written = np.bincount(changelogs.task[~changelogs.is_source], minlength=len(layout.tasks))
        self._commit_markers: IntArray = num_written.astype(np.int64) * exactly_once
        self._stateful = layout.tasks.stateful
        self._record_bytes = layout.record_bytes
        self._is_stale: BoolArray = np.array([client.reports is OffsetReports.STALE for client in clients], np.bool_)
        self._is_silent: BoolArray = np.array([client.reports is OffsetReports.NEVER for client in clients], np.bool_)
        self._are_current = not (self._is_stale | self._is_silent).any()
        self._reported_bytes: FloatArray = np.zeros((len(layout.tasks), len(clients)), dtype=np.float64)
        self._joined_bytes: FloatArray = np.full((len(clients), len(layout.tasks)), np.inf)
        self._joined_cells: list[IntArray] = []
        self._closed_rows: dict[int, None] = {}
        self._closed_since_join: dict[int, None] = {}
        self._has_joined: BoolArray = np.zeros(len(clients), dtype=np.bool_)

    def lags(
        self,
        clients: IntArray,
        held_bytes: FloatArray,
        end_bytes: FloatArray,
        running_on: IntArray,
        copies: tuple[IntArray, IntArray] | None = None,
    ) -> IntArray:
        """Return the lags that clients report, in records, shape (T, C).

        The lag of a client without a copy is the whole changelog. It is LATEST_OFFSET where the task runs, and NO_LAG
        for stateless tasks. `held_bytes`, shape (T, N): how much of each changelog each client holds. `end_bytes`,
        shape (T,): the length of each changelog. `running_on`, shape (T,): the client on which each task runs,
        UNASSIGNED if none. `copies`: the tasks and clients of all copies, by task; None to find them in `held_bytes`.
        """
        column_of = np.full(held_bytes.shape[1], UNASSIGNED, dtype=np.int64)
        column_of[clients] = np.arange(len(clients))
        whole = np.where(self._stateful, _whole_records(end_bytes, self._record_bytes), NO_LAG)
        lags = np.empty((len(whole), len(clients)), dtype=np.int64)
        lags[:] = whole[:, None]
        task, client, held = self._reported_cells(held_bytes, cells(held_bytes != 0) if copies is None else copies)
        column = column_of[client]
        is_reported = (column != UNASSIGNED) & (held != 0) & self._stateful[task]
        task, column, held = task[is_reported], column[is_reported], held[is_reported]
        behind = np.maximum(end_bytes[task] - held, 0.0)
        lags[task, column] = _whole_records(behind, self._record_bytes[task]) + self._commit_markers[task]
        runs = np.flatnonzero((running_on != UNASSIGNED) & self._stateful)
        columns = column_of[running_on[runs]]
        lags[runs[columns >= 0], columns[columns >= 0]] = LATEST_OFFSET
        return lags

    def _reported_cells(
        self, held_bytes: FloatArray, copies: tuple[IntArray, IntArray]
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the tasks and clients of all copies, and the positions that the clients report."""
        task, client = copies
        held = np.minimum(held_bytes[task, client], self._joined_bytes[client, task])
        if self._are_current:
            return task, client, held
        is_current = ~(self._is_stale | self._is_silent)[client]
        stale_task, stale_client = cells((self._reported_bytes != 0) & (self._is_stale & ~self._is_silent))
        return (
            np.concatenate((task[is_current], stale_task)),
            np.concatenate((client[is_current], stale_client)),
            np.concatenate((held[is_current], self._reported_bytes[stale_task, stale_client])),
        )

    def missing_records(self, lags: IntArray) -> IntArray:
        """Return the records that copies with the given lags, shape (T, N), have yet to read."""
        records: IntArray = np.maximum(lags - self._commit_markers[:, None], 0)
        return records

    def report_at_join(self, tasks: IntArray, clients: IntArray, positions: FloatArray) -> None:
        """Record the current positions of copies, which are in the JoinGroup requests that are sent now.

        `clients`: rows of their K clients. `positions`, shape (K,): how much of its changelog each copy holds.
        """
        joined = clients * self._joined_bytes.shape[1] + tasks
        self._joined_bytes.reshape(-1)[joined] = positions
        self._joined_cells.append(joined)
        self._has_joined[clients] = True

    def report_closed_at_join(self, tasks: IntArray, client: int) -> None:
        """Let a client report its copies that no thread has open in the JoinGroup request that it sends now.

        They do not change while they are not open, so their positions need not be recorded before they do. `tasks`: the
        tasks of the copies of the client that its threads have open.
        """
        self._closed_since_join[client] = None
        if not self._has_joined[client]:
            return
        joined_bytes = self._joined_bytes[client]
        opened = joined_bytes[tasks]
        joined_bytes[:] = np.inf
        joined_bytes[tasks] = opened

    def record_closed(self, copies: AssignedCopies, held_bytes: FloatArray, changing: BoolArray | None = None) -> None:
        """Record the positions of the reported copies that no thread has open, before they change.

        `copies`: the copies that threads have open. `held_bytes`, shape (T, N): how much of each changelog each client
        holds. `changing`, shape (N,): the clients whose copies change; None for all.
        """
        clients = [client for client in self._closed_since_join if changing is None or changing[client]]
        if not clients:
            return
        is_closed = ~copies.mask(held_bytes.shape)[:, clients].T
        self._joined_bytes[clients] = np.where(is_closed, held_bytes[:, clients].T, self._joined_bytes[clients])
        self._closed_rows.update(dict.fromkeys(clients))
        self._has_joined[clients] = True
        for client in clients:
            del self._closed_since_join[client]

    def record(self, clients: IntArray, held_bytes: FloatArray) -> None:
        """Record the current positions of clients, which those with stale reports report next time; a rebalance ends.

        `clients`: rows of C clients. `held_bytes`, shape (T, N): how much of each changelog each client holds.
        """
        if not self._are_current:
            stale = clients[self._is_stale[clients]]
            self._reported_bytes[:, stale] = held_bytes[:, stale]
        self._forget_joins(clients)
        self._has_joined[clients] = False
        for client in clients.tolist():
            self._closed_since_join.pop(client, None)

    def _forget_joins(self, clients: IntArray) -> None:
        """Set the positions at the last join to infinity where any were set: looking at all tasks would take long."""
        num_tasks = self._joined_bytes.shape[1]
        whole_rows = [client for client in clients.tolist() if self._closed_rows.pop(client, 0) is None]
        self._joined_bytes[whole_rows] = np.inf
        if self._joined_cells:
            joined = np.concatenate(self._joined_cells)
            is_ending = np.zeros(len(self._joined_bytes), dtype=np.bool_)
            is_ending[clients] = True
            ends = is_ending[joined // max(1, num_tasks)]
            self._joined_bytes.reshape(-1)[joined[ends]] = np.inf
            self._joined_cells = [] if ends.all() else [joined[~ends]]


def _whole_records(num_bytes: FloatArray, record_bytes: FloatArray) -> IntArray:
    """Return the number of whole records; a quotient just below a whole number, from rounding, is that number."""
    records: IntArray = np.floor(num_bytes / record_bytes + _RECORD_TOLERANCE).astype(np.int64)
    return records


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
