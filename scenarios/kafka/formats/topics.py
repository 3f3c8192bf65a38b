"""Output of `kafka-topics.sh --describe` (topics, replicas, leaders) and `kafka-log-dirs.sh --describe` (sizes).

Supported are all releases: `Topic:orders` and `Topic: orders`, with and without TopicId, Elr and ongoing reassignments,
separated by tabs or, in pasted text, by blanks. A leader of `none` or `-1` means no leader. Replicas include those that
a reassignment is adding, as in the metadata that Kafka Streams reads. `kafka-log-dirs.sh` prints two lines of text,
then JSON with the size of every replica, in one line; `jq` prints it over several.

Source: `org.apache.kafka.tools.TopicCommand` (formerly `kafka.admin.TopicCommand`), `printDescription`;
`org.apache.kafka.tools.LogDirsCommand`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from assignors.model.ids import TopicId, TopicPartition
from scenarios.kafka.formats.lines import FormatError, numbered_lines, parse_broker_ids
from simulator.plurals import counted

_LOG_DIRS_COMMAND = "kafka-log-dirs.sh --describe"
_JSON_START = re.compile(r"^[ \t]*\{", re.MULTILINE)


def parse_partition_sizes(text: str) -> Mapping[TopicPartition, int]:
    """Parse the size of each partition, that of its largest replica; replicas still being moved are excluded.

    Returns the size in bytes by partition. Raises FormatError if the text lacks the JSON, or it is malformed.
    """
    return {partition: max(sizes) for partition, sizes in parse_replica_sizes(text).items()}


def parse_replica_sizes(text: str) -> Mapping[TopicPartition, list[int]]:
    """Parse the size of each replica; replicas still being moved (`isFuture`) are excluded.

    Returns the sizes in bytes of its replicas by partition. Raises FormatError if the text lacks the JSON, or it is
    malformed.
    """
    match = _JSON_START.search(text)
    if match is None:
        raise FormatError(
            None, f"no line starts with a brace; expected the output of {_LOG_DIRS_COMMAND}, including its JSON"
        )
    number = text.count("\n", 0, match.end()) + 1
    try:
        content, _ = json.JSONDecoder().raw_decode(text, match.end() - 1)
    except json.JSONDecodeError as error:
        problem = f"invalid JSON: {error.msg} (character {error.colno})"
        raise FormatError(error.lineno, f"{problem}; expected the complete output of {_LOG_DIRS_COMMAND}") from None
    except (ValueError, RecursionError) as error:
        raise FormatError(number, f"invalid JSON: {error}") from None
    sizes: dict[TopicPartition, list[int]] = {}
    try:
        for partition, size in _parse_replicas(content):
            sizes.setdefault(partition, []).append(size)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise FormatError(number, f"not the JSON of {_LOG_DIRS_COMMAND}: {problem}") from None
    return sizes


def log_dirs_json(replicas: Iterable[tuple[int, TopicPartition, int]], log_dir: str) -> str:
    """Return replica sizes in the JSON of `kafka-log-dirs.sh`, with one log directory per broker.

    `replicas`: broker id, partition and size in bytes of each replica.
    """
    replicas_of: dict[int, list[dict[str, object]]] = {}
    for broker, partition, size_bytes in replicas:
        entry = {"partition": str(partition), "size": size_bytes, "offsetLag": 0, "isFuture": False}
        replicas_of.setdefault(broker, []).append(entry)
    brokers = [
        {"broker": broker, "logDirs": [{"logDir": log_dir, "error": None, "partitions": replicas_of[broker]}]}
        for broker in sorted(replicas_of)
    ]
    return json.dumps({"version": 1, "brokers": brokers}) + "\n"


def _parse_replicas(content: Any) -> Iterator[tuple[TopicPartition, int]]:
    for broker in content["brokers"]:
        for log_dir in broker["logDirs"]:
            for replica in log_dir["partitions"]:
                if replica.get("isFuture"):
                    continue
                size_bytes = replica["size"]
                if type(size_bytes) is not int or not 0 <= size_bytes < 2**63:
                    raise ValueError(f"size {size_bytes!r} is not a number of bytes")
                yield TopicPartition.parse(replica["partition"]), size_bytes


NO_LEADER = -1
"""Leader of a partition without one."""

_COMMAND = "kafka-topics.sh --describe"
_KEYS = (
    "Topic", "TopicId", "PartitionCount", "ReplicationFactor", "Configs", "MarkedForDeletion", "Partition", "Leader",
    "Replicas", "Isr", "Adding Replicas", "Removing Replicas", "Elr", "LastKnownElr", "Offline", "Observers",
    "LiveObservers",
)  # fmt: skip
_KEY = re.compile(rf"(?:^|\s)\s*({'|'.join(sorted(_KEYS, key=len, reverse=True))}):")


@dataclass(frozen=True, slots=True)
class DescribedTopic:
    """A topic as the tool describes it.

    Attributes:
        line: Number of the first line of its description; None if it was not read from a text.
        replicas: Broker ids by partition.
        leaders: Leading broker by partition, NO_LEADER if none.
        configs: Configs that differ from the brokers' defaults.
        moving: Partitions with replicas being added or removed.
        in_sync: Broker ids of the in-sync replicas by partition; all replicas if the text has no Isr.
        topic_id: Topic id; None if it is not printed, as before Kafka 2.8.
    """

    name: str
    line: int | None
    replicas: tuple[tuple[int, ...], ...]
    leaders: tuple[int, ...]
    configs: Mapping[str, str]
    moving: tuple[int, ...] = ()
    in_sync: tuple[tuple[int, ...], ...] = ()
    topic_id: TopicId | None = None


@dataclass(slots=True)
class _TopicDraft:
    line: int
    count: int | None = None
    configs: Mapping[str, str] = field(default_factory=dict)
    replicas: dict[int, tuple[int, ...]] = field(default_factory=dict)
    leaders: dict[int, int] = field(default_factory=dict)
    in_sync: dict[int, tuple[int, ...]] = field(default_factory=dict)
    moving: list[int] = field(default_factory=list)
    topic_id: TopicId | None = None


def parse_topics(text: str) -> tuple[DescribedTopic, ...]:
    """Parse the output of `kafka-topics.sh --describe`.

    Returns the topics, in the order of the text. Raises FormatError if a line is not such output, a topic or partition
    appears twice, or a partition is missing.
    """
    drafts: dict[str, _TopicDraft] = {}
    for number, line in numbered_lines(text):
        fields = dict(_split_fields(line))
        name = fields.get("Topic")
        if not name:
            raise FormatError(number, f"'{line.strip()[:60]}' is not a line of {_COMMAND}")
        if "Partition" in fields:
            _add_partition(drafts.setdefault(name, _TopicDraft(number)), number, name, fields)
        elif name in drafts:
            raise FormatError(number, f"duplicate topic '{name}' (first in line {drafts[name].line})")
        else:
            drafts[name] = _TopicDraft(number, _parse_count(number, fields), _parse_configs(fields.get("Configs", "")))
            drafts[name].topic_id = _parse_topic_id(fields.get("TopicId", ""))
    if not drafts:
        raise FormatError(None, f"no topics; expected the output of {_COMMAND}")
    return tuple(_finish(name, draft) for name, draft in drafts.items())


def _split_fields(line: str) -> Iterator[tuple[str, str]]:
    """Yield the keys and values of a line; in a tab-separated field, only the first colon ends the key."""
    if "\t" in line.strip():
        for part in line.strip().split("\t"):
            key, colon, value = part.partition(":")
            if colon:
                yield key.strip(), value.strip()
        return
    matches = list(_KEY.finditer(line))
    ends = [match.start() for match in matches[1:]] + [len(line)]
    for match, end in zip(matches, ends, strict=False):
        yield match[1], line[match.end() : end].strip()


def _parse_count(number: int, fields: Mapping[str, str]) -> int:
    text = fields.get("PartitionCount", "")
    if not re.fullmatch(r"\d{1,9}", text):
        raise FormatError(number, f"PartitionCount: '{text[:60]}' is not a number of partitions")
    return int(text)


def _parse_configs(text: str) -> dict[str, str]:
    """Parse `a=b,c=d`; values may contain commas."""
    configs: dict[str, str] = {}
    last_key = None
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if equals:
            last_key = key.strip()
            configs[last_key] = value
        elif last_key is not None:
            configs[last_key] += f",{part}"
    return configs


def _parse_topic_id(text: str) -> TopicId | None:
    """Return a topic id; None if it is not printed, or in a form that Kafka does not have."""
    try:
        return TopicId.parse(text)
    except ValueError:
        return None


def _add_partition(draft: _TopicDraft, number: int, topic: str, fields: Mapping[str, str]) -> None:
    text = fields["Partition"]
    if not re.fullmatch(r"\d{1,9}", text):
        raise FormatError(number, f"Partition: '{text[:60]}' is not a partition number")
    partition = int(text)
    if partition in draft.replicas:
        raise FormatError(number, f"duplicate partition {partition} of topic '{topic}'")
    replicas = parse_broker_ids(number, "Replicas", fields.get("Replicas", ""))
    if not replicas:
        raise FormatError(number, f"partition {partition} of topic '{topic}' has no Replicas")
    if len(set(replicas)) < len(replicas):
        raise FormatError(number, f"Replicas: duplicate broker in '{fields['Replicas']}'")
    draft.replicas[partition] = replicas
    draft.leaders[partition] = _parse_leader(number, fields.get("Leader", ""))
    in_sync = fields.get("Isr", fields["Replicas"])
    draft.in_sync[partition] = replicas if in_sync == fields["Replicas"] else parse_broker_ids(number, "Isr", in_sync)
    if fields.get("Adding Replicas") or fields.get("Removing Replicas"):
        draft.moving.append(partition)


def _parse_leader(number: int, text: str) -> int:
    if text in ("none", "-1"):
        return NO_LEADER
    if not re.fullmatch(r"\d{1,10}", text):
        raise FormatError(number, f"Leader: '{text[:60]}' is not a broker id or none")
    return int(text)


def _finish(name: str, draft: _TopicDraft) -> DescribedTopic:
    count = len(draft.replicas) if draft.count is None else draft.count
    # The count is what the file says: no more than five are looked for.
    missing = list(islice((str(number) for number in range(count) if number not in draft.replicas), 5))
    if missing or len(draft.replicas) != count:
        problem = (
            f"partition {', '.join(missing)} is missing"
            if missing
            else f"{counted(len(draft.replicas), 'partition is', 'partitions are')} described"
        )
        partitions = counted(count, "partition")
        raise FormatError(draft.line, f"topic '{name}' has {partitions}, but {problem}; describe whole topics")
    return DescribedTopic(
        name,
        draft.line,
        tuple(draft.replicas[partition] for partition in range(count)),
        tuple(draft.leaders[partition] for partition in range(count)),
        draft.configs,
        tuple(sorted(draft.moving)),
        tuple(draft.in_sync[partition] for partition in range(count)),
        topic_id=draft.topic_id,
    )
