"""When new copies begin to read: after their stores are open and their changelogs are initialized.

Each stream thread opens the stores of its new tasks one after another. A task begins to read its changelogs
`restore_start_ms` after its own stores are open. A restored or stateless task runs only once its thread has opened the
stores of all its new tasks, because the same loop starts restored tasks. A standby that becomes an active task, or the
reverse, keeps its stores open, but its changelogs are initialized again.

Kafka opens the new tasks of a thread in the order of a hash set; this model opens them in the order of their ids.

Source: `TaskManager.addTasksToStateUpdater` and `.checkStateUpdater`, `Tasks.drainPendingTasksToInit`,
`StreamTask.initializeIfNeeded`, `StoreChangelogReader.initializeChangelogs`, Kafka 4.3.1.
"""

from __future__ import annotations

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray
from simulator.flows.assigned_copies import AssignedCopies
from simulator.world.client_times import ClientTimes
from simulator.world.group_assignment import GroupAssignment
from simulator.world.layout import Layout
from simulator.world.world import World

_NEVER_MS = np.iinfo(np.int64).max


class RestoreStart:
    """The moments at which the copies of T tasks on N clients begin to read, and their tasks may run."""

    def __init__(self, world: World, layout: Layout, first_thread: IntArray) -> None:
        """Create the schedule without copies.

        `world`: the stores, and the times of clients. `layout`: the rows of tasks. `first_thread`, shape (N + 1,): the
        row of each client's first thread among the threads of all clients.
        """
        self._times: ClientTimes = world.application.times
        stores = {part.id: sum(store.persistent for store in part.stores) for part in world.application.subtopologies}
        num_stores = np.array([stores[number] for number in layout.tasks.subtopology.tolist()], dtype=np.int64)
        self._open_ms: IntArray = num_stores * self._times.open_store_ms * layout.tasks.stateful
        self._stateful = layout.tasks.stateful
        self._first_thread = first_thread
        shape = (len(layout.tasks), len(world.clients))
        self._opened_at_ms: IntArray = np.zeros(int(first_thread[-1]), dtype=np.int64)
        self._reads_from_ms: IntArray = np.zeros(shape, dtype=np.int64)
        self._runs_from_ms: IntArray = np.zeros(shape[0], dtype=np.int64)
        self._last_ms = 0
        self._all_may_run: BoolArray = np.ones(shape[0], dtype=np.bool_)

    def assign(self, before: GroupAssignment, after: GroupAssignment, now_ms: int, *, is_open: bool = False) -> None:
        """Schedule the opening of the new copies of an assignment.

        `is_open` says whether all stores are open and initialized already, as in an application that was running.
        """
        if is_open:
            return
        tasks, clients = after.held_cells
        is_new = ~before.holds(tasks, clients) | (after.thread[tasks, clients] != before.thread[tasks, clients])
        changes_role = ~is_new & ((before.owner[tasks] == clients) != (after.owner[tasks] == clients))
        recycled = np.flatnonzero(changes_role & self._stateful[tasks])
        self._reads_from_ms[tasks[recycled], clients[recycled]] = now_ms + self._times.restore_start_ms
        self._open(tasks[is_new], clients[is_new], after, now_ms)
        begins = np.flatnonzero((after.owner != before.owner) & (after.owner != UNASSIGNED))
        threads = self._first_thread[after.owner[begins]] + after.owner_thread()[begins]
        self._runs_from_ms[begins] = self._opened_at_ms[threads]
        latest_ms = int(self._reads_from_ms[tasks, clients].max(initial=0)), int(self._runs_from_ms.max(initial=0))
        self._last_ms = max(self._last_ms, *latest_ms)

    def start_client(self, client: int) -> None:
        """Start a client, whose threads have nothing to open yet."""
        self._opened_at_ms[self._first_thread[client] : self._first_thread[client + 1]] = 0

    def is_waiting(self, copies: AssignedCopies, now_ms: int) -> BoolArray:
        """Return which of K assigned copies do not read yet, shape (K,)."""
        if now_ms >= self._last_ms:
            return np.zeros(len(copies), dtype=np.bool_)
        waiting: BoolArray = self._reads_from_ms[copies.task, copies.client] > now_ms
        return waiting

    def may_run(self, now_ms: int) -> BoolArray:
        """Return which tasks may run as soon as they are restored, shape (T,); not to be changed."""
        if now_ms >= self._last_ms:
            return self._all_may_run
        may_run: BoolArray = self._runs_from_ms <= now_ms
        return may_run

    def opened_at_ms(self, client: int, thread: int) -> int:
        """Return when a thread of a client has opened the stores of its tasks, 0 if it never opened any."""
        return int(self._opened_at_ms[self._first_thread[client] + thread])

    def opened_at_ms_of_threads(self, clients: IntArray, threads: IntArray) -> IntArray:
        """Return when K threads have opened the stores of their tasks, as `opened_at_ms`, shape (K,)."""
        opened_at_ms: IntArray = self._opened_at_ms[self._first_thread[clients] + threads]
        return opened_at_ms

    def next_change_ms(self, copies: AssignedCopies, owner: IntArray, now_ms: int) -> int | None:
        """Return the next moment at which a copy begins to read or a task may run, None if there is none.

        `owner`, shape (T,): the client that has each task, UNASSIGNED if none.
        """
        if now_ms >= self._last_ms:
            return None
        reads_from_ms = self._reads_from_ms[copies.task, copies.client]
        runs_from_ms = self._runs_from_ms[owner != UNASSIGNED]
        moments = [int(at_ms.min(initial=_NEVER_MS, where=at_ms > now_ms)) for at_ms in (reads_from_ms, runs_from_ms)]
        next_ms = min(moments)
        return None if next_ms == _NEVER_MS else next_ms

    def _open(self, tasks: IntArray, clients: IntArray, after: GroupAssignment, now_ms: int) -> None:
        """Let threads open the stores of new copies, in the order of their ids, and note when they are done."""
        threads = self._first_thread[clients] + after.thread[tasks, clients]
        order = np.lexsort((tasks, threads))
        tasks, clients, threads = tasks[order], clients[order], threads[order]
        duration = self._open_ms[tasks]
        passed = np.cumsum(duration)
        starts = np.searchsorted(threads, threads)
        within = passed - (passed[starts] - duration[starts]) if len(tasks) else passed
        begins = np.maximum(self._opened_at_ms[threads], now_ms)
        opened = begins + within
        np.maximum.at(self._opened_at_ms, threads, opened)
        self._reads_from_ms[tasks, clients] = opened + self._times.restore_start_ms * self._stateful[tasks]
