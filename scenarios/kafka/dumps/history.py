"""Successive rounds of a leader's log as a trace that can be replayed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from scenarios.kafka.dumps.groups import ObservedGroup, from_leader, sorted_tasks
from scenarios.kafka.formats.leader_log import LoggedRebalance
from scenarios.kafka.observation.errors import ObservationError
from scenarios.kafka.observation.history import MembershipChange, ObservedRebalance, RebalanceHistory
from scenarios.kafka.observation.observation import ObservedProcess, ObservedThread

_SHORTEST_GAP_MS = 1
_DEFAULT_CLIENT_ID = re.compile(r"(.+)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}-StreamThread-")
"""How a thread is called whose application has no `client.id`: `KafkaStreams` puts application and process id there."""


def of_application(logged: Sequence[LoggedRebalance], application_id: str) -> tuple[LoggedRebalance, ...]:
    """The rounds of one application, as far as leaders tell by their names of which they are.

    Raises:
        ObservationError: all of them are of others.
    """
    applications = [_application_of(each) for each in logged]
    rounds = zip(logged, applications, strict=True)
    own = tuple(each for each, application in rounds if application in (None, application_id))
    if not own:
        others = ", ".join(sorted({str(each) for each in applications}))
        raise ObservationError(f"the leader's log has no round of '{application_id}' (applications: {others})")
    return own


def _application_of(logged: LoggedRebalance) -> str | None:
    match = _DEFAULT_CLIENT_ID.match(logged.leader or "")
    return match[1] if match else None


def trace_of(
    logged: Sequence[LoggedRebalance], application_id: str, session_timeout_ms: int, threads: int | None
) -> RebalanceHistory:
    """The rounds, and who came and went between them.

    A process that joins causes the round at once, so it came when the round was logged. A process that closes does not
    leave the group by default: the round comes when its session has timed out, so it went that long before. If it was
    given tasks more recently than that, it has left the group, just before the round.

    Raises:
        ObservationError: the lines have no times.
    """
    start_ms = logged[0].at_ms
    if start_ms is None or any(each.at_ms is None for each in logged):
        raise ObservationError(
            "the leader's log has no times, so it cannot be replayed; --last takes its last round alone"
        )
    rounds = tuple(_round(number, each, (each.at_ms or 0) - start_ms) for number, each in enumerate(logged))
    first = {client.process_id for client in logged[0].clients}
    newcomers: dict[str, ObservedProcess] = {}
    for each in logged[1:]:
        for process in from_leader(each, application_id, threads).processes:
            known = newcomers.get(process.process_id)
            if process.process_id not in first and (known is None or len(known.threads) < len(process.threads)):
                newcomers[process.process_id] = process
    changes = tuple(_changes(logged, rounds, session_timeout_ms))
    return RebalanceHistory(tuple(newcomers[process] for process in sorted(newcomers)), changes, rounds)


def with_all_threads(group: ObservedGroup, logged: Sequence[LoggedRebalance], application_id: str) -> ObservedGroup:
    """The processes of the first round with all threads that they ever had: threads join one after the other."""
    most: Counter[str] = Counter()
    for each in logged:
        for process in from_leader(each, application_id, None).processes:
            most[process.process_id] = max(most[process.process_id], len(process.threads))
    late = [process for process in group.processes if len(process.threads) < most[process.process_id]]
    if not late:
        return group
    processes = tuple(
        replace(process, threads=(*process.threads, *_idle(process, most[process.process_id])))
        for process in group.processes
    )
    names = ", ".join(process.client_id for process in late)
    told = (
        f"Threads of {names} joined after the first round that was logged; they are taken to be there from the start."
    )
    return replace(group, processes=processes, assumptions=(*group.assumptions, told))


def _idle(process: ObservedProcess, most: int) -> list[ObservedThread]:
    return [ObservedThread(f"{process.process_id}-{i:04}", (), ()) for i in range(len(process.threads), most)]


def follow_up_ms(logged: Sequence[LoggedRebalance], probing_interval_ms: int) -> int | None:
    """In how long the rebalance is due that the first round asked for; None if it asked for none."""
    first, *later = logged
    if first.stable is not False:
        return None
    if later and first.at_ms is not None and later[0].at_ms is not None and _members(later[0]) == _members(first):
        return later[0].at_ms - first.at_ms
    return probing_interval_ms


def _round(number: int, logged: LoggedRebalance, at_ms: int) -> ObservedRebalance:
    active = {task: client.process_id for client in logged.clients for task in client.active}
    standby: dict[str, list[str]] = {}
    for client in logged.clients:
        for task in client.standby:
            standby.setdefault(task, []).append(client.process_id)
    return ObservedRebalance(
        number,
        at_ms,
        {task: active[task] for task in sorted_tasks(active)},
        {task: tuple(sorted(standby[task])) for task in sorted_tasks(standby)},
        logged.stable,
    )


def _changes(
    logged: Sequence[LoggedRebalance], rounds: Sequence[ObservedRebalance], session_timeout_ms: int
) -> Iterator[MembershipChange]:
    for i in range(1, len(logged)):
        before, now = _members(logged[i - 1]), _members(logged[i])
        at_ms, earliest_ms = rounds[i].at_ms, rounds[i - 1].at_ms + _SHORTEST_GAP_MS
        if before - now:
            leaves_group = at_ms - session_timeout_ms < earliest_ms
            went_ms = at_ms if leaves_group else at_ms - session_timeout_ms
            yield MembershipChange(went_ms, "leave", tuple(sorted(before - now)), leaves_group)
        if now - before:
            yield MembershipChange(at_ms, "join", tuple(sorted(now - before)))


def _members(logged: LoggedRebalance) -> set[str]:
    return {client.process_id for client in logged.clients}
