"""Compare the table of configs of streams groups with the configs that a released Kafka defines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from scenarios.language.streams_group_configs import STREAMS_GROUP_CONFIGS, StreamsGroupConfig

Json = dict[str, Any]

_LIMITS: Final = {"[1,...]": " ≥ 1", "[0,...]": " ≥ 0"}


def config_differences(kafka_version: str, released: Mapping[str, Json]) -> Iterator[str]:
    """Yield what differs between the table and a release, one sentence per key.

    `released`: type, default, valid values and visibility of each config of the release, by key.
    """
    major, minor = map(int, kafka_version.split(".")[:2])
    known = [(key, since, config) for config in STREAMS_GROUP_CONFIGS for key, since in config.first_releases()]
    table = {key: config for key, since, config in known if since <= (major, minor)}
    for key in sorted({*table, *released}):
        if key not in released:
            yield f"{key}: not in Kafka {kafka_version}"
        elif key not in table:
            yield f"{key}: in Kafka {kafka_version} only"
        else:
            ours, theirs = _described(table[key]), _described_release(released[key])
            if ours != theirs:
                yield f"{key}: {ours} in the table, {theirs} in Kafka {kafka_version}"


def _described(config: StreamsGroupConfig) -> tuple[str, str | None, bool]:
    return config.valid, config.default, config.is_internal


def _described_release(config: Json) -> tuple[str, str | None, bool]:
    return config["type"].lower() + _LIMITS.get(config["valid"], ""), config["default"], config["internal"]
