"""Aggregate clients on which a task costs the same, except for the few on which it costs less.

Clients are grouped into cells; a cell of several clients is a pool. A task then needs one arc to each pool, and one to
each client that is alone in its cell or cheaper than its pool, instead of one to each client. This is exact if at most
one copy of a task is placed in a cell: each client with free capacity can take it, at that price or less.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from assignors.optimum.capacity_bounds import CapacityBounds


@dataclass(frozen=True, eq=False)
class AggregatedClients:
    """The arcs of N tasks to cells of several clients (pools) and to single clients.

    Attributes:
        price: shape (N, C); price of a copy.
        bounds: bounds of the clients.
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
