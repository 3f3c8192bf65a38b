"""Every permutation of brokers equally often, matched to the current replicas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice, permutations
from typing import ClassVar, Literal

import numpy as np

from assignors.model.columns import IntArray, distinct
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import NO_BROKER, ClusterState, broker_membership


@dataclass(frozen=True, slots=True)
class PermutationMatching:
    """List balanced permutations of brokers, then assign them to partitions so that least moves.

    The brokers form a circle, by id. A permutation is a leader and the distance of each follower from it: its shifts.
    For every set of shifts in turn each broker leads once. The list of permutations is as long as the list of
    partitions and repeats if necessary. A min-cost matching assigns permutations to partitions.

    Guarantees: leader counts of brokers differ by at most 1, and so do the counts of partitions that the followers of a
    broker would take over, if the first shift varies fastest. No other assignment of the same permutations adds fewer
    replicas, nor, with as few, changes less of the order. The plan is idempotent.
    Priority: even leaders, then even first followers; movement only decides the assignment. Replica counts differ by up
    to the replication factor.
    Complexity: O(P²·B) for the costs, O(P³) worst case for the matching, and memory for P² arcs. The number of
    permutations grows as B to the power of the replication factor: with many brokers hardly any matches the current
    replicas, and most of the data moves. Suitable for small clusters.
    Source: Appier, "Kafka reassignment", its method before flows; H. W. Kuhn, "The Hungarian Method for the Assignment
    Problem" (1955). It does not define the order of shifts for more than one follower. Partitions with different
    replication factors, which it does not cover, have lists of their own; each list starts at the broker after the
    last.

    Attributes:
        shifts: the shift that varies fastest: the first follower's, which spreads the partitions of a failed broker, or
            the last one's, as in lexicographic order.
        most_partitions: the maximum number of partitions; the matching requires quadratic memory.
    """

    shifts: Literal["first_fastest", "lexicographic"] = "first_fastest"
    most_partitions: int = 3_000

    capabilities: ClassVar[Capabilities] = Capabilities(
        balances_replicas=True,
        balances_leaders=True,
        spreads_failover=True,
        raises_replication_factor=True,
        lowers_replication_factor=True,
        decommissions_brokers=True,
        is_idempotent=True,
        is_order_independent=True,
    )

    def __post_init__(self) -> None:
        if self.shifts not in ("first_fastest", "lexicographic"):
            raise ValueError(f"unknown shifts '{self.shifts}' (shifts: first_fastest, lexicographic)")

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose replicas."""
        problem = NormalizedProblem.of(state, request)
        factors = problem.factors
        if len(factors) > self.most_partitions:
            reason = (
                f"{len(factors):,} partitions exceed most_partitions ({self.most_partitions:,}); the matching requires "
                "quadratic time and memory"
            )
            return Plan.without_replicas(PlanStatus.FAILED, reason)
        table = np.full((state.num_partitions, int(factors.max())), NO_BROKER, dtype=np.int64)
        moved = num_matched = 0
        for factor in distinct(factors).tolist():
            rows = np.flatnonzero(factors == factor)
            choices = self._choices(problem.num_brokers, factor, len(rows), num_matched)
            costs, moves = _costs(problem, rows, choices)
            match = _match(costs)
            table[rows, :factor] = choices[match]
            moved += int(moves[np.arange(len(rows)), match].sum())
            num_matched += len(rows)
        replicas = problem.to_input_order(table)
        return Plan(
            PlanStatus.OPTIMAL, replicas, objective="replicas moved to these permutations", value=moved, bound=moved
        )

    def _choices(self, num_brokers: int, factor: int, count: int, first: int) -> IntArray:
        """Return ordered choices of brokers, shape (count, factor), starting after the previous choices."""
        rotation = first % num_brokers
        broker_circle = np.arange(num_brokers)[:, None] + rotation
        rounds = islice(cycle(self._shifts(num_brokers, factor)), -(-count // num_brokers))
        choices = [(broker_circle + np.array([0, *shifts])) % num_brokers for shifts in rounds]
        return np.concatenate(choices)[:count]

    def _shifts(self, num_brokers: int, factor: int) -> Iterator[tuple[int, ...]]:
        for shifts in permutations(range(1, num_brokers), factor - 1):
            yield shifts if self.shifts == "lexicographic" else shifts[::-1]


def _costs(problem: NormalizedProblem, rows: IntArray, choices: IntArray) -> tuple[IntArray, IntArray]:
    """Return the cost of each choice for each partition, and the number of added replicas; both have shape (P, P).

    One more replica costs more than all changes of leaders and order together.
    """
    held, num_brokers = problem.held[rows], problem.num_brokers
    factor = choices.shape[1]
    num_common = broker_membership(held, num_brokers).astype(np.float32) @ broker_membership(
        choices, num_brokers
    ).T.astype(np.float32)
    moves = factor - np.rint(num_common).astype(np.int64)
    width = min(factor, held.shape[1])
    is_other_order = (held[:, None, :width] != choices[None, :, :width]).any(axis=2)
    is_other_leader = held[:, None, 0] != choices[None, :, 0]
    return moves * (2 * len(rows) + 1) + is_other_order + is_other_leader, moves


def _match(costs: IntArray) -> IntArray:
    """Return the choice of each partition in a min-cost matching.

    Raises OverflowError if the costs are too large for the solver.
    """
    from ortools.graph.python.linear_sum_assignment import SimpleLinearSumAssignment

    size = len(costs)
    solver = SimpleLinearSumAssignment()
    left, right = np.repeat(np.arange(size), size), np.tile(np.arange(size), size)
    solver.add_arcs_with_cost(left, right, costs.ravel())
    status = solver.solve()
    if status != solver.OPTIMAL:
        raise OverflowError(f"cannot solve the matching ({status.name}): costs times partitions are too large")
    return np.array([solver.right_mate(i) for i in range(size)], dtype=np.int64)
