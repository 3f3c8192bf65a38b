"""The loads of members and of the owners of topics, while a sticky assignor balances a group.

Source: `sortedCurrentSubscriptions`, `isBalanced` and `getBalanceScore` of
`AbstractStickyAssignor.GeneralAssignmentBuilder`, kafka-clients 3.8 to 4.3.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assignors.errors import NoSuchElementError, NullPointerError
from assignors.model.consumer_group import partition_key, partition_of, topic_of

Current = Mapping[int, Sequence[int]]
"""Keys of the partitions of each member."""


class MembersByLoad:
    """Members sorted by their number of partitions, then by member id: Kafka's TreeSet.

    Args:
        current: the partitions of each member, which change while the member is not in the set.
        rank: rank of each member's id.
    """

    def __init__(self, current: Current, rank: Sequence[int]) -> None:
        self._current, self._rank = current, rank
        self._sorted: list[tuple[int, int, int]] = []

    def __iter__(self) -> Iterator[int]:
        for _, _, member in self._sorted:
            yield member

    def add(self, member: int) -> None:
        """Add a member that is not in the set."""
        insort(self._sorted, self._key(member))

    def add_all(self, members: Iterable[int]) -> None:
        """Add members that are not in the set."""
        self._sorted = sorted([*self._sorted, *map(self._key, members)])

    def remove(self, member: int) -> None:
        """Remove a member if it is in the set."""
        key = self._key(member)
        position = bisect_left(self._sorted, key)
        if position < len(self._sorted) and self._sorted[position] == key:
            del self._sorted[position]

    def first(self) -> int:
        """Return the least loaded member.

        Raises:
            NoSuchElementError: the set is empty.
        """
        return self._at(0)

    def last(self) -> int:
        """Return the most loaded member.

        Raises:
            NoSuchElementError: the set is empty.
        """
        return self._at(-1)

    def _at(self, position: int) -> int:
        if not self._sorted:
            raise NoSuchElementError("no consumer takes part in the reassignment")
        return self._sorted[position][2]

    def _key(self, member: int) -> tuple[int, int, int]:
        return len(self._current[member]), self._rank[member], member


class TopicLoads:
    """Decides whether moving a single partition would improve the balance.

    Args:
        current: the partitions of each member that takes part.
        by_load: the same members by load.
        potential_topics: topics to which each member subscribes.
        size_of: number of partitions of each topic.
    """

    def __init__(
        self,
        current: Current,
        by_load: MembersByLoad,
        potential_topics: Mapping[int, Sequence[int]],
        size_of: Mapping[int, int],
    ) -> None:
        self._current, self._by_load = current, by_load
        self._topics = {member: tuple(potential_topics[member]) for member in current}
        self._size_of = size_of
        self._max_size = {topics: sum(size_of[t] for t in topics) for topics in dict.fromkeys(self._topics.values())}
        self._owners: dict[int, Counter[int]] = {topic: Counter() for topic in size_of}
        keys = [key for listed in current.values() for key in listed]
        for member, listed in current.items():
            for key in listed:
                self._owners[topic_of(key)][member] += 1
        self._is_consistent = self._owners_are_unique(keys)

    def _owners_are_unique(self, keys: Sequence[int]) -> bool:
        """Return whether each partition of the members' topics exists and has one owner among the members."""
        subscribed = {topic for topics in self._max_size for topic in topics}
        counted = Counter(topic_of(key) for key in keys)
        return (
            len(set(keys)) == len(keys)
            and all(partition_of(key) < self._size_of[topic_of(key)] for key in keys)
            and all(counted[topic] == self._size_of[topic] for topic in subscribed)
        )

    def move(self, key: int, old: int, new: int) -> None:
        """Note that a partition has moved."""
        owners = self._owners[topic_of(key)]
        owners[new] += 1
        owners[old] -= 1
        if not owners[old]:
            del owners[old]

    def is_balanced(self) -> bool:
        """Return whether no member could take a partition from one that has at least two more.

        Raises:
            NullPointerError: no member owns a partition, because members own partitions that do not exist.
        """
        return self._is_balanced_by_topic() if self._is_consistent else self._is_balanced_by_partition()

    def _is_balanced_by_topic(self) -> bool:
        highest = len(self._current[self._by_load.last()])
        checked: set[tuple[int, ...]] = set()
        loads: dict[int, int] = {}
        for member in self._by_load:
            load = len(self._current[member])
            if load + 1 >= highest:
                break
            topics = self._topics[member]
            if topics in checked or load == self._max_size[topics]:
                continue
            checked.add(topics)
            for topic in topics:
                if topic not in loads:
                    loads[topic] = max((len(self._current[owner]) for owner in self._owners[topic]), default=0)
                if load + 1 < loads[topic]:
                    return False
        return True

    def _is_balanced_by_partition(self) -> bool:
        """Do what Kafka does, partition by partition, for groups with contradictions."""
        owner_of = {key: member for member, keys in self._current.items() for key in keys}
        for member in self._by_load:
            keys, topics = self._current[member], self._topics[member]
            if len(keys) == self._max_size[topics]:
                continue
            owned = set(keys)
            for topic in topics:
                for key in (partition_key(topic, partition) for partition in range(self._size_of[topic])):
                    if key in owned:
                        continue
                    if key not in owner_of:
                        raise NullPointerError("a partition belongs to no consumer")
                    if len(keys) + 1 < len(self._current[owner_of[key]]):
                        return False
        return True


def balance_score(current: Current) -> int:
    """Return the sum of the differences of all pairs of members; lower is more balanced."""
    loads = sorted(map(len, current.values()))
    count = len(loads)
    return sum((2 * position - count + 1) * load for position, load in enumerate(loads))
