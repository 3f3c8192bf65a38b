"""Kafka's sticky assignors of clients, and the sticky assignment where all members subscribe to the same topics.

Source: `AbstractStickyAssignor.ConstrainedAssignmentBuilder`, kafka-clients 3.8 to 4.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from assignors.consumers.classic_group import ClassicGroup
from assignors.consumers.general_assignment import GeneralAssignment
from assignors.consumers.previous_owners import MemberReport, PartitionClaims, StickyRacks, owners_of_older_generations
from assignors.errors import IllegalStateError
from assignors.java.hash_order import JavaHashMap, string_hash
from assignors.model.consumer_group import (
    NO_GENERATION,
    ConsumerAssignment,
    ConsumerGroupState,
    partition_key,
    partition_of,
    topic_of,
)


class ConstrainedAssignment:
    """Builds the assignment: keeps up to a member's share, then fills members in turn, within racks first.

    Attributes:
        assigned: keys of the partitions of each member, by row.
        transferred: next owner of each partition that another member must revoke first.
    """

    def __init__(self, group: ClassicGroup, owners: PartitionClaims, racks: StickyRacks) -> None:
        self.assigned: list[list[int]] = [[] for _ in group.member_rank]
        self.transferred: dict[int, int] = {}
        self._group, self._owners, self._racks = group, owners, racks
        total = sum(group.state.topics[topic].partitions for topic in group.topics)
        self._min, self._expected_over_min = divmod(total, len(group.members))
        self._max = self._min + (self._expected_over_min > 0)
        self._over_min = 0
        self._revoked: dict[int, int] = {}
        self._under: _MembersToFill = _MembersToFill(racks)
        self._exact: _MembersToFill = _MembersToFill(racks)

    def build(self) -> None:
        """Assign all partitions.

        Raises IllegalStateError if members own partitions that do not exist, which Kafka does not expect.
        """
        for member in self._group.members:
            self._keep_owned(member)
        for to_fill in (self._under, self._exact):
            to_fill.sort(self._group.member_rank)
        unassigned = self._racks.fewest_consumers_first(self._unassigned())
        if self._racks.is_used:
            unassigned = [key for key in unassigned if not self._assign_within_rack(key)]
        self._assign_in_turn(unassigned)
        self._verify()

    def _keep_owned(self, member: int) -> None:
        owned = []
        for key in self._owners.owned[member]:
            if self._racks.mismatch(member, key):
                self._revoked[key] = member
            else:
                owned.append(key)
        rank = self._group.topic_rank
        owned.sort(key=lambda key: (partition_of(key), rank[topic_of(key)]))
        twice = self._owners.claimed_twice
        if twice:
            for key in twice.intersection(owned):
                owned.remove(key)
        kept = len(owned)
        if kept < self._min:
            self._under.add(member)
        elif kept >= self._max and self._over_min < self._expected_over_min:
            kept = self._max
            self._count_over_min()
        else:
            kept = self._min
            if self._over_min < self._expected_over_min:
                self._exact.add(member)
        self.assigned[member].extend(owned[:kept])
        for key in owned[kept:]:
            self._revoked[key] = member

    def _count_over_min(self) -> None:
        self._over_min += 1
        if self._over_min == self._expected_over_min:
            self._exact.clear()

    def _unassigned(self) -> list[int]:
        """Return the partitions that are not kept, sorted by topic and partition.

        Kafka merges two sorted lists, and loses its position at a kept partition that does not exist: what follows is
        unassigned although it is kept.
        """
        topics, rank = self._group.state.topics, self._group.topic_rank
        kept = [key for keys in self.assigned for key in keys]
        order = sorted(self._group.topics, key=rank.__getitem__)
        every = (partition_key(topic, p) for topic in order for p in range(topics[topic].partitions))
        if all(partition_of(key) < topics[topic_of(key)].partitions for key in kept):
            keep = set(kept)
            return [key for key in every if key not in keep]
        return _merged(every, sorted(kept, key=lambda key: (rank[topic_of(key)], partition_of(key))))

    def _assign_within_rack(self, key: int) -> bool:
        racks = self._racks.of_partition(key)
        position = self._under.next_in(racks)
        if position is not None:
            member = self._under.members[position]
            size = len(self.assigned[member]) + 1
            if size >= self._min:
                self._under.remove_at(position)
                if size < self._max and self._over_min < self._expected_over_min:
                    self._exact.add(member)
            else:
                position += 1
            self._under.start = position % len(self._under.members) if self._under.members else 0
        else:
            position = self._exact.next_in(racks)
            if position is None:
                return False
            member = self._exact.members[position]
            if len(self.assigned[member]) + 1 == self._max:
                self._exact.remove_at(position)
                self._count_over_min()
        self._assign(key, member)
        return True

    def _assign_in_turn(self, keys: Iterable[int]) -> None:
        under, exact = self._under.members, self._exact.members
        turn, next_exact = 0, 0
        for key in keys:
            if turn < len(under):
                member = under[turn]
                turn += 1
            elif under:
                member = under[0]
                turn = 1
            elif next_exact < len(exact):
                member = exact[next_exact]
                next_exact += 1
            else:
                raise IllegalStateError("No more unfilled consumers to be assigned.")
            self._assign(key, member)
            size = len(self.assigned[member])
            if size == self._min:
                turn -= 1
                del under[turn]
                exact.append(member)
            elif size == self._max:
                self._over_min += 1

    def _assign(self, key: int, member: int) -> None:
        self.assigned[member].append(key)
        if self._revoked.get(key, member) != member or key in self._owners.claimed_twice:
            self.transferred[key] = member

    def _verify(self) -> None:
        if not self._under.members:
            return
        if self._over_min != self._expected_over_min:
            raise IllegalStateError(
                "We haven't reached the expected number of members with more than the minQuota partitions, but no more "
                "partitions to be assigned"
            )
        for member in self._under.members:
            if len(self.assigned[member]) != self._min:
                member_id = self._group.state.member_ids[member]
                raise IllegalStateError(
                    f"Consumer: [{member_id}] doesn't reach minQuota partitions, and no more partitions to be assigned"
                )


class _MembersToFill:
    """A list of members that can get more partitions, which is searched by rack from a position on."""

    def __init__(self, racks: StickyRacks) -> None:
        self.members: list[int] = []
        self.start = 0
        self._rack = racks.consumers
        self._number_in: Counter[str | None] = Counter()

    def add(self, member: int) -> None:
        self.members.append(member)
        self._number_in[self._rack[member]] += 1

    def clear(self) -> None:
        self.members.clear()
        self._number_in.clear()

    def remove_at(self, position: int) -> None:
        self._number_in[self._rack[self.members.pop(position)]] -= 1

    def sort(self, rank: Sequence[int]) -> None:
        self.members.sort(key=rank.__getitem__)

    def next_in(self, racks: frozenset[str]) -> int | None:
        """Return the position of the next member in one of the racks, circularly; None if there is none."""
        if not any(self._number_in[rack] for rack in racks):
            return None
        members, rack = self.members, self._rack
        positions = chain(range(self.start, len(members)), range(self.start))
        return next(position for position in positions if rack[members[position]] in racks)


def _merged(every: Iterable[int], kept: list[int]) -> list[int]:
    remaining = iter(kept)
    following = next(remaining)
    unassigned = []
    for key in every:
        if key != following:
            unassigned.append(key)
        else:
            following = next(remaining, -1)
    return unassigned


@dataclass(frozen=True, slots=True)
class ConsumerSticky:
    """Keeps the previous assignment where balance permits, under the eager protocol.

    Guarantees: shares differ by at most one partition if all members subscribe to the same topics; otherwise, no single
    move improves the balance. Members report what they owned in their user data.
    Priority: balance, racks (only if some replicas are not in every rack), stickiness. The newest generation wins where
    two members claim a partition.
    Complexity: O(P log P + M log M) for P partitions and M members with the same subscription; otherwise
    O(P S) per pass over the partitions, for S subscriptions of members to topics.
    Source: `org.apache.kafka.clients.consumer.StickyAssignor`, KIP-54, KIP-341, KIP-881; kafka-clients 3.8 to 4.3.
    """

    def assign(self, state: ConsumerGroupState) -> ConsumerAssignment:
        """Return the partitions of each member; raise KafkaError if Kafka's assignor throws for this state."""
        group = ClassicGroup.of(state)
        hashes = [string_hash(topic.name) for topic in state.topics]
        reports = [
            MemberReport(_grouped_by_topic(keys, hashes), generation)
            for keys, generation in zip(state.owned, state.user_data_generations, strict=True)
        ]
        assigned, _ = assign_sticky(group, reports)
        return ConsumerAssignment(tuple(map(tuple, assigned)))


def assign_sticky(
    group: ClassicGroup, reports: Sequence[MemberReport]
) -> tuple[list[list[int]], dict[int, int] | None]:
    """Return the partitions of each member, and the next owner of each partition that must be revoked first.

    The second is None if the members subscribe to different topics: Kafka's general algorithm does not track it.
    """
    if not group.members:
        return [], {}
    racks = StickyRacks.of(group)
    owners = PartitionClaims.of(group, reports)
    if owners.is_homogeneous:
        constrained = ConstrainedAssignment(group, owners, racks)
        constrained.build()
        return constrained.assigned, constrained.transferred
    older = owners_of_older_generations(group, reports, owners.max_generation)
    return GeneralAssignment(group, owners, racks, older).build(), None


def _grouped_by_topic(keys: tuple[int, ...], hashes: Sequence[int]) -> tuple[int, ...]:
    """Return partitions in the order of user data: grouped by topic, topics in the order of a HashMap.

    Source: `CollectionUtils.groupPartitionsByTopic`.
    """
    by_topic: dict[int, list[int]] = {}
    topics = JavaHashMap()
    for key in keys:
        topic = topic_of(key)
        topics.compute_if_absent(topic, hashes[topic])
        by_topic.setdefault(topic, []).append(key)
    return tuple(key for topic in topics for key in by_topic[topic])


@dataclass(frozen=True, slots=True)
class ConsumerCooperativeSticky:
    """The sticky assignment under the cooperative protocol: a partition that changes its owner waits for a follow-up.

    Guarantees: those of `ConsumerSticky` once no partition is withheld. No partition is assigned to a member while
    another member owns it.
    Priority: as `ConsumerSticky`.
    Complexity: as `ConsumerSticky`.
    Source: `org.apache.kafka.clients.consumer.CooperativeStickyAssignor`, KIP-429, KIP-792; kafka-clients 3.8 to 4.3.
    """

    def assign(self, state: ConsumerGroupState) -> ConsumerAssignment:
        """Return the partitions of each member, without those that another member must revoke first.

        Raises KafkaError if Kafka's assignor throws for this state.
        """
        group = ClassicGroup.of(state)
        assigned, transferred = assign_sticky(group, [_report_of(state, m) for m in range(len(state.member_ids))])
        if transferred is None:
            transferred = _changes_of_owner(group, assigned)
        for key, member in transferred.items():
            assigned[member].remove(key)
        return ConsumerAssignment(tuple(map(tuple, assigned)), tuple(sorted(transferred.items())))


def _report_of(state: ConsumerGroupState, member: int) -> MemberReport:
    """Return what the subscription says; the generation of old clients is in their user data."""
    generation = state.generations[member]
    if generation > NO_GENERATION:
        return MemberReport(state.owned[member], generation)
    return MemberReport(state.owned[member], state.user_data_generations[member])


def _changes_of_owner(group: ClassicGroup, assigned: list[list[int]]) -> dict[int, int]:
    """Return the new owner of each partition that one member gains and another one loses."""
    gained: dict[int, int] = {}
    lost: set[int] = set()
    for member in group.members:
        keys, owned = assigned[member], set(group.state.owned[member])
        gained.update((key, member) for key in keys if key not in owned)
        lost |= owned.difference(keys)
    return {key: member for key, member in gained.items() if key in lost}
