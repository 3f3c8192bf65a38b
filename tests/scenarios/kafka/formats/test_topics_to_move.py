"""Input of kafka-reassign-partitions.sh --generate."""

from __future__ import annotations

import re

import pytest

from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.reassignment import ListedTopic, parse_topics_to_move


def test_topics_are_read_with_their_lines() -> None:
    text = '{"topics": [\n  {"topic": "orders"},\n  {"topic": "pay", "partitions": [1]}\n], "version": 1}\n'
    assert parse_topics_to_move(text) == (ListedTopic(2, "orders"), ListedTopic(3, "pay"))


def test_missing_version_is_1() -> None:
    assert parse_topics_to_move('{"topics": [{"topic": "a"}]}') == (ListedTopic(1, "a"),)


def test_nested_mappings_under_other_keys_are_ignored() -> None:
    text = '{"note": {"by": "me"},\n"topics": [\n{"topic": "a"}]}'
    assert [topic.name for topic in parse_topics_to_move(text)] == ["a"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "no JSON; --topics-to-move-json-file requires {"),
        ("orders\npay\n", None, "no JSON"),
        ('[{"topic": "a"}]', 1, "version is not 1"),
        ('{"version": 1,\n"topics": [,]}', 2, "invalid JSON: Expecting value"),
        ('{"topics": [{"topic": "a"}]} {}', 1, "invalid JSON: Extra data"),
        ('\n{"version": 2, "topics": [{"topic": "a"}]}', 2, "version is not 1"),
        ('{"version": 1}', 1, "topics is not a non-empty list"),
        ('{"version": 1, "topics": []}', 1, "topics is not a non-empty list"),
        ('{"version": 1, "topics": {"topic": "a"}}', 1, "topics is not a non-empty list"),
        ('{"version": 1, "partitions": [{}]}', 1, "this is a reassignment; pass it with --from."),
        ('{"topics": ["a"]}', 1, "topics[0] has no topic name"),
        ('{"topics": [\n{"topic": "a"},\n{"name": "b"}]}', 3, "topics[1] has no topic name"),
        ('{"topics": [{"topic": ""}]}', 1, "topics[0] has no topic name"),
        ('{"topics": [{"topic": 1}]}', 1, "topics[0] has no topic name"),
        (
            '{"topics": [\n{"topic": "a"},\n{"topic": "b"},\n{"topic": "a"}]}',
            4,
            "topics[2]: duplicate topic 'a' (first in topics[0])",
        ),
    ],
)
def test_malformed_json_is_rejected_with_its_line(text: str, line: int | None, message: str) -> None:
    with pytest.raises(FormatError, match="^" + re.escape(message)) as raised:
        parse_topics_to_move(text)
    assert raised.value.line == line
