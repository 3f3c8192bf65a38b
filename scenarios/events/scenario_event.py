"""The base class of the kinds of events, and the parts of a scenario that they refer to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field

from scenarios.language.application_entries import ApplicationSection
from scenarios.language.client_configs import AssignorConfigs
from scenarios.language.errors import Mistakes, did_you_mean, format_value
from scenarios.language.fields import NameList, ScenarioSection
from scenarios.language.paths import ScenarioPath
from scenarios.language.releases import KafkaReleases
from scenarios.language.units import format_duration
from scenarios.language.validation import SourceMap
from scenarios.references import Brokers, ImportedFiles, PartitionBudget, ResolvedClients, check_configs
from scenarios.sampling.blueprint import Blueprint, TopicBlueprint
from scenarios.sampling.event_sampling import PlannedEvent
from scenarios.sampling.traffic_profile import TrafficProfile
from simulator.world.disturbances import BrokerBounce
from simulator.world.group_configs import GroupConfigs, GroupProtocol
from simulator.world.world import Subtopology


@dataclass(frozen=True, slots=True)
class Releases:
    """The Kafka releases in the course of a scenario; None for the newest.

    `upgrades`: times and releases by time, None for who is not upgraded. `configs_of`: returns the group configs with
    some releases, by protocol.
    """

    start: KafkaReleases
    upgrades: list[tuple[int, KafkaReleases]]
    configs_of: Callable[[KafkaReleases], Mapping[GroupProtocol, GroupConfigs]]

    @property
    def upgraded(self) -> frozenset[str]:
        """Who is upgraded: `brokers`, `clients`."""
        return frozenset("clients" if new.brokers is None else "brokers" for _, new in self.upgrades)

    def at(self, at_ms: int) -> KafkaReleases:
        """Return the releases after the upgrades before a time."""
        releases = self.start
        for other_ms, new in self.upgrades:
            releases = releases.upgraded_to(new) if other_ms < at_ms else releases
        return releases


@dataclass(frozen=True, slots=True)
class EventContext:
    """The time and the path of an event, the parts of the scenario that it refers to, and the collectors of mistakes.

    `all_topics`: None if not all are known. `num_partitions`: by topic; events add to them in order of time. `budget`:
    the partitions that can still be added. `source_bytes_per_s`: as in `ResolvedTraffic`. `duration_ms`: None if
    unknown. `mistakes`: collects those in other files.
    """

    brokers: Brokers
    clients: ResolvedClients
    topics: Mapping[str, TopicBlueprint]
    all_topics: frozenset[str] | None
    num_partitions: dict[str, int]
    subtopologies: tuple[Subtopology, ...]
    budget: PartitionBudget
    source_bytes_per_s: tuple[int, ...]
    duration_ms: int | None
    releases: Releases
    files: ImportedFiles
    source_map: SourceMap
    mistakes: Mistakes
    at_ms: int = 0
    path: ScenarioPath = ("events",)

    def report(self, message: str, *keys: str | int) -> None:
        """Report a mistake of the event, or at a key of it."""
        self.source_map.add_mistake((*self.path, *keys), message)

    def warn(self, message: str, *keys: str) -> None:
        """Report a valid but probably unintended value of the event, or at a key of it."""
        self.source_map.add_warning((*self.path, *keys), message)

    def is_valid(self, *keys: str) -> bool:
        """Return whether the event, or a key of it, has no invalid value."""
        return self.source_map.is_valid(*self.path, *keys)

    def find_clients(self, names: Sequence[str], key: str = "clients") -> tuple[str, ...]:
        """Return the clients that the event names under a key, without duplicates; report unknown names."""
        return self.clients.find(names, (*self.path, key), self.source_map)

    def check_brokers(self, ids: Sequence[int], *keys: str | int) -> bool:
        """Report unknown and duplicate broker ids at a key of the event; return whether all are valid."""
        return self.brokers.check_ids(ids, (*self.path, *keys))

    def check_rack(self, rack: str) -> None:
        """Report the rack of the event if nothing is in it."""
        racks = [plan.rack for plan in self.clients.plans if plan.rack is not None]
        self.brokers.check_rack(rack, (*self.path, "rack"), racks)

    def check_configs(self, configs: AssignorConfigs) -> dict[str, object]:
        """Report the configs of the event that Kafka rejects; return the valid ones by field of `AssignmentConfigs`."""
        path = (*self.path, "configs")
        self.clients.check_tags(configs.rack_aware_assignment_tags, path, self.source_map)
        return check_configs(configs, path, self.source_map)

    def partition_problem(self, topic: str, partition: int) -> tuple[str, str] | None:
        """Return the key and the message of an unknown topic or partition; None if valid or unknown."""
        known = self.topics.get(topic)
        if known is None:
            if self.all_topics is None or topic in self.all_topics:
                return None
            hint = did_you_mean(topic, sorted(self.all_topics), "topics")
            return "topic", f"unknown topic {format_value(topic)} ({hint})"
        if partition >= known.num_partitions:
            return "partition", f"{partition} is not a partition of '{topic}' (0 to {known.num_partitions - 1})"
        return None

    def warn_about_return(self, down_ms: int | None) -> None:
        """Warn about an outage that lasts longer than the run."""
        if down_ms is None or self.duration_ms is None or self.at_ms + down_ms < self.duration_ms:
            return
        back, end = format_duration(self.at_ms + down_ms), format_duration(self.duration_ms)
        advice = f"set duration to more than {back}, or remove down for a permanent outage"
        self.warn(f"the return, at {back}, is not before the end of the run ({end}); {advice}", "down")

    def warn_about_steps(self, times_ms: Sequence[int], label: str, *keys: str) -> None:
        """Warn about steps of the event after the end of the run; `label` says what has happened at these times."""
        count = sum(self.duration_ms is None or at_ms < self.duration_ms for at_ms in times_ms)
        if count < len(times_ms):
            last, end = format_duration(times_ms[-1]), format_duration(self.duration_ms or 0)
            advice = f"the last is at {last}; set a longer duration, or shorten the event"
            message = f"only {count:,} of {len(times_ms):,} {label} before the run ends at {end}; {advice}"
            self.warn(message, *keys)


@dataclass(frozen=True, slots=True)
class PresenceChange:
    """An event of clients at one time.

    `before`: whether they must be present before; None for either. `after`: whether they are present then; None for no
    change. `key`: the key of the event that lists them.
    """

    at_ms: int
    clients: tuple[str, ...]
    before: bool | None
    after: bool | None
    key: str = "clients"


class ScenarioEvent(ScenarioSection, ABC):
    """A kind of event: what a scenario says about an event, and what follows from it.

    `planned` of a method is what the event resolves to.

    Attributes:
        example: a scenario with the event for the reference, without the sections of the example of all pages.
        brokers_fail: whether brokers fail or restart.
        is_of_streams: whether only applications of Kafka Streams can have it, not consumer groups.
        is_of_all: whether it concerns the application and all consumer groups, not those of its clients only.
    """

    example: ClassVar[str]
    brokers_fail: ClassVar[bool] = False
    is_of_streams: ClassVar[bool] = False
    is_of_all: ClassVar[bool] = False

    @property
    def is_of_cluster(self) -> bool:
        """Whether it concerns brokers, racks or replicas: neighbors then have that of the main scenario only."""
        return False

    @property
    def listed_clients(self) -> Sequence[str]:
        """The names of clients or of entries of clients, as the scenario lists them; empty if it lists none."""
        return getattr(self, "clients", None) or ()

    @property
    def changed_configs(self) -> AssignorConfigs | None:
        """The configs that clients get; None if they keep theirs."""
        return None

    @property
    def sets_client_rack(self) -> bool:
        """Whether clients get `client.rack`."""
        return False

    def add_upgrade(self, context: EventContext) -> None:
        """Add an upgrade to the releases, and report mistakes in it; called in order of time, before all others."""

    @abstractmethod
    def resolve(self, context: EventContext) -> Iterable[Any]:
        """Return what the event becomes, and report mistakes, which may leave it without a meaning.

        It becomes planned events, or what `occurrences` turns into planned events.
        """

    def presence(self, planned: Any, context: EventContext) -> Iterable[PresenceChange]:
        """Return which clients must be up or absent before, and are so after."""
        return ()

    def added_or_removed(self, planned: Any) -> Iterable[tuple[str, tuple[str, ...]]]:
        """Return the keys and the clients that join or leave; those of an autoscaler must not."""
        return ()

    def scaled_clients(self, planned: Any) -> tuple[str, ...]:
        """Return the clients that only this event adds and removes."""
        return ()

    def check_in_order(self, planned: Any, context: EventContext) -> None:
        """Report what contradicts earlier events; called in order of time, if there are no other mistakes."""

    def warn_about_end(self, planned: Any, context: EventContext) -> None:
        """Warn if the end of the run cuts the event off."""

    def occurrences(self, planned: Any, profile: TrafficProfile, context: EventContext) -> Iterable[PlannedEvent]:
        """Return the planned events, given the traffic over time."""
        return [planned]

    def broker_restarts(self, planned: Any) -> BrokerBounce | None:
        """Return the restarts of brokers one after another; None if there are none."""
        return None

    def closing_warnings(
        self, application: ApplicationSection, clients: ResolvedClients, protocols: Collection[GroupProtocol]
    ) -> Iterable[tuple[str, str]]:
        """Return keys and messages of warnings about how clients close in groups with these protocols."""
        return ()

    @classmethod
    def check_worlds(cls, events: Sequence[LocatedEvent], blueprint: Blueprint, seed: int) -> None:
        """Report mistakes in all events of this kind that only the world of a seed shows."""


@dataclass(frozen=True, slots=True)
class LocatedEvent:
    """An event of a scenario, and what it resolves to."""

    event: ScenarioEvent
    planned: Any
    context: EventContext


class ClientsEvent(ScenarioEvent):
    """An event of clients that must be up."""

    clients: NameList = Field(description="Names of clients, or of entries that define several.")

    def presence(self, planned: Any, context: EventContext) -> Iterable[PresenceChange]:
        return [PresenceChange(context.at_ms, planned.clients, before=True, after=None)]


class ClusterEvent(ScenarioEvent):
    """An event of brokers, racks or replicas."""

    @property
    def is_of_cluster(self) -> bool:
        return True
