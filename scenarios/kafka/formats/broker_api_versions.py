"""What `kafka-broker-api-versions.sh` prints: of each broker the id and the rack; the API versions are passed over.

Source: `org.apache.kafka.tools.BrokerApiVersionsCommand`, `org.apache.kafka.common.Node.toString` (4.x adds isFenced).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from scenarios.kafka.formats.lines import FormatError, numbered_lines

_COMMAND = "kafka-broker-api-versions.sh"
_BROKER = re.compile(
    r"(?P<host>\S+):(?P<port>-?\d+) \(id: (?P<id>-?\d{1,10}) rack: (?P<rack>.*?)(?: isFenced: (?:true|false))?\) ->.*"
)


@dataclass(frozen=True, slots=True)
class DescribedBroker:
    """A broker, its `broker.rack` (None if it has none), and the line that says so."""

    id: int
    rack: str | None
    line: int


def parse_broker_api_versions(text: str) -> tuple[DescribedBroker, ...]:
    """Read the brokers, sorted by id.

    Raises:
        FormatError: no line names a broker, or two name the same one.
    """
    brokers: dict[int, DescribedBroker] = {}
    for number, line in numbered_lines(text):
        match = _BROKER.fullmatch(line.strip())
        if match is None:
            if "(id:" in line:
                raise FormatError(number, f"'{line.strip()[:60]}' is not a broker (host:9092 (id: 0 rack: az1) -> …)")
            continue
        broker_id = int(match["id"])
        if broker_id < 0:
            raise FormatError(number, f"{broker_id} is not a broker id; the broker had not been reached")
        if broker_id in brokers:
            raise FormatError(number, f"broker {broker_id} stands here again (first in line {brokers[broker_id].line})")
        rack = match["rack"]
        brokers[broker_id] = DescribedBroker(broker_id, None if rack in ("null", "") else rack, number)
    if not brokers:
        raise FormatError(None, f"no brokers; this should be what {_COMMAND} prints (host:9092 (id: 0 rack: az1) -> …)")
    return tuple(brokers[broker_id] for broker_id in sorted(brokers))
