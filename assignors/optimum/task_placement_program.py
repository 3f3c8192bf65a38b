"""Place active tasks and standbys of stateful tasks with one integer program.

Source: an assignment problem with side constraints; the clients of a rack are aggregated where that is exact
(`capacity_bounds`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from assignors.integer_program import LinearProgram, build_program, solve_integer
from assignors.model.columns import NO_RACK, BoolArray, IntArray
from assignors.model.state import ApplicationState
from assignors.optimum.capacity_bounds import AggregatedClients, CapacityBounds

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


NO_DOMAIN = NO_RACK
"""Domain of a client without rack or tag; it shares no domain with another client."""


def failure_domains(state: ApplicationState) -> IntArray:
    """Return the domain of each client for each key.

    The result has shape (K, C): number of the client's value for each tag of `rack.aware.assignment.tags`, or of its
    rack if no tag is configured; NO_DOMAIN if it has none. Keys with the same value for all clients are omitted.
    """
    keys = state.assignment_configs.rack_aware_assignment_tags
    if keys:
        rows = [_numbered([tags.get(key) for tags in state.clients.tags]) for key in sorted(set(keys))]
    else:
        rows = [state.clients.rack]
    distinct = [domain_of for domain_of in rows if len(np.unique(domain_of[domain_of != NO_DOMAIN])) > 1]
    return np.array(distinct, dtype=np.int64).reshape(len(distinct), len(state.clients))


def _numbered(values: list[str | None]) -> IntArray:
    number = {
        value: domain_of for domain_of, value in enumerate(sorted({value for value in values if value is not None}))
    }
    return np.array([NO_DOMAIN if value is None else number[value] for value in values], dtype=np.int64)


def count_colocations(domains: IntArray, held: BoolArray) -> int:
    """Return how many copies share a domain with an earlier copy of the same task, summed over keys.

    `domains`: result of `failure_domains`. `held`, shape (N, C): clients with a copy of each task in either role.
    """
    total = 0
    for domain_of in domains:
        for value in range(int(domain_of.max(initial=NO_DOMAIN)) + 1):
            total += int(np.maximum(held[:, domain_of == value].sum(axis=1) - 1, 0).sum())
    return total


def group_by_domains(domains: IntArray) -> IntArray:
    """Return a number for each client that it shares with the clients in the same domains.

    A client without domain gets its own number. If no two copies of a task share a domain, no two share a number.
    `domains`: result of `failure_domains`. The result has shape (C,): cell of each client.
    """
    num_clients = domains.shape[1]
    own = np.where((domains == NO_DOMAIN).all(axis=0), np.arange(num_clients), NO_DOMAIN)
    _, cell = np.unique(np.vstack([domains, own]), axis=1, return_inverse=True)
    return cell.reshape(-1).astype(np.int64)


MAX_VARIABLES = 200_000
"""Default number of variables above which no program is solved: building it would take minutes."""


@dataclass(frozen=True, slots=True, eq=False)
class PlacementProblem:
    """A placement problem of N stateful tasks with standbys on C clients.

    Attributes:
        active: shape (N, C); price of an active task.
        standby: shape (N, C); price of a standby.
        domains: shape (K, C); failure domains that copies of a task should not share; see `failure_domains`.
    """

    active: IntArray
    standby: IntArray
    copies: int
    active_bounds: CapacityBounds
    standby_bounds: CapacityBounds
    domains: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class PlacementSolution:
    """A placement, and a lower bound.

    Attributes:
        active: shape (N, C); clients that run each task.
        standby: shape (N, C); clients with a standby of each task.
        bound: lower bound of the total price of all placements with at most as many colocations.
    """

    active: BoolArray
    standby: BoolArray
    bound: int


def solve_placement(
    problem: PlacementProblem,
    max_colocations: int,
    time_limit_s: float,
    colocation_price: int = 0,
    *,
    max_variables: int = MAX_VARIABLES,
    aggregates: bool = True,
) -> tuple[PlacementSolution | None, bool]:
    """Find the cheapest placement with a limited number of colocations.

    `problem`: the problem. `max_colocations`: maximum total of `count_colocations`. `time_limit_s`: time limit.
    `colocation_price`: price of a colocation. `max_variables`: number of variables above which the program is not
    solved. `aggregates`: whether to aggregate equivalent clients where that is exact; a program that does not is
    larger. Returns the placement, None if none was found; and whether the problem is proven to be infeasible.

    Complexity: without colocations, N·(2·P + S) integer variables for P pools and S clients that are cheaper for a task
    than their pool; with colocations, 2·N·C + N·V, for V domains.
    """
    is_separated = max_colocations == 0
    num_clients = problem.active.shape[1]
    cell = group_by_domains(problem.domains) if is_separated and aggregates else np.arange(num_clients)
    active_role = RoleVariables(AggregatedClients(problem.active, problem.active_bounds, cell), 0)
    standby_role = RoleVariables(AggregatedClients(problem.standby, problem.standby_bounds, cell), active_role.end)
    if standby_role.end > max_variables:
        return None, False
    rows = RowBuilder()
    active_role.add_to(rows, 1)
    standby_role.add_to(rows, problem.copies)
    num_tasks = len(problem.active)
    ones = np.ones(num_tasks, dtype=np.int64)
    for member in _exclusive_sets(problem.domains, cell, separated=is_separated):
        rows.add([*active_role.within(member), *standby_role.within(member)], 0 * ones, ones)
    num_colocation_variables = (
        0 if is_separated else _add_colocations(rows, problem, (active_role, standby_role), max_colocations)
    )
    zeros = np.zeros(num_colocation_variables, dtype=np.int64)
    solution = solve_integer(
        rows.build(
            -np.concatenate([active_role.prices(), standby_role.prices(), zeros + colocation_price]),
            np.concatenate([active_role.upper_bounds(), standby_role.upper_bounds(), zeros + problem.copies]),
        ),
        time_limit_s,
    )
    if solution.values is None:
        return None, solution.is_infeasible
    values = np.rint(solution.values).astype(np.int64)
    active, standby = active_role.read(values), standby_role.read(values)
    bound = -solution.bound if np.isfinite(solution.bound) else 0.0
    return PlacementSolution(active, standby, int(np.ceil(round(bound, 3)))), False


def _exclusive_sets(domains: IntArray, cell: IntArray, *, separated: bool) -> Iterator[BoolArray]:
    """Yield the sets of clients of which at most one holds a copy of a task: a client, a cell or a domain.

    Yields masks of clients.
    """
    for number in range(int(cell.max(initial=-1)) + 1):
        member = cell == number
        if not separated or (domains[:, member] == NO_DOMAIN).all():
            yield member
    for domain_of in domains if separated else ():
        for value in range(int(domain_of.max(initial=NO_DOMAIN)) + 1):
            if (domain_of == value).any():
                yield domain_of == value


def _add_colocations(
    rows: RowBuilder, problem: PlacementProblem, roles: tuple[RoleVariables, RoleVariables], max_colocations: int
) -> int:
    """Count the colocations of each task in each domain, and limit their sum.

    Returns the number of additional variables.
    """
    num_tasks, end = len(problem.active), roles[1].end
    tasks = np.arange(num_tasks)
    count = 0
    for domain_of in problem.domains:
        for value in range(int(domain_of.max(initial=NO_DOMAIN)) + 1):
            member = domain_of == value
            if member.any():
                excess = (tasks, end + count * num_tasks + tasks, -1)
                entries = [*roles[0].within(member), *roles[1].within(member), excess]
                rows.add(entries, np.full(num_tasks, -problem.copies), np.ones(num_tasks, dtype=np.int64))
                count += 1
    if count:
        columns = end + np.arange(count * num_tasks)
        rows.add([(np.zeros_like(columns), columns, 1)], np.array([0]), np.array([max_colocations]))
    return count * num_tasks
