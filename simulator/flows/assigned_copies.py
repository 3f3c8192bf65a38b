"""The assigned copies of task state: their positions in the changelogs, what they have read, and how fast they read.

Time passes for the assigned copies only, and a rebalance joins dozens of members at times of their own. So the row of
the assigned copies is what advances, and the table of all copies is brought up to date when it is read.

A copy that is behind reads as fast as the bandwidths of its client, its host and the brokers allow. A standby that has
caught up reads what is written, and an active task that has caught up writes it. Standbys pause while active tasks of
their client restore, as in Kafka's state updater; a new copy waits until its stores are open.

Source: `DefaultStateUpdater` and `StoreChangelogReader` (active restoration pauses standbys).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray, cells
from simulator.catching_up import CAUGHT_UP_BYTES
from simulator.flows.shared_bandwidth import ApplicationBandwidth, ReadDemands
from simulator.flows.traffic import TrafficKind
from simulator.world.layout import FloatArray


class CopyPositions:
    """The positions of the copies of T tasks on N clients, in bytes, of which K are assigned. `shape`: T and N."""

    def __init__(self, shape: tuple[int, int]) -> None:
        """Create positions of empty copies, none of them assigned. `shape` is (T, N)."""
        self.shape = shape
        self._table: FloatArray = np.zeros(shape, dtype=np.float64)
        self._max_table: FloatArray = np.zeros(shape, dtype=np.float64)
        self._cells: IntArray = np.zeros(0, dtype=np.int64)
        self._held: FloatArray | None = None
        self._max_held: FloatArray = np.zeros(0, dtype=np.float64)
        self._is_table_current = True

    @property
    def table(self) -> FloatArray:
        """Return the positions of all copies, shape (T, N), which the caller may change until time passes."""
        if self._held is not None and not self._is_table_current:
            self._table.reshape(-1)[self._cells] = self._held
        self._held, self._is_table_current = None, True
        return self._table

    @property
    def held(self) -> FloatArray:
        """Return the positions of the assigned copies, shape (K,); not to be changed."""
        if self._held is None:
            # Flat indices, because an index of two arrays takes three times as long.
            self._held = self._table.reshape(-1).take(self._cells)
        return self._held

    @property
    def max_held(self) -> FloatArray:
        """Return the largest positions that the assigned copies ever had, shape (K,); not to be changed.

        The same array as `held` if each copy is at its largest position.
        """
        return self._max_held

    @property
    def cells(self) -> IntArray:
        """Return the places of the assigned copies in the flat table, shape (K,); not to be changed."""
        return self._cells

    def is_assigned(self) -> BoolArray:
        """Return which copies are assigned, by their places in the flat table, shape (T · N,)."""
        is_assigned: BoolArray = np.zeros(self._table.size, dtype=np.bool_)
        is_assigned[self._cells] = True
        return is_assigned

    def load(self, table: FloatArray) -> None:
        """Replace all positions, also the largest ones. `table` has shape (T, N)."""
        self._table = np.ascontiguousarray(table)
        self._max_table = self._table.copy()
        self._held, self._is_table_current = None, True
        self._max_held = self._max_table.reshape(-1).take(self._cells)

    def select(self, cells: IntArray) -> None:
        """Set which copies are assigned.

        `cells`, shape (K,): their places in the flat table.
        """
        # Reading the table stores the positions of the copies that were assigned.
        table = self.table
        self._max_table.reshape(-1)[self._cells] = self._max_held
        self._cells = cells
        self._max_held = self._max_table.reshape(-1).take(cells)
        self._held = table.reshape(-1).take(cells)
        if (self._held == self._max_held).all():
            self._max_held = self._held

    def move_to(self, held: FloatArray) -> None:
        """Set the positions of the assigned copies, shape (K,)."""
        self._held, self._is_table_current = held, False
        self._max_held = np.maximum(self._max_held, held)
        if (held == self._max_held).all():
            self._max_held = held

    def advance_to(self, held: FloatArray, max_held: FloatArray) -> None:
        """Set the positions of the assigned copies, shape (K,), and the largest ones that they had on the way."""
        self._held, self._is_table_current = held, False
        self._max_held = max_held

    def begin_at(self, held: FloatArray) -> None:
        """Set the positions of the assigned copies, shape (K,), as if they had never been at others."""
        self._held, self._is_table_current = held, False
        self._max_held = held


@dataclass(frozen=True, slots=True, eq=False)
class AssignedCopies:
    """The assigned copies of stateful tasks, K of them.

    Attributes:
        task: shape (K,); row of the task.
        client: shape (K,); row of the client.
        active: shape (K,); whether the copy is the active task, not a standby or warm-up.
    """

    task: IntArray
    client: IntArray
    active: BoolArray

    def __len__(self) -> int:
        return len(self.task)

    @classmethod
    def none(cls) -> AssignedCopies:
        """Return no copies."""
        empty = np.zeros(0, dtype=np.int64)
        return cls(empty, empty, np.zeros(0, dtype=np.bool_))

    @classmethod
    def of(cls, owner: IntArray, standby: BoolArray) -> AssignedCopies:
        """Return the copies of an assignment, active tasks first.

        `owner`, shape (T,): the client that has each active task, UNASSIGNED if none. `standby`, shape (T, N): which
        clients have a standby or warm-up.
        """
        return cls.of_cells(owner, *cells(standby))

    @classmethod
    def of_cells(cls, owner: IntArray, standby_of: IntArray, standby_on: IntArray) -> AssignedCopies:
        """Return the copies of an assignment, given the tasks and clients of its standbys and warm-ups."""
        active = np.flatnonzero(owner != UNASSIGNED)
        task, client = np.concatenate((active, standby_of)), np.concatenate((owner[active], standby_on))
        return cls(task, client, np.arange(len(task)) < len(active))

    def where(self, chosen: BoolArray) -> AssignedCopies:
        """Return the chosen copies, shape (K,)."""
        return AssignedCopies(self.task[chosen], self.client[chosen], self.active[chosen])

    def mask(self, shape: tuple[int, ...]) -> BoolArray:
        """Return which copies of T tasks on N clients are assigned, shape (T, N)."""
        assigned = np.zeros(shape, dtype=np.bool_)
        assigned[self.task, self.client] = True
        return assigned

    def active_mask(self, shape: tuple[int, ...]) -> BoolArray:
        """Return which copies of T tasks on N clients are active tasks, shape (T, N)."""
        active = np.zeros(shape, dtype=np.bool_)
        active[self.task[self.active], self.client[self.active]] = True
        return active


class CopyReads:
    """The bytes that K assigned copies read.

    Attributes:
        read_bytes: shape (2, K); the bytes since the last `take`: of copies that are behind, and of other standbys.
        restored_bytes: bytes read so far to catch up.
        restored_again_bytes: the part of `restored_bytes` that the same client had held before and lost.
    """

    def __init__(self) -> None:
        self.restored_bytes = 0.0
        self.restored_again_bytes = 0.0
        self.select(AssignedCopies.none())

    def select(self, copies: AssignedCopies) -> None:
        """Set which copies are assigned; what others read since the last `take` is forgotten."""
        self._copies = copies
        self._has_inactive = not copies.active.all()
        self.read_bytes: FloatArray = np.zeros((2, len(copies)), dtype=np.float64)

    def restore(self, read_bytes: FloatArray, again_bytes: FloatArray | None) -> None:
        """Count what copies read in one step in time to catch up.

        `read_bytes`, shape (K,): the bytes of each copy, 0 for one that has caught up. `again_bytes`, shape (K,): the
        part of them that it had held before; None for nothing.
        """
        self.restored_bytes += float(np.add.reduce(read_bytes))
        if again_bytes is not None:
            self.restored_again_bytes += float(np.add.reduce(again_bytes))

    def take(self) -> list[tuple[TrafficKind, FloatArray, IntArray, IntArray]]:
        """Return the reads of copies since the last call: kind, bytes (K,), tasks (K,), clients (K,)."""
        behind, follows = self.read_bytes
        active, task, client = self._copies.active, self._copies.task, self._copies.client
        self.read_bytes = np.zeros((2, len(self._copies)), dtype=np.float64)
        kinds = [(TrafficKind.RESTORE_READ, behind * active)]
        if self._has_inactive:
            kinds += [(TrafficKind.WARMUP_READ, behind * ~active), (TrafficKind.STANDBY_READ, follows)]
        reads = []
        for kind, read in kinds:
            (places,) = (read > 0).nonzero()
            if len(places):
                reads.append((kind, read[places], task[places], client[places]))
        return reads


_BEHIND_BYTES = 1.0


class CopyRates:
    """The rates of K assigned copies of T tasks.

    Attributes:
        rate: shape (K,); bytes per second that each copy reads, or writes if it runs.
        caught_up: shape (K,); which copies have caught up.
        is_any_behind: whether any copy has not caught up.
        has_inactive: whether any copy is a standby or warm-up.
        has_followers: whether any standby or warm-up has caught up.
        is_waiting: shape (K,); which copies do not read yet.
        is_any_waiting: whether any copy does not read yet.
        is_restoring: shape (K,); the active tasks that restore.
    """

    def __init__(self, num_tasks: int, num_clients: int, bandwidth: ApplicationBandwidth) -> None:
        self._num_clients = num_clients
        self._bandwidth = bandwidth
        self._growth: FloatArray = np.zeros(num_tasks, dtype=np.float64)
        self.select(AssignedCopies.none())

    def select(self, copies: AssignedCopies) -> None:
        """Set which copies are assigned; none of them reads or has caught up yet."""
        self._copies = copies
        self.rate: FloatArray = np.zeros(len(copies), dtype=np.float64)
        self.is_waiting: BoolArray
        self.is_restoring: BoolArray
        flags = np.zeros((4, len(copies)), dtype=np.bool_)
        self.is_waiting, self.is_restoring, self._is_paused, self._is_unreadable = flags
        self.is_any_waiting = False
        self.has_inactive = not copies.active.all()
        self.set_caught_up(np.zeros(len(copies), dtype=np.bool_))

    def set_waiting(self, is_waiting: BoolArray) -> None:
        """Set which copies do not read yet, shape (K,)."""
        self.is_waiting, self.is_any_waiting = is_waiting, bool(is_waiting.any())

    def set_caught_up(self, caught_up: BoolArray) -> None:
        """Set which copies have caught up, shape (K,)."""
        self.caught_up = caught_up
        self.is_any_behind = not caught_up.all()
        # `a > b` is `a & ~b` of booleans.
        self.has_followers = self.has_inactive and bool((caught_up > self._copies.active).any())

    def update(self, growth: FloatArray, broker_share: FloatArray, running: BoolArray, can_restore: BoolArray) -> None:
        """Recompute how fast every copy reads.

        `growth`, shape (T,): bytes per second that each task writes to its changelogs. `broker_share`, shape (T, B):
        the fraction of a task's changelogs that each broker leads. `running`, shape (T,): whether the active task has
        been restored. `can_restore`, shape (T,): whether all changelogs of a task can be read.
        """
        self._growth = growth
        copies, caught_up = self._copies, self.caught_up
        growth = growth.take(copies.task)
        self.is_restoring = restoring = copies.active > running.take(copies.task)
        if self.is_any_waiting:
            restoring &= ~self.is_waiting
        reads_now = restoring > caught_up
        if self.has_inactive:
            is_restoring_client = np.bincount(copies.client[restoring], minlength=self._num_clients) > 0
            self._is_paused = is_restoring_client.take(copies.client) > copies.active
            reads_now |= ~(copies.active | self._is_paused | self.is_waiting)
        self._is_unreadable = ~can_restore.take(copies.task)
        (reads,) = (reads_now > self._is_unreadable).nonzero()
        self.rate = np.where(copies.active & caught_up, growth, 0.0)
        demand = np.full(len(reads), np.inf)
        if self.has_followers:
            demand = np.where(caught_up.take(reads), growth.take(reads), np.inf)
        # The table of copies and brokers is large, and needed only if brokers are limited.
        of_brokers = broker_share[copies.task[reads]] if self._bandwidth.shared.limits_brokers else broker_share[:0]
        self.rate[reads] = self._bandwidth.divide(ReadDemands(copies.client.take(reads), of_brokers, demand))

    def next_change_s(self, end_bytes: FloatArray, held: FloatArray) -> float:
        """Return the seconds until the next copy catches up or falls behind, infinity if none does at these rates.

        `end_bytes`, shape (T,): the length of each task's changelog. `held`, shape (K,): the positions of the copies.
        """
        if not self.is_any_behind and not self.has_followers:
            return math.inf  # Active tasks that have caught up write what they hold.
        missing = end_bytes.take(self._copies.task) - held
        closing = self.rate - self._growth.take(self._copies.task)
        caught_up_s = fallen_behind_s = math.inf
        if self.is_any_behind:
            (behind,) = (((missing > CAUGHT_UP_BYTES) & (closing > 0)) > self.caught_up).nonzero()
            if len(behind):
                caught_up_s = float((missing.take(behind) / closing.take(behind)).min())
        (slows,) = (self.caught_up & (closing < 0)).nonzero()
        if len(slows):
            fallen_behind_s = float(((_BEHIND_BYTES - missing[slows]) / -closing[slows]).min())
        return min(caught_up_s, fallen_behind_s)

    def falling_behind(self) -> IntArray:
        """Return the places of copies that are behind and read no faster than their changelogs grow.

        Copies that wait, standbys that are paused, and copies whose changelogs cannot be read are left out.
        """
        slow = self.rate <= self._growth[self._copies.task]
        is_held_up = self.is_waiting | self._is_paused | self._is_unreadable
        places: IntArray = np.flatnonzero(~self.caught_up & ~is_held_up & slow)
        return places
