"""Fewest moves to even replica and leader counts under rack constraints, with a proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.exact.copy_costs import replica_copy_costs
from assignors.replicas.exact.first_followers import choose_first_followers, keep_order, swap_to_position
from assignors.replicas.exact.leader_flow import assign_leaders
from assignors.replicas.exact.replica_flow import ReplicaPlacement, place
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import NO_BROKER, ClusterState


@dataclass(frozen=True, slots=True)
class ExactFlow:
    """The reference strategy: minimum-cost flows for replicas, for leaders, and for first followers.

    Attributes:
        keeps_replicas: whether to copy nothing and change only the order of replicas.
        per_topic_leaders: whether to balance the leaders of each topic before those of all topics together.
        spreads_failover: whether to choose first followers so that leaders stay even if a broker is down.
        weighs_bytes: whether to minimize bytes moved, not replicas moved; requires partition sizes.
        time_limit_s: the time limit of the proof, counted in arcs of solved flows and not by the clock, so that the
            plan does not depend on the machine. A plan is always returned.

    Guarantees:
        Replica counts of allowed brokers differ by at most 1, or are as even as racks allow. If the status is optimal,
        no plan with equally even counts moves less; otherwise none moves less than the bound. Leader counts are as even
        as the replicas allow, with the fewest changes; so are leader counts if a broker is down, given the leaders. The
        plan is idempotent and independent of the input order; a hash of names and ids breaks ties.

    Priority:
        Constraints, even replica counts, least movement, even leader counts (of topics first if requested), fewest
        leader changes, even leader counts if a broker is down, fewest changes of first followers. Among placements with
        the same movement: even replica counts per topic (up to 200,000 pairs of partitions and brokers), then kept
        leaders, then the hash. Kept replicas keep their positions.

    Complexity:
        Three flows over O(P·RF) arcs by cost scaling. Only few arcs to brokers without a replica of the partition are
        tried. The bound proves that no other arc would help, or else shortest paths in the residual graph do; arcs that
        might help are added until none does.

    Source:
        This project. The leader flow follows Pinterest ("Using graph algorithms to optimize Kafka operations, part 2"),
        the flows of replicas and of first followers follow Appier, with even counts as demands and changes as costs in
        place of residue nodes. Frank and Murota's theorem shows that "even" is well defined (see `even_counts`).
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
            return Plan.without_replicas(PlanStatus.NOT_APPLICABLE, "requires partition sizes to weigh bytes")
        problem = NormalizedProblem.of(state, request)
        if self.keeps_replicas:
            return self._plan_leaders_only(problem)
        weight, unit = replica_copy_costs(problem, self.weighs_bytes)
        placement = place(problem, weight, self.time_limit_s)
        table, changed = self._with_leaders(problem, keep_order(problem, placement.pairs))
        value = placement.value * unit if weight is None else _copied_bytes(problem, placement)
        bound = placement.bound * unit
        return Plan(
            status=PlanStatus.OPTIMAL if value == bound else PlanStatus.FEASIBLE,
            replicas=problem.to_input_order(table),
            objective="bytes moved" if self.weighs_bytes else "replicas moved",
            value=value,
            bound=bound,
            notes=(_range_note(placement), f"{changed} preferred leaders change, the minimum for these replicas"),
        )

    def _plan_leaders_only(self, problem: NormalizedProblem) -> Plan:
        mismatched = np.flatnonzero((problem.held != NO_BROKER).sum(axis=1) != problem.factors)
        if len(mismatched):
            name, factor = problem.canonical.state.name(int(mismatched[0])), problem.factors[mismatched[0]]
            reason = f"{name}: keeps_replicas requires {factor} replicas on allowed brokers"
            return Plan.without_replicas(PlanStatus.INFEASIBLE, reason)
        held = problem.held[:, : int(problem.factors.max())]
        table, changed = self._with_leaders(problem, held)
        replicas = problem.to_input_order(table)
        return Plan(PlanStatus.OPTIMAL, replicas, objective="leaders changed", value=changed, bound=changed)

    def _with_leaders(self, problem: NormalizedProblem, replicas: IntArray) -> tuple[IntArray, int]:
        leaders = assign_leaders(problem, replicas, self.per_topic_leaders)
        replicas = swap_to_position(replicas, 0, leaders.broker)
        if self.spreads_failover:
            replicas = swap_to_position(replicas, 1, choose_first_followers(problem, replicas))
        return replicas, leaders.changed


def _range_note(placement: ReplicaPlacement) -> str:
    least, most = placement.count_range
    if most - least > 1:
        return f"{least} to {most} replicas per broker, the most even counts that racks allow"
    return f"{least} to {most} replicas per broker" if most > least else f"{least} replicas per broker"


def _copied_bytes(problem: NormalizedProblem, placement: ReplicaPlacement) -> int:
    sizes = problem.canonical.state.size_bytes
    partition = np.setdiff1d(placement.pairs, problem.held_pairs) // problem.num_brokers
    return 0 if sizes is None else int(sizes[partition].sum())
