"""Keep as many replicas and leaders as the limits allow, by an integer linear program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.plan import Capabilities, Plan, PlanRequest
from assignors.replicas.programs.load_ranges import compute_load_ranges
from assignors.replicas.programs.lp_text import to_lp_text
from assignors.replicas.programs.placement_program import LimitScope, LoadLimit, RoleAssignment, RoleProgram
from assignors.replicas.programs.plan_from_solution import to_plan
from assignors.replicas.programs.solve import solve
from assignors.replicas.programs.user_constraints import parse_constraints, user_constraint_rows
from assignors.replicas.replica_order import current_positions, order_replicas
from assignors.replicas.state import ClusterState

LEADER, FOLLOWER = 0, 1
"""The roles of a replica in the program."""


@dataclass(frozen=True, slots=True)
class PreferredLeaderIlp:
    """Keep current replicas, above all leaders, within limits per broker, per rack, and per partition and rack.

    Each pair of partition and broker has two binaries: the broker leads, or it follows. Kept replicas have a weight,
    new ones have weight 0. Limits that are not given are the means, rounded down and up, extended where uneven
    racks require it.

    Guarantees: if the status is optimal, no plan within the limits has a higher weight; otherwise `bound` is an upper
    bound. With the default weights nothing moves if all limits are met. Kept followers keep their order; new ones come
    last, by broker id.
    Priority: replication factors, racks, limits; then the weight: kept leaders, then kept followers.
    Complexity: 2·(P·(W + R) + B) binaries, because equivalent brokers of a rack are aggregated (see `pooled_program`).
    The linear relaxation is nearly always integral. A program too large for its time limit is not searched: two flows
    give a plan within all limits, replicas first and leaders among them, and two more flows give its bound.
    Source: killerwhile/kafka-assignment-optimizer, its README (the solver itself was never published). The weights 4, 2
    and 1 come from its example; that a leader made from a follower has weight 2 and a follower made from a leader has
    weight 1 is our interpretation.

    Attributes:
        leader_kept: the weight of a leader that stays leader.
        leader_from_follower: the weight of a follower that becomes leader.
        follower_kept: the weight of a follower that stays follower.
        follower_from_leader: the weight of a leader that becomes follower.
        min_replicas: the minimum number of replicas per broker; None for the mean, rounded down, as for the other
            minimums.
        max_replicas: the maximum number of replicas per broker; None for the mean, rounded up, as for the other
            maximums.
        min_leaders: the minimum number of leaders per broker.
        max_leaders: the maximum number of leaders per broker.
        min_rack_replicas: the minimum number of replicas per rack.
        max_rack_replicas: the maximum number of replicas per rack.
        constraints: further linear constraints (see `user_constraints`); semicolons separate several constraints in one
            text. With any, the program has one binary per partition, broker and role.
        time_limit_s: the time limit of a search.
    """

    leader_kept: int = 4
    leader_from_follower: int = 2
    follower_kept: int = 2
    follower_from_leader: int = 1
    min_replicas: int | None = None
    max_replicas: int | None = None
    min_leaders: int | None = None
    max_leaders: int | None = None
    min_rack_replicas: int | None = None
    max_rack_replicas: int | None = None
    constraints: tuple[str, ...] = ()
    time_limit_s: float = 60.0

    capabilities: ClassVar[Capabilities] = Capabilities(
        balances_replicas=True,
        is_rack_aware=True,
        balances_leaders=True,
        raises_replication_factor=True,
        lowers_replication_factor=True,
        decommissions_brokers=True,
        is_idempotent=True,
        is_order_independent=True,
    )

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "constraints", tuple(constraint.text for constraint in parse_constraints(self.constraints))
        )
        for counted in ("replicas", "leaders", "rack_replicas"):
            least, most = getattr(self, f"min_{counted}"), getattr(self, f"max_{counted}")
            if least is not None and most is not None and least > most:
                raise ValueError(f"min_{counted} {least} is more than max_{counted} {most}")

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose replicas."""
        problem = NormalizedProblem.of(state, request)
        solution = solve(self.build_program(problem, request), self.time_limit_s)
        if solution.placement is None:
            return to_plan(problem, solution, self.time_limit_s)
        return to_plan(
            problem,
            solution,
            self.time_limit_s,
            replicas=_to_replicas(problem, solution.placement),
            objective="weight of kept replicas",
            value=solution.value,
            bound=solution.bound,
        )

    def lp_text(self, state: ClusterState, request: PlanRequest) -> str:
        """Return the whole program in the LP format of lp_solve: all P·B cells and all constraints.

        A variable is named after topic, broker and partition: `t1b12p5` for a follower, `t1b12p5_l` for a leader.
        Topics are numbered from 1 in the order of their names; the numbers are listed at the top.
        """
        problem = NormalizedProblem.of(state, request)
        return to_lp_text(problem, self.build_program(problem, request), ("_l", ""))

    def build_program(self, problem: NormalizedProblem, request: PlanRequest) -> RoleProgram:
        """Return the program of a problem: weights of kept replicas, limits and constraints."""
        is_first = np.arange(problem.held.shape[1]) == 0
        as_leader = np.where(is_first, self.leader_kept, self.leader_from_follower)
        as_follower = np.where(is_first, self.follower_from_leader, self.follower_kept)
        weight = np.stack([as_leader, as_follower], axis=-1).astype(np.float64)
        return RoleProgram(
            rack=problem.rack,
            held=problem.held,
            weight=np.broadcast_to(weight, (*problem.held.shape, 2)),
            new_weight=np.zeros(problem.num_partitions),
            is_pinned=np.zeros(problem.held.shape, dtype=np.bool_),
            limits=self._limits(problem, request.is_rack_aware(problem.canonical.state)),
            user_rows=user_constraint_rows(parse_constraints(self.constraints), problem, LEADER, FOLLOWER),
        )

    def _limits(self, problem: NormalizedProblem, is_rack_aware: bool) -> tuple[LoadLimit, ...]:
        num_partitions, num_brokers = problem.num_partitions, problem.num_brokers
        loads = compute_load_ranges(problem.factors, problem.rack_limits, problem.rack)
        factors = problem.factors.astype(np.float64)
        few, many = num_partitions // num_brokers, -(-num_partitions // num_brokers)
        few_leaders, many_leaders = np.full(num_brokers, few), np.full(num_brokers, many)
        one_leader, both_roles = np.ones(num_partitions), (LEADER, FOLLOWER)
        limits = (
            LoadLimit("replicas", LimitScope.PARTITION, factors, factors, both_roles),
            LoadLimit("leaders", LimitScope.PARTITION, one_leader, one_leader, (LEADER,)),
            _limit_with_defaults(
                "replicas",
                LimitScope.BROKER,
                loads.broker_least,
                loads.broker_most,
                self.min_replicas,
                self.max_replicas,
                both_roles,
            ),
            _limit_with_defaults(
                "leaders", LimitScope.BROKER, few_leaders, many_leaders, self.min_leaders, self.max_leaders, (LEADER,)
            ),
        )
        if not is_rack_aware:
            return limits
        rack_limits = np.repeat(problem.rack_limits, len(loads.rack_most)).astype(np.float64)
        return (
            *limits,
            _limit_with_defaults(
                "replicas",
                LimitScope.RACK,
                loads.rack_least,
                loads.rack_most,
                self.min_rack_replicas,
                self.max_rack_replicas,
                both_roles,
            ),
            LoadLimit("replicas", LimitScope.PARTITION_AND_RACK, np.zeros(len(rack_limits)), rack_limits, both_roles),
        )


def _limit_with_defaults(
    counted: str,
    scope: LimitScope,
    least: IntArray,
    most: IntArray,
    given_least: int | None,
    given_most: int | None,
    roles: tuple[int, ...],
) -> LoadLimit:
    """Return a limit; if only one end is given, the default of the other end yields to it."""
    lower = least if given_most is None else np.minimum(least, given_most)
    upper = most if given_least is None else np.maximum(most, given_least)
    lower = lower if given_least is None else np.full(len(least), given_least)
    upper = upper if given_most is None else np.full(len(most), given_most)
    return LoadLimit(counted, scope, lower.astype(np.float64), upper.astype(np.float64), roles)


def _to_replicas(problem: NormalizedProblem, placement: RoleAssignment) -> IntArray:
    partition, broker = placement.cells.partition, placement.cells.broker
    position = current_positions(problem, partition, broker)
    return order_replicas(problem, partition, broker, placement.role, position, broker)
