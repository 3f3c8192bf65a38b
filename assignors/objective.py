"""The cost of an assignment by KIP-925, and a lower bound for assignments that are at least as balanced.

A stateful task costs `traffic_cost` for each partition that it reads and that has no replica in its client's rack, and
`non_overlap_cost` if its client did not hold it before. A stateless task costs 1 for such a partition and nothing for a
move, as in Kafka. Kafka measures moves from an intermediate assignment and minimizes one kind of task at a time; here
moves are measured from the assignment before the rebalance, so that the costs of all assignors are comparable.

Source: KIP-925. The bound is a transport problem (`assignors.flow.min_cost`).

The frontier is the trade-off between cross-rack traffic and task moves over all ratios of the two costs: KIP-925
minimizes `traffic_cost` x partitions read across racks plus `non_overlap_cost` x tasks that move. Only the
ratio of the costs matters, and the optimal assignment changes only at some ratios.

Guarantees: exact. At each ratio, some point of the frontier is a minimum-cost assignment for the given balance; between
its own two ratios, a point is the only minimum. Pareto-optimal assignments that are optimal at no ratio (above
the line between two points) are not found.
Complexity: at most 2·K + 1 transport problems for K points.
Source: parametric minimum-cost flow by bisection of the lower convex hull (Eisner and Severance, 1976).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Final, Protocol, runtime_checkable

import numpy as np

from assignors.flow.min_cost import TransportProblem, assign_clients, max_matching, solve_transport
from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import NO_RACK, BoolArray, ClientTable, IntArray, PartitionTable, Ragged, cells
from assignors.model.configs import AssignmentConfigs
from assignors.model.state import ApplicationState, previous_holders


@dataclass(frozen=True, slots=True, eq=False)
class TradeOffPoint:
    """An assignment that is optimal at some ratios of traffic_cost to non_overlap_cost.

    Attributes:
        remote_partitions: source partitions of stateful tasks that are read across racks.
        moves: stateful tasks on clients that did not run them before.
        from_ratio: lowest ratio at which the assignment is optimal; 0 for the first point.
        to_ratio: highest ratio at which the assignment is optimal; None if there is no highest.
        owner: shape (N,); client of each stateful task, in the order of the state.
    """

    remote_partitions: int
    moves: int
    from_ratio: Fraction
    to_ratio: Fraction | None
    owner: IntArray

    def is_best_at(self, traffic_cost: int, non_overlap_cost: int) -> bool:
        """Return whether the assignment is optimal at these costs, possibly next to another; False if both are 0."""
        if traffic_cost == 0 or non_overlap_cost == 0:
            is_end = self.to_ratio is None if traffic_cost else self.from_ratio == 0
            return is_end and traffic_cost != non_overlap_cost
        ratio = Fraction(traffic_cost, non_overlap_cost)
        return self.from_ratio <= ratio and (self.to_ratio is None or ratio <= self.to_ratio)


def frontier(state: ApplicationState, slack: int = 0) -> tuple[TradeOffPoint, ...]:
    """Return the frontier of the stateful tasks of a state, from the fewest moves to the least traffic.

    `state`: the state to assign. A task that stays with a client that ran it does not move. `slack`: number of tasks by
    which a client may exceed or miss its share by threads, rounded either way. Returns the points; none without
    stateful tasks or clients. Raises ValueError if the rack of a client or of a source partition is unknown.
    """
    known = state.tasks.source.all(state.partitions.racks_known)
    if (state.clients.rack == NO_RACK).any() or not known:
        raise ValueError("the racks of all clients and of all source partitions must be known")
    rows = np.flatnonzero(state.tasks.stateful)
    if not len(rows) or not len(state.clients):
        return ()
    search = _HullSearch(_problem(state, rows, slack))
    return tuple(_with_ratios(list(search.points())))


def _problem(state: ApplicationState, rows: IntArray, slack: int) -> TransportProblem:
    ran, _ = previous_holders(state)
    shares = len(rows) * state.clients.threads
    total = int(state.clients.threads.sum())
    return TransportProblem(
        num_copies=np.ones(len(rows), dtype=np.int64),
        traffic_cost=state.partitions.count_remote(state.tasks.source)[rows],
        held=ran[rows],
        move_cost=0,
        rack=state.clients.rack,
        max_copies=-(-shares // total) + slack,
        min_copies=np.maximum(shares // total - slack, 0),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _CostPoint:
    remote: int
    moves: int
    owner: IntArray


class _HullSearch:
    """Bisects the lower convex hull of (remote partitions, moves)."""

    def __init__(self, problem: TransportProblem) -> None:
        self._problem = problem

    def points(self) -> Iterator[_CostPoint]:
        """Yield the corners of the hull, from the fewest moves to the least traffic.

        Yields optimal assignments, each better in traffic and worse in moves than the one before.
        """
        problem = self._problem
        stays = self._solve(1, int(problem.traffic_cost.max(axis=1).sum()) + 1)
        local = self._solve(len(problem.num_copies) + 1, 1)
        if (stays.remote, stays.moves) == (local.remote, local.moves):
            yield stays
            return
        candidates = [stays, *self._between(stays, local), local]
        kept: list[_CostPoint] = []
        for point in candidates:
            while len(kept) > 1 and not _is_below_line(kept[-2], kept[-1], point):
                kept.pop()
            kept.append(point)
        yield from kept

    def _between(self, left: _CostPoint, right: _CostPoint) -> Iterator[_CostPoint]:
        traffic_cost, move_cost = right.moves - left.moves, left.remote - right.remote
        best = self._solve(traffic_cost, move_cost)
        weight = traffic_cost * best.remote + move_cost * best.moves
        if weight < traffic_cost * left.remote + move_cost * left.moves:
            yield from self._between(left, best)
            yield best
            yield from self._between(best, right)

    def _solve(self, traffic_cost: int, move_cost: int) -> _CostPoint:
        weighted = replace(self._problem, traffic_cost=self._problem.traffic_cost * traffic_cost, move_cost=move_cost)
        solution = solve_transport(weighted)
        assert solution is not None, "each client can have its share"
        owner = assign_clients(weighted, solution)
        tasks = np.arange(len(owner))
        return _CostPoint(
            remote=int(self._problem.traffic_cost[tasks, self._problem.rack[owner]].sum()),
            moves=int((~self._problem.held[tasks, owner]).sum()),
            owner=owner,
        )


def _is_below_line(first: _CostPoint, middle: _CostPoint, last: _CostPoint) -> bool:
    """Return whether the middle point is below the line between the outer ones."""
    rise = (middle.moves - first.moves) * (first.remote - last.remote)
    return rise < (last.moves - first.moves) * (first.remote - middle.remote)


def _with_ratios(points: list[_CostPoint]) -> Iterator[TradeOffPoint]:
    """Yield frontier points; between two of them lies the ratio at which the saved traffic is worth the moves.

    Yields one point for each assignment.
    """
    changes = [Fraction(after.moves - before.moves, before.remote - after.remote) for before, after in pairwise(points)]
    for point, low, high in zip(points, [Fraction(0), *changes], [*changes, None], strict=True):
        yield TradeOffPoint(point.remote, point.moves, low, high, point.owner)


def min_remote_source_partitions(state: ApplicationState) -> int | None:
    """Return the minimum number of source partitions that active tasks read across racks, over all assignments.

    Each task is placed in its best rack, regardless of balance. The bound therefore holds for each assignor and all
    capacities; a balanced assignment may not reach it. In a consumer group, only racks of subscribers count, and topics
    that no member subscribes to are not read.

    Returns the bound; None if a client has no rack or there is no client.

    Complexity: O(T·R + C); O(T·C) if members of a consumer group subscribe to different topics.
    """
    racks = tuple(sorted(set(state.clients.rack.tolist())))
    if not racks or racks[0] == NO_RACK:
        return None
    if state.subscribers is None:
        return _min_remote(state.partitions, state.tasks.source, racks)
    by_rack = state.partitions.count_remote(state.tasks.source)
    is_read = state.subscribers.any(axis=1)
    remote = np.where(state.subscribers, by_rack[:, state.clients.rack], np.iinfo(np.int64).max)
    return int(remote[is_read].min(axis=1).sum())


@lru_cache(maxsize=16)
def _min_remote(partitions: PartitionTable, source: Ragged, racks: tuple[int, ...]) -> int:
    """Return the minimum over all assignments to racks; tables are shared between the rebalances of a group."""
    return int(partitions.count_remote(source)[:, racks].min(axis=1).sum())


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of traffic and movement in a cost.

    Attributes:
        traffic_cost: cost of a partition without a replica in the client's rack.
        non_overlap_cost: cost of a copy on a client that did not hold the task before.
    """

    traffic_cost: int
    non_overlap_cost: int

    def configured(self, configs: AssignmentConfigs) -> Weights:
        """Return the configured weights; these are the defaults."""
        traffic, moving = configs.rack_aware_traffic_cost, configs.rack_aware_non_overlap_cost
        return Weights(
            self.traffic_cost if traffic is None else traffic, self.non_overlap_cost if moving is None else moving
        )


HIGH_AVAILABILITY_WEIGHTS: Final = Weights(10, 1)
"""Defaults of `HighAvailabilityTaskAssignor`."""

STICKY_WEIGHTS: Final = Weights(1, 10)
"""Defaults of `LegacyStickyTaskAssignor` and `StickyTaskAssignor`."""

STATELESS_WEIGHTS: Final = Weights(1, 0)
"""Weights of stateless tasks, which cannot be configured."""

EQUAL_WEIGHTS: Final = Weights(1, 1)
"""Weights with which to report the cost of an assignor that has no weights."""


@runtime_checkable
class WeightedAssignor(Protocol):
    """An assignor that weighs traffic against movement."""

    @property
    def default_weights(self) -> Weights:
        """Return the weights that apply where none are configured."""
        ...


@dataclass(frozen=True, slots=True)
class BoundProof:
    """The outcome of the search for the cheapest assignment that a bound covers.

    Attributes:
        relaxed_bound: the bound by flows, which the search raises.
        best_known_cost: cost of the cheapest known assignment.
    """

    relaxed_bound: int
    best_known_cost: int


@dataclass(frozen=True, slots=True)
class CostAndBound:
    """The cost of an assignment, and a lower bound.

    Attributes:
        bound: lower bound of the cost of each assignment with the same number of copies whose maximum load (stateful
            tasks, stateless tasks and standbys per thread, each kind by itself) is not higher.
        proof: how the bound was raised; None for the bound by flows.
    """

    cost: int
    bound: int
    proof: BoundProof | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TaskCopies:
    """Copies of N tasks of one kind, their costs on each client, and their clients in an assignment.

    Attributes:
        tasks: shape (N,); rows of the state, ascending.
        num_copies: shape (N,); copies of each task, on different clients.
        traffic_cost: shape (N, R); cost of a copy in a rack.
        held: shape (N, C); clients on which a copy has no move cost.
        move_cost: cost of a copy on any other client.
        place: shape (K,); the task of each copy, a position in `tasks`.
        client: shape (K,); the client of each copy.
    """

    tasks: IntArray
    num_copies: IntArray
    traffic_cost: IntArray
    held: BoolArray
    move_cost: int
    place: IntArray
    client: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class CopiesByRole:
    """The copies of an assignment by kind; each kind is balanced by itself.

    Attributes:
        stateful: active stateful tasks.
        standbys: standbys and warm-ups.
        rack: shape (C,); the column of each client in the costs: its rack. If members of a consumer group subscribe to
            different topics, a column is a rack and a subscription, and forbids what is not subscribed to by its cost.
    """

    stateful: TaskCopies
    stateless: TaskCopies
    standbys: TaskCopies
    rack: IntArray


def compute_cost_and_bound(
    state: ApplicationState,
    columns: AssignmentColumns,
    weights: Weights,
    previous: tuple[BoolArray, BoolArray] | None = None,
) -> CostAndBound | None:
    """Return the cost of an assignment, and the bound for assignments that are at least as balanced.

    `state`: the state that was assigned. `columns`: the assignment. `weights`: the weights. `previous`: result of
    `previous_holders`; None computes it. Returns the cost and the bound; None if a client has no rack, or the racks of
    a partition that is read are unknown.

    Complexity: a min-cost flow over T·R + C + H arcs for each kind of task; H is the number of copies held before.
    """
    copies = group_copies_by_role(state, columns, weights, previous)
    if copies is None:
        return None
    kinds, rack = (copies.stateful, copies.stateless, copies.standbys), copies.rack
    cost = sum(cost_of_copies(kind, rack) for kind in kinds)
    return CostAndBound(cost, sum(flow_bound(kind, rack, state.clients.threads) for kind in kinds))


def group_copies_by_role(
    state: ApplicationState,
    columns: AssignmentColumns,
    weights: Weights,
    previous: tuple[BoolArray, BoolArray] | None = None,
) -> CopiesByRole | None:
    """Return the copies of an assignment and their costs; arguments and None as in `compute_cost_and_bound`."""
    tasks, clients = state.tasks, state.clients
    if not state.has_known_racks(standbys=bool(columns.standby.any())):
        return None
    ran, held = previous_holders(state) if previous is None else previous
    active, stateful = columns.active, tasks.stateful
    runs = active != UNASSIGNED
    rows, stateless_rows = np.flatnonzero(runs & stateful), np.flatnonzero(runs & ~stateful)
    standby_of, standby_on = cells(columns.standby)
    num_standbys = np.bincount(standby_of, minlength=len(tasks))
    copied = np.flatnonzero(num_standbys)
    counts, place = num_standbys[copied], np.repeat(np.arange(len(copied)), num_standbys[copied])
    stateless, rack = (
        _single_copies(state, stateless_rows, active[stateless_rows], ran, STATELESS_WEIGHTS),
        clients.rack,
    )
    if state.subscribers is not None:
        stateless, rack = _with_subscriptions(stateless, state.subscribers, clients)
    return CopiesByRole(
        stateful=_single_copies(state, rows, active[rows], ran, weights),
        stateless=stateless,
        rack=rack,
        standbys=_copies(state, tasks.changelog, (copied, counts), (place, standby_on), held, weights),
    )


def _single_copies(
    state: ApplicationState, rows: IntArray, clients: IntArray, held: BoolArray, weights: Weights
) -> TaskCopies:
    """Return the active tasks of one kind and their clients."""
    tasks = rows, np.ones(len(rows), dtype=np.int64)
    return _copies(state, state.tasks.source, tasks, (np.arange(len(rows)), clients), held, weights)


def _copies(
    state: ApplicationState,
    read: Ragged,
    tasks: tuple[IntArray, IntArray],
    placed: tuple[IntArray, IntArray],
    held: BoolArray,
    weights: Weights,
) -> TaskCopies:
    """Return copies of tasks, given their rows and numbers of copies, and the places and clients of all copies."""
    rows, num_copies = tasks
    return TaskCopies(
        tasks=rows,
        num_copies=num_copies,
        traffic_cost=state.partitions.count_remote(read)[rows] * weights.traffic_cost,
        held=held[rows],
        move_cost=weights.non_overlap_cost,
        place=placed[0],
        client=placed[1],
    )


def _with_subscriptions(
    copies: TaskCopies, subscribers: BoolArray, clients: ClientTable
) -> tuple[TaskCopies, IntArray]:
    """Return copies with a column of costs for each rack and subscription, and the column of each client."""
    column_of: dict[tuple[int, frozenset[str] | None], int] = {}
    keys = zip(clients.rack.tolist(), (consumer.topics for consumer in clients.consumers), strict=True)
    column = np.array([column_of.setdefault(key, len(column_of)) for key in keys], dtype=np.int64)
    first = np.unique(column, return_index=True)[1]
    cost = copies.traffic_cost[:, clients.rack[first]]
    forbidden = int(copies.traffic_cost.sum()) + 1
    return replace(copies, traffic_cost=np.where(subscribers[copies.tasks][:, first], cost, forbidden)), column


def cost_of_copies(copies: TaskCopies, rack: IntArray) -> int:
    """Return the total cost of copies where they are placed.

    `rack`, shape (C,): the column of each client in the costs.
    """
    place, client = copies.place, copies.client
    cost = int(copies.traffic_cost[place, rack[client]].sum())
    if not copies.move_cost:
        return cost
    return cost + copies.move_cost * (len(place) - int(np.count_nonzero(copies.held[place, client])))


def min_cost_without_capacities(copies: TaskCopies) -> int:
    """Return the total cost of copies if each were where it costs least, whatever the load of the clients."""
    if not len(copies.num_copies):
        return 0
    lowest = copies.traffic_cost.min(axis=1)
    if copies.move_cost:
        lowest += copies.move_cost * ~copies.held.any(axis=1)
    return int((copies.num_copies * lowest).sum())


def capacity_at_max_load(copies: TaskCopies, threads: IntArray) -> IntArray:
    """Return how many copies each client may hold at the maximum load of the placement, shape (C,)."""
    counts = np.bincount(copies.client, minlength=len(threads))
    fullest = int((counts / threads).argmax()) if len(counts) else 0
    capacity: IntArray = counts[fullest] * threads // threads[fullest] if len(counts) else counts
    return capacity


def bound_of_moves(copies: TaskCopies, cost: int, threads: IntArray) -> int | None:
    """Return `flow_bound` where only moves can be saved: each task reads as much from other racks in every rack.

    That is so if a replica of each partition is in each rack. If each task, besides, has a single copy, as many tasks
    as possible stay on a client that held them, and the others move. `threads`, shape (C,): threads of each client. The
    result is None if the conditions are not met.
    """
    traffic, held = copies.traffic_cost, copies.held
    if len(copies.place) != len(copies.tasks) or copies.move_cost < 0 or (traffic != traffic[:, :1]).any():
        return None
    capacity = capacity_at_max_load(copies, threads)
    is_on_one = np.count_nonzero(held, axis=1).max(initial=0) <= 1
    of_client = np.count_nonzero(held, axis=0)
    num_kept = int(np.minimum(of_client, capacity).sum()) if is_on_one else max_matching(held, capacity)
    num_moved = len(copies.place) - num_kept
    kept_now = int(np.count_nonzero(held[copies.place, copies.client]))
    return cost + copies.move_cost * (num_moved - (len(copies.place) - kept_now))


def flow_bound(copies: TaskCopies, rack: IntArray, threads: IntArray) -> int:
    """Return a lower bound of the cost of each placement whose maximum load per thread is not higher.

    The relaxation lets two copies of a task share a client, which an assignment must not. The optimum with standbys may
    therefore be higher; `assignors.optimum.proof` computes it. `rack`, shape (C,): the rack of each client. `threads`,
    shape (C,): threads of each client.
    """
    cost = cost_of_copies(copies, rack)
    if cost == min_cost_without_capacities(copies):
        return cost
    bound = bound_of_moves(copies, cost, threads)
    if bound is not None:
        return bound
    capacity = capacity_at_max_load(copies, threads)
    problem = TransportProblem(
        num_copies=copies.num_copies,
        traffic_cost=copies.traffic_cost,
        held=copies.held,
        move_cost=copies.move_cost,
        rack=rack,
        max_copies=capacity,
        min_copies=np.zeros_like(capacity),
    )
    solution = solve_transport(problem)
    assert solution is not None, "the assignment itself is feasible"
    return solution.cost
