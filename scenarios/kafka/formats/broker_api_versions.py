"""Output of `kafka-broker-api-versions.sh`: id, rack and API versions of each broker.

Source: `org.apache.kafka.tools.BrokerApiVersionsCommand`, `org.apache.kafka.common.Node.toString` (4.x adds isFenced).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from scenarios.kafka.formats.broker_releases import infer_release
from scenarios.kafka.formats.lines import FormatError, numbered_lines

_COMMAND = "kafka-broker-api-versions.sh"
_EXAMPLE = "host:9092 (id: 0 rack: az1) -> …"
_BROKER = re.compile(
    r"(?P<host>\S+):(?P<port>-?\d+) \(id: (?P<id>-?\d{1,10}) rack: (?P<rack>.*?)(?: isFenced: (?:true|false))?\) ->.*"
)
_API = re.compile(r"\w+\((?P<key>\d{1,5})\): (?:\d{1,5} to )?(?P<latest>\d{1,5})(?: \[.*|,?)")


@dataclass(frozen=True, slots=True)
class DescribedBroker:
    """A broker of the output.

    Attributes:
        id: Broker id.
        rack: `broker.rack`; None if the broker has no rack.
        release: Release, inferred from its API versions; None if they are incomplete.
    """

    id: int
    rack: str | None
    line: int
    release: str | None = None


def parse_broker_api_versions(text: str) -> tuple[DescribedBroker, ...]:
    """Parse the output of `kafka-broker-api-versions.sh`.

    Returns the brokers, by id. Raises FormatError if no line describes a broker, a line is malformed, or a broker
    appears twice.
    """
    brokers: dict[int, DescribedBroker] = {}
    latest_versions: dict[int, dict[int, int]] = {}
    broker_id = -1
    for number, line in numbered_lines(text):
        match = _BROKER.fullmatch(line.strip())
        if match is None:
            api = _API.fullmatch(line.strip())
            if api is not None and brokers:
                latest_versions[broker_id][int(api["key"])] = int(api["latest"])
            if "(id:" in line:
                raise FormatError(number, f"'{line.strip()[:60]}' is not a broker ({_EXAMPLE})")
            continue
        broker_id = int(match["id"])
        if broker_id < 0:
            raise FormatError(number, f"{broker_id} is not a broker id; the tool did not reach the broker")
        if broker_id in brokers:
            raise FormatError(number, f"duplicate broker {broker_id} (first in line {brokers[broker_id].line})")
        rack = match["rack"]
        latest_versions[broker_id] = {}
        brokers[broker_id] = DescribedBroker(broker_id, None if rack in ("null", "") else rack, number)
    if not brokers:
        raise FormatError(None, f"no brokers; expected the output of {_COMMAND} ({_EXAMPLE})")
    return tuple(replace(brokers[id], release=infer_release(latest_versions[id])) for id in sorted(brokers))
