"""The input of the assignor in a recorded rebalance, rebuilt from what was recorded.

Records of a group have the offsets that members reported, but not the end offsets with which the leader compared them.
A changelog only grows, so its end is not below any offset that was reported before, and not above one that is reported
by a later copy that still reads.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId, TaskId, TopicPartition
from assignors.model.state import (
    LATEST_OFFSET,
    UNKNOWN_OFFSET_SUM,
    UNKNOWN_THREAD,
    ApplicationState,
    KafkaStreamsState,
    TaskInfo,
    TaskTopicPartition,
)
from scenarios.kafka.incident.recorded import RecordedGroup, RecordedMember, RecordedRebalance


@dataclass(frozen=True, slots=True)
class EndOffsets:
    """The end offset sum of a task at one time.

    Attributes:
        estimate: The assumed sum: the largest one that was reported until then; if none was, the smallest later one, or
            0.
        is_certain: Whether no later report is larger, so that the changelog did not grow.
    """

    estimate: int
    is_certain: bool


class OffsetBounds:
    """The largest reported offset sum of each task over the rebalances of a group."""

    def __init__(self, rebalances: Sequence[RecordedRebalance]) -> None:
        self._reports: dict[str, list[tuple[int, int]]] = {}
        for rebalance in rebalances:
            for member in rebalance.members:
                for task, offset_sum in member.offset_sums.items():
                    if offset_sum >= 0:
                        self._reports.setdefault(task, []).append((rebalance.number, offset_sum))

    def at(self, task: str, number: int) -> EndOffsets:
        """Return the end offsets of a task at a rebalance."""
        reports = self._reports.get(task, [])
        known = bisect_right(reports, number, key=lambda report: report[0])
        before = [offset_sum for _, offset_sum in reports[:known]]
        after = [offset_sum for _, offset_sum in reports[known:]]
        estimate = max(before) if before else min(after, default=0)
        return EndOffsets(estimate, bool(before) and max(after, default=estimate) <= estimate)


PartitionRacks = Mapping[TopicPartition, tuple[str | None, ...]]


@dataclass(frozen=True, slots=True)
class KnownCluster:
    """What is known of the cluster besides the records.

    Attributes:
        racks: Rack of each replica of a partition.
        changelogs: Changelog topics by subtopology.
        client_racks: Stated rack by process id, for clients that did not report one.
    """

    racks: PartitionRacks = field(default_factory=dict)
    changelogs: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    client_racks: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RebuiltState:
    """A state, and how certain it is.

    Attributes:
        state: Input of the assignor.
        uncertain_lags: Tasks whose lags were estimated, although another value that the records allow could decide
            otherwise, sorted.
    """

    state: ApplicationState
    uncertain_lags: tuple[str, ...]


class StateBuilder:
    """Builds the states of a group's rebalances."""

    def __init__(self, group: RecordedGroup, configs: AssignmentConfigs, cluster: KnownCluster) -> None:
        self._group = group
        self._configs = configs
        self._cluster = cluster
        self._bounds = OffsetBounds(group.rebalances)
        self._tasks = tuple(self._task(task) for task in all_tasks(group))

    def build(self, rebalance: RecordedRebalance) -> RebuiltState:
        """Return the state of a rebalance with at least one member."""
        uncertain: set[str] = set()
        processes = rebalance.by_process()
        clients = [self._client(rebalance, process, members, uncertain) for process, members in processes.items()]
        configs = _with_recorded(self._configs, rebalance.configs)
        state = ApplicationState.of(self._tasks, clients, configs)
        if self._group.protocol == "streams":
            state = replace(state, previous_thread=_previous_threads(state, processes))
        return RebuiltState(state, tuple(sorted(uncertain, key=TaskId.parse)))

    def _task(self, task: TaskId) -> TaskInfo:
        group = self._group
        partitions = [
            self._partition(topic, task.partition, is_source=True)
            for topic in group.source_topics.get(task.subtopology, ())
        ]
        partitions += [
            self._partition(topic, task.partition, is_source=False)
            for topic in self._cluster.changelogs.get(task.subtopology, ())
        ]
        return TaskInfo(task, task.subtopology in group.stateful, tuple(partitions))

    def _partition(self, topic: str, number: int, *, is_source: bool) -> TaskTopicPartition:
        partition = TopicPartition(topic, number)
        return TaskTopicPartition(partition, is_source, not is_source, self._cluster.racks.get(partition))

    def _client(
        self, rebalance: RecordedRebalance, process: str, members: Sequence[RecordedMember], uncertain: set[str]
    ) -> KafkaStreamsState:
        active = {task for member in members for task in member.previous_active}
        held = {task for member in members for task in member.previous_standby} - active
        known = {info.id for info in self._tasks}
        rack = members[0].rack or self._cluster.client_racks.get(process)
        return KafkaStreamsState(
            ProcessId.parse(process),
            num_processing_threads=len(members),
            rack_id=rack,
            client_tags=dict(members[0].tags),
            previous_active_tasks=tuple(task for task in map(TaskId.parse, sorted(active)) if task in known),
            previous_standby_tasks=tuple(task for task in map(TaskId.parse, sorted(held)) if task in known),
            task_lags=self._lags(rebalance, process, members, uncertain),
            instance_id=members[0].instance_id,
        )

    def _lags(
        self, rebalance: RecordedRebalance, process: str, members: Sequence[RecordedMember], uncertain: set[str]
    ) -> dict[TaskId, int]:
        """Return the lags of a client: as the leader logged them, or else estimated from the offsets."""
        logged = None if rebalance.lags is None else rebalance.lags.get(process)
        stateful = [info.id for info in self._tasks if info.is_stateful]
        if logged is not None:
            return {task: logged.get(str(task), 0) for task in stateful}
        sums = reported_sums(members)
        return {task: self._lag(rebalance, str(task), sums.get(str(task), 0), uncertain) for task in stateful}

    def _lag(self, rebalance: RecordedRebalance, task: str, offset_sum: int, uncertain: set[str]) -> int:
        if offset_sum in (LATEST_OFFSET, UNKNOWN_OFFSET_SUM):
            return offset_sum
        end = self._bounds.at(task, rebalance.number)
        lag = end.estimate - offset_sum if end.estimate >= offset_sum else end.estimate
        if not end.is_certain and lag <= self._configs.acceptable_recovery_lag:
            uncertain.add(task)
        return lag


def all_tasks(group: RecordedGroup) -> tuple[TaskId, ...]:
    """Return the tasks that any rebalance of a group assigned, sorted."""
    names = {task for rebalance in group.rebalances for task in (*rebalance.active(), *rebalance.standby())}
    return tuple(sorted(map(TaskId.parse, names)))


def reported_sums(members: Sequence[RecordedMember]) -> dict[str, int]:
    """Return the offset sums that the leader knows of a process, whose threads report in the order of their ids.

    Source: `ClientState.addPreviousTasksAndOffsetSums`: the last report of a task counts.
    """
    sums: dict[str, int] = {}
    for member in members:
        sums.update(member.offset_sums)
    return sums


def _with_recorded(configs: AssignmentConfigs, recorded: Mapping[str, str]) -> AssignmentConfigs:
    standbys = recorded.get("num.standby.replicas", "")
    return replace(configs, num_standby_replicas=int(standbys)) if standbys.isdecimal() else configs


def _previous_threads(state: ApplicationState, processes: Mapping[str, Sequence[RecordedMember]]) -> np.ndarray:
    """Return the thread that had each previous task, shape (T, C); threads in the order of member ids."""
    threads = np.full((len(state.tasks), len(state.clients)), UNKNOWN_THREAD, dtype=np.int64)
    for process, members in processes.items():
        column = state.row_of_client[ProcessId.parse(process)]
        for number, member in enumerate(members):
            for task in (*member.previous_active, *member.previous_standby):
                row = state.row_of_task.get(TaskId.parse(task))
                if row is not None:
                    threads[row, column] = number
    return threads
