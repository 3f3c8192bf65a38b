"""Rebalances of a classic group from leader logs: alone, or as an addition to records."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from assignors.model.ids import TaskId
from scenarios.kafka.dumps.groups import from_leader
from scenarios.kafka.formats.leader_log import JoinReason, LoggedRebalance, LoggedState
from scenarios.kafka.incident.recorded import RecordedGroup, RecordedMember, RecordedRebalance
from scenarios.kafka.naming import UUID_PATTERN
from scenarios.kafka.observation.observation import ObservationError, ObservedThread

LONGEST_DECISION_MS: Final = 30_000
"""Maximum time between the state that a leader logs, its answer, and the record of it."""

_QUARTER_HOUR_MS: Final = 900_000
_MAX_ZONE_MS: Final = 14 * 3_600_000


@dataclass(frozen=True, slots=True)
class ApplicationLogs:
    """What the logs of an application say.

    Attributes:
        rebalances: Assignments of the leaders, by time.
        states: States of the clients before assignments, by time.
        reasons: Why clients joined again or left, by time.
    """

    rebalances: tuple[LoggedRebalance, ...] = ()
    states: tuple[LoggedState, ...] = ()
    reasons: tuple[JoinReason, ...] = ()

    def shifted(self, by_ms: int) -> ApplicationLogs:
        """Return the logs with other times."""
        return ApplicationLogs(
            tuple(
                replace(rebalance, at_ms=None if rebalance.at_ms is None else rebalance.at_ms + by_ms)
                for rebalance in self.rebalances
            ),
            tuple(replace(state, at_ms=state.at_ms + by_ms) for state in self.states),
            tuple(replace(reason, at_ms=reason.at_ms + by_ms) for reason in self.reasons),
        )


def rebalances_of_logs(group: str, logs: ApplicationLogs, threads: int | None) -> RecordedGroup:
    """Build the rebalances of a group from logs alone.

    Members have had what the previous rebalance assigned, unless the leader logged their state. Returns the rebalances,
    by time. Raises ObservationError if a rebalance has no time.
    """
    rebalances: list[RecordedRebalance] = []
    for number, logged in enumerate(logs.rebalances):
        if logged.at_ms is None:
            raise ObservationError(
                f"the leader's log has no time in line {logged.line}, so its rebalances have no order"
            )
        before = {member.id: member for member in rebalances[-1].members} if rebalances else {}
        members = tuple(
            _member(thread.member_id, process.process_id, process.client_id, thread, before)
            for process in from_leader(logged, group, threads).processes
            for thread in process.threads
        )
        members = tuple(sorted(members, key=lambda member: member.id))
        stable_at_ms = logged.at_ms if logged.stable else None
        rebalances.append(
            RecordedRebalance(number, logged.at_ms, members, leader=logged.leader, stable_at_ms=stable_at_ms)
        )
    stateful = {
        TaskId.parse(task).subtopology
        for logged in logs.rebalances
        for task in (*(logged.stateful or ()), *(task for client in logged.clients for task in client.standby))
    }
    with_states = [_with_state(rebalance, logs) for rebalance in rebalances]
    remark = "Logs have no racks, tags and offsets of the members; times in them are read as UTC."
    return RecordedGroup(
        group, "classic", tuple(with_states), {}, frozenset(stateful), has_records=False, remarks=(remark,)
    )


def with_logs(group: RecordedGroup, logs: ApplicationLogs) -> RecordedGroup:
    """Return recorded rebalances with the lags, the withheld tasks and the reasons of the logs."""
    shift_ms = _clock_shift_ms(group, logs)
    shifted = logs.shifted(shift_ms)
    rebalances = []
    for position, rebalance in enumerate(group.rebalances):
        since_ms = group.rebalances[position - 1].at_ms if position else rebalance.at_ms - LONGEST_DECISION_MS
        rebalance = _with_state(_with_decision(rebalance, shifted), shifted)
        reasons = dict.fromkeys(
            f"{reason.client_id}: {'left: ' if reason.leaves else ''}{reason.reason}".rstrip(": ")
            for reason in shifted.reasons
            if since_ms < reason.at_ms <= rebalance.at_ms
        )
        rebalances.append(replace(rebalance, stated_causes=tuple(reasons)))
    remarks = group.remarks
    if shift_ms:
        hours = f"{abs(shift_ms) / 3_600_000:g} h {'behind' if shift_ms > 0 else 'ahead of'}"
        remarks = (*remarks, f"The times of the logs are {hours} UTC, according to the records.")
    return replace(group, rebalances=tuple(rebalances), remarks=remarks)


def _member(
    member_id: str, process_id: str, client_id: str, thread: ObservedThread, before: Mapping[str, RecordedMember]
) -> RecordedMember:
    previous = before.get(member_id)
    return RecordedMember(
        id=member_id,
        process_id=process_id,
        client_id=client_id,
        thread=_without_uuid(member_id),
        active=thread.active,
        standby=thread.standby,
        previous_active=previous.active if previous else (),
        previous_standby=previous.standby if previous else (),
    )


def _without_uuid(member_id: str) -> str:
    """Return the client id in a member id, which the coordinator made of it and a random UUID."""
    return re.sub(rf"-{UUID_PATTERN}$", "", member_id)


def _with_state(rebalance: RecordedRebalance, logs: ApplicationLogs) -> RecordedRebalance:
    """Return a rebalance with the last state that was logged before it for the same processes."""
    position = bisect_right(logs.states, rebalance.at_ms, key=lambda state: state.at_ms)
    processes = {member.process_id for member in rebalance.members}
    for state in reversed(logs.states[max(0, position - 2) : position]):
        if rebalance.at_ms - state.at_ms <= LONGEST_DECISION_MS and state.clients.keys() == processes:
            return replace(rebalance, lags={process: client.lags for process, client in state.clients.items()})
    return rebalance


def _with_decision(rebalance: RecordedRebalance, logs: ApplicationLogs) -> RecordedRebalance:
    """Return a rebalance with the withheld tasks according to the leader's decision."""
    decision = _decision_of(rebalance, logs)
    if decision is None:
        return rebalance
    assigned = {task for member in rebalance.members for task in member.active}
    withheld = {
        task: client.process_id for client in decision.clients for task in client.active if task not in assigned
    }
    return replace(rebalance, withheld=withheld)


def _decision_of(rebalance: RecordedRebalance, logs: ApplicationLogs) -> LoggedRebalance | None:
    """Return the last decision before a record whose answer is the recorded one, except for withheld tasks."""
    processes = {member.process_id for member in rebalance.members}
    position = bisect_right(logs.rebalances, rebalance.at_ms, key=lambda logged: logged.at_ms or 0)
    for logged in reversed(logs.rebalances[max(0, position - 2) : position]):
        owners = {task: client.process_id for client in logged.clients for task in client.active}
        is_recent = rebalance.at_ms - (logged.at_ms or 0) <= LONGEST_DECISION_MS
        fits = all(owners.get(task) == member.process_id for member in rebalance.members for task in member.active)
        if is_recent and fits and {client.process_id for client in logged.clients} == processes:
            return logged
    return None


def _clock_shift_ms(group: RecordedGroup, logs: ApplicationLogs) -> int:
    """Return what to add to the times of logs: the multiple of 15 minutes that fits most decisions and records.

    Logs have no time zone. The smallest shift wins if several fit equally well.
    """
    times_ms = [rebalance.at_ms for rebalance in group.rebalances]
    counts: Counter[int] = Counter()
    for logged in logs.rebalances:
        for at_ms in times_ms:
            difference_ms = at_ms - (logged.at_ms or 0)
            shift_ms = difference_ms // _QUARTER_HOUR_MS * _QUARTER_HOUR_MS
            if abs(shift_ms) <= _MAX_ZONE_MS and difference_ms - shift_ms <= LONGEST_DECISION_MS:
                counts[shift_ms] += 1
    return max(counts, key=lambda shift_ms: (counts[shift_ms], -abs(shift_ms), shift_ms), default=0)
