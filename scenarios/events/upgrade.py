"""A rolling restart with another Kafka release, of all brokers or of clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from pydantic import ConfigDict, Field

from scenarios.events.broker_bounce import BROKER_DOWN_MS, BROKER_PAUSE_MS
from scenarios.events.closing_event import ClosingEvent
from scenarios.events.rolling_bounce import RollingBounceEvent, RollingBouncePlan
from scenarios.events.scenario_event import EventContext, PresenceChange
from scenarios.language.fields import Duration, KafkaRelease, NameList
from scenarios.language.releases import KafkaReleases, parse_release
from scenarios.language.units import format_duration
from scenarios.sampling.event_sampling import EventPlan, EventSampling
from simulator.world.disturbances import BrokerBounce, BrokerUpgrade
from simulator.world.group_configs import GroupConfigs, GroupProtocol

_OF_CLIENTS: Final = ("clients", "to", "order", "leaves_group", "close", "grace")
"""The keys that apply only to clients."""


@dataclass(frozen=True, slots=True)
class BrokerUpgradePlan(EventPlan):
    """An upgrade of all brokers; the fields are those of `simulator.world.disturbances.BrokerUpgrade`.

    `group_configs`: the group configs with the new release, by protocol.
    """

    is_random = False

    at_ms: int
    brokers: tuple[int, ...]
    down_ms: int
    pause_ms: int
    release: str
    group_configs: Mapping[GroupProtocol, GroupConfigs]

    @property
    def bounce(self) -> BrokerBounce:
        """The restarts without the release."""
        return BrokerBounce(self.at_ms, self.brokers, self.down_ms, self.pause_ms)

    @property
    def restarts_ms(self) -> tuple[int, ...]:
        """When each broker starts again."""
        return self.bounce.restarts_ms

    def realize(self, sampling: EventSampling) -> Iterator[BrokerUpgrade]:
        configs = self.group_configs[sampling.protocol]
        yield BrokerUpgrade(self.at_ms, self.brokers, self.down_ms, self.pause_ms, self.release, configs)


class UpgradeEvent(ClosingEvent):
    """A rolling restart of all brokers, or of clients, with another Kafka release.

    During the roll, releases are mixed. The coordinator of the group has the release of its broker: the leader of the
    group's partition of __consumer_offsets.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["brokers"], "not": {"anyOf": [{"required": [key]} for key in _OF_CLIENTS]}},
                {"required": ["clients", "to"], "not": {"required": ["brokers"]}},
            ]
        }
    )
    example = """\
cluster:
  kafka: "4.3"
  brokers: {count: 6, racks: [az1, az2, az3]}
  topics:
    - {name: orders, partitions: 24, replication_factor: 2, bytes_per_s: 40 MB/s}
events:
  - {at: 30m, upgrade: {brokers: "4.4", down: 1m, pause: 2m}}
"""
    brokers_fail = True

    brokers: KafkaRelease | None = Field(
        default=None,
        description="New Kafka release of all brokers, which restart one after another, by id. cluster.kafka states "
        "the release before.",
    )
    clients: NameList | None = Field(
        default=None, description="Names of clients to upgrade, or of entries that define several."
    )
    to: KafkaRelease | None = Field(
        default=None, description="New Kafka release of the clients. application.kafka states the release before."
    )
    order: Literal["listed", "reversed", "shuffled", "by_rack"] = Field(
        default="listed", description="The order of the clients, as in rolling_bounce."
    )
    down: Duration | None = Field(
        default=None,
        description="Time from the end of a process to its restart; default: 60s for brokers, 30s for clients.",
    )
    pause: Duration | None = Field(
        default=None,
        description="Pause between the return of a process and the next restart; default: 2m for brokers, 60s for "
        "clients.",
    )

    @property
    def is_of_cluster(self) -> bool:
        return self.brokers is not None

    def add_upgrade(self, context: EventContext) -> None:
        """Add the releases; report neither or both of brokers and clients, and brokers with an older release."""
        releases = context.releases
        self._check_keys(context)
        if self.brokers is not None:
            known = [(time, new.brokers) for time, new in releases.upgrades if new.brokers is not None]
            since_ms, before = known[-1] if known else (0, releases.start.brokers)
            if before is None:
                message = "the release before the upgrade is unknown; set cluster.kafka (the default is the newest)"
                context.report(message, "brokers")
            elif parse_release(self.brokers) < parse_release(before):
                state = "cluster.kafka" if since_ms == 0 else f"the upgrade at {format_duration(since_ms)}"
                message = f"Kafka {self.brokers} is older than {before}, the release before ({state})"
                context.report(message, "brokers")
        releases.upgrades.append((context.at_ms, KafkaReleases(self.brokers, self.to)))

    def _check_keys(self, context: EventContext) -> None:
        if self.brokers is not None:
            for key in _OF_CLIENTS:
                if key in self.model_fields_set:
                    context.report("applies to clients only; upgrade brokers and clients by two events", key)
        elif context.is_valid():
            missing = [key for key in ("clients", "to") if key not in self.model_fields_set]
            if len(missing) == 2:
                context.report("set brokers, or clients and to")
            elif missing:
                context.report(f"{missing[0]} is missing; set clients and to")

    def resolve(self, context: EventContext) -> Iterator[BrokerUpgradePlan | RollingBouncePlan]:
        """Yield the restarts of the brokers, or those of the clients as a rolling bounce."""
        releases, at_ms = context.releases, context.at_ms
        configs = releases.configs_of(releases.at(at_ms).upgraded_to(KafkaReleases(self.brokers, self.to)))
        if self.brokers is not None:
            down_ms = BROKER_DOWN_MS if self.down is None else self.down
            pause_ms = BROKER_PAUSE_MS if self.pause is None else self.pause
            brokers = tuple(sorted(context.brokers.ids))
            yield BrokerUpgradePlan(at_ms, brokers, down_ms, pause_ms, self.brokers, configs)
        elif self.clients is not None and self.to is not None:
            keys = ("clients", "order", "down", "pause", "leaves_group", "close", "grace")
            stated = {key: getattr(self, key) for key in keys if getattr(self, key) is not None}
            for bounce in RollingBounceEvent.model_construct(**stated).resolve(context):
                yield replace(bounce, release=self.to, group_configs=configs)

    def presence(
        self, planned: BrokerUpgradePlan | RollingBouncePlan, context: EventContext
    ) -> Iterator[PresenceChange]:
        if isinstance(planned, RollingBouncePlan):
            yield PresenceChange(context.at_ms, planned.clients, before=True, after=None)

    def warn_about_end(self, planned: BrokerUpgradePlan | RollingBouncePlan, context: EventContext) -> None:
        restarted = "clients" if isinstance(planned, RollingBouncePlan) else "brokers"
        context.warn_about_steps(planned.restarts_ms, f"{restarted} have restarted")

    def broker_restarts(self, planned: BrokerUpgradePlan | RollingBouncePlan) -> BrokerBounce | None:
        return None if isinstance(planned, RollingBouncePlan) else planned.bounce
