"""The sticky assignment of a group whose members subscribe to different topics.

Source: `AbstractStickyAssignor.GeneralAssignmentBuilder`, kafka-clients 3.8 to 4.3.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from assignors.consumers.classic_group import ClassicGroup
from assignors.consumers.previous_owners import PartitionClaims, StickyRacks
from assignors.errors import EndlessLoopError, NoSuchElementError, NullPointerError
from assignors.java.hash_order import JavaHashMap, string_hash
from assignors.model.consumer_group import partition_key, partition_of, topic_of

Current = Mapping[int, Sequence[int]]
"""Keys of the partitions of each member."""


class MembersByLoad:
    """Members sorted by their number of partitions, then by member id: Kafka's TreeSet.

    `current`: the partitions of each member, which change while the member is not in the set.
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
        """Return the least loaded member; raise NoSuchElementError if the set is empty."""
        return self._at(0)

    def last(self) -> int:
        """Return the most loaded member; raise NoSuchElementError if the set is empty."""
        return self._at(-1)

    def _at(self, position: int) -> int:
        if not self._sorted:
            raise NoSuchElementError("no consumer takes part in the reassignment")
        return self._sorted[position][2]

    def _key(self, member: int) -> tuple[int, int, int]:
        return len(self._current[member]), self._rank[member], member


class TopicLoads:
    """Decides whether moving a single partition would improve the balance.

    `current`: the partitions of each member that takes part; `potential_topics`: topics to which each member
    subscribes.

    Source: `isBalanced` and `getBalanceScore` of the builder.
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

        Raises NullPointerError if no member owns a partition, because members own partitions that do not exist.
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


ConsumerPair = tuple[int, int]
"""The consumers from which and to which partitions moved."""


class PartitionMovements:
    """The moves since the start of the rebalance, so that partitions do not move back and forth.

    `hash_of`: hash code of a `TopicPartition`; the order of a HashSet of moved partitions depends on it.

    Source: `AbstractStickyAssignor.PartitionMovements`.
    """

    def __init__(self, hash_of: Callable[[int], int]) -> None:
        self._hash_of = hash_of
        self._pair_of: dict[int, ConsumerPair] = {}
        self._moved: dict[int, dict[ConsumerPair, JavaHashMap]] = {}

    def to_be_moved(self, key: int, old: int, new: int) -> int:
        """Return the partition to move instead: one of the same topic that moved the other way before."""
        of_topic = self._moved.get(topic_of(key))
        if of_topic is None:
            return key
        if key in self._pair_of:
            old = self._pair_of[key][0]
        reverse = of_topic.get((new, old))
        return key if reverse is None else next(iter(reverse))

    def move(self, key: int, old: int, new: int) -> None:
        """Record a move; two moves of a partition become one, and one that returns none."""
        if key not in self._pair_of:
            self._add(key, (old, new))
            return
        pair = self._pair_of.pop(key)
        of_topic = self._moved[topic_of(key)]
        of_topic[pair].remove(key)
        if not of_topic[pair]:
            del of_topic[pair]
        if not of_topic:
            del self._moved[topic_of(key)]
        if pair[0] != new:
            self._add(key, (pair[0], new))

    def snapshot(self) -> tuple[object, ...]:
        """Return a value that is equal for equal moves in the same order."""
        return tuple((pair, *moved) for of_topic in self._moved.values() for pair, moved in of_topic.items())

    def _add(self, key: int, pair: ConsumerPair) -> None:
        self._pair_of[key] = pair
        of_topic = self._moved.setdefault(topic_of(key), {})
        of_topic.setdefault(pair, JavaHashMap()).put(key, self._hash_of(key))


_PASSES_WITHOUT_LOOP = 20
"""Passes over all partitions after which loops are looked for; nearly all groups need fewer."""


class GeneralAssignment:
    """Builds the assignment: keeps what is valid, gives the rest to the least loaded members, then balances.

    `owners`: the previous assignment, in which this one is built; `older`: owner of each partition in an older
    generation.
    """

    def __init__(
        self, group: ClassicGroup, owners: PartitionClaims, racks: StickyRacks, older: Mapping[int, int]
    ) -> None:
        self._group, self._racks, self._older = group, racks, older
        state, topics = group.state, group.state.topics
        self._size_of = {topic: topics[topic].partitions for topic in group.topics}
        self._hash_of_topic = {topic: string_hash(topics[topic].name) for topic in group.topics}
        self._potential_topics = {
            member: [topic for topic in state.subscriptions[member] if topic in self._size_of]
            for member in group.members
        }
        self._subscribes = {member: frozenset(listed) for member, listed in self._potential_topics.items()}
        self._potential_consumers: dict[int, list[int]] = {topic: [] for topic in group.topics}
        for member, listed in self._potential_topics.items():
            for topic in listed:
                self._potential_consumers[topic].append(member)
        self._current = {member: list(owners.owned[member]) for member in group.members}
        self._consumer_of = {key: member for member, keys in self._current.items() for key in keys}
        rank = group.topic_rank
        order = sorted(group.topics, key=lambda topic: (len(self._potential_consumers[topic]), rank[topic]))
        self._position_of_topic = {topic: position for position, topic in enumerate(order)}
        self._every = [partition_key(topic, p) for topic in order for p in range(self._size_of[topic])]
        self._movements = PartitionMovements(self._hash_of)
        self._by_load = MembersByLoad(self._current, group.member_rank)
        self._needs_revocation = False
        self._max_size = {
            member: sum(self._size_of[t] for t in listed) for member, listed in self._potential_topics.items()
        }

    def build(self) -> list[list[int]]:
        """Return the partitions of each member, by row; raise KafkaError if Kafka's assignor throws for this group."""
        unassigned = self._unassigned(self._keep_valid())
        self._by_load.add_all(self._current)
        self._balance(unassigned)
        assigned: list[list[int]] = [[] for _ in self._group.member_rank]
        for member, keys in self._current.items():
            assigned[member] = keys
        return assigned

    def _hash_of(self, key: int) -> int:
        return (31 * (31 + partition_of(key)) + self._hash_of_topic[topic_of(key)]) & 0xFFFFFFFF

    def _keep_valid(self) -> list[int]:
        """Remove partitions that a member does not subscribe to any more, or that are not in its rack."""
        kept_keys = []
        for member, keys in self._current.items():
            kept = [
                key
                for key in keys
                if topic_of(key) in self._subscribes[member] and not self._racks.mismatch(member, key)
            ]
            if len(kept) < len(keys):
                self._needs_revocation = True
                keys[:] = kept
            kept_keys += kept
        return kept_keys

    def _unassigned(self, kept: list[int]) -> list[int]:
        """Return the other partitions; Kafka loses its position at a kept partition that does not exist."""
        if not kept:
            return self._every
        position = self._position_of_topic
        remaining = iter(sorted(kept, key=lambda key: (position[topic_of(key)], partition_of(key))))
        following = next(remaining)
        unassigned = []
        for key in self._every:
            if key != following:
                unassigned.append(key)
            else:
                following = next(remaining, -1)
        return unassigned

    def _balance(self, unassigned: list[int]) -> None:
        is_initial = not self._current[self._by_load.last()]
        to_assign: Iterable[int] = unassigned
        if self._racks.is_used:
            to_assign = [key for key in unassigned if not self._assign_to_least_loaded(key, within_racks=True)]
        for key in to_assign:
            self._assign_to_least_loaded(key, within_racks=False)
        movable = {topic for topic, consumers in self._potential_consumers.items() if len(consumers) >= 2}
        every = [key for key in self._every if topic_of(key) in movable]
        unassigned = [key for key in unassigned if topic_of(key) in movable]
        fixed = {member: self._current[member] for member in self._current if not self._participates(member, movable)}
        for member in fixed:
            self._by_load.remove(member)
            del self._current[member]
        before = {member: list(keys) for member, keys in self._current.items()}
        loads = TopicLoads(self._current, self._by_load, self._potential_topics, self._size_of)
        if not self._needs_revocation:
            self._reassign(unassigned, loads)
        is_changed = self._reassign(every, loads)
        if not is_initial and is_changed and balance_score(self._current) >= balance_score(before):
            self._current = before
        self._current.update(fixed)

    def _assign_to_least_loaded(self, key: int, *, within_racks: bool) -> bool:
        topic = topic_of(key)
        for member in self._by_load:
            if topic in self._subscribes[member] and not (within_racks and self._racks.mismatch(member, key)):
                self._by_load.remove(member)
                self._current[member].append(key)
                self._consumer_of[key] = member
                self._by_load.add(member)
                return True
        return False

    def _participates(self, member: int, movable: set[int]) -> bool:
        keys = self._current[member]
        return len(keys) < self._max_size[member] or any(topic_of(key) in movable for key in keys)

    def _reassign(self, keys: Sequence[int], loads: TopicLoads) -> bool:
        """Move partitions to less loaded members until nothing improves; return whether a partition moved."""
        is_changed = False
        is_modified = True
        seen: Counter[tuple[object, ...]] = Counter()
        while is_modified:
            is_modified = False
            self._detect_loop(seen)
            for key in keys:
                if self._is_balanced(loads):
                    break
                if self._move(key, loads):
                    is_modified = is_changed = True
        return is_changed

    def _detect_loop(self, seen: Counter[tuple[object, ...]]) -> None:
        """Compare the state before a pass over the partitions with those before earlier passes.

        Kafka moves partitions back to owners of older generations, and some moves undo each other for ever. Raises
        EndlessLoopError if the state has occurred before, so that the following passes are the same.
        """
        if seen.total() < _PASSES_WITHOUT_LOOP:
            seen[(seen.total(),)] += 1
            return
        state = (self._movements.snapshot(), *(tuple(keys) for keys in self._current.values()))
        seen[state] += 1
        if seen[state] > 2:
            raise EndlessLoopError("Kafka's assignor moves partitions between the same consumers for ever")

    def _move(self, key: int, loads: TopicLoads) -> bool:
        """Move a partition to an older owner, or to the least loaded subscriber, if that improves the balance.

        Kafka prefers subscribers in the partition's racks only when it decides whether to move, not where. Returns
        whether a partition moved.
        """
        load = self._load(self._consumer_of.get(key))
        older = self._older.get(key)
        if older is not None and load > self._load(older) + 1:
            self._move_to(key, older, loads)
            return True
        topic = topic_of(key)
        if any(load > self._load(other) + 1 for other in self._potential_consumers[topic]):
            self._move_to(key, next(member for member in self._by_load if topic in self._subscribes[member]), loads)
            return True
        return False

    def _load(self, member: int | None) -> int:
        keys = self._current.get(member)  # type: ignore[arg-type]
        if keys is None:
            raise NullPointerError("a partition belongs to a consumer that takes no part in the reassignment")
        return len(keys)

    def _move_to(self, key: int, new: int, loads: TopicLoads) -> None:
        key = self._movements.to_be_moved(key, self._consumer_of[key], new)
        old = self._consumer_of[key]
        self._load(old)
        self._by_load.remove(old)
        self._by_load.remove(new)
        self._movements.move(key, old, new)
        if key in self._current[old]:
            self._current[old].remove(key)
        self._current[new].append(key)
        self._consumer_of[key] = new
        self._by_load.add(new)
        self._by_load.add(old)
        loads.move(key, old, new)

    def _is_balanced(self, loads: TopicLoads) -> bool:
        if self._load(self._by_load.first()) >= self._load(self._by_load.last()) - 1:
            return True
        return loads.is_balanced()
