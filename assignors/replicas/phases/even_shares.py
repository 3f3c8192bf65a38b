"""Deviation of bins from equal shares, in integers.

A bin holds countable items: a broker its replicas, a broker and a topic the leaders there, or a leader and a first
follower their common partitions. The bins of one group should hold equal numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assignors.model.columns import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class EvenShares:
    """The loads of N bins and their targets.

    The share of a bin is the total of its group divided by the number of bins. It is rarely an integer: a bin with its
    share rounded down or up is even.

    Attributes:
        load: shape (N,); the load of each bin.
        group: shape (N,); the group of each bin.
        total: shape (groups,); the target total of each group. Their sum is the sum of all loads.
    """

    load: IntArray
    group: IntArray
    total: IntArray

    @classmethod
    def within(cls, load: IntArray, group: IntArray, num_groups: int) -> EvenShares:
        """Build shares for groups that keep their total."""
        total = np.zeros(num_groups, dtype=np.int64)
        np.add.at(total, group, load)
        return cls(load, group, total)

    @property
    def num_groups(self) -> int:
        """Return the number of groups."""
        return len(self.total)

    @cached_property
    def _size(self) -> IntArray:
        return np.bincount(self.group, minlength=self.num_groups)[self.group]

    @cached_property
    def floor(self) -> IntArray:
        """Return the share of each bin, rounded down, shape (N,)."""
        floor: IntArray = self.total[self.group] // self._size
        return floor

    @cached_property
    def ceiling(self) -> IntArray:
        """Return the share of each bin, rounded up, shape (N,)."""
        ceiling: IntArray = -(-self.total[self.group] // self._size)
        return ceiling

    @cached_property
    def _excess(self) -> IntArray:
        """Return load minus share, times the size of the group: an integer, so there are no rounding errors."""
        excess: IntArray = self.load * self._size - self.total[self.group]
        return excess

    @cached_property
    def is_over(self) -> BoolArray:
        """Return whether each bin is above its share."""
        over: BoolArray = self._excess > 0
        return over

    @cached_property
    def is_under(self) -> BoolArray:
        """Return whether each bin is below its share."""
        under: BoolArray = self._excess < 0
        return under

    @cached_property
    def must_give(self) -> IntArray:
        """Return by how much the load of each bin exceeds its share, rounded up."""
        amount: IntArray = np.maximum(self._excess, 0) // self._size
        return amount

    @cached_property
    def must_take(self) -> IntArray:
        """Return by how much the load of each bin is below its share, rounded down."""
        amount: IntArray = np.maximum(-self._excess, 0) // self._size
        return amount

    def residue(self, is_member: BoolArray) -> IntArray:
        """Return the fractional deviations of each group's member bins, summed to whole units, shape (groups,)."""
        rest = np.zeros(self.num_groups, dtype=np.int64)
        members = np.flatnonzero(is_member)
        np.add.at(rest, self.group[members], np.abs(self._excess[members]) % self._size[members])
        sizes = np.maximum(np.bincount(self.group, minlength=self.num_groups), 1)
        whole: IntArray = rest // sizes
        return whole

    @cached_property
    def distance(self) -> int:
        """Return the total deviation; 0 if every bin is even."""
        return int(self.must_give.sum() + self.must_take.sum())

    @cached_property
    def is_uneven(self) -> BoolArray:
        """Return which groups have a bin that must give or take, shape (groups,)."""
        uneven = np.zeros(self.num_groups, dtype=np.bool_)
        uneven[self.group[(self.must_give > 0) | (self.must_take > 0)]] = True
        return uneven

    def spread(self) -> IntArray:
        """Return the maximum minus the minimum load of each group, shape (groups,)."""
        most = np.full(self.num_groups, -1, dtype=np.int64)
        least = np.full(self.num_groups, np.iinfo(np.int64).max, dtype=np.int64)
        np.maximum.at(most, self.group, self.load)
        np.minimum.at(least, self.group, self.load)
        return np.where(most < 0, 0, most - least)
