"""Every config of streams groups in released brokers: since which release, with which default, and what it does here.

A broker config is `group.streams.NAME`. Most can be overridden for a group by `streams.NAME`, which
`kafka-configs.sh --entity-type groups` sets; a few exist only for brokers, and `streams.assignor.name` only for groups.

Source: `GroupCoordinatorConfig` and `GroupConfig` in `org.apache.kafka.coordinator.group`, Kafka 4.1.2, 4.2.0, 4.3.1
and 4.4.0; `python -m tools.kafka_group_oracle configs` compares the table with a release.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

BROKER_PREFIX: Final = "group.streams."
GROUP_PREFIX: Final = "streams."

Release = tuple[int, int]
"""Major and minor."""


class Effect(StrEnum):
    """What a config does in a simulation.

    Attributes:
        MODELED: what it does in Kafka.
        WARNING: nothing, although it has an effect in Kafka, or a user may expect one.
        IGNORED: nothing, because it has no effect on what is simulated.
    """

    MODELED = "modeled"
    WARNING = "warning"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class StreamsGroupConfig:
    """A config of streams groups.

    Attributes:
        name: its name without prefix.
        default: Kafka's default, as text; None for no default.
        valid: Kafka's valid values, as text: the type, and the minimum of a number.
        broker_since: the first release with the broker config; None if there is none.
        group_since: the first release with the override for a group; None if there is none.
        effect: what it does in a simulation.
        remark: what is not simulated, and what to set instead; without effect, why.
        is_internal: whether Kafka hides it from its documentation.
    """

    name: str
    default: str | None
    valid: str
    broker_since: Release | None
    group_since: Release | None
    effect: Effect
    remark: str = ""
    is_internal: bool = False

    @property
    def broker_key(self) -> str:
        """The key of the brokers' config."""
        return BROKER_PREFIX + self.name

    @property
    def group_key(self) -> str:
        """The key of the override for a group."""
        return GROUP_PREFIX + self.name

    def first_releases(self) -> Iterator[tuple[str, Release]]:
        """Yield the keys of the config with their first releases."""
        if self.broker_since is not None:
            yield self.broker_key, self.broker_since
        if self.group_since is not None:
            yield self.group_key, self.group_since


_ANY_SIZE: Final = "every member may join, however large the group is"
_LIST_ASSIGNORS: Final = "list the assignors under assignors"
_STATED_ELSEWHERE: Final = "set num.standby.replicas under application.configs, also for streams groups"
_NO_MAXIMUM: Final = "num.standby.replicas of a group has no maximum"
_NO_TAGS: Final = "no effect on tasks in Kafka 4.4 either: its assignor ignores tags"
_NO_THREADS: Final = "the threads of the coordinator are not simulated"
_NO_DESCRIPTIONS: Final = "descriptions of topologies have no effect on assignments"
_NO_WARMUPS: Final = "no effect in Kafka 4.4 either: its coordinator places no warm-up tasks"

STREAMS_GROUP_CONFIGS: Final = (
    StreamsGroupConfig("session.timeout.ms", "45000", "int ≥ 1", (4, 1), (4, 1), Effect.MODELED),
    StreamsGroupConfig("min.session.timeout.ms", "45000", "int ≥ 1", (4, 1), None, Effect.MODELED),
    StreamsGroupConfig("max.session.timeout.ms", "60000", "int ≥ 1", (4, 1), None, Effect.MODELED),
    StreamsGroupConfig("heartbeat.interval.ms", "5000", "int ≥ 1", (4, 1), (4, 1), Effect.MODELED),
    StreamsGroupConfig("min.heartbeat.interval.ms", "5000", "int ≥ 1", (4, 1), None, Effect.MODELED),
    StreamsGroupConfig("max.heartbeat.interval.ms", "15000", "int ≥ 1", (4, 1), None, Effect.MODELED),
    StreamsGroupConfig("initial.rebalance.delay.ms", "3000", "int ≥ 0", (4, 2), (4, 2), Effect.MODELED),
    StreamsGroupConfig("assignment.interval.ms", "1000", "int ≥ 0", (4, 3), (4, 3), Effect.MODELED),
    StreamsGroupConfig("min.assignment.interval.ms", "0", "int ≥ 0", (4, 3), None, Effect.MODELED),
    StreamsGroupConfig("max.assignment.interval.ms", "15000", "int ≥ 0", (4, 3), None, Effect.MODELED),
    StreamsGroupConfig("max.size", "2147483647", "int ≥ 1", (4, 1), None, Effect.WARNING, _ANY_SIZE),
    StreamsGroupConfig("num.standby.replicas", "0", "int ≥ 0", (4, 1), (4, 1), Effect.WARNING, _STATED_ELSEWHERE),
    StreamsGroupConfig("max.standby.replicas", "2", "int ≥ 0", (4, 1), None, Effect.WARNING, _NO_MAXIMUM),
    StreamsGroupConfig("assignors", "sticky", "list", (4, 4), None, Effect.WARNING, _LIST_ASSIGNORS),
    StreamsGroupConfig("assignor.name", None, "string", None, (4, 4), Effect.WARNING, _LIST_ASSIGNORS),
    StreamsGroupConfig("rack.aware.assignment.tags", "", "list", (4, 4), (4, 4), Effect.WARNING, _NO_TAGS),
    StreamsGroupConfig("task.offset.interval.ms", "60000", "int ≥ 1", (4, 4), (4, 4), Effect.MODELED, is_internal=True),
    StreamsGroupConfig(
        "min.task.offset.interval.ms", "15000", "int ≥ 1", (4, 4), None, Effect.MODELED, is_internal=True
    ),
    StreamsGroupConfig(
        "num.warmup.replicas", "2", "int ≥ 0", (4, 4), (4, 4), Effect.WARNING, _NO_WARMUPS, is_internal=True
    ),
    StreamsGroupConfig(
        "max.warmup.replicas", "20", "int ≥ 0", (4, 4), None, Effect.WARNING, _NO_WARMUPS, is_internal=True
    ),
    StreamsGroupConfig(
        "acceptable.recovery.lag", "10000", "long ≥ 0", (4, 4), (4, 4), Effect.WARNING, _NO_WARMUPS, is_internal=True
    ),
    StreamsGroupConfig(
        "assignor.offload.enable", "true", "boolean", (4, 4), (4, 4), Effect.IGNORED, _NO_THREADS, is_internal=True
    ),
    StreamsGroupConfig(
        "topology.description.plugin.class", None, "class", (4, 4), None, Effect.IGNORED, _NO_DESCRIPTIONS
    ),
)
"""All configs; in the order of the documentation."""

_FIRST_RELEASES: Final = {key: since for config in STREAMS_GROUP_CONFIGS for key, since in config.first_releases()}


def is_known(key: str, release: Release) -> bool:
    """Return whether brokers of a release know a key; true for keys that are not in this table."""
    return _FIRST_RELEASES.get(key, release) <= release


def unknown_key_message(key: str, release: Release) -> str | None:
    """Return why a stated release of brokers does not know a key of the table; None if it does, and for other keys."""
    since = _FIRST_RELEASES.get(key)
    if since is None or since <= release:
        return None
    stated, first = (".".join(map(str, number)) for number in (release, since))
    return f"unknown to brokers of Kafka {stated}, which cluster.kafka states (known from Kafka {first} on)"


def streams_group_configs(effect: Effect, prefix: str) -> dict[str, StreamsGroupConfig]:
    """Return the configs with an effect, by key: those of brokers (`BROKER_PREFIX`), or of a group (`GROUP_PREFIX`)."""
    return {
        key: config
        for config in STREAMS_GROUP_CONFIGS
        for key, _ in config.first_releases()
        if config.effect is effect and key.startswith(prefix)
    }
