"""The copies of task state on the clients: their positions in the changelogs, and how they catch up.

Every stateful task has one changelog, counted in bytes, which grows as the task processes its input. A client holds a
copy up to some position. A copy that is behind reads the changelog at a max-min fair share of the bandwidths of its
client, its host and the brokers that lead the changelog; see `shared_bandwidth`. A copy that has caught up reads what
is written. Standbys pause while active tasks of their client restore, as in Kafka's state updater. A new copy waits
until its stores are open (`simulator.flows.restore_start`).

The model is a fluid: between two changes every rate is constant, so positions are linear in time.

Source: `DefaultStateUpdater` and `StoreChangelogReader` (active restoration pauses standbys).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray, cells
from simulator.catching_up import CAUGHT_UP_BYTES, is_caught_up
from simulator.flows.assigned_copies import AssignedCopies
from simulator.flows.copies_at_join import CopiesAtJoin
from simulator.flows.copy_invariants import ROUNDING_BYTES, Copies, require, validate_copies
from simulator.flows.copy_positions import CopyPositions
from simulator.flows.durable_state import DurableState
from simulator.flows.lag_reports import LagReports
from simulator.flows.shared_bandwidth import ApplicationBandwidth, ReadDemands
from simulator.flows.traffic import TrafficKind
from simulator.world.disturbances import Disk
from simulator.world.group_assignment import GroupAssignment
from simulator.world.layout import FloatArray, Layout
from simulator.world.sentinels import NO_COPY
from simulator.world.world import Client

_BEHIND_BYTES = 1.0
_NEVER_MS = np.iinfo(np.int64).max


class Restoration:
    """The copies of T tasks on all N clients of the world.

    Attributes:
        copies: the copies that are assigned now.
        end_bytes: shape (T,); the length of each task's changelog.
        rate: shape (K,); bytes per second that each assigned copy reads, or writes if it runs.
        restored_bytes: bytes read so far to catch up.
        restored_again_bytes: the part of `restored_bytes` that the same client had held before and lost.
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

        Args:
            layout: the tasks.
            clients: N clients.
            bandwidth: the bandwidths of clients, hosts and brokers, which other applications may use, too.
            durable_state: what survives if a process is killed; None if none is.
            exactly_once: whether tasks write in transactions.
        """
        shape = (len(layout.tasks), len(clients))
        self._bandwidth = bandwidth
        self._broker_share: FloatArray = np.zeros((shape[0], len(bandwidth.shared.brokers)), dtype=np.float64)
        self._stateful = layout.tasks.stateful
        self._memory_share = layout.memory_share
        self._write_bytes_per_s = layout.state_bytes_per_s
        self._record_bytes = layout.record_bytes
        self._lag_reports = LagReports(layout, clients, exactly_once=exactly_once)
        self._durable_state = durable_state
        self._copies_at_join: CopiesAtJoin | None = None
        self._existing: BoolArray | None = None
        self._existing_cells: tuple[IntArray, IntArray] | None = None
        self.end_bytes: FloatArray = layout.state_bytes.astype(np.float64)
        self._positions = CopyPositions(shape)
        self._is_empty_copy: BoolArray = np.zeros(shape, dtype=np.bool_)
        self._idle_since_ms: IntArray = np.zeros(shape, dtype=np.int64)
        self._growth: FloatArray = np.zeros(shape[0], dtype=np.float64)
        self._owner: IntArray = np.full(shape[0], UNASSIGNED, dtype=np.int64)
        self._caught_up_once: BoolArray = np.zeros(shape, dtype=np.bool_)
        self.copies = AssignedCopies.none()
        self._cells: IntArray = np.zeros(0, dtype=np.int64)
        self.rate: FloatArray = np.zeros(0, dtype=np.float64)
        self._is_waiting: BoolArray = np.zeros(0, dtype=np.bool_)
        self._is_restoring = self._is_paused = self._is_unreadable = self._is_waiting
        self._set_caught_up(np.zeros(0, dtype=np.bool_))
        self._read_bytes: FloatArray = np.zeros((2, 0), dtype=np.float64)
        self.restored_bytes = 0.0
        self.restored_again_bytes = 0.0

    @property
    def held_bytes(self) -> FloatArray:
        """Return how much of each task's changelog each client holds, shape (T, N)."""
        return self._positions.table

    @property
    def num_clients(self) -> int:
        """Return the number of clients, N."""
        return int(self._idle_since_ms.shape[1])

    def load_copies(self, lags: IntArray) -> None:
        """Set the copies that clients have at the start, before any task is assigned.

        A copy that is behind ends in the middle of a record, since a lag in whole records does not say where in it.

        Args:
            lags: shape (T, N); how many records each copy is behind, NO_COPY where there is none.
        """
        records = self._lag_reports.missing_records(lags)
        missing = np.where(records > 0, (records + 0.5) * self._record_bytes[:, None], 0.0)
        exists = (lags != NO_COPY) & self._stateful[:, None]
        self._existing = None
        self._positions.load(np.where(exists, np.maximum(self.end_bytes[:, None] - missing, 0.0), 0.0))
        self._is_empty_copy = exists & (self.held_bytes == 0)

    def advance(self, seconds: float, work: FloatArray) -> None:
        """Let time pass at the current rates.

        Args:
            seconds: how long.
            work: shape (T,); seconds of usual input that each task processes in that time.
        """
        self.end_bytes += self._write_bytes_per_s * work
        before = self._positions.held
        after = np.minimum(before + self.rate * seconds, self.end_bytes.take(self.copies.task))
        if self._durable_state is not None:
            self._durable_state.advance(seconds, self.copies, (before, after), self.rate)
        if self._is_any_behind or self._has_followers:
            read = after - before
        if self._is_any_behind:
            behind = ~self._caught_up
            read_behind = read * behind
            again = np.maximum(np.minimum(after, self._positions.max_held) - before, 0.0) * behind
            self._read_bytes[0] += read_behind
            self.restored_bytes += float(read_behind.sum())
            self.restored_again_bytes += float(again.sum())
        if self._has_followers:
            self._read_bytes[1] += read * (self._caught_up & ~self.copies.active)
        self._positions.move_to(after)

    def assign(
        self, owner: IntArray, standby: BoolArray, moved_threads: tuple[IntArray, IntArray], now_ms: int
    ) -> None:
        """Change which copies are assigned.

        Args:
            owner: shape (T,); the client that is to run each task, UNASSIGNED if none.
            standby: shape (T, N); which clients have a standby or warm-up.
            moved_threads: tasks and clients of copies that move to another thread of their client.
            now_ms: the time.
        """
        self._lag_reports.record_closed(self.copies, self.held_bytes)
        before = self.copies
        self._owner = owner
        stateful = self._stateful
        self._set_copies(AssignedCopies.of(np.where(stateful, owner, UNASSIGNED), standby & stateful[:, None]))
        stays = self.copies.mask(self.held_bytes.shape).reshape(-1)[before.task * standby.shape[1] + before.client]
        self._close(before.task[~stays], before.client[~stays], now_ms)
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
        self._idle_since_ms[:, client] = _NEVER_MS
        if disk is Disk.UNFLUSHED_LOST and self._durable_state is not None:
            self.held_bytes[closed] = np.minimum(self.held_bytes[closed], self._durable_state.surviving_bytes(*closed))
            is_reported = self._durable_state.is_reported(*closed) & (self._memory_share[closed[0]] < 1)
            self._is_empty_copy[closed] = is_reported & (self.held_bytes[closed] == 0)
        elif disk is Disk.LOST:
            self.held_bytes[:, client] = 0.0
            self._is_empty_copy[:, client] = False

    def start_client(self, client: int, now_ms: int) -> None:
        """Start a client; the cleanup delay of the copies on its disk begins."""
        self._idle_since_ms[:, client] = now_ms

    def restore_all(self) -> None:
        """Let every assigned copy catch up instantly, as if the application had been running before."""
        self._positions.begin_at(self.end_bytes[self.copies.task])
        self.assume_running()

    def assume_running(self) -> None:
        """Take the assigned copies to have been written since their tasks were created, as regards their disks."""
        if self._durable_state is not None:
            at = (self.copies.task, self.copies.client)
            self._durable_state.assume_running(*at, self._positions.held, self.copies.active)

    def delete_copies(self, tasks: IntArray, client: int) -> None:
        """Delete unassigned copies from the disk of a client."""
        self._lag_reports.record_closed(self.copies, self.held_bytes)
        self._existing = None
        self.held_bytes[tasks, client] = 0.0
        self._is_empty_copy[tasks, client] = False

    def delete_expired(self, delay_ms: int, now_ms: int) -> None:
        """Delete the copies that were unassigned for longer than `state.cleanup.delay.ms`."""
        num_clients = self.num_clients
        tasks, clients = self.copies_on_disk()
        is_expired = self._idle_since_ms[tasks, clients] < now_ms - delay_ms
        is_assigned = np.zeros(self._idle_since_ms.size, dtype=np.bool_)
        is_assigned[self._cells] = True
        is_expired &= ~is_assigned[tasks * num_clients + clients]
        if is_expired.any():
            tasks, clients = tasks[is_expired], clients[is_expired]
            changing: BoolArray = np.bincount(clients, minlength=num_clients) > 0
            self._lag_reports.record_closed(self.copies, self.held_bytes, changing)
            self._existing = None
            self.held_bytes[tasks, clients] = 0.0
            self._is_empty_copy[tasks, clients] = False
        self._copies_at_join = None

    def caught_up(self) -> BoolArray:
        """Return which assigned copies have caught up by now, shape (K,)."""
        return is_caught_up(self.end_bytes.take(self.copies.task) - self._positions.held)

    def update_caught_up(self, is_waiting: BoolArray | None = None) -> None:
        """Mark the copies that have caught up, and round their positions up to the end of the changelog.

        Args:
            is_waiting: shape (K,); which copies do not read yet; None for no change.
        """
        self._is_waiting = self._is_waiting if is_waiting is None else is_waiting
        end, held = self.end_bytes.take(self.copies.task), self._positions.held
        caught_up = is_caught_up(end - held) & ~self._is_waiting
        held = np.where(caught_up, end, held)
        self._positions.move_to(held)
        # What is marked below stays marked while the copies are assigned, so only the others need to be looked at.
        new = np.flatnonzero(caught_up & ~self._caught_up)
        self._set_caught_up(caught_up)
        if not len(new):
            return
        self._is_empty_copy.reshape(-1)[self._cells[new[end[new] == 0]]] = True
        self._caught_up_once.reshape(-1)[self._cells[new]] = True
        if self._durable_state is not None:
            restored = new[self.copies.active[new]]
            at = self.copies.task[restored], self.copies.client[restored]
            self._durable_state.complete_restoration(*at, held[restored])

    def restored_tasks(self) -> BoolArray:
        """Return which tasks had all their state on their owner at the last `update_caught_up`, shape (T,)."""
        restored: BoolArray = (self._owner != UNASSIGNED) & ~self._stateful
        restored[self.copies.task[self._caught_up & self.copies.active]] = True
        return restored

    def set_write_rates(self, bytes_per_s: FloatArray) -> None:
        """Set the bytes, shape (T,), that each task writes to its changelogs for a second of usual input."""
        self._write_bytes_per_s = bytes_per_s

    def write(self, work: FloatArray) -> None:
        """Write the instantly processed work of running tasks, shape (T,), to the changelogs; standbys fall behind."""
        if work.any():
            self.end_bytes += self._write_bytes_per_s * work
            writers = self.copies.active & self._caught_up
            end = self.end_bytes.take(self.copies.task)
            self._positions.move_to(np.where(writers, end, self._positions.held))
            self.update_caught_up()

    def update_rates(
        self, processing_rate: FloatArray, broker_share: FloatArray, running: BoolArray, can_restore: BoolArray
    ) -> None:
        """Recompute how fast every copy reads.

        Args:
            processing_rate: shape (T,); seconds of usual input that each task processes in a second.
            broker_share: shape (T, B); the fraction of a task's changelogs that each broker leads.
            running: shape (T,); whether the active task has been restored.
            can_restore: shape (T,); whether all changelogs of a task can be read.
        """
        self._growth = self._write_bytes_per_s * processing_rate
        self._broker_share = broker_share
        copies, caught_up = self.copies, self._caught_up
        growth = self._growth[copies.task]
        self._is_restoring = restoring = copies.active & ~running[copies.task] & ~self._is_waiting
        self._is_paused = ~copies.active
        if self._is_paused.any():
            is_restoring_client = np.bincount(copies.client[restoring], minlength=self.num_clients) > 0
            self._is_paused &= is_restoring_client[copies.client]
        self._is_unreadable = ~can_restore[copies.task]
        reads_now = (restoring & ~caught_up) | (~copies.active & ~self._is_paused & ~self._is_waiting)
        reads = np.flatnonzero(reads_now & ~self._is_unreadable)
        self.rate = np.where(copies.active & caught_up, growth, 0.0)
        demand = np.where(caught_up[reads], growth[reads], np.inf)
        # The table of copies and brokers is large, and needed only if brokers are limited.
        of_brokers = broker_share[copies.task[reads]] if self._bandwidth.shared.limits_brokers else broker_share[:0]
        self.rate[reads] = self._bandwidth.divide(ReadDemands(copies.client[reads], of_brokers, demand))

    def next_change_s(self) -> float:
        """Return the seconds until the next copy catches up or falls behind, infinity if none does at these rates."""
        if not self._is_any_behind and not self._has_followers:
            return math.inf  # Active tasks that have caught up write what they hold.
        missing = self.end_bytes.take(self.copies.task) - self._positions.held
        closing = self.rate - self._growth.take(self.copies.task)
        behind = ~self._caught_up & (missing > CAUGHT_UP_BYTES) & (closing > 0)
        slows = self._caught_up & (closing < 0)
        caught_up_s = float((missing[behind] / closing[behind]).min(initial=np.inf))
        fallen_behind_s = float(((_BEHIND_BYTES - missing[slows]) / -closing[slows]).min(initial=np.inf))
        return min(caught_up_s, fallen_behind_s)

    @property
    def is_catching_up(self) -> bool:
        """Whether an active task restores, or a standby or warm-up has never caught up since it was assigned.

        A standby that falls behind later, because more is written than it can read, does not count.
        """
        if not self._is_any_behind:
            return False
        caught_up_once = self._caught_up_once.reshape(-1).take(self._cells)
        return bool((~self._caught_up & (self.copies.active | ~caught_up_once)).any())

    def falling_behind(self) -> IntArray:
        """Return the places in `copies` of copies that are behind and read no faster than their changelogs grow.

        Copies that wait, standbys that are paused, and copies whose changelogs cannot be read are left out.
        """
        slow = self.rate <= self._growth[self.copies.task]
        is_held_up = self._is_waiting | self._is_paused | self._is_unreadable
        places: IntArray = np.flatnonzero(~self._caught_up & ~is_held_up & slow)
        return places

    def take_reads(self) -> list[tuple[TrafficKind, FloatArray, IntArray, IntArray]]:
        """Return the reads of copies since the last call: kind, bytes (K,), tasks (K,), clients (K,)."""
        behind, follows = self._read_bytes
        active, task, client = self.copies.active, self.copies.task, self.copies.client
        self._read_bytes = np.zeros((2, len(self.copies)), dtype=np.float64)
        kinds = (
            (TrafficKind.RESTORE_READ, behind * active),
            (TrafficKind.WARMUP_READ, behind * ~active),
            (TrafficKind.STANDBY_READ, follows),
        )
        return [(kind, read[read > 0], task[read > 0], client[read > 0]) for kind, read in kinds if read.any()]

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

        An assigned copy counts even if it has read nothing yet. So does an empty copy that existed at the start or
        whose changelog is empty. (Source: `TaskManager.taskOffsetSums`, which reports the offset sum 0 for it.)

        Args:
            clients: rows of C clients.

        Returns:
            Not to be changed.
        """
        exists = self._existing
        if exists is None:
            self._existing_cells = None
            exists = self._existing = self.held_bytes > 0
            exists |= self._is_empty_copy
            exists.reshape(-1)[self._cells] = True
            exists[~self._stateful] = False
        return exists if np.array_equal(clients, np.arange(exists.shape[1])) else exists[:, clients]

    def copies_on_disk(self) -> tuple[IntArray, IntArray]:
        """Return the tasks and clients of all copies that `holds_copy` counts."""
        if self._existing is None or self._existing_cells is None:
            self._existing_cells = cells(self.holds_copy(np.arange(self.num_clients)))
        return self._existing_cells

    def lags(self, clients: IntArray, running: BoolArray) -> IntArray:
        """Return the lags that clients report at a rebalance, in records, shape (T, C); see `LagReports.lags`.

        Args:
            clients: rows of C clients.
            running: shape (T,); which tasks run.
        """
        running_on = np.where(running, self._owner, UNASSIGNED)
        return self._lag_reports.lags(clients, self.held_bytes, self.end_bytes, running_on)

    def report_at_join(self, assignment: GroupAssignment, threads: Sequence[tuple[int, int]]) -> None:
        """Record the current offsets that members report at the rebalance that they join.

        Args:
            assignment: the current assignment.
            threads: the rows of the members' clients, and their threads.
        """
        reported = self._copies_at_join
        if reported is None or reported.assignment is not assignment or reported.copies is not self.copies:
            self._copies_at_join = reported = CopiesAtJoin(assignment, self.copies)
        for client in reported.take_clients(client for client, _ in threads):
            self._lag_reports.report_closed_at_join(reported.open_on_client(client), client)
        places = reported.open_on(threads)
        at = self.copies.task[places], self.copies.client[places]
        self._lag_reports.report_at_join(*at, self._positions.held[places])

    def record_reports(self, clients: IntArray) -> None:
        """Record the current offsets of clients, by their rows, which those with stale reports report next time."""
        self._lag_reports.record(clients, self.held_bytes)
        self._copies_at_join = None

    def validate_state(self, assignment: GroupAssignment, running: BoolArray) -> None:
        """Check that the copies match an assignment, and that positions and rates are possible.

        Args:
            assignment: the current assignment.
            running: shape (T,); whether the active task runs.

        Raises:
            InvalidStateError: an invariant is violated; the message says which.
        """
        has_owner = (assignment.owner != UNASSIGNED) & self._stateful
        validate_copies(
            Copies(
                copies=self.copies,
                expected=AssignedCopies.of(np.where(has_owner, assignment.owner, UNASSIGNED), assignment.standby),
                held_bytes=self.held_bytes,
                end_bytes=self.end_bytes,
                rate=self.rate,
                is_restoring=self._is_restoring,
                cannot_read=self._is_waiting | self._is_unreadable,
            ),
            running,
        )
        self._validate_totals(running)

    def _validate_totals(self, running: BoolArray) -> None:
        reads = ~(self.copies.active & running[self.copies.task])
        exceeded = self._bandwidth.find_violation(
            self.copies.client[reads], self._broker_share[self.copies.task[reads]], self.rate[reads]
        )
        require(not self.held_bytes[~self._stateful].any(), "a stateless task has a copy")
        is_part = 0 <= self.restored_again_bytes <= self.restored_bytes + ROUNDING_BYTES
        require(is_part, "more restored again than at all")
        require(exceeded is None, str(exceeded))

    def _set_copies(self, copies: AssignedCopies) -> None:
        self._existing = None
        self.copies = copies
        self._cells = copies.task * self.num_clients + copies.client
        self._positions.select(self._cells)
        self.rate = np.zeros(len(copies), dtype=np.float64)
        flags = np.zeros((4, len(copies)), dtype=np.bool_)
        self._is_waiting, self._is_restoring, self._is_paused, self._is_unreadable = flags
        self._set_caught_up(np.zeros(len(copies), dtype=np.bool_))
        self._read_bytes = np.zeros((2, len(copies)), dtype=np.float64)

    def _set_caught_up(self, caught_up: BoolArray) -> None:
        self._caught_up = caught_up
        self._is_any_behind = not caught_up.all()
        self._has_followers = bool((caught_up & ~self.copies.active).any())

    def _close(self, tasks: IntArray, clients: IntArray, now_ms: int) -> None:
        """Close copies; state on disk stays, state in memory is lost."""
        if not len(tasks):
            return
        self._idle_since_ms[tasks, clients] = now_ms
        self._caught_up_once[tasks, clients] = False
        self._lose_memory(tasks, clients)

    def _lose_memory(self, tasks: IntArray, clients: IntArray) -> None:
        if not len(tasks):
            return
        self._existing = None
        persistent = (1.0 - self._memory_share[tasks]) * self.end_bytes[tasks]
        self.held_bytes[tasks, clients] = np.minimum(self.held_bytes[tasks, clients], persistent)
        self._is_empty_copy[tasks, clients] &= self._memory_share[tasks] < 1.0
        self._caught_up_once[tasks, clients] &= is_caught_up(self.end_bytes[tasks] - self.held_bytes[tasks, clients])
