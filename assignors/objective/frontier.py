"""Traffic against movement: every answer that is best for some ratio of the two costs, and the ratios between them.

KIP-925 weighs `traffic_cost` x partitions read across racks against `non_overlap_cost` x tasks that move. Only the
ratio of the two matters, and only at some ratios does the best answer change.

Guarantees: exact. Whatever the ratio, no assignment with this balance weighs less than one of the points; each point
is the only best one for the ratios strictly between its own two. Assignments that are best for no ratio, though no
other is better in both, are not found: they lie above the line between two points.
Complexity: 2·K + 1 transport problems at most, K the number of points.
Source: parametric minimum-cost flow by bisection of the lower hull (Eisner and Severance, 1976).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from assignors.flow.transport import TransportProblem, expand, solve
from assignors.model.columns import NO_RACK, IntArray
from assignors.model.state import ApplicationState
from assignors.objective.cost import previous


@dataclass(frozen=True, slots=True, eq=False)
class FrontierPoint:
    """An answer that is best for some ratios.

    Attributes:
        remote_partitions: source partitions of stateful tasks read across racks.
        moves: stateful tasks that run where they did not run before.
        from_ratio: it is best from this traffic_cost / non_overlap_cost on; 0 for the first.
        to_ratio: up to this; None if it is best for all larger ones.
        owner: shape (N,); the client of each stateful task, in the order of the state.
    """

    remote_partitions: int
    moves: int
    from_ratio: Fraction
    to_ratio: Fraction | None
    owner: IntArray

    def is_best_at(self, traffic_cost: int, non_overlap_cost: int) -> bool:
        """Whether it is best with these costs, possibly beside its neighbour; false if both are 0."""
        if traffic_cost == 0 or non_overlap_cost == 0:
            is_end = self.to_ratio is None if traffic_cost else self.from_ratio == 0
            return is_end and traffic_cost != non_overlap_cost
        ratio = Fraction(traffic_cost, non_overlap_cost)
        return self.from_ratio <= ratio and (self.to_ratio is None or ratio <= self.to_ratio)


def frontier(state: ApplicationState, slack: int = 0) -> tuple[FrontierPoint, ...]:
    """The front of the stateful tasks of a state, from the fewest moves to the least traffic.

    Args:
        state: what is to be assigned; a task did not move if it stays with a client that ran it.
        slack: by how many tasks a client may have more or fewer than its share by threads, which is rounded either way.

    Raises:
        ValueError: a client has no rack, or it is not known where a source partition stands.
    """
    located = state.tasks.source.all(state.partitions.located)
    if (state.clients.rack == NO_RACK).any() or not located:
        raise ValueError("racks are not known of every client and every source partition")
    rows = np.flatnonzero(state.tasks.stateful)
    if not len(rows) or not len(state.clients):
        return ()
    front = _HullSearch(_problem(state, rows, slack))
    return tuple(_with_ratios(list(front.points())))


def _problem(state: ApplicationState, rows: IntArray, slack: int) -> TransportProblem:
    ran, _ = previous(state)
    shares = len(rows) * state.clients.threads
    total = int(state.clients.threads.sum())
    return TransportProblem(
        copies=np.ones(len(rows), dtype=np.int64),
        traffic=state.partitions.remote(state.tasks.source)[rows],
        held=ran[rows],
        moving=0,
        rack=state.clients.rack,
        most=-(-shares // total) + slack,
        least=np.maximum(shares // total - slack, 0),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _CostPoint:
    remote: int
    moves: int
    owner: IntArray


class _HullSearch:
    """Bisects the front of one problem."""

    def __init__(self, problem: TransportProblem) -> None:
        self._problem = problem

    def points(self) -> Iterator[_CostPoint]:
        """The corners of the lower hull, from the fewest moves to the least traffic."""
        problem = self._problem
        stays = self._solve(1, int(problem.traffic.max(axis=1).sum()) + 1)
        local = self._solve(len(problem.copies) + 1, 1)
        if (stays.remote, stays.moves) == (local.remote, local.moves):
            yield stays
            return
        found = [stays, *self._between(stays, local), local]
        kept: list[_CostPoint] = []
        for answer in found:
            while len(kept) > 1 and not _turns(kept[-2], kept[-1], answer):
                kept.pop()
            kept.append(answer)
        yield from kept

    def _between(self, left: _CostPoint, right: _CostPoint) -> Iterator[_CostPoint]:
        traffic_cost, moving = right.moves - left.moves, left.remote - right.remote
        best = self._solve(traffic_cost, moving)
        weight = traffic_cost * best.remote + moving * best.moves
        if weight < traffic_cost * left.remote + moving * left.moves:
            yield from self._between(left, best)
            yield best
            yield from self._between(best, right)

    def _solve(self, traffic_cost: int, moving: int) -> _CostPoint:
        weighed = replace(self._problem, traffic=self._problem.traffic * traffic_cost, moving=moving)
        route = solve(weighed)
        if route is None:
            raise AssertionError("every client can have its share")
        owner = expand(weighed, route)
        each = np.arange(len(owner))
        return _CostPoint(
            remote=int(self._problem.traffic[each, self._problem.rack[owner]].sum()),
            moves=int((~self._problem.held[each, owner]).sum()),
            owner=owner,
        )


def _turns(first: _CostPoint, middle: _CostPoint, last: _CostPoint) -> bool:
    """Whether the middle one lies below the line between the others."""
    rise = (middle.moves - first.moves) * (first.remote - last.remote)
    return rise < (last.moves - first.moves) * (first.remote - middle.remote)


def _with_ratios(answers: list[_CostPoint]) -> Iterator[FrontierPoint]:
    """From each answer to the next the ratio rises at which traffic saved is worth the moves."""
    changes = [
        Fraction(after.moves - before.moves, before.remote - after.remote) for before, after in pairwise(answers)
    ]
    for answer, low, high in zip(answers, [Fraction(0), *changes], [*changes, None], strict=True):
        yield FrontierPoint(answer.remote, answer.moves, low, high, answer.owner)
