"""Clients as one: in a cell, a task costs the same on all of them, but for the few on which it costs less.

So a task needs an arc to every cell and one to each client where it is cheaper, in place of one to every client. This
is exact where at most one copy of a task comes to a cell: any client with room may take it, at that price or less.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from assignors.optimum.capacity_bounds import CapacityBounds


@dataclass(frozen=True, eq=False)
class AggregatedClients:
    """The arcs of N tasks to C clients in cells of more than one client (pools), and to clients themselves.

    Attributes:
        price: shape (N, C); what a copy costs.
        rooms: what the clients take.
        cell: shape (C,); the number of each client's cell.
    """

    price: IntArray
    rooms: CapacityBounds
    cell: IntArray

    @cached_property
    def pooled(self) -> IntArray:
        """Shape (C,); the number of each client's pool, -1 for a client that is alone in its cell."""
        sizes = np.bincount(self.cell, minlength=1)
        number = np.where(sizes > 1, np.cumsum(sizes > 1) - 1, -1)
        return number[self.cell]

    @cached_property
    def num_pools(self) -> int:
        """How many pools there are."""
        return int(self.pooled.max(initial=-1)) + 1

    @cached_property
    def pool_price(self) -> IntArray:
        """Shape (N, pools); the most that a copy costs on a client of the pool."""
        most = np.zeros((len(self.price), self.num_pools), dtype=np.int64)
        for pool in range(self.num_pools):
            most[:, pool] = self.price[:, self.pooled == pool].max(axis=1)
        return most

    @cached_property
    def is_own(self) -> BoolArray:
        """Shape (N, C); where there is an arc to the client itself."""
        own: BoolArray = np.ones(self.price.shape, dtype=np.bool_)
        inside = np.flatnonzero(self.pooled >= 0)
        own[:, inside] = self.price[:, inside] < self.pool_price[:, self.pooled[inside]]
        return own

    def placed(self, own: BoolArray, to_pool: BoolArray, taken: IntArray) -> BoolArray:
        """Find clients for what comes to pools.

        Args:
            own: shape (N, C); the copies that come to clients themselves.
            to_pool: shape (N, pools); those that come to pools.
            taken: shape (G, C); how many of these each client takes of each group.

        Returns:
            Shape (N, C); where the copies are. Clients are filled in order, tasks ascending.
        """
        held = own.copy()
        for pool in range(self.num_pools):
            there = np.flatnonzero(self.pooled == pool)
            for group in range(len(taken)):
                rows = np.flatnonzero(to_pool[:, pool] & (self.rooms.group == group))
                held[rows, np.repeat(there, taken[group, there])] = True
        return held
