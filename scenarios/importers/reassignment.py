"""What `kafka-reassign-partitions.sh` takes and prints: which replicas partitions shall have, as JSON of version 1.

Of what `--generate` prints, where the current assignment stands before the proposed one, the proposed one is read.

Source: `org.apache.kafka.tools.reassign.ReassignPartitionsCommand` (`parsePartitionReassignmentData`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scenarios.importers.lines import FormatError

_COMMAND = "kafka-reassign-partitions.sh"
_EXAMPLE = '{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2]}]}'
_PROPOSED = "Proposed partition reassignment configuration"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
_INT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """A partition and the brokers that it shall have, the preferred leader first; `line` is where that stands."""

    line: int
    topic: str
    partition: int
    replicas: tuple[int, ...]


def read_plan(text: str) -> tuple[PlannedMove, ...]:
    """Read the moves, in the order of the text.

    Raises:
        FormatError: there is no such JSON in the text, it is of another version, an entry lacks something or has it in
            another form, or a partition stands twice.
    """
    start = text.find("{", max(text.find(_PROPOSED), 0))
    if start < 0:
        raise FormatError(None, f"no JSON; {_COMMAND} takes {_EXAMPLE}")
    first_line = text.count("\n", 0, start) + 1
    try:
        content, _ = json.JSONDecoder().raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise FormatError(error.lineno, f"not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise FormatError(first_line, f"not JSON: {error}") from None
    if content.get("version") != 1:
        raise FormatError(first_line, f"version is not 1; {_COMMAND} takes {_EXAMPLE}")
    entries = content.get("partitions")
    if not isinstance(entries, list) or not entries:
        raise FormatError(first_line, f"partitions is not a list with something in it; {_COMMAND} takes {_EXAMPLE}")
    lines = list(_lines_of_entries(text, start))
    if len(lines) < len(entries):
        raise FormatError(first_line, f"partitions is not a list of mappings; {_COMMAND} takes {_EXAMPLE}")
    return tuple(_moves(entries, lines))


def _lines_of_entries(text: str, start: int) -> Iterator[int]:
    """The lines in which mappings begin that stand inside of the outermost one."""
    depth, line, seen = 0, text.count("\n", 0, start) + 1, start
    for token in _TOKEN.finditer(text, start):
        line += text.count("\n", seen, token.start())
        seen = token.start()
        if token[0] == "{":
            depth += 1
            if depth == 2:
                yield line
        elif token[0] == "}":
            depth -= 1
            if depth == 0:
                return


def _moves(entries: list[Any], lines: list[int]) -> Iterator[PlannedMove]:
    seen: dict[tuple[str, int], int] = {}
    for i, (entry, line) in enumerate(zip(entries, lines, strict=False)):
        what = f"partitions[{i}]"
        if not isinstance(entry, dict):
            raise FormatError(line, f"{what} is not a mapping; {_COMMAND} takes {_EXAMPLE}")
        topic: Any = entry.get("topic")
        partition: Any = entry.get("partition")
        replicas: Any = entry.get("replicas")
        if not isinstance(topic, str) or not topic.isprintable():
            raise FormatError(line, f"{what}.topic is not a name")
        if not _is_number(partition):
            raise FormatError(line, f"{what}.partition is not the number of a partition")
        if not isinstance(replicas, list) or not replicas or not all(map(_is_number, replicas)):
            raise FormatError(line, f"{what}.replicas is not a list of broker ids (such as [5, 6, 7])")
        if len(set(replicas)) < len(replicas):
            raise FormatError(line, f"{what}.replicas has a broker twice")
        if (topic, partition) in seen:
            raise FormatError(line, f"{what} is {topic}-{partition}, as is partitions[{seen[topic, partition]}]")
        seen[topic, partition] = i
        yield PlannedMove(line, topic, partition, tuple(replicas))


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _INT_MAX
