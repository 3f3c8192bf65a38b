"""Records as Kafka's tools print them."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import replace

import pytest

from scenarios.kafka.formats.coordinator_records import (
    CoordinatorRecord,
    looks_like_printed_records,
    parse_printed_records,
)
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.incident.classic_records import classic_rebalances
from scenarios.kafka.incident.coordinated_records import streams_rebalances
from scenarios.kafka.observation.observation import ObservationError
from tests.scenarios.kafka.incident.recorded_segments import CLASSIC, STREAMS, printed, records

DUMP, CONSOLE = "shop.dump.txt", "console-consumer.jsonl"


def parse(text: str, group: str) -> list[CoordinatorRecord]:
    return [record for record in parse_printed_records(text) if record.group == group]


def test_dump_of_a_classic_group_has_the_rebalances_of_its_segment() -> None:
    decoded = parse(printed("3.9.2", DUMP), CLASSIC)
    assert classic_rebalances(CLASSIC, decoded) == classic_rebalances(CLASSIC, records("3.9.2", CLASSIC))


def test_output_of_the_console_consumer_has_the_same_without_times_of_records() -> None:
    decoded = classic_rebalances(CLASSIC, parse(printed("3.9.2", CONSOLE), CLASSIC)).rebalances
    expected = classic_rebalances(CLASSIC, records("3.9.2", CLASSIC)).rebalances
    assert [replace(rebalance, at_ms=0, stable_at_ms=None) for rebalance in decoded] == [
        replace(rebalance, at_ms=0, stable_at_ms=None) for rebalance in expected
    ]
    assert all(0 <= after.at_ms - before.at_ms < 1_000 for before, after in zip(decoded, expected, strict=True))


def test_output_of_the_console_consumer_may_be_printed_over_several_lines() -> None:
    text = printed("3.9.2", CONSOLE)
    lines = text.replace("{", "{\n  ").replace('":', '": ')
    assert looks_like_printed_records(lines)
    assert parse(lines, CLASSIC) == parse(text, CLASSIC) != []


def test_dump_of_a_streams_group_has_the_records_of_its_segment() -> None:
    decoded = parse(printed("4.4.0", "kiosk.dump.txt"), STREAMS)
    expected = records("4.4.0", STREAMS)
    assert [(record.type, record.member_id, record.offset, record.at_ms) for record in decoded] == [
        (record.type, record.member_id, record.offset, record.at_ms) for record in expected
    ]
    assert streams_rebalances(STREAMS, decoded, passes_owned_tasks=True) == streams_rebalances(
        STREAMS, expected, passes_owned_tasks=True
    )


def test_outputs_are_recognized_by_their_content() -> None:
    assert looks_like_printed_records(printed("3.9.2", DUMP))
    assert looks_like_printed_records(printed("3.9.2", CONSOLE))
    assert not looks_like_printed_records('{"version":1,"brokers":[]}')
    assert not looks_like_printed_records("2026-11-23 07:52:15 INFO offset: 5 key: none")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{"key":{"version":2,"data":{"group":"a"}},"val', 1, "truncated or not JSON"),
        ('{"key":{"version":2,"data":{}},"value":null}', 1, "a key without a group"),
        ('{"key":{"version":2,"data":{"group":"a"}},"value":{}}', 1, "GroupMetadataValue: no data"),
        ('{"key":{"version":1,"data":{}},"value":null}\n\n{"value":null}', 3, "a record without a key"),
        ('{"key":{"version":1,"data":{}},"value":null}[]', 1, "not an object"),
        ('\n| offset: 1 CreateTime: 2 key: {"type":"2","data":{"group":"a"}} pay', 2, "key without a payload"),
        (
            '{"key":{"version":2,"data":{"group":"a"}},"value":{"data":{"protocolType":3}}}',
            1,
            "protocolType is missing or has another type",
        ),
    ],
)
def test_malformed_output_is_located(text: str, line: int, message: str) -> None:
    with pytest.raises(FormatError) as error:
        list(parse_printed_records(text))
    assert (error.value.line, message in str(error.value)) == (line, True), str(error.value)


def test_deeply_nested_output_is_rejected() -> None:
    with pytest.raises(FormatError, match="nested too deeply"):
        list(parse_printed_records('{"key":{"version":' + "[" * 200_000))


@pytest.mark.parametrize("file", [DUMP, CONSOLE])
def test_damaged_output_is_read_or_rejected(file: str) -> None:
    rng = random.Random(file)
    text = printed("3.9.2", file)
    for _ in range(60):
        start = rng.randrange(len(text))
        damaged = (
            text[:start] + rng.choice(("", "0", '"', "}", "null", "-1", "\x00")) + text[start + rng.randrange(9) :]
        )
        with suppress(FormatError, ObservationError):
            classic_rebalances(CLASSIC, parse(damaged[: rng.choice((len(damaged), start))], CLASSIC))
