"""Settings of a consumer group as changes of Kafka's configs.

Source: `org.apache.kafka.clients.consumer.ConsumerConfig` (which configs a group protocol rejects), KIP-848.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from assignors.consumer_groups import find_consumer_assignor
from assignors.consumers.selection import BROKER_RANGE, UNIFORM
from reports.analysis.recommendation import SettingChange
from scenarios.language.broker_configs import RACK_AWARE_SELECTOR
from scenarios.language.consumer_configs import CLASSIC_ONLY
from scenarios.language.consumer_entries import ConsumerGroupEntry
from scenarios.language.releases import NEWEST
from scenarios.load import AssignorSpec
from simulator.world.world import GroupProtocol

if TYPE_CHECKING:
    from pipeline.checkup.group_settings import GroupSetting

PROTOCOL: Final = "group.protocol"
REMOTE_ASSIGNOR: Final = "group.remote.assignor"
STRATEGY: Final = "partition.assignment.strategy"
SESSION: Final = "session.timeout.ms"

_INSTANCE_NOTE: Final = "a name that an instance keeps when it restarts, such as that of its pod"


class GroupChanges:
    """Describes settings of one consumer group."""

    def __init__(self, group: ConsumerGroupEntry, assignor: AssignorSpec) -> None:
        """Remember the current configs."""
        self._group = group
        self._today = assignor

    def describe(self, setting: GroupSetting) -> str:
        """Return the changes of a setting in one line; `current` without any."""
        parts = []
        if setting.assignor is not None:
            is_new_protocol = self._is_of_coordinator(setting.assignor) and not self._has_coordinator
            parts.append(
                f"{PROTOCOL}=consumer ({config_name(setting.assignor)})"
                if is_new_protocol
                else config_name(setting.assignor)
            )
        parts += ["static membership"] if setting.is_static else []
        parts += [f"{SESSION}={setting.session_timeout_ms}"] if setting.session_timeout_ms is not None else []
        parts += ["client.rack"] if setting.has_client_rack else []
        parts += ["nearest replica"] if setting.reads_nearest else []
        return ", ".join(parts) or "current"

    def of(self, setting: GroupSetting) -> tuple[SettingChange, ...]:
        """Return the configs that a setting changes: those of consumers first, then that of brokers."""
        return tuple(self._changes(setting))

    def _changes(self, setting: GroupSetting) -> Iterator[SettingChange]:
        if setting.assignor is not None:
            yield from self._assignor_changes(setting.assignor)
        if setting.session_timeout_ms is not None:
            yield SettingChange(SESSION, self._stated(SESSION), str(setting.session_timeout_ms))
        if setting.is_static:
            after = "a different name for each consumer"
            yield SettingChange("group.instance.id", None, after, (_INSTANCE_NOTE,), is_property=False)
        if setting.has_client_rack:
            yield SettingChange("client.rack", None, "the zone of each instance", (), is_property=False)
        if setting.reads_nearest:
            notes = ("a config of brokers, which need a restart",)
            yield SettingChange("replica.selector.class", None, RACK_AWARE_SELECTOR, notes, is_property=False)

    def _assignor_changes(self, name: str) -> Iterator[SettingChange]:
        before = self._stated(STRATEGY)
        if not self._is_of_coordinator(name):
            if self._has_coordinator:
                yield SettingChange(PROTOCOL, "consumer", "classic")
            yield SettingChange(STRATEGY, before, self.strategy_class(name), tuple(self._first_restart(name)))
            return
        if not self._has_coordinator:
            yield SettingChange(
                PROTOCOL, self._stated(PROTOCOL), "consumer", ("Kafka 4.0 or newer, on brokers and clients",)
            )
        remote, stated = config_name(name), self._stated(REMOTE_ASSIGNOR)
        if name != UNIFORM or stated is not None:
            yield SettingChange(REMOTE_ASSIGNOR, stated, remote)
        for key in CLASSIC_ONLY:
            if self._stated(key) is not None:
                yield SettingChange(key, self._stated(key), None, ("consumers reject it with this protocol",))

    def _first_restart(self, name: str) -> Iterator[str]:
        """Yield the value of the first of two rolling restarts, if a new assignor needs two."""
        listed = self.strategies_today()
        if listed and name not in listed:
            yield f"in the first restart: {','.join(map(self.strategy_class, [name, *listed]))}"

    def strategy_class(self, name: str) -> str:
        """Return the class of an assignor of the client, as `partition.assignment.strategy` names it."""
        info = find_consumer_assignor(name, self._group.group, self._group.kafka or NEWEST, NEWEST)
        return f"{info.kafka_package}.{info.kafka_class}"

    def strategies_today(self) -> list[str]:
        """Return the names of the assignors that each member lists today; empty under the consumer protocol."""
        if self._has_coordinator:
            return []
        listed, name = self._group.configs.strategies, self._today.info.name.partition("@")[0]
        return list(listed) if listed[0] == name else [name]

    def _stated(self, key: str) -> str | None:
        """Return the value of a config that the scenario states; None if it does not."""
        configs = self._group.configs
        if key == STRATEGY and self._group.assignors is not None and not self._has_coordinator:
            names = self.strategies_today()
            is_stated = "strategies" in configs.model_fields_set or names[0] != configs.strategies[0]
            return ",".join(map(self.strategy_class, names)) if is_stated else None
        field = next(name for name, field in type(configs).model_fields.items() if field.alias == key)
        if field not in configs.model_fields_set:
            return None
        value = getattr(configs, field)
        return ",".join(map(self.strategy_class, value)) if isinstance(value, list) else str(value)

    @property
    def _has_coordinator(self) -> bool:
        return self._today.protocol is GroupProtocol.CONSUMER

    def _is_of_coordinator(self, name: str) -> bool:
        return name in (UNIFORM, BROKER_RANGE)


def config_name(name: str) -> str:
    """Return the name of an assignor as configs have it."""
    return "range" if name == BROKER_RANGE else name
