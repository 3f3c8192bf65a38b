"""topicmappr's rebuild by replica count: gaps go to the brokers with fewest replicas."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from assignors.replicas.broker_loads import count_replicas
from assignors.replicas.canonical import CanonicalState
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.replica_lists import replica_table
from assignors.replicas.state import ClusterState
from assignors.replicas.topicmappr.leadership import order_by_ratio
from assignors.replicas.topicmappr.rebuild import BrokerCandidates, NoBrokerError, place_by_position, replica_slots


@dataclass(frozen=True)
class TopicmapprCount:
    """Replace replicas that must move, by replica count.

    Guarantees:
        The plan of the tool, including its shuffles, if the tool finds one. Two of its defects are fixed: partitions with
        different replication factors lose no replicas, and a position that no broker may take fails the plan instead of
        being left out. Replicas on remaining brokers stay unless `force_rebuild` is set, so new brokers alone change
        nothing.

    Priority:
        No broker twice, then racks, then kept replicas, then count, then a shuffle with a fixed seed.

    Complexity:
        O(P RF (B + shuffling brokers with equal counts)).

    Source:
        DataDog/kafka-kit: `topicmappr rebuild --placement count`; `mapper/partitions.go` (`placeByPosition`).

    Attributes:
        force_rebuild: whether to place all replicas anew, as if brokers were empty.
        min_rack_ids: 0 if all replicas of a partition must be in different racks; otherwise the number of racks from which
            on they may share racks, which may exceed rack limits.
        optimize_leadership: whether to sort the lists by the brokers' ratio of leaders to followers afterwards.
    """

    force_rebuild: bool = False
    min_rack_ids: int = 0
    optimize_leadership: bool = False

    capabilities: ClassVar[Capabilities] = Capabilities(
        balances_replicas=True,
        is_rack_aware=True,
        raises_replication_factor=True,
        lowers_replication_factor=True,
        decommissions_brokers=True,
        is_idempotent=True,
        is_order_independent=True,
    )

    def __post_init__(self) -> None:
        if self.min_rack_ids < 0:
            raise ValueError(f"min_rack_ids {self.min_rack_ids} is less than 0")
        capabilities = replace(
            self.capabilities,
            is_rack_aware=self.min_rack_ids == 0,
            balances_leaders=self.optimize_leadership,
            is_idempotent=not self.optimize_leadership,
        )
        object.__setattr__(self, "capabilities", capabilities)

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Fill the gaps position by position: all leaders, then all first followers, and so on."""
        canonical = CanonicalState.of(state)
        count = len(state.brokers)
        used = [0] * count if self.force_rebuild else count_replicas(canonical.state.replicas, count).tolist()
        candidates = BrokerCandidates(canonical.state, request, used, self.min_rack_ids, by_storage=False)
        old = replica_slots(canonical.state, request, is_stripped=self.force_rebuild)
        rows = range(state.num_partitions)
        try:
            new = place_by_position(candidates, old, rows, costs=[1] * len(rows))
        except NoBrokerError as error:
            return error.as_plan(canonical.state, "already holds one, or its rack does")
        if self.optimize_leadership:
            order_by_ratio(new, count)
        return Plan(PlanStatus.FEASIBLE, canonical.to_input_order(replica_table(new)))
