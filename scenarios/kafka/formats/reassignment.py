"""JSON of `kafka-reassign-partitions.sh` and `kafka-leader-election.sh`: reassignments, topics to move, elections.

The output of `--generate` contains the current and the proposed assignment; the parser reads the proposed one. It also
reads the `proposals` of Cruise Control's JSON responses.

Source: `org.apache.kafka.tools.reassign.ReassignPartitionsCommand` (`parsePartitionReassignmentData` and
`parseTopicsData`: a missing version is 1, missing `log_dirs` are `any`; `parseExecuteAssignmentArgs` and
`parseGenerateAssignmentArgs`: reject empty files, duplicate topics, partitions or brokers, and unknown brokers),
`com.linkedin.kafka.cruisecontrol.executor.ExecutionProposal` (`getJsonStructure`),
`org.apache.kafka.tools.LeaderElectionCommand` (`parseReplicaElectionData`: skips a partition whose preferred leader
already leads it).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.lines import FormatError
from simulator.plurals import counted


def election_json(partitions: Iterable[TopicPartition]) -> str:
    """Return the JSON that elects the preferred leaders of partitions.

    Raises ValueError if there are no partitions; the tool rejects an empty file.
    """
    lines = [json.dumps({"topic": partition.topic, "partition": partition.partition}) for partition in partitions]
    if not lines:
        raise ValueError("no partitions to elect leaders for")
    return '{"partitions": [\n  ' + ",\n  ".join(lines) + "\n]}\n"


ANY_LOG_DIR = "any"
"""Value in `log_dirs` of a replica whose directory the broker chooses."""

_COMMAND = "kafka-reassign-partitions.sh"
_EXAMPLE = '{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2]}]}'
_PROPOSED = "Proposed partition reassignment configuration"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
_INT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PartitionReassignment:
    """The target replicas of one partition.

    Attributes:
        replicas: Broker ids, the preferred leader first.
        log_dirs: Log directory of each replica, ANY_LOG_DIR if the broker chooses; empty if the text has none.
    """

    line: int
    topic: str
    partition: int
    replicas: tuple[int, ...]
    log_dirs: tuple[str, ...] = ()


def parse_reassignment(text: str) -> tuple[PartitionReassignment, ...]:
    """Parse a reassignment.

    Returns the target replicas of each partition, in the order of the text. Raises FormatError if the text contains no
    such JSON, its version is not 1, an entry is malformed, or a partition appears twice.
    """
    start = text.find("{", max(text.find(_PROPOSED), 0))
    if start < 0:
        raise FormatError(None, f"no JSON; {_COMMAND} requires {_EXAMPLE}")
    first_line = text.count("\n", 0, start) + 1
    content = _decode_json(first_line, lambda: json.JSONDecoder().raw_decode(text, start)[0])
    if "partitions" not in content and isinstance(content.get("proposals"), list):
        proposed = [_entry_of_proposal(proposal) for proposal in content["proposals"]]
        return tuple(_parse_entries("proposals", proposed, [first_line] * len(proposed)))
    if content.get("version", 1) != 1:
        raise FormatError(first_line, f"version is not 1; {_COMMAND} requires {_EXAMPLE}")
    entries = content.get("partitions")
    if not isinstance(entries, list) or not entries:
        raise FormatError(first_line, f"partitions is not a non-empty list; {_COMMAND} requires {_EXAMPLE}")
    lines = list(entry_lines(text, start, len(entries)))
    if len(lines) < len(entries):
        raise FormatError(first_line, f"partitions is not a list of mappings; {_COMMAND} requires {_EXAMPLE}")
    return tuple(_parse_entries("partitions", entries, lines))


def _decode_json(first_line: int, decode: Callable[[], Any]) -> Any:
    try:
        return decode()
    except json.JSONDecodeError as error:
        raise FormatError(error.lineno, f"invalid JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise FormatError(first_line, f"invalid JSON: {error}") from None


def reassignment_json(
    partitions: Iterable[tuple[TopicPartition, tuple[int, ...]]],
    log_dirs: Mapping[TopicPartition, tuple[str, ...]] | None = None,
) -> str:
    """Return a reassignment as JSON, one line per partition.

    `partitions`: broker ids by partition, the preferred leader first. `log_dirs`: log directory of each replica; only
    for partitions with at least one known directory. Raises ValueError if there are no partitions; the tool rejects an
    empty file.
    """
    known_dirs = log_dirs or {}
    lines = [json.dumps(_entry(key, replicas, known_dirs.get(key, ()))) for key, replicas in partitions]
    if not lines:
        raise ValueError("no partitions to reassign")
    return '{"version": 1, "partitions": [\n  ' + ",\n  ".join(lines) + "\n]}\n"


def entry_lines(text: str, start: int, count: int) -> Iterator[int]:
    """Yield the line numbers of the mappings one level inside the JSON object that starts at `start`.

    `count`: how many values are there, mappings or not; if there are as many braces, no token needs to be looked at.
    """
    depth, line, position = 0, text.count("\n", 0, start) + 1, start
    if text.count("{", start) == count + 1:
        lines = enumerate(text[start:].split("\n"), line)
        yield from islice((number for number, entries in lines for _ in range(entries.count("{"))), 1, None)
        return
    for token in _TOKEN.finditer(text, start):
        line += text.count("\n", position, token.start())
        position = token.start()
        if token[0] == "{":
            depth += 1
            if depth == 2:
                yield line
        elif token[0] == "}":
            depth -= 1
            if depth == 0:
                return


def _entry(key: TopicPartition, replicas: tuple[int, ...], log_dirs: tuple[str, ...]) -> dict[str, object]:
    entry = {"topic": key.topic, "partition": key.partition, "replicas": list(replicas)}
    return {**entry, "log_dirs": list(log_dirs)} if log_dirs else entry


def _entry_of_proposal(proposal: Any) -> Any:
    """Return a proposal of Cruise Control as an entry of a reassignment; unchanged if it is malformed."""
    key = proposal.get("topicPartition") if isinstance(proposal, dict) else None
    if not isinstance(key, dict):
        return proposal
    return {"topic": key.get("topic"), "partition": key.get("partition"), "replicas": proposal.get("newReplicas")}


def _parse_entries(key: str, entries: list[Any], lines: list[int]) -> Iterator[PartitionReassignment]:
    index_of: dict[tuple[str, int], int] = {}
    for i, (entry, line) in enumerate(zip(entries, lines, strict=False)):
        name = f"{key}[{i}]"
        if not isinstance(entry, dict):
            raise FormatError(line, f"{name} is not a mapping; {_COMMAND} requires {_EXAMPLE}")
        topic: Any = entry.get("topic")
        partition: Any = entry.get("partition")
        replicas: Any = entry.get("replicas")
        if not isinstance(topic, str) or not topic.isprintable():
            raise FormatError(line, f"{name}.topic is not a topic name")
        if not _is_id(partition):
            raise FormatError(line, f"{name}.partition is not a partition number")
        if not isinstance(replicas, list) or not replicas or not all(map(_is_id, replicas)):
            raise FormatError(line, f"{name}.replicas is not a list of broker ids (such as [5, 6, 7])")
        if len(set(replicas)) < len(replicas):
            raise FormatError(line, f"{name}.replicas has a duplicate broker")
        if (topic, partition) in index_of:
            raise FormatError(
                line, f"{name}: duplicate partition {topic}-{partition} (first in {key}[{index_of[topic, partition]}])"
            )
        index_of[topic, partition] = i
        log_dirs = _parse_log_dirs(entry, len(replicas), line, name)
        yield PartitionReassignment(line, topic, partition, tuple(replicas), log_dirs)


def _parse_log_dirs(entry: dict[str, Any], num_replicas: int, line: int, name: str) -> tuple[str, ...]:
    log_dirs: Any = entry.get("log_dirs", [ANY_LOG_DIR] * num_replicas)
    if not isinstance(log_dirs, list):
        raise FormatError(line, f'{name}.log_dirs is not a list of directories (such as ["any", "/data/1"])')
    if len(log_dirs) != num_replicas:
        entries = counted(len(log_dirs), "entry", "entries")
        replicas = counted(num_replicas, "replica")
        raise FormatError(line, f"{name}.log_dirs has {entries} for {replicas}")
    for i, log_dir in enumerate(log_dirs):
        if not isinstance(log_dir, str) or not (log_dir == ANY_LOG_DIR or _is_absolute(log_dir)):
            raise FormatError(line, f"{name}.log_dirs[{i}]: {log_dir!r} is not an absolute path or '{ANY_LOG_DIR}'")
    return tuple(log_dirs) if any(log_dir != ANY_LOG_DIR for log_dir in log_dirs) else ()


def _is_absolute(path: str) -> bool:
    return PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()


def _is_id(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _INT_MAX


_OPTION = "--topics-to-move-json-file"
_TOPICS_EXAMPLE = '{"version": 1, "topics": [{"topic": "orders"}]}'


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
        raise FormatError(None, f"no JSON; {_OPTION} requires {_TOPICS_EXAMPLE}")
    first_line = text.count("\n", 0, start) + 1
    content = _decode_json(first_line, lambda: json.loads(text))
    if not isinstance(content, dict) or content.get("version", 1) != 1:
        raise FormatError(first_line, f"version is not 1; {_OPTION} requires {_TOPICS_EXAMPLE}")
    if "partitions" in content and "topics" not in content:
        raise FormatError(
            first_line, f"this is a reassignment; pass it with --from. {_OPTION} requires {_TOPICS_EXAMPLE}"
        )
    entries = content.get("topics")
    if not isinstance(entries, list) or not entries:
        raise FormatError(first_line, f"topics is not a non-empty list; {_OPTION} requires {_TOPICS_EXAMPLE}")
    lines = list(entry_lines(text, start, len(entries)))
    return _parse_topics(entries, lines if len(lines) == len(entries) else [first_line] * len(entries))


def _parse_topics(entries: list[Any], lines: list[int]) -> tuple[ListedTopic, ...]:
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
