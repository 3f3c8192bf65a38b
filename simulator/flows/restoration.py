"""State: how far each client's copy of each task is, and how copies catch up.

Every stateful task has one changelog, counted in bytes: it grows as the task processes its input. A client holds a copy
up to some position. Copies that are behind read the changelog at a fair share of the client's bandwidth, and of that of
the brokers that lead it where those have a limit; copies that are level read what is written. Actives that restore go
before standbys, as Kafka's state updater has it.

The model is a fluid: between two changes every rate is constant, so positions are straight lines.

Source: KIP-441 (lags), `DefaultStateUpdater` and `StoreChangelogReader` (active restoration pauses standbys).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray
from assignors.model.state import LATEST_OFFSET, NO_LAG
from simulator.flows.traffic import TrafficKind
from simulator.max_min_fairness import max_min_shares, max_min_shares_of_two
from simulator.world.initial_state import NO_COPY
from simulator.world.layout import FloatArray, Layout
from simulator.world.world import Client, OffsetReports

_LEVEL_BYTES = 0.5
_BEHIND_BYTES = 1.0
_PART_OF_A_RECORD = 1e-6
_NOBODY_CLEANS_UP = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class AssignedCopies:
    """Copies that are assigned, K of them: of stateful tasks only.

    Attributes:
        task: shape (K,); row of the task.
        client: shape (K,); row of the client.
        active: shape (K,); whether it is to run there, or stand by.
    """

    task: IntArray
    client: IntArray
    active: BoolArray

    def __len__(self) -> int:
        return len(self.task)


class Restoration:
    """The copies of T tasks on all N clients that ever take part.

    Attributes:
        copies: those that are assigned now.
        restored_bytes: what was read so far to catch up.
        restored_again_bytes: what of it the same client had held before, and lost.
    """

    def __init__(self, layout: Layout, clients: Sequence[Client], brokers: FloatArray) -> None:
        """Begin with no copy anywhere.

        Args:
            layout: the tasks.
            clients: N clients.
            brokers: shape (B,); what each broker can send to those who restore, infinity for no limit.
        """
        shape = (len(layout.tasks), len(clients))
        self._bandwidth = np.array([client.restore_bytes_per_s for client in clients], dtype=np.float64)
        self._brokers = brokers
        self._brokers_limit = bool(np.isfinite(brokers).any())
        self._share: FloatArray = np.zeros((shape[0], len(brokers)), dtype=np.float64)
        self._stateful = layout.tasks.stateful
        self._memory_share = layout.memory_share
        self._usual_writes = layout.state_bytes_per_s
        self._record_bytes = layout.record_bytes
        self._stale = np.array([client.reports is OffsetReports.STALE for client in clients], dtype=np.bool_)
        self._never = np.array([client.reports is OffsetReports.NEVER for client in clients], dtype=np.bool_)
        self._end: FloatArray = layout.state_bytes.astype(np.float64)
        self._empty: BoolArray = np.zeros(shape, dtype=np.bool_)
        self._held: FloatArray = np.zeros(shape, dtype=np.float64)
        self._had: FloatArray = np.zeros(shape, dtype=np.float64)
        self._reported: FloatArray = np.zeros(shape, dtype=np.float64)
        self._idle_since_ms: IntArray = np.zeros(shape, dtype=np.int64)
        self._writes: FloatArray = np.zeros(shape[0], dtype=np.float64)
        self._owner: IntArray = np.full(shape[0], UNASSIGNED, dtype=np.int64)
        self._arrived: BoolArray = np.zeros(shape, dtype=np.bool_)
        none = np.zeros(0, dtype=np.int64)
        self.copies = AssignedCopies(none, none, np.zeros(0, dtype=np.bool_))
        self._rate: FloatArray = np.zeros(0, dtype=np.float64)
        self._waits: BoolArray = np.zeros(0, dtype=np.bool_)
        self._cut_off: BoolArray = np.zeros(0, dtype=np.bool_)
        self._level: BoolArray = np.zeros(0, dtype=np.bool_)
        self._read: FloatArray = np.zeros((2, 0), dtype=np.float64)
        self.restored_bytes = 0.0
        self.restored_again_bytes = 0.0

    def place(self, lags: IntArray) -> None:
        """Put copies where they are at the start, before anything is assigned.

        A copy that is behind is in the middle of a record: how far it is into that, whole records do not tell.

        Args:
            lags: shape (T, N); by how many records each copy is behind, NO_COPY where there is none.
        """
        behind = np.where(lags > 0, (lags + 0.5) * self._record_bytes[:, None], 0.0)
        there = (lags != NO_COPY) & self._stateful[:, None]
        self._held = np.where(there, np.maximum(self._end[:, None] - behind, 0.0), 0.0)
        self._empty = there & (self._held == 0)
        self._had = self._held.copy()

    def advance(self, seconds: float, work: FloatArray) -> None:
        """Let time pass at the current rates.

        Args:
            seconds: the time.
            work: shape (T,); seconds of usual input that each task processes in that time.
        """
        at = (self.copies.task, self.copies.client)
        self._end += self._usual_writes * work
        before = self._held[at]
        after = np.minimum(before + self._rate * seconds, self._end[self.copies.task])
        read = after - before
        behind = ~self._level
        follows = self._level & ~self.copies.active
        self._read += read * np.stack((behind, follows))
        again = np.clip(np.minimum(after, self._had[at]) - before, 0.0, None) * behind
        self.restored_bytes += float((read * behind).sum())
        self.restored_again_bytes += float(again.sum())
        self._held[at] = after
        self._had[at] = np.maximum(self._had[at], after)

    def assign(self, owner: IntArray, standby: BoolArray, moved: tuple[IntArray, IntArray], now_ms: int) -> None:
        """Give the clients other tasks.

        Args:
            owner: shape (T,); the client that each task is to run on, UNASSIGNED if none.
            standby: shape (T, N); who stands by.
            moved: tasks and clients of copies that go from one thread of their client to another.
            now_ms: the time.
        """
        before = self.copies
        self._owner = owner
        wanted = standby & self._stateful[:, None]
        runs = np.flatnonzero((owner != UNASSIGNED) & self._stateful)
        standby_of, standby_on = np.nonzero(wanted)
        self._take(
            np.concatenate((runs, standby_of)),
            np.concatenate((owner[runs], standby_on)),
            np.arange(len(runs) + len(standby_of)) < len(runs),
        )
        still = self._assigned()[before.task, before.client]
        self._close(before.task[~still], before.client[~still], now_ms)
        self._lose_memory(*moved)

    def stop(self, client: int, keeps_state: bool, now_ms: int) -> None:
        """Let a client end: it runs nothing and holds nothing open; its disk stays or is lost."""
        stays = self.copies.client != client
        closed = self.copies.task[~stays], self.copies.client[~stays]
        self._owner = np.where(self._owner == client, UNASSIGNED, self._owner)
        self._take(self.copies.task[stays], self.copies.client[stays], self.copies.active[stays])
        self._close(*closed, now_ms)
        self._idle_since_ms[:, client] = _NOBODY_CLEANS_UP
        if not keeps_state:
            self._held[:, client] = 0.0
            self._empty[:, client] = False

    def start(self, client: int, now_ms: int) -> None:
        """Let a client start; what lies on its disk is not cleaned up before the delay has passed from now."""
        self._idle_since_ms[:, client] = now_ms

    def fill(self) -> None:
        """Bring every assigned copy level at once: the application has been running before."""
        at = (self.copies.task, self.copies.client)
        self._held[at] = self._end[self.copies.task]
        self._had[at] = self._held[at]

    def clean_up(self, delay_ms: int, now_ms: int) -> None:
        """Delete the copies that have lain unassigned for longer than `state.cleanup.delay.ms`."""
        expired = ((self._held > 0) | self._empty) & (now_ms - self._idle_since_ms > delay_ms)
        expired[self.copies.task, self.copies.client] = False
        self._held[expired] = 0.0
        self._empty[expired] = False

    def level(self) -> tuple[BoolArray, BoolArray]:
        """Find out which copies (K,) have caught up, and which tasks (T,) thereby have their state where they run."""
        at = (self.copies.task, self.copies.client)
        end = self._end[self.copies.task]
        level = end - self._held[at] <= _LEVEL_BYTES
        self._held[at] = np.where(level, end, self._held[at])
        self._empty[at] |= level & (end == 0)
        self._had[at] = np.maximum(self._had[at], self._held[at])
        self._arrived[at] |= level
        self._level = level
        ready = (self._owner != UNASSIGNED) & ~self._stateful
        ready[self.copies.task[level & self.copies.active]] = True
        return level, ready

    def write(self, bytes_per_s: FloatArray) -> None:
        """So much, shape (T,), is written to each task's changelogs for a second of usual input from now on."""
        self._usual_writes = bytes_per_s

    def write_at_once(self, work: FloatArray) -> None:
        """Let tasks that run write what they process in no time, shape (T,); their standbys lack it from then on."""
        if work.any():
            self._end += self._usual_writes * work
            writers = self.copies.active & self._level
            task, client = self.copies.task[writers], self.copies.client[writers]
            self._held[task, client] = self._end[task]
            self.level()

    def settle(
        self, processing_rate: FloatArray, share: FloatArray, running: BoolArray, can_restore: BoolArray
    ) -> None:
        """Find out how fast every copy reads from here on.

        Args:
            processing_rate: shape (T,); seconds of usual input that each task processes in a second.
            share: shape (T, B); what part of a task's changelogs each broker serves.
            running: shape (T,); whether the active task has been restored.
            can_restore: shape (T,); whether all of a task's changelogs can be read.
        """
        self._writes = self._usual_writes * processing_rate
        self._share = share
        copies, level = self.copies, self._level
        written = self._writes[copies.task]
        restoring = copies.active & ~running[copies.task]
        busy = np.bincount(copies.client[restoring], minlength=len(self._bandwidth)) > 0
        self._waits = ~copies.active & busy[copies.client]
        self._cut_off = ~can_restore[copies.task]
        reads = np.flatnonzero(((restoring & ~level) | (~copies.active & ~self._waits)) & ~self._cut_off)
        self._rate = np.where(copies.active & level, written, 0.0)
        demand = np.where(level[reads], written[reads], np.inf)
        if self._brokers_limit:
            shares = max_min_shares_of_two(
                self._bandwidth, copies.client[reads], self._brokers, share[copies.task[reads]], demand
            )
        else:
            shares = max_min_shares(self._bandwidth, copies.client[reads], demand)
        self._rate[reads] = shares

    def next_change_s(self) -> float:
        """Return the seconds until the next copy catches up or falls behind, infinity if none will at these rates."""
        gap = self._end[self.copies.task] - self._held[self.copies.task, self.copies.client]
        closing = self._rate - self._writes[self.copies.task]
        behind = ~self._level & (gap > _LEVEL_BYTES) & (closing > 0)
        slows = self._level & (closing < 0)
        caught_up_s = float((gap[behind] / closing[behind]).min(initial=np.inf))
        fallen_behind_s = float(((_BEHIND_BYTES - gap[slows]) / -closing[slows]).min(initial=np.inf))
        return min(caught_up_s, fallen_behind_s)

    @property
    def is_catching_up(self) -> bool:
        """Whether an active task restores, or a standby or warm-up has never caught up since it was assigned.

        A standby that falls behind later, because more is written than it can read, does not count.
        """
        arrived = self._arrived[self.copies.task, self.copies.client]
        return bool((~self._level & (self.copies.active | ~arrived)).any())

    def losing_ground(self) -> IntArray:
        """The copies (places in `copies`) that are behind, may read, and do so no faster than their changelogs grow."""
        slow = self._rate <= self._writes[self.copies.task]
        found: IntArray = np.flatnonzero(~self._level & ~self._waits & ~self._cut_off & slow)
        return found

    def take_reads(self) -> list[tuple[TrafficKind, FloatArray, IntArray, IntArray]]:
        """What copies have read since the last time: kind, bytes (K,), tasks (K,), clients (K,)."""
        behind, follows = self._read
        active, task, client = self.copies.active, self.copies.task, self.copies.client
        self._read = np.zeros((2, len(self.copies)), dtype=np.float64)
        kinds = (
            (TrafficKind.RESTORE_READ, behind * active),
            (TrafficKind.WARMUP_READ, behind * ~active),
            (TrafficKind.STANDBY_READ, follows),
        )
        return [(kind, read[read > 0], task[read > 0], client[read > 0]) for kind, read in kinds if read.any()]

    def in_reach(self) -> BoolArray:
        """Shape (T,); whether some client has a copy that queries can be put to; true for tasks without state."""
        reach: BoolArray = ~self._stateful
        held = self._held[self.copies.task, self.copies.client] > 0
        empty = self._end[self.copies.task] <= _LEVEL_BYTES
        # A copy that has begun to read holds something from now on; nothing else settles it before it is level.
        reach[self.copies.task[held | empty | (self._rate > 0)]] = True
        return reach

    def on_disk(self, clients: IntArray) -> BoolArray:
        """Whether the given clients (rows) have a copy of each task, shape (T, C).

        A copy that is assigned counts, even if nothing was read yet; so does an empty one that was found, or of which
        the changelog is empty. (Source: `TaskManager.taskOffsetSums`, which tells the offset sum 0 for such a task.)
        """
        some = (self._held > 0) | self._empty | self._assigned()
        return some[:, clients] & self._stateful[:, None]

    def lags(self, clients: IntArray, running: BoolArray) -> IntArray:
        """What the given clients (rows) report at a rebalance, shape (T, C), in records; NO_LAG at stateless tasks.

        A client without a copy is behind by the whole changelog; LATEST_OFFSET where the task runs.

        Args:
            clients: rows of C clients.
            running: shape (T,).
        """
        held = self._held[:, clients]
        stale, never = self._stale[clients], self._never[clients]
        if stale.any():
            held[:, stale] = self._reported[:, clients[stale]]
            self._reported[:, clients] = self._held[:, clients]
        held[:, never] = 0.0
        whole = _whole_records(self._end, self._record_bytes)
        lags = np.repeat(whole[:, None], len(clients), axis=1)
        task, column = np.nonzero(held)
        behind = np.maximum(self._end[task] - held[task, column], 0.0)
        lags[task, column] = _whole_records(behind, self._record_bytes[task])
        column_of = np.full(len(self._bandwidth), UNASSIGNED, dtype=np.int64)
        column_of[clients] = np.arange(len(clients))
        runs = np.flatnonzero(running & (self._owner != UNASSIGNED))
        columns = column_of[self._owner[runs]]
        lags[runs[columns >= 0], columns[columns >= 0]] = LATEST_OFFSET
        lags[~self._stateful] = NO_LAG
        return lags

    def _take(self, task: IntArray, client: IntArray, active: BoolArray) -> None:
        self.copies = AssignedCopies(task.astype(np.int64), client.astype(np.int64), active)
        self._rate = np.zeros(len(task), dtype=np.float64)
        self._waits = np.zeros(len(task), dtype=np.bool_)
        self._cut_off = np.zeros(len(task), dtype=np.bool_)
        self._level = np.zeros(len(task), dtype=np.bool_)
        self._read = np.zeros((2, len(task)), dtype=np.float64)

    def _assigned(self) -> BoolArray:
        assigned = np.zeros(self._held.shape, dtype=np.bool_)
        assigned[self.copies.task, self.copies.client] = True
        return assigned

    def _close(self, tasks: IntArray, clients: IntArray, now_ms: int) -> None:
        """Closing a copy keeps what is on disk, and loses what is in memory."""
        self._idle_since_ms[tasks, clients] = now_ms
        self._arrived[tasks, clients] = False
        self._lose_memory(tasks, clients)

    def _lose_memory(self, tasks: IntArray, clients: IntArray) -> None:
        persistent = (1.0 - self._memory_share[tasks]) * self._end[tasks]
        self._held[tasks, clients] = np.minimum(self._held[tasks, clients], persistent)
        self._empty[tasks, clients] &= self._memory_share[tasks] < 1.0
        self._arrived[tasks, clients] &= self._end[tasks] - self._held[tasks, clients] <= _LEVEL_BYTES


def _whole_records(held_bytes: FloatArray, record_bytes: FloatArray) -> IntArray:
    """Return how many records are whole; a quotient that rounding left just below a whole number is that number."""
    records: IntArray = np.floor(held_bytes / record_bytes + _PART_OF_A_RECORD).astype(np.int64)
    return records
