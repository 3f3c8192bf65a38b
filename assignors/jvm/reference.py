"""References to assignors in Java, as typed on the command line.

```
java:org.example.MyAssignor@build/libs/mine.jar              a class in a jar, built for the newest release of Kafka
java:org.example.MyAssignor@mine.jar:deps/:kafka-streams@4.2.1
                                                             … with other jars or class folders, and a release of Kafka
java:kafka-streams@4.3.1:high_availability                   Kafka's own, by name or class
java:kafka-group-coordinator@4.4.0:sticky                    the assignor of Kafka's brokers for streams groups
```
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final

from assignors.errors import UnknownAssignorError
from assignors.kafka_releases import PATCHES

PREFIX: Final = "java:"

STREAMS: Final = "kafka-streams"
COORDINATOR: Final = "kafka-group-coordinator"
"""Artifacts of Kafka (`org.apache.kafka:…`) with interfaces of assignors."""

NEWEST: Final = {STREAMS: PATCHES[-1], COORDINATOR: PATCHES[-1]}
"""Releases of Kafka for a class in a jar, unless the reference names another one."""

_ARTIFACTS: Final = {STREAMS: STREAMS, COORDINATOR: COORDINATOR, "group-coordinator": COORDINATOR}
_OLDEST: Final = {STREAMS: (3, 8), COORDINATOR: (4, 2)}
_CLASS: Final = re.compile(r"[\w$]+(\.[\w$]+)*")
_RELEASE: Final = re.compile(rf"({'|'.join(_ARTIFACTS)})@([^:@]*)")
_VERSION: Final = re.compile(r"(\d{1,3})\.(\d{1,3})\.\d{1,3}")
_EXPECTED: Final = f"{PREFIX}CLASS@JAR, or {PREFIX}{STREAMS}@VERSION:NAME"


@dataclass(frozen=True, slots=True)
class KafkaArtifact:
    """A jar of a Kafka release.

    Attributes:
        name: artifact, `STREAMS` or `COORDINATOR`.
    """

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True, slots=True)
class JavaReference:
    """A class and where it is.

    Attributes:
        name: class, or for an assignor of Kafka possibly its name in this project.
        paths: jars and class folders of the user, in the order of the class path.
        kafka: release of Kafka; None if the reference names none.
    """

    text: str
    name: str
    paths: tuple[str, ...]
    kafka: KafkaArtifact | None

    @property
    def is_released(self) -> bool:
        """Return whether it is Kafka's own assignor, as released."""
        return not self.paths


class _InvalidReferenceError(UnknownAssignorError):
    def __init__(self, text: str, problem: str) -> None:
        super().__init__(f"cannot load assignor '{text}': {problem}")


def parse_reference(text: str) -> JavaReference:
    """Parse a reference.

    `text` starts with `PREFIX`. Returns the class and where it is; neither is looked up. Raises an UnknownAssignorError
    if the text is not a reference.

    Examples:
        >>> parse_reference("java:kafka-streams@4.3.1:high_availability").kafka
        KafkaArtifact(name='kafka-streams', version='4.3.1')
        >>> parse_reference("java:org.example.Mine@mine.jar").paths
        ('mine.jar',)
    """
    rest = text.removeprefix(PREFIX)
    released = _RELEASE.match(rest)
    if released is not None:
        kafka = _artifact(text, released)
        colon, name = rest[released.end() : released.end() + 1], rest[released.end() + 1 :]
        if colon != ":" or _CLASS.fullmatch(name) is None:
            example = "high_availability" if kafka.name == STREAMS else "sticky"
            raise _InvalidReferenceError(
                text, f"names no assignor of {kafka} (such as {rest[: released.end()]}:{example})"
            )
        return JavaReference(text, name, (), kafka)
    name, at, places = rest.partition("@")
    if _CLASS.fullmatch(name) is None:
        raise _InvalidReferenceError(text, f"'{name}' is not the name of a class (expected: {_EXPECTED})")
    if not at or not places:
        raise _InvalidReferenceError(text, f"names no jar (expected: {_EXPECTED})")
    paths: list[str] = []
    kafka_named: KafkaArtifact | None = None
    for place in places.split(os.pathsep):
        match = _RELEASE.fullmatch(place)
        if match is None:
            if place:
                paths.append(place)
        elif kafka_named is None:
            kafka_named = _artifact(text, match)
        else:
            raise _InvalidReferenceError(text, f"names two releases of Kafka, {kafka_named.version} and {match[2]}")
    if not paths:
        raise _InvalidReferenceError(text, f"names no jar (expected: {_EXPECTED})")
    return JavaReference(text, name, tuple(paths), kafka_named)


def _artifact(text: str, match: re.Match[str]) -> KafkaArtifact:
    name, version = _ARTIFACTS[match[1]], match[2]
    numbers = _VERSION.fullmatch(version)
    if numbers is None:
        raise _InvalidReferenceError(
            text, f"'{version}' is not a release of Kafka (expected three numbers, such as {NEWEST[name]})"
        )
    oldest = _OLDEST[name]
    if (int(numbers[1]), int(numbers[2])) < oldest:
        raise _InvalidReferenceError(text, f"{name} {version} is too old (oldest supported: {oldest[0]}.{oldest[1]})")
    return KafkaArtifact(name, version)
