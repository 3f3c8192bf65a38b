"""The input of a replica assignor: brokers, partitions and their replicas.

The state is columnar: a broker is a row of `ClusterState.brokers`, a partition is a row of every array of length P.
Rows are in the order of the input, because the results of some tools depend on it. Sort first if order must not matter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assignors.model.columns import NO_RACK, BoolArray, IntArray
from assignors.model.ids import TopicPartition

NO_BROKER = -1
"""Padding after the last replica in `ClusterState.replicas`, and the value of `leader` for a leaderless partition."""

UNKNOWN_RATE = -1
"""The value in `ClusterState.bytes_per_s` of a partition with unknown rate."""


@dataclass(frozen=True, slots=True)
class BrokerState:
    """A broker.

    Attributes:
        id: its `broker.id`.
        rack: its `broker.rack`; None if it has none.
        capacity_bytes: its disk capacity; None if unknown.
        capacity_bytes_per_s: its write throughput, as leader and as follower; None if unknown.
        is_alive: whether the broker exists; replicas cannot stay on a missing broker.
    """

    id: int
    rack: str | None = None
    capacity_bytes: int | None = None
    capacity_bytes_per_s: int | None = None
    is_alive: bool = True


@dataclass(frozen=True, slots=True)
class TopicRetention:
    """The retention limits of a topic; the defaults are Kafka's.

    Attributes:
        ms: `retention.ms`; None for no limit.
        bytes: `retention.bytes`; None for no limit.
        is_compacted: whether `cleanup.policy` includes `compact`.
    """

    ms: int | None = 604_800_000
    bytes: int | None = None
    is_compacted: bool = False


@dataclass(frozen=True, eq=False)
class ClusterState:
    """A cluster with P partitions and B brokers; W is the highest replication factor. All arrays are read-only.

    Attributes:
        brokers: B brokers with different ids, in the order of the input.
        topics: names; `topic` refers to them.
        topic: shape (P,); indices in `topics`.
        partition: shape (P,); partition numbers.
        replicas: shape (P, W); rows of `brokers` in replica order, the preferred leader first, padded with NO_BROKER.
        leader: shape (P,); the row of the leader; NO_BROKER for a leaderless partition.
        size_bytes: shape (P,); the size of one replica; None if unknown.
        bytes_per_s: shape (P,); the produce rate, UNKNOWN_RATE for an unknown one; None if all are unknown.
        retention: by topic; None for an unknown retention; None for the whole tuple if all are unknown.
        in_sync: shape (P, W); whether each of `replicas` is in the ISR; None if all are.
        fixed: the partitions that no plan may change, on the same brokers; None if there are none. They use capacity.
    """

    brokers: tuple[BrokerState, ...]
    topics: tuple[str, ...]
    topic: IntArray
    partition: IntArray
    replicas: IntArray
    leader: IntArray
    size_bytes: IntArray | None = None
    bytes_per_s: IntArray | None = None
    retention: tuple[TopicRetention | None, ...] | None = None
    in_sync: BoolArray | None = None
    fixed: ClusterState | None = None

    @classmethod
    def of(
        cls,
        brokers: Iterable[BrokerState],
        replicas: Mapping[tuple[str, int], Sequence[int]],
        *,
        leaders: Mapping[tuple[str, int], int] | None = None,
        size_bytes: Mapping[tuple[str, int], int] | None = None,
        bytes_per_s: Mapping[tuple[str, int], int | None] | None = None,
        retention: Mapping[str, TopicRetention | None] | None = None,
        in_sync: Mapping[tuple[str, int], Collection[int]] | None = None,
    ) -> ClusterState:
        """Build a state from broker ids by topic and partition, in the order of `replicas`.

        Args:
            brokers: all brokers. Brokers that hold a replica but are missing here are added as not alive.
            replicas: broker ids in replica order by (topic, partition).
            leaders: the broker ids of leaders that are not the preferred ones; NO_BROKER for a leaderless partition.
            size_bytes: the size of every partition, or None.
            bytes_per_s: the rate of every partition, None for an unknown rate; or None.
            retention: by topic; None, or no entry, for an unknown retention.
            in_sync: the broker ids in the ISR by partition; all replicas are in sync in a partition without an entry.

        Returns:
            The state.

        Raises:
            ValueError: a broker or a replica occurs twice, or a partition has no replica.
            KeyError: a partition has no size or no rate.
        """
        known = {broker.id: broker for broker in brokers}
        rows = {(topic, number): tuple(ids) for (topic, number), ids in replicas.items()}
        for (topic, number), ids in rows.items():
            if not ids or len(set(ids)) < len(ids):
                raise ValueError(f"{topic}-{number}: replicas {list(ids)} are empty or contain a broker twice")
        missing = sorted({broker for ids in rows.values() for broker in ids} - known.keys())
        all_brokers = (*known.values(), *(BrokerState(broker, is_alive=False) for broker in missing))
        row = {broker.id: i for i, broker in enumerate(all_brokers)} | {NO_BROKER: NO_BROKER}
        topics = {topic: i for i, topic in enumerate(dict.fromkeys(topic for topic, _ in rows))}
        width = max(map(len, rows.values()), default=0)
        table = [[row[broker] for broker in ids] + [NO_BROKER] * (width - len(ids)) for ids in rows.values()]
        leader_rows = [row[(leaders or {}).get(partition_id, ids[0])] for partition_id, ids in rows.items()]
        return cls(
            brokers=all_brokers,
            topics=tuple(topics),
            topic=_column([topics[topic] for topic, _ in rows]),
            partition=_column([number for _, number in rows]),
            replicas=_frozen(np.array(table, dtype=np.int64).reshape(len(rows), width)),
            leader=_column(leader_rows),
            size_bytes=None if size_bytes is None else _column([size_bytes[partition_id] for partition_id in rows]),
            bytes_per_s=None
            if bytes_per_s is None
            else _column([_rate(bytes_per_s[partition_id]) for partition_id in rows]),
            retention=None if retention is None else tuple(retention.get(topic) for topic in topics),
            in_sync=_in_sync(rows, in_sync, width),
        )

    def __post_init__(self) -> None:
        if len({broker.id for broker in self.brokers}) < len(self.brokers):
            raise ValueError("two brokers have the same id")
        arrays = (self.topic, self.partition, self.replicas, self.leader, self.size_bytes, self.bytes_per_s)
        for array in (*arrays, self.in_sync):
            if array is not None:
                array.flags.writeable = False

    @property
    def num_partitions(self) -> int:
        """Return P, the number of partitions."""
        return len(self.partition)

    @cached_property
    def ids(self) -> IntArray:
        """Return the broker ids, shape (B,)."""
        return _column([broker.id for broker in self.brokers])

    @cached_property
    def is_alive(self) -> BoolArray:
        """Return whether each broker is alive, shape (B,)."""
        return np.array([broker.is_alive for broker in self.brokers], dtype=np.bool_)

    @cached_property
    def racks(self) -> tuple[str, ...]:
        """Return the racks of all brokers, sorted; `rack` has indices into them."""
        return tuple(sorted({broker.rack for broker in self.brokers if broker.rack is not None}))

    @cached_property
    def rack(self) -> IntArray:
        """Return the rack of each broker, as an index in `racks` or NO_RACK, shape (B,)."""
        index = {name: i for i, name in enumerate(self.racks)}
        return _column([NO_RACK if broker.rack is None else index[broker.rack] for broker in self.brokers])

    @cached_property
    def replication_factor(self) -> IntArray:
        """Return the number of replicas of each partition, shape (P,)."""
        factor: IntArray = (self.replicas != NO_BROKER).sum(axis=1)
        return factor

    def partition_id(self, row: int) -> TopicPartition:
        """Return the topic and the number of the partition in a row."""
        return TopicPartition(self.topics[self.topic[row]], int(self.partition[row]))

    def name(self, row: int) -> str:
        """Return the name of the partition in a row, as Kafka writes it: orders-3."""
        return str(self.partition_id(row))

    def with_replicas(self, replicas: IntArray) -> ClusterState:
        """Return the cluster after a plan is executed, replicas are in sync, and preferred leaders are elected."""
        leader = _frozen(replicas[:, 0].copy())
        return replace(self, replicas=_frozen(replicas.copy()), leader=leader, in_sync=None)

    def reordered(self, rows: IntArray, brokers: IntArray, topics: IntArray) -> ClusterState:
        """Return the same cluster in another order.

        Args:
            rows: shape (P,); the current row of each partition of the result.
            brokers: shape (B,); the current row of each broker of the result.
            topics: the current index of each topic of the result.
        """
        selected = self.take(rows)
        broker_row, topic_row = np.append(np.argsort(brokers), NO_BROKER), np.argsort(topics)
        return replace(
            selected,
            brokers=tuple(self.brokers[row] for row in brokers),
            topics=tuple(self.topics[row] for row in topics),
            topic=topic_row[selected.topic],
            replicas=broker_row[selected.replicas],
            leader=broker_row[selected.leader],
            retention=None if self.retention is None else tuple(self.retention[row] for row in topics),
            fixed=None if self.fixed is None else self.fixed.reordered_brokers(brokers),
        )

    def reordered_brokers(self, brokers: IntArray) -> ClusterState:
        """Return the same cluster with its brokers in another order, as in `reordered`."""
        return self.reordered(np.arange(self.num_partitions), brokers, np.arange(len(self.topics)))

    def split(self, rows: IntArray) -> ClusterState:
        """Return the cluster with these partitions, in this order; all other partitions become fixed."""
        others = np.delete(np.arange(self.num_partitions), rows)
        return replace(self.take(rows), fixed=self.take(others) if len(others) else None)

    def take(self, rows: IntArray) -> ClusterState:
        """Return the cluster with these partitions only, in this order; brokers and topics do not change."""
        return replace(
            self,
            topic=self.topic[rows],
            partition=self.partition[rows],
            replicas=self.replicas[rows],
            leader=self.leader[rows],
            size_bytes=None if self.size_bytes is None else self.size_bytes[rows],
            bytes_per_s=None if self.bytes_per_s is None else self.bytes_per_s[rows],
            in_sync=None if self.in_sync is None else self.in_sync[rows],
        )


def broker_membership(replicas: IntArray, num_brokers: int) -> BoolArray:
    """Return whether each broker holds each partition, as a dense array of shape (P, B); for small clusters."""
    is_held = np.zeros((len(replicas), num_brokers + 1), dtype=np.bool_)
    np.put_along_axis(is_held, replicas, True, axis=1)
    table: BoolArray = is_held[:, :-1]
    return table


def _rate(bytes_per_s: int | None) -> int:
    return UNKNOWN_RATE if bytes_per_s is None else bytes_per_s


def _in_sync(
    rows: Mapping[tuple[str, int], Sequence[int]], known: Mapping[tuple[str, int], Collection[int]] | None, width: int
) -> BoolArray | None:
    """Return the ISR as a mask along the replicas; None if every replica is in sync."""
    if known is None:
        return None
    table = [
        [broker in known.get(partition_id, ids) for broker in ids] + [False] * (width - len(ids))
        for partition_id, ids in rows.items()
    ]
    all_in_sync = all(all(row[: len(ids)]) for row, ids in zip(table, rows.values(), strict=True))
    return None if all_in_sync else np.array(table, dtype=np.bool_).reshape(len(rows), width)


def _column(values: Sequence[int]) -> IntArray:
    return _frozen(np.array(values, dtype=np.int64))


def _frozen(array: IntArray) -> IntArray:
    array.flags.writeable = False
    return array


def count_replicas(replicas: IntArray, num_brokers: int) -> IntArray:
    """Return the number of replicas on each broker, shape (B,)."""
    return np.bincount(replicas[replicas != NO_BROKER], minlength=num_brokers).astype(np.int64)


def count_leaders(replicas: IntArray, num_brokers: int) -> IntArray:
    """Return the number of partitions with each broker as preferred leader, shape (B,)."""
    return count_replicas(replicas[:, :1], num_brokers)


def count_per_rack(replicas: IntArray, rack: IntArray, num_racks: int) -> IntArray:
    """Return the number of replicas of each partition per rack, shape (P, R); brokers without a rack do not count."""
    rack_of_replica = np.where(replicas == NO_BROKER, NO_BROKER, rack[replicas])
    rows, columns = np.nonzero(rack_of_replica != NO_BROKER)
    flat = rows * num_racks + rack_of_replica[rows, columns]
    return np.bincount(flat, minlength=len(replicas) * num_racks).astype(np.int64).reshape(len(replicas), num_racks)


def bytes_per_broker(replicas: IntArray, size_bytes: IntArray, num_brokers: int) -> IntArray:
    """Return the total size of the replicas on each broker, shape (B,)."""
    total_bytes = np.zeros(num_brokers + 1, dtype=np.int64)
    np.add.at(total_bytes, replicas, size_bytes[:, None])
    return total_bytes[:-1]


def fixed_bytes_per_broker(state: ClusterState) -> IntArray:
    """Return the size of the replicas on each broker that no plan may change, shape (B,)."""
    if state.fixed is None or state.fixed.size_bytes is None:
        return np.zeros(len(state.brokers), dtype=np.int64)
    return bytes_per_broker(state.fixed.replicas, state.fixed.size_bytes, len(state.brokers))


def capacity_per_broker(state: ClusterState) -> IntArray:
    """Return the disk capacity of each broker in bytes, shape (B,); 0 for an unknown capacity."""
    return np.array([broker.capacity_bytes or 0 for broker in state.brokers], dtype=np.int64)


def added_replicas(old: IntArray, new: IntArray) -> BoolArray:
    """Return a mask of the replicas in `new` on brokers that do not hold the partition in `old`, shape (P, W)."""
    is_held = (new[:, :, None] == old[:, None, :]).any(axis=2)
    is_added: BoolArray = (new != NO_BROKER) & ~is_held
    return is_added


def replica_lists(state: ClusterState) -> list[list[int]]:
    """Return the replicas of every partition, as rows of brokers in replica order."""
    return [[broker for broker in held if broker != NO_BROKER] for held in state.replicas.tolist()]


def replica_table(lists: Sequence[Sequence[int]]) -> IntArray:
    """Return the lists as an array as in `Plan.replicas`, shape (P, W)."""
    width = max(map(len, lists), default=0)
    padded = [[*held, *[NO_BROKER] * (width - len(held))] for held in lists]
    return np.array(padded, dtype=np.int64).reshape(len(lists), width)


def rows_by_topic(state: ClusterState) -> Iterator[tuple[str, list[int]]]:
    """Yield the topics with partitions, in the order of `ClusterState.topics`, and their rows in input order."""
    order = np.argsort(state.topic, kind="stable")
    ends = np.cumsum(np.bincount(state.topic, minlength=len(state.topics)))
    for name, rows in zip(state.topics, np.split(order, ends[:-1]), strict=True):
        if len(rows):
            yield name, rows.tolist()
