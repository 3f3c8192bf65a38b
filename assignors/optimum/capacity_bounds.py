"""The minimum and maximum number of copies of each client: its share by threads, rounded either way, and a slack.

The standbys of a client belong to tasks that it does not run. A client with a large part of the threads may not find
enough such tasks; it then takes all of them, and the others share the rest by their threads.

Clients on which a task costs the same, except for the few on which it costs less, are aggregated. They are grouped into
cells; a cell of several clients is a pool. A task then needs one arc to each pool, and one to each client that is alone
in its cell or cheaper than its pool, instead of one to each client. This is exact if at most one copy of a task is
placed in a cell: each client with free capacity can take it, at that price or less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from assignors.model.columns import BoolArray, IntArray


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


@dataclass(frozen=True, eq=False)
class AggregatedClients:
    """The arcs of N tasks to cells of several clients (pools) and to single clients.

    Attributes:
        price: shape (N, C); price of a copy.
        cell: shape (C,); cell of each client.
    """

    price: IntArray
    bounds: CapacityBounds
    cell: IntArray

    @cached_property
    def pool(self) -> IntArray:
        """Return the pool of each client, shape (C,); -1 for a client that is alone in its cell."""
        sizes = np.bincount(self.cell, minlength=1)
        number = np.where(sizes > 1, np.cumsum(sizes > 1) - 1, -1)
        return number[self.cell]

    @cached_property
    def num_pools(self) -> int:
        """Return the number of pools."""
        return int(self.pool.max(initial=-1)) + 1

    @cached_property
    def pool_price(self) -> IntArray:
        """Return the maximum price of a copy on a client of each pool, shape (N, pools)."""
        highest = np.zeros((len(self.price), self.num_pools), dtype=np.int64)
        for number in range(self.num_pools):
            highest[:, number] = self.price[:, self.pool == number].max(axis=1)
        return highest

    @cached_property
    def has_own_arc(self) -> BoolArray:
        """Return to which clients each task has an arc of its own, shape (N, C)."""
        own: BoolArray = np.ones(self.price.shape, dtype=np.bool_)
        inside = np.flatnonzero(self.pool >= 0)
        own[:, inside] = self.price[:, inside] < self.pool_price[:, self.pool[inside]]
        return own

    def choose_clients(self, own: BoolArray, to_pool: BoolArray, taken: IntArray) -> BoolArray:
        """Choose the clients of copies in pools.

        Clients are filled in order, tasks ascending. `own`, shape (N, C): copies on arcs to clients. `to_pool`, shape
        (N, pools): copies on arcs to pools. `taken`, shape (G, C): number of copies from pools of each group on each
        client. The result, shape (N, C), says which clients have a copy.
        """
        held = own.copy()
        for number in range(self.num_pools):
            clients_in_pool = np.flatnonzero(self.pool == number)
            for group in range(len(taken)):
                rows = np.flatnonzero(to_pool[:, number] & (self.bounds.group == group))
                held[rows, np.repeat(clients_in_pool, taken[group, clients_in_pool])] = True
        return held
