"""Rebalances of a streams group from its records: each target assignment of the coordinator.

The coordinator writes the target of each member that changes, and then the epoch of the new target assignment.

Source: `GroupMetadataManager.maybeUpdateStreamsTargetAssignment`, `TargetAssignmentBuilder`, `StreamsGroup*.json`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from scenarios.kafka.formats.coordinator_records import (
    STREAMS_CURRENT,
    STREAMS_GROUP,
    STREAMS_MEMBER,
    STREAMS_TARGET,
    STREAMS_TARGET_MEMBER,
    STREAMS_TOPOLOGY,
    CoordinatorRecord,
)
from scenarios.kafka.formats.message_schemas import Message
from scenarios.kafka.incident.coordinator_replay import CoordinatorReplay
from scenarios.kafka.incident.recorded import RecordedGroup, RecordedMember, RecordedRebalance
from scenarios.kafka.naming import process_client_id
from scenarios.kafka.observation.observation import ObservationError, sort_tasks

_STABLE: Final = 1
"""State of a member with its target assignment (`MemberState.STABLE`)."""


def streams_rebalances(group: str, records: Sequence[CoordinatorRecord], *, passes_owned_tasks: bool) -> RecordedGroup:
    """Rebuild the rebalances of a group.

    `records`: its records, in the order of the partition. `passes_owned_tasks` says whether the brokers pass the tasks
    that members own to the assignor, as from 4.4 on; before, they pass those of the last target. Raises
    ObservationError if the topology is named, or a task id is malformed.
    """
    replay = _StreamsReplay(passes_owned_tasks=passes_owned_tasks)
    for record in records:
        replay.apply(record)
    remarks = list(replay.remarks())
    if not replay.topology:
        remarks.append("The records have no topology: it is older than the segment.")
    return RecordedGroup(
        group=group,
        protocol="streams",
        rebalances=tuple(replay.rebalances),
        source_topics={_number(entry): _sources(entry) for entry in replay.topology},
        stateful=frozenset(_number(entry) for entry in replay.topology if entry["stateChangelogTopics"]),
        has_records=True,
        remarks=tuple(remarks),
    )


@dataclass(slots=True, kw_only=True)
class _StreamsReplay(CoordinatorReplay):
    """The state of the coordinator while its records are read.

    Attributes:
        passes_owned_tasks: As in `streams_rebalances`.
        configs: Configs of the last assignment.
        topology: Subtopologies.
    """

    passes_owned_tasks: bool
    configs: dict[str, str] = field(default_factory=dict)
    topology: list[Message] = field(default_factory=list)

    def apply(self, record: CoordinatorRecord) -> None:
        """Apply a record, which may end a rebalance."""
        value, member = record.value, record.member_id or ""
        if record.type == STREAMS_TARGET and value is not None:
            self.end(self._rebalance(record, value))
        elif record.type == STREAMS_GROUP and value is not None:
            listed = value["lastAssignmentConfigs"] or ()
            self.configs = {entry["key"]: entry["value"] for entry in listed} or self.configs
        elif record.type == STREAMS_TOPOLOGY and value is not None:
            self.topology = value["subtopologies"]
        elif record.type == STREAMS_MEMBER:
            self.put_member(member, value)
        elif record.type == STREAMS_TARGET_MEMBER:
            self.put_target(member, value)
        elif record.type == STREAMS_CURRENT:
            self.put_current(member, value, record.at_ms, _STABLE)

    def _rebalance(self, record: CoordinatorRecord, value: Message) -> RecordedRebalance:
        previous = self.current if self.passes_owned_tasks else self.before
        members = (self._member(name, self.members[name], previous.get(name)) for name in sorted(self.members))
        epoch: int = value["assignmentEpoch"]
        return RecordedRebalance(
            number=epoch,
            at_ms=value["assignmentTimestamp"] or record.at_ms or 0,
            members=tuple(members),
            coordinator_order=tuple(self.order),
            configs=dict(self.configs),
        )

    def _member(self, member_id: str, metadata: Message, previous: Message | None) -> RecordedMember:
        target = self.target.get(member_id)
        return RecordedMember(
            id=member_id,
            process_id=metadata["processId"],
            client_id=process_client_id(metadata["clientId"]),
            thread=metadata["clientId"],
            rack=metadata["rackId"] or None,
            tags={entry["key"]: entry["value"] for entry in metadata["clientTags"]},
            instance_id=metadata["instanceId"],
            active=_tasks(target, "activeTasks"),
            standby=_tasks(target, "standbyTasks", "warmupTasks"),
            previous_active=_tasks(previous, "activeTasks"),
            previous_standby=_tasks(previous, "standbyTasks", "warmupTasks"),
        )


def _tasks(message: Mapping[str, list[Message]] | None, *fields: str) -> tuple[str, ...]:
    return sort_tasks(
        f"{entry['subtopologyId']}_{partition}"
        for name in fields
        for entry in (message or {}).get(name, ())
        for partition in entry["partitions"]
    )


def _number(entry: Message) -> int:
    name = entry["subtopologyId"]
    if not name.isascii() or not name.isdecimal():
        raise ObservationError(f"subtopology id '{name}' is not a number; named topologies cannot be simulated")
    return int(name)


def _sources(entry: Message) -> tuple[str, ...]:
    return tuple(sorted({*entry["sourceTopics"], *(topic["name"] for topic in entry["repartitionSourceTopics"])}))
