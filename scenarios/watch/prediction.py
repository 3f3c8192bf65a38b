"""The assignment that a group should have, computed from what its members reported, and compared with the actual one.

Classic protocol: the coordinator returns what each member sent with its last request to join (tasks and their offsets,
or partitions), and lists consumers in the order in which the leader got them. This is what the leader knew, except for
the end offsets of the changelogs at that moment. They only grow, so the lags that the leader saw are between those with
the end offsets of the polls before and after.

The coordinator of a streams group, or of the consumer protocol (KIP-848), computes a target from the previous one,
which the poll before has seen. A consumer whose first heartbeat triggers that is not in the coordinator's map yet, and
comes last.

Source: `StreamsPartitionAssignor.populateClientStatesMap`, `ClientState.initializePrevTasks` and `computeTaskLags`;
`TargetAssignmentBuilder` (see `assignors.tasks.streams_group_sticky`); `ConsumerCoordinator.onLeaderElected` of
kafka-clients; `GroupMetadataManager.updateTargetAssignment` in `org.apache.kafka.coordinator.group`, Kafka 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from assignors.errors import AssignorError
from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.consumer_group import ConsumerAssignor, ConsumerGroupState, ConsumerMember
from assignors.model.ids import ProcessId, TaskId
from assignors.model.state import LATEST_OFFSET, UNKNOWN_THREAD, ApplicationState, KafkaStreamsState
from scenarios.kafka.formats.topology import compile_pattern
from scenarios.kafka.observation.observation import (
    GroupPhase,
    GroupSnapshot,
    SnapshotMember,
)
from scenarios.watch.watched_group import WatchedApplication, WatchedConsumers, WatchedGroup


@dataclass(frozen=True, slots=True, eq=False)
class PredictedAssignment:
    """A predicted assignment, by process id.

    Attributes:
        tasks: all tasks, in Kafka's order.
        active: the process of each active task; none of withheld ones.
        withheld: tasks that their new owners get only in the next rebalance, since another process still owns them.
        may_wait: tasks that may also be withheld, because they may move to another thread of their process.
        standby: the processes with a standby or warm-up of each task, sorted.
    """

    tasks: tuple[str, ...]
    active: Mapping[str, str]
    withheld: frozenset[str]
    may_wait: frozenset[str]
    standby: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class TaskDifference:
    """A task that is elsewhere than predicted.

    Attributes:
        role: `active` or `standby`.
        predicted: process ids, sorted.
        observed: process ids, sorted.
    """

    task: str
    role: str
    predicted: tuple[str, ...]
    observed: tuple[str, ...]


def find_differences(predicted: PredictedAssignment, snapshot: GroupSnapshot) -> tuple[TaskDifference, ...]:
    """Return the tasks that are not where they were predicted; if the coordinator assigns, the target is compared."""
    actives = snapshot.target_actives()
    standbys: dict[str, set[str]] = {}
    for member in snapshot.members:
        for task in member.target_standby:
            standbys.setdefault(task, set()).add(member.process_id)
    differences = []
    for task in in_kafka_order({*predicted.tasks, *actives, *standbys}):
        expected, actual = predicted.active.get(task), actives.get(task)
        if expected != actual and not (actual is None and task in predicted.may_wait):
            differences.append(TaskDifference(task, "active", _listed(expected), _listed(actual)))
        copies = tuple(sorted(standbys.get(task, ())))
        if copies != predicted.standby.get(task, ()):
            differences.append(TaskDifference(task, "standby", predicted.standby.get(task, ()), copies))
    return tuple(differences)


def in_kafka_order(tasks: Iterable[str]) -> list[str]:
    """Return tasks in Kafka's order, `2_0` before `10_0`; partitions by topic and number."""
    return sorted(tasks, key=_kafka_order)


def _kafka_order(task: str) -> tuple[str, int, int]:
    topic, _, number = task.rpartition("-")
    return (topic, 0, int(number)) if topic else ("", *TaskId.parse(task))


def _listed(process: str | None) -> tuple[str, ...]:
    return () if process is None else (process,)


_MAX_ROUNDS = 50
"""Limit of rebalances that a forecast of the convergence computes."""


@dataclass(frozen=True, slots=True, eq=False)
class PredictedTasks(PredictedAssignment):
    """A predicted assignment of the tasks of an application.

    Attributes:
        state: the input of the assignor.
        columns: its answer.
    """

    state: ApplicationState
    columns: AssignmentColumns

    @property
    def requests_followup(self) -> bool:
        """Return whether the assignor requests another rebalance, because copies must catch up."""
        return self.columns.followup_rebalance_delay_ms is not None


def predict_classic(
    application: WatchedApplication, snapshot: GroupSnapshot, changelog_ends: Mapping[str, int]
) -> PredictedTasks:
    """Compute the last assignment of a classic group again, with the end offsets of the changelogs by task."""
    task_of = application.task_of_partition()
    owner_of = {
        task_of[partition]: member.process_id
        for member in snapshot.members
        for partition in member.owned
        if partition in task_of
    }
    stateful = [task.id for task in application.tasks if task.is_stateful]
    ends = {task: changelog_ends[str(task)] for task in stateful if str(task) in changelog_ends}
    clients = [
        _classic_client(process, members, owner_of, ends) for process, members in _by_process(snapshot.members).items()
    ]
    state = ApplicationState.of(application.tasks, clients, application.configs)
    columns = AssignmentColumns.of(state, application.assignor({}).assign(state))
    predicted = _without_owners(state, columns)
    return _withhold(predicted, owner_of, {str(client.process_id): client for client in clients}, set(stateful))


def predict_streams(application: WatchedApplication, before: GroupSnapshot, snapshot: GroupSnapshot) -> PredictedTasks:
    """Compute the target of a streams group from the previous one; raise AssignorError if the assignor fails."""
    previous = {member.id: member for member in before.members}
    tasks_of = {member.id: previous.get(member.id) for member in snapshot.members}
    by_process = _by_process(snapshot.members)
    clients = []
    for process, members in by_process.items():
        held = [found for member in members if (found := tasks_of[member.id]) is not None]
        clients.append(
            KafkaStreamsState(
                ProcessId.parse(process),
                num_processing_threads=len(members),
                rack_id=members[0].rack,
                client_tags=members[0].tags,
                previous_active_tasks=_task_ids(task for member in held for task in member.target_active),
                previous_standby_tasks=_task_ids(task for member in held for task in member.target_standby),
                task_offsets={
                    TaskId.parse(task): offset for member in members for task, offset in member.offset_sums.items()
                },
                instance_id=members[0].instance_id,
            )
        )
    state = ApplicationState.of(application.tasks, clients, application.configs)
    threads = np.full((len(state.tasks), len(state.clients)), UNKNOWN_THREAD, dtype=np.int64)
    for process, members in by_process.items():
        for number, member in enumerate(members):
            target = tasks_of[member.id]
            for task in (*target.target_active, *target.target_standby) if target else ():
                if (row := state.row_of_task.get(TaskId.parse(task))) is not None:
                    threads[row, state.row_of_client[ProcessId.parse(process)]] = number
    state = replace(state, previous_thread=threads)
    listed = {member.id: member.process_id for member in snapshot.members}
    return _without_owners(state, AssignmentColumns.of(state, application.assignor(listed).assign(state)))


def awaited_copies(application: WatchedApplication, predicted: PredictedTasks) -> list[tuple[TaskId, str, int]]:
    """Return the warm-ups: copies that must catch up before their tasks move to them.

    The assignor would run a task there if all copies of all tasks had caught up. Returns task, process and lag of each,
    in Kafka's order.
    """
    state, columns = predicted.state, predicted.columns
    lags = state.lags.copy()
    stateful = state.tasks.stateful
    lags[stateful] = 0
    try:
        caught_up = replace(state, lags=lags)
        target = AssignmentColumns.of(state, application.assignor({}).assign(caught_up)).active
    except AssignorError:
        return []
    limit = state.assignment_configs.acceptable_recovery_lag
    rows = np.flatnonzero(stateful & (target != columns.active) & (target != UNASSIGNED)).tolist()
    return [
        (state.tasks.ids[row], str(state.clients.ids[client]), lag)
        for row in rows
        if columns.standby[row, client := int(target[row])] and (lag := int(state.lags[row, client])) > limit
    ]


def rounds_to_converge(application: WatchedApplication, predicted: PredictedTasks) -> int | None:
    """Return how many rebalances the assignor needs if every copy has caught up at the next one; None beyond 50."""
    state, columns = predicted.state, predicted.columns
    assignor = application.assignor({})
    for number in range(_MAX_ROUNDS):
        if columns.followup_rebalance_delay_ms is None:
            return number
        state = _next_state(state, columns)
        try:
            columns = AssignmentColumns.of(state, assignor.assign(state))
        except AssignorError:
            return None
    return None


def _next_state(state: ApplicationState, columns: AssignmentColumns) -> ApplicationState:
    """Return the state after an assignment, in which all its copies have caught up."""
    lags = state.lags.copy()
    stateful = np.flatnonzero(state.tasks.stateful)
    lags[stateful] = np.where(lags[stateful] == LATEST_OFFSET, 0, lags[stateful])
    lags[stateful] = np.where(columns.standby[stateful], 0, lags[stateful])
    owned = stateful[columns.active[stateful] != UNASSIGNED]
    lags[owned, columns.active[owned]] = LATEST_OFFSET
    ids, clients = state.tasks.ids, range(len(state.clients))
    held = [np.flatnonzero(columns.active == client).tolist() for client in clients]
    copies = [np.flatnonzero(columns.standby[:, client]).tolist() for client in clients]
    active, standby = ([tuple(ids[row] for row in rows) for rows in of_clients] for of_clients in (held, copies))
    return replace(state, lags=lags, previous_active=active, previous_standby=standby)


def _classic_client(
    process: str, members: Sequence[SnapshotMember], owner_of: Mapping[TaskId, str], ends: Mapping[TaskId, int]
) -> KafkaStreamsState:
    sums = merged_offset_sums(members)
    active = {task for task, owner in owner_of.items() if owner == process}
    active |= {task for task, offset_sum in sums.items() if offset_sum == LATEST_OFFSET}
    return KafkaStreamsState(
        ProcessId.parse(process),
        num_processing_threads=len(members),
        rack_id=members[0].rack,
        client_tags=members[0].tags,
        previous_active_tasks=tuple(sorted(active)),
        previous_standby_tasks=tuple(sorted(set(sums) - active)),
        task_lags={task: lag_of(sums.get(task, 0), end) for task, end in ends.items()},
        instance_id=members[0].instance_id,
    )


def merged_offset_sums(members: Sequence[SnapshotMember]) -> dict[TaskId, int]:
    """Return the offset sums that the threads of a process reported; an active task wins over a copy."""
    sums: dict[TaskId, int] = {}
    for member in members:
        for text, offset_sum in member.offset_sums.items():
            task = TaskId.parse(text)
            known = sums.get(task)
            if known is None or offset_sum == LATEST_OFFSET or (known != LATEST_OFFSET and offset_sum > known):
                sums[task] = offset_sum
    return sums


def lag_of(offset_sum: int, end: int) -> int:
    """Return the lag of a copy as the leader computes it; a copy beyond the known end, which was older, has none."""
    return offset_sum if offset_sum < 0 else max(0, end - offset_sum)


def _by_process(members: Sequence[SnapshotMember]) -> dict[str, list[SnapshotMember]]:
    by_process: dict[str, list[SnapshotMember]] = {}
    for member in sorted(members, key=lambda member: member.id):
        by_process.setdefault(member.process_id, []).append(member)
    return by_process


def _task_ids(tasks: Iterator[str]) -> tuple[TaskId, ...]:
    return tuple(sorted({TaskId.parse(task) for task in tasks}))


def _without_owners(state: ApplicationState, columns: AssignmentColumns) -> PredictedTasks:
    """Return an assignment that takes effect completely."""
    ids, clients = state.tasks.ids, [str(client) for client in state.clients.ids]
    active = {str(ids[row]): clients[client] for row, client in enumerate(columns.active.tolist()) if client >= 0}
    standby = {
        str(ids[row]): tuple(sorted(clients[client] for client in np.flatnonzero(columns.standby[row]).tolist()))
        for row in np.flatnonzero(columns.standby.any(axis=1)).tolist()
    }
    tasks = tuple(map(str, ids))
    return PredictedTasks(tasks, active, frozenset(), frozenset(), standby, state, columns)


def _withhold(
    predicted: PredictedTasks,
    owner_of: Mapping[TaskId, str],
    clients: Mapping[str, KafkaStreamsState],
    stateful: set[TaskId],
) -> PredictedTasks:
    """Return the part of an assignment that takes effect at once, by the rules of cooperative rebalancing.

    A task that another process still owns is withheld. Until then, the copy of its new owner remains a standby.
    """
    active, standby = dict(predicted.active), dict(predicted.standby)
    withheld, may_wait = set(), set()
    for task, process in predicted.active.items():
        task_id = TaskId.parse(task)
        owner = owner_of.get(task_id)
        if owner == process and clients[process].num_processing_threads > 1:
            may_wait.add(task)
        if owner in (None, process):
            continue
        del active[task]
        withheld.add(task)
        if task_id in stateful and task_id in clients[process].previous_standby_tasks:
            standby[task] = tuple(sorted({*standby.get(task, ()), process}))
    return replace(
        predicted, active=active, standby=standby, withheld=frozenset(withheld), may_wait=frozenset(may_wait)
    )


class PredictionVerdict(StrEnum):
    """How a new assignment compares with the predicted one."""

    MATCHED = "matched"
    DIFFERS = "differs"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, eq=False)
class ComparedPrediction:
    """A new assignment and what was predicted.

    Attributes:
        verdict: whether they are equal.
        predicted: the prediction; None if there is none.
        differences: the tasks that are elsewhere.
        reason: why the verdict is unknown; empty otherwise.
    """

    verdict: PredictionVerdict
    predicted: PredictedAssignment | None
    differences: tuple[TaskDifference, ...] = ()
    reason: str = ""


_MAX_ORDERS = 8
"""Limit of the orders of members that are tried."""


def predict_coordinated_consumers(
    consumers: WatchedConsumers, assignor: ConsumerAssignor, before: GroupSnapshot, snapshot: GroupSnapshot
) -> Iterator[PredictedAssignment]:
    """Yield the target of a group of the consumer protocol for each possible order of its members."""
    previous = {member.id: member for member in before.members}
    of_instance = {member.instance_id: member for member in before.members if member.instance_id}
    members = []
    for member in snapshot.members:
        # A static member that returns has a new id, and the target of its old one.
        held = previous.get(member.id) or of_instance.get(member.instance_id or "")
        members.append(replace(member, owned=() if held is None else held.owned))
    yield predict_consumers(consumers, assignor, members)
    for new in [member for member in members if member.id not in previous][: _MAX_ORDERS - 1]:
        yield predict_consumers(consumers, assignor, [*(member for member in members if member is not new), new])


def predict_consumers(
    consumers: WatchedConsumers, assignor: ConsumerAssignor, members: Sequence[SnapshotMember]
) -> PredictedAssignment:
    """Compute the assignment of a consumer group; partitions are withheld that another member must revoke first."""
    state = ConsumerGroupState.of((_reported(member, consumers) for member in members), consumers.topics)
    answer = assignor.assign(state)
    process_of = [member.process_id for member in members]
    return PredictedAssignment(
        tasks=consumers.task_names,
        active={
            str(state.topic_partition(key)): process
            for process, keys in zip(process_of, answer.partitions, strict=True)
            for key in keys
        },
        withheld=frozenset(str(state.topic_partition(key)) for key, _ in answer.withheld),
        may_wait=frozenset(),
        standby={},
    )


def _reported(member: SnapshotMember, consumers: WatchedConsumers) -> ConsumerMember:
    """Return what a member reported; it subscribes by pattern to the topics that match now."""
    pattern = None if member.pattern is None else compile_pattern(member.pattern)
    matching = [] if pattern is None else [topic.name for topic in consumers.topics if pattern.fullmatch(topic.name)]
    return ConsumerMember(
        member_id=member.id,
        topics=tuple(dict.fromkeys((*member.topics, *matching))),
        instance_id=member.instance_id,
        rack=member.rack,
        owned=member.owned,
        generation=member.generation,
        user_data_generation=member.user_data_generation,
    )


def compare_assignment(
    watched: WatchedGroup, snapshot: GroupSnapshot, last: GroupSnapshot | None, assigned: GroupSnapshot | None
) -> ComparedPrediction:
    """Compare a new assignment with the predicted one.

    `last`: the snapshot of the poll before; None at the first. `assigned`: the last snapshot with another assignment;
    None if there was none. The result is unknown if the prediction depends on what no poll has shown.
    """
    if snapshot.error_code:
        return unknown_prediction("the leader sent an error code")
    try:
        if isinstance(watched, WatchedConsumers):
            return _compare_consumers(watched, snapshot, assigned)
        assert isinstance(watched, WatchedApplication)
        if not snapshot.is_coordinated:
            return _compare_classic(watched, snapshot, {} if last is None else last.changelog_ends)
        if assigned is None or not _has_target(assigned, snapshot):
            return unknown_prediction("the target before it was not seen")
        return _compare_target([predict_streams(watched, assigned, snapshot)], snapshot, assigned)
    except AssignorError as error:
        return unknown_prediction(str(error))


def unknown_prediction(reason: str) -> ComparedPrediction:
    """Return that an assignment could not be compared, and why."""
    return ComparedPrediction(PredictionVerdict.UNKNOWN, None, reason=reason)


def _compare_consumers(
    watched: WatchedConsumers, snapshot: GroupSnapshot, assigned: GroupSnapshot | None
) -> ComparedPrediction:
    if watched.assignor is None:
        return unknown_prediction(f"assignor '{watched.assignor_name}' is not Kafka's")
    if _has_other_topics(watched, snapshot):
        return unknown_prediction("topics or partitions have changed since the group was stable")
    for member in snapshot.members:
        if member.pattern is not None and compile_pattern(member.pattern) is None:
            return unknown_prediction(f"the pattern of a subscription is too complex to match: {member.pattern}")
    if not snapshot.is_coordinated:
        return _closest([predict_consumers(watched, watched.assignor, snapshot.members)], snapshot)
    if assigned is None or not _has_target(assigned, snapshot):
        return unknown_prediction("the target before it was not seen")
    predictions = predict_coordinated_consumers(watched, watched.assignor, assigned, snapshot)
    return _compare_target(predictions, snapshot, assigned)


def _compare_classic(
    application: WatchedApplication, snapshot: GroupSnapshot, earlier: Mapping[str, int]
) -> ComparedPrediction:
    """Compare with the end offsets after the assignment and, if that differs, with those before it."""
    stateful = [str(task.id) for task in application.tasks if task.is_stateful]
    if missing := [task for task in stateful if task not in snapshot.changelog_ends]:
        return unknown_prediction(f"the end offsets of the changelogs of {len(missing)} tasks are unknown")
    ends = (snapshot.changelog_ends, {**snapshot.changelog_ends, **earlier})
    return _closest((predict_classic(application, snapshot, of_poll) for of_poll in ends), snapshot)


def _has_target(before: GroupSnapshot, snapshot: GroupSnapshot) -> bool:
    return before.protocol == snapshot.protocol and before.epoch is not None and snapshot.epoch is not None


def _compare_target(
    predictions: Iterable[PredictedAssignment], snapshot: GroupSnapshot, before: GroupSnapshot
) -> ComparedPrediction:
    """Compare a target with predictions from that of an earlier poll, which need not be the previous one."""
    assert snapshot.epoch is not None
    assert before.epoch is not None
    compared = _closest(predictions, snapshot)
    passed = snapshot.epoch - before.epoch
    if compared.differences and passed != 1:
        return unknown_prediction(f"{passed} targets since the last poll; shorten the interval")
    if compared.differences and snapshot.has_outdated_target:
        return unknown_prediction("members have changed since the target was computed")
    return compared


def _closest(predictions: Iterable[PredictedAssignment], snapshot: GroupSnapshot) -> ComparedPrediction:
    """Compare with each prediction until one holds; return the comparison with the fewest differences."""
    best: ComparedPrediction | None = None
    for predicted in predictions:
        differences = find_differences(predicted, snapshot)
        verdict = PredictionVerdict.DIFFERS if differences else PredictionVerdict.MATCHED
        if best is None or len(differences) < len(best.differences):
            best = ComparedPrediction(verdict, predicted, differences)
        if not differences:
            break
    assert best is not None
    return best


def _has_other_topics(watched: WatchedConsumers, snapshot: GroupSnapshot) -> bool:
    """Return whether topics have appeared, grown or disappeared since the group was observed, in a stable state."""
    targets = set(snapshot.target_actives())
    if not targets <= set(watched.task_names):
        return True
    subscribed = {topic for member in snapshot.members for topic in member.topics}
    assigned = {task.rpartition("-")[0] for task in targets}
    known = {topic.name for topic in watched.topics}
    return snapshot.phase is not GroupPhase.STABLE and not (known & subscribed) <= assigned
