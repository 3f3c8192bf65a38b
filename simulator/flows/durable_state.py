"""Durable state: which part of an open copy is still on disk after its process was killed.

A clean close flushes everything. After a kill, what counts is the release of Kafka Streams and `processing.guarantee`:

Up to 4.2, a task has a checkpoint file. Before it is written, the stores are flushed, so a killed task restores from
the offsets in the file. It is written when restoration ends, and at a commit if the offsets have grown by more than
10,000 records since the last time. Under exactly-once, it is deleted when the task is opened, and a running active task
does not write it: without a file the task is wiped. Up to 4.2.1, the file of the end of restoration stays
(KAFKA-20685).

Since 4.3 (KIP-1035), stores keep offsets next to their data, in RocksDB without a write-ahead log. Each commit adds the
offsets to the memtable, and data and offsets reach the disk together, when the memtable is full. A killed process loses
the memtables; the offsets on disk are those of the last commit before the last flush. Under exactly-once, a store that
was flushed while open is wiped with its task; one that was not is as when it was opened.

With transactional stores (KIP-892, from 4.4 on), the memtable of a running active task gets data and offsets together,
at commits, and is flushed at the first commit after the one that filled it. What is restored, by standbys too, gets
into the memtable at once, as without transactions. Nothing is ever wiped. A thread also commits when its running tasks
have written more than its part of `statestore.uncommitted.max.bytes`.

Source: `StateManagerUtil.checkpointNeeded`, `AbstractTask.maybeCheckpoint`, `StreamTask.postCommit`,
`StreamTask.completeRestoration`, `DefaultStateUpdater.maybeCheckpointTasks` and `maybeCompleteRestoration`,
`ProcessorStateManager.initializeStoreOffsetsFromCheckpoint`, Kafka 3.9.1, 4.1.2, 4.2.1 and 4.2.2;
`RocksDBStore.openDB`, `AbstractColumnFamilyAccessor`, `ProcessorStateManager.initializeStoreOffsets`, Kafka 4.3.1 and
4.4.0; `RocksDBStore.TransactionalDBAccessor` and `restoreBatch`, `StreamThread.shouldCommitDueToUncommittedBytes`,
`KafkaStreams.maxUncommittedBytesPerThread`, Kafka 4.4.0; `DBImpl::PreprocessWrite` of RocksDB.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from simulator.flows.assigned_copies import AssignedCopies
from simulator.world.changes import Disk
from simulator.world.disturbances import Leave, RollingBounce
from simulator.world.group_configs import OffsetStorage, StateConfigs
from simulator.world.layout import FloatArray, Layout
from simulator.world.pod_events import LagScaling, PodEvent
from simulator.world.world import World

CHECKPOINT_RECORDS: Final = 10_000
"""By how many records offsets must have grown for a checkpoint (`OFFSET_DELTA_THRESHOLD_FOR_CHECKPOINT`)."""


_ROUNDING: Final = 1e-9


def may_be_killed(world: World) -> bool:
    """Return whether a process may be killed during a run, so that it may lose what is not flushed."""
    return any(
        isinstance(event, PodEvent | LagScaling)
        or getattr(event, "disk", None) is Disk.UNFLUSHED_LOST
        or (isinstance(event, Leave | RollingBounce) and event.closing.is_killed)
        for event in world.disturbances
    )


@dataclass(slots=True)
class _Quiet:
    """A time in which no memtable is full, while copies go on from known positions at known rates."""

    seconds: float = 0.0
    positions: FloatArray | None = None
    max_rate: FloatArray | None = None

    def goes_on(self, positions: FloatArray, max_rate: FloatArray, seconds: float) -> bool:
        """Let time pass, and return whether no memtable is full until then."""
        if positions is not self.positions or max_rate is not self.max_rate:
            return False
        self.seconds -= seconds
        return self.seconds > 0


class _OpenStores(NamedTuple):
    """The P stores of the open copies of tasks, and flat indices, which are faster than those of two arrays."""

    copies: AssignedCopies
    pair: IntArray
    """shape (P,); the place of the copy of each store in `copies`"""
    rows: IntArray
    """shape (P,); the changelog of each store"""
    cell: IntArray
    """shape (P,); the place of each store in a table of changelogs and clients"""
    flush_bytes: FloatArray
    """shape (P,); the bytes between two flushes"""


class DurableState:
    """The durable positions of the open copies of T tasks on N clients, in bytes of the task's changelogs.

    Commits happen at multiples of `commit.interval.ms` from the start of the run. Threads of a client are taken to
    write equally much, so those that reach the limit of uncommitted bytes commit at multiples of the time it takes.
    """

    def __init__(self, layout: Layout, configs: StateConfigs, num_clients: int) -> None:
        self._in_stores = configs.offset_storage is OffsetStorage.STORES
        self._exactly_once = configs.exactly_once
        self._keeps_last_checkpoint = configs.offset_storage is OffsetStorage.CHECKPOINT_FILE
        self._transactional = configs.transactional
        self._max_uncommitted_bytes = configs.max_uncommitted_bytes or np.inf
        self._commit_ms = configs.commit_interval_ms
        self._now_ms = 0
        self._stores: _OpenStores | None = None
        self._next_flush_bytes: FloatArray | None = None
        self._quiet = _Quiet()
        self._checkpoint_bytes = CHECKPOINT_RECORDS * layout.record_bytes
        self._offsets = layout.tasks.changelog.offsets
        changelogs = layout.changelogs
        self._share = np.where(changelogs.persistent, changelogs.restored_share, 0.0)
        with np.errstate(divide="ignore"):
            self._flush_bytes = np.where(self._share > 0, changelogs.write_buffer_bytes / self._share, np.inf)
        shape, pairs = (len(layout.tasks), num_clients), (len(changelogs.task), num_clients)
        self._committed: FloatArray = np.zeros(shape, dtype=np.float64)
        self._snapshot: FloatArray = np.zeros(shape, dtype=np.float64)
        self._is_restored: BoolArray = np.zeros(shape, dtype=np.bool_)
        self._has_checkpoint: BoolArray = np.zeros(shape, dtype=np.bool_)
        self._durable: FloatArray = np.zeros(pairs if self._in_stores else shape, dtype=np.float64)
        self._flushes: FloatArray = np.zeros(pairs if self._in_stores else (0, 0), dtype=np.float64)
        self._memtable: FloatArray = np.zeros_like(self._flushes)
        """The positions at which the memtables of stores begin."""

    def assign(
        self,
        before: AssignedCopies,
        after: AssignedCopies,
        moved_threads: tuple[IntArray, IntArray],
        held_bytes: FloatArray,
    ) -> None:
        """Open the copies that are newly assigned or move to another thread, and recycle those that change their role.

        `moved_threads`: tasks and clients of copies that move to another thread of their client. `held_bytes`, shape
        (T, N): the positions of all copies.
        """
        task, client = after.task, after.client
        is_new = ~before.mask(held_bytes.shape)[task, client]
        changes_role = ~is_new & (before.active_mask(held_bytes.shape)[task, client] != after.active)
        for opened in ((task[is_new], client[is_new]), moved_threads):
            self.open(*opened, held_bytes[opened])
        recycled = task[changes_role], client[changes_role]
        self.recycle(*recycled, held_bytes[recycled])

    def open(self, tasks: IntArray, clients: IntArray, held_bytes: FloatArray) -> None:
        """Open copies of tasks on clients, whose state on disk ends at the given positions."""
        self._next_flush_bytes = None
        self._committed[tasks, clients] = held_bytes
        self._snapshot[tasks, clients] = 0.0
        self._is_restored[tasks, clients] = False
        if self._in_stores:
            pair, rows = self._changelogs_of(tasks)
            self._durable[rows, clients[pair]] = self._memtable[rows, clients[pair]] = held_bytes[pair]
            self._flushes[rows, clients[pair]] = 0
        else:
            self._durable[tasks, clients] = 0.0 if self._exactly_once else held_bytes
            self._has_checkpoint[tasks, clients] = (held_bytes > 0) & (not self._exactly_once)

    def recycle(self, tasks: IntArray, clients: IntArray, held_bytes: FloatArray) -> None:
        """Turn active tasks into standbys or standbys into active tasks, whose stores stay open."""
        if self._in_stores:
            self._is_restored[tasks, clients] = False
        else:
            self.open(tasks, clients, held_bytes)

    def assume_running(
        self, tasks: IntArray, clients: IntArray, positions: tuple[FloatArray, FloatArray], is_active: BoolArray
    ) -> None:
        """Take copies to have been written from some positions, at which their stores were opened, up to others."""
        opened_bytes, held_bytes = positions
        self.open(tasks, clients, opened_bytes)
        self._is_restored[tasks, clients] = is_active
        self._committed[tasks, clients] = self._snapshot[tasks, clients] = held_bytes
        if self._in_stores:
            pair, rows = self._changelogs_of(tasks)
            opened = opened_bytes[pair]
            flushes = np.floor((held_bytes[pair] - opened) / self._flush_bytes[rows])
            self._flushes[rows, clients[pair]] = flushes
            position = _flush_position(opened, flushes, self._flush_bytes[rows])
            self._durable[rows, clients[pair]] = self._memtable[rows, clients[pair]] = position
        else:
            keeps = ~(self._exactly_once & is_active) & (is_active | (held_bytes > self._checkpoint_bytes[tasks]))
            self._durable[tasks, clients] = np.where(keeps, held_bytes, 0.0)
            self._has_checkpoint[tasks, clients] = keeps

    def complete_restoration(self, tasks: IntArray, clients: IntArray, held_bytes: FloatArray) -> None:
        """Commit those of the given active tasks, all of them caught up, that have not been restored before."""
        is_new = ~self._is_restored[tasks, clients]
        tasks, clients, held_bytes = tasks[is_new], clients[is_new], held_bytes[is_new]
        self._is_restored[tasks, clients] = True
        self._committed[tasks, clients] = self._snapshot[tasks, clients] = held_bytes
        if not self._in_stores:
            keeps = not self._exactly_once or self._keeps_last_checkpoint
            self._durable[tasks, clients] = held_bytes if keeps else 0.0
            self._has_checkpoint[tasks, clients] = keeps

    def advance(
        self,
        seconds: float,
        copies: AssignedCopies,
        positions: tuple[FloatArray, FloatArray],
        max_rate: FloatArray,
    ) -> None:
        """Let time pass, while K open copies grow at constant rates.

        `seconds`: how long. `positions`, shape (K,): the positions before and after that time. `max_rate`, shape (K,):
        the bytes per second by which they may grow; another array when it changes.
        """
        before_ms, self._now_ms = self._now_ms, self._now_ms + round(seconds * 1000)
        before, after = positions
        tasks, clients = copies.task, copies.client
        if self._transactional:
            runs = copies.active & self._is_restored[tasks, clients]
            rate = (after - before) / seconds
            if not runs.all():
                self._next_flush_bytes = None
                self._flush(before_ms, self._stores_of(copies, ~runs), positions, seconds)
                self._note_commit(before_ms, tasks[~runs], clients[~runs], before[~runs], rate[~runs])
            self._commit(before_ms, copies, before, np.where(runs, rate, 0.0), runs)
        elif self._in_stores:
            if self._stores is None or self._stores.copies is not copies:
                self._stores, self._next_flush_bytes = self._stores_of(copies), None
            if self._next_flush_bytes is None or not self._quiet.goes_on(before, max_rate, seconds):
                next_flush_bytes = self._flush(before_ms, self._stores, positions, seconds)
                self._quiet = _quiet_after(after, max_rate, self._stores, next_flush_bytes)
            self._quiet.positions = after
            self._note_commit(before_ms, tasks, clients, before, (after - before) / seconds)
        else:
            writes = ~(self._exactly_once & self._is_restored[tasks, clients])
            rate = (after[writes] - before[writes]) / seconds
            self._checkpoint(before_ms, tasks[writes], clients[writes], before[writes], rate)

    def surviving_bytes(self, tasks: IntArray, clients: IntArray) -> FloatArray:
        """Return how much of open copies is on disk after their process was killed, shape (K,)."""
        if not self._in_stores:
            persistent = np.bincount(self._rows_of_all(), weights=self._share, minlength=len(self._committed))
            return np.asarray(self._durable[tasks, clients] * persistent[tasks], dtype=np.float64)
        pair, rows = self._changelogs_of(tasks)
        of_client = clients[pair]
        durable = np.bincount(
            pair, weights=self._durable[rows, of_client] * self._share[rows], minlength=len(tasks)
        ).astype(np.float64)
        if not self._exactly_once or self._transactional:
            return durable
        was_flushed = np.bincount(pair, weights=self._flushes[rows, of_client], minlength=len(tasks)) > 0
        return np.where(was_flushed, 0.0, durable)

    def is_reported(self, tasks: IntArray, clients: IntArray) -> BoolArray:
        """Return whether a restarted process reports the copies, even if nothing of them survived, shape (K,).

        Without a checkpoint file, a task is not reported. Since 4.3, a process opens the stores of all tasks on its
        disk when it starts, and reports them unless they are to be wiped.

        Source: `TaskManager.getTaskOffsetSums`, Kafka 3.9.1; `StateDirectory.initializeStartupStores`, Kafka 4.3.1.
        """
        if self._in_stores:
            keeps_all = not self._exactly_once or self._transactional
            return np.full(len(tasks), keeps_all) | (self.surviving_bytes(tasks, clients) > 0)
        return self._has_checkpoint[tasks, clients]

    def _note_commit(
        self, before_ms: int, tasks: IntArray, clients: IntArray, before: FloatArray, rate: FloatArray
    ) -> None:
        """Note the positions of copies at the last commit up to now; `rate`: bytes per second since `before_ms`."""
        last_commit_ms = self._now_ms // self._commit_ms * self._commit_ms
        if last_commit_ms > before_ms:
            self._committed[tasks, clients] = before + rate * ((last_commit_ms - before_ms) / 1000)

    def _commit(
        self, before_ms: int, copies: AssignedCopies, before: FloatArray, rate: FloatArray, runs: BoolArray
    ) -> None:
        """Write what running active tasks have collected in transactional stores at the commits up to now.

        `rate`, shape (K,): bytes per second. `runs`, shape (K,): which copies are those of running active tasks.
        """
        tasks, clients = copies.task, copies.client
        every_ms = self._transaction_ms(copies, rate)
        first = np.floor(before_ms / every_ms) + 1
        commits = np.floor(self._now_ms / every_ms) - first + 1
        due = np.flatnonzero(runs & (commits > 0))
        at_first = before[due] + rate[due] * ((first[due] * every_ms[due] - before_ms) / 1000)
        step = rate[due] * every_ms[due] / 1000
        pair, rows = self._changelogs_of(tasks[due])
        cells = rows, clients[due][pair]
        size, stepped, start = self._flush_bytes[rows], step[pair], at_first[pair]
        # A commit flushes the memtable that the one before has filled: first that of the last commit before this time.
        last = self._committed[tasks[due], clients[due]][pair]
        is_full = last - self._memtable[cells] >= size
        memtable, durable = (
            np.where(is_full, last, self._memtable[cells]),
            np.where(is_full, last, self._durable[cells]),
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            filled = np.maximum(np.ceil((memtable + size - start) / stepped), 0.0)
            every = np.maximum(np.ceil(size / stepped), 1.0)
        left = commits[due][pair] - 2 - filled
        flushed = (stepped > 0) & (left >= 0)
        with np.errstate(invalid="ignore"):
            position = start + (filled + np.floor(left / every) * every) * stepped
        self._durable[cells] = np.where(flushed, position, durable)
        self._memtable[cells] = np.where(flushed, position, memtable)
        self._committed[tasks[due], clients[due]] = at_first + (commits[due] - 1) * step

    def _transaction_ms(self, copies: AssignedCopies, rate: FloatArray) -> FloatArray:
        """Return the time between two commits of the tasks of each copy, shape (K,)."""
        written = np.bincount(copies.client, weights=rate, minlength=self._committed.shape[1])
        with np.errstate(divide="ignore"):
            fills_ms = np.maximum(self._max_uncommitted_bytes / written * 1000, 1.0)
        return np.asarray(np.minimum(self._commit_ms, fills_ms)[copies.client], dtype=np.float64)

    def _flush(
        self,
        before_ms: int,
        stores: _OpenStores,
        positions: tuple[FloatArray, FloatArray],
        seconds: float,
    ) -> FloatArray:
        """Flush full memtables, and return the positions, shape (P,), before which stores are not full again."""
        before, after = positions
        reached = after.take(stores.pair)
        if self._next_flush_bytes is not None and not (reached >= self._next_flush_bytes).any():
            return self._next_flush_bytes
        begins = self._memtable.reshape(-1).take(stores.cell)
        flushes = np.maximum(np.floor((reached - begins) / stores.flush_bytes), 0.0)
        flushed = np.flatnonzero(flushes)
        # A little early, so that rounding cannot hide a flush from the comparison above.
        next_flush_bytes = self._next_flush_bytes = (begins + (flushes + 1) * stores.flush_bytes) * (1 - _ROUNDING)
        if not len(flushed):
            return next_flush_bytes
        rate = (after - before) / seconds
        tasks, clients, pair = stores.copies.task, stores.copies.client, stores.pair[flushed]
        rows, of_client = stores.rows[flushed], clients[pair]
        position = begins[flushed] + flushes[flushed] * stores.flush_bytes[flushed]
        with np.errstate(divide="ignore", invalid="ignore"):
            at_ms = before_ms + np.where(rate[pair] > 0, (position - before[pair]) / rate[pair] * 1000, 0.0)
        commit_ms = np.floor(at_ms / self._commit_ms) * self._commit_ms
        at_commit = before[pair] + rate[pair] * ((commit_ms - before_ms) / 1000)
        committed = np.where(commit_ms > before_ms, at_commit, self._committed[tasks, clients][pair])
        self._durable[rows, of_client] = np.clip(committed, self._durable[rows, of_client], position)
        self._memtable[rows, of_client] = position
        self._flushes[rows, of_client] += flushes[flushed]
        return next_flush_bytes

    def _checkpoint(
        self, before_ms: int, tasks: IntArray, clients: IntArray, before: FloatArray, rate: FloatArray
    ) -> None:
        """Write the checkpoint files that are due at the commits up to now."""
        first = before_ms // self._commit_ms + 1
        commits = self._now_ms // self._commit_ms - first + 1
        if commits < 1:
            return
        threshold = self._checkpoint_bytes[tasks]
        at_first = before + rate * ((first * self._commit_ms - before_ms) / 1000)
        step = rate * (self._commit_ms / 1000)
        with np.errstate(divide="ignore", invalid="ignore"):
            missing = self._snapshot[tasks, clients] + threshold - at_first
            waits = np.where(missing < 0, 0.0, np.where(step > 0, np.floor(missing / step) + 1, np.inf))
            every = np.where(step > 0, np.floor(threshold / step) + 1, 1.0)
        due = np.flatnonzero(waits < commits)
        last = waits[due] + np.floor((commits - 1 - waits[due]) / every[due]) * every[due]
        position = at_first[due] + last * step[due]
        self._durable[tasks[due], clients[due]] = self._snapshot[tasks[due], clients[due]] = position
        self._has_checkpoint[tasks[due], clients[due]] = True

    def _stores_of(self, copies: AssignedCopies, chosen: BoolArray | None = None) -> _OpenStores:
        """Return the stores of open copies; `chosen`, shape (K,): of which of them, None for all."""
        pair, rows = self._changelogs_of(copies.task)
        if chosen is not None:
            pair, rows = pair[chosen[pair]], rows[chosen[pair]]
        num_clients, clients = self._committed.shape[1], copies.client[pair]
        return _OpenStores(
            copies=copies,
            pair=pair,
            rows=rows,
            cell=rows * num_clients + clients,
            flush_bytes=self._flush_bytes[rows],
        )

    def _changelogs_of(self, tasks: IntArray) -> tuple[IntArray, IntArray]:
        """Return pairs of a place in `tasks` and the row of a changelog of that task."""
        starts, counts = self._offsets[tasks], self._offsets[tasks + 1] - self._offsets[tasks]
        pair = np.repeat(np.arange(len(tasks)), counts)
        first = np.repeat(np.cumsum(counts) - counts, counts)
        rows: IntArray = starts[pair] + np.arange(len(pair)) - first
        return pair, rows

    def _rows_of_all(self) -> IntArray:
        """Return the row of the task of each changelog."""
        return np.repeat(np.arange(len(self._offsets) - 1), np.diff(self._offsets))


def _flush_position(opened: FloatArray | float, flushes: FloatArray, flush_bytes: FloatArray) -> FloatArray:
    """Return the position of the last flush; that of the opening where there was none."""
    return np.where(flushes > 0, opened + flushes * np.where(flushes > 0, flush_bytes, 0.0), opened)


def _quiet_after(
    positions: FloatArray, max_rate: FloatArray, stores: _OpenStores, next_flush_bytes: FloatArray
) -> _Quiet:
    """Return for how long no memtable is full if no copy grows faster than at the given rates."""
    missing, rate = next_flush_bytes - positions.take(stores.pair), max_rate.take(stores.pair)
    grows = rate > 0
    seconds = float((missing[grows] / rate[grows]).min(initial=np.inf)) * (1 - _ROUNDING)
    return _Quiet(seconds, positions, max_rate)
