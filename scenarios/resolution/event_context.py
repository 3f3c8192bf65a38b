"""The parts of a scenario that events refer to, with the Kafka releases that upgrades change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from scenarios.language.errors import Mistakes
from scenarios.language.event_entries import CLIENT_KEYS, RollingBounceEvent, UpgradeEvent
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.releases import NEWEST, KafkaReleases, parse_release
from scenarios.language.units import format_duration
from scenarios.language.validation import SourceMap
from scenarios.references import Brokers, ImportedFiles, PartitionBudget, ResolvedClients
from scenarios.resolution.assignors import with_releases
from scenarios.resolution.configs import group_configs
from scenarios.resolution.traffic import ResolvedTraffic
from scenarios.sampling.blueprint import TopicBlueprint
from scenarios.schema import ScenarioDocument
from simulator.world.group_configs import GroupConfigs, GroupProtocol
from simulator.world.world import Subtopology

BROKER_DOWN_MS: Final = 60_000
BROKER_PAUSE_MS: Final = 120_000
"""The defaults of `broker_bounce`."""


@dataclass(frozen=True, slots=True)
class Releases:
    """The releases that the parts of a scenario have in its course. `source_map`: collects the mistakes."""

    document: ScenarioDocument
    source_map: SourceMap

    def upgrades(self) -> list[tuple[int, ScenarioPath, UpgradeEvent]]:
        """Return the valid upgrades with their times and paths, by time."""
        events = [
            (entry.at, ("events", i, "upgrade"), entry.upgrade)
            for i, entry in valid_entries(self.document.events)
            if entry.upgrade is not None
        ]
        return sorted(events, key=lambda event: event[0])

    @property
    def upgraded(self) -> frozenset[str]:
        """Who is upgraded: `brokers`, `clients`."""
        return frozenset("clients" if event.brokers is None else "brokers" for _, _, event in self.upgrades())

    def check(self) -> None:
        """Report upgrades of neither or both of brokers and clients, and upgrades of brokers to an older release."""
        before, since_ms = self.document.cluster.kafka, 0
        for at_ms, path, event in self.upgrades():
            self._check_keys(event, path)
            if event.brokers is None:
                continue
            if before is None:
                message = "the release before the upgrade is unknown; set cluster.kafka (the default is the newest)"
                self.source_map.add_mistake((*path, "brokers"), message)
            elif parse_release(event.brokers) < parse_release(before):
                state = "cluster.kafka" if since_ms == 0 else f"the upgrade at {format_duration(since_ms)}"
                message = f"Kafka {event.brokers} is older than {before}, the release before ({state})"
                self.source_map.add_mistake((*path, "brokers"), message)
            before, since_ms = event.brokers, at_ms

    def _check_keys(self, event: UpgradeEvent, path: ScenarioPath) -> None:
        if event.brokers is not None:
            for key in ("clients", *CLIENT_KEYS):
                if key in event.model_fields_set:
                    message = "applies to clients only; upgrade brokers and clients by two events"
                    self.source_map.add_mistake((*path, key), message)
        elif self.source_map.is_valid(*path):
            missing = [key for key in ("clients", "to") if key not in event.model_fields_set]
            if len(missing) == 2:
                self.source_map.add_mistake(path, "set brokers, or clients and to")
            elif missing:
                self.source_map.add_mistake(path, f"{missing[0]} is missing; set clients and to")

    def at(self, at_ms: int) -> tuple[str | None, str | None]:
        """Return the releases of brokers and of clients after the upgrades before a time; None for the newest."""
        brokers, clients = self.document.cluster.kafka, self.document.application.kafka
        for other_ms, _, other in self.upgrades():
            if other_ms < at_ms:
                brokers, clients = other.brokers or brokers, other.to or clients
        return brokers, clients

    def configs_after(self, event: UpgradeEvent, at_ms: int) -> Mapping[GroupProtocol, GroupConfigs]:
        """Return the group configs after an upgrade, by protocol, with the other part's release at that time."""
        brokers, clients = self.at(at_ms)
        brokers, clients = event.brokers or brokers, event.to or clients
        document = with_releases(self.document, KafkaReleases(brokers, clients or NEWEST))
        return group_configs(document.application, document.cluster.configs_of_release(), brokers)


def as_bounce(event: UpgradeEvent) -> RollingBounceEvent:
    """Return the rolling bounce that an upgrade of clients is, apart from the release."""
    keys = ("clients", "order", "down", "pause", "leaves_group", "close", "grace")
    values = {key: getattr(event, key) for key in keys if key in event.model_fields_set}
    return RollingBounceEvent.model_construct(**{key: value for key, value in values.items() if value is not None})


@dataclass(frozen=True, slots=True)
class EventContext:
    """The parts of a scenario that events refer to, the reader of files, and the collectors of mistakes.

    `all_topics`: None if not all are known. `budget`: the partitions that can still be added. `duration_ms`: None if
    unknown. `mistakes`: collects those in other files.
    """

    brokers: Brokers
    clients: ResolvedClients
    topics: Mapping[str, TopicBlueprint]
    all_topics: frozenset[str] | None
    subtopologies: tuple[Subtopology, ...]
    budget: PartitionBudget
    traffic: ResolvedTraffic
    duration_ms: int | None
    releases: Releases
    files: ImportedFiles
    source_map: SourceMap
    mistakes: Mistakes
