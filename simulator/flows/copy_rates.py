"""How fast the assigned copies read their changelogs, and when that changes.

A copy that is behind reads as fast as the bandwidths of its client, its host and the brokers allow. A standby that has
caught up reads what is written, and an active task that has caught up writes it. Standbys pause while active tasks of
their client restore, as in Kafka's state updater; a new copy waits until its stores are open.

Source: `DefaultStateUpdater` and `StoreChangelogReader` (active restoration pauses standbys).
"""

from __future__ import annotations

import math

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from simulator.catching_up import CAUGHT_UP_BYTES
from simulator.flows.assigned_copies import AssignedCopies
from simulator.flows.shared_bandwidth import ApplicationBandwidth, ReadDemands
from simulator.world.layout import FloatArray

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
        cannot_read: shape (K,); the copies that wait, or whose changelogs have no leader.
    """

    def __init__(self, num_tasks: int, num_clients: int, bandwidth: ApplicationBandwidth) -> None:
        self._num_clients = num_clients
        self._bandwidth = bandwidth
        self._growth: FloatArray = np.zeros(num_tasks, dtype=np.float64)
        self._broker_share: FloatArray = np.zeros((num_tasks, len(bandwidth.shared.brokers)), dtype=np.float64)
        self.select(AssignedCopies.none())

    @property
    def cannot_read(self) -> BoolArray:
        """Return the copies that wait, or whose changelogs have no leader, shape (K,)."""
        return self.is_waiting | self._is_unreadable

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
        self._growth, self._broker_share = growth, broker_share
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

    def find_violation(self, running: BoolArray) -> str | None:
        """Return which bandwidth the reads exceed, None if none.

        `running`, shape (T,): whether the active task runs.
        """
        copies = self._copies
        reads = ~(copies.active & running[copies.task])
        return self._bandwidth.find_violation(
            copies.client[reads], self._broker_share[copies.task[reads]], self.rate[reads]
        )
