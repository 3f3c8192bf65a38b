"""The trade-off between cross-rack traffic and task moves over all ratios of the two costs.

KIP-925 minimizes `traffic_cost` x partitions read across racks plus `non_overlap_cost` x tasks that move. Only the
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
from itertools import pairwise

import numpy as np

from assignors.flow.transport import TransportProblem, assign_clients, solve_transport
from assignors.model.columns import NO_RACK, IntArray
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
