"""The minimum and maximum number of copies of each client: its share by threads, rounded either way, and a slack.

The standbys of a client belong to tasks that it does not run. A client with a large part of the threads may not find
enough such tasks; it then takes all of them, and the others share the rest by their threads.
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
    """Bounds of the copies of N tasks in G groups on C clients; one group where subtopologies do not matter.

    Attributes:
        min_copies: shape (C,); minimum number of copies of each client.
        max_copies: shape (C,); maximum number of copies of each client.
        group: shape (N,); group of each task.
        group_min_copies: shape (G, C); minimum number of copies of each group.
        group_max_copies: shape (G, C); maximum number of copies of each group.
    """

    min_copies: IntArray
    max_copies: IntArray
    group: IntArray
    group_min_copies: IntArray
    group_max_copies: IntArray

    @property
    def has_groups(self) -> bool:
        """Return whether groups have bounds of their own."""
        return len(self.group_min_copies) > 1


def active_shares(number: int, threads: IntArray) -> list[Fraction]:
    """Return each client's share of active tasks.

    `threads`, shape (C,): threads of each client.
    """
    total = int(threads.sum())
    return [Fraction(number * client_threads, total) for client_threads in threads.tolist()]


def standby_shares(number: int, copies: int, threads: IntArray) -> list[Fraction]:
    """Return each client's share of standbys.

    `copies`: standbys of each task; fewer than there are clients. `threads`, shape (C,): threads of each client.
    """
    max_copies = [number - share for share in active_shares(number, threads)]
    shares = [Fraction(0)] * len(max_copies)
    remaining, open_clients = Fraction(number * copies), list(range(len(max_copies)))
    while open_clients:
        per_thread = remaining / sum(int(threads[client]) for client in open_clients)
        full = [client for client in open_clients if per_thread * int(threads[client]) > max_copies[client]]
        for client in full or open_clients:
            shares[client] = max_copies[client] if full else per_thread * int(threads[client])
            remaining -= shares[client]
        open_clients = [client for client in open_clients if client not in full] if full else []
    return shares


def compute_capacity_bounds(
    shares: Sequence[Fraction], slack: int, subtopology: IntArray, subtopology_slack: int | None
) -> CapacityBounds:
    """Return the bounds of shares.

    `shares`: share of all copies of each client. `slack`: number of copies by which a client may exceed or miss its
    share. `subtopology`, shape (N,): subtopology of each task. `subtopology_slack`: slack for the share of each
    subtopology; None if subtopologies do not matter.
    """
    min_copies, max_copies = _rounded(shares, slack)
    number = len(subtopology)
    if subtopology_slack is None or number == 0:
        return CapacityBounds(
            min_copies, max_copies, np.zeros(number, dtype=np.int64), min_copies[None], max_copies[None]
        )
    _, group, sizes = np.unique(subtopology, return_inverse=True, return_counts=True)
    parts = [_rounded([share * size / number for share in shares], subtopology_slack) for size in sizes.tolist()]
    fewest, greatest = zip(*parts, strict=True)
    return CapacityBounds(min_copies, max_copies, group, np.array(fewest), np.array(greatest))


def _rounded(shares: Sequence[Fraction], slack: int) -> tuple[IntArray, IntArray]:
    min_copies = np.array([max(math.floor(share) - slack, 0) for share in shares], dtype=np.int64)
    return min_copies, np.array([math.ceil(share) + slack for share in shares], dtype=np.int64)
