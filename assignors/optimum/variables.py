"""The variables and rows of the integer program of active tasks and standbys."""

from __future__ import annotations

import numpy as np

from assignors.integer_program import LinearProgram, build_program
from assignors.model.columns import BoolArray, IntArray
from assignors.optimum.aggregated_clients import AggregatedClients

Term = tuple[IntArray, IntArray, int]
"""Rows, columns, and the coefficient that they share."""


class RowBuilder:
    """Collects the rows of a program."""

    def __init__(self) -> None:
        self._row: list[IntArray] = []
        self._column: list[IntArray] = []
        self._coefficient: list[IntArray] = []
        self._lower: list[IntArray] = []
        self._upper: list[IntArray] = []
        self._number = 0

    def add(self, entries: list[Term], lower: IntArray, upper: IntArray) -> None:
        """Add rows.

        `entries`: terms whose rows are counted from the first new row; `lower`: lower bound of each row; `upper`: upper
        bound of each row.
        """
        for row, column, coefficient in entries:
            self._row.append(row + self._number)
            self._column.append(column)
            self._coefficient.append(np.full(len(row), coefficient))
        self._lower.append(lower)
        self._upper.append(upper)
        self._number += len(lower)

    def build(self, objective: IntArray, highest: IntArray) -> LinearProgram:
        """Return the program of the collected rows, with integer variables from 0 to `highest`."""
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
    """The variables of one role: copies in pools, copies on clients, and copies that clients take from pools.

    Attributes:
        to_pool: shape (N, pools); variable of each task's copy in each pool.
        to_client: shape (S,); variables of copies on arcs to clients.
        task: shape (S,); task of each copy on a client.
        client: shape (S,); client of each copy on a client.
        pooled_clients: shape (I,); clients in pools.
        taken: shape (G, I); variable of the copies that each client takes of each group.
        end: number of the first variable after this role.
    """

    def __init__(self, pools: AggregatedClients, first_variable: int) -> None:
        self.pools = pools
        num_tasks, num_clients = pools.price.shape
        self.task, self.client = np.nonzero(pools.has_own_arc)
        self.to_pool = first_variable + np.arange(num_tasks * pools.num_pools).reshape(num_tasks, pools.num_pools)
        self.to_client = first_variable + self.to_pool.size + np.arange(len(self.task))
        self.pooled_clients = np.flatnonzero(pools.pool >= 0)
        groups = len(pools.bounds.group_min_copies)
        taken = np.arange(groups * len(self.pooled_clients)).reshape(groups, len(self.pooled_clients))
        self.taken = first_variable + self.to_pool.size + len(self.task) + taken
        self.end = first_variable + self.to_pool.size + len(self.task) + self.taken.size
        self.num_clients = num_clients

    def prices(self) -> IntArray:
        """Return the price of one unit of each variable."""
        own = self.pools.price[self.task, self.client]
        return np.concatenate([self.pools.pool_price.ravel(), own, np.zeros(self.taken.size, dtype=np.int64)])

    def upper_bounds(self) -> IntArray:
        """Return the upper bound of each variable."""
        from_pools = self.pools.bounds.group_max_copies[:, self.pooled_clients].ravel()
        return np.concatenate([np.ones(self.to_pool.size + len(self.task), dtype=np.int64), from_pools])

    def within(self, is_in_set: BoolArray) -> list[Term]:
        """Return terms that count each task's copies on some clients, which form whole pools; one row for each task."""
        pools = np.unique(self.pools.pool[is_in_set & (self.pools.pool >= 0)])
        num_tasks = len(self.to_pool)
        is_member = is_in_set[self.client]
        return [
            (np.repeat(np.arange(num_tasks), len(pools)), self.to_pool[:, pools].ravel(), 1),
            (self.task[is_member], self.to_client[is_member], 1),
        ]

    def add_to(self, rows: RowBuilder, copies: int) -> None:
        """Add the rows that give each task its copies, and each client its share."""
        num_tasks, num_pools = self.to_pool.shape
        capacity = self.pools.bounds
        num_copies = np.full(num_tasks, copies)
        rows.add(self.within(np.ones(self.num_clients, dtype=np.bool_)), num_copies, num_copies)
        groups = len(capacity.group_min_copies)
        in_pool = (capacity.group[:, None] * num_pools + np.arange(num_pools)).ravel()
        pool_of_group = np.arange(groups)[:, None] * num_pools + self.pools.pool[self.pooled_clients]
        zeros = np.zeros(groups * num_pools, dtype=np.int64)
        rows.add([(in_pool, self.to_pool.ravel(), 1), (pool_of_group.ravel(), self.taken.ravel(), -1)], zeros, zeros)
        rows.add(
            [(self.client, self.to_client, 1), (np.tile(self.pooled_clients, groups), self.taken.ravel(), 1)],
            capacity.min_copies,
            capacity.max_copies,
        )
        if capacity.has_groups:
            part = capacity.group[self.task] * self.num_clients + self.client
            taken = np.arange(groups)[:, None] * self.num_clients + self.pooled_clients
            bounds = capacity.group_min_copies.ravel(), capacity.group_max_copies.ravel()
            rows.add([(part, self.to_client, 1), (taken.ravel(), self.taken.ravel(), 1)], *bounds)

    def read(self, values: IntArray) -> BoolArray:
        """Return the clients with a copy of each task in a solution."""
        on_client = np.zeros_like(self.pools.has_own_arc)
        has_copy = values[self.to_client] > 0
        on_client[self.task[has_copy], self.client[has_copy]] = True
        taken = np.zeros(self.pools.bounds.group_min_copies.shape, dtype=np.int64)
        taken[:, self.pooled_clients] = values[self.taken]
        return self.pools.choose_clients(on_client, values[self.to_pool] > 0, taken)
