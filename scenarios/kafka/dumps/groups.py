"""Processes of an application from tool output and logs, and the history in a leader's log for a scenario to replay."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from assignors.model.ids import ProcessId, TaskId
from scenarios.kafka.formats.groups import GroupMember, StreamsGroupMember
from scenarios.kafka.formats.logs import LoggedClient, LoggedRebalance
from scenarios.kafka.naming import application_of_thread, process_client_id, trailing_uuid
from scenarios.kafka.observation.observation import (
    MembershipChange,
    ObservationError,
    ObservedProcess,
    ObservedRebalance,
    ObservedSubtopology,
    ObservedThread,
    RebalanceHistory,
    sort_tasks,
)
from scenarios.language.units import format_duration
from simulator.plurals import counted


@dataclass(frozen=True, slots=True)
class ObservedGroup:
    """The processes of a group. `listed_members`: member ids of a streams group in the order of the output."""

    processes: tuple[ObservedProcess, ...]
    assumptions: tuple[str, ...]
    listed_members: tuple[str, ...] = ()


def from_consumer_group(
    members: Sequence[GroupMember], subtopologies: Sequence[ObservedSubtopology], file: str
) -> ObservedGroup:
    """Build the processes of a classic group, whose tasks follow from the partitions of its members.

    `file`: name of the tool output in messages. Raises ObservationError if a member has a partition that no subtopology
    reads.
    """
    subtopology_of = {topic: subtopology.id for subtopology in subtopologies for topic in subtopology.sources}
    threads: dict[tuple[str, str], list[ObservedThread]] = {}
    static: set[tuple[str, str]] = set()
    for member in members:
        key = process_client_id(member.client_id), member.host
        thread = ObservedThread(member.consumer_id, _tasks_of_partitions(member, subtopology_of, file), ())
        threads.setdefault(key, []).append(thread)
        if member.instance_id is not None:
            static.add(key)
    without_id: list[str] = []
    processes = [
        ObservedProcess(
            _process_id(client_id, f"{client_id} {host}", without_id),
            client_id,
            None,
            {},
            _by_member_id(process_threads),
            is_static=(client_id, host) in static,
        )
        for (client_id, host), process_threads in threads.items()
    ]
    return ObservedGroup(_by_process_id(processes), _generated_id_assumptions(without_id))


def from_streams_group(members: Sequence[StreamsGroupMember]) -> ObservedGroup:
    """Build the processes of a streams group; warm-up tasks count as standbys."""
    threads: dict[str, list[ObservedThread]] = {}
    client_ids: dict[str, str] = {}
    for member in members:
        standby = sort_tasks([*member.tasks.standby, *member.tasks.warmup])
        thread = ObservedThread(member.member_id, sort_tasks(member.tasks.active), standby)
        threads.setdefault(member.process_id, []).append(thread)
        client_ids.setdefault(member.process_id, process_client_id(member.client_id))
    without_id: list[str] = []
    processes = [
        ObservedProcess(_process_id(name, name, without_id), client_ids[name], None, {}, _by_member_id(process_threads))
        for name, process_threads in threads.items()
    ]
    reconciling = sorted(
        client_ids[member.process_id] for member in members if member.target not in (None, member.tasks)
    )
    assumptions = _generated_id_assumptions(without_id)
    if reconciling:
        names = ", ".join(dict.fromkeys(reconciling))
        sentence = f"Members had not reached their target assignment: {names}; their current assignment is used."
        assumptions = (*assumptions, sentence)
    return ObservedGroup(_by_process_id(processes), assumptions, tuple(member.member_id for member in members))


def from_leader(rebalance: LoggedRebalance, application_id: str, threads: int | None) -> ObservedGroup:
    """Return the processes of a logged rebalance.

    `rebalance`: rebalance of the leader's log. `threads`: number of threads of a process for which the log does not
    contain it; None if unknown.
    """
    lacks_threads = any(client.process_id not in rebalance.by_thread for client in rebalance.clients)
    processes = [_logged_process(client, rebalance, application_id, threads) for client in rebalance.clients]
    sentence = (
        "The log does not assign tasks to threads; they are distributed round-robin over the threads of each process."
    )
    return ObservedGroup(_by_process_id(processes), (sentence,) if lacks_threads else ())


def min_standbys(processes: Sequence[ObservedProcess], stateful: Iterable[int]) -> int:
    """Return the minimum number of standbys of the active tasks in stateful subtopologies.

    The minimum excludes warm-up replicas, which only some tasks have in addition.
    """
    stateful_ids = set(stateful)
    active = {task for process in processes for thread in process.threads for task in thread.active}
    standbys = [task for process in processes for thread in process.threads for task in thread.standby]
    return min((standbys.count(task) for task in active if TaskId.parse(task).subtopology in stateful_ids), default=0)


def _tasks_of_partitions(member: GroupMember, subtopology_of: Mapping[str, int], file: str) -> tuple[str, ...]:
    unknown = [partition.topic for partition in member.partitions if partition.topic not in subtopology_of]
    if unknown:
        raise ObservationError(
            f"{file}:{member.line}: {member.client_id} reads '{unknown[0]}', which no subtopology reads; is this the "
            "topology of the application?"
        )
    return sort_tasks(f"{subtopology_of[partition.topic]}_{partition.partition}" for partition in member.partitions)


def _process_id(client_id: str, seed: str, without_id: list[str]) -> str:
    """Return the UUID at the end of a client id (the default), or one derived from `seed`; note the latter case."""
    process_id = trailing_uuid(client_id)
    if process_id is not None:
        return str(uuid.UUID(process_id))
    without_id.append(client_id)
    return str(uuid.uuid5(uuid.NAMESPACE_URL, seed))


def _generated_id_assumptions(client_ids: Sequence[str]) -> tuple[str, ...]:
    if not client_ids:
        return ()
    return (
        f"The process ids of {', '.join(dict.fromkeys(client_ids))} are unknown and were generated; Kafka may break "
        "ties by process id differently.",
    )


def _by_member_id(threads: Iterable[ObservedThread]) -> tuple[ObservedThread, ...]:
    return tuple(sorted(threads, key=lambda thread: thread.member_id))


def _by_process_id(processes: Iterable[ObservedProcess]) -> tuple[ObservedProcess, ...]:
    return tuple(sorted(processes, key=lambda process: ProcessId.parse(process.process_id)))


def _logged_process(
    client: LoggedClient, rebalance: LoggedRebalance, application_id: str, threads: int | None
) -> ObservedProcess:
    logged_threads = rebalance.by_thread.get(client.process_id)
    if logged_threads is not None:
        observed_threads = tuple(
            ObservedThread(thread.consumer, sort_tasks(thread.active), sort_tasks(thread.standby))
            for thread in logged_threads
        )
        client_id = process_client_id(observed_threads[0].member_id)
    else:
        observed_threads = _distribute(client, client.threads or threads or 1)
        client_id = f"{application_id}-{client.process_id}"
    return ObservedProcess(client.process_id, client_id, None, {}, observed_threads)


def _distribute(client: LoggedClient, threads: int) -> tuple[ObservedThread, ...]:
    """Return threads with the client's tasks, assigned round-robin: active tasks first, then standbys."""
    active, standby = sort_tasks(client.active), sort_tasks(client.standby)
    offset = -len(active) % threads
    return tuple(
        ObservedThread(f"{client.process_id}-{i:04}", active[i::threads], standby[(i + offset) % threads :: threads])
        for i in range(threads)
    )


_MIN_GAP_MS: Final = 1
_DYNAMIC_MEMBER: Final = "-consumer-"
"""Part of the member ids of stream threads, unless they are static members; source: `StreamThread.create`."""


def select_application(rebalances: Sequence[LoggedRebalance], application_id: str) -> tuple[LoggedRebalance, ...]:
    """Return the rebalances of one application; a rebalance whose leader's name has no application id is kept.

    Raises ObservationError if all rebalances belong to other applications.
    """
    applications = [application_of_thread(rebalance.leader or "") for rebalance in rebalances]
    selected = tuple(
        rebalance
        for rebalance, application in zip(rebalances, applications, strict=True)
        if application in (None, application_id)
    )
    if not selected:
        others = ", ".join(sorted({str(application) for application in applications}))
        raise ObservationError(f"the leader's log has no rebalance of '{application_id}' (applications: {others})")
    return selected


def rebalance_history(
    logged: Sequence[LoggedRebalance], application_id: str, session_timeout_ms: int, threads: int | None
) -> RebalanceHistory:
    """Build the history of logged rebalances, with the membership changes between them.

    A process that joins triggers a rebalance immediately, so it joined at the time of the rebalance. A process that
    closes does not leave the group by default: the coordinator removes it after the session timeout, so it stopped one
    session timeout before the rebalance. A process that still received tasks within that timeout cannot have timed out:
    it left the group, at the time of the rebalance. A process whose member ids are all new has restarted, and the group
    waited for its old session; the log does not show how long it was down, so half of that time is assumed.

    `threads`: number of threads of a process for which the log does not contain it; None if unknown. Returns the
    history, starting with the first logged rebalance. Raises ObservationError if the log lines have no times.
    """
    start_ms = logged[0].at_ms
    if start_ms is None or any(rebalance.at_ms is None for rebalance in logged):
        raise ObservationError(
            "the leader's log has no times, so it cannot be replayed; use --last to import its last rebalance only"
        )
    rebalances = tuple(
        _to_observed(number, rebalance, (rebalance.at_ms or 0) - start_ms) for number, rebalance in enumerate(logged)
    )
    initial_ids = _process_ids(logged[0])
    newcomers: dict[str, ObservedProcess] = {}
    for rebalance in logged[1:]:
        for process in from_leader(rebalance, application_id, threads).processes:
            known = newcomers.get(process.process_id)
            if process.process_id not in initial_ids and (known is None or len(known.threads) < len(process.threads)):
                newcomers[process.process_id] = process
    changes = tuple(_membership_changes(logged, rebalances, session_timeout_ms))
    return RebalanceHistory(tuple(newcomers[process_id] for process_id in sorted(newcomers)), changes, rebalances)


def add_late_threads(group: ObservedGroup, logged: Sequence[LoggedRebalance], application_id: str) -> ObservedGroup:
    """Return the group of the first rebalance with all threads of its processes, which join one after another."""
    max_threads: Counter[str] = Counter()
    for rebalance in logged:
        for process in from_leader(rebalance, application_id, None).processes:
            max_threads[process.process_id] = max(max_threads[process.process_id], len(process.threads))
    incomplete = [process for process in group.processes if len(process.threads) < max_threads[process.process_id]]
    if not incomplete:
        return group
    processes = tuple(
        replace(process, threads=(*process.threads, *_idle_threads(process, max_threads[process.process_id])))
        for process in group.processes
    )
    names = ", ".join(process.client_id for process in incomplete)
    sentence = f"Threads of {names} joined after the first logged rebalance; they are assumed present from the start."
    return replace(group, processes=processes, assumptions=(*group.assumptions, sentence))


def follow_up_ms(logged: Sequence[LoggedRebalance], probing_interval_ms: int) -> int | None:
    """Return the time until the follow-up rebalance that the first rebalance requested; None if it requested none."""
    first, *later = logged
    if first.stable is not False:
        return None
    if (
        later
        and first.at_ms is not None
        and later[0].at_ms is not None
        and _process_ids(later[0]) == _process_ids(first)
    ):
        return later[0].at_ms - first.at_ms
    return probing_interval_ms


def replayed_restarts(history: RebalanceHistory) -> str | None:
    """Return a sentence on the restarts that a history assumes; None without any."""
    times_ms = [change.at_ms for change in history.changes if change.kind == "crash"]
    if not times_ms:
        return None
    restarts = counted(
        sum(len(change.process_ids) for change in history.changes if change.kind == "crash"),
        "client restart",
        "client restarts",
    )
    return (
        f"{restarts} ({_span(times_ms)}): a client with new member ids and its old process id is assumed to have "
        "stopped session.timeout.ms before the rebalance, or right after the rebalance before, and to have been down "
        "for half of the time until the rebalance."
    )


def dropped_rebalances(logged: Sequence[LoggedRebalance], history: RebalanceHistory) -> str | None:
    """Return a sentence on the logged rebalances that a history does not cause; None without any.

    A rebalance has a cause if a process joined, left or restarted, or if the one before requested a follow-up.
    The first is the start of the scenario.
    """
    dropped = [
        rebalance.at_ms
        for rebalance, before, now in zip(history.rebalances[1:], logged, logged[1:], strict=False)
        if before.stable is not False
        and _process_ids(before) == _process_ids(now)
        and not any(_has_restarted(process, before, now) for process in _process_ids(now))
    ]
    if not dropped:
        return None
    rebalances = counted(len(logged), "logged rebalance")
    return (
        f"Not in the scenario: {len(dropped)} of {rebalances} ({_span(dropped)}), before which no client joined, left "
        "or restarted. Add what caused them to events, such as restarts of static members or brokers; --last starts "
        "after all of them."
    )


def _span(times_ms: Sequence[int]) -> str:
    first, last = format_duration(min(times_ms)), format_duration(max(times_ms))
    return f"{first if first == last else f'{first} to {last}'} after the first rebalance"


def _idle_threads(process: ObservedProcess, num_threads: int) -> list[ObservedThread]:
    return [ObservedThread(f"{process.process_id}-{i:04}", (), ()) for i in range(len(process.threads), num_threads)]


def _to_observed(number: int, rebalance: LoggedRebalance, at_ms: int) -> ObservedRebalance:
    active = {task: client.process_id for client in rebalance.clients for task in client.active}
    standby: dict[str, list[str]] = {}
    for client in rebalance.clients:
        for task in client.standby:
            standby.setdefault(task, []).append(client.process_id)
    return ObservedRebalance(
        number,
        at_ms,
        {task: active[task] for task in sort_tasks(active)},
        {task: tuple(sorted(standby[task])) for task in sort_tasks(standby)},
        rebalance.stable,
    )


def _membership_changes(
    logged: Sequence[LoggedRebalance], rebalances: Sequence[ObservedRebalance], session_timeout_ms: int
) -> Iterator[MembershipChange]:
    for i in range(1, len(logged)):
        previous, current = _process_ids(logged[i - 1]), _process_ids(logged[i])
        at_ms, earliest_ms = rebalances[i].at_ms, rebalances[i - 1].at_ms + _MIN_GAP_MS
        if previous - current:
            leaves_group = at_ms - session_timeout_ms < earliest_ms
            stopped_ms = at_ms if leaves_group else at_ms - session_timeout_ms
            yield MembershipChange(stopped_ms, "leave", tuple(sorted(previous - current)), leaves_group)
        if current - previous:
            yield MembershipChange(at_ms, "join", tuple(sorted(current - previous)))
        restarted = [name for name in previous & current if _has_restarted(name, logged[i - 1], logged[i])]
        if restarted:
            stopped_ms = max(earliest_ms, at_ms - session_timeout_ms)
            down_ms = max(_MIN_GAP_MS, (at_ms - stopped_ms) // 2)
            yield MembershipChange(stopped_ms, "crash", tuple(sorted(restarted)), down_ms=down_ms)


def _has_restarted(process_id: str, before: LoggedRebalance, now: LoggedRebalance) -> bool:
    """Return whether all dynamic members of a process are new."""
    old, new = (
        {member for member in rebalance.members.get(process_id, ()) if _DYNAMIC_MEMBER in member}
        for rebalance in (before, now)
    )
    return bool(old) and bool(new) and old.isdisjoint(new)


def _process_ids(rebalance: LoggedRebalance) -> set[str]:
    return {client.process_id for client in rebalance.clients}
