"""Fewest moves to even replicas and leaders under racks, with a proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.exact.copy_costs import replica_copy_costs
from assignors.replicas.exact.first_followers import choose_first_followers
from assignors.replicas.exact.leader_flow import assign_leaders
from assignors.replicas.exact.minimal_reordering import keep_order, swap_to_position
from assignors.replicas.exact.replica_flow import ReplicaPlacement, place
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import NO_BROKER, ClusterState


@dataclass(frozen=True, slots=True)
class ExactFlow:
    """The reference: minimum-cost flows, one for replicas, one for leaders, one for first followers.

    Attributes:
        keeps_replicas: nothing is copied; only the order of replicas changes.
        per_topic_leaders: the leaders of each topic are as even as can be before those of all topics together are.
        spreads_failover: first followers are chosen such that leaders are as even as can be if a broker is down.
        weighs_bytes: as few bytes are moved as can be, not as few replicas. Sizes are needed then.
        time_limit_s: how long to look for the proof that nothing better exists; counted in arcs solved and not by the
            clock, so that the same question has the same answer everywhere. There is a plan in any case.

    Guarantees:
        Replica counts differ by one at most over the brokers allowed, or are as even as racks admit. No plan with
        counts as even moves less if the status is optimal; else none moves less than the bound. Leader counts are as
        even as the replicas admit, with as few changes as that takes; so are leaders if a broker is down, given the
        leaders. Its own plan as input changes nothing. The order of the input does not matter; ties are broken by a
        hash of names and ids.

    Priority:
        Constraints, even replica counts, least movement, even leader counts (of topics first if asked for), fewest
        changes of leaders, even leaders if a broker is down, fewest changes of first followers.
        Of placements that move as little, one is taken in which brokers hold as much of each topic as can be alike (up
        to 200,000 pairs of partitions and brokers), then one that keeps leaders, then one by hash. Replicas that stay
        keep their places in the list.

    Complexity:
        Three flows over O(P·RF) arcs by cost scaling. Few arcs to brokers that do not hold a partition are tried; that
        no others would help is proven by the bound, or else by shortest paths in the residual graph, and those that
        might help are added until none does.

    Source:
        This project. The leader flow is Pinterest's idea ("Using graph algorithms to optimize Kafka operations, part
        2") and the flows of replicas and of first followers are Appier's, with even counts as demands and changes as
        costs in place of residue nodes. That even means one thing is Frank and Murota's theorem (see `evenness`).
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        balances_replicas=True,
        is_rack_aware=True,
        balances_leaders=True,
        spreads_failover=True,
        raises_replication_factor=True,
        lowers_replication_factor=True,
        decommissions_brokers=True,
        is_idempotent=True,
        is_order_independent=True,
    )

    keeps_replicas: bool = False
    per_topic_leaders: bool = False
    spreads_failover: bool = True
    weighs_bytes: bool = False
    time_limit_s: float = 60.0

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose replicas for every partition of the state."""
        if self.weighs_bytes and state.size_bytes is None:
            return Plan.none(PlanStatus.NOT_APPLICABLE, "it needs the sizes of partitions to weigh bytes")
        question = NormalizedProblem.of(state, request)
        if self.keeps_replicas:
            return self._ordered(question)
        weight, unit = replica_copy_costs(question, self.weighs_bytes)
        placement = place(question, weight, self.time_limit_s)
        table, changed = self._with_leaders(question, keep_order(question, placement.pairs))
        value = placement.value * unit if weight is None else _bytes(question, placement)
        bound = placement.bound * unit
        return Plan(
            status=PlanStatus.OPTIMAL if value == bound else PlanStatus.FEASIBLE,
            replicas=question.to_input_order(table),
            objective="bytes moved" if self.weighs_bytes else "replicas moved",
            value=value,
            bound=bound,
            notes=(_evenness(placement), f"{changed} preferred leaders change, the fewest for these replicas"),
        )

    def _ordered(self, question: NormalizedProblem) -> Plan:
        wrong = np.flatnonzero((question.held != NO_BROKER).sum(axis=1) != question.factors)
        if len(wrong):
            name, factor = question.told.state.name(int(wrong[0])), question.factors[wrong[0]]
            reason = f"{name}: replicas are to be kept, but not {factor} of them are on brokers that may hold them"
            return Plan.none(PlanStatus.INFEASIBLE, reason)
        held = question.held[:, : int(question.factors.max())]
        table, changed = self._with_leaders(question, held)
        replicas = question.to_input_order(table)
        return Plan(PlanStatus.OPTIMAL, replicas, objective="leaders changed", value=changed, bound=changed)

    def _with_leaders(self, question: NormalizedProblem, table: IntArray) -> tuple[IntArray, int]:
        leaders = assign_leaders(question, table, self.per_topic_leaders)
        table = swap_to_position(table, 0, leaders.broker)
        if self.spreads_failover:
            table = swap_to_position(table, 1, choose_first_followers(question, table))
        return table, leaders.changed


def _evenness(placement: ReplicaPlacement) -> str:
    least, most = placement.span
    if most - least > 1:
        return f"racks admit no counts more even than {least} to {most} replicas a broker"
    return f"brokers hold {least} to {most} replicas" if most > least else f"brokers hold {least} replicas each"


def _bytes(question: NormalizedProblem, placement: ReplicaPlacement) -> int:
    sizes = question.told.state.size_bytes
    partition = np.setdiff1d(placement.pairs, question.held_pairs) // question.num_brokers
    return 0 if sizes is None else int(sizes[partition].sum())
