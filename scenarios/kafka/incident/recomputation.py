"""Recomputation of recorded rebalances by an assignor from rebuilt states, and the comparison with what was recorded.

Records of a group have the offsets that members reported, but not the end offsets with which the leader compared them.
A changelog only grows, so its end is not below any offset that was reported before, and not above one that is reported
by a later copy that still reads.

A stream thread of Kafka 4.4 also reports offsets to the coordinator of a streams group, which its records do not have:
that of each stateful task of which its client has a copy on disk, except for the active tasks that it runs itself.
Which copies a client may have had follows from the records: those of its process so far. Their offsets do not. The
assignor of Kafka 4.4 prefers members with a larger offset, so a target assignment may depend on them.
`recompute_target` computes a target with several sets of offsets that the records allow: if all return the same, the
offsets had no influence; if one returns the recorded target, that is explained; otherwise the target depends on offsets
that are unknown.

Source: `StreamsGroupHeartbeatRequestManager.HeartbeatState.buildRequestData`, kafka-clients 4.4.0;
`StickyTaskAssignor.rankStandbyCandidates`, kafka-group-coordinator 4.4.0.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

import numpy as np

from assignors.errors import AssignorError
from assignors.model.assignment import UNASSIGNED, AssignmentColumns, TaskAssignor, TaskType
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
from assignors.recording import StepRecorder, as_recording
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from scenarios.kafka.incident.recorded import RecordedGroup, RecordedMember, RecordedRebalance
from simulator.assignment.explanation import DecisionRecord, ExplanationRequest, explain_decision
from simulator.results.tabulation import step_rows
from simulator.world.group_assignment import GroupAssignment


@dataclass(frozen=True, slots=True)
class StateMetrics:
    """Figures of one or several assignments.

    Attributes:
        active_moves: Active tasks that get another client than the recorded one before.
        new_standbys: Standbys on clients without a copy, which must restore it.
        follow_ups: Assignments that request a probing rebalance.
    """

    active_moves: int = 0
    new_standbys: int = 0
    follow_ups: int = 0

    def __add__(self, other: StateMetrics) -> StateMetrics:
        """Return the sums."""
        return StateMetrics(
            self.active_moves + other.active_moves,
            self.new_standbys + other.new_standbys,
            self.follow_ups + other.follow_ups,
        )


def measure_assignment(
    state: ApplicationState,
    owners: Mapping[str, str],
    active: Mapping[str, str],
    standby: Mapping[str, Sequence[str]],
    *,
    probes: bool,
) -> StateMetrics:
    """Return the figures of an assignment.

    `owners`: process to which each task was assigned before, as recorded; `active`: process of each active task;
    `probes` says whether it requests a probing rebalance.
    """
    held_by: dict[str, set[str]] = {}
    for client, actives, standbys in zip(
        map(str, state.clients.ids), state.previous_active, state.previous_standby, strict=True
    ):
        for task in map(str, (*actives, *standbys)):
            held_by.setdefault(task, set()).add(client)
    return StateMetrics(
        active_moves=sum(owners.get(task) != client for task, client in active.items()),
        new_standbys=sum(
            client not in held_by.get(task, ()) for task, clients in standby.items() for client in clients
        ),
        follow_ups=int(probes),
    )


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


Owners = Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Recomputed:
    """The assignment of an assignor for a recorded rebalance.

    Attributes:
        active: Process of each task.
        standby: Processes with a standby of each task, sorted.
        steps: The recorded steps; None if the assignor records none.
        error: Why there is no assignment; None if there is one.
    """

    rebuilt: RebuiltState
    active: Owners
    standby: Mapping[str, tuple[str, ...]]
    columns: AssignmentColumns | None = None
    steps: StepRecorder | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A copy of a task that was recorded elsewhere. `role`: `active` or `standby`."""

    task: str
    role: str
    recorded: tuple[str, ...]
    recomputed: tuple[str, ...]


def recompute(rebalance: RecordedRebalance, rebuilt: RebuiltState, assignor: TaskAssignor) -> Recomputed:
    """Compute the assignment of a recorded rebalance again.

    `rebuilt`: the input of its assignor. `assignor`: the assignor; the one of streams groups gets the members in the
    order of the coordinator. Returns the assignment, or why there is none.
    """
    if isinstance(assignor, StreamsGroupSticky) and rebalance.coordinator_order:
        process_of = {member.id: member.process_id for member in rebalance.members}
        assignor = replace(assignor, members={name: process_of[name] for name in rebalance.coordinator_order})
    recorder = StepRecorder()
    recording = as_recording(assignor)
    state = rebuilt.state
    try:
        columns = AssignmentColumns.of(state, recording.assign_recorded(state, recorder))
    except AssignorError as error:
        return Recomputed(rebuilt, {}, {}, error=str(error))
    active, standby = placements(state, columns)
    return Recomputed(rebuilt, active, standby, columns, recorder if recording is assignor else None)


def placements(
    state: ApplicationState, columns: AssignmentColumns
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Return the process of each active task, and those of its standbys, sorted."""
    processes = list(map(str, state.clients.ids))
    tasks = list(map(str, state.tasks.ids))
    active = {
        task: processes[owner]
        for task, owner in zip(tasks, columns.active.tolist(), strict=True)
        if owner != UNASSIGNED
    }
    standby: dict[str, list[str]] = {}
    for row, column in np.argwhere(columns.standby).tolist():
        standby.setdefault(tasks[row], []).append(processes[column])
    return active, {task: tuple(sorted(held)) for task, held in standby.items()}


def compare(rebalance: RecordedRebalance, recomputed: Recomputed) -> tuple[Mismatch, ...]:
    """Return the differences between a recorded and a recomputed assignment, by role and task.

    A task that the leader withheld is compared with the client for which it was withheld; if that is unknown, because
    the rebalance after it assigned it to none of the members, it is not compared.
    """
    recorded_active, recorded_standby = rebalance.active(), rebalance.standby()
    mismatches = []
    for row_task in map(str, recomputed.rebuilt.state.tasks.ids):
        recorded = recorded_active.get(row_task)
        answer = recomputed.active.get(row_task)
        if recorded is not None and recorded != answer:
            mismatches.append(Mismatch(row_task, "active", (recorded,), () if answer is None else (answer,)))
    for row_task in map(str, recomputed.rebuilt.state.tasks.ids):
        held, answers = recorded_standby.get(row_task, ()), recomputed.standby.get(row_task, ())
        if held != answers:
            mismatches.append(Mismatch(row_task, "standby", held, answers))
    return tuple(mismatches)


Offsets = Mapping[str, Mapping[str, int]]
"""Offset of each copy on disk, by process id and task."""

ThreadOffsets = Sequence[Sequence[Mapping[TaskId, int]]]
"""Reported offsets by client, thread and task."""

_HIGH: Final = 1_000_000_000
"""Offset of a copy that keeps up; only the order of offsets matters."""

_MAX_ATTEMPTS: Final = 8
"""Maximum number of improved sets of offsets per rebalance."""


class OffsetInfluence(StrEnum):
    """Whether a target assignment depends on offsets that were not recorded.

    Attributes:
        NONE: All sets of offsets that were tried return the same assignment, or the assignor uses none.
        EXPLAINED: The recorded assignment follows from offsets that the records allow.
        UNKNOWN: The assignment depends on them, and no set that was tried returns the recorded one.
    """

    NONE = "none"
    EXPLAINED = "explained"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, eq=False)
class RecomputedTarget:
    """The best recomputation of a target assignment.

    Attributes:
        recomputed: The one with the fewest differences.
        influence: Whether it depends on offsets that were not recorded.
    """

    recomputed: Recomputed
    mismatches: tuple[Mismatch, ...]
    influence: OffsetInfluence


class RecordedCopies:
    """The copies that each process has had so far, with the number of the last rebalance that assigned it each."""

    def __init__(self, stateful: frozenset[int]) -> None:
        self._stateful = stateful
        self._last: dict[str, dict[str, int]] = {}

    def note(self, rebalance: RecordedRebalance) -> None:
        """Note the copies that a rebalance assigns."""
        for member in rebalance.members:
            self._last.setdefault(member.process_id, {}).update(
                dict.fromkeys(self._with_state((*member.active, *member.standby)), rebalance.number)
            )

    def possible(self, rebalance: RecordedRebalance) -> Iterator[Offsets]:
        """Yield sets of offsets before a rebalance: of current copies only, and with older ones behind or equal."""
        current: dict[str, dict[str, int]] = {}
        for member in rebalance.members:
            had = self._with_state((*member.previous_active, *member.previous_standby))
            current.setdefault(member.process_id, {}).update(dict.fromkeys(had, _HIGH))
        yield current
        older = {process: self._last.get(process, {}) for process in current}
        if any(older[process].keys() - current[process].keys() for process in current):
            yield {process: {**older[process], **own} for process, own in current.items()}
            yield {process: {**dict.fromkeys(older[process], _HIGH), **own} for process, own in current.items()}

    def _with_state(self, tasks: Sequence[str]) -> Iterator[str]:
        yield from (task for task in tasks if TaskId.parse(task).subtopology in self._stateful)


def recompute_target(
    rebalance: RecordedRebalance, rebuilt: RebuiltState, assignor: TaskAssignor, possible: Sequence[Offsets]
) -> RecomputedTarget:
    """Recompute a target assignment with the offsets that clients may have reported.

    `rebuilt`: the input of its assignor, without offsets. `possible`: sets of offsets that the records allow; none if
    clients report no offsets. Returns the recomputation with the fewest differences; the one without offsets if several
    have as few.
    """

    def attempt(offsets: Offsets | None) -> tuple[Recomputed, tuple[Mismatch, ...]]:
        recomputed = recompute(rebalance, _with_offsets(rebuilt, rebalance, offsets), assignor)
        return recomputed, compare(rebalance, recomputed)

    without = attempt(None)
    attempts = [(None, *without)] + [(offsets, *attempt(offsets)) for offsets in possible]
    _, recomputed, mismatches = best = min(attempts, key=lambda tried: len(tried[2]))
    influences = any(not _is_same(tried, without[0]) for _, tried, _ in attempts)
    offsets, widest = best[0], possible[-1] if possible else {}
    for _ in range(_MAX_ATTEMPTS if possible else 0):
        improved = None
        for changed in _improved(offsets or widest, widest, mismatches):
            tried, differing = attempt(changed)
            influences = influences or not _is_same(tried, without[0])
            if len(differing) < len(mismatches):
                improved = changed, tried, differing
                break
        if improved is None:
            break
        offsets, recomputed, mismatches = improved
    if not influences:
        return RecomputedTarget(recomputed, mismatches, OffsetInfluence.NONE)
    influence = OffsetInfluence.UNKNOWN if mismatches else OffsetInfluence.EXPLAINED
    return RecomputedTarget(recomputed, mismatches, influence)


def _is_same(first: Recomputed, second: Recomputed) -> bool:
    return (first.active, first.standby) == (second.active, second.standby)


def _improved(offsets: Offsets, widest: Offsets, mismatches: Sequence[Mismatch]) -> Iterator[Offsets]:
    """Yield offsets with which tasks that differ would more likely be where they were recorded."""
    for mismatch in mismatches:
        task, recorded = mismatch.task, set(mismatch.recorded)
        holders = {process for process, copies in widest.items() if task in copies}
        # The recorded holders are ahead; only they report the task; only the others do; no client does.
        yield _replaced(offsets, task, dict.fromkeys(holders, 1) | dict.fromkeys(holders & recorded, _HIGH))
        yield _replaced(offsets, task, dict.fromkeys(holders & recorded, _HIGH))
        yield _replaced(offsets, task, dict.fromkeys(holders - recorded, _HIGH))
        yield _replaced(offsets, task, {})


def _replaced(offsets: Offsets, task: str, of_task: Mapping[str, int]) -> Offsets:
    """Return offsets in which some processes report a task, and all others do not."""
    others = {
        process: {other: offset for other, offset in copies.items() if other != task}
        for process, copies in offsets.items()
    }
    return {
        process: {**copies, **({task: of_task[process]} if process in of_task else {})}
        for process, copies in others.items()
    }


def _with_offsets(rebuilt: RebuiltState, rebalance: RecordedRebalance, offsets: Offsets | None) -> RebuiltState:
    """Return a state in which each thread reports the copies of its process, except for its own active tasks."""
    if offsets is None:
        return rebuilt
    by_process = rebalance.by_process()
    known = rebuilt.state.row_of_task
    reported = tuple(
        tuple(
            {
                TaskId.parse(task): offset
                for task, offset in offsets.get(str(process), {}).items()
                if task not in member.previous_active and TaskId.parse(task) in known
            }
            for member in by_process[str(process)]
        )
        for process in rebuilt.state.clients.ids
    )
    return with_reported(rebuilt, reported)


def with_reported(rebuilt: RebuiltState, thread_offsets: ThreadOffsets) -> RebuiltState:
    """Return a state in which the threads of each client report offsets; empty for no reports."""
    return replace(rebuilt, state=replace(rebuilt.state, thread_offsets=thread_offsets))


Rows = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class ProcessNames:
    """The clients of a night. `names`: name by process id, in a fixed order."""

    names: Mapping[str, str]
    threads: Mapping[str, int]


def explain_moves(
    recomputed: Recomputed,
    before: RecordedRebalance | None,
    assignor: TaskAssignor,
    traffic_cost: int,
    clients: ProcessNames,
) -> dict[str, Rows]:
    """Return the steps of each active task that got another client, by task; none if there is no assignment.

    `before`: the rebalance before; None for the first. `traffic_cost`: cost of a remote partition.
    """
    if recomputed.columns is None:
        return {}
    state = recomputed.rebuilt.state
    processes = list(clients.names)
    row_of = {process: row for row, process in enumerate(processes)}
    members = np.array([row_of[str(process)] for process in state.clients.ids], dtype=np.int64)
    record = DecisionRecord(state, assignor, traffic_cost, recomputed.steps, ExplanationRequest(break_evens=False))
    explanation = explain_decision(
        record,
        members,
        None if before is None else _assignment(state, row_of, before.active(), before.standby()),
        _assignment(state, row_of, recomputed.active, recomputed.standby),
    )
    names = [*clients.names.values(), None]
    threads = [clients.threads[process] for process in processes]
    return {
        str(state.tasks.ids[move.task]): tuple(step_rows(move, explanation, names, threads))
        for move in explanation.moves
        if move.role is TaskType.ACTIVE
    }


def _assignment(
    state: ApplicationState,
    row_of: Mapping[str, int],
    active: Mapping[str, str],
    standby: Mapping[str, Sequence[str]],
) -> GroupAssignment:
    """Return an assignment along all clients of the night."""
    tasks = list(map(str, state.tasks.ids))
    empty = GroupAssignment.empty(len(tasks), len(row_of))
    owner = np.array([row_of.get(active.get(task, ""), UNASSIGNED) for task in tasks], dtype=np.int64)
    for row, task in enumerate(tasks):
        for process in standby.get(task, ()):
            empty.standby[row, row_of[process]] = True
    return GroupAssignment(owner, empty.standby, empty.thread)
