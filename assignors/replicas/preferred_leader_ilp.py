"""As much of what is there as limits allow, leaders above followers, as an integer linear programme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assignors.columns import IntArray
from assignors.replicas.exact.question import Question
from assignors.replicas.ordering import old_places, ordered
from assignors.replicas.plan import Abilities, Plan, PlanRequest
from assignors.replicas.programmes.constraints import own_limits, parse_constraints
from assignors.replicas.programmes.lp_text import write
from assignors.replicas.programmes.outcome import outcome
from assignors.replicas.programmes.placement import Group, Limit, Placement, PlacementProgramme
from assignors.replicas.programmes.rack_shares import even_loads
from assignors.replicas.programmes.search import solve
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

    abilities: ClassVar[Abilities] = Abilities(
        balances_replicas=True,
        heeds_racks=True,
        balances_leaders=True,
        grows=True,
        shrinks=True,
        drains=True,
        is_idempotent=True,
        is_order_free=True,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "constraints", tuple(each.text for each in parse_constraints(self.constraints)))
        for what in ("replicas", "leaders", "rack_replicas"):
            least, most = getattr(self, f"min_{what}"), getattr(self, f"max_{what}")
            if least is not None and most is not None and least > most:
                raise ValueError(f"min_{what} {least} is more than max_{what} {most}")

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose replicas."""
        question = Question.of(state, request)
        solution = solve(self._programme(question, request), self.time_limit_s)
        if solution.placement is None:
            return outcome(question, solution, self.time_limit_s)
        return outcome(
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
        question = Question.of(state, request)
        return write(question, self._programme(question, request), ("_l", ""))

    def _programme(self, question: Question, request: PlanRequest) -> PlacementProgramme:
        is_first = np.arange(question.held.shape[1]) == 0
        as_leader = np.where(is_first, self.leader_kept, self.leader_from_follower)
        as_follower = np.where(is_first, self.follower_from_leader, self.follower_kept)
        worth = np.stack([as_leader, as_follower], axis=-1).astype(np.float64)
        return PlacementProgramme(
            rack=question.rack,
            held=question.held,
            worth=np.broadcast_to(worth, (*question.held.shape, 2)),
            new_worth=np.zeros(question.num_partitions),
            is_pinned=np.zeros(question.held.shape, dtype=np.bool_),
            limits=self._limits(question, request.heeds_racks(question.told.state)),
            own=own_limits(parse_constraints(self.constraints), question, LEADER, FOLLOWER),
        )

    def _limits(self, question: Question, heeds_racks: bool) -> tuple[Limit, ...]:
        num_partitions, num_brokers = question.num_partitions, question.num_brokers
        loads = even_loads(question.factors, question.most_in_a_rack, question.rack)
        factors = question.factors.astype(np.float64)
        few, many = num_partitions // num_brokers, -(-num_partitions // num_brokers)
        few_leaders, many_leaders = np.full(num_brokers, few), np.full(num_brokers, many)
        one, both = np.ones(num_partitions), (LEADER, FOLLOWER)
        limits = (
            Limit("replicas", Group.PARTITION, factors, factors, both),
            Limit("leaders", Group.PARTITION, one, one, (LEADER,)),
            _limit(
                "replicas",
                Group.BROKER,
                loads.broker_least,
                loads.broker_most,
                self.min_replicas,
                self.max_replicas,
                both,
            ),
            _limit("leaders", Group.BROKER, few_leaders, many_leaders, self.min_leaders, self.max_leaders, (LEADER,)),
        )
        if not heeds_racks:
            return limits
        in_a_rack = np.repeat(question.most_in_a_rack, len(loads.rack_most)).astype(np.float64)
        return (
            *limits,
            _limit(
                "replicas",
                Group.RACK,
                loads.rack_least,
                loads.rack_most,
                self.min_rack_replicas,
                self.max_rack_replicas,
                both,
            ),
            Limit("replicas", Group.PARTITION_AND_RACK, np.zeros(len(in_a_rack)), in_a_rack, both),
        )


def _limit(
    what: str,
    group: Group,
    least: IntArray,
    most: IntArray,
    given_least: int | None,
    given_most: int | None,
    roles: tuple[int, ...],
) -> Limit:
    """A limit as it is given; where only one end of it is, the mean gives way to that."""
    lower = least if given_most is None else np.minimum(least, given_most)
    upper = most if given_least is None else np.maximum(most, given_least)
    lower = lower if given_least is None else np.full(len(least), given_least)
    upper = upper if given_most is None else np.full(len(most), given_most)
    return Limit(what, group, lower.astype(np.float64), upper.astype(np.float64), roles)


def _ordered(question: Question, placement: Placement) -> IntArray:
    partition, broker = placement.cells.partition, placement.cells.broker
    place = old_places(question, partition, broker)
    return ordered(question, partition, broker, placement.role, place, broker)
