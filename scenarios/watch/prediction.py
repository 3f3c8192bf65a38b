"""The assignment that an application should have, computed from what its members reported.

The coordinator of a classic group returns what each member sent with its last request to join: the tasks that it had
and their offsets. This is what the leader knew, except for the end offsets of the changelogs at that moment. They only
grow, so the lags that the leader saw are between those with the end offsets of the polls before and after.

The coordinator of a streams group computes a target from the previous one, which the poll before has seen.

Source: `StreamsPartitionAssignor.populateClientStatesMap`, `ClientState.initializePrevTasks` and `computeTaskLags`;
`TargetAssignmentBuilder` (see `assignors.tasks.streams_group_sticky`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assignors.errors import AssignorError
from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.ids import ProcessId, TaskId
from assignors.model.state import LATEST_OFFSET, UNKNOWN_THREAD, ApplicationState, KafkaStreamsState
from scenarios.kafka.observation.observation import GroupSnapshot, SnapshotMember
from scenarios.watch.predicted_assignment import PredictedAssignment
from scenarios.watch.watched_application import WatchedApplication

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
    """Compute the last assignment of a classic group again.

    `changelog_ends`: the sum of the end offsets of the changelogs of each stateful task, at the assignment.
    """
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
    """Compute the target of a streams group from the previous one.

    Raises AssignorError if the assignor raised an error, or its answer is invalid.
    """
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
    """Return how many more rebalances the assignor needs if every copy has caught up at the next one; 0 if none.

    The result is None if it is larger than 50, or the assignor fails.
    """
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
    active, standby = _tasks_by_client(state, columns)
    return replace(state, lags=lags, previous_active=active, previous_standby=standby)


def _tasks_by_client(
    state: ApplicationState, columns: AssignmentColumns
) -> tuple[list[tuple[TaskId, ...]], list[tuple[TaskId, ...]]]:
    ids, clients = state.tasks.ids, range(len(state.clients))
    active = [tuple(ids[row] for row in np.flatnonzero(columns.active == client).tolist()) for client in clients]
    standby = [tuple(ids[row] for row in np.flatnonzero(columns.standby[:, client]).tolist()) for client in clients]
    return active, standby


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
