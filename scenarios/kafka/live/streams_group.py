"""A group of the streams protocol (KIP-1071), from the response of StreamsGroupDescribe.

Source: `StreamsGroupDescribeResponse.json`; `org.apache.kafka.coordinator.group.streams.StreamsGroup`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scenarios.kafka.live.admin_api import AdminResponse
from scenarios.kafka.live.classic_group import empty_group_message
from scenarios.kafka.naming import process_client_id, store_of_changelog
from scenarios.kafka.observation.observation import (
    ObservationError,
    ObservedProcess,
    ObservedSubtopology,
    ObservedThread,
    sort_tasks,
)

_STABLE: Final = "Stable"
_BROKER_KEYS: Final = {
    "streams.heartbeat.interval.ms": "group.streams.heartbeat.interval.ms",
    "streams.assignment.interval.ms": "group.streams.assignment.interval.ms",
    "streams.session.timeout.ms": "group.streams.session.timeout.ms",
    "streams.initial.rebalance.delay.ms": "group.streams.initial.rebalance.delay.ms",
}
"""Broker config that each group config overrides."""
_APPLICATION_KEYS: Final = {"streams.num.standby.replicas": "num.standby.replicas"}
"""Application config that each group config replaces."""


@dataclass(frozen=True, slots=True)
class ObservedStreamsGroup:
    """A stable group.

    Attributes:
        processes: Processes, by process id.
        subtopologies: Subtopologies, by id.
        listed_members: Member ids in the order of the response.
        assumptions: Sentences on what was not observed.
        warnings: Sentences on a state of the group that is not simulated.
    """

    processes: tuple[ObservedProcess, ...]
    subtopologies: tuple[ObservedSubtopology, ...]
    listed_members: tuple[str, ...]
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]


def is_stable(response: AdminResponse) -> bool:
    """Return whether all members have reached their target assignment.

    Raises ObservationError if the group has no members.
    """
    if response["group_state"] in ("Empty", "Dead"):
        raise ObservationError(empty_group_message(response["group_id"]))
    return bool(response["group_state"] == _STABLE)


def read_streams_group(response: AdminResponse) -> ObservedStreamsGroup:
    """Read a group for which `is_stable` holds; raise ObservationError if the group has no topology, or a named one."""
    group = response["group_id"]
    entries = (response["topology"] or {}).get("subtopologies")
    if not entries:
        raise ObservationError(f"group '{group}' has no topology yet: source topics are missing or inconsistent")
    by_process: dict[str, list[AdminResponse]] = {}
    for member in sorted(response["members"], key=lambda member: str(member["member_id"])):
        by_process.setdefault(member["process_id"], []).append(member)
    subtopologies = sorted((_subtopology(group, entry) for entry in entries), key=lambda subtopology: subtopology.id)
    processes = tuple(_observed_process(process_id, by_process[process_id]) for process_id in sorted(by_process))
    listed_members = tuple(str(member["member_id"]) for member in response["members"])
    return ObservedStreamsGroup(
        processes,
        tuple(subtopologies),
        listed_members,
        tuple(_assumptions(response["members"])),
        tuple(_warnings(response["members"])),
    )


def split_group_configs(group_configs: Mapping[str, str | None]) -> tuple[dict[str, str], dict[str, str]]:
    """Return a group's configs under the corresponding keys of the application and of the brokers."""

    def renamed(keys: Mapping[str, str]) -> dict[str, str]:
        return {key: value for group_key, key in keys.items() if (value := group_configs.get(group_key)) is not None}

    return renamed(_APPLICATION_KEYS), renamed(_BROKER_KEYS)


def _subtopology(group: str, entry: AdminResponse) -> ObservedSubtopology:
    name = str(entry["subtopology_id"])
    if not name.isdecimal():
        raise ObservationError(f"subtopology id '{name}' is not a number; named topologies cannot be simulated")
    repartition = [topic["name"] for topic in entry["repartition_source_topics"]]
    changelogs = {store_of_changelog(group, topic["name"]): topic["name"] for topic in entry["state_changelog_topics"]}
    return ObservedSubtopology(
        int(name),
        tuple(sorted({*entry["source_topics"], *repartition})),
        {store: changelogs[store] for store in sorted(changelogs)},
        writes=tuple(sorted(entry["repartition_sink_topics"])),
    )


def _observed_process(process_id: str, members: Sequence[AdminResponse]) -> ObservedProcess:
    first = members[0]
    offset_sums = {
        f"{task['subtopology_id']}_{task['partition']}": task["offset"]
        for member in members
        for task in member["task_offsets"]
    }
    return ObservedProcess(
        process_id,
        process_client_id(min(member["client_id"] for member in members)),
        first["rack_id"] or None,
        {tag["key"]: tag["value"] for tag in first["client_tags"]},
        tuple(_observed_thread(member) for member in members),
        {task: offset_sums[task] for task in sort_tasks(offset_sums)} or None,
        any(member["instance_id"] is not None for member in members),
    )


def _observed_thread(member: AdminResponse) -> ObservedThread:
    """Return a thread; warm-up tasks count as standbys, since Kafka's own assignor creates none."""
    assignment = member["assignment"]
    standby = _tasks([*assignment["standby_tasks"], *assignment["warmup_tasks"]])
    return ObservedThread(member["member_id"], sort_tasks(_tasks(assignment["active_tasks"])), sort_tasks(standby))


def _tasks(entries: Sequence[AdminResponse]) -> Iterator[str]:
    for entry in entries:
        for partition in entry["partitions"]:
            yield f"{entry['subtopology_id']}_{partition}"


def _assumptions(members: Sequence[AdminResponse]) -> Iterator[str]:
    if not any(member["task_offsets"] for member in members):
        yield "The coordinator does not report task offsets: all task copies are assumed to be caught up."
    else:
        yield (
            "Copies on disk are those that members reported last, by default once a minute: a copy that a recent move "
            "left behind may be missing."
        )
    if any(member["assignment"]["warmup_tasks"] for member in members):
        yield "Warm-up tasks are treated as standbys."


def _warnings(members: Sequence[AdminResponse]) -> Iterator[str]:
    classic = sorted(str(member["member_id"]) for member in members if member["is_classic"])
    if classic:
        yield (
            f"The group is being migrated: {len(classic)} of {len(members)} members still use the classic protocol, "
            "but are simulated with the streams protocol."
        )
