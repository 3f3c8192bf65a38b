"""The layout of a run: the tasks of the application, the partitions that they read and write, and the usual rates.

Everything is in arrays whose rows are tasks, partitions or changelogs, also the tasks and copies of clients of an
application that already runs.

The layout has all partitions that ever exist, and their tasks; until events add them, these have no traffic. The rate
of a topic does not change when it gets partitions: each new one gets the mean, and the old ones share the rest in
proportion to their rates.

Source: tasks as in `org.apache.kafka.streams.processor.internals.PartitionGrouper`: a subtopology has one task for each
partition of its largest source topic.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from assignors.java.hash_order import hash_order
from assignors.model.columns import BoolArray, IntArray, Ragged, TaskTable, distinct
from assignors.model.ids import PartitionTask, TaskId, TopicPartition
from assignors.model.traffic_rates import PartitionRate, TrafficRates
from simulator.world.disturbances import PartitionsAdded
from simulator.world.group_assignment import GroupAssignment
from simulator.world.world import Client, Cluster, Store, Subtopology, Topic, World

NO_BROKER: Final = -1
"""Row that means no broker."""
NO_COPY: Final = -1
"""Lag that means no copy of the task on the client."""


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
    ids = distinct(tasks.subtopology)
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


@dataclass(frozen=True, slots=True, eq=False)
class InitialState:
    """The initial assignment and lags of T tasks on N clients.

    Attributes:
        assignment: the initial assignment of tasks to clients.
        lags: shape (T, N); how many records the copy of a client is behind, NO_COPY where it has none.
        lags_when_opened: shape (T, N); how many records, at the start, what was on disk was behind when the stores of
            the copy were opened, NO_COPY where they were empty.
    """

    assignment: GroupAssignment
    lags: IntArray
    lags_when_opened: IntArray


def build_initial_state(tasks: Sequence[TaskId], clients: Sequence[Client]) -> InitialState:
    """Lay out the tasks and copies of clients in arrays.

    `tasks`: T tasks, by row; `clients`: N clients, by row. Returns the initial state; a copy without a stated lag has
    caught up.
    """
    row_of = {task: row for row, task in enumerate(tasks)}
    assignment = GroupAssignment.empty(len(tasks), len(clients))
    lags, lags_when_opened = np.full((2, *assignment.standby.shape), NO_COPY, dtype=np.int64)
    for column, client in enumerate(clients):
        active, standby = _threads(client.tasks.active, row_of), _threads(client.tasks.standby, row_of)
        assignment.owner[list(active)] = column
        assignment.standby[list(standby), column] = True
        thread_of_copy = {**active, **standby}
        assignment.thread[list(thread_of_copy), column] = list(thread_of_copy.values())
        lags[list(thread_of_copy), column] = 0
        for task, lag in client.tasks.lags.items():
            lags[row_of[task], column] = lag
        for task, lag in client.tasks.lags_when_opened.items():
            lags_when_opened[row_of[task], column] = lag
    return InitialState(assignment, lags, lags_when_opened)


def _threads(tasks_by_thread: Sequence[Sequence[TaskId]], row_of: Mapping[TaskId, int]) -> dict[int, int]:
    """Return the thread of each task, by row."""
    return {row_of[task]: number for number, tasks in enumerate(tasks_by_thread) for task in tasks}


def with_added_partitions(world: World) -> World:
    """Return the world with the partitions that events add, as if they existed from the start."""
    topics = dict(world.cluster.topics)
    for event in _additions(world):
        topics[event.topic] = _with_partitions(topics[event.topic], event)
    if topics == world.cluster.topics:
        return world
    return replace(world, cluster=replace(world.cluster, topics=topics))


def partitions_added_at_ms(world: World, layout: Layout) -> IntArray:
    """Return when each partition is added, shape (P,); 0 if it exists from the start."""
    at_ms = {
        (event.topic, event.first + number): event.at_ms
        for event in _additions(world)
        for number in range(len(event.replicas))
    }
    return np.array([at_ms.get((name.topic, name.partition), 0) for name in layout.partitions], dtype=np.int64)


def added_at_ms(world: World, layout: Layout) -> IntArray:
    """Return when each task begins to exist, shape (T,): 0, or when the partition is added that makes it necessary."""
    of_partition = partitions_added_at_ms(world, layout)
    rows = (layout.tasks.source.row(task) for task in range(len(layout.tasks)))
    return np.array([of_partition[row].min() for row in rows], dtype=np.int64)


def rate_shares(world: World, layout: Layout, at_ms: int) -> FloatArray | None:
    """Return the rate of each partition at a time as a fraction of its rate in the layout, shape (P,).

    The result is None if no event adds partitions.
    """
    first = {event.topic: event.first for event in reversed(_additions(world))}
    if not first:
        return None
    exists = partitions_added_at_ms(world, layout) <= at_ms
    topics = [name.topic for name in layout.partitions]
    count = dict.fromkeys(first, 0)
    for topic in (topic for topic, present in zip(topics, exists.tolist(), strict=True) if present and topic in first):
        count[topic] += 1
    fractions = [first[topic] / count[topic] if topic in first else 1.0 for topic in topics]
    return np.where(exists, np.array(fractions, dtype=np.float64), 0.0)


def _additions(world: World) -> list[PartitionsAdded]:
    events = [event for event in world.disturbances if isinstance(event, PartitionsAdded)]
    return sorted(events, key=lambda event: (event.at_ms, event.first))


def _with_partitions(topic: Topic, event: PartitionsAdded) -> Topic:
    if topic.num_partitions != event.first:
        return topic
    count = len(event.replicas)
    return replace(
        topic,
        replicas=topic.replicas + event.replicas,
        leaders=topic.leaders + tuple(replicas[0] for replicas in event.replicas),
        bytes_per_s=_with_means(topic.bytes_per_s, count),
        size_bytes=topic.size_bytes + (0,) * count,
        hourly_bytes_per_s=tuple(_with_means(hour, count) for hour in topic.hourly_bytes_per_s),
        in_sync=topic.in_sync and topic.in_sync + event.replicas,
    )


def _with_means(rates: tuple[int, ...], count: int) -> tuple[int, ...]:
    return rates + (round(sum(rates) / len(rates)),) * count


def mean_traffic(world: World, layout: Layout) -> TrafficRates:
    """Return the rates, leader racks and prices of a world.

    Leaders are those at the start. Rates are the configured ones, or the daily mean of measured ones. Later broker
    failures and the hour of the day have no influence. `layout`: its tasks and partitions.

    Complexity: O(P + T·X) for P partitions and T tasks that write to X topics.
    """
    racks = {broker.id: broker.rack for broker in world.cluster.brokers}
    topics = world.cluster.topics
    partitions = {}
    for name in layout.partitions:
        topic = topics[name.topic]
        partitions[name] = PartitionRate(
            bytes_per_s=topic.bytes_per_s[name.partition],
            leader_rack=racks.get(topic.leaders[name.partition]),
            size_bytes=topic.size_bytes[name.partition],
            record_bytes=topic.record_bytes,
        )
    return TrafficRates(
        partitions=partitions,
        writes=_write_rates(layout, [partitions[name].leader_rack for name in layout.partitions]),
        reads_from_nearest=world.cluster.reads_from_nearest_replica,
        usd_per_gb=None if world.price is None else world.price.usd_per_gb,
    )


def _write_rates(layout: Layout, leader_racks: list[str | None]) -> Mapping[TaskId, Mapping[str, int]]:
    """Return the rate at which each task writes to leaders in each rack, in bytes per second, without changelogs."""
    written = layout.outputs
    shares: list[dict[str, float]] = [{} for _ in written.topics]
    topic_of, partition_of = row_of_values(written.partitions).tolist(), written.partitions.values.tolist()
    for topic, partition, share in zip(topic_of, partition_of, written.partition_share.tolist(), strict=True):
        rack = leader_racks[partition]
        if rack is not None:
            shares[topic][rack] = shares[topic].get(rack, 0.0) + share
    totals: dict[TaskId, dict[str, float]] = defaultdict(dict)
    for task, topic, bytes_per_s in zip(written.task, written.topic, written.bytes_per_s, strict=True):
        rates = totals[layout.tasks.ids[int(task)]]
        for rack, share in shares[int(topic)].items():
            rates[rack] = rates.get(rack, 0.0) + share * float(bytes_per_s)
    return {task: {rack: round(rates[rack]) for rack in sorted(rates)} for task, rates in totals.items()}
