"""topicmappr by storage: rebuild puts large partitions onto free brokers, rebalance moves them off full ones."""

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
from assignors.replicas.topicmappr.rebalance import RelocationRules, relocate, short_of_storage
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
    """Replace, or move, by bytes that are free.

    Free is what a broker takes less the replicas that the state says are on it: topics that are left out are unknown.
    To scale out, rebalance with a `storage_threshold` of 0: every broker that holds something then sheds.

    Guarantees:
        The tool's answer. What it leaves to chance is settled: partitions of one size and one number go by topic, and
        of rebalances that are equally good the one of the least tolerance is taken. Rebuilding keeps the replicas of
        brokers that stay, unless `force_rebuild` is set, and gives nobody more than is free, but for a defect of the
        tool's: one that `min_rack_ids` lets into a rack that is there already is not asked for its storage. Three
        other defects are mended: partitions of unlike replication factors lose no replicas, a place that nobody may
        take fails the plan instead of being left out, and a move within a rack goes neither to a broker that holds the
        partition nor to the tool's stand-in for one that is missing. Rebalancing takes no broker out of use.

    Priority:
        Nobody twice, then racks, then storage. Of many rebalances the least range of free bytes, then their deviation.

    Complexity:
        Rebuild O(P RF B); rebalance O(98 moves (B log B + partitions tried * B)).

    Source:
        DataDog/kafka-kit: `topicmappr rebuild --placement storage`, `topicmappr rebalance`, `topicmappr scale`;
        `mapper/partitions.go`, `cmd/topicmappr/commands/{reassignments,planner}.go`.

    Attributes:
        mode: rebuild replaces brokers that leave; rebalance moves replicas between those that stay.
        optimize_leadership: whether the lists are then sorted by the brokers' ratio of leaders to followers.
        optimize: rebuild's order: position by position for even leaders (distribution), or partition by partition and
            lists shuffled, those that did not change too (storage).
        force_rebuild: whether everything is placed anew.
        size_factor: what the size of a partition is multiplied by where it is placed anew.
        min_rack_ids: 0 if all replicas of a partition must be in different racks; otherwise the number of racks from
            which on they need not. Above 0, racks may be crowded. Rebuild only.
        storage_threshold: how far below the harmonic mean the free bytes of a broker are that rebalancing relieves; 0
            for all that hold something.
        storage_threshold_bytes: the same in free bytes, if it is not 0.
        tolerance: how far from the mean a move may bring a broker; 0 to try 0.01, 0.02 and so on to 0.98.
        partition_limit: how many of a broker's partitions are looked at, the largest first.
        min_partition_bytes: the least size that is moved.
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
        object.__setattr__(self, "capabilities", self._own_abilities())

    def _own_abilities(self) -> Capabilities:
        own = replace(_REBUILD, balances_leaders=self.optimize_leadership)
        if self.mode == "rebalance":
            return replace(
                own,
                raises_replication_factor=False,
                lowers_replication_factor=False,
                decommissions_brokers=False,
                is_idempotent=False,
            )
        keeps_order = self.optimize == "distribution" and not self.optimize_leadership
        return replace(own, is_rack_aware=self.min_rack_ids == 0, is_idempotent=keeps_order and not self.force_rebuild)

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Rebuild or rebalance."""
        canonical = CanonicalState.of(state)
        sizes = canonical.state.size_bytes
        if sizes is None:
            return Plan.without_replicas(PlanStatus.NOT_APPLICABLE, "it needs the sizes of partitions")
        answer = self._rebalance if self.mode == "rebalance" else self._rebuild
        try:
            found, replicas = answer(canonical.state, request, sizes)
        except NoBrokerError as error:
            needed = round(sizes[error.row] * self.size_factor)
            return error.as_plan(
                canonical.state, f"holds none yet, has {needed} bytes free and whose rack may take one"
            )
        if self.optimize_leadership:
            order_by_ratio(replicas, len(state.brokers))
        return replace(found, replicas=canonical.to_input_order(replica_table(replicas)))

    def _rebuild(self, state: ClusterState, request: PlanRequest, sizes: IntArray) -> tuple[Plan, ReplicaLists]:
        order = _by_size(state, sizes)
        candidates = BrokerCandidates(
            state, request, self._taken(state, request, sizes), self.min_rack_ids, by_storage=True
        )
        old = replica_slots(state, request, is_stripped=self.force_rebuild)
        place = place_by_position if self.optimize == "distribution" else place_by_partition
        replicas = place(candidates, old, order, costs=(sizes * self.size_factor).tolist())
        if self.optimize == "storage":
            for n, row in enumerate(order):
                GoRandom(n << 20).shuffle(replicas[row])
        return Plan(PlanStatus.FEASIBLE), replicas

    def _taken(self, state: ClusterState, request: PlanRequest, sizes: IntArray) -> list[int]:
        """By broker, the bytes that are free, negated, before anything is placed."""
        taken = (
            bytes_per_broker(state.replicas, sizes, len(state.brokers))
            + fixed_bytes_per_broker(state)
            - capacity_per_broker(state)
        )
        if self.force_rebuild:
            lifted = replica_table(replica_slots(state, request, is_stripped=False))
            taken -= bytes_per_broker(lifted, sizes, len(state.brokers))
        as_list: list[int] = taken.tolist()
        return as_list

    def _rebalance(self, state: ClusterState, request: PlanRequest, sizes: IntArray) -> tuple[Plan, ReplicaLists]:
        rules = self._rules(state, request, sizes)
        held = bytes_per_broker(state.replicas, sizes, len(state.brokers)) + fixed_bytes_per_broker(state)
        free = (capacity_per_broker(state) - held).tolist()
        short = short_of_storage(rules, free, self.storage_threshold, self.storage_threshold_bytes)
        found = relocate(rules, free, short, self.tolerance)
        answer = Plan(
            PlanStatus.FEASIBLE,
            objective="range of free bytes",
            value=found.spread(rules.members)[0],
            notes=(f"tolerance {found.tolerance:.2f}",) if short else ("no broker is short of storage",),
        )
        return answer, found.applied(rules.replicas)

    def _rules(self, state: ClusterState, request: PlanRequest, sizes: IntArray) -> RelocationRules:
        is_rack_aware = request.rack_aware or self.locality_scoped
        return RelocationRules(
            replicas=replica_lists(state),
            sizes=sizes.tolist(),
            by_size=_by_size(state, sizes),
            members=np.flatnonzero(request.is_allowed(state)).tolist(),
            rack=state.rack.tolist() if is_rack_aware else [NO_RACK] * len(state.brokers),
            partition_limit=self.partition_limit,
            min_partition_bytes=self.min_partition_bytes,
            within_rack=self.locality_scoped,
        )


def _by_size(state: ClusterState, sizes: IntArray) -> list[int]:
    """The rows of partitions, the largest first; then by number, then by topic."""
    order: list[int] = np.lexsort((state.topic, state.partition, -sizes)).tolist()
    return order
