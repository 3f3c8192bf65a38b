"""What Kafka's own tool proposes: every topic placed anew, as if it were just being created.

Guarantees: the right number of replicas on different brokers, in as many racks as possible. It does not look at who
holds what, so nearly everything moves; it does not look at other topics either, which are even among each other by
chance only. With one seed the answer is always the same, in whatever order the cluster is told; the tool draws anew
every time it is run.
Priority: as the placer's, `admin_utils` or `striped_placer`.
Complexity: as the placer's; it goes through each partition once.
Source: `kafka-reassign-partitions.sh --generate`, `org.apache.kafka.tools.reassign.ReassignPartitionsCommand`
(`calculateAssignment`); `AdminUtils` up to Kafka 4.1, `StripedReplicaPlacer` after apache/kafka pull request 18914.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np

from assignors.java.java_random import JavaRandom
from assignors.model.columns import IntArray
from assignors.replicas.admin_utils import assign_replicas_to_brokers
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.replica_lists import replica_table, rows_by_topic
from assignors.replicas.state import ClusterState
from assignors.replicas.striped_placer import place_striped


class Placer(StrEnum):
    """Which of Kafka's two ways to place a new topic."""

    ADMIN_UTILS = "admin_utils"
    STRIPED = "striped"


@dataclass(frozen=True, slots=True)
class KafkaGenerate:
    """The proposal of `kafka-reassign-partitions.sh --generate`.

    It fails where the tool's proposal is no plan: without a requested factor, the tool gives all partitions of a topic
    as many replicas as one of them has, which may be wrong for others. With at least two replicas more than racks, it
    may put more than their share of them in one, as the tool does.

    Attributes:
        placer: how topics are placed; a `Placer` or its value.
        seed: draws, for each topic by itself, what the tool draws.
    """

    placer: str = Placer.ADMIN_UTILS
    seed: int = 0

    capabilities: ClassVar[Capabilities] = Capabilities(
        balances_replicas=True,
        is_rack_aware=True,
        may_exceed_rack_limit=True,
        balances_leaders=True,
        spreads_failover=True,
        raises_replication_factor=True,
        lowers_replication_factor=True,
        decommissions_brokers=True,
    )

    def __post_init__(self) -> None:
        if self.placer not in set(Placer):
            raise ValueError(f"placer '{self.placer}' is not there (placers: {', '.join(Placer)})")

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose as the tool does."""
        row = {state.brokers[i].id: i for i in np.flatnonzero(request.is_allowed(state)).tolist()}
        is_rack_aware = request.is_rack_aware(state)
        racks = {broker: state.brokers[i].rack if is_rack_aware else None for broker, i in row.items()}
        factors, numbers = request.factors(state), state.partition.tolist()
        placed: list[tuple[int, ...]] = [()] * state.num_partitions
        for topic, rows in rows_by_topic(state):
            ordered = sorted(rows, key=numbers.__getitem__)
            for partition in ordered:
                if factors[partition] != factors[ordered[0]]:
                    return Plan.without_replicas(PlanStatus.FAILED, _uneven(state, factors, partition, ordered[0]))
            proposed = self._place(topic, racks, len(ordered), int(factors[ordered[0]]))
            for partition, brokers in zip(ordered, proposed, strict=True):
                placed[partition] = tuple(row[broker] for broker in brokers)
        return Plan(PlanStatus.FEASIBLE, replica_table(placed))

    def _place(
        self, topic: str, racks: Mapping[int, str | None], num_partitions: int, replication_factor: int
    ) -> tuple[tuple[int, ...], ...]:
        random = _random(self.seed, topic)
        if self.placer == Placer.STRIPED:
            return place_striped(racks, num_partitions, replication_factor, random)
        start, shift = random.next_int(len(racks)), random.next_int(len(racks))
        return assign_replicas_to_brokers(racks, num_partitions, replication_factor, start, shift)


def _random(seed: int, topic: str) -> JavaRandom:
    """Numbers for one topic; what is drawn for the others makes no difference to them."""
    return JavaRandom(int.from_bytes(hashlib.sha256(f"{seed}\x1f{topic}".encode()).digest()[:8]))


def _uneven(state: ClusterState, factors: IntArray, row: int, first: int) -> str:
    """Why a topic's partitions cannot be placed together."""
    return (
        f"{state.name(row)}: replication factor {factors[row]}, but the tool has one factor a topic, "
        f"and {state.name(first)} has {factors[first]}"
    )
