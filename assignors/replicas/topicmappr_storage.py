"""topicmappr by storage: rebuild places replicas by free storage, rebalance moves large ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from assignors.model.columns import NO_RACK, IntArray
from assignors.replicas.broker_loads import bytes_per_broker, capacity_per_broker, fixed_bytes_per_broker
from assignors.replicas.canonical import CanonicalState
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.replica_lists import replica_lists, replica_table
from assignors.replicas.state import ClusterState
from assignors.replicas.topicmappr.go_random import GoRandom
from assignors.replicas.topicmappr.leadership import order_by_ratio
from assignors.replicas.topicmappr.rebalance import RelocationRules, find_short_brokers, relocate
from assignors.replicas.topicmappr.rebuild import (
    BrokerCandidates,
    NoBrokerError,
    ReplicaLists,
    place_by_partition,
    place_by_position,
    replica_slots,
)

_REBUILD = Capabilities(
    balances_bytes=True,
    is_rack_aware=True,
    raises_replication_factor=True,
    lowers_replication_factor=True,
    decommissions_brokers=True,
    is_idempotent=True,
    is_order_independent=True,
    needs_sizes=True,
    needs_capacities=True,
)


@dataclass(frozen=True)
class TopicmapprStorage:
    """Replace or move replicas by free bytes.

    Free bytes are the capacity of a broker minus the replicas in the state: excluded topics are unknown. To scale out,
    use rebalance with a `storage_threshold` of 0: every broker with replicas then gives some away.

    Guarantees:
        The plan of the tool. Its random choices are fixed: partitions with the same size and number are sorted by
        topic, and equally good rebalances by tolerance. Rebuild keeps the replicas on remaining brokers unless
        `force_rebuild` is set, and gives no broker more than its free bytes, except for a defect of the tool: a broker
        that `min_rack_ids` admits to a rack in use is not checked for storage. Three other defects are fixed:
        partitions with different replication factors lose no replicas, a position that no broker may take fails the
        plan instead of being left out, and a move within a rack goes neither to a broker that holds the partition nor
        to the tool's stub of a missing broker. Rebalance does not decommission brokers.

    Priority:
        No broker twice, then racks, then storage. Among rebalances, the lowest range of free bytes, then the deviation.

    Complexity:
        Rebuild O(P RF B); rebalance O(98 moves (B log B + partitions tried * B)).

    Source:
        DataDog/kafka-kit: `topicmappr rebuild --placement storage`, `topicmappr rebalance`, `topicmappr scale`;
        `mapper/partitions.go`, `cmd/topicmappr/commands/{reassignments,planner}.go`.

    Attributes:
        mode: rebuild replaces brokers that leave; rebalance moves replicas between remaining brokers.
        optimize_leadership: whether to sort the lists by the brokers' ratio of leaders to followers afterwards.
        optimize: the order of rebuild: by position for even leaders (distribution), or by partition with shuffled
            lists, including unchanged ones (storage).
        force_rebuild: whether to place all replicas anew.
        size_factor: the factor for the size of a newly placed partition.
        min_rack_ids: 0 if all replicas of a partition must be in different racks; otherwise the number of racks from
            which on they may share racks, which may exceed rack limits. Rebuild only.
        storage_threshold: rebalance relieves brokers this far below the harmonic mean of free bytes; 0 for all brokers
            with replicas.
        storage_threshold_bytes: the same in free bytes, if it is not 0.
        tolerance: the maximum deviation from the mean after a move; 0 to try 0.01, 0.02, … 0.98.
        partition_limit: the number of a broker's partitions to try, the largest first.
        min_partition_bytes: the minimum size of a moved partition.
        locality_scoped: whether moves stay within a rack.
    """

    mode: Literal["rebuild", "rebalance"] = "rebuild"
    optimize_leadership: bool = False
    optimize: Literal["distribution", "storage"] = "distribution"
    force_rebuild: bool = False
    size_factor: float = 1.0
    min_rack_ids: int = 0
    storage_threshold: float = 0.2
    storage_threshold_bytes: int = 0
    tolerance: float = 0.0
    partition_limit: int = 30
    min_partition_bytes: int = 512 * 2**20
    locality_scoped: bool = False

    capabilities: ClassVar[Capabilities] = _REBUILD

    def __post_init__(self) -> None:
        if self.mode not in ("rebuild", "rebalance"):
            raise ValueError(f"mode '{self.mode}' is neither rebuild nor rebalance")
        if self.optimize not in ("distribution", "storage"):
            raise ValueError(f"optimize '{self.optimize}' is neither distribution nor storage")
        for name in ("size_factor", "min_rack_ids", "storage_threshold", "storage_threshold_bytes", "tolerance"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} {getattr(self, name)} is less than 0")
        object.__setattr__(self, "capabilities", self._own_capabilities())

    def _own_capabilities(self) -> Capabilities:
        capabilities = replace(_REBUILD, balances_leaders=self.optimize_leadership)
        if self.mode == "rebalance":
            return replace(
                capabilities,
                raises_replication_factor=False,
                lowers_replication_factor=False,
                decommissions_brokers=False,
                is_idempotent=False,
            )
        keeps_order = self.optimize == "distribution" and not self.optimize_leadership
        return replace(
            capabilities, is_rack_aware=self.min_rack_ids == 0, is_idempotent=keeps_order and not self.force_rebuild
        )

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Rebuild or rebalance."""
        canonical = CanonicalState.of(state)
        sizes = canonical.state.size_bytes
        if sizes is None:
            return Plan.without_replicas(PlanStatus.NOT_APPLICABLE, "requires partition sizes")
        rebuild_or_rebalance = self._rebalance if self.mode == "rebalance" else self._rebuild
        try:
            plan, replicas = rebuild_or_rebalance(canonical.state, request, sizes)
        except NoBrokerError as error:
            needed = round(sizes[error.row] * self.size_factor)
            return error.as_plan(
                canonical.state, f"already holds one, has less than {needed} bytes free, or its rack holds one"
            )
        if self.optimize_leadership:
            order_by_ratio(replicas, len(state.brokers))
        return replace(plan, replicas=canonical.to_input_order(replica_table(replicas)))

    def _rebuild(self, state: ClusterState, request: PlanRequest, sizes: IntArray) -> tuple[Plan, ReplicaLists]:
        order = _by_size(state, sizes)
        candidates = BrokerCandidates(
            state, request, self._initial_scores(state, request, sizes), self.min_rack_ids, by_storage=True
        )
        old = replica_slots(state, request, is_stripped=self.force_rebuild)
        place = place_by_position if self.optimize == "distribution" else place_by_partition
        replicas = place(candidates, old, order, costs=(sizes * self.size_factor).tolist())
        if self.optimize == "storage":
            for n, row in enumerate(order):
                GoRandom(n << 20).shuffle(replicas[row])
        return Plan(PlanStatus.FEASIBLE), replicas

    def _initial_scores(self, state: ClusterState, request: PlanRequest, sizes: IntArray) -> list[int]:
        """Return the negated free bytes of each broker before any placement."""
        scores = (
            bytes_per_broker(state.replicas, sizes, len(state.brokers))
            + fixed_bytes_per_broker(state)
            - capacity_per_broker(state)
        )
        if self.force_rebuild:
            movable = replica_table(replica_slots(state, request, is_stripped=False))
            scores -= bytes_per_broker(movable, sizes, len(state.brokers))
        as_list: list[int] = scores.tolist()
        return as_list

    def _rebalance(self, state: ClusterState, request: PlanRequest, sizes: IntArray) -> tuple[Plan, ReplicaLists]:
        rules = self._rules(state, request, sizes)
        used = bytes_per_broker(state.replicas, sizes, len(state.brokers)) + fixed_bytes_per_broker(state)
        free = (capacity_per_broker(state) - used).tolist()
        brokers_to_relieve = find_short_brokers(rules, free, self.storage_threshold, self.storage_threshold_bytes)
        relocation = relocate(rules, free, brokers_to_relieve, self.tolerance)
        plan = Plan(
            PlanStatus.FEASIBLE,
            objective="range of free bytes",
            value=relocation.free_bytes_spread(rules.brokers)[0],
            notes=(f"tolerance {relocation.tolerance:.2f}",)
            if brokers_to_relieve
            else ("no broker is short of storage",),
        )
        return plan, relocation.apply_to(rules.replicas)

    def _rules(self, state: ClusterState, request: PlanRequest, sizes: IntArray) -> RelocationRules:
        is_rack_aware = request.rack_aware or self.locality_scoped
        return RelocationRules(
            replicas=replica_lists(state),
            sizes=sizes.tolist(),
            by_size=_by_size(state, sizes),
            brokers=np.flatnonzero(request.is_allowed(state)).tolist(),
            rack=state.rack.tolist() if is_rack_aware else [NO_RACK] * len(state.brokers),
            partition_limit=self.partition_limit,
            min_partition_bytes=self.min_partition_bytes,
            within_rack=self.locality_scoped,
        )


def _by_size(state: ClusterState, sizes: IntArray) -> list[int]:
    """Return the rows of partitions, the largest first; then by number, then by topic."""
    order: list[int] = np.lexsort((state.topic, state.partition, -sizes)).tolist()
    return order
