"""A classic group of Kafka Streams, from what DescribeGroups tells: every member's bytes.

Source: `org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor`; `TaskManager.getTaskOffsetSums` on
which tasks have offset sums: those with a changelog.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assignors.model.ids import TaskId
from scenarios.kafka.formats.consumer_protocol import (
    LATEST_OFFSET,
    MemberAssignment,
    MemberSubscription,
    decode_assignment,
    decode_subscription,
)
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.live.admin_api import AdminResponse
from scenarios.kafka.observation.errors import ObservationError
from scenarios.kafka.observation.observation import ObservedProcess, ObservedThread

_ASSIGNOR: Final = "stream"
_STABLE: Final = "Stable"
_THREAD: Final = re.compile(r"-StreamThread-\d+(-consumer)?$")
_FIRST_WITH_SUMS: Final = 7
_FIRST_WITH_RACK: Final = 3


@dataclass(frozen=True, slots=True)
class ObservedClassicGroup:
    """A settled group.

    Attributes:
        processes: by process id.
        reads: the topics that each task reads, sorted.
        stateful: the subtopologies of which some process has told, or was told, that they have state.
        next_rebalance_at_ms: when a member is to join again; None if none is, 0 if one is doing so now.
        assumptions: what was not seen.
    """

    processes: tuple[ObservedProcess, ...]
    reads: Mapping[TaskId, tuple[str, ...]]
    stateful: frozenset[int]
    next_rebalance_at_ms: int | None
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Member:
    id: str
    client_id: str
    is_static: bool
    told: MemberSubscription
    given: MemberAssignment


def is_stable(answer: AdminResponse) -> bool:
    """Whether a group that DescribeGroups tells of has an assignment.

    Raises:
        ObservationError: it is none of Kafka Streams, or nobody is in it.
    """
    group, state = answer["group_id"], answer["group_state"]
    if answer["protocol_type"] not in ("consumer", ""):
        raise ObservationError(f"group '{group}' is of type {answer['protocol_type']}, not one of Kafka Streams")
    if state in ("Empty", "Dead"):
        raise nobody_runs(group)
    if state == _STABLE and answer["protocol_data"] != _ASSIGNOR:
        raise ObservationError(
            f"group '{group}' is not one of Kafka Streams: its members assign partitions with "
            f"'{answer['protocol_data']}'. Give the application.id as the group"
        )
    return bool(state == _STABLE)


def nobody_runs(group: str) -> ObservationError:
    """The error where a group is there, but empty."""
    return ObservationError(
        f"nobody is in group '{group}': the application does not run. Start it and look again, or import what Kafka's "
        "tools printed while it ran"
    )


def read_classic_group(answer: AdminResponse) -> ObservedClassicGroup:
    """Read a group that `is_stable`.

    Raises:
        ObservationError: a member's bytes are not those of Kafka Streams, or its leader told it of an error.
    """
    members = [_member(entry) for entry in sorted(answer["members"], key=lambda entry: str(entry["member_id"]))]
    reads: dict[TaskId, set[str]] = {}
    stateful: set[int] = set()
    for member in members:
        standby = member.given.streams.standby_tasks
        for task, partitions in [*member.given.active.items(), *standby.items()]:
            reads.setdefault(task_id(task), set()).update(partition.topic for partition in partitions)
        stateful.update(task_id(task).subtopology for task in [*standby, *_told_copies([member])])
    joins = [
        member.given.streams.next_rebalance_at_ms
        for member in members
        if member.given.streams.next_rebalance_at_ms is not None
    ]
    by_process: dict[str, list[_Member]] = {}
    for member in members:
        by_process.setdefault(member.told.streams.process_id, []).append(member)
    return ObservedClassicGroup(
        tuple(_process(process_id, by_process[process_id]) for process_id in sorted(by_process)),
        {task: tuple(sorted(reads[task])) for task in sorted(reads)},
        frozenset(stateful),
        min(joins, default=None),
        tuple(_assumptions(members)),
    )


def task_id(text: str) -> TaskId:
    """Read a task id.

    Raises:
        ObservationError: it has the name of a topology.
    """
    try:
        return TaskId.parse(text)
    except ValueError:
        raise ObservationError(f"task {text} is of a named topology; scenarios have none") from None


def sorted_tasks(tasks: Iterable[str]) -> tuple[str, ...]:
    """Tasks in Kafka's order, 2_0 before 10_0."""
    return tuple(map(str, sorted(map(task_id, tasks))))


def client_of(client_ids: Iterable[str]) -> str:
    """What the client ids of a process's threads have in common."""
    return _THREAD.sub("", min(client_ids))


def _member(entry: AdminResponse) -> _Member:
    try:
        told = decode_subscription(bytes(entry["member_metadata"]))
        given = decode_assignment(bytes(entry["member_assignment"]))
    except FormatError as error:
        raise ObservationError(f"member {entry['member_id']}: {error}") from None
    if given.streams.error_code:
        raise ObservationError(
            f"member {entry['member_id']} was told of error {given.streams.error_code} instead of its tasks (1: source "
            "topics are missing, 4: shutdown); mend that and look again"
        )
    return _Member(
        str(entry["member_id"]), str(entry["client_id"]), entry.get("group_instance_id") is not None, told, given
    )


def _process(process_id: str, members: Sequence[_Member]) -> ObservedProcess:
    first = members[0].told
    threads = tuple(
        ObservedThread(member.id, sorted_tasks(member.given.active), sorted_tasks(member.given.streams.standby_tasks))
        for member in members
    )
    tells = all(member.told.streams.version >= _FIRST_WITH_SUMS for member in members)
    return ObservedProcess(
        process_id,
        client_of(member.client_id for member in members),
        first.rack or None,
        dict(first.streams.client_tags),
        threads,
        _told_copies(members) if tells else None,
        any(member.is_static for member in members),
    )


def _told_copies(members: Sequence[_Member]) -> dict[str, int]:
    """The offset sums that threads told, each of its own tasks; of a task told twice, who ran it knows best."""
    copies: dict[str, int] = {}
    for member in members:
        if member.told.streams.version < _FIRST_WITH_SUMS:
            continue
        for task, offset_sum in member.told.streams.offset_sums.items():
            if offset_sum == LATEST_OFFSET or (offset_sum >= 0 and copies.get(task, 0) != LATEST_OFFSET):
                copies[task] = offset_sum if offset_sum == LATEST_OFFSET else max(offset_sum, copies.get(task, 0))
    return {task: copies[task] for task in sorted_tasks(copies)}


def _assumptions(members: Sequence[_Member]) -> list[str]:
    found = []
    if any(member.told.version < _FIRST_WITH_RACK for member in members):
        found.append("Members of a release before 3.5 do not tell their rack: none is taken for them.")
    if any(member.told.streams.version < _FIRST_WITH_SUMS for member in members):
        found.append("Members of a release before 2.6 do not tell how far their copies are.")
    return found
