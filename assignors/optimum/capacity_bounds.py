"""How many copies each client takes: its share by threads, rounded either way, and a slack.

A client's standbys are of tasks that it does not run. One with more than its part of the threads may not find so many:
then it takes as many as there can be, and the others share the rest by their threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from assignors.model.columns import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class CapacityBounds:
    """What C clients take of N tasks, which are in G groups; one group where subtopologies play no part.

    Attributes:
        least: shape (C,); copies each client takes at least.
        most: shape (C,); copies it takes at most.
        group: shape (N,); the group of each task.
        group_least: shape (G, C); copies of each group it takes at least.
        group_most: shape (G, C); copies of each group it takes at most.
    """

    least: IntArray
    most: IntArray
    group: IntArray
    group_least: IntArray
    group_most: IntArray

    @property
    def has_groups(self) -> bool:
        """Whether there is more to keep to than the totals."""
        return len(self.group_least) > 1


def active_shares(number: int, threads: IntArray) -> list[Fraction]:
    """What each client is to run of so many tasks."""
    total = int(threads.sum())
    return [Fraction(number * each, total) for each in threads.tolist()]


def standby_shares(number: int, copies: int, threads: IntArray) -> list[Fraction]:
    """What each client is to hold of so many tasks with so many standbys each, fewer than there are clients."""
    most = [number - share for share in active_shares(number, threads)]
    shares = [Fraction(0)] * len(most)
    rest, open_to = Fraction(number * copies), list(range(len(most)))
    while open_to:
        per_thread = rest / sum(int(threads[client]) for client in open_to)
        full = [client for client in open_to if per_thread * int(threads[client]) > most[client]]
        for client in full or open_to:
            shares[client] = most[client] if full else per_thread * int(threads[client])
            rest -= shares[client]
        open_to = [client for client in open_to if client not in full] if full else []
    return shares


def rooms(
    shares: Sequence[Fraction], slack: int, subtopology: IntArray, subtopology_slack: int | None
) -> CapacityBounds:
    """Round shares.

    Args:
        shares: [client] of all copies.
        slack: by how many copies a client may have more or fewer.
        subtopology: shape (N,); of each task.
        subtopology_slack: the same for its share of each subtopology; None if these play no part.
    """
    least, most = _rounded(shares, slack)
    number = len(subtopology)
    if subtopology_slack is None or number == 0:
        return CapacityBounds(least, most, np.zeros(number, dtype=np.int64), least[None], most[None])
    _, group, sizes = np.unique(subtopology, return_inverse=True, return_counts=True)
    parts = [_rounded([each * size / number for each in shares], subtopology_slack) for size in sizes.tolist()]
    fewest, greatest = zip(*parts, strict=True)
    return CapacityBounds(least, most, group, np.array(fewest), np.array(greatest))


def _rounded(shares: Sequence[Fraction], slack: int) -> tuple[IntArray, IntArray]:
    least = np.array([max(math.floor(share) - slack, 0) for share in shares], dtype=np.int64)
    return least, np.array([math.ceil(share) + slack for share in shares], dtype=np.int64)
