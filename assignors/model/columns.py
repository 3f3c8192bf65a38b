"""The columns of an application's state: tasks, partitions and clients as arrays.

Kernels identify rows by number: task *t* is row *t* of `TaskTable`, client *c* row *c* of `ClientTable`, partition *p*
row *p* of `PartitionTable`. Tasks and clients are in Kafka's order, so the lower row wins wherever Kafka breaks a tie
by id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from assignors.model.ids import ProcessId, TaskId, TopicId, TopicPartition

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

NO_RACK = -1
"""Rack of a client without `client.rack` in `ClientTable.rack`."""

NO_CLIENT = -1
"""Result of a search for a client that finds none."""

NO_TAG = -1
"""Padding of rows of tag numbers."""


def cells(is_set: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the rows and columns that are set in a table, by row: np.nonzero, several times faster if they are few."""
    flat = np.flatnonzero(is_set)
    rows = flat // max(1, is_set.shape[1])
    return rows, flat - rows * is_set.shape[1]


def distinct(values: IntArray) -> IntArray:
    """Return the values sorted, without duplicates: np.unique, whose hash table takes many times as long."""
    ordered = np.sort(values, axis=None)
    return np.append(ordered[:1], ordered[1:][ordered[1:] != ordered[:-1]])


def is_among(values: IntArray, ordered: IntArray) -> BoolArray:
    """Return whether each value is one of some sorted values."""
    if not len(ordered):
        return np.zeros(values.shape, dtype=np.bool_)
    nearest = ordered[np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)]
    among: BoolArray = nearest == values
    return among


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """A list of row numbers for each of N rows: row *i* is `values[offsets[i]:offsets[i + 1]]`.

    Attributes:
        offsets: shape (N + 1,); positions in `values`.
        values: the lists, one after the other.
    """

    offsets: IntArray
    values: IntArray

    @classmethod
    def of(cls, rows: Iterable[Sequence[int]]) -> Ragged:
        """Pack a list for each row."""
        lists = list(rows)
        offsets = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in lists], out=offsets[1:])
        flat = [value for row in lists for value in row]
        return cls(offsets, np.array(flat, dtype=np.int64))

    def row(self, index: int) -> IntArray:
        """Return the values of one row."""
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def take(self, rows: IntArray) -> Ragged:
        """Return the lists of some rows."""
        return Ragged.of([self.row(row).tolist() for row in rows.tolist()])

    def counts(self) -> IntArray:
        """Return the number of values of each row, shape (N,)."""
        return np.diff(self.offsets)

    def sum(self, quantity: npt.NDArray[np.generic]) -> IntArray:
        """Return, for each row, the sum of the rows of `quantity` that it lists.

        Args:
            quantity: shape (P,) or (P, K); added up in int64.

        Returns:
            Shape (N,) or (N, K).
        """
        picked = np.asarray(quantity, dtype=np.int64)[self.values]
        running = np.zeros((len(picked) + 1, *picked.shape[1:]), dtype=np.int64)
        np.cumsum(picked, axis=0, out=running[1:])
        return running[self.offsets[1:]] - running[self.offsets[:-1]]

    def all(self, condition: BoolArray) -> bool:
        """Return whether a condition, one entry for each value, holds for all listed values."""
        return bool(condition[self.values].all())


@dataclass(frozen=True, slots=True, eq=False)
class PartitionTable:
    """The partitions that tasks read, and the racks of their replicas.

    Attributes:
        names: P partitions, in any order.
        racks: R rack names, in the order of the columns of `in_rack`.
        in_rack: shape (P, R); whether a replica of the partition is in the rack.
        racks_known: shape (P,); whether the partition exists, has replicas, and each replica has a rack. Kafka disables
            rack-aware assignment while this is False for a partition.
        topic_ids: the known ids of topics, by name.
    """

    names: Sequence[TopicPartition]
    racks: tuple[str, ...]
    in_rack: BoolArray
    racks_known: BoolArray
    topic_ids: Mapping[str, TopicId] = field(default_factory=dict)
    _remote: dict[Ragged, IntArray] = field(default_factory=dict, repr=False)

    def count_remote(self, listed: Ragged) -> IntArray:
        """Return the number of listed partitions without a replica in each rack, shape (N, R); read-only.

        The result is cached: tables are shared between the rebalances of a group.
        """
        counts = self._remote.get(listed)
        if counts is None:
            counts = self._remote[listed] = listed.sum(~self.in_rack)
            counts.setflags(write=False)
        return counts


@dataclass(frozen=True, slots=True, eq=False)
class TaskTable:
    """T tasks in Kafka's order.

    Attributes:
        ids: task ids, sorted.
        subtopology: shape (T,).
        stateful: shape (T,); whether the task has a store with a changelog.
        source: source partitions of each task, rows of `PartitionTable`.
        changelog: changelog partitions of each task, rows of `PartitionTable`.
    """

    ids: tuple[TaskId, ...]
    subtopology: IntArray
    stateful: BoolArray
    source: Ragged
    changelog: Ragged

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: IntArray) -> TaskTable:
        """Return the table of some tasks, given by their rows in ascending order."""
        return TaskTable(
            ids=tuple(self.ids[row] for row in rows.tolist()),
            subtopology=self.subtopology[rows],
            stateful=self.stateful[rows],
            source=self.source.take(rows),
            changelog=self.changelog.take(rows),
        )


@dataclass(frozen=True, slots=True)
class ConsumerProperties:
    """What the consumers of a client have of their own in a consumer group.

    Attributes:
        topics: the topics to which they subscribe; None for all topics of the group.
        client_id: `client.id`, with which dynamic members' ids begin; None for Kafka's default, `consumer-GROUP-N`.
        instance_id: `group.instance.id` of a client with one consumer; None for the name of the client and a number.
        strategies: the assignors that they list in `partition.assignment.strategy`; None for those of the group.
        has_consumer_protocol: whether they have `group.protocol=consumer` in a group that began with the classic one.
        server_assignor: `group.remote.assignor` under that protocol; None if they leave the choice to the coordinator.
        triggers_target: whether a request of one of them triggers the target, which decides a tie between two
            assignors of the coordinator.
    """

    topics: frozenset[str] | None = None
    client_id: str | None = None
    instance_id: str | None = None
    strategies: tuple[str, ...] | None = None
    has_consumer_protocol: bool = False
    server_assignor: str | None = None
    triggers_target: bool = False


@dataclass(frozen=True, slots=True)
class ConsumerUpdate:
    """The configs that the consumers of a client get with a restart; None for each that does not change.

    Attributes:
        strategies: as in `ConsumerProperties`.
        has_consumer_protocol: as in `ConsumerProperties`.
        server_assignor: as in `ConsumerProperties`; it changes together with the protocol.
    """

    strategies: tuple[str, ...] | None = None
    has_consumer_protocol: bool | None = None
    server_assignor: str | None = None

    def apply_to(self, consumer: ConsumerProperties) -> ConsumerProperties:
        """Return the properties after the restart."""
        if self.strategies is not None:
            consumer = replace(consumer, strategies=self.strategies)
        if self.has_consumer_protocol is None:
            return consumer
        return replace(consumer, has_consumer_protocol=self.has_consumer_protocol, server_assignor=self.server_assignor)


@dataclass(frozen=True, slots=True, eq=False)
class ClientTable:
    """C Kafka Streams clients in Kafka's order.

    Attributes:
        ids: process ids, sorted.
        threads: shape (C,); number of stream threads.
        rack: shape (C,); column of `PartitionTable.in_rack`, or NO_RACK.
        tags: `client.tag.*` of each client.
        instance_ids: `group.instance.id` of each client, None for a dynamic one; empty if none is known.
        consumers: what the consumers of each client have of their own; empty if none has anything, and for Kafka
            Streams.
    """

    ids: tuple[ProcessId, ...]
    threads: IntArray
    rack: IntArray
    tags: tuple[Mapping[str, str], ...]
    instance_ids: tuple[str | None, ...] = ()
    consumers: tuple[ConsumerProperties, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)
