"""The rows of a run: which tasks an application has, which partitions they read, and where those stand.

Source: tasks as `org.apache.kafka.streams.processor.internals.PartitionGrouper` makes them: one for each partition of
the subtopology's source topic that has most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assignors.columns import NO_RACK, BoolArray, IntArray, PartitionTable, Ragged, TaskTable
from assignors.ids import TaskId, TopicPartition
from simulator.world import NO_LEADER, Cluster, Subtopology, World

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """What stays the same during a run, in rows.

    Attributes:
        tasks: T tasks; partitions are rows of the P partitions below.
        partitions: the P partitions that tasks read, sources and changelogs.
        racks: the names of R racks, those of brokers and of clients, sorted.
        bytes_per_s: shape (P,); what is produced to each partition.
        state_bytes: shape (T,); the size of the task's state at the start.
        state_bytes_per_s: shape (T,); what a running task writes to its changelogs.
        record_bytes: shape (T,); the mean size of a changelog record.
    """

    tasks: TaskTable
    partitions: tuple[TopicPartition, ...]
    racks: tuple[str, ...]
    bytes_per_s: FloatArray
    state_bytes: FloatArray
    state_bytes_per_s: FloatArray
    record_bytes: FloatArray


def lay_out(world: World) -> Layout:
    """Derive the tasks of the world's application and the partitions they read."""
    topics = world.cluster.topics
    ids: list[TaskId] = []
    stateful: list[bool] = []
    sources: list[list[int]] = []
    changelogs: list[list[int]] = []
    row_of: dict[TopicPartition, int] = {}

    def rows(names: list[str], partition: int) -> list[int]:
        present = [TopicPartition(name, partition) for name in names if partition < topics[name].num_partitions]
        return [row_of.setdefault(name, len(row_of)) for name in present]

    for subtopology in sorted(world.application.subtopologies, key=lambda part: part.id):
        logged = [store.changelog for store in subtopology.stores if store.changelog is not None]
        for partition in range(_num_tasks(world.cluster, subtopology)):
            ids.append(TaskId(subtopology.id, partition))
            stateful.append(subtopology.is_stateful)
            sources.append(rows(list(subtopology.source_topics), partition))
            changelogs.append(rows(logged, partition))
    tasks = TaskTable(
        ids=tuple(ids),
        subtopology=np.array([task.subtopology for task in ids], dtype=np.int64),
        stateful=np.array(stateful, dtype=np.bool_),
        source=Ragged.of(sources),
        changelog=Ragged.of(changelogs),
    )
    names = tuple(row_of)
    size = np.array([topics[name.topic].size_bytes[name.partition] for name in names], dtype=np.int64)
    rate = np.array([topics[name.topic].bytes_per_s[name.partition] for name in names], dtype=np.int64)
    record = np.array([topics[name.topic].record_bytes for name in names], dtype=np.int64)
    state_bytes = tasks.changelog.sum(size).astype(np.float64)
    records = tasks.changelog.sum(size // record).astype(np.float64)
    mean_record = np.where(records > 0, state_bytes / np.maximum(records, 1), 1_000.0)
    return Layout(
        tasks=tasks,
        partitions=names,
        racks=_racks(world),
        bytes_per_s=rate.astype(np.float64),
        state_bytes=state_bytes,
        state_bytes_per_s=tasks.changelog.sum(rate).astype(np.float64),
        record_bytes=mean_record,
    )


def _num_tasks(cluster: Cluster, subtopology: Subtopology) -> int:
    return max(cluster.topics[topic].num_partitions for topic in subtopology.source_topics)


def _racks(world: World) -> tuple[str, ...]:
    of_clients = {client.rack for client in world.clients if client.rack is not None}
    return tuple(sorted(of_clients.union(world.cluster.racks)))


@dataclass(frozen=True, slots=True, eq=False)
class Placing:
    """Where the partitions stand at one moment.

    Attributes:
        table: the racks of each partition's replicas, as the group leader learns them.
        leader_rack: shape (P,); the rack of the leader, NO_RACK if there is none or it has no rack.
        served_in: shape (P, R); whether a live replica stands in the rack.
    """

    table: PartitionTable
    leader_rack: IntArray
    served_in: BoolArray


class Brokers:
    """Which brokers are alive and which replicas every partition has, as a run changes them."""

    def __init__(self, world: World, layout: Layout) -> None:
        self._layout = layout
        column_of = {rack: column for column, rack in enumerate(layout.racks)}
        self._rack_of: dict[int, int] = {
            broker.id: NO_RACK if broker.rack is None else column_of[broker.rack] for broker in world.cluster.brokers
        }
        topics = world.cluster.topics
        self._replicas = [topics[name.topic].replicas[name.partition] for name in layout.partitions]
        self._leaders = [topics[name.topic].leaders[name.partition] for name in layout.partitions]
        self._row_of = {name: row for row, name in enumerate(layout.partitions)}
        self._alive = set(self._rack_of)

    def lose(self, brokers: tuple[int, ...]) -> None:
        """Take brokers away; the first live replica of each partition takes over."""
        self._alive.difference_update(brokers)
        self._elect()

    def regain(self, brokers: tuple[int, ...]) -> None:
        """Bring brokers back; the preferred replica of each partition leads again."""
        self._alive.update(brokers)
        self._elect()

    def set_replicas(self, partition: TopicPartition, replicas: tuple[int, ...]) -> None:
        """Give a partition other replicas; one that no task reads does not matter."""
        row = self._row_of.get(partition)
        if row is not None:
            self._replicas[row] = replicas
            self._leaders[row] = self._first_alive(replicas)

    def placing(self) -> Placing:
        """Where the partitions stand now.

        A replica on a lost broker has no rack in the metadata that clients get, so that partition is not located:
        Kafka's rack-aware assignment is off meanwhile. (Source: `MetadataResponse`, which stands in a node without
        rack for a broker that is gone.)
        """
        num_partitions, racks = len(self._replicas), self._layout.racks
        in_rack = np.zeros((num_partitions, len(racks)), dtype=np.bool_)
        located = np.zeros(num_partitions, dtype=np.bool_)
        leader_rack = np.full(num_partitions, NO_RACK, dtype=np.int64)
        for row, replicas in enumerate(self._replicas):
            columns = [self._rack_of[broker] if broker in self._alive else NO_RACK for broker in replicas]
            located[row] = bool(columns) and NO_RACK not in columns
            in_rack[row, [column for column in columns if column != NO_RACK]] = True
            if self._leaders[row] != NO_LEADER:
                leader_rack[row] = self._rack_of[self._leaders[row]]
        table = PartitionTable(self._layout.partitions, racks, in_rack, located)
        return Placing(table, leader_rack, in_rack)

    def _elect(self) -> None:
        self._leaders = [self._first_alive(replicas) for replicas in self._replicas]

    def _first_alive(self, replicas: tuple[int, ...]) -> int:
        return next((broker for broker in replicas if broker in self._alive), NO_LEADER)
