"""Output of `kafka-topics.sh --describe`: topics, partitions, replicas and leaders.

Supported are all releases: `Topic:orders` and `Topic: orders`, with and without TopicId, Elr and ongoing reassignments,
separated by tabs or, in pasted text, by blanks. A leader of `none` or `-1` means no leader. Replicas include those that
a reassignment is adding, as in the metadata that Kafka Streams reads.

Source: `org.apache.kafka.tools.TopicCommand` (formerly `kafka.admin.TopicCommand`), `printDescription`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from assignors.model.ids import TopicId
from scenarios.kafka.formats.lines import FormatError, numbered_lines, parse_broker_ids
from simulator.plurals import counted

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
        name: Topic name.
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
    draft.in_sync[partition] = parse_broker_ids(number, "Isr", fields["Isr"]) if "Isr" in fields else replicas
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
