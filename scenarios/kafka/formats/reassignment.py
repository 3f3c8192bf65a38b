"""What `kafka-reassign-partitions.sh` takes and prints: which replicas partitions shall have, as JSON of version 1.

Of what `--generate` prints, which has the current assignment before the proposed one, the proposed one is read. The
`proposals` that Cruise Control answers with as JSON are read, too.

Source: `org.apache.kafka.tools.reassign.ReassignPartitionsCommand` (`parsePartitionReassignmentData`: a missing version
is 1, missing `log_dirs` are any), `com.linkedin.kafka.cruisecontrol.executor.ExecutionProposal` (`getJsonStructure`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from scenarios.kafka.formats.lines import FormatError

ANY_LOG_DIR = "any"
"""What Kafka's tool writes in `log_dirs` for a replica whose directory the broker chooses."""

_COMMAND = "kafka-reassign-partitions.sh"
_EXAMPLE = '{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2]}]}'
_PROPOSED = "Proposed partition reassignment configuration"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
_INT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PartitionReassignment:
    """A partition and the brokers that it shall have, the preferred leader first.

    Attributes:
        line: where it is in the text.
        topic: its name.
        partition: its number.
        replicas: broker ids.
        log_dirs: the log directory of each replica, ANY where the broker chooses; empty if the text has none.
    """

    line: int
    topic: str
    partition: int
    replicas: tuple[int, ...]
    log_dirs: tuple[str, ...] = ()


def parse_reassignment(text: str) -> tuple[PartitionReassignment, ...]:
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
    if "partitions" not in content and isinstance(content.get("proposals"), list):
        proposed = [_of_proposal(entry) for entry in content["proposals"]]
        return tuple(_moves("proposals", proposed, [first_line] * len(proposed)))
    if content.get("version", 1) != 1:
        raise FormatError(first_line, f"version is not 1; {_COMMAND} takes {_EXAMPLE}")
    entries = content.get("partitions")
    if not isinstance(entries, list) or not entries:
        raise FormatError(first_line, f"partitions is not a list with something in it; {_COMMAND} takes {_EXAMPLE}")
    lines = list(entry_lines(text, start))
    if len(lines) < len(entries):
        raise FormatError(first_line, f"partitions is not a list of mappings; {_COMMAND} takes {_EXAMPLE}")
    return tuple(_moves("partitions", entries, lines))


def _of_proposal(entry: Any) -> Any:
    """A proposal of Cruise Control as an entry of a reassignment."""
    key = entry.get("topicPartition") if isinstance(entry, dict) else None
    if not isinstance(key, dict):
        return entry
    return {"topic": key.get("topic"), "partition": key.get("partition"), "replicas": entry.get("newReplicas")}


def entry_lines(text: str, start: int) -> Iterator[int]:
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


def _moves(key: str, entries: list[Any], lines: list[int]) -> Iterator[PartitionReassignment]:
    seen: dict[tuple[str, int], int] = {}
    for i, (entry, line) in enumerate(zip(entries, lines, strict=False)):
        what = f"{key}[{i}]"
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
            raise FormatError(line, f"{what} is {topic}-{partition}, as is {key}[{seen[topic, partition]}]")
        seen[topic, partition] = i
        yield PartitionReassignment(
            line, topic, partition, tuple(replicas), _log_dirs(entry, len(replicas), line, what)
        )


def _log_dirs(entry: dict[str, Any], num_replicas: int, line: int, what: str) -> tuple[str, ...]:
    log_dirs: Any = entry.get("log_dirs", [ANY_LOG_DIR] * num_replicas)
    if not isinstance(log_dirs, list):
        raise FormatError(line, f'{what}.log_dirs is not a list of directories (such as ["any", "/data/1"])')
    if len(log_dirs) != num_replicas:
        raise FormatError(line, f"{what}.log_dirs has {len(log_dirs)} entries for {num_replicas} replicas")
    for i, log_dir in enumerate(log_dirs):
        if not isinstance(log_dir, str) or not (log_dir == ANY_LOG_DIR or _is_absolute(log_dir)):
            raise FormatError(line, f"{what}.log_dirs[{i}]: {log_dir!r} is not an absolute path or '{ANY_LOG_DIR}'")
    return tuple(log_dirs) if any(log_dir != ANY_LOG_DIR for log_dir in log_dirs) else ()


def _is_absolute(path: str) -> bool:
    return PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _INT_MAX
