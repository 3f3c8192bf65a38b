"""Who owned which partition before, as the leader's sticky assignors see it, and what members own afterwards.

Source: `AbstractStickyAssignor.allSubscriptionsEqual`, `prepopulateCurrentAssignments` and `RackInfo` (KIP-881),
`SubscriptionState.assignFromSubscribed` and `PartitionStates.set`, kafka-clients 3.8 to 4.3;
`TargetAssignmentBuilder.build`, Kafka 4.0 to 4.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assignors.consumers.classic_group import NO_RACKS, ClassicGroup, PartitionRacks, needs_racks, racks_of_partitions
from assignors.consumers.registry import ConsumerAssignorInfo, ConsumerProtocol
from assignors.java.hash_order import JavaHashMap, string_hash, table_size_for
from assignors.model.consumer_group import NO_GENERATION, ConsumerAssignment, ConsumerGroupState, partition_of, topic_of


@dataclass(frozen=True, slots=True)
class StickyRacks:
    """The racks of a group.

    Attributes:
        is_used: whether racks matter at all.
        consumers: rack of each member by row; None for all if racks do not matter.
        partitions: racks of the replicas of each partition, by topic; empty if racks do not matter.
        consumers_in: number of members in each rack; empty if no member has a rack.
        replicas: racks of the replicas of each partition, by topic, whether racks matter or not.
    """

    is_used: bool
    consumers: Sequence[str | None]
    partitions: Mapping[int, PartitionRacks]
    consumers_in: Mapping[str, int]
    replicas: Mapping[int, PartitionRacks]

    @classmethod
    def of(cls, group: ClassicGroup) -> StickyRacks:
        """Compare the racks of members and replicas."""
        consumers_in = Counter(rack for rack in group.racks if rack is not None)
        if not consumers_in:
            return cls(False, (None,) * len(group.racks), {}, consumers_in, {})
        replicas = {topic: racks_of_partitions(group.state.topics[topic]) for topic in group.topics}
        if not needs_racks(consumers_in, replicas):
            return cls(False, (None,) * len(group.racks), {}, consumers_in, replicas)
        return cls(True, group.racks, replicas, consumers_in, replicas)

    def of_partition(self, key: int) -> frozenset[str]:
        """Return the racks of the replicas of a partition; none if it is unknown or racks do not matter."""
        racks = self.partitions.get(topic_of(key), ())
        partition = partition_of(key)
        return racks[partition] if partition < len(racks) else NO_RACKS

    def mismatch(self, consumer: int, key: int) -> bool:
        """Return whether the consumer has a rack, and no replica of the partition is in it."""
        rack = self.consumers[consumer]
        return rack is not None and rack not in self.of_partition(key)

    def fewest_consumers_first(self, keys: Sequence[int]) -> list[int]:
        """Return partitions sorted by the number of consumers in the racks of their replicas.

        Kafka sorts whenever a consumer has a rack, even if racks do not matter.
        """
        if not self.replicas:
            return list(keys)
        count = {
            racks: sum(self.consumers_in.get(rack, 0) for rack in racks)
            for of_topic in self.replicas.values()
            for racks in set(of_topic)
        }
        return sorted(keys, key=lambda key: count[self.replicas[topic_of(key)][partition_of(key)]])


def owned_after(
    info: ConsumerAssignorInfo, state: ConsumerGroupState, assignment: ConsumerAssignment
) -> tuple[tuple[int, ...], ...]:
    """Return `ConsumerGroupState.owned` of the next rebalance, if all members adopt the assignment and stay.

    `state`: the group before; `assignment`: the assignor's answer. Returns the keys of the partitions of each member.
    Members of eager assignors that are not sticky report none.
    """
    if info.protocol is ConsumerProtocol.CONSUMER:
        return assignment.stored_after(state)
    if not info.is_sticky:
        return ((),) * len(state.member_ids)
    if not info.is_cooperative:
        return assignment.partitions
    hashes = [string_hash(topic.name) for topic in state.topics]
    return tuple(_subscription_order(keys, hashes) for keys in assignment.partitions)


def _subscription_order(keys: Sequence[int], hashes: Sequence[int]) -> tuple[int, ...]:
    """Return partitions in the order in which a consumer lists its assignment: of a HashMap, grouped by topic."""
    assigned = JavaHashMap(table_size_for(len(keys)))
    for key in keys:
        assigned.put(key, (31 * (31 + partition_of(key)) + hashes[topic_of(key)]) & 0xFFFFFFFF)
    by_topic: dict[int, list[int]] = {}
    for key in assigned:
        by_topic.setdefault(topic_of(key), []).append(key)
    return tuple(key for listed in by_topic.values() for key in listed)


@dataclass(frozen=True, slots=True)
class MemberReport:
    """What a sticky assignor reads from a member's subscription (`AbstractStickyAssignor.MemberData`).

    Attributes:
        partitions: keys of the partitions that it owned.
        generation: their generation; None if the member reports none.
    """

    partitions: tuple[int, ...]
    generation: int | None


@dataclass(frozen=True, slots=True)
class PartitionClaims:
    """The previous assignment, without contradictions.

    Attributes:
        owned: keys of the partitions of subscribed topics that each member keeps its claim to, by row.
        claimed_twice: partitions that several members claim in the same generation.
        is_homogeneous: whether all members subscribe to the same topics. Members without topics before the first one
            with topics do not count, as in Kafka.
        max_generation: highest generation that any member reports now, or the leader's assignor saw before.
    """

    owned: tuple[list[int], ...]
    claimed_twice: frozenset[int]
    is_homogeneous: bool
    max_generation: int

    @classmethod
    def of(cls, group: ClassicGroup, reports: Sequence[MemberReport]) -> PartitionClaims:
        """Resolve conflicting claims: the higher generation wins; in the same generation, the last claim."""
        state, topics = group.state, frozenset(group.topics)
        owned: tuple[list[int], ...] = tuple([] for _ in state.member_ids)
        owner: dict[int, int] = {}
        claimed_twice: set[int] = set()
        max_generation = state.max_generation
        for member in group.members:
            report = reports[member]
            generation = NO_GENERATION if report.generation is None else report.generation
            max_generation = max(max_generation, generation)
            for key in report.partitions:
                if topic_of(key) not in topics:
                    continue
                other = owner.get(key)
                # Kafka compares with the generation in the other's subscription, not with that in its user data.
                others_generation = NO_GENERATION if other is None else max(state.generations[other], NO_GENERATION)
                if other is None:
                    owned[member].append(key)
                    owner[key] = member
                elif generation == others_generation:
                    claimed_twice.add(key)
                    _remove(owned[other], key)
                    owner[key] = member
                elif generation > others_generation:
                    owned[member].append(key)
                    _remove(owned[other], key)
                    owner[key] = member
        return cls(owned, frozenset(claimed_twice), _is_homogeneous(group), max_generation)


def _remove(keys: list[int], key: int) -> None:
    if key in keys:
        keys.remove(key)


def _is_homogeneous(group: ClassicGroup) -> bool:
    first: tuple[int, ...] = ()
    topics: frozenset[int] = frozenset()
    for member in group.members:
        rows = group.state.subscriptions[member]
        if not first:
            first, topics = rows, frozenset(rows)
        elif rows != first and (len(rows) != len(topics) or not topics.issuperset(rows)):
            return False
    return True


def owners_of_older_generations(
    group: ClassicGroup, reports: Sequence[MemberReport], max_generation: int
) -> dict[int, int]:
    """Return the member that owned each partition in the newest generation before the newest of all."""
    owners: dict[int, tuple[int, int]] = {}
    for member in group.members:
        report = reports[member]
        if report.generation is None:
            if max_generation <= NO_GENERATION:
                continue
            generation = NO_GENERATION
        elif report.generation < max_generation:
            generation = report.generation
        else:
            continue
        for key in report.partitions:
            if key not in owners or generation > owners[key][1]:
                owners[key] = member, generation
    return {key: member for key, (member, _) in owners.items()}
