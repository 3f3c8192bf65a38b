"""A list of brokers by hand: a line each of `id,rack[,capacity[,throughput]]`, with or without such a head.

A field that is empty or missing says nothing. Capacities are sizes as in scenarios (`4 TB`), throughputs rates
(`200 MB/s`); bare numbers are bytes, and bytes per second.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass

from scenarios.kafka.formats.broker_api_versions import parse_broker_api_versions
from scenarios.kafka.formats.lines import FormatError, numbered_lines
from scenarios.language.units import parse_bytes, parse_bytes_per_s

_EXAMPLE = "id,rack,capacity, such as 1,az1,4 TB"
_COLUMNS = ("id", "rack", "capacity", "throughput")
_INT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ListedBroker:
    """A broker and what is said of it; None for what is not."""

    id: int
    rack: str | None = None
    capacity_bytes: int | None = None
    capacity_bytes_per_s: int | None = None


def parse_broker_list(text: str) -> tuple[ListedBroker, ...]:
    """Read a list by hand, or what `kafka-broker-api-versions.sh` prints; the text tells which of them it is.

    Raises:
        FormatError: it is neither, or names a broker twice.
    """
    if "(id:" in text:
        return tuple(ListedBroker(broker.id, broker.rack) for broker in parse_broker_api_versions(text))
    return parse_broker_csv(text)


def parse_broker_csv(text: str) -> tuple[ListedBroker, ...]:
    """Read a list by hand, in the order of the text.

    Raises:
        FormatError: a line is something else, or names a broker again, or there is none.
    """
    brokers: dict[int, ListedBroker] = {}
    lines: dict[int, int] = {}
    for number, line in numbered_lines(text):
        fields = [field.strip() for field in next(csv.reader([line], skipinitialspace=True))]
        if not lines and fields[0].lower() == "id":
            _check_head(number, fields)
            continue
        broker = _broker(number, fields)
        if broker.id in brokers:
            raise FormatError(number, f"broker {broker.id} stands here again (first in line {lines[broker.id]})")
        brokers[broker.id], lines[broker.id] = broker, number
    if not brokers:
        raise FormatError(None, f"no brokers; a line of each is {_EXAMPLE}")
    return tuple(brokers.values())


def parse_broker(text: str) -> ListedBroker:
    """Read a broker from one field, with colons: `7:az1` or `7:az1:4 TB`.

    Raises:
        ValueError: it is something else.
    """
    return _broker(1, [part.strip() for part in text.split(":")])


def _check_head(number: int, fields: list[str]) -> None:
    if tuple(field.lower() for field in fields) != _COLUMNS[: len(fields)]:
        raise FormatError(number, f"the columns are {', '.join(_COLUMNS)}, in this order, the last two if need be")


def _broker(number: int, fields: list[str]) -> ListedBroker:
    if len(fields) > len(_COLUMNS):
        raise FormatError(number, f"{len(fields)} fields, but there are {len(_COLUMNS)} at most: {', '.join(_COLUMNS)}")
    broker, rack, capacity, throughput = fields + [""] * (len(_COLUMNS) - len(fields))
    if not re.fullmatch(r"[0-9]{1,10}", broker) or int(broker) > _INT_MAX:
        raise FormatError(number, f"'{broker[:60]}' is not the id of a broker; a line of each is {_EXAMPLE}")
    if not rack.isprintable():
        raise FormatError(number, f"the rack of broker {broker} is not a name")
    return ListedBroker(
        int(broker),
        rack or None,
        _amount(number, "capacity", capacity, parse_bytes),
        _amount(number, "throughput", throughput, parse_bytes_per_s),
    )


def _amount(number: int, what: str, text: str, parse: Callable[[object], int]) -> int | None:
    if not text:
        return None
    try:
        amount = parse(int(text) if re.fullmatch(r"[0-9]{1,30}", text) else text)
    except ValueError as error:
        raise FormatError(number, f"{what}: {error}") from None
    if amount < 1:
        raise FormatError(number, f"{what}: 0 is none at all; leave it empty if it is not known")
    return amount
