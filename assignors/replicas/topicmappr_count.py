"""topicmappr's rebuild by replica count: gaps go to the brokers that hold least."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from assignors.replicas.canonical import Canonical
from assignors.replicas.counts import count_replicas
from assignors.replicas.lists import replica_table
from assignors.replicas.plan import Abilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import ClusterState
from assignors.replicas.topicmappr.leadership import order_by_ratio
from assignors.replicas.topicmappr.placement import (
    Candidates,
    NoBrokerError,
    place_by_position,
    wanted_places,
)


@dataclass(frozen=True)
class TopicmapprCount:
    """Replace what must go, by count of replicas.

    Guarantees:
        The tool's answer, its shuffling included, wherever it comes to one. Two of its defects are mended: partitions
        of unlike replication factors lose no replicas, and a place that nobody may take fails the plan instead of
        being left out. The replicas of brokers that stay, stay, unless `force_rebuild` is set; so new brokers
        alone change nothing.

    Priority:
        Nobody twice, then racks, then staying, then count, then chance (the same chance every time).

    Complexity:
        O(P RF (B + shuffling those who hold equally much)).

    Source:
        DataDog/kafka-kit: `topicmappr rebuild --placement count`; `mapper/partitions.go` (`placeByPosition`).

    Attributes:
        force_rebuild: whether everything is placed anew, as if brokers were empty.
        min_rack_ids: 0 if all replicas of a partition must be in different racks; otherwise the number of racks from
            which on they need not. Above 0, racks may be crowded.
        optimize_leadership: whether the lists are then sorted by the brokers' ratio of leaders to followers.
    """

    force_rebuild: bool = False
    min_rack_ids: int = 0
    optimize_leadership: bool = False

    abilities: ClassVar[Abilities] = Abilities(
        balances_replicas=True,
        heeds_racks=True,
        grows=True,
        shrinks=True,
        drains=True,
        is_idempotent=True,
        is_order_free=True,
    )

    def __post_init__(self) -> None:
        if self.min_rack_ids < 0:
            raise ValueError(f"min_rack_ids {self.min_rack_ids} is less than 0")
        own = replace(
            self.abilities,
            heeds_racks=self.min_rack_ids == 0,
            balances_leaders=self.optimize_leadership,
            is_idempotent=not self.optimize_leadership,
        )
        object.__setattr__(self, "abilities", own)

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Fill the gaps position by position: all leaders, then all first followers, and so on."""
        told = Canonical.of(state)
        count = len(state.brokers)
        used = [0] * count if self.force_rebuild else count_replicas(told.state.replicas, count).tolist()
        candidates = Candidates(told.state, request, used, self.min_rack_ids, by_storage=False)
        old = wanted_places(told.state, request, is_stripped=self.force_rebuild)
        rows = range(state.num_partitions)
        try:
            new = place_by_position(candidates, old, rows, costs=[1] * len(rows))
        except NoBrokerError as error:
            return error.as_plan(told.state, "holds none yet and whose rack may take one")
        if self.optimize_leadership:
            order_by_ratio(new, count)
        return Plan(PlanStatus.FEASIBLE, told.told_back(replica_table(new)))
