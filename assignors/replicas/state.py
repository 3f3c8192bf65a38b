"""What a replica assignor is told: the brokers, and which of them hold which partition.

Columnar: a broker is a row of `ClusterState.brokers`, a partition a row of every array of length P. Rows stand in the
order of the input, because some tools' answers hang on it; whoever does not want that sorts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assignors.model.columns import NO_RACK, BoolArray, IntArray
from assignors.model.ids import TopicPartition

NO_BROKER = -1
"""Stands in `ClusterState.replicas` behind a partition's last replica, and in `leader` where nobody leads."""

UNKNOWN_RATE = -1
"""The value in `ClusterState.bytes_per_s` of a partition whose rate is unknown."""


@dataclass(frozen=True, slots=True)
class BrokerState:
    """A broker.

    Attributes:
        rack: its `broker.rack`, None if it has none.
        capacity_bytes: what its disks take; None if nobody said.
        capacity_bytes_per_s: what may be written to it, as leader and as follower; None if nobody said.
        is_alive: whether it is there; one that is not can keep no replica.
    """

    id: int
    rack: str | None = None
    capacity_bytes: int | None = None
    capacity_bytes_per_s: int | None = None
    is_alive: bool = True


@dataclass(frozen=True, slots=True)
class TopicRetention:
    """How long and how much a topic's partitions retain; the defaults are Kafka's.

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
    """A cluster as it stands; P partitions, B brokers, W the largest replication factor. All arrays are read-only.

    Attributes:
        brokers: B brokers with different ids, in the order of the input.
        topics: names; `topic` refers to them.
        topic: shape (P,); places in `topics`.
        partition: shape (P,); numbers of partitions.
        replicas: shape (P, W); rows of `brokers` in replica order, the preferred leader first, then NOBODY.
        leader: shape (P,); the row of the broker that leads, NOBODY if none does.
        size_bytes: shape (P,); what one replica takes on disk; None if nobody said.
        bytes_per_s: shape (P,); what is produced to the partition, UNKNOWN for a partition whose rate is unknown; None
            if all rates are unknown.
        retention: along `topics`, None for a topic whose retention is unknown; None if all of them are.
        in_sync: shape (P, W); which of `replicas` are in the partition's ISR; None if all are.
        fixed: the partitions that no plan may change, with the same brokers; None if there are none. They take up room.
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
            brokers: all of them. Those that hold a replica and are missing here are added as brokers that are gone.
            replicas: broker ids in replica order by (topic, partition).
            leaders: the ids of the leaders that are not the preferred ones; NOBODY where there is none.
            size_bytes: of every partition, or None.
            bytes_per_s: of every partition, None for an unknown rate; or None.
            retention: by topic; None, or no entry, for a topic whose retention is unknown.
            in_sync: the ids in the ISR of each partition; all replicas are in sync in a partition without an entry.

        Raises:
            ValueError: a broker or a replica stands twice, or a partition has no replica or no size.
        """
        known = {broker.id: broker for broker in brokers}
        rows = {(topic, number): tuple(ids) for (topic, number), ids in replicas.items()}
        for (topic, number), ids in rows.items():
            if not ids or len(set(ids)) < len(ids):
                raise ValueError(f"{topic}-{number}: replicas {list(ids)} are none, or name a broker twice")
        missing = sorted({broker for ids in rows.values() for broker in ids} - known.keys())
        everybody = (*known.values(), *(BrokerState(broker, is_alive=False) for broker in missing))
        row = {broker.id: i for i, broker in enumerate(everybody)} | {NO_BROKER: NO_BROKER}
        topics = {topic: i for i, topic in enumerate(dict.fromkeys(topic for topic, _ in rows))}
        width = max(map(len, rows.values()), default=0)
        table = [[row[broker] for broker in ids] + [NO_BROKER] * (width - len(ids)) for ids in rows.values()]
        led = [row[(leaders or {}).get(key, ids[0])] for key, ids in rows.items()]
        return cls(
            brokers=everybody,
            topics=tuple(topics),
            topic=_column([topics[topic] for topic, _ in rows]),
            partition=_column([number for _, number in rows]),
            replicas=_frozen(np.array(table, dtype=np.int64).reshape(len(rows), width)),
            leader=_column(led),
            size_bytes=None if size_bytes is None else _column([size_bytes[key] for key in rows]),
            bytes_per_s=None if bytes_per_s is None else _column([_rate(bytes_per_s[key]) for key in rows]),
            retention=None if retention is None else tuple(retention.get(topic) for topic in topics),
            in_sync=_in_sync(rows, in_sync, width),
        )

    def __post_init__(self) -> None:
        if len({broker.id for broker in self.brokers}) < len(self.brokers):
            raise ValueError("two brokers have one id")
        arrays = (self.topic, self.partition, self.replicas, self.leader, self.size_bytes, self.bytes_per_s)
        for array in (*arrays, self.in_sync):
            if array is not None:
                array.flags.writeable = False

    @property
    def num_partitions(self) -> int:
        """P."""
        return len(self.partition)

    @cached_property
    def ids(self) -> IntArray:
        """Shape (B,); the brokers' ids."""
        return _column([broker.id for broker in self.brokers])

    @cached_property
    def is_alive(self) -> BoolArray:
        """Shape (B,)."""
        return np.array([broker.is_alive for broker in self.brokers], dtype=np.bool_)

    @cached_property
    def racks(self) -> tuple[str, ...]:
        """The racks that brokers stand in, sorted; `rack` refers to them."""
        return tuple(sorted({broker.rack for broker in self.brokers if broker.rack is not None}))

    @cached_property
    def rack(self) -> IntArray:
        """Shape (B,); places in `racks`, NO_RACK for a broker without one."""
        place = {name: i for i, name in enumerate(self.racks)}
        return _column([NO_RACK if broker.rack is None else place[broker.rack] for broker in self.brokers])

    @cached_property
    def replication_factor(self) -> IntArray:
        """Shape (P,); how many replicas each partition has."""
        factor: IntArray = (self.replicas != NO_BROKER).sum(axis=1)
        return factor

    def key(self, row: int) -> TopicPartition:
        """The partition of a row."""
        return TopicPartition(self.topics[self.topic[row]], int(self.partition[row]))

    def name(self, row: int) -> str:
        """The partition of a row, as Kafka writes it: orders-3."""
        return str(self.key(row))

    def with_replicas(self, replicas: IntArray) -> ClusterState:
        """The same cluster once a plan is carried out, all replicas are in sync, and every preferred leader elected."""
        leader = _frozen(replicas[:, 0].copy())
        return replace(self, replicas=_frozen(replicas.copy()), leader=leader, in_sync=None)

    def reordered(self, rows: IntArray, brokers: IntArray, topics: IntArray) -> ClusterState:
        """Return the same cluster in another order.

        Args:
            rows: shape (P,); the row in this state of each partition of the result.
            brokers: shape (B,); the same of brokers.
            topics: the same of topics.
        """
        part = self.take(rows)
        broker_row, topic_row = np.append(np.argsort(brokers), NO_BROKER), np.argsort(topics)
        return replace(
            part,
            brokers=tuple(self.brokers[row] for row in brokers),
            topics=tuple(self.topics[row] for row in topics),
            topic=topic_row[part.topic],
            replicas=broker_row[part.replicas],
            leader=broker_row[part.leader],
            retention=None if self.retention is None else tuple(self.retention[row] for row in topics),
            fixed=None if self.fixed is None else self.fixed.reordered_brokers(brokers),
        )

    def reordered_brokers(self, brokers: IntArray) -> ClusterState:
        """Return the same cluster with its brokers in another order, as in `reordered`."""
        return self.reordered(np.arange(self.num_partitions), brokers, np.arange(len(self.topics)))

    def split(self, rows: IntArray) -> ClusterState:
        """Return the cluster of these partitions, in this order, in which all others are fixed."""
        others = np.setdiff1d(np.arange(self.num_partitions), rows)
        return replace(self.take(rows), fixed=self.take(others) if len(others) else None)

    def take(self, rows: IntArray) -> ClusterState:
        """These partitions only, in this order; brokers and topics stay."""
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
    """Who holds what, as a dense table of shape (P, B); for clusters of which that is no burden."""
    held = np.zeros((len(replicas), num_brokers + 1), dtype=np.bool_)
    np.put_along_axis(held, replicas, True, axis=1)
    table: BoolArray = held[:, :-1]
    return table


def _rate(bytes_per_s: int | None) -> int:
    return UNKNOWN_RATE if bytes_per_s is None else bytes_per_s


def _in_sync(
    rows: Mapping[tuple[str, int], Sequence[int]], known: Mapping[tuple[str, int], Collection[int]] | None, width: int
) -> BoolArray | None:
    """Return the ISR along the replicas; None if every replica is in it."""
    if known is None:
        return None
    table = [
        [broker in known.get(key, ids) for broker in ids] + [False] * (width - len(ids)) for key, ids in rows.items()
    ]
    is_whole = all(all(each[: len(ids)]) for each, ids in zip(table, rows.values(), strict=True))
    return None if is_whole else np.array(table, dtype=np.bool_).reshape(len(rows), width)


def _column(values: Sequence[int]) -> IntArray:
    return _frozen(np.array(values, dtype=np.int64))


def _frozen(array: IntArray) -> IntArray:
    array.flags.writeable = False
    return array
