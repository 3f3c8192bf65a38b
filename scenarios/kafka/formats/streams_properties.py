"""Properties files of Kafka Streams applications, also of frameworks, which put a prefix before Kafka's keys.

Source: `KafkaProperties.Streams` of Spring Boot (the `properties` of `spring.kafka.streams` override its own fields,
and both the common `spring.kafka.properties`), the binder of Spring Cloud Stream, the guide to Kafka Streams of Quarkus
(`kafka-streams.` is passed through), the configuration reference of ksqlDB (`ksql.streams.` is optional).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from scenarios.kafka.formats.properties import parse_properties
from scenarios.language.section import config_keys
from scenarios.language.streams_configs import MISPLACED_CONFIGS, StreamsConfigs

_PREFIXES: Final[Mapping[str, str]] = {
    "spring.kafka.properties": "Spring Boot",
    "spring.kafka.streams": "Spring Boot",
    "spring.kafka.streams.properties": "Spring Boot",
    "spring.cloud.stream.kafka.streams.binder": "Spring Cloud Stream",
    "spring.cloud.stream.kafka.streams.binder.configuration": "Spring Cloud Stream",
    "quarkus.kafka-streams": "Quarkus",
    "kafka-streams": "Quarkus",
    "ksql.streams": "ksqlDB",
}
"""Framework of each prefix; a later prefix overrides an earlier one."""

_FIELDS: Final[Mapping[str, str]] = {
    "application-id": "application.id",
    "applicationId": "application.id",
    "replication-factor": "replication.factor",
    "client-id": "client.id",
    "state-dir": "state.dir",
}
"""Kafka's keys of the fields that frameworks spell in their own way."""

_PROFILE: Final = re.compile(r"%prod\.")
_WITH_FIELDS: Final = ("spring.kafka.streams", "spring.cloud.stream.kafka.streams.binder", "quarkus.kafka-streams")
_OF_APPLICATION: Final = (*_FIELDS.values(), "num.stream.threads", *MISPLACED_CONFIGS)

PREFIX_PATTERN: Final = "|".join(re.escape(prefix) for prefix in sorted(_PREFIXES, key=len, reverse=True))
"""Regular expression of the prefixes, without the separator that follows."""

_KEY: Final = re.compile(rf"({PREFIX_PATTERN})(?:\.|\[(?=.*\]$))(.+?)\]?")


@dataclass(frozen=True, slots=True)
class StreamsProperties:
    """Configs of an application.

    Attributes:
        configs: Values by Kafka's keys.
        prefixes: Prefixes that were removed from the keys, with a dot at the end, each with its framework.
    """

    configs: Mapping[str, str]
    prefixes: Mapping[str, str]

    def remarks(self, file: str) -> tuple[str, ...]:
        """Return a sentence on the prefixes that were removed, if any."""
        if not self.prefixes:
            return ()
        listed = ", ".join(f"{prefix} ({framework})" for prefix, framework in self.prefixes.items())
        return (f"{file}: read without the prefix of its keys: {listed}.",)


def parse_streams_properties(text: str) -> StreamsProperties:
    """Parse a properties file of Kafka or of a framework.

    Returns all properties of a file of Kafka; the configs of the application in a file of a framework. Raises
    FormatError as in `parse_properties`.
    """
    properties = {_PROFILE.sub("", key, count=1): value for key, value in _by_profile(parse_properties(text))}
    found: dict[str, dict[str, str]] = {}
    for key, value in properties.items():
        match = _KEY.fullmatch(key)
        kafka_key = None if match is None else _kafka_key(match[1], match[2])
        if match is not None and kafka_key is not None:
            found.setdefault(match[1], {})[kafka_key] = value
    if not found:
        return StreamsProperties(properties, {})
    own = {key: value for key, value in properties.items() if key in _OF_APPLICATION or key in _streams_keys()}
    used = [prefix for prefix in _PREFIXES if prefix in found]
    for prefix in used:
        own |= found[prefix]
    return StreamsProperties(own, {f"{prefix}.": _PREFIXES[prefix] for prefix in used})


def _by_profile(properties: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the properties with those of Quarkus' profile `prod` last, because they override the others."""
    return sorted(properties.items(), key=lambda item: _PROFILE.match(item[0]) is not None)


def _kafka_key(prefix: str, key: str) -> str | None:
    """Return Kafka's key of a key behind a prefix; None for a property of the framework."""
    if prefix not in _WITH_FIELDS:
        return key
    return _FIELDS.get(key) or (key if key in _streams_keys() or key in _OF_APPLICATION else None)


def _streams_keys() -> frozenset[str]:
    return config_keys(StreamsConfigs)
