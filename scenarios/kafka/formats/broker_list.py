"""Broker lists in CSV, `id,rack[,capacity[,throughput]]`, with or without a header line.

An empty or missing field is unknown. Capacities are sizes as in scenarios (`4 TB`) or bytes; throughputs are rates
(`200 MB/s`) or bytes per second.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scenarios.kafka.formats.broker_api_versions import parse_broker_api_versions
from scenarios.kafka.formats.kminion import BROKER_INFO, parse_kminion_brokers
from scenarios.kafka.formats.lines import FormatError, numbered_lines
from scenarios.language.units import parse_bytes, parse_bytes_per_s

_LINE_HINT = "write one broker per line as id,rack,capacity, such as 1,az1,4 TB"
_COLUMNS = ("id", "rack", "capacity", "throughput")
_INT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ListedBroker:
    """A broker of a list; None for unknown properties.

    Attributes:
        id: Broker id.
        rack: `broker.rack`.
        capacity_bytes: Disk capacity.
        capacity_bytes_per_s: Network throughput.
        release: Kafka release, inferred from API versions; always None in CSV.
    """

    id: int
    rack: str | None = None
    capacity_bytes: int | None = None
    capacity_bytes_per_s: int | None = None
    release: str | None = None


def parse_broker_list(text: str) -> tuple[ListedBroker, ...]:
    """Parse a broker list in CSV, the output of `kafka-broker-api-versions.sh`, or metrics of kminion, by its content.

    Raises FormatError if the text has none of the formats, or lists a broker twice.
    """
    if BROKER_INFO in text:
        return tuple(ListedBroker(broker, rack) for broker, rack in parse_kminion_brokers(text).items())
    if "(id:" in text:
        return tuple(
            ListedBroker(broker.id, broker.rack, release=broker.release) for broker in parse_broker_api_versions(text)
        )
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
