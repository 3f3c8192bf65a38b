"""The input of a task assignor: tasks, clients, and the copies of each task on each client.

The names are those of KIP-924 (`org.apache.kafka.streams.processor.assignment`): `ApplicationState`,
`KafkaStreamsState`, `TaskInfo`, `TaskTopicPartition`. The data is stored in the columns of `assignors.model.columns`,
on which the assignors of this project work. The accessors of KIP-924 serve assignors that are to be ported to Java.

In a consumer group, a task reads a single partition, and each client may subscribe to other topics.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from assignors.errors import IllegalStateError
from assignors.model.columns import NO_RACK, BoolArray, ClientTable, IntArray, PartitionTable, Ragged, TaskTable
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId, TaskId, TopicPartition


def subscribers_of_tasks(clients: ClientTable, tasks: TaskTable, partitions: PartitionTable) -> BoolArray | None:
    """Return which clients subscribe to the topic of each task; None if all subscribe to all topics.

    Returns:
        Shape (T, C).
    """
    subscriptions = [consumer.topics for consumer in clients.consumers]
    if all(topics is None for topics in subscriptions):
        return None
    topic_of_task = [partitions.names[int(tasks.source.row(task)[0])].topic for task in range(len(tasks))]
    row_of_topic = {topic: row for row, topic in enumerate(dict.fromkeys(topic_of_task))}
    by_topic = np.array([[topics is None or topic in topics for topics in subscriptions] for topic in row_of_topic])
    return by_topic[[row_of_topic[topic] for topic in topic_of_task]]


LATEST_OFFSET = -2
"""Lag of a task that is active on the client (`Task.LATEST_OFFSET`)."""

UNKNOWN_OFFSET_SUM = -3
"""Lag of a task whose offsets are unknown (`SubscriptionInfo.UNKNOWN_OFFSET_SUM`)."""

UNKNOWN_THREAD = -1
"""Thread of a previous task whose thread is unknown."""

NO_LAG = -(2**63)
"""Entry of the lag column for a task without lag, such as a stateless task."""


@dataclass(frozen=True, slots=True)
class TaskTopicPartition:
    """A partition that a task reads as source, as changelog, or as both.

    Attributes:
        topic_partition: the partition.
        is_source: whether the task reads it as input.
        is_changelog: whether it is the changelog of a store of the task.
        rack_ids: rack of each replica, None for a broker without rack; None if the partition is unknown. In an
            `ApplicationState`, each known rack once, as in Kafka; None if no rack is known.

    Examples:
        >>> orders = TaskTopicPartition(TopicPartition("orders", 0), True, False, ("az1", "az2"))
        >>> orders.rack_ids
        ('az1', 'az2')
    """

    topic_partition: TopicPartition
    is_source: bool
    is_changelog: bool
    rack_ids: tuple[str | None, ...] | None


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A task and the partitions that it reads.

    Attributes:
        id: task id.
        is_stateful: whether the task has a store with a changelog.
        topic_partitions: source and changelog partitions.
    """

    id: TaskId
    is_stateful: bool
    topic_partitions: tuple[TaskTopicPartition, ...] = ()


@dataclass(frozen=True, slots=True)
class KafkaStreamsState:
    """The state of a Kafka Streams client, which is a process with one or more stream threads.

    Attributes:
        process_id: process id.
        num_processing_threads: number of stream threads.
        rack_id: `client.rack`; None if not configured.
        client_tags: `client.tag.*`.
        previous_active_tasks: tasks that ran on the client.
        previous_standby_tasks: other tasks that the client held.
        task_lags: lag in records of the client's copy of each stateful task of the application: the end offset of the
            changelog for a task without copy, LATEST_OFFSET for one that runs there, UNKNOWN_OFFSET_SUM if unknown.
        task_offsets: sum of the changelog offsets of each copy that the client reports to the coordinator of a streams
            group; none from clients before Kafka 4.4.
        task_end_offsets: sum of the end offsets of the same changelogs.
        instance_id: `group.instance.id`; None for dynamic members.

    Raises:
        ValueError: the client has no thread.
    """

    process_id: ProcessId
    num_processing_threads: int = 1
    rack_id: str | None = None
    client_tags: Mapping[str, str] = field(default_factory=dict)
    previous_active_tasks: tuple[TaskId, ...] = ()
    previous_standby_tasks: tuple[TaskId, ...] = ()
    task_lags: Mapping[TaskId, int] = field(default_factory=dict)
    task_offsets: Mapping[TaskId, int] = field(default_factory=dict)
    task_end_offsets: Mapping[TaskId, int] = field(default_factory=dict)
    instance_id: str | None = None

    def __post_init__(self) -> None:
        if self.num_processing_threads < 1:
            raise ValueError(f"client {self.process_id} has {self.num_processing_threads} threads (minimum: 1)")

    def lag_for(self, task: TaskId) -> int:
        """Return the lag of a stateful task, in records.

        Raises:
            IllegalStateError: the task has no lag, for example because it is stateless.
        """
        try:
            return self.task_lags[task]
        except KeyError:
            raise IllegalStateError(f"Tried to lookup lag for unknown task {task}") from None

    def prev_tasks_by_lag(self) -> list[TaskId]:
        """Return the stateful tasks that the client held, in the order of lag, then task id."""
        held = {*self.previous_active_tasks, *self.previous_standby_tasks}
        return sorted((task for task in held if task in self.task_lags), key=lambda task: (self.lag_for(task), task))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy read-only mappings, too, as dictionaries."""
        values = (getattr(self, column.name) for column in fields(self))
        return type(self), tuple(dict(value) if isinstance(value, MappingProxyType) else value for value in values)


@dataclass(frozen=True, eq=False)
class ApplicationState:
    """A read-only snapshot of an application: the whole input of a task assignor.

    Attributes:
        tasks: T tasks in Kafka's order.
        clients: C clients in Kafka's order.
        partitions: P partitions and the racks of their replicas.
        lags: shape (T, C); see `KafkaStreamsState.task_lags`. NO_LAG for stateless tasks.
        previous_active: tasks that ran on each client, sorted; may include tasks that no longer exist.
        previous_standby: other tasks that each client held, sorted; may include tasks that no longer exist.
        assignment_configs: assignment configs.
        task_insertion_order: shape (T,); rows of `tasks` in the order in which the caller listed them; None for Kafka's
            order. Kafka fills hash collections in this order, on which the assignments of its sticky assignors can
            depend.
        client_insertion_order: shape (C,); the same for `clients`.
        previous_thread: shape (T, C); the thread of each client, from 0, that held each previous task, UNKNOWN_THREAD
            if none is known; None if nothing is known about threads. Only coordinators of streams groups, whose
            members are threads, need it.
        task_offsets: offsets that each client reports; see `KafkaStreamsState.task_offsets`. Empty if none does.
        task_end_offsets: the same for `KafkaStreamsState.task_end_offsets`.
        thread_offsets: the offsets that each thread of each client reports; empty if that is unknown. Then
            `task_offsets` are distributed to the threads. Only coordinators of streams groups need it.
        thread_standbys: the other tasks that each thread of each client held; empty if `previous_thread` says it,
            because no two threads of a client held the same task. Only coordinators of streams groups need it.
    """

    tasks: TaskTable
    clients: ClientTable
    partitions: PartitionTable
    lags: IntArray
    previous_active: Sequence[tuple[TaskId, ...]]
    previous_standby: Sequence[tuple[TaskId, ...]]
    assignment_configs: AssignmentConfigs
    task_insertion_order: IntArray | None = None
    client_insertion_order: IntArray | None = None
    previous_thread: IntArray | None = None
    task_offsets: Sequence[Mapping[TaskId, int]] = ()
    thread_offsets: Sequence[Sequence[Mapping[TaskId, int]]] = ()
    task_end_offsets: Sequence[Mapping[TaskId, int]] = ()
    thread_standbys: Sequence[Sequence[tuple[TaskId, ...]]] = ()

    def __post_init__(self) -> None:
        tasks, partitions = self.tasks, self.partitions
        columns = (self.lags, tasks.subtopology, tasks.stateful, self.clients.threads, self.clients.rack)
        lists = (tasks.source.offsets, tasks.source.values, tasks.changelog.offsets, tasks.changelog.values)
        orders = (self.task_insertion_order, self.client_insertion_order, self.previous_thread)
        for column in (*columns, *lists, partitions.in_rack, partitions.racks_known, *orders):
            if column is not None:
                column.setflags(write=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields only: the state is read-only in another process, too, and caches stay here."""
        return type(self), tuple(getattr(self, column.name) for column in fields(self))

    @classmethod
    def of(
        cls,
        tasks: Iterable[TaskInfo],
        clients: Iterable[KafkaStreamsState],
        configs: AssignmentConfigs | None = None,
    ) -> ApplicationState:
        """Build a state from tasks and clients in any order.

        Args:
            tasks: all tasks of the application.
            clients: all clients of the group.
            configs: assignment configs; None for Kafka's defaults.

        Returns:
            The state; tasks and clients are sorted as in Kafka.

        Raises:
            ValueError: two tasks or two clients have the same id.

        Examples:
            >>> source = TaskTopicPartition(TopicPartition("orders", 0), True, False, ("az1",))
            >>> task = TaskInfo(TaskId(0, 0), is_stateful=False, topic_partitions=(source,))
            >>> clients = [KafkaStreamsState(ProcessId(0, number), rack_id=f"az{number}") for number in (2, 1)]
            >>> state = ApplicationState.of([task], clients)
            >>> state.clients.rack.tolist()
            [0, 1]
            >>> state.remote_partitions(state.tasks.source).tolist()
            [[0, 1]]
        """
        task_insertion_order, client_insertion_order = list(tasks), list(clients)
        infos = sorted(task_insertion_order, key=lambda info: info.id)
        members = sorted(client_insertion_order, key=lambda member: member.process_id)
        _require_unique("task", [info.id for info in infos])
        _require_unique("client", [member.process_id for member in members])
        partitions, rows = _partition_table(infos, members)
        rack_of = {rack: column for column, rack in enumerate(partitions.racks)}
        return cls(
            tasks=_task_table(infos, rows),
            clients=ClientTable(
                ids=tuple(member.process_id for member in members),
                threads=np.array([member.num_processing_threads for member in members], dtype=np.int64),
                rack=np.array([NO_RACK if m.rack_id is None else rack_of[m.rack_id] for m in members], dtype=np.int64),
                tags=tuple(dict(member.client_tags) for member in members),
                instance_ids=tuple(member.instance_id for member in members),
            ),
            partitions=partitions,
            lags=_lag_matrix(infos, members),
            previous_active=tuple(tuple(sorted(member.previous_active_tasks)) for member in members),
            previous_standby=tuple(tuple(sorted(member.previous_standby_tasks)) for member in members),
            assignment_configs=configs or AssignmentConfigs(),
            task_insertion_order=_rows([task.id for task in task_insertion_order], [task.id for task in infos]),
            client_insertion_order=_rows(
                [c.process_id for c in client_insertion_order], [c.process_id for c in members]
            ),
            task_offsets=tuple(dict(member.task_offsets) for member in members),
            task_end_offsets=tuple(dict(member.task_end_offsets) for member in members),
        )

    @cached_property
    def row_of_task(self) -> Mapping[TaskId, int]:
        """Return the row of each task id."""
        return {task: row for row, task in enumerate(self.tasks.ids)}

    @cached_property
    def row_of_client(self) -> Mapping[ProcessId, int]:
        """Return the row of each process id."""
        return {client: row for row, client in enumerate(self.clients.ids)}

    @cached_property
    def subscribers(self) -> BoolArray | None:
        """Return which clients of a consumer group subscribe to the topic of each task; None if all do.

        Returns:
            Shape (T, C).
        """
        return subscribers_of_tasks(self.clients, self.tasks, self.partitions)

    @cached_property
    def all_tasks(self) -> Mapping[TaskId, TaskInfo]:
        """Return all tasks by id, in Kafka's order."""
        return MappingProxyType({task: self._task_info(row) for row, task in enumerate(self.tasks.ids)})

    @cached_property
    def kafka_streams_states(self) -> Mapping[ProcessId, KafkaStreamsState]:
        """Return all clients with their lags by process id, in Kafka's order."""
        return MappingProxyType({id_: self._kafka_streams_state(row) for row, id_ in enumerate(self.clients.ids)})

    def remote_partitions(self, partitions: Ragged) -> IntArray:
        """Return, for each task and client, the number of the task's partitions without a replica in the client's rack.

        Args:
            partitions: `tasks.source` or `tasks.changelog`.

        Returns:
            Shape (T, C). For a client without rack, all partitions count.
        """
        per_rack = self.partitions.count_remote(partitions)
        with_no_rack = np.column_stack((per_rack, partitions.counts()))
        return with_no_rack[:, self.clients.rack]

    def has_known_racks(self, *, standbys: bool) -> bool:
        """Return whether the racks of all clients and of all source partitions are known.

        Args:
            standbys: whether the racks of changelog partitions must be known, too.
        """
        racks_known = self.partitions.racks_known
        if (self.clients.rack == NO_RACK).any() or not self.tasks.source.all(racks_known):
            return False
        return not standbys or self.tasks.changelog.all(racks_known)

    def _task_info(self, row: int) -> TaskInfo:
        sources = set(self.tasks.source.row(row).tolist())
        changelogs = set(self.tasks.changelog.row(row).tolist())
        return TaskInfo(
            self.tasks.ids[row],
            bool(self.tasks.stateful[row]),
            tuple(
                TaskTopicPartition(self.partitions.names[p], p in sources, p in changelogs, self._racks_of(p))
                for p in sorted(sources | changelogs)
            ),
        )

    def _racks_of(self, partition: int) -> tuple[str | None, ...] | None:
        known = np.flatnonzero(self.partitions.in_rack[partition])
        return tuple(self.partitions.racks[column] for column in known) or None

    def _kafka_streams_state(self, row: int) -> KafkaStreamsState:
        rack = int(self.clients.rack[row])
        lags = self.lags[:, row].tolist()
        return KafkaStreamsState(
            process_id=self.clients.ids[row],
            num_processing_threads=int(self.clients.threads[row]),
            rack_id=None if rack == NO_RACK else self.partitions.racks[rack],
            client_tags=MappingProxyType(dict(self.clients.tags[row])),
            previous_active_tasks=self.previous_active[row],
            previous_standby_tasks=self.previous_standby[row],
            task_lags=MappingProxyType(
                {task: lag for task, lag in zip(self.tasks.ids, lags, strict=True) if lag != NO_LAG}
            ),
            task_offsets=self.task_offsets[row] if self.task_offsets else {},
            task_end_offsets=self.task_end_offsets[row] if self.task_end_offsets else {},
            instance_id=self.clients.instance_ids[row] if self.clients.instance_ids else None,
        )


def previous_holders(state: ApplicationState) -> tuple[BoolArray, BoolArray]:
    """Return which clients ran each task, and which held any copy of it, before the rebalance.

    Returns:
        Two arrays of shape (T, C).
    """
    ran: BoolArray = np.zeros((len(state.tasks), len(state.clients)), dtype=np.bool_)
    held_standby = np.zeros_like(ran)
    for table, ids_of_client in ((ran, state.previous_active), (held_standby, state.previous_standby)):
        for client, ids in enumerate(ids_of_client):
            rows = [state.row_of_task[task] for task in ids if task in state.row_of_task]
            table[rows, client] = True
    return ran, ran | held_standby


def _rows(ids: Sequence[Hashable], sorted_ids: Sequence[Hashable]) -> IntArray:
    row_of = {name: row for row, name in enumerate(sorted_ids)}
    return np.array([row_of[name] for name in ids], dtype=np.int64)


def _require_unique(kind: str, ids: Sequence[object]) -> None:
    for first, second in pairwise(ids):
        if first == second:
            raise ValueError(f"duplicate {kind} {first}")


def _partition_table(
    tasks: Sequence[TaskInfo], clients: Sequence[KafkaStreamsState]
) -> tuple[PartitionTable, dict[TopicPartition, int]]:
    rack_ids: dict[TopicPartition, tuple[str | None, ...]] = {}
    for task in tasks:
        for partition in task.topic_partitions:
            rack_ids[partition.topic_partition] = partition.rack_ids or ()
    used = {rack for racks in rack_ids.values() for rack in racks if rack is not None}
    racks = tuple(sorted(used | {client.rack_id for client in clients if client.rack_id is not None}))
    column_of = {rack: column for column, rack in enumerate(racks)}
    in_rack: BoolArray = np.zeros((len(rack_ids), len(racks)), dtype=np.bool_)
    for row, replicas in enumerate(rack_ids.values()):
        for rack in replicas:
            if rack is not None:
                in_rack[row, column_of[rack]] = True
    racks_known = np.array([bool(replicas) and None not in replicas for replicas in rack_ids.values()], dtype=np.bool_)
    names = tuple(rack_ids)
    return PartitionTable(names, racks, in_rack, racks_known), {name: row for row, name in enumerate(names)}


def _task_table(tasks: Sequence[TaskInfo], rows: Mapping[TopicPartition, int]) -> TaskTable:
    return TaskTable(
        ids=tuple(task.id for task in tasks),
        subtopology=np.array([task.id.subtopology for task in tasks], dtype=np.int64),
        stateful=np.array([task.is_stateful for task in tasks], dtype=np.bool_),
        source=Ragged.of([[rows[p.topic_partition] for p in task.topic_partitions if p.is_source] for task in tasks]),
        changelog=Ragged.of(
            [[rows[p.topic_partition] for p in task.topic_partitions if p.is_changelog] for task in tasks]
        ),
    )


def _lag_matrix(tasks: Sequence[TaskInfo], clients: Sequence[KafkaStreamsState]) -> IntArray:
    lags = np.full((len(tasks), len(clients)), NO_LAG, dtype=np.int64)
    for row, task in enumerate(tasks):
        if task.is_stateful:
            for column, client in enumerate(clients):
                lags[row, column] = client.task_lags.get(task.id, NO_LAG)
    return lags
