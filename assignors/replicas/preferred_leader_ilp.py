"""As much of what is there as limits allow, leaders above followers, as an integer linear programme."""

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
"""The roles."""


@dataclass(frozen=True, slots=True)
class PreferredLeaderIlp:
    """Keep replicas, and leaders above all, within limits for every broker, rack, and partition in a rack.

    Every partition and broker have two binaries: the broker leads, or follows. What stays has a worth, what is new
    has none. Limits that are not given are the means, rounded down and up; where racks are too uneven for those, they
    give way as far as racks need it, and no further.

    Guarantees: no plan within the limits is worth more, where the status is optimal; else `bound` says how much any
    may be worth. With the given worths nothing moves where everything is within its limits. Followers that stay keep
    their order; new ones come last, by broker id.
    Priority: replication factors, racks, limits; then worth: leaders that stay, then followers.
    Complexity: 2·(P·(W + R) + B) binaries, for brokers of a rack that are alike to a partition are one; see
    `programmes.pooled`. The linear programme comes out whole nearly always. What is too large for its time is not
    begun: two flows give a plan within all limits then, replicas first and leaders among them, and two more its bound.
    Source: killerwhile/kafka-assignment-optimizer, its README (the solver itself was never published). The worths 4,
    2 and 1 are in its example; that a leader made of a follower is worth 2 and a follower made of a leader 1 is a
    reading of it.

    Attributes:
        leader_kept: what a leader is worth that still leads.
        leader_from_follower: what a leader is worth that has followed.
        follower_kept: what a follower is worth that still follows.
        follower_from_leader: what a follower is worth that has led.
        min_replicas: the least that a broker may hold; None for the mean, rounded down. The others likewise:
        max_replicas: the most that a broker may hold.
        min_leaders: the least that a broker may lead.
        max_leaders: the most that a broker may lead.
        min_rack_replicas: the least that a rack may hold.
        max_rack_replicas: the most that a rack may hold.
        constraints: further linear constraints, as `programmes.constraints` describes them; one text may hold several,
            separated by semicolons. With any, the program has a binary for each partition, broker and role.
        time_limit_s: how long a search may take.
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
        object.__setattr__(self, "constraints", tuple(each.text for each in parse_constraints(self.constraints)))
        for what in ("replicas", "leaders", "rack_replicas"):
            least, most = getattr(self, f"min_{what}"), getattr(self, f"max_{what}")
            if least is not None and most is not None and least > most:
                raise ValueError(f"min_{what} {least} is more than max_{what} {most}")

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose replicas."""
        question = NormalizedProblem.of(state, request)
        solution = solve(self._programme(question, request), self.time_limit_s)
        if solution.placement is None:
            return to_plan(question, solution, self.time_limit_s)
        return to_plan(
            question,
            solution,
            self.time_limit_s,
            replicas=_ordered(question, solution.placement),
            objective="worth of what stays",
            value=solution.worth,
            bound=solution.bound,
        )

    def lp_text(self, state: ClusterState, request: PlanRequest) -> str:
        """The whole programme in the LP format of lp_solve: all P times B cells and all constraints.

        A variable is named after topic, broker and partition, `t1b12p5` for a follower and `t1b12p5_l` for a leader;
        topics are numbered in the order of their names, from one, and listed at the top.
        """
        question = NormalizedProblem.of(state, request)
        return to_lp_text(question, self._programme(question, request), ("_l", ""))

    def _programme(self, question: NormalizedProblem, request: PlanRequest) -> RoleProgram:
        is_first = np.arange(question.held.shape[1]) == 0
        as_leader = np.where(is_first, self.leader_kept, self.leader_from_follower)
        as_follower = np.where(is_first, self.follower_from_leader, self.follower_kept)
        worth = np.stack([as_leader, as_follower], axis=-1).astype(np.float64)
        return RoleProgram(
            rack=question.rack,
            held=question.held,
            worth=np.broadcast_to(worth, (*question.held.shape, 2)),
            new_worth=np.zeros(question.num_partitions),
            is_pinned=np.zeros(question.held.shape, dtype=np.bool_),
            limits=self._limits(question, request.is_rack_aware(question.told.state)),
            own=user_constraint_rows(parse_constraints(self.constraints), question, LEADER, FOLLOWER),
        )

    def _limits(self, question: NormalizedProblem, is_rack_aware: bool) -> tuple[LoadLimit, ...]:
        num_partitions, num_brokers = question.num_partitions, question.num_brokers
        loads = compute_load_ranges(question.factors, question.rack_limits, question.rack)
        factors = question.factors.astype(np.float64)
        few, many = num_partitions // num_brokers, -(-num_partitions // num_brokers)
        few_leaders, many_leaders = np.full(num_brokers, few), np.full(num_brokers, many)
        one, both = np.ones(num_partitions), (LEADER, FOLLOWER)
        limits = (
            LoadLimit("replicas", LimitScope.PARTITION, factors, factors, both),
            LoadLimit("leaders", LimitScope.PARTITION, one, one, (LEADER,)),
            _limit(
                "replicas",
                LimitScope.BROKER,
                loads.broker_least,
                loads.broker_most,
                self.min_replicas,
                self.max_replicas,
                both,
            ),
            _limit(
                "leaders", LimitScope.BROKER, few_leaders, many_leaders, self.min_leaders, self.max_leaders, (LEADER,)
            ),
        )
        if not is_rack_aware:
            return limits
        in_a_rack = np.repeat(question.rack_limits, len(loads.rack_most)).astype(np.float64)
        return (
            *limits,
            _limit(
                "replicas",
                LimitScope.RACK,
                loads.rack_least,
                loads.rack_most,
                self.min_rack_replicas,
                self.max_rack_replicas,
                both,
            ),
            LoadLimit("replicas", LimitScope.PARTITION_AND_RACK, np.zeros(len(in_a_rack)), in_a_rack, both),
        )


def _limit(
    what: str,
    group: LimitScope,
    least: IntArray,
    most: IntArray,
    given_least: int | None,
    given_most: int | None,
    roles: tuple[int, ...],
) -> LoadLimit:
    """A limit as it is given; where only one end of it is, the mean gives way to that."""
    lower = least if given_most is None else np.minimum(least, given_most)
    upper = most if given_least is None else np.maximum(most, given_least)
    lower = lower if given_least is None else np.full(len(least), given_least)
    upper = upper if given_most is None else np.full(len(most), given_most)
    return LoadLimit(what, group, lower.astype(np.float64), upper.astype(np.float64), roles)


def _ordered(question: NormalizedProblem, placement: RoleAssignment) -> IntArray:
    partition, broker = placement.cells.partition, placement.cells.broker
    place = current_positions(question, partition, broker)
    return order_replicas(question, partition, broker, placement.role, place, broker)
