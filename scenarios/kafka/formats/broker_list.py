"""Brokers with their racks: a list in CSV, the output of `kafka-broker-api-versions.sh`, or metrics of kminion.

A list in CSV is `id,rack[,capacity[,throughput]]`, with or without a header line. An empty or missing field is unknown.
Capacities are sizes as in scenarios (`4 TB`) or bytes; throughputs are rates (`200 MB/s`) or bytes per second.

A broker does not report its release, which is inferred from the API versions that it supports: each release raises the
latest version of some request; patch releases do not.

Source: `org.apache.kafka.tools.BrokerApiVersionsCommand`, `org.apache.kafka.common.Node.toString` (4.x adds isFenced);
`validVersions` of `common/message/*Request.json` in `kafka-clients` 3.9.1, 4.1.1, 4.2.0, 4.3.1 and 4.4.0;
docs/metrics.md of redpanda-data/kminion (`kminion_kafka_broker_info{broker_id="9",rack_id="az1",…} 1`).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from scenarios.kafka.formats.client_metrics import parse_samples
from scenarios.kafka.formats.lines import FormatError, numbered_lines
from scenarios.language.units import parse_bytes, parse_bytes_per_s

_INT_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ListedBroker:
    """A broker of a list; None for unknown properties.

    Attributes:
        capacity_bytes: Disk capacity.
        capacity_bytes_per_s: Network throughput.
        release: Kafka release, inferred from API versions; always None in CSV.
    """

    id: int
    rack: str | None = None
    capacity_bytes: int | None = None
    capacity_bytes_per_s: int | None = None
    release: str | None = None


BROKER_INFO: Final = "kminion_kafka_broker_info"
"""The metric with the properties of a broker as labels."""


def parse_kminion_brokers(text: str) -> dict[int, str | None]:
    """Parse the brokers among the metrics of kminion; other metrics are ignored.

    Returns the rack of each broker by id, in the order of the text; None for a broker without a rack. Raises
    FormatError if a line about a broker is malformed, a broker has two racks, or no broker is found.
    """
    racks: dict[int, str | None] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.lstrip().startswith(BROKER_INFO):
            continue
        try:
            [sample] = parse_samples(line)
        except FormatError as error:
            raise FormatError(number, str(error)) from None
        label, rack = sample.labels.get("broker_id", ""), sample.labels.get("rack_id") or None
        if not label.isascii() or not label.isdecimal() or len(label) > 10 or int(label) > _INT_MAX:
            raise FormatError(number, f"broker_id='{label[:60]}' is not a broker id")
        if rack is not None and not rack.isprintable():
            raise FormatError(number, f"rack of broker {label}: not printable text")
        if racks.setdefault(int(label), rack) != rack:
            raise FormatError(
                number, f"broker {label} has two racks, {racks[int(label)] or 'none'} and {rack or 'none'}"
            )
    if not racks:
        raise FormatError(None, f"no sample of {BROKER_INFO}")
    return racks


NEWER: Final = "4.4 or later"
"""A release newer than the newest one that can be inferred."""

OLDER: Final = "3.8 or earlier"
"""A release older than the oldest one that can be inferred."""

_PRODUCE: Final = 0
_FETCH: Final = 1
_LIST_OFFSETS: Final = 2
_API_VERSIONS: Final = 18
_DESCRIBE_LOG_DIRS: Final = 35

_FIRST_RELEASE_WITH: Final = (
    (NEWER, _API_VERSIONS, 5),
    ("4.3", _DESCRIBE_LOG_DIRS, 5),
    ("4.2", _LIST_OFFSETS, 11),
    ("4.1", _PRODUCE, 13),
    ("4.0", _LIST_OFFSETS, 10),
    ("3.9", _FETCH, 17),
)
"""The first release that supports a version of a request, newest first."""


def infer_release(latest_versions: Mapping[int, int]) -> str | None:
    """Return the release of a broker, such as `4.3`, `NEWER` or `OLDER`.

    `latest_versions`: the latest supported version of each request, by API key. The result is None if a request is
    missing, as in truncated output.
    """
    if not {key for _, key, _ in _FIRST_RELEASE_WITH} <= set(latest_versions):
        return None
    releases = (release for release, key, version in _FIRST_RELEASE_WITH if latest_versions[key] >= version)
    return next(releases, OLDER)


_COMMAND = "kafka-broker-api-versions.sh"
_EXAMPLE = "host:9092 (id: 0 rack: az1) -> …"
_BROKER = re.compile(
    r"(?P<host>\S+):(?P<port>-?\d+) \(id: (?P<id>-?\d{1,10}) rack: (?P<rack>.*?)(?: isFenced: (?:true|false))?\) ->.*"
)
_API = re.compile(r"\w+\((?P<key>\d{1,5})\): (?:\d{1,5} to )?(?P<latest>\d{1,5})(?: \[.*|,?)")


def parse_broker_api_versions(text: str) -> tuple[ListedBroker, ...]:
    """Parse the output of `kafka-broker-api-versions.sh`.

    Returns the brokers, by id. Raises FormatError if no line describes a broker, a line is malformed, or a broker
    appears twice.
    """
    racks: dict[int, str | None] = {}
    line_of: dict[int, int] = {}
    latest_versions: dict[int, dict[int, int]] = {}
    broker_id = -1
    for number, line in numbered_lines(text):
        match = _BROKER.fullmatch(line.strip())
        if match is None:
            api = _API.fullmatch(line.strip())
            if api is not None and line_of:
                latest_versions[broker_id][int(api["key"])] = int(api["latest"])
            if "(id:" in line:
                raise FormatError(number, f"'{line.strip()[:60]}' is not a broker ({_EXAMPLE})")
            continue
        broker_id = int(match["id"])
        if broker_id < 0:
            raise FormatError(number, f"{broker_id} is not a broker id; the tool did not reach the broker")
        if broker_id in line_of:
            raise FormatError(number, f"duplicate broker {broker_id} (first in line {line_of[broker_id]})")
        line_of[broker_id], latest_versions[broker_id] = number, {}
        racks[broker_id] = None if match["rack"] in ("null", "") else match["rack"]
    if not line_of:
        raise FormatError(None, f"no brokers; expected the output of {_COMMAND} ({_EXAMPLE})")
    return tuple(ListedBroker(id, racks[id], release=infer_release(latest_versions[id])) for id in sorted(racks))


_LINE_HINT = "write one broker per line as id,rack,capacity, such as 1,az1,4 TB"
_COLUMNS = ("id", "rack", "capacity", "throughput")


def parse_broker_list(text: str) -> tuple[ListedBroker, ...]:
    """Parse a broker list in CSV, the output of `kafka-broker-api-versions.sh`, or metrics of kminion, by its content.

    Raises FormatError if the text has none of the formats, or lists a broker twice.
    """
    if BROKER_INFO in text:
        return tuple(ListedBroker(broker, rack) for broker, rack in parse_kminion_brokers(text).items())
    if "(id:" in text:
        return parse_broker_api_versions(text)
    return parse_broker_csv(text)


def parse_broker_csv(text: str) -> tuple[ListedBroker, ...]:
    """Parse a broker list in CSV.

    Returns the brokers, in the order of the text. Raises FormatError if a line is malformed or repeats a broker, or no
    broker is listed.
    """
    brokers: dict[int, ListedBroker] = {}
    line_of: dict[int, int] = {}
    for number, line in numbered_lines(text):
        fields = _split_fields(number, line)
        if not line_of and fields[0].lower() == "id":
            _check_header(number, fields)
            continue
        broker = _parse_fields(number, fields)
        if broker.id in brokers:
            raise FormatError(number, f"duplicate broker {broker.id} (first in line {line_of[broker.id]})")
        brokers[broker.id], line_of[broker.id] = broker, number
    if not brokers:
        raise FormatError(None, f"no brokers; {_LINE_HINT}")
    return tuple(brokers.values())


def parse_broker(text: str) -> ListedBroker:
    """Parse one broker with colons between its fields: `7:az1` or `7:az1:4 TB`.

    Raises FormatError if the text is malformed (a `ValueError`).
    """
    return _parse_fields(None, [part.strip() for part in text.split(":")])


def broker_csv(brokers: Iterable[ListedBroker]) -> str:
    """Return a broker list in CSV, with a header line."""
    rows = [",".join(_COLUMNS)]
    for broker in brokers:
        fields = (broker.id, broker.rack, broker.capacity_bytes, broker.capacity_bytes_per_s)
        rows.append(",".join("" if field is None else str(field) for field in fields))
    return "\n".join(rows) + "\n"


def _split_fields(number: int, line: str) -> list[str]:
    try:
        return [field.strip() for field in next(csv.reader([line], skipinitialspace=True))]
    except csv.Error as error:
        raise FormatError(number, f"not a line of CSV: {error}") from None


def _check_header(number: int, fields: list[str]) -> None:
    if tuple(field.lower() for field in fields) != _COLUMNS[: len(fields)]:
        raise FormatError(number, f"columns must be {', '.join(_COLUMNS)}, in this order (the last two are optional)")


def _parse_fields(number: int | None, fields: list[str]) -> ListedBroker:
    """Return the broker of a line; `number` is None for a broker that is not in a list.

    Raises FormatError if a field is malformed.
    """
    if len(fields) > len(_COLUMNS):
        raise FormatError(number, f"{len(fields)} fields, maximum {len(_COLUMNS)}: {', '.join(_COLUMNS)}")
    broker, rack, capacity, throughput = fields + [""] * (len(_COLUMNS) - len(fields))
    if not re.fullmatch(r"[0-9]{1,10}", broker) or int(broker) > _INT_MAX:
        hint = "" if number is None else f"; {_LINE_HINT}"
        raise FormatError(number, f"'{broker[:60]}' is not a broker id{hint}")
    if not rack.isprintable():
        raise FormatError(number, f"rack of broker {broker}: not printable text")
    return ListedBroker(
        int(broker),
        rack or None,
        _parse_amount(number, "capacity", capacity, parse_bytes),
        _parse_amount(number, "throughput", throughput, parse_bytes_per_s),
    )


def _parse_amount(number: int | None, column: str, text: str, parse: Callable[[object], int]) -> int | None:
    if not text:
        return None
    try:
        amount = parse(int(text) if re.fullmatch(r"[0-9]{1,30}", text) else text)
    except ValueError as error:
        raise FormatError(number, f"{column}: {error}") from None
    if amount < 1:
        raise FormatError(number, f"{column}: must be positive; leave it empty if unknown")
    return amount
