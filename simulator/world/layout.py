"""The layout of a run: the tasks of the application, the partitions that they read and write, and the usual rates.

Everything is in arrays whose rows are tasks, partitions or changelogs.

Source: tasks as in `org.apache.kafka.streams.processor.internals.PartitionGrouper`: a subtopology has one task for each
partition of its largest source topic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from assignors.java.hash_order import hash_order
from assignors.model.columns import BoolArray, IntArray, Ragged, TaskTable
from assignors.model.ids import PartitionTask, TaskId, TopicPartition
from simulator.world.world import Cluster, Store, Subtopology, Topic, World

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Changelogs:
    """The changelog partitions of all tasks, E pairs of a task and a partition.

    Attributes:
        task: shape (E,); row of the task.
        partition: shape (E,); row of the partition.
        restored_share: shape (E,); its fraction of the size of the task's changelogs.
        followed_share: shape (E,); its fraction of the bytes written to the task's changelogs.
        is_source: shape (E,); whether the task also reads it as a source (`topology.optimization`), and therefore
            writes nothing to it.
        written_bytes_per_s: shape (E,); rate at which a running task writes to it, 0 if it is a source.
        persistent: shape (E,); whether its store is on disk.
        write_buffer_bytes: shape (E,); how much its store collects before it writes to disk.
    """

    task: IntArray
    partition: IntArray
    restored_share: FloatArray
    followed_share: FloatArray
    is_source: BoolArray
    written_bytes_per_s: FloatArray
    persistent: BoolArray
    write_buffer_bytes: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class OutputTopics:
    """The X topics that tasks write besides changelogs, and V pairs of a task and a topic that it writes.

    Attributes:
        topics: the names of the topics.
        is_repartition: shape (X,); whether tasks of this application read the topic. The others are result topics.
        partitions: the rows of the partitions of each topic.
        partition_share: the fraction of the topic's traffic in each partition, along `partitions.values`.
        task: shape (V,); row of the writing task.
        topic: shape (V,); index of the topic in `topics`.
        bytes_per_s: shape (V,); rate at which the task writes to the topic at the usual traffic.
    """

    topics: tuple[str, ...]
    is_repartition: BoolArray
    partitions: Ragged
    partition_share: FloatArray
    task: IntArray
    topic: IntArray
    bytes_per_s: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The constant data of a run in arrays.

    Attributes:
        tasks: T tasks, whose partitions are rows of the P partitions below.
        task_insertion_order: shape (T,); the tasks in the order in which a group leader lists them.
        partitions: the P partitions that tasks read (sources and changelogs) or write; those that are read come first.
        num_read: the number of partitions that are read.
        racks: the names of R racks of brokers and clients, sorted.
        bytes_per_s: shape (P,); the usual production rate of each partition.
        is_repartition: shape (P,); whether tasks of this application both write and read its topic.
        input_bytes_per_s: shape (T,); the input of a task from its sources at the usual traffic.
        input_records_per_s: shape (T,); that input in records per second.
        state_bytes: shape (T,); the size of the task's state at the start.
        state_bytes_per_s: shape (T,); rate at which its changelogs are written while it runs.
        record_bytes: shape (T,); the mean size of a changelog record.
        memory_share: shape (T,); the fraction of its state in stores that are not persistent.
        changelogs: the changelog partitions.
        outputs: the repartition and result topics.
    """

    tasks: TaskTable
    task_insertion_order: IntArray
    partitions: tuple[TopicPartition, ...]
    num_read: int
    racks: tuple[str, ...]
    bytes_per_s: FloatArray
    is_repartition: BoolArray
    input_bytes_per_s: FloatArray
    input_records_per_s: FloatArray
    state_bytes: FloatArray
    state_bytes_per_s: FloatArray
    record_bytes: FloatArray
    memory_share: FloatArray
    changelogs: Changelogs
    outputs: OutputTopics


def lay_out(world: World) -> Layout:
    """Return the tasks of the world's application, and the partitions that they read and write."""
    topics, subtopologies = world.cluster.topics, world.application.subtopologies
    row_of: dict[TopicPartition, int] = {}
    tasks = _tasks(world, row_of)
    num_read = len(row_of)
    writers = {
        name: [part.id for part in subtopologies if name in part.written_topics] for name in _written_topics(world)
    }
    partitions_of = Ragged.of([_rows(topics[name], row_of) for name in writers])
    names = tuple(row_of)
    size = np.array([topics[name.topic].size_bytes[name.partition] for name in names], dtype=np.int64)
    rate = np.array([topics[name.topic].bytes_per_s[name.partition] for name in names], dtype=np.int64)
    record = np.array([topics[name.topic].record_bytes for name in names], dtype=np.int64)
    input_bytes_per_s = _sum_of_values(tasks.source, rate)
    in_memory = np.isin(np.arange(len(names)), [row_of[name] for name in _in_memory(world) if name in row_of])
    changelogs = _changelogs(tasks, size, rate, ~in_memory, _write_buffers(world, names))
    read = {name for part in subtopologies for name in part.source_topics}
    return Layout(
        tasks=tasks,
        task_insertion_order=in_leader_order(tasks),
        partitions=names,
        num_read=num_read,
        racks=_racks(world),
        bytes_per_s=rate.astype(np.float64),
        is_repartition=np.array([name.topic in read and name.topic in writers for name in names], dtype=np.bool_),
        input_bytes_per_s=input_bytes_per_s,
        input_records_per_s=_sum_of_values(tasks.source, rate / record),
        state_bytes=_sum_of_values(tasks.changelog, size),
        state_bytes_per_s=_sum_of_values(tasks.changelog, rate),
        record_bytes=_record_bytes(changelogs, record, len(tasks)),
        memory_share=sum_by_row(changelogs.task, changelogs.restored_share * ~changelogs.persistent, len(tasks)),
        changelogs=changelogs,
        outputs=_output_topics(tasks, writers, read, partitions_of, rate, input_bytes_per_s),
    )


def row_of_values(listed: Ragged) -> IntArray:
    """Return the row of each value of a ragged array, along `listed.values`."""
    counts = listed.counts()
    return np.repeat(np.arange(len(counts)), counts)


def sum_by_row(rows: IntArray, amounts: FloatArray, num_rows: int) -> FloatArray:
    """Add up amounts by row, shape (num_rows,)."""
    return np.bincount(rows, weights=amounts, minlength=num_rows).astype(np.float64, copy=False)


def _sum_of_values(listed: Ragged, amounts: npt.NDArray[Any]) -> FloatArray:
    """Add up the amounts of the values of each row; exact for whole amounts below 2^53."""
    return sum_by_row(row_of_values(listed), amounts[listed.values], len(listed.offsets) - 1)


def _tasks(world: World, row_of: dict[TopicPartition, int]) -> TaskTable:
    """Return the tasks; add the partitions that they read to `row_of`."""
    topics = world.cluster.topics
    ids: list[TaskId] = []
    stateful: list[bool] = []
    sources: list[list[int]] = []
    changelogs: list[list[int]] = []

    def rows(names: Sequence[str], partition: int) -> list[int]:
        present = [TopicPartition(name, partition) for name in names if partition < topics[name].num_partitions]
        return [row_of.setdefault(name, len(row_of)) for name in present]

    for subtopology in sorted(world.application.subtopologies, key=lambda part: part.id):
        logged = [store.changelog for store in subtopology.stores if store.changelog is not None]
        for partition in range(_num_tasks(world.cluster, subtopology)):
            ids.append(_task_id(world, subtopology, partition))
            stateful.append(subtopology.is_stateful)
            sources.append(rows(subtopology.source_topics, partition))
            changelogs.append(rows(logged, partition))
    return TaskTable(
        ids=tuple(ids),
        subtopology=np.array([task.subtopology for task in ids], dtype=np.int64),
        stateful=np.array(stateful, dtype=np.bool_),
        source=Ragged.of(sources),
        changelog=Ragged.of(changelogs),
    )


def _task_id(world: World, subtopology: Subtopology, partition: int) -> TaskId:
    if world.application.is_consumer_group:
        return PartitionTask(subtopology.id, partition, subtopology.source_topics[0])
    return TaskId(subtopology.id, partition)


def in_leader_order(tasks: TaskTable) -> IntArray:
    """Return tasks by subtopology, in the order of Java's hash map (`TopologyMetadata.Subtopology`), and partition."""
    ids = np.unique(tasks.subtopology)
    ordered = [ids[index] for index in hash_order([31 * 31 + 31 * int(id_) for id_ in ids])]
    rows = [np.flatnonzero(tasks.subtopology == id_) for id_ in ordered]
    return np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)


def _num_tasks(cluster: Cluster, subtopology: Subtopology) -> int:
    return max(cluster.topics[topic].num_partitions for topic in subtopology.source_topics)


def _written_topics(world: World) -> list[str]:
    return sorted({name for part in world.application.subtopologies for name in part.written_topics})


def _rows(topic: Topic, row_of: dict[TopicPartition, int]) -> list[int]:
    names = [TopicPartition(topic.name, partition) for partition in range(topic.num_partitions)]
    return [row_of.setdefault(name, len(row_of)) for name in names]


def _in_memory(world: World) -> list[TopicPartition]:
    stores: list[Store] = [store for part in world.application.subtopologies for store in part.stores]
    logs = [store.changelog for store in stores if store.changelog is not None and not store.persistent]
    topics = world.cluster.topics
    return [TopicPartition(log, partition) for log in logs for partition in range(topics[log].num_partitions)]


def _racks(world: World) -> tuple[str, ...]:
    of_clients = {client.rack for client in world.clients if client.rack is not None}
    of_others = world.other_traffic.racks if world.other_traffic is not None else frozenset()
    return tuple(sorted(of_clients.union(world.cluster.racks, of_others)))


def _write_buffers(world: World, names: Sequence[TopicPartition]) -> FloatArray:
    """Return the write buffer of the store of each partition, 0 where it is the changelog of none."""
    of_topic = {
        store.changelog: store.write_buffer_bytes for part in world.application.subtopologies for store in part.stores
    }
    return np.array([of_topic.get(name.topic, 0) for name in names], dtype=np.float64)


def _changelogs(
    tasks: TaskTable, size: IntArray, rate: IntArray, persistent: BoolArray, write_buffer: FloatArray
) -> Changelogs:
    task, partition = row_of_values(tasks.changelog), tasks.changelog.values
    pairs_read = row_of_values(tasks.source) * len(size) + tasks.source.values
    is_source = np.isin(task * len(size) + partition, pairs_read)
    return Changelogs(
        task=task,
        partition=partition,
        restored_share=shares(task, size[partition], rate[partition]),
        followed_share=shares(task, rate[partition], size[partition]),
        is_source=is_source,
        written_bytes_per_s=np.where(is_source, 0.0, rate[partition]),
        persistent=persistent[partition],
        write_buffer_bytes=write_buffer[partition],
    )


def _record_bytes(changelogs: Changelogs, record: IntArray, num_tasks: int) -> FloatArray:
    """Return the mean size of a record over each task's changelogs, shape (T,); 1 where a task has none."""
    sizes = record[changelogs.partition].astype(np.float64)
    least, most = np.full(num_tasks, np.inf), np.zeros(num_tasks, dtype=np.float64)
    np.minimum.at(least, changelogs.task, sizes)
    np.maximum.at(most, changelogs.task, sizes)
    records = sum_by_row(changelogs.task, changelogs.restored_share / sizes, num_tasks)
    mean = np.divide(1.0, records, out=np.ones(num_tasks), where=records > 0)
    # If all changelogs have the same record size, this is the mean to the last bit.
    return np.where(records > 0, np.clip(mean, least, most), 1.0)


def shares(rows: IntArray, *amounts: npt.NDArray[np.generic]) -> FloatArray:
    """Return the fraction that each entry is of its row.

    `rows`, shape (E,): the row of each entry. `amounts`: measures by which to divide a row, each of shape (E,): the
    first one that is not 0 in the whole row is used. The result has shape (E,): even fractions where all amounts of a
    row are 0.
    """
    num_rows = int(rows.max(initial=-1)) + 1
    chosen = np.ones(len(rows), dtype=np.float64)
    for amount in reversed(amounts):
        measured = np.asarray(amount, dtype=np.float64)
        chosen = np.where(sum_by_row(rows, measured, num_rows)[rows] > 0, measured, chosen)
    return chosen / sum_by_row(rows, chosen, num_rows)[rows]


def _output_topics(
    tasks: TaskTable,
    writers: Mapping[str, Sequence[int]],
    read: set[str],
    partitions: Ragged,
    rate: IntArray,
    input_bytes_per_s: FloatArray,
) -> OutputTopics:
    """Distribute the production rate of each written topic over its writers, in proportion to their input."""
    rows = [np.flatnonzero(np.isin(tasks.subtopology, ids)) for ids in writers.values()]
    task = np.concatenate([*rows, np.empty(0, dtype=np.int64)])
    topic = np.repeat(np.arange(len(rows)), [len(tasks_of_topic) for tasks_of_topic in rows]).astype(np.int64)
    return OutputTopics(
        topics=tuple(writers),
        is_repartition=np.array([name in read for name in writers], dtype=np.bool_),
        partitions=partitions,
        partition_share=shares(row_of_values(partitions), rate[partitions.values]),
        task=task,
        topic=topic,
        bytes_per_s=_sum_of_values(partitions, rate)[topic] * shares(topic, input_bytes_per_s[task]),
    )
