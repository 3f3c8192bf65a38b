"""What the log of a Kafka client says about the client: its release and its group, and a printed topology.

Source: `org.apache.kafka.common.utils.AppInfoParser` (`Kafka version: 3.9.1`, of every client), `KafkaStreams` (`Kafka
Streams version: 3.9.1`), `LogContext` of consumers (`groupId=shop`). Kafka does not log a topology; many applications
print `Topology.describe()`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from scenarios.kafka.formats.leader_log import find_time_ms
from scenarios.kafka.formats.log_collectors import ProcessLog
from scenarios.kafka.formats.topology import find_topologies

CLIENT_PATTERN: Final = r"stream-(thread|client) \[|\[Consumer [^\]]*groupId="
"""Regular expression that finds a line of a consumer or of Kafka Streams."""

VERSION_PATTERN: Final = r"Kafka (?:Streams )?version ?: "
"""Regular expression that finds the release of a client."""

_VERSION: Final = re.compile(rf"{VERSION_PATTERN}(\d{{1,3}}\.\d{{1,3}}[\w.-]{{0,40}})")
_GROUP: Final = re.compile(r"\[Consumer [^\]]*groupId=([^\],]+)")


@dataclass(frozen=True, slots=True)
class LoggedVersion:
    """The release that a client logs when it starts.

    Attributes:
        version: As logged, such as `3.9.1` or `7.9.0-ccs`.
        at_ms: Time of the line since 1970, read as UTC; None if it has none.
    """

    version: str
    at_ms: int | None


@dataclass(frozen=True, slots=True)
class ClientLog:
    """What a log says about its client.

    Attributes:
        groups: Groups of its consumers.
        version: The last logged release; None without one.
        topologies: Printed topologies, in the order of the log; each with the line numbers of the file.
    """

    groups: frozenset[str]
    version: LoggedVersion | None
    topologies: tuple[str, ...]


def read_client_log(log: ProcessLog) -> ClientLog:
    """Return what a log says about its client."""
    groups: set[str] = set()
    version = None
    for line in log.lines:
        if match := _GROUP.search(line):
            groups.add(match[1])
        if match := _VERSION.search(line):
            version = LoggedVersion(match[1].rstrip("."), find_time_ms(line))
    topologies = ("\n" * (log.numbers[start] - 1) + text for start, text in find_topologies(log.lines))
    return ClientLog(frozenset(groups), version, tuple(topologies))
