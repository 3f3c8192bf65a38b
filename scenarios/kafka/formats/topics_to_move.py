"""Input of `kafka-reassign-partitions.sh --topics-to-move-json-file`: topics as JSON, version 1.

Source: `org.apache.kafka.tools.reassign.ReassignPartitionsCommand` (`parseTopicsData`, `parseGenerateAssignmentArgs`):
a missing version is 1, and duplicate topics are rejected.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.reassignment import entry_lines

_OPTION = "--topics-to-move-json-file"
_EXAMPLE = '{"version": 1, "topics": [{"topic": "orders"}]}'


@dataclass(frozen=True, slots=True)
class ListedTopic:
    """A topic to move. `name`: topic name."""

    line: int
    name: str


def parse_topics_to_move(text: str) -> tuple[ListedTopic, ...]:
    """Parse the topics to move.

    Returns the topics, in the order of the text. Raises FormatError if the text is not such JSON, its version is not 1,
    or it has no topics or a duplicate one.
    """
    start = text.find("{")
    if start < 0:
        raise FormatError(None, f"no JSON; {_OPTION} requires {_EXAMPLE}")
    first_line = text.count("\n", 0, start) + 1
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise FormatError(error.lineno, f"invalid JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise FormatError(first_line, f"invalid JSON: {error}") from None
    if not isinstance(content, dict) or content.get("version", 1) != 1:
        raise FormatError(first_line, f"version is not 1; {_OPTION} requires {_EXAMPLE}")
    if "partitions" in content and "topics" not in content:
        raise FormatError(first_line, f"this is a reassignment; pass it with --from. {_OPTION} requires {_EXAMPLE}")
    entries = content.get("topics")
    if not isinstance(entries, list) or not entries:
        raise FormatError(first_line, f"topics is not a non-empty list; {_OPTION} requires {_EXAMPLE}")
    lines = list(entry_lines(text, start))
    return _parse_entries(entries, lines if len(lines) == len(entries) else [first_line] * len(entries))


def _parse_entries(entries: list[Any], lines: list[int]) -> tuple[ListedTopic, ...]:
    index_of: dict[str, int] = {}
    topics = []
    for i, (entry, line) in enumerate(zip(entries, lines, strict=True)):
        name = entry.get("topic") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name or not name.isprintable():
            raise FormatError(line, f'topics[{i}] has no topic name (such as {{"topic": "orders"}})')
        if name in index_of:
            raise FormatError(line, f"topics[{i}]: duplicate topic '{name}' (first in topics[{index_of[name]}])")
        index_of[name] = i
        topics.append(ListedTopic(line, name))
    return tuple(topics)
