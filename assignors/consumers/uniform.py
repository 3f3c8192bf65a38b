"""Kafka's uniform and range assignors of brokers (KIP-848).

A group coordinator stores and copies target assignments as maps of sets. Java's iteration orders decide which
partitions a member gives up, and in which order the next record lists them.

Source: `UniformHomogeneousAssignmentBuilder` if all members subscribe to the same topics, else
`UniformHeterogeneousAssignmentBuilder`; Kafka 4.0.0 to 4.4.0. `TargetAssignmentBuilder.build`, `GroupSpecImpl`,
`TopicIds`, `org.apache.kafka.coordinator.group.modern.Assignment.fromRecord`, `AssignorHelpers.deepCopyAssignment`,
`GroupCoordinatorRecordHelpers.newConsumerGroupTargetAssignmentRecord`; Kafka 4.0 to 4.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from assignors.consumers.classic_group import sorted_static_first
from assignors.errors import PartitionAssignorError
from assignors.java.hash_order import (
    DEFAULT_CAPACITY,
    JavaHashMap,
    copied_capacity,
    hash_order,
    in_hash_order,
    string_hash,
    string_ranks,
    table_size_for,
)
from assignors.model.consumer_group import (
    ConsumerAssignment,
    ConsumerGroupState,
    SubscriptionType,
    partition_key,
    partition_of,
    topic_of,
)
from assignors.model.ids import TopicId


@dataclass(frozen=True, slots=True)
class BrokerGroup:
    """The orders of a group's members and subscriptions.

    Attributes:
        members: rows of the members in the order of the coordinator's HashMap.
        subscribed: the topics that exist of each distinct subscription, in the order of the HashSet of its names.
    """

    state: ConsumerGroupState
    members: tuple[int, ...]
    subscribed: dict[tuple[int, ...], tuple[int, ...]]

    @classmethod
    def of(cls, state: ConsumerGroupState) -> BrokerGroup:
        """Compute the orders."""
        members = hash_order([string_hash(member_id) for member_id in state.member_ids])
        hashes = [string_hash(topic.name) for topic in state.topics]
        subscribed = {}
        for rows in dict.fromkeys(state.subscriptions):
            names = list(dict.fromkeys(rows))
            order = hash_order([hashes[topic] for topic in names], copied_capacity(len(rows)))
            subscribed[rows] = tuple(names[at] for at in order if state.topics[names[at]].partitions)
        return cls(state, tuple(members), subscribed)

    def topics_of(self, member: int) -> tuple[int, ...]:
        """Return the existing topics to which a member subscribes."""
        return self.subscribed[self.state.subscriptions[member]]


_MASK_32 = 0xFFFFFFFF
_MASK_64 = 0xFFFFFFFFFFFFFFFF


def topic_id_hash(topic_id: TopicId) -> int:
    """Return `Uuid.hashCode()` as an unsigned 32-bit number."""
    folded = (topic_id.most_significant_bits ^ topic_id.least_significant_bits) & _MASK_64
    return (folded >> 32) ^ (folded & _MASK_32)


def topic_hashes(state: ConsumerGroupState) -> list[int]:
    """Return the hash code of each topic's id, by row."""
    return [topic_id_hash(topic.id_or_default()) for topic in state.topics]


def set_order(partitions: Sequence[int], capacity: int) -> Sequence[int]:
    """Return partitions in the order of a HashSet of `capacity` bins that is filled with them."""
    if all(partition < capacity for partition in partitions):
        return sorted(partitions)
    filled = JavaHashMap(capacity)
    filled.add_all(partitions)
    return list(filled)


Topics = list[tuple[int, Sequence[int]]]
"""Topics with their partitions, in iteration order."""


def stored_topics(keys: Sequence[int], hashes: Sequence[int]) -> Topics:
    """Return the topics and partitions of a record in the order in which the coordinator iterates them."""
    by_topic: dict[int, list[int]] = {}
    for key in keys:
        by_topic.setdefault(topic_of(key), []).append(partition_of(key))
    topics = list(by_topic)
    order = hash_order([hashes[topic] for topic in topics]) if len(topics) > 1 else range(len(topics))
    return [(topics[at], set_order(by_topic[topics[at]], copied_capacity(len(by_topic[topics[at]])))) for at in order]


def keys_of(topics: Topics) -> tuple[int, ...]:
    """Return the keys of partitions in iteration order."""
    return tuple(partition_key(topic, partition) for topic, partitions in topics for partition in partitions)


class AssignmentCopy:
    """A deep copy of a member's assignment, which can be changed.

    `hashes`: hash codes of all topics.
    """

    def __init__(self, topics: Topics, hashes: Sequence[int]) -> None:
        self._hashes = hashes
        self._topics = JavaHashMap(table_size_for(len(topics)))
        self._partitions: dict[int, JavaHashMap] = {}
        for topic, partitions in topics:
            self._topics.put(topic, hashes[topic])
            copy = self._partitions[topic] = JavaHashMap(copied_capacity(len(partitions)))
            copy.add_all(partitions)

    def add(self, topic: int, partition: int, capacity: int) -> None:
        """Add a partition; the set of a topic without partitions starts with `capacity` bins."""
        if self._topics.compute_if_absent(topic, self._hashes[topic]):
            self._partitions[topic] = JavaHashMap(capacity)
        self._partitions[topic].put(partition, partition)

    def remove(self, topic: int, partition: int) -> None:
        """Remove a partition, and its topic if it was the last one."""
        if topic in self._partitions:
            self._partitions[topic].remove(partition)
            if not len(self._partitions[topic]):
                self.remove_topic(topic)

    def remove_topic(self, topic: int) -> None:
        """Remove all partitions of a topic."""
        self._topics.remove(topic)
        self._partitions.pop(topic, None)

    def __iter__(self) -> Iterator[tuple[int, list[int]]]:
        return ((topic, list(self._partitions[topic])) for topic in self._topics)


NO_MEMBER = -1
"""Answer of `next_most_loaded` if no member can give up a partition."""


class MemberBalancer:
    """Picks the least and the most loaded subscribers of a topic in turn: two ranges that move towards each other.

    Each range starts with one load. Once each member of the range was picked, the load of the range changes by one, and
    the range grows by the members that have this load. `sizes`: number of partitions of each member, by index; read,
    not changed.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = sizes
        self._members: list[int] = []
        self._least_end = self._least_size = self._next_least = 0
        self._most_start = self._most_end = self._most_size = self._next_most = 0

    def initialize(self, members: Sequence[int]) -> int:
        """Start with new members, ascending; return the difference between the highest and the lowest load."""
        sizes = self._sizes
        self._members = sorted(members, key=sizes.__getitem__)
        lowest, highest = sizes[self._members[0]], sizes[self._members[-1]]
        self._least_end, self._least_size, self._next_least = 0, lowest - 1, 0
        self._most_start = self._most_end = len(self._members)
        self._most_size, self._next_most = highest + 1, len(self._members) - 1
        return highest - lowest

    def next_least_loaded(self) -> int:
        """Return the member that gets the next partition."""
        if self._next_least >= self._least_end:
            self._least_size += 1
            while self._least_end < len(self._members) and self._size_at(self._least_end) == self._least_size:
                self._least_end += 1
            self._next_least = 0
        member = self._members[self._next_least]
        self._next_least += 1
        return member

    def next_most_loaded(self) -> int:
        """Return the member that gives up the next partition; NO_MEMBER if there is none."""
        if self._next_most < self._most_start:
            if self._most_end <= self._most_start > 0:
                self._most_size = self._size_at(self._most_start - 1)
            else:
                self._most_size -= 1
            while self._most_start > 0 and self._size_at(self._most_start - 1) == self._most_size:
                self._most_start -= 1
            self._next_most = self._most_end - 1
        if self._next_most < 0:
            return NO_MEMBER
        member = self._members[self._next_most]
        self._next_most -= 1
        return member

    def exclude_most_loaded(self) -> None:
        """Exclude the member that `next_most_loaded` returned last."""
        position, last = self._next_most + 1, self._most_end - 1
        self._members[position], self._members[last] = self._members[last], self._members[position]
        self._most_end = last

    def is_balanced(self) -> bool:
        """Return whether the loads of the two ranges differ by at most one."""
        return self._most_size - self._least_size <= 1

    def _size_at(self, position: int) -> int:
        return self._sizes[self._members[position]]


_MAX_PASSES = 16
_UNASSIGNED = -1


class HeterogeneousAssignment:
    """The assignment of members that subscribe to different topics.

    It drops topics without subscription, gives away free partitions, then balances by topic.

    Members are numbered in the order of the coordinator's map.
    """

    def __init__(self, group: BrokerGroup) -> None:
        self._group = group
        self._hashes = topic_hashes(group.state)
        self._subscribers: dict[int, list[int]] = {}
        for number, member in enumerate(group.members):
            for topic in group.topics_of(member):
                self._subscribers.setdefault(topic, []).append(number)
        topics = group.state.topics
        self._owners = {topic: [_UNASSIGNED] * topics[topic].partitions for topic in self._subscribers}
        self._stored: list[Topics] = [[] for _ in group.members]
        self._copies: dict[int, AssignmentCopy] = {}
        self._sizes = [0] * len(group.members)
        self._capacities = {topic: self._set_capacity(topic) for topic in self._subscribers}

    def build(self) -> tuple[tuple[int, ...], ...]:
        """Return the partitions of each member, by row."""
        assigned: list[tuple[int, ...]] = [()] * len(self._group.members)
        if not self._subscribers:
            return tuple(assigned)
        for number in range(len(self._group.members)):
            self._keep(number)
        self._assign_free()
        self._balance([topic for topic, members in self._subscribers.items() if len(members) >= 2])
        for number, member in enumerate(self._group.members):
            copy = self._copies.get(number)
            assigned[member] = keys_of(self._stored[number] if copy is None else list(copy))
        return tuple(assigned)

    def _set_capacity(self, topic: int) -> int:
        subscribers = len(self._subscribers[topic])
        estimate = (self._group.state.topics[topic].partitions + subscribers - 1) // subscribers
        return table_size_for(int(estimate / 0.75 + 1))

    def _keep(self, number: int) -> None:
        member = self._group.members[number]
        topics = stored_topics(self._group.state.owned[member], self._hashes)
        subscribed = frozenset(self._group.topics_of(member))
        self._stored[number] = topics
        for topic, partitions in topics:
            if topic not in subscribed:
                self._copy(number).remove_topic(topic)
                continue
            self._sizes[number] += len(partitions)
            owners = self._owners[topic]
            for partition in partitions:
                owners[partition] = number

    def _copy(self, number: int) -> AssignmentCopy:
        if number not in self._copies:
            self._copies[number] = AssignmentCopy(self._stored[number], self._hashes)
        return self._copies[number]

    def _sorted(self, topics: Iterable[int]) -> list[int]:
        """Return topics with most partitions per subscriber first, then with fewest subscribers, then by topic id."""
        described = self._group.state.topics
        number = {topic: len(self._subscribers[topic]) for topic in topics}
        return sorted(
            number,
            key=lambda topic: (
                -described[topic].partitions / number[topic],
                number[topic],
                described[topic].id_or_default(),
            ),
        )

    def _assign_free(self) -> None:
        free = {
            topic: [partition for partition, owner in enumerate(owners) if owner == _UNASSIGNED]
            for topic, owners in self._owners.items()
            if _UNASSIGNED in owners
        }
        balancer = MemberBalancer(self._sizes)
        for topic in self._sorted(free):
            balancer.initialize(self._subscribers[topic])
            for partition in free[topic]:
                self._assign(topic, partition, balancer.next_least_loaded())

    def _assign(self, topic: int, partition: int, number: int) -> None:
        owners = self._owners[topic]
        if owners[partition] != _UNASSIGNED:
            self._copy(owners[partition]).remove(topic, partition)
            self._sizes[owners[partition]] -= 1
        self._copy(number).add(topic, partition, self._capacities[topic])
        owners[partition] = number
        self._sizes[number] += 1

    def _balance(self, topics: list[int]) -> None:
        """Balance topic by topic until a whole pass changes nothing, or for 16 passes."""
        order, balancer = self._sorted(topics), MemberBalancer(self._sizes)
        last_changed = -1
        for _ in range(_MAX_PASSES):
            for position, topic in enumerate(order):
                if position == last_changed:
                    return
                if self._balance_topic(topic, balancer) or last_changed == -1:
                    last_changed = position

    def _balance_topic(self, topic: int, balancer: MemberBalancer) -> bool:
        """Move partitions from the most to the least loaded subscribers; return whether one moved."""
        if balancer.initialize(self._subscribers[topic]) <= 1:
            return False
        owned: dict[int, list[int]] = {}
        for partition, owner in enumerate(self._owners[topic]):
            owned.setdefault(owner, []).append(partition)
        is_changed = False
        while not balancer.is_balanced():
            while (giver := balancer.next_most_loaded()) != NO_MEMBER and not owned.get(giver):
                balancer.exclude_most_loaded()
            if giver == NO_MEMBER:
                break
            partition = owned[giver].pop()
            taker = balancer.next_least_loaded()
            if balancer.is_balanced():
                break
            self._assign(topic, partition, taker)
            is_changed = True
        return is_changed


class HomogeneousAssignment:
    """The assignment of members that all subscribe to the same topics.

    Members keep up to their share, and get free partitions in the order of the map. `gives_up_extra` says whether a
    member that owns less than the larger share leaves it to members that own more, as from Kafka 4.0.1.
    """

    def __init__(self, group: BrokerGroup, *, gives_up_extra: bool) -> None:
        self._group, self._gives_up_extra = group, gives_up_extra
        self._hashes = topic_hashes(group.state)
        subscription = group.state.subscriptions[group.members[0]]
        self._topics = in_hash_order(
            group.subscribed[subscription], self._hashes, copied_capacity(len(frozenset(subscription)))
        )
        self._subscribed = frozenset(self._topics)
        self._stored: list[tuple[int, ...]] = [()] * len(group.members)
        self._copies: dict[int, AssignmentCopy] = {}
        self._free: list[int] = []
        self._unfilled: list[tuple[int, int]] = []
        self._share = self._larger_shares = 0

    def build(self) -> tuple[tuple[int, ...], ...]:
        """Return the partitions of each member, by row; raise PartitionAssignorError if partitions are left."""
        if not self._topics:
            return tuple(self._stored)
        topics = self._group.state.topics
        taken = {key for keys in self._group.state.owned for key in keys}
        every = [partition_key(topic, p) for topic in self._topics for p in range(topics[topic].partitions)]
        self._free = [key for key in every if key not in taken]
        self._share, self._larger_shares = divmod(len(every), len(self._group.members))
        for position, member in enumerate(self._group.members):
            self._keep(member, len(self._group.members) - position)
        self._fill()
        for member, copy in self._copies.items():
            self._stored[member] = keys_of(list(copy))
        return tuple(self._stored)

    def _keep(self, member: int, members_left: int) -> None:
        """Revoke what exceeds the share of a member; `members_left` counts it and those after it."""
        topics = stored_topics(self._group.state.owned[member], self._hashes)
        takes_extra = self._larger_shares > 0
        quota = self._share + takes_extra
        copy: AssignmentCopy | None = None
        for topic, partitions in topics:
            if topic not in self._subscribed:
                copy = copy or AssignmentCopy(topics, self._hashes)
                copy.remove_topic(topic)
                continue
            kept = min(quota, len(partitions))
            quota -= kept
            for partition in partitions[kept:]:
                copy = copy or AssignmentCopy(topics, self._hashes)
                copy.remove(topic, partition)
                self._free.append(partition_key(topic, partition))
        if quota > 0 and takes_extra and self._gives_up_extra and members_left > self._larger_shares:
            quota -= 1
            takes_extra = False
        if quota > 0:
            self._unfilled.append((member, quota))
        self._larger_shares -= takes_extra
        if copy is None:
            self._stored[member] = keys_of(topics)
        else:
            self._copies[member] = copy

    def _fill(self) -> None:
        """Give the free partitions to the members with room, each of which gets consecutive ones."""
        position = 0
        for member, quota in self._unfilled:
            copy = self._copies.get(member)
            if copy is None:
                topics = stored_topics(self._group.state.owned[member], self._hashes)
                copy = self._copies[member] = AssignmentCopy(topics, self._hashes)
            for key in self._free[position : position + quota]:
                copy.add(topic_of(key), partition_of(key), DEFAULT_CAPACITY)
            position += quota
        if position < len(self._free):
            raise PartitionAssignorError("Partitions were left unassigned")


_FIRST_RELEASE = "4.0.0"


@dataclass(frozen=True, slots=True)
class BrokerUniform:
    """Keeps the target assignment where balance permits.

    `release`: Kafka release: 4.0.0, or any later one, which all give the same answers.

    Guarantees: shares differ by at most one partition if all members subscribe to the same topics. Otherwise, the loads
    of the subscribers of each topic differ by at most one partition that could move, unless 16 passes do not suffice.
    Priority: balance, stickiness. Ignores racks (KAFKA-16694 removed what KIP-848 planned). Kafka 4.0.0 reserves the
    larger shares for the first members of its map, although others own more partitions.
    Complexity: O(P + M) if all members subscribe to the same topics; otherwise O(S log M + P) per pass, for P
    partitions, M members and S subscriptions of members to topics.
    Source: `org.apache.kafka.coordinator.group.assignor.UniformAssignor`, KIP-848; Kafka 4.0.0 to 4.4.0.
    """

    release: str = "4.4"

    def assign(self, state: ConsumerGroupState) -> ConsumerAssignment:
        """Return the partitions of each member; raise KafkaError if Kafka's assignor throws for this state."""
        if not state.member_ids:
            return ConsumerAssignment(())
        group = BrokerGroup.of(state)
        if state.subscription_type is SubscriptionType.HOMOGENEOUS:
            gives_up_extra = self.release != _FIRST_RELEASE
            return ConsumerAssignment(HomogeneousAssignment(group, gives_up_extra=gives_up_extra).build())
        return ConsumerAssignment(HeterogeneousAssignment(group).build())


@dataclass(frozen=True, slots=True)
class BrokerRange:
    """Gives each subscriber of a topic a range of its partitions.

    Guarantees: of each topic, shares differ by at most one partition. Topics with as many partitions and the same
    subscribers are co-partitioned: a member gets the same partitions of all of them.
    Priority: balance within topics. Members by instance id, then by member id; the first get the larger shares. Ignores
    racks and what members own.
    Complexity: O(P + S + M log M) for P partitions, M members and S subscriptions of members to topics.
    Source: `org.apache.kafka.coordinator.group.assignor.RangeAssignor`, KIP-848; Kafka 4.0 to 4.4.
    """

    def assign(self, state: ConsumerGroupState) -> ConsumerAssignment:
        """Return the partitions of each member."""
        if not state.member_ids:
            return ConsumerAssignment(())
        group = BrokerGroup.of(state)
        members = sorted_static_first(state.instance_ids, string_ranks(state.member_ids), group.members)
        topics_of = [group.topics_of(member) for member in range(len(members))]
        # Kafka trusts the type: in a homogeneous group, all members get the topics of the first.
        is_homogeneous = state.subscription_type is SubscriptionType.HOMOGENEOUS
        if is_homogeneous:
            topics_of = [topics_of[members[0]]] * len(members)
        subscribers = Counter(topic for topics in topics_of for topic in topics)
        remaining = {
            topic: [0, *divmod(state.topics[topic].partitions, number)] for topic, number in subscribers.items()
        }
        hashes = topic_hashes(state)
        orders: dict[tuple[int, ...], list[int]] = {}
        assigned: list[tuple[int, ...]] = [()] * len(members)
        for member in members:
            ranges = {}
            for topic in topics_of[member]:
                start, share, extra = remaining[topic]
                end = start + share + (extra > 0)
                remaining[topic] = [end, share, extra - (extra > 0)]
                ranges[topic] = range(start, end)
            rows = state.subscriptions[members[0] if is_homogeneous else member]
            if rows not in orders:
                orders[rows] = _map_order(topics_of[member], rows, hashes, is_homogeneous=is_homogeneous)
            assigned[member] = tuple(
                partition_key(topic, partition) for topic in orders[rows] for partition in ranges[topic]
            )
        return ConsumerAssignment(tuple(assigned))


def _map_order(
    topics: tuple[int, ...], subscription: tuple[int, ...], hashes: list[int], *, is_homogeneous: bool
) -> list[int]:
    """Return the order of the HashMap of a member's topics, which is created for them and never grows."""
    size = len(topics) if is_homogeneous else len(set(subscription))
    return in_hash_order(topics, hashes, table_size_for(int(size / 0.75) + 1))
