"""The variables and rows of the programme of actives and standbys."""

from __future__ import annotations

import numpy as np

from assignors.integer_program import LinearProgram, build_program
from assignors.model.columns import BoolArray, IntArray
from assignors.optimum.aggregated_clients import AggregatedClients

Term = tuple[IntArray, IntArray, int]
"""Rows, columns and the coefficient of them all."""


class RowBuilder:
    """Gathers the rows of a programme."""

    def __init__(self) -> None:
        self._row: list[IntArray] = []
        self._column: list[IntArray] = []
        self._coefficient: list[IntArray] = []
        self._lower: list[IntArray] = []
        self._upper: list[IntArray] = []
        self._number = 0

    def add(self, entries: list[Term], lower: IntArray, upper: IntArray) -> None:
        """Rows with these bounds, of (row, column, coefficient) with rows counted from the first of them."""
        for row, column, coefficient in entries:
            self._row.append(row + self._number)
            self._column.append(column)
            self._coefficient.append(np.full(len(row), coefficient))
        self._lower.append(lower)
        self._upper.append(upper)
        self._number += len(lower)

    def programme(self, objective: IntArray, highest: IntArray) -> LinearProgram:
        """The programme of these rows; variables from 0 to the highest, in whole numbers."""
        coefficients = np.concatenate(self._coefficient).astype(np.float64)
        return build_program(
            objective.astype(np.float64),
            np.zeros(len(objective)),
            highest.astype(np.float64),
            (np.concatenate(self._row), np.concatenate(self._column), coefficients),
            np.concatenate(self._lower).astype(np.float64),
            np.concatenate(self._upper).astype(np.float64),
        )


class RoleVariables:
    """The variables of one role: copies to pools, copies to clients, and what clients take from pools.

    Attributes:
        to_pool: shape (N, pools); the variable of each task's copy in each pool.
        to_client: shape (S,); those of the copies that come to clients themselves.
        task: shape (S,); the task of each of these.
        client: shape (S,); its client.
        inside: shape (I,); the clients in pools.
        taken: shape (G, I); the variable of what each of them takes of each group.
        end: the first variable that is not of this role.
    """

    def __init__(self, pools: AggregatedClients, first: int) -> None:
        self.pools = pools
        number, num_clients = pools.price.shape
        self.task, self.client = np.nonzero(pools.is_own)
        self.to_pool = first + np.arange(number * pools.num_pools).reshape(number, pools.num_pools)
        self.to_client = first + self.to_pool.size + np.arange(len(self.task))
        self.inside = np.flatnonzero(pools.pooled >= 0)
        groups = len(pools.rooms.group_least)
        taken = np.arange(groups * len(self.inside)).reshape(groups, len(self.inside))
        self.taken = first + self.to_pool.size + len(self.task) + taken
        self.end = first + self.to_pool.size + len(self.task) + self.taken.size
        self.num_clients = num_clients

    def prices(self) -> IntArray:
        """What one of each variable costs."""
        own = self.pools.price[self.task, self.client]
        return np.concatenate([self.pools.pool_price.ravel(), own, np.zeros(self.taken.size, dtype=np.int64)])

    def most(self) -> IntArray:
        """The highest that each variable may be."""
        most = self.pools.rooms.group_most[:, self.inside].ravel()
        return np.concatenate([np.ones(self.to_pool.size + len(self.task), dtype=np.int64), most])

    def within(self, member: BoolArray) -> list[Term]:
        """Each task's copies on some clients, whole pools of them, a row a task."""
        pools = np.unique(self.pools.pooled[member & (self.pools.pooled >= 0)])
        number = len(self.to_pool)
        there = member[self.client]
        return [
            (np.repeat(np.arange(number), len(pools)), self.to_pool[:, pools].ravel(), 1),
            (self.task[there], self.to_client[there], 1),
        ]

    def add_to(self, rows: RowBuilder, copies: int) -> None:
        """Every task has its copies, and every client its share."""
        number, num_pools = self.to_pool.shape
        room = self.pools.rooms
        wanted = np.full(number, copies)
        rows.add(self.within(np.ones(self.num_clients, dtype=np.bool_)), wanted, wanted)
        groups = len(room.group_least)
        in_pool = (room.group[:, None] * num_pools + np.arange(num_pools)).ravel()
        out = np.arange(groups)[:, None] * num_pools + self.pools.pooled[self.inside]
        nothing = np.zeros(groups * num_pools, dtype=np.int64)
        rows.add([(in_pool, self.to_pool.ravel(), 1), (out.ravel(), self.taken.ravel(), -1)], nothing, nothing)
        rows.add(
            [(self.client, self.to_client, 1), (np.tile(self.inside, groups), self.taken.ravel(), 1)],
            room.least,
            room.most,
        )
        if room.has_groups:
            part = room.group[self.task] * self.num_clients + self.client
            taken = np.arange(groups)[:, None] * self.num_clients + self.inside
            bounds = room.group_least.ravel(), room.group_most.ravel()
            rows.add([(part, self.to_client, 1), (taken.ravel(), self.taken.ravel(), 1)], *bounds)

    def read(self, values: IntArray) -> BoolArray:
        """Where the copies are."""
        own = np.zeros_like(self.pools.is_own)
        comes = values[self.to_client] > 0
        own[self.task[comes], self.client[comes]] = True
        taken = np.zeros(self.pools.rooms.group_least.shape, dtype=np.int64)
        taken[:, self.inside] = values[self.taken]
        return self.pools.placed(own, values[self.to_pool] > 0, taken)
