"""What `kafka-reassign-partitions.sh --topics-to-move-json-file` takes: topics, as JSON of version 1.

Source: `org.apache.kafka.tools.reassign.ReassignPartitionsCommand` (`parseTopicsData`, `parseGenerateAssignmentArgs`):
a missing version is 1, and a topic that is listed twice is refused.
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
    """A topic, and the line that lists it."""

    line: int
    name: str


def parse_topics_to_move(text: str) -> tuple[ListedTopic, ...]:
    """Read the topics, in the order of the text.

    Raises:
        FormatError: the text is not such JSON, has another version or no topics, or lists a topic twice.
    """
    start = text.find("{")
    if start < 0:
        raise FormatError(None, f"no JSON; {_OPTION} takes {_EXAMPLE}")
    first_line = text.count("\n", 0, start) + 1
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise FormatError(error.lineno, f"not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise FormatError(first_line, f"not JSON: {error}") from None
    if not isinstance(content, dict) or content.get("version", 1) != 1:
        raise FormatError(first_line, f"version is not 1; {_OPTION} takes {_EXAMPLE}")
    if "partitions" in content and "topics" not in content:
        raise FormatError(
            first_line, f"a reassignment, not topics to move; --from takes it. {_OPTION} takes {_EXAMPLE}"
        )
    entries = content.get("topics")
    if not isinstance(entries, list) or not entries:
        raise FormatError(first_line, f"topics is not a list with something in it; {_OPTION} takes {_EXAMPLE}")
    lines = list(entry_lines(text, start))
    return _topics(entries, lines if len(lines) == len(entries) else [first_line] * len(entries))


def _topics(entries: list[Any], lines: list[int]) -> tuple[ListedTopic, ...]:
    found: dict[str, tuple[int, ListedTopic]] = {}
    for i, (entry, line) in enumerate(zip(entries, lines, strict=True)):
        name = entry.get("topic") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name or not name.isprintable():
            raise FormatError(line, f'topics[{i}] names no topic (such as {{"topic": "orders"}})')
        if name in found:
            raise FormatError(line, f"topics[{i}] is '{name}', as is topics[{found[name][0]}]")
        found[name] = i, ListedTopic(line, name)
    return tuple(topic for _, topic in found.values())
