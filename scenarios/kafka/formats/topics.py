"""What `kafka-topics.sh --describe` prints: topics, partitions, replicas and leaders.

Old and new releases are read: with `Topic:orders` and `Topic: orders`, with and without TopicId, Elr and running
reassignments, with tabs or with the blanks that copying makes of them. A leader of `none` or `-1` is no leader.
Replicas include those that a reassignment is adding, as they do in the metadata that Kafka Streams sees.

Source: `org.apache.kafka.tools.TopicCommand` (and `kafka.admin.TopicCommand` before it), `printDescription`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from scenarios.kafka.formats.lines import FormatError, numbered_lines, parse_broker_ids

NO_LEADER = -1
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
        line: where its description begins.
        replicas: broker ids by partition.
        leaders: leading broker by partition, NO_LEADER if none.
        configs: what differs from the brokers' defaults.
        moving: partitions of which replicas are being added or removed.
        in_sync: broker ids by partition of the replicas that are in sync; all replicas where the text has no Isr.
    """

    name: str
    line: int
    replicas: tuple[tuple[int, ...], ...]
    leaders: tuple[int, ...]
    configs: Mapping[str, str]
    moving: tuple[int, ...] = ()
    in_sync: tuple[tuple[int, ...], ...] = ()


@dataclass(slots=True)
class _Draft:
    line: int
    count: int | None = None
    configs: Mapping[str, str] = field(default_factory=dict)
    replicas: dict[int, tuple[int, ...]] = field(default_factory=dict)
    leaders: dict[int, int] = field(default_factory=dict)
    in_sync: dict[int, tuple[int, ...]] = field(default_factory=dict)
    moving: list[int] = field(default_factory=list)


def parse_topics(text: str) -> tuple[DescribedTopic, ...]:
    """Read the topics, in the order of the text.

    Raises:
        FormatError: a line is something else, describes a topic or partition again, or a partition is missing.
    """
    drafts: dict[str, _Draft] = {}
    for number, line in numbered_lines(text):
        fields = dict(_fields(line))
        name = fields.get("Topic")
        if not name:
            raise FormatError(number, f"'{line.strip()[:60]}' is not a line that {_COMMAND} prints")
        if "Partition" in fields:
            _add_partition(drafts.setdefault(name, _Draft(number)), number, name, fields)
        elif name in drafts:
            raise FormatError(number, f"topic '{name}' is described again (first in line {drafts[name].line})")
        else:
            drafts[name] = _Draft(number, _count(number, fields), _configs(fields.get("Configs", "")))
    if not drafts:
        raise FormatError(None, f"no topics; this should be what {_COMMAND} prints")
    return tuple(_finish(name, draft) for name, draft in drafts.items())


def _fields(line: str) -> Iterator[tuple[str, str]]:
    """The keys and values of a line; between tabs, a colon belongs to a value from the second one on."""
    if "\t" in line.strip():
        for part in line.strip().split("\t"):
            key, colon, value = part.partition(":")
            if colon:
                yield key.strip(), value.strip()
        return
    found = list(_KEY.finditer(line))
    ends = [match.start() for match in found[1:]] + [len(line)]
    for match, end in zip(found, ends, strict=False):
        yield match[1], line[match.end() : end].strip()


def _count(number: int, fields: Mapping[str, str]) -> int:
    text = fields.get("PartitionCount", "")
    if not re.fullmatch(r"\d{1,9}", text):
        raise FormatError(number, f"PartitionCount: '{text[:60]}' is not a number of partitions")
    return int(text)


def _configs(text: str) -> dict[str, str]:
    """Read `a=b,c=d`; a value may itself have commas."""
    configs: dict[str, str] = {}
    last = None
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if equals:
            last = key.strip()
            configs[last] = value
        elif last is not None:
            configs[last] += f",{part}"
    return configs


def _add_partition(draft: _Draft, number: int, topic: str, fields: Mapping[str, str]) -> None:
    text = fields["Partition"]
    if not re.fullmatch(r"\d{1,9}", text):
        raise FormatError(number, f"Partition: '{text[:60]}' is not the number of a partition")
    partition = int(text)
    if partition in draft.replicas:
        raise FormatError(number, f"partition {partition} of topic '{topic}' is described again")
    replicas = parse_broker_ids(number, "Replicas", fields.get("Replicas", ""))
    if not replicas:
        raise FormatError(number, f"partition {partition} of topic '{topic}' has no Replicas")
    if len(set(replicas)) < len(replicas):
        raise FormatError(number, f"Replicas: broker twice in '{fields['Replicas']}'")
    draft.replicas[partition] = replicas
    draft.leaders[partition] = _leader(number, fields.get("Leader", ""))
    draft.in_sync[partition] = parse_broker_ids(number, "Isr", fields["Isr"]) if "Isr" in fields else replicas
    if fields.get("Adding Replicas") or fields.get("Removing Replicas"):
        draft.moving.append(partition)


def _leader(number: int, text: str) -> int:
    if text in ("none", "-1"):
        return NO_LEADER
    if not re.fullmatch(r"\d{1,10}", text):
        raise FormatError(number, f"Leader: '{text[:60]}' is not a broker id or none")
    return int(text)


def _finish(name: str, draft: _Draft) -> DescribedTopic:
    count = len(draft.replicas) if draft.count is None else draft.count
    missing = [str(partition) for partition in range(count) if partition not in draft.replicas][:5]
    if missing or len(draft.replicas) != count:
        which = (
            f"partition {', '.join(missing)} is missing"
            if missing
            else f"{len(draft.replicas)} partitions are described"
        )
        raise FormatError(draft.line, f"topic '{name}' has {count} partitions, but {which}; describe whole topics")
    return DescribedTopic(
        name,
        draft.line,
        tuple(draft.replicas[partition] for partition in range(count)),
        tuple(draft.leaders[partition] for partition in range(count)),
        draft.configs,
        tuple(sorted(draft.moving)),
        tuple(draft.in_sync[partition] for partition in range(count)),
    )
