"""A classic group of Kafka Streams, from the response of DescribeGroups.

Source: `org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor`; `TaskManager.getTaskOffsetSums` (tasks
with a changelog have offset sums).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assignors.model.ids import TaskId
from scenarios.kafka.formats.consumer_protocol import (
    LATEST_OFFSET,
    ClassicMemberAssignment,
    MemberSubscription,
    decode_assignment,
    decode_subscription,
)
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.live.admin_api import AdminResponse
from scenarios.kafka.naming import process_client_id
from scenarios.kafka.observation.observation import (
    ObservationError,
    ObservedProcess,
    ObservedThread,
    parse_task_id,
    sort_tasks,
)

_STREAMS_PROTOCOL: Final = "stream"
_STABLE: Final = "Stable"
_OFFSET_SUMS_VERSION: Final = 7
"""First version of the Kafka Streams subscription with offset sums."""
_RACK_VERSION: Final = 3
"""First version of the consumer protocol with racks."""


@dataclass(frozen=True, slots=True)
class ObservedClassicGroup:
    """A stable group.

    Attributes:
        processes: Processes, by process id.
        source_topics: Topics that each task reads, sorted.
        stateful: Subtopologies with state, according to a subscription or assignment.
        next_rebalance_at_ms: Time at which a member must rejoin, since 1970; None if no member must, 0 if one is
            already rejoining.
        assumptions: Sentences on what was not observed.
        warnings: Sentences on a state of the group that is not simulated.
    """

    processes: tuple[ObservedProcess, ...]
    source_topics: Mapping[TaskId, tuple[str, ...]]
    stateful: frozenset[int]
    next_rebalance_at_ms: int | None
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Member:
    id: str
    client_id: str
    is_static: bool
    subscription: MemberSubscription
    assignment: ClassicMemberAssignment


def is_stable(response: AdminResponse) -> bool:
    """Return whether the group has an assignment.

    Raises ObservationError if the group is not one of Kafka Streams, or has no members.
    """
    group, state = response["group_id"], response["group_state"]
    if response["protocol_type"] not in ("consumer", ""):
        raise ObservationError(f"group '{group}' has type {response['protocol_type']}, not Kafka Streams")
    if state in ("Empty", "Dead"):
        raise ObservationError(empty_group_message(group))
    if state == _STABLE and response["protocol_data"] != _STREAMS_PROTOCOL:
        raise ObservationError(
            f"group '{group}' does not belong to Kafka Streams: its partition assignor is "
            f"'{response['protocol_data']}'. Use the application.id as the group"
        )
    return bool(state == _STABLE)


def empty_group_message(group: str) -> str:
    """Return the error message for a group without members."""
    return (
        f"group '{group}' has no members: the application is not running. Start it and try again, or import tool "
        "output that was saved while it was running"
    )


def read_classic_group(response: AdminResponse) -> ObservedClassicGroup:
    """Read a group for which `is_stable` holds.

    Raises ObservationError if a member's metadata or assignment is not of Kafka Streams, or has an error code.
    """
    members = [_read_member(entry) for entry in sorted(response["members"], key=lambda entry: str(entry["member_id"]))]
    source_topics: dict[TaskId, set[str]] = {}
    stateful: set[int] = set()
    for member in members:
        standby = member.assignment.streams.standby_tasks
        for task, partitions in [*member.assignment.active.items(), *standby.items()]:
            source_topics.setdefault(parse_task_id(task), set()).update(partition.topic for partition in partitions)
        stateful.update(parse_task_id(task).subtopology for task in [*standby, *_offset_sums([member])])
    rejoin_times_ms = [
        member.assignment.streams.next_rebalance_at_ms
        for member in members
        if member.assignment.streams.next_rebalance_at_ms is not None
    ]
    by_process: dict[str, list[_Member]] = {}
    for member in members:
        by_process.setdefault(member.subscription.streams.process_id, []).append(member)
    return ObservedClassicGroup(
        tuple(_observed_process(process_id, by_process[process_id]) for process_id in sorted(by_process)),
        {task: tuple(sorted(source_topics[task])) for task in sorted(source_topics)},
        frozenset(stateful),
        min(rejoin_times_ms, default=None),
        tuple(_assumptions(members)),
        tuple(_warnings(members)),
    )


def _read_member(entry: AdminResponse) -> _Member:
    try:
        subscription = decode_subscription(bytes(entry["member_metadata"]))
        assignment = decode_assignment(bytes(entry["member_assignment"]))
    except FormatError as error:
        raise ObservationError(f"member {entry['member_id']}: {error}") from None
    if assignment.streams.error_code:
        raise ObservationError(
            f"member {entry['member_id']} has error {assignment.streams.error_code} instead of an assignment "
            "(1: source topics are missing, 4: shutdown); resolve it and try again"
        )
    is_static = entry.get("group_instance_id") is not None
    return _Member(str(entry["member_id"]), str(entry["client_id"]), is_static, subscription, assignment)


def _observed_process(process_id: str, members: Sequence[_Member]) -> ObservedProcess:
    first = members[0].subscription
    threads = tuple(
        ObservedThread(
            member.id, sort_tasks(member.assignment.active), sort_tasks(member.assignment.streams.standby_tasks)
        )
        for member in members
    )
    has_offset_sums = all(member.subscription.streams.version >= _OFFSET_SUMS_VERSION for member in members)
    return ObservedProcess(
        process_id,
        process_client_id(min(member.client_id for member in members)),
        first.rack or None,
        dict(first.streams.client_tags),
        threads,
        _offset_sums(members) if has_offset_sums else None,
        any(member.is_static for member in members),
    )


def _offset_sums(members: Sequence[_Member]) -> dict[str, int]:
    """Return the reported offset sums by task; if several threads report a task, the active one's report wins."""
    offset_sums: dict[str, int] = {}
    for member in members:
        if member.subscription.streams.version < _OFFSET_SUMS_VERSION:
            continue
        for task, offset_sum in member.subscription.streams.offset_sums.items():
            if offset_sum == LATEST_OFFSET:
                offset_sums[task] = LATEST_OFFSET
            elif offset_sum >= 0 and offset_sums.get(task, 0) != LATEST_OFFSET:
                offset_sums[task] = max(offset_sum, offset_sums.get(task, 0))
    return {task: offset_sums[task] for task in sort_tasks(offset_sums)}


def _assumptions(members: Sequence[_Member]) -> list[str]:
    sentences = []
    if any(member.subscription.version < _RACK_VERSION for member in members):
        sentences.append("Members of releases before 3.5 do not report their rack: assumed to have no client.rack.")
    if any(member.subscription.streams.version < _OFFSET_SUMS_VERSION for member in members):
        sentences.append("Members of releases before 2.6 do not report the offsets of their tasks.")
    return sentences


def _warnings(members: Sequence[_Member]) -> Iterator[str]:
    """Yield a warning if members use an older version of Kafka Streams' protocol than some of them support.

    Source: `StreamsPartitionAssignor`, Kafka 4.3.1: members use the latest version that all support, and with
    `upgrade.from` an older one.
    """
    infos = [member.subscription.streams for member in members]
    used, latest = min(info.version for info in infos), max(info.latest_supported_version for info in infos)
    if used < latest:
        yield (
            f"The group is being upgraded: members use version {used} of the Kafka Streams protocol, but support up to "
            f"{latest} (upgrade.from, or several releases). Simulated members have the same release."
        )
