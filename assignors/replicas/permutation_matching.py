"""Every ordered choice of brokers equally often, matched to what is there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice, permutations
from typing import ClassVar, Literal

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import NO_BROKER, ClusterState, broker_membership


@dataclass(frozen=True, slots=True)
class PermutationMatching:
    """List ordered choices of brokers that are even by themselves, then deal them out so that least moves.

    The brokers stand in a circle, by id. A choice is a broker that leads, and how far on from it each follower is:
    its shifts. For every set of shifts in turn each broker leads once. As many choices as there are partitions are
    taken from that list, from the start again when it ends. A matching of least cost says which partition gets which.

    Guarantees: leaders differ by at most one between brokers, and so do the partitions that any broker's followers
    would lead in its stead, as long as shifts are taken with the first varying fastest. No other way to deal out the
    same choices adds fewer replicas, nor, with as few, changes less of the order. What is dealt out stays.
    Priority: even leaders, then even first followers; movement decides only who gets what. Replica counts differ by
    up to the replication factor.
    Complexity: O(P²·B) to weigh, O(P³) at worst to match, and memory for P² arcs. The number of choices grows as B to
    the power of the replication factor: with many brokers hardly one of them is there already, and most of the data
    moves. For small clusters.
    Source: Appier, "Kafka reassignment", its way before flows; H. W. Kuhn, "The Hungarian Method for the Assignment
    Problem" (1955). It does not say in which order shifts are taken for more than one follower; partitions with
    different replication factors, of which it does not speak, have lists of their own, each of which goes on at the
    broker where the last one ended.

    Attributes:
        shifts: which shift varies fastest: the first follower's, which spreads what a broker that is down leaves, or
            the last one's, as in a dictionary.
        most_partitions: how many partitions it takes at most; the matching needs memory for their square.
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
            raise ValueError(f"shifts '{self.shifts}' are not first_fastest or lexicographic")

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose replicas."""
        problem = NormalizedProblem.of(state, request)
        factors = problem.factors
        refused = self._refused(problem)
        if refused is not None:
            return refused
        table = np.full((state.num_partitions, int(factors.max())), NO_BROKER, dtype=np.int64)
        moved = taken = 0
        for factor in np.unique(factors).tolist():
            rows = np.flatnonzero(factors == factor)
            choices = self._choices(problem.num_brokers, factor, len(rows), taken)
            costs, moves = _costs(problem, rows, choices)
            match = _match(costs)
            table[rows, :factor] = choices[match]
            moved += int(moves[np.arange(len(rows)), match].sum())
            taken += len(rows)
        replicas = problem.to_input_order(table)
        return Plan(PlanStatus.OPTIMAL, replicas, objective="replicas moved to these choices", value=moved, bound=moved)

    def _refused(self, problem: NormalizedProblem) -> Plan | None:
        factors = problem.factors
        hardest = int(factors.argmax())
        if factors[hardest] > problem.num_brokers:
            name = problem.canonical.state.name(hardest)
            reason = f"{name}: {factors[hardest]} replicas need as many brokers, {problem.num_brokers} are allowed"
            return Plan.without_replicas(PlanStatus.INFEASIBLE, reason)
        if len(factors) > self.most_partitions:
            reason = (
                f"{len(factors):,} partitions are more than most_partitions ({self.most_partitions:,}): the matching "
                "needs time and memory for their square"
            )
            return Plan.without_replicas(PlanStatus.FAILED, reason)
        return None

    def _choices(self, num_brokers: int, factor: int, count: int, first: int) -> IntArray:
        """So many ordered choices, shape (count, factor); the first leader is the broker after those taken before."""
        rotation = first % num_brokers
        circle = np.arange(num_brokers)[:, None] + rotation
        rounds = islice(cycle(self._shifts(num_brokers, factor)), -(-count // num_brokers))
        choices = [(circle + np.array([0, *shifts])) % num_brokers for shifts in rounds]
        return np.concatenate(choices)[:count]

    def _shifts(self, num_brokers: int, factor: int) -> Iterator[tuple[int, ...]]:
        for shifts in permutations(range(1, num_brokers), factor - 1):
            yield shifts if self.shifts == "lexicographic" else shifts[::-1]


def _costs(problem: NormalizedProblem, rows: IntArray, choices: IntArray) -> tuple[IntArray, IntArray]:
    """What it costs each partition to get each choice, and how many replicas it adds; both of shape (P, P).

    A replica more costs more than all changes of leaders and order together.
    """
    held, num_brokers = problem.held[rows], problem.num_brokers
    factor = choices.shape[1]
    there = broker_membership(held, num_brokers).astype(np.float32) @ broker_membership(choices, num_brokers).T.astype(
        np.float32
    )
    moves = factor - np.rint(there).astype(np.int64)
    width = min(factor, held.shape[1])
    is_other_order = (held[:, None, :width] != choices[None, :, :width]).any(axis=2)
    is_other_leader = held[:, None, 0] != choices[None, :, 0]
    return moves * (2 * len(rows) + 1) + is_other_order + is_other_leader, moves


def _match(costs: IntArray) -> IntArray:
    """Which choice each partition gets for the least cost of all; every choice goes to one."""
    from ortools.graph.python.linear_sum_assignment import SimpleLinearSumAssignment

    size = len(costs)
    solver = SimpleLinearSumAssignment()
    left, right = np.repeat(np.arange(size), size), np.tile(np.arange(size), size)
    solver.add_arcs_with_cost(left, right, costs.ravel())
    status = solver.solve()
    if status != solver.OPTIMAL:
        raise OverflowError(f"the matching cannot be solved ({status.name}); costs times partitions are too large")
    return np.array([solver.right_mate(i) for i in range(size)], dtype=np.int64)
