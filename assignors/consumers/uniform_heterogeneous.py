"""The uniform assignment of a group whose members subscribe to different topics.

Source: `UniformHeterogeneousAssignmentBuilder`, Kafka 4.0 to 4.4.

Picks the least and the most loaded members of a topic in turn.

Source: `UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer`, Kafka 4.0 to 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assignors.consumers.broker_group import BrokerGroup
from assignors.consumers.stored_assignment import AssignmentCopy, Topics, keys_of, stored_topics, topic_hashes
from assignors.java.hash_map import table_size_for

NO_MEMBER = -1
"""Answer of `next_most_loaded` if no member can give up a partition."""


class MemberBalancer:
    """The subscribers of a topic by load, of which two ranges move towards each other.

    Each range starts with one load. Once each member of the range was picked, the load of the range changes by one, and
    the range grows by the members that have this load.

    Args:
        sizes: number of partitions of each member, by index; read, not changed.
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
    """Builds the assignment: drops topics without subscription, gives away free partitions, then balances by topic.

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
