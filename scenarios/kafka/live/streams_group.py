"""A group of the streams protocol (KIP-1071), from what StreamsGroupDescribe tells.

Source: `StreamsGroupDescribeResponse.json`; `org.apache.kafka.coordinator.group.streams.StreamsGroup`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scenarios.kafka.live.admin_api import AdminResponse
from scenarios.kafka.live.classic_group import client_of, nobody_runs, sorted_tasks
from scenarios.kafka.live.inferred_topology import store_of
from scenarios.kafka.observation.errors import ObservationError
from scenarios.kafka.observation.observation import ObservedProcess, ObservedSubtopology, ObservedThread

_STABLE: Final = "Stable"
_OF_THE_BROKERS: Final = {
    "streams.heartbeat.interval.ms": "group.streams.heartbeat.interval.ms",
    "streams.assignment.interval.ms": "group.streams.assignment.interval.ms",
    "streams.session.timeout.ms": "group.streams.session.timeout.ms",
    "streams.initial.rebalance.delay.ms": "group.streams.initial.rebalance.delay.ms",
}
_OF_THE_APPLICATION: Final = {"streams.num.standby.replicas": "num.standby.replicas"}


@dataclass(frozen=True, slots=True)
class ObservedStreamsGroup:
    """A settled group: its processes by process id, its subtopologies by id, and its members as they were listed."""

    processes: tuple[ObservedProcess, ...]
    subtopologies: tuple[ObservedSubtopology, ...]
    listed_members: tuple[str, ...]
    assumptions: tuple[str, ...]


def is_settled(answer: AdminResponse) -> bool:
    """Whether every member of a group that StreamsGroupDescribe tells of has what it is to have.

    Raises:
        ObservationError: nobody is in it.
    """
    if answer["group_state"] in ("Empty", "Dead"):
        raise nobody_runs(answer["group_id"])
    return bool(answer["group_state"] == _STABLE)


def read_streams_group(answer: AdminResponse) -> ObservedStreamsGroup:
    """Read a group that `is_settled`.

    Raises:
        ObservationError: it has no topology, or one with names.
    """
    group = answer["group_id"]
    subtopologies = (answer["topology"] or {}).get("subtopologies")
    if not subtopologies:
        raise ObservationError(f"group '{group}' has no topology yet: its source topics are missing, or do not fit")
    by_process: dict[str, list[AdminResponse]] = {}
    for member in sorted(answer["members"], key=lambda member: str(member["member_id"])):
        by_process.setdefault(member["process_id"], []).append(member)
    seen = tuple(sorted((_subtopology(group, entry) for entry in subtopologies), key=lambda each: each.id))
    processes = tuple(_process(process_id, by_process[process_id]) for process_id in sorted(by_process))
    listed = tuple(str(member["member_id"]) for member in answer["members"])
    return ObservedStreamsGroup(processes, seen, listed, tuple(_assumptions(answer["members"])))


def configs_of_group(told: Mapping[str, str | None]) -> tuple[dict[str, str], dict[str, str]]:
    """A group's configs under the keys that the application and the brokers have for them."""

    def renamed(keys: Mapping[str, str]) -> dict[str, str]:
        return {key: value for of_group, key in keys.items() if (value := told.get(of_group)) is not None}

    return renamed(_OF_THE_APPLICATION), renamed(_OF_THE_BROKERS)


def _subtopology(group: str, entry: AdminResponse) -> ObservedSubtopology:
    name = str(entry["subtopology_id"])
    if not name.isdecimal():
        raise ObservationError(f"subtopology '{name}' is not a number; scenarios have numbered ones only")
    repartition = [topic["name"] for topic in entry["repartition_source_topics"]]
    changelogs = {store_of(group, topic["name"]): topic["name"] for topic in entry["state_changelog_topics"]}
    return ObservedSubtopology(
        int(name),
        tuple(sorted({*entry["source_topics"], *repartition})),
        {store: changelogs[store] for store in sorted(changelogs)},
        writes=tuple(sorted(entry["repartition_sink_topics"])),
    )


def _process(process_id: str, members: Sequence[AdminResponse]) -> ObservedProcess:
    first = members[0]
    copies = {
        f"{each['subtopology_id']}_{each['partition']}": each["offset"]
        for member in members
        for each in member["task_offsets"]
    }
    return ObservedProcess(
        process_id,
        client_of(member["client_id"] for member in members),
        first["rack_id"] or None,
        {tag["key"]: tag["value"] for tag in first["client_tags"]},
        tuple(_thread(member) for member in members),
        {task: copies[task] for task in sorted_tasks(copies)} or None,
    )


def _thread(member: AdminResponse) -> ObservedThread:
    """A warm-up task is a standby that will not stay: Kafka's own assignor makes none."""
    given = member["assignment"]
    copies = [*given["standby_tasks"], *given["warmup_tasks"]]
    return ObservedThread(
        member["member_id"], sorted_tasks(_tasks(given["active_tasks"])), sorted_tasks(_tasks(copies))
    )


def _tasks(entries: Sequence[AdminResponse]) -> Iterator[str]:
    for entry in entries:
        for partition in entry["partitions"]:
            yield f"{entry['subtopology_id']}_{partition}"


def _assumptions(members: Sequence[AdminResponse]) -> Iterator[str]:
    if not any(member["task_offsets"] for member in members):
        yield "The coordinator does not tell how far copies are: all are taken to be caught up."
    if any(member["assignment"]["warmup_tasks"] for member in members):
        yield "Warm-up tasks are taken for standbys."
    if any(member["is_classic"] for member in members):
        yield "The group is being migrated: some members still speak the classic protocol."
