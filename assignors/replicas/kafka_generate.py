"""The proposal of Kafka's own tool: every topic is placed anew, as if it were being created.

Guarantees: the requested number of replicas on different brokers, in as many racks as possible. The current replicas are
ignored, so nearly everything moves. Topics are placed independently, so the balance over topics is random. A seed gives
the same plan for every input order; the tool uses a new seed for every run.
Priority: as in the placer, `admin_utils` or `striped_placer`.
Complexity: as in the placer; one pass over all partitions.
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
    """Kafka's two methods to place a new topic."""

    ADMIN_UTILS = "admin_utils"
    STRIPED = "striped"


@dataclass(frozen=True, slots=True)
class KafkaGenerate:
    """The proposal of `kafka-reassign-partitions.sh --generate`.

    It fails if the tool's proposal is invalid: without a requested factor, the tool gives all partitions of a topic the
    factor of one of them. With at least two more replicas than racks it may exceed rack limits, as the tool does.

    Attributes:
        placer: the method; a `Placer` or its value.
        seed: the random seed; each topic has a random stream of its own.
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
            raise ValueError(f"unknown placer '{self.placer}' (placers: {', '.join(Placer)})")

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose replicas as the tool does."""
        row_of_id = {state.brokers[i].id: i for i in np.flatnonzero(request.is_allowed(state)).tolist()}
        is_rack_aware = request.is_rack_aware(state)
        racks = {broker: state.brokers[i].rack if is_rack_aware else None for broker, i in row_of_id.items()}
        factors, numbers = request.factors(state), state.partition.tolist()
        replicas: list[tuple[int, ...]] = [()] * state.num_partitions
        for topic, rows in rows_by_topic(state):
            ordered = sorted(rows, key=numbers.__getitem__)
            for partition in ordered:
                if factors[partition] != factors[ordered[0]]:
                    return Plan.without_replicas(
                        PlanStatus.FAILED, _mixed_factors_message(state, factors, partition, ordered[0])
                    )
            proposed = self._place(topic, racks, len(ordered), int(factors[ordered[0]]))
            for partition, brokers in zip(ordered, proposed, strict=True):
                replicas[partition] = tuple(row_of_id[broker] for broker in brokers)
        return Plan(PlanStatus.FEASIBLE, replica_table(replicas))

    def _place(
        self, topic: str, racks: Mapping[int, str | None], num_partitions: int, replication_factor: int
    ) -> tuple[tuple[int, ...], ...]:
        random = _random(self.seed, topic)
        if self.placer == Placer.STRIPED:
            return place_striped(racks, num_partitions, replication_factor, random)
        start, shift = random.next_int(len(racks)), random.next_int(len(racks))
        return assign_replicas_to_brokers(racks, num_partitions, replication_factor, start, shift)


def _random(seed: int, topic: str) -> JavaRandom:
    """Return a generator for one topic, independent of other topics."""
    return JavaRandom(int.from_bytes(hashlib.sha256(f"{seed}\x1f{topic}".encode()).digest()[:8]))


def _mixed_factors_message(state: ClusterState, factors: IntArray, row: int, first: int) -> str:
    """Return why a topic's partitions cannot be placed together."""
    return (
        f"{state.name(row)}: replication factor {factors[row]} differs from {factors[first]} of {state.name(first)}; "
        "the tool uses one factor per topic"
    )
