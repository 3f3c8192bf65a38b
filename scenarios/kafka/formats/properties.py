"""Java properties files, the configuration format of Kafka's tools and applications.

Frameworks put a prefix before the keys of Kafka Streams.

Source: `java.util.Properties.load`; `KafkaProperties.Streams` of Spring Boot (the `properties` of
`spring.kafka.streams` override its own fields, and both the common `spring.kafka.properties`), the binder of Spring
Cloud Stream, the guide to Kafka Streams of Quarkus (`kafka-streams.` is passed through), the configuration reference of
ksqlDB (`ksql.streams.` is optional).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scenarios.kafka.formats.lines import FormatError
from scenarios.language.client_configs import MISPLACED_CONFIGS, StreamsConfigs
from scenarios.language.fields import config_keys

_KEY_VALUE = re.compile(r"(?P<key>(?:\\.|[^\\=:\s])+)[ \t\f]*(?:[=:][ \t\f]*)?(?P<value>.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> Mapping[str, str]:
    """Parse a properties file; the last value of a repeated key wins.

    Returns the values by key. Raises FormatError if a line has no key; the message never contains a value, which may be
    a password.
    """
    properties: dict[str, str] = {}
    for number, line in _logical_lines(text):
        match = _KEY_VALUE.fullmatch(line)
        if match is None:
            raise FormatError(number, "not a property (key=value)")
        properties[_unescape(match["key"])] = _unescape(match["value"])
    return properties


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines joined with their continuation lines, without comments and blank lines."""
    joined, first = "", 0
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        part = line.lstrip(" \t\f")
        if not joined and (not part or part[0] in "#!"):
            continue
        first = first if joined else number
        continues = (len(part) - len(part.rstrip("\\"))) % 2 == 1
        joined += part[:-1] if continues else part
        if not continues:
            yield first, joined
            joined = ""
    if joined:
        yield first, joined


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_unescape_character, text)


def _unescape_character(match: re.Match[str]) -> str:
    escaped = match[1]
    return chr(int(escaped[1:], 16)) if len(escaped) > 1 else _ESCAPED_CHARACTERS.get(escaped, escaped)


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

_STREAMS_KEYS: Final = config_keys(StreamsConfigs)
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
    own = {key: value for key, value in properties.items() if key in _OF_APPLICATION or key in _STREAMS_KEYS}
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
    return _FIELDS.get(key) or (key if key in _STREAMS_KEYS or key in _OF_APPLICATION else None)
