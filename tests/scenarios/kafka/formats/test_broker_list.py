"""Broker lists in CSV, and their distinction from the output of kafka-broker-api-versions.sh."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scenarios.kafka.formats.broker_list import ListedBroker, parse_broker, parse_broker_csv, parse_broker_list
from scenarios.kafka.formats.lines import FormatError

CAPTURED = Path(__file__).parents[4] / "scenarios" / "library" / "captured"


def test_empty_and_missing_fields_are_unknown() -> None:
    text = "id,rack,capacity,throughput\n1,az1,4 TB,200 MB/s\n2,,5000\n\n3,az2\n12\n"
    assert parse_broker_csv(text) == (
        ListedBroker(1, "az1", 4_000_000_000_000, 200_000_000),
        ListedBroker(2, None, 5_000),
        ListedBroker(3, "az2"),
        ListedBroker(12),
    )


def test_header_is_optional_and_order_is_kept() -> None:
    assert [broker.id for broker in parse_broker_csv('7, "zone b, row 2"\n1,az1\n')] == [7, 1]
    assert parse_broker_csv('7, "zone b, row 2"\n')[0].rack == "zone b, row 2"


def test_format_is_detected_by_content() -> None:
    listed = parse_broker_list((CAPTURED / "brokers.txt").read_text())
    assert [(broker.id, broker.rack) for broker in listed] == [
        (1, "az1"), (2, "az2"), (3, "az3"), (4, "az1"), (5, "az2"), (6, "az3"),
    ]  # fmt: skip
    assert parse_broker_list("1,az1\n") == (ListedBroker(1, "az1"),)


def test_single_broker_is_parsed_with_colons() -> None:
    assert parse_broker("7:az1:4 TB") == ListedBroker(7, "az1", 4_000_000_000_000)
    assert parse_broker("7") == ListedBroker(7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("az1:", "'az1' is not a broker id"),
        ("7:az1:much", "capacity: 'much' is not a size"),
        ("7:az1:4 TB:1 MB/s:x", "5 fields, maximum 4"),
    ],
)
def test_malformed_single_broker_is_rejected_without_advice_on_lines(text: str, message: str) -> None:
    with pytest.raises(FormatError, match="^" + re.escape(message)) as raised:
        parse_broker(text)
    assert raised.value.line is None
    assert "line" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "no brokers; write one broker per line as id,rack,capacity"),
        ("id,rack\n", None, "no brokers"),
        ("id,zone\n1,az1\n", 1, "columns must be id, rack, capacity, throughput"),
        ("1,az1\nx,az2\n", 2, "'x' is not a broker id"),
        ("1,az1\n-1,az2\n", 2, "'-1' is not a broker id"),
        ("2147483648,az1\n", 1, "'2147483648' is not a broker id"),
        ("1,az1\n\n1,az2\n", 3, "duplicate broker 1 (first in line 1)"),
        ("1,az1,much\n", 1, "capacity: 'much' is not a size"),
        ("1,az1,0\n", 1, "capacity: must be positive"),
        ("1,az1,4 TB,4 TB\n", 1, "throughput: '4 TB' is not a rate"),
        ("1,az1,4 TB,1 MB/s,x\n", 1, "5 fields, maximum 4"),
        ("1,a\x1bz\n", 1, "rack of broker 1: not printable text"),
    ],
)
def test_malformed_text_is_rejected_with_its_line(text: str, line: int | None, message: str) -> None:
    with pytest.raises(FormatError, match="^" + re.escape(message)) as raised:
        parse_broker_csv(text)
    assert raised.value.line == line
