"""Picks the least and the most loaded members of a topic in turn.

Source: `UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer`, Kafka 4.0 to 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence

NO_MEMBER = -1
"""Answer of `next_most_loaded` if no member can give up a partition."""


class MemberBalancer:
    """The subscribers of a topic by load, of which two ranges move towards each other.

    Each range starts with one load. Once each member of the range was picked, the load of the range changes by one, and
    the range grows by the members that have this load.

    Args:
        sizes: number of partitions of each member, by index; read, not changed.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = sizes
        self._members: list[int] = []
        self._least_end = self._least_size = self._next_least = 0
        self._most_start = self._most_end = self._most_size = self._next_most = 0

    def initialize(self, members: Sequence[int]) -> int:
        """Start with new members, ascending; return the difference between the highest and the lowest load."""
        sizes = self._sizes
        self._members = sorted(members, key=sizes.__getitem__)
        lowest, highest = sizes[self._members[0]], sizes[self._members[-1]]
        self._least_end, self._least_size, self._next_least = 0, lowest - 1, 0
        self._most_start = self._most_end = len(self._members)
        self._most_size, self._next_most = highest + 1, len(self._members) - 1
        return highest - lowest

    def next_least_loaded(self) -> int:
        """Return the member that gets the next partition."""
        if self._next_least >= self._least_end:
            self._least_size += 1
            while self._least_end < len(self._members) and self._size_at(self._least_end) == self._least_size:
                self._least_end += 1
            self._next_least = 0
        member = self._members[self._next_least]
        self._next_least += 1
        return member

    def next_most_loaded(self) -> int:
        """Return the member that gives up the next partition; NO_MEMBER if there is none."""
        if self._next_most < self._most_start:
            if self._most_end <= self._most_start > 0:
                self._most_size = self._size_at(self._most_start - 1)
            else:
                self._most_size -= 1
            while self._most_start > 0 and self._size_at(self._most_start - 1) == self._most_size:
                self._most_start -= 1
            self._next_most = self._most_end - 1
        if self._next_most < 0:
            return NO_MEMBER
        member = self._members[self._next_most]
        self._next_most -= 1
        return member

    def exclude_most_loaded(self) -> None:
        """Exclude the member that `next_most_loaded` returned last."""
        position, last = self._next_most + 1, self._most_end - 1
        self._members[position], self._members[last] = self._members[last], self._members[position]
        self._most_end = last

    def is_balanced(self) -> bool:
        """Return whether the loads of the two ranges differ by at most one."""
        return self._most_size - self._least_size <= 1

    def _size_at(self, position: int) -> int:
        return self._sizes[self._members[position]]
