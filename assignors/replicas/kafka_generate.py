"""The proposal of Kafka's own tool: every topic is placed anew, as if it were being created.

Guarantees: the requested number of replicas on different brokers, in as many racks as possible. The current replicas
are ignored, so nearly everything moves. Topics are placed independently, so the balance over topics is random. A seed
gives the same plan for every input order; the tool uses a new seed for every run.
Priority: as in `admin_utils`; striped: racks in rotation, then brokers in rotation within the rack.
Complexity: as in the placer; one pass over all partitions.
Source: `kafka-reassign-partitions.sh --generate`, `org.apache.kafka.tools.reassign.ReassignPartitionsCommand`
(`calculateAssignment`); `AdminUtils` up to Kafka 4.1, `StripedReplicaPlacer` after apache/kafka pull request 18914.

`place_striped` is the placement of a KRaft controller: new topics in stripes over racks, and over the brokers of each
rack. A partition's replicas are in as many racks as possible, spread evenly if the racks have enough brokers. Leaders
rotate over racks, not brokers: a broker in a small rack leads more partitions than one in a large rack. Its source is
`org.apache.kafka.metadata.placement.StripedReplicaPlacer`, without fenced brokers: a reassignment lists only available
brokers. It takes O(partitions · (replicas + racks)).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np

from assignors.java.hash_order import hash_order, string_hash
from assignors.java.java_random import JavaRandom
from assignors.model.columns import IntArray
from assignors.replicas.admin_utils import assign_replicas_to_brokers, check_numbers
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import ClusterState, replica_table, rows_by_topic


def place_striped(
    racks: Mapping[int, str | None], num_partitions: int, replication_factor: int, random: JavaRandom
) -> tuple[tuple[int, ...], ...]:
    """Choose the brokers of each partition, the preferred leader first.

    `racks`: the rack of every broker by id, None for a broker without a rack; such brokers count as one rack.
    `num_partitions`: at least 1. `replication_factor`: at least 1. `random`: the generator for the initial offsets, and
    for the order after each round over all brokers. Returns broker ids of each partition.
    """
    check_numbers(len(racks), num_partitions, replication_factor)
    stripes = _Stripes(racks, random)
    return tuple(stripes.place(replication_factor) for _ in range(num_partitions))


class _Rack:
    """The brokers of a rack in rotation: each once per partition; every partition starts one broker further."""

    def __init__(self, brokers: list[int], random: JavaRandom) -> None:
        self.brokers = sorted(brokers)
        self._offset = random.next_int(len(brokers))
        self._partition_number = 0
        self._num_taken = 0

    def take(self, partition_number: int) -> int | None:
        """Return the next broker for this partition; None if the partition has all of them."""
        if partition_number != self._partition_number:
            self._partition_number, self._num_taken = partition_number, 0
            self._offset = (self._offset + 1) % len(self.brokers)
        if self._num_taken == len(self.brokers):
            return None
        self._num_taken += 1
        return self.brokers[(self._num_taken - 1 + self._offset) % len(self.brokers)]


class _Stripes:
    """The racks in rotation."""

    def __init__(self, racks: Mapping[int, str | None], random: JavaRandom) -> None:
        by_rack: dict[str | None, list[int]] = {}
        for broker, rack in sorted(racks.items()):
            by_rack.setdefault(rack, []).append(broker)
        names = list(by_rack)
        # Kafka draws offsets in the order of a HashMap of racks, and takes brokers in the order of rack names.
        self._draw_order = [names[i] for i in hash_order([string_hash(name or "") for name in names])]
        self._racks = {name: _Rack(by_rack[name], random) for name in self._draw_order}
        self._names = sorted(names, key=lambda name: (name is not None, name or ""))
        self._num_brokers = len(racks)
        self._random = random
        self._partition_number = 0
        self._offset = random.next_int(len(names))

    def place(self, replication_factor: int) -> tuple[int, ...]:
        """Return the brokers of the next partition."""
        if self._partition_number == self._num_brokers > 1:
            self._shuffle()
        first, leader = self._take_leader()
        brokers = [leader]
        rack_index: int = self._offset
        skips_first = True
        while len(brokers) < replication_factor:
            if skips_first and rack_index == first:
                skips_first = False
            elif (broker := self._take(rack_index)) is not None:
                brokers.append(broker)
            rack_index = (rack_index + 1) % len(self._names)
        self._partition_number += 1
        self._offset = (self._offset + 1) % len(self._names)
        return tuple(brokers)

    def _take_leader(self) -> tuple[int, int]:
        """Return the first rack from the offset on with a broker left, and that broker."""
        rack_index = self._offset
        while (leader := self._take(rack_index)) is None:
            rack_index = (rack_index + 1) % len(self._names)
        return rack_index, leader

    def _take(self, rack_index: int) -> int | None:
        return self._racks[self._names[rack_index]].take(self._partition_number)

    def _shuffle(self) -> None:
        """Shuffle once every broker had a turn, so that partitions do not repeat the same brokers."""
        self._random.shuffle(self._names)
        for name in self._draw_order:
            self._random.shuffle(self._racks[name].brokers)
        self._partition_number = 0


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
