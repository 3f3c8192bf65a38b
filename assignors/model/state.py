"""What a task assignor is shown: the tasks, the clients and what each client holds of each task.

The vocabulary is KIP-924's (`org.apache.kafka.streams.processor.assignment`): `ApplicationState`, `KafkaStreamsState`,
`TaskInfo`, `TaskTopicPartition`. Underneath lie the columns of `assignors.model.columns`, which the assignors of this project
work on; the accessors of KIP-924 stand on top, for people and for assignors that are to be ported to Java.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from assignors.errors import IllegalStateError
from assignors.model.columns import NO_RACK, BoolArray, ClientTable, IntArray, PartitionTable, Ragged, TaskTable
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId, TaskId, TopicPartition

LATEST_OFFSET = -2
"""The lag of a task that runs as active on the client (`Task.LATEST_OFFSET`)."""

UNKNOWN_OFFSET_SUM = -3
"""The lag of a task whose offsets are not known (`SubscriptionInfo.UNKNOWN_OFFSET_SUM`)."""

NO_LAG = -(2**63)
"""Stands in the lag column where there is no lag to look up: at stateless tasks."""


@dataclass(frozen=True, slots=True)
class TaskTopicPartition:
    """A partition that a task reads, as source, as changelog, or as both.

    `rack_ids` holds one rack a replica, None for a broker without rack; it is None if the partition is unknown. An
    `ApplicationState` tells each rack that it knows once, as Kafka does, and None if it knows none.
    """

    topic_partition: TopicPartition
    is_source: bool
    is_changelog: bool
    rack_ids: tuple[str | None, ...] | None


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A task, whether it has state, and the partitions it reads."""

    id: TaskId
    is_stateful: bool
    topic_partitions: tuple[TaskTopicPartition, ...] = ()


@dataclass(frozen=True, slots=True)
class KafkaStreamsState:
    """One Kafka Streams client (a process with one or more stream threads) as a task assignor sees it.

    `task_lags` holds, for every stateful task of the application, how many records the client's copy is behind: the
    whole changelog for a task it never had, LATEST_OFFSET for one that runs there, UNKNOWN_OFFSET_SUM if unknown.
    """

    process_id: ProcessId
    num_processing_threads: int = 1
    rack_id: str | None = None
    client_tags: Mapping[str, str] = field(default_factory=dict)
    previous_active_tasks: tuple[TaskId, ...] = ()
    previous_standby_tasks: tuple[TaskId, ...] = ()
    task_lags: Mapping[TaskId, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.num_processing_threads < 1:
            raise ValueError(f"client {self.process_id} has {self.num_processing_threads} threads (at least 1)")

    def lag_for(self, task: TaskId) -> int:
        """How many records behind this client's copy of a stateful task is.

        Raises:
            IllegalStateError: no lag is known for that task, for example because it is stateless.
        """
        try:
            return self.task_lags[task]
        except KeyError:
            raise IllegalStateError(f"Tried to lookup lag for unknown task {task}") from None

    def prev_tasks_by_lag(self) -> list[TaskId]:
        """The stateful tasks this client had, the most caught-up first, ties by task id."""
        held = {*self.previous_active_tasks, *self.previous_standby_tasks}
        return sorted((task for task in held if task in self.task_lags), key=lambda task: (self.lag_for(task), task))


@dataclass(frozen=True, eq=False)
class ApplicationState:
    """One snapshot of an application, read-only: the whole input of a task assignor.

    Attributes:
        tasks: T tasks in Kafka's order.
        clients: C clients in Kafka's order.
        partitions: P partitions with their racks.
        lags: shape (T, C); see `KafkaStreamsState.task_lags`. NO_LAG at stateless tasks.
        previous_active: per client the tasks that ran there, sorted; may name tasks that are gone.
        previous_standby: per client the tasks it held besides, sorted; may name tasks that are gone.
        assignment_configs: the assignment configs.
        listed_tasks: shape (T,); the rows of `tasks` in the order in which the caller listed them; None if there was no
            other order than Kafka's. Kafka fills hash collections in that order, and the answers of its sticky
            assignors can hang on it.
        listed_clients: shape (C,); the same of `clients`.
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

    def __post_init__(self) -> None:
        columns = (self.lags, self.tasks.subtopology, self.tasks.stateful, self.clients.threads, self.clients.rack)
        for column in (*columns, self.task_insertion_order, self.client_insertion_order):
            if column is not None:
                column.setflags(write=False)

    @classmethod
    def of(
        cls,
        tasks: Iterable[TaskInfo],
        clients: Iterable[KafkaStreamsState],
        configs: AssignmentConfigs | None = None,
    ) -> ApplicationState:
        """Lay tasks and clients, given in any order, out in columns.

        Raises:
            ValueError: a task or a client is given twice.
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
        )

    @cached_property
    def row_of_task(self) -> Mapping[TaskId, int]:
        """The row of each task id."""
        return {task: row for row, task in enumerate(self.tasks.ids)}

    @cached_property
    def row_of_client(self) -> Mapping[ProcessId, int]:
        """The row of each process id."""
        return {client: row for row, client in enumerate(self.clients.ids)}

    @cached_property
    def all_tasks(self) -> Mapping[TaskId, TaskInfo]:
        """Every task by its id, in Kafka's order."""
        return {task: self._task_info(row) for row, task in enumerate(self.tasks.ids)}

    @cached_property
    def kafka_streams_states(self) -> Mapping[ProcessId, KafkaStreamsState]:
        """Every client by its process id, in Kafka's order, lags included."""
        return {client: self._kafka_streams_state(row) for row, client in enumerate(self.clients.ids)}

    def remote_partitions(self, partitions: Ragged) -> IntArray:
        """Count, for each task and client, the task's partitions without a replica in the client's rack.

        Args:
            partitions: `tasks.source` or `tasks.changelog`.

        Returns:
            Shape (T, C). A client without rack counts every partition.
        """
        per_rack = self.partitions.remote(partitions)
        with_no_rack = np.column_stack((per_rack, partitions.counts()))
        return with_no_rack[:, self.clients.rack]

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
            client_tags=self.clients.tags[row],
            previous_active_tasks=self.previous_active[row],
            previous_standby_tasks=self.previous_standby[row],
            task_lags={task: lag for task, lag in zip(self.tasks.ids, lags, strict=True) if lag != NO_LAG},
        )


def _rows(listed: Sequence[Hashable], ordered: Sequence[Hashable]) -> IntArray:
    row_of = {name: row for row, name in enumerate(ordered)}
    return np.array([row_of[name] for name in listed], dtype=np.int64)


def _require_unique(kind: str, ids: Sequence[object]) -> None:
    for one, other in pairwise(ids):
        if one == other:
            raise ValueError(f"{kind} {one} is given twice")


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
    located = np.array([bool(replicas) and None not in replicas for replicas in rack_ids.values()], dtype=np.bool_)
    names = tuple(rack_ids)
    return PartitionTable(names, racks, in_rack, located), {name: row for row, name in enumerate(names)}


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
