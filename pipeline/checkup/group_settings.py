"""Settings of a consumer group: the current one with single changes, and combinations of changes.

Source: KIP-429 (cooperative rebalancing), KIP-345 (static membership), KIP-848 (`group.protocol=consumer`), KIP-881
(rack-aware assignors of clients), KIP-392 (`replica.selector.class`).
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from assignors.consumer_groups import OfConsumerGroup, find_consumer_assignor
from assignors.consumers.selection import BROKER_RANGE, COOPERATIVE_STICKY, UNIFORM
from pipeline.checkup.group_changes import GroupChanges
from reports.analysis.recommendation import SettingChange
from scenarios.checkup.base import Document, deployment, renamed_clients
from scenarios.checkup.situations import DEFAULT_DEPLOYMENT
from scenarios.language.broker_configs import RACK_AWARE_SELECTOR
from scenarios.language.consumer_entries import ConsumerGroupEntry
from scenarios.language.releases import FIRST_CONSUMER_RELEASE, NEWEST, parse_release
from scenarios.language.units import parse_duration_ms
from scenarios.load import AssignorSpec, Scenario
from simulator.world.world import GroupProtocol

LABEL: Final = "checkup"
"""Label of the only assignor of each scenario."""

SELECTOR: Final = "replica.selector.class"

_CLASSIC: Final = ("range", "roundrobin", "sticky", COOPERATIVE_STICKY)
_OF_COORDINATOR: Final = (UNIFORM, BROKER_RANGE)
_DEFAULT_SESSION_MS: Final = 45_000
_SESSION_MARGIN_MS: Final = 15_000
"""How much longer the session timeout of static members is than a restart."""

_START_AFTER: Final = "10s"
"""The default of `rolling_update.start_after`."""


@dataclass(frozen=True, slots=True)
class GroupSetting:
    """The configs of a consumer group, and of the brokers from which it reads.

    Attributes:
        assignor: name of the assignor, which implies the group protocol; None for that of the scenario.
        is_static: whether members get a `group.instance.id`; otherwise as in the scenario.
        session_timeout_ms: `session.timeout.ms`; None for that of the scenario.
        has_client_rack: whether clients with a rack get a `client.rack`; otherwise as in the scenario.
        reads_nearest: whether brokers let consumers read from the nearest replica; otherwise as in the scenario.
    """

    assignor: str | None = None
    is_static: bool = False
    session_timeout_ms: int | None = None
    has_client_rack: bool = False
    reads_nearest: bool = False


_UNCHANGED: Final = GroupSetting()


class GroupSettings:
    """The settings of a scenario about a consumer group."""

    def __init__(self, scenario: Scenario, assignor: AssignorSpec) -> None:
        """Prepare the settings."""
        assert scenario.group is not None
        self._scenario = scenario
        self.assignor = assignor
        self.group: ConsumerGroupEntry = scenario.group
        self._clients = [client for client in scenario.blueprint.clients if client.starts]
        self.configs = GroupChanges(self.group, assignor)

    @property
    def scenario(self) -> Scenario:
        """The scenario."""
        return self._scenario

    @property
    def today(self) -> GroupSetting:
        """The current setting."""
        return _UNCHANGED

    @property
    def by_coordinator(self) -> bool:
        """Whether the group has the consumer protocol today."""
        return self.assignor.protocol is GroupProtocol.CONSUMER

    @property
    def session_timeout_ms(self) -> int:
        """Today's session timeout."""
        protocol = self.assignor.protocol or GroupProtocol.CLASSIC
        return self._scenario.blueprint.group_configs[protocol].session_timeout_ms

    @property
    def renames_members(self) -> bool:
        """Whether static membership is left out because a rollout gives members new names."""
        return bool(renamed_clients(self._scenario))

    def is_of_coordinator(self, setting: GroupSetting) -> bool:
        """Return whether a setting has the consumer protocol."""
        return self.by_coordinator if setting.assignor is None else setting.assignor in _OF_COORDINATOR

    def single_changes(self) -> list[GroupSetting]:
        """Return the settings that differ from the current one in one change, with what it needs to have an effect."""
        return list(dict.fromkeys(self._single_changes()))

    def combine(self, one: GroupSetting, other: GroupSetting) -> GroupSetting | None:
        """Return a setting with the changes of two, the second of which counts in conflicts; None if it is invalid."""
        combined = replace(one, **_changed(other))
        if combined.session_timeout_ms is not None and self.is_of_coordinator(combined):
            return None  # Consumers reject session.timeout.ms under the consumer protocol.
        return combined

    def without_each_change(self, setting: GroupSetting) -> list[GroupSetting]:
        """Return the settings with one change less."""
        without = [replace(setting, **{name: getattr(_UNCHANGED, name)}) for name in _changed(setting)]
        return [smaller for smaller in without if smaller.session_timeout_ms is None or smaller.is_static]

    def is_migration(self, setting: GroupSetting) -> bool:
        """Return whether a setting goes back: from the consumer to the classic protocol, or to eager rebalances."""
        if self.is_of_coordinator(setting) or setting.assignor is None:
            return False
        return self.by_coordinator or (setting.assignor != COOPERATIVE_STICKY and not self._is_eager)

    def document(self, situation: Document, setting: GroupSetting) -> Document:
        """Return the scenario of a situation with a setting."""
        document = deepcopy(situation)
        [group] = document["consumers"]
        if setting.assignor is not None:
            group["assignors"] = [{"assignor": setting.assignor, "label": LABEL}]
        elif group.get("assignors"):
            group["assignors"] = [{"assignor": self.assignor.info.name.partition("@")[0], "label": LABEL}]
        if setting.session_timeout_ms is not None:
            group.setdefault("configs", {})["session.timeout.ms"] = setting.session_timeout_ms
        if setting.reads_nearest:
            document["cluster"].setdefault("configs", {})[SELECTOR] = RACK_AWARE_SELECTOR
        for client in group["clients"]:
            if setting.assignor is not None:
                client.pop("configs", None)  # Its own list of assignors.
            if setting.is_static:
                client["static_membership"] = True
            if setting.has_client_rack:
                client.pop("client_rack", None)
        return document

    def describe(self, setting: GroupSetting) -> str:
        """Return the changes of a setting in one line; `current` without any."""
        return self.configs.describe(setting)

    def changes(self, setting: GroupSetting) -> tuple[SettingChange, ...]:
        """Return the configs that a setting changes."""
        return self.configs.of(setting)

    @property
    def lacks_client_rack(self) -> bool:
        """Whether clients with a rack do not announce it."""
        return any(client.rack is not None and not client.announces_rack for client in self._clients)

    def _single_changes(self) -> Iterator[GroupSetting]:
        for name in self._other_assignors():
            changed = replace(self.today, assignor=name)
            yield changed
            if self.lacks_client_rack and self._is_rack_aware(name):
                yield replace(changed, has_client_rack=True)
        if self.lacks_client_rack:
            yield replace(self.today, has_client_rack=True)
        if self._can_read_nearest():
            yield replace(self.today, reads_nearest=True, has_client_rack=self.lacks_client_rack)
        if not all(client.is_static for client in self._clients) and not self.renames_members:
            yield replace(self.today, is_static=True)
            longer_ms = self._deployment_down_ms() + _SESSION_MARGIN_MS
            if longer_ms > self.session_timeout_ms and not self.by_coordinator:
                yield replace(self.today, is_static=True, session_timeout_ms=longer_ms)
        if self.session_timeout_ms > _DEFAULT_SESSION_MS and not self.by_coordinator:
            yield replace(self.today, session_timeout_ms=_DEFAULT_SESSION_MS)

    def _other_assignors(self) -> Iterator[str]:
        """Yield the assignors that the group could have instead, by name."""
        today = self.assignor.info.name.partition("@")[0]
        if self.by_coordinator:
            yield from (name for name in (*_OF_COORDINATOR, COOPERATIVE_STICKY) if name != today)
            return
        yield from (name for name in _CLASSIC if name != today or (name == COOPERATIVE_STICKY and self._is_eager))
        releases = (self.group.kafka or NEWEST, self._scenario.broker_release or NEWEST)
        if min(map(parse_release, releases)) >= FIRST_CONSUMER_RELEASE:
            yield from _OF_COORDINATOR

    @property
    def _is_eager(self) -> bool:
        """Whether members rebalance eagerly today."""
        return isinstance(self.assignor.info.make, OfConsumerGroup) and self.assignor.info.make.is_eager

    def _is_rack_aware(self, name: str) -> bool:
        releases = (self.group.kafka or NEWEST, self._scenario.broker_release or NEWEST)
        return not find_consumer_assignor(name, self.group.group, *releases).ignores("client.rack")

    def _can_read_nearest(self) -> bool:
        """Return whether consumers could read from a replica in their zone, but read from leaders."""
        brokers = {broker.rack for broker in self._scenario.blueprint.brokers}
        is_known = None not in brokers and all(client.rack is not None for client in self._clients)
        return is_known and len(brokers) > 1 and not self._scenario.blueprint.reads_from_nearest_replica

    def _deployment_down_ms(self) -> int:
        """Return how long a member is away in a deployment."""
        own = deployment(self._scenario) or {"rolling_bounce": DEFAULT_DEPLOYMENT}
        [(kind, about)] = own.items()
        if kind == "rolling_bounce":
            return parse_duration_ms(about.get("down", DEFAULT_DEPLOYMENT["down"]))
        return parse_duration_ms(about.get("start_after", _START_AFTER)) + parse_duration_ms(about.get("close", 0))


def _changed(setting: GroupSetting) -> dict[str, Any]:
    """Return the fields that a setting changes."""
    values = {field.name: getattr(setting, field.name) for field in fields(GroupSetting)}
    return {name: value for name, value in values.items() if value != getattr(_UNCHANGED, name)}
