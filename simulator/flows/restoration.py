"""The copies of task state on the clients: their positions in the changelogs, and how they catch up.

Every stateful task has one changelog, counted in bytes, which grows as the task processes its input. A client holds a
copy up to some position. `simulator.flows.assigned_copies` computes how fast copies read; new ones wait until their
stores are open and their changelogs are initialized.

The model is a fluid: between two changes every rate is constant, so positions are linear in time.

An assigned copy exists even if it has read nothing yet. So does an empty copy that existed at the start or whose
changelog is empty. A client deletes copies that were unassigned for longer than `state.cleanup.delay.ms`.

Source: `TaskManager.taskOffsetSums`, which reports the offset sum 0 for an empty copy; `StateDirectory`.

Each stream thread opens the stores of its new tasks one after another. A task begins to read its changelogs
`restore_start_ms` after its own stores are open. A restored or stateless task runs only once its thread has opened the
stores of all its new tasks, because the same loop starts restored tasks. A standby that becomes an active task, or the
reverse, keeps its stores open, but its changelogs are initialized again.

Kafka opens the new tasks of a thread in the order of a hash set; this model opens them in the order of their ids.

Source: `TaskManager.addTasksToStateUpdater` and `.checkStateUpdater`, `Tasks.drainPendingTasksToInit`,
`StreamTask.initializeIfNeeded`, `StoreChangelogReader.initializeChangelogs`, Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray, cells
from simulator.catching_up import is_caught_up
from simulator.flows.assigned_copies import AssignedCopies, CopyPositions, CopyRates, CopyReads
from simulator.flows.durable_state import DurableState
from simulator.flows.flow_steps import AssignedFlows, pass_time
from simulator.flows.lag_reports import JoinReports, LagReports
from simulator.flows.processing import Processing
from simulator.flows.shared_bandwidth import ApplicationBandwidth
from simulator.world.changes import Disk
from simulator.world.group_assignment import GroupAssignment
from simulator.world.layout import NO_COPY, FloatArray, Layout
from simulator.world.world import Client, ClientTimes, World


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


_NEVER_MS = np.iinfo(np.int64).max


class CopiesOnDisk:
    """The copies of T tasks on N clients.

    `is_empty`, shape (T, N): which copies exist although they hold nothing, assigned ones aside.
    """

    def __init__(self, positions: CopyPositions, stateful: BoolArray) -> None:
        """Create empty disks.

        `stateful`, shape (T,): which tasks are stateful.
        """
        self._positions = positions
        self._stateful = stateful
        self.is_empty: BoolArray = np.zeros(positions.shape, dtype=np.bool_)
        self._idle_since_ms: IntArray = np.zeros(positions.shape, dtype=np.int64)
        self._existing: BoolArray | None = None
        self._existing_cells: tuple[IntArray, IntArray] | None = None

    def note_change(self) -> None:
        """Note that copies were assigned, closed, loaded or deleted, before that is looked at."""
        self._existing = self._existing_cells = None

    def existing(self) -> BoolArray:
        """Return which copies exist, shape (T, N); not to be changed."""
        if self._existing is None:
            existing: BoolArray = self._positions.table > 0
            existing |= self.is_empty
            existing.reshape(-1)[self._positions.cells] = True
            existing[~self._stateful] = False
            self._existing, self._existing_cells = existing, None
        return self._existing

    def existing_cells(self) -> tuple[IntArray, IntArray]:
        """Return the tasks and clients of all copies that exist, by task."""
        if self._existing is None or self._existing_cells is None:
            self._existing_cells = cells(self.existing())
        return self._existing_cells

    def close(self, tasks: IntArray, clients: IntArray, now_ms: int) -> None:
        """Note from when on copies are unassigned."""
        self._idle_since_ms[tasks, clients] = now_ms

    def stop_client(self, client: int) -> None:
        """Stop a client, which deletes nothing until it starts."""
        self._idle_since_ms[:, client] = _NEVER_MS

    def start_client(self, client: int, now_ms: int) -> None:
        """Start a client; the cleanup delay of the copies on its disk begins."""
        self._idle_since_ms[:, client] = now_ms

    def delete(self, tasks: IntArray | slice, clients: IntArray | int) -> None:
        """Delete copies."""
        self.note_change()
        self._positions.table[tasks, clients] = 0.0
        self.is_empty[tasks, clients] = False

    def expired(self, before_ms: int) -> tuple[IntArray, IntArray]:
        """Return the tasks and clients of copies that have been unassigned since before a time."""
        tasks, clients = self.existing_cells()
        is_expired = self._idle_since_ms[tasks, clients] < before_ms
        is_expired &= ~self._positions.is_assigned().take(tasks * self.is_empty.shape[1] + clients)
        return tasks[is_expired], clients[is_expired]


_NO_ROWS: IntArray = np.zeros(0, dtype=np.int64)


class Restoration:
    """The copies of T tasks on all N clients of the world.

    Attributes:
        copies: the copies that are assigned now.
        end_bytes: shape (T,); the length of each task's changelog.
        num_clients: N.
        rates: how fast the assigned copies read.
        reads: what they have read.
        join_reports: the offsets that members report when they join.
    """

    def __init__(
        self,
        layout: Layout,
        clients: Sequence[Client],
        bandwidth: ApplicationBandwidth,
        durable_state: DurableState | None = None,
        *,
        exactly_once: bool = False,
    ) -> None:
        """Create a restoration without copies.

        `bandwidth`: the bandwidths of clients, hosts and brokers, which other applications may use, too.
        `durable_state`: what survives if a process is killed; None if none is. `exactly_once` says whether tasks write
        in transactions.
        """
        self.num_clients = len(clients)
        shape = (len(layout.tasks), self.num_clients)
        self._stateful = layout.tasks.stateful
        self._memory_share = layout.memory_share
        self._write_bytes_per_s = layout.state_bytes_per_s
        self._record_bytes = layout.record_bytes
        self._lag_reports = LagReports(layout, clients, exactly_once=exactly_once)
        self._durable_state = durable_state
        self.join_reports = JoinReports(self._lag_reports)
        self.end_bytes: FloatArray = layout.state_bytes.astype(np.float64)
        self.copies = AssignedCopies.none()
        self._positions = CopyPositions(shape)
        self._disks = CopiesOnDisk(self._positions, self._stateful)
        self.rates = CopyRates(*shape, bandwidth)
        self.reads = CopyReads()
        self._flows = AssignedFlows(self.copies, self._positions, self.rates, self.reads)
        self._owner: IntArray = np.full(shape[0], UNASSIGNED, dtype=np.int64)
        self._has_stateless = not layout.tasks.stateful.all()
        self._caught_up_once: BoolArray = np.zeros(shape, dtype=np.bool_)

    @property
    def rate(self) -> FloatArray:
        """Return the bytes per second that each assigned copy reads, or writes if it runs, shape (K,)."""
        return self.rates.rate

    @property
    def held_bytes(self) -> FloatArray:
        """Return how much of each task's changelog each client holds, shape (T, N)."""
        return self._positions.table

    @property
    def held(self) -> FloatArray:
        """Return how much of its changelog each assigned copy holds, shape (K,); not to be changed."""
        return self._positions.held

    def load_copies(self, lags: IntArray) -> None:
        """Set the copies that clients have at the start, before any task is assigned.

        A copy that is behind ends in the middle of a record, since a lag in whole records does not say where in it.
        `lags`, shape (T, N): how many records each copy is behind, NO_COPY where there is none.
        """
        self._disks.note_change()
        self._positions.load(self._bytes_of(lags))
        self._disks.is_empty = (lags != NO_COPY) & self._stateful[:, None] & (self.held_bytes == 0)

    def _bytes_of(self, lags: IntArray) -> FloatArray:
        """Return the positions, shape (T, N), of state with the given lags, 0 where there is none (NO_COPY)."""
        records = self._lag_reports.missing_records(lags)
        missing = np.where(records > 0, (records + 0.5) * self._record_bytes[:, None], 0.0)
        exists = (lags != NO_COPY) & self._stateful[:, None]
        return np.where(exists, np.maximum(self.end_bytes[:, None] - missing, 0.0), 0.0)

    def advance(
        self, seconds: Sequence[float], processing: Processing, *, compiled: bool = False
    ) -> Sequence[FloatArray]:
        """Let time pass at the current rates, in steps.

        `seconds`: the duration of each of S steps; `processing`: the input of the tasks, which is processed in that
        time; `compiled` says whether to use the compiled kernel, with the same result. Returns the positions of the
        assigned copies before the first step and after each, S + 1 arrays of shape (K,).
        """
        changelogs = self._write_bytes_per_s, self.end_bytes
        held = pass_time(seconds, processing, changelogs, self._flows, compiled=compiled)
        if self._durable_state is not None:
            for duration_s, positions in zip(seconds, pairwise(held), strict=True):
                self._durable_state.advance(duration_s, self.copies, positions, self.rate)
        return held

    def assign(
        self,
        owner: IntArray,
        standbys: tuple[IntArray, IntArray],
        moved_threads: tuple[IntArray, IntArray],
        now_ms: int,
    ) -> None:
        """Change which copies are assigned.

        `owner`, shape (T,): the client that is to run each task, UNASSIGNED if none. `standbys`: the tasks and clients
        of all standbys and warm-ups, by task. `moved_threads`: tasks and clients of copies that move to another thread
        of their client.
        """
        self._lag_reports.record_closed(self.copies, self.held_bytes)
        before = self.copies
        self._owner = owner
        stateful = self._stateful
        standby_of, standby_on = standbys
        has_state = stateful[standby_of]
        if not has_state.all():
            standby_of, standby_on = standby_of[has_state], standby_on[has_state]
        before_cells = self._positions.cells
        self._set_copies(AssignedCopies.of_cells(np.where(stateful, owner, UNASSIGNED), standby_of, standby_on))
        closed = np.flatnonzero(~self._positions.is_assigned().take(before_cells))
        self._close(before.task[closed], before.client[closed], now_ms)
        self._lose_memory(*moved_threads)
        if self._durable_state is not None:
            self._durable_state.assign(before, self.copies, moved_threads, self.held_bytes)

    def stop_client(self, client: int, disk: Disk, now_ms: int) -> None:
        """Stop a client: close its copies; keep its disk or lose it."""
        self._lag_reports.record_closed(self.copies, self.held_bytes)
        stays = self.copies.client != client
        closed = self.copies.task[~stays], self.copies.client[~stays]
        self._owner = np.where(self._owner == client, UNASSIGNED, self._owner)
        self._set_copies(self.copies.where(stays))
        self._close(*closed, now_ms)
        self._disks.stop_client(client)
        if disk is Disk.UNFLUSHED_LOST and self._durable_state is not None:
            self.held_bytes[closed] = np.minimum(self.held_bytes[closed], self._durable_state.surviving_bytes(*closed))
            is_reported = self._durable_state.is_reported(*closed) & (self._memory_share[closed[0]] < 1)
            self._disks.is_empty[closed] = is_reported & (self.held_bytes[closed] == 0)
        elif disk is Disk.LOST:
            self._disks.delete(slice(None), client)

    def start_client(self, client: int, now_ms: int) -> None:
        """Start a client; the cleanup delay of the copies on its disk begins."""
        self._disks.start_client(client, now_ms)

    def restore_all(self) -> None:
        """Let every assigned copy catch up instantly, as if the application had been running before."""
        self._positions.begin_at(self.end_bytes[self.copies.task])
        self.assume_running()

    def assume_running(self, lags_when_opened: IntArray | None = None) -> None:
        """Take the assigned copies to have been written since their stores were opened, as regards their disks.

        `lags_when_opened`, shape (T, N): the lags, by now, of what was on disk then, NO_COPY where it was nothing; None
        if it was nothing everywhere.
        """
        if self._durable_state is not None:
            at, held = (self.copies.task, self.copies.client), self._positions.held
            opened = np.zeros(len(held)) if lags_when_opened is None else self._bytes_of(lags_when_opened)[at]
            self._durable_state.assume_running(*at, (np.minimum(opened, held), held), self.copies.active)

    def delete_copies(self, tasks: IntArray, client: int) -> None:
        """Delete unassigned copies from the disk of a client."""
        self._lag_reports.record_closed(self.copies, self.held_bytes)
        self._disks.delete(tasks, client)

    def delete_expired(self, delay_ms: int, now_ms: int) -> None:
        """Delete the copies that were unassigned for longer than `state.cleanup.delay.ms`."""
        tasks, clients = self._disks.expired(now_ms - delay_ms)
        if len(tasks):
            changing: BoolArray = np.bincount(clients, minlength=self.num_clients) > 0
            self._lag_reports.record_closed(self.copies, self.held_bytes, changing)
            self._disks.delete(tasks, clients)
        self.join_reports.forget_threads()

    def caught_up(self) -> BoolArray:
        """Return which assigned copies have caught up by now, shape (K,)."""
        return is_caught_up(self.end_bytes.take(self.copies.task) - self._positions.held)

    def update_caught_up(self, is_waiting: BoolArray | None = None) -> None:
        """Mark the copies that have caught up, and round their positions up to the end of the changelog.

        `is_waiting`, shape (K,): which copies do not read yet; None for no change.
        """
        rates = self.rates
        if is_waiting is not None:
            rates.set_waiting(is_waiting)
        end, held = self.end_bytes.take(self.copies.task), self._positions.held
        caught_up = is_caught_up(end - held)
        if rates.is_any_waiting:
            caught_up &= ~rates.is_waiting
        held = np.where(caught_up, end, held)
        self._positions.move_to(held)
        # What is marked below stays marked while the copies are assigned, so only the others need to be looked at.
        (new,) = (caught_up > rates.caught_up).nonzero() if rates.is_any_behind else (_NO_ROWS,)
        rates.set_caught_up(caught_up)
        if not len(new):
            return
        places = self._positions.cells
        self._disks.is_empty.reshape(-1)[places[new[end[new] == 0]]] = True
        self._caught_up_once.reshape(-1)[places[new]] = True
        if self._durable_state is not None:
            restored = new[self.copies.active[new]]
            at = self.copies.task[restored], self.copies.client[restored]
            self._durable_state.complete_restoration(*at, held[restored])

    def restored_tasks(self) -> BoolArray:
        """Return which tasks had all their state on their owner at the last `update_caught_up`, shape (T,)."""
        restored: BoolArray = np.zeros(len(self._owner), dtype=np.bool_)
        if self._has_stateless:
            restored = (self._owner != UNASSIGNED) > self._stateful
        restored[self.copies.task[self.rates.caught_up & self.copies.active]] = True
        return restored

    def set_write_rates(self, bytes_per_s: FloatArray) -> None:
        """Set the bytes, shape (T,), that each task writes to its changelogs for a second of usual input."""
        self._write_bytes_per_s = bytes_per_s

    def write(self, work: FloatArray) -> None:
        """Write the instantly processed work of running tasks, shape (T,), to the changelogs; standbys fall behind."""
        if work.any():
            self.end_bytes += self._write_bytes_per_s * work
            writers = self.copies.active & self.rates.caught_up
            end = self.end_bytes.take(self.copies.task)
            self._positions.move_to(np.where(writers, end, self._positions.held))
            self.update_caught_up()

    def update_rates(
        self, processing_rate: FloatArray, broker_share: FloatArray, running: BoolArray, can_restore: BoolArray
    ) -> None:
        """Recompute how fast every copy reads, from the work of each task per second; see `CopyRates.update`."""
        self.rates.update(self._write_bytes_per_s * processing_rate, broker_share, running, can_restore)

    def next_change_s(self) -> float:
        """Return the seconds until the next copy catches up or falls behind, infinity if none does at these rates."""
        return self.rates.next_change_s(self.end_bytes, self._positions.held)

    @property
    def is_catching_up(self) -> bool:
        """Whether an active task restores, or a standby or warm-up has never caught up since it was assigned.

        A standby that falls behind later, because more is written than it can read, does not count.
        """
        if not self.rates.is_any_behind:
            return False
        if not self.rates.has_inactive:
            return True
        caught_up_once = self._caught_up_once.reshape(-1).take(self._positions.cells)
        return bool((~self.rates.caught_up & (self.copies.active | ~caught_up_once)).any())

    def queryable_tasks(self) -> BoolArray:
        """Return which tasks have a queryable copy on some client, shape (T,); true for stateless tasks."""
        queryable: BoolArray = ~self._stateful
        has_data = self._positions.held > 0
        is_empty = is_caught_up(self.end_bytes.take(self.copies.task))
        # A copy that has begun to read holds data from now on; no other event comes before it has caught up.
        queryable[self.copies.task[has_data | is_empty | (self.rate > 0)]] = True
        return queryable

    def holds_copy(self, clients: IntArray) -> BoolArray:
        """Return whether the given clients have a copy of each task, shape (T, C).

        See `simulator.flows.restoration`. The result must not be changed.
        """
        existing = self._disks.existing()
        return existing if np.array_equal(clients, np.arange(self.num_clients)) else existing[:, clients]

    def copies_on_disk(self) -> tuple[IntArray, IntArray]:
        """Return the tasks and clients of all copies that `holds_copy` counts."""
        return self._disks.existing_cells()

    def lags(self, clients: IntArray, running: BoolArray) -> IntArray:
        """Return the lags that clients report at a rebalance, in records, shape (T, C); see `LagReports.lags`.

        `running`, shape (T,): which tasks run.
        """
        running_on = np.where(running, self._owner, UNASSIGNED)
        return self._lag_reports.lags(clients, self.held_bytes, self.end_bytes, running_on, self.copies_on_disk())

    def record_reports(self, clients: IntArray) -> None:
        """Record the current offsets of clients, by their rows, which those with stale reports report next time."""
        self._lag_reports.record(clients, self.held_bytes)
        self.join_reports.forget_threads()

    def _set_copies(self, copies: AssignedCopies) -> None:
        self._disks.note_change()
        self.copies = copies
        self._positions.select(copies.task * self.num_clients + copies.client)
        self.rates.select(copies)
        self.reads.select(copies)
        self._flows = AssignedFlows(copies, self._positions, self.rates, self.reads)

    def _close(self, tasks: IntArray, clients: IntArray, now_ms: int) -> None:
        """Close copies; state on disk stays, state in memory is lost."""
        self._disks.close(tasks, clients, now_ms)
        self._caught_up_once[tasks, clients] = False
        self._lose_memory(tasks, clients)

    def _lose_memory(self, tasks: IntArray, clients: IntArray) -> None:
        if not len(tasks):
            return
        self._disks.note_change()
        persistent = (1.0 - self._memory_share[tasks]) * self.end_bytes[tasks]
        self.held_bytes[tasks, clients] = np.minimum(self.held_bytes[tasks, clients], persistent)
        self._disks.is_empty[tasks, clients] &= self._memory_share[tasks] < 1.0
        self._caught_up_once[tasks, clients] &= is_caught_up(self.end_bytes[tasks] - self.held_bytes[tasks, clients])
