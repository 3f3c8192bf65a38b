"""How far bins are from equal shares, in whole numbers.

A bin is whatever holds things that can be counted: a broker its replicas, a broker and a topic the leaders there, a
leader and a first follower the partitions they share. Bins of one group are to hold equally much.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assignors.model.columns import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class EvenShares:
    """What N bins hold, and what their shares are.

    A share is what a group is to hold, by its bins. It is seldom whole: a bin that holds it rounded down or up is even.

    Attributes:
        load: shape (N,); what each bin holds.
        group: shape (N,); the number of its group.
        total: shape (groups,); what the bins of each group are to hold together. Over all groups this is what they
            hold now.
    """

    load: IntArray
    group: IntArray
    total: IntArray

    @classmethod
    def within(cls, load: IntArray, group: IntArray, num_groups: int) -> EvenShares:
        """Groups that keep what they hold."""
        total = np.zeros(num_groups, dtype=np.int64)
        np.add.at(total, group, load)
        return cls(load, group, total)

    @property
    def num_groups(self) -> int:
        """How many groups there are."""
        return len(self.total)

    @cached_property
    def _size(self) -> IntArray:
        return np.bincount(self.group, minlength=self.num_groups)[self.group]

    @cached_property
    def floor(self) -> IntArray:
        """Shape (N,); the share, rounded down."""
        floor: IntArray = self.total[self.group] // self._size
        return floor

    @cached_property
    def ceiling(self) -> IntArray:
        """Shape (N,); the share, rounded up."""
        ceiling: IntArray = -(-self.total[self.group] // self._size)
        return ceiling

    @cached_property
    def _excess(self) -> IntArray:
        """Load less share, times the size of the group: whole, where a float's remainder would be off."""
        excess: IntArray = self.load * self._size - self.total[self.group]
        return excess

    @cached_property
    def is_over(self) -> BoolArray:
        """Which hold more than their share, by however little."""
        over: BoolArray = self._excess > 0
        return over

    @cached_property
    def is_under(self) -> BoolArray:
        """Which hold less."""
        under: BoolArray = self._excess < 0
        return under

    @cached_property
    def must_give(self) -> IntArray:
        """How much more a bin holds than its share rounded up."""
        amount: IntArray = np.maximum(self._excess, 0) // self._size
        return amount

    @cached_property
    def must_take(self) -> IntArray:
        """How much less a bin holds than its share rounded down."""
        amount: IntArray = np.maximum(-self._excess, 0) // self._size
        return amount

    def residue(self, is_member: BoolArray) -> IntArray:
        """Shape (groups,); what rounding takes from the bins of each group that are over, or under, in whole units."""
        rest = np.zeros(self.num_groups, dtype=np.int64)
        members = np.flatnonzero(is_member)
        np.add.at(rest, self.group[members], np.abs(self._excess[members]) % self._size[members])
        sizes = np.maximum(np.bincount(self.group, minlength=self.num_groups), 1)
        whole: IntArray = rest // sizes
        return whole

    @cached_property
    def distance(self) -> int:
        """How much is where it should not be: 0 where every bin is even."""
        return int(self.must_give.sum() + self.must_take.sum())

    @cached_property
    def is_uneven(self) -> BoolArray:
        """Shape (groups,); the groups with a bin that must give or take."""
        uneven = np.zeros(self.num_groups, dtype=np.bool_)
        uneven[self.group[(self.must_give > 0) | (self.must_take > 0)]] = True
        return uneven

    def spread(self) -> IntArray:
        """Shape (groups,); the most less the least."""
        most = np.full(self.num_groups, -1, dtype=np.int64)
        least = np.full(self.num_groups, np.iinfo(np.int64).max, dtype=np.int64)
        np.maximum.at(most, self.group, self.load)
        np.minimum.at(least, self.group, self.load)
        return np.where(most < 0, 0, most - least)
