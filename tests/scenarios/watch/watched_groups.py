"""A small group for tests of the rules: polls with chosen members, offsets and times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from scenarios.kafka.live.group_polling import PolledGroup, PolledObserver, TaskPartitions, poll_group, with_offsets
from scenarios.kafka.observation.observation import GroupPhase, GroupSnapshot, TaskProgress
from scenarios.watch.prediction import ComparedPrediction
from scenarios.watch.rules import Poll
from scenarios.watch.watched_group import WatchedApplication, WatchedConsumers
from tests.scenarios.kafka.live.recorded_cluster import Recorded

GROUP = "shop"
NO_COMMITS: list[list[object]] = []


def poll_recorded(name: str, group: str, protocol: str) -> tuple[PolledGroup, Recorded]:
    """Return the first stable poll of a recording, without offsets."""
    cluster = Recorded(name, committed_offsets=[NO_COMMITS])
    polled = poll_group(cluster, group, protocol, TaskPartitions())
    while polled.snapshot.phase is not GroupPhase.STABLE:
        polled = poll_group(cluster, group, protocol, TaskPartitions())
    return polled, cluster


@cache
def recorded_group(
    name: str = "classic.jsonl", group: str = GROUP, protocol: str = "classic", lag: str = "10000"
) -> tuple[WatchedApplication, GroupSnapshot]:
    """Return the application and the stable group of a recording of a real cluster, with its offsets."""
    polled, cluster = poll_recorded(name, group, protocol)
    configs = {"acceptable.recovery.lag": lag} if protocol == "classic" else {}
    observation = PolledObserver(cluster, topology=None, configs=configs, racks=()).observe(polled)
    snapshot = with_offsets(polled.snapshot, cluster, TaskPartitions.of(observation))
    return WatchedApplication.of(observation), snapshot


CONSUMERS = {
    "billing": ("consumers.jsonl", "classic"),
    "default": ("consumers_range.jsonl", "classic"),
    "audit": ("consumers_coordinator.jsonl", "consumer"),
}
"""The recording and the protocol of consumer groups whose members subscribe to different topics."""


@cache
def recorded_consumers(group: str) -> tuple[WatchedConsumers, GroupSnapshot]:
    """Return a consumer group of a recording of a real cluster, and its snapshot."""
    polled, cluster = poll_recorded(CONSUMERS[group][0], group, CONSUMERS[group][1])
    observation = PolledObserver(cluster, topology=None, configs={}, racks=()).observe(polled)
    return WatchedConsumers.of(observation), polled.snapshot


@dataclass(slots=True)
class PollSequence:
    """Makes polls of the recorded group, one after another."""

    application: WatchedApplication | None = field(default_factory=lambda: recorded_group()[0])
    last: GroupSnapshot | None = None
    assigned: GroupSnapshot | None = None

    def poll(self, at_s: float, compared: ComparedPrediction | None = None, **changes: object) -> Poll:
        """Return the next poll, of the recorded snapshot with changes."""
        snapshot = replace(recorded_group()[1], at_ms=round(at_s * 1000), **changes)  # type: ignore[arg-type]
        names = {member.process_id: member.client_id[:13] for member in recorded_group()[1].members}
        poll = Poll(snapshot, self.last, self.assigned, self.application, compared, names)
        self.last = snapshot
        if poll.is_assigned:
            self.assigned = snapshot
        return poll


def progress(committed: int, end: int, tasks: tuple[str, ...] = ("0_0",)) -> Mapping[str, TaskProgress]:
    return {task: TaskProgress(committed, end) for task in tasks}
