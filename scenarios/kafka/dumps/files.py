"""What lies in a folder of dumps, told by what is in the files, whatever they are called."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Generic, TypeVar

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.broker_list import ListedBroker, parse_broker_list
from scenarios.kafka.formats.consumer_groups import GroupMember, parse_group_members
from scenarios.kafka.formats.leader_log import LoggedRebalance, parse_rebalances
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.log_dirs import parse_partition_sizes
from scenarios.kafka.formats.properties import parse_properties
from scenarios.kafka.formats.streams_groups import StreamsGroupMember, parse_streams_members
from scenarios.kafka.formats.topics import DescribedTopic, parse_topics
from scenarios.kafka.formats.topology import parse_topology
from scenarios.kafka.observation.errors import ObservationError
from scenarios.language.text_files import MAX_IMPORT_BYTES, UnreadableError, read_text

T = TypeVar("T")

TOPICS: Final = "topics"
BROKERS: Final = "brokers"
LOG_DIRS: Final = "log dirs"
MEMBERS: Final = "members of consumer groups"
OFFSETS: Final = "offsets of consumer groups"
STREAMS_MEMBERS: Final = "members of streams groups"
TOPOLOGY: Final = "topology"
LEADER_LOG: Final = "log of the leader"
PROPERTIES: Final = "properties"

_KINDS: Final[Sequence[tuple[str | None, str]]] = (
    (LEADER_LOG, r"activeTasks: \("),
    (LOG_DIRS, r'^\{.*"logDirs"'),
    (TOPOLOGY, r"^[ \t]*Sub-topology: \d"),
    (TOPICS, r"^[ \t]*Topic: ?\S.*(PartitionCount|Partition):"),
    (BROKERS, r"\(id: -?\d+ rack: .*\) ->|\A[ \t]*id[ \t]*,[ \t]*rack\b"),
    (OFFSETS, r"^[ \t]*GROUP .*\bPARTITION\b.*\bCONSUMER-ID\b"),
    (MEMBERS, r"^[ \t]*GROUP .*\bCONSUMER-ID\b"),
    (STREAMS_MEMBERS, r"^[ \t]*GROUP .*\bMEMBER\b.*\bPROCESS\b.*\bASSIGNMENTS\b"),
    # Other logs and scenarios have configs in them, too.
    (None, r"^.{0,40}\d\d:\d\d:\d\d.*\b(INFO|WARN|ERROR|DEBUG)\b|^(cluster|application):[ \t]*$"),
    (PROPERTIES, r"^[ \t]*(application\.id|bootstrap\.servers|num\.standby\.replicas|num\.stream\.threads)[ \t]*[=:]"),
)
"""What of each kind only it has; the first that fits counts, and None is of no use."""


@dataclass(frozen=True, slots=True)
class Dump(Generic[T]):
    """What a file says, and its name."""

    file: str
    content: T


@dataclass(slots=True)
class Dumps:
    """What was found; None and nothing where it was not.

    Attributes:
        topology: the text itself, checked.
        kinds: what each file is that was read.
        passed_over: the files that are something else, sorted.
    """

    topics: Dump[tuple[DescribedTopic, ...]] | None = None
    brokers: Dump[tuple[ListedBroker, ...]] | None = None
    sizes: Dump[Mapping[TopicPartition, int]] | None = None
    members: Dump[tuple[GroupMember, ...]] | None = None
    streams_members: Dump[tuple[StreamsGroupMember, ...]] | None = None
    topology: Dump[str] | None = None
    rebalances: Dump[tuple[LoggedRebalance, ...]] | None = None
    properties: Dump[Mapping[str, str]] | None = None
    kinds: dict[str, str] = field(default_factory=dict)
    passed_over: tuple[str, ...] = ()


def read_dumps(folder: Path) -> Dumps:
    """Read what lies in a folder; folders in it are not looked into.

    Raises:
        ObservationError: it is no folder, a file cannot be read or is broken, or there are two of a kind.
    """
    if not folder.is_dir():
        raise ObservationError(f"'{folder}' is not a folder")
    found = Dumps()
    texts: dict[str, list[Dump[str]]] = {}
    passed_over = []
    for path in sorted(each for each in folder.iterdir() if each.is_file() and not each.name.startswith(".")):
        text = _text(path)
        kind = None if text is None else kind_of(text)
        if text is None or kind is None:
            passed_over.append(path.name)
            continue
        found.kinds[path.name] = kind
        texts.setdefault(kind, []).append(Dump(path.name, text))
    found.passed_over = tuple(passed_over)
    _fill(found, texts)
    return found


def kind_of(text: str) -> str | None:
    """What a text is; None if it is nothing that is known."""
    return next((kind for kind, mark in _KINDS if re.search(mark, text, re.MULTILINE)), None)


def _text(path: Path) -> str | None:
    try:
        return read_text(path, MAX_IMPORT_BYTES, f"longer than {MAX_IMPORT_BYTES:,} bytes")
    except UnreadableError as error:
        if str(error).startswith("not UTF-8"):
            return None
        raise ObservationError(f"{path.name}: {error}") from None


def _fill(found: Dumps, texts: Mapping[str, Sequence[Dump[str]]]) -> None:
    found.topics = _one(texts, TOPICS, parse_topics)
    found.brokers = _one(texts, BROKERS, parse_broker_list)
    found.sizes = _one(texts, LOG_DIRS, parse_partition_sizes)
    found.streams_members = _one(texts, STREAMS_MEMBERS, parse_streams_members)
    found.topology = _one(texts, TOPOLOGY, _checked_topology)
    found.properties = _one(texts, PROPERTIES, parse_properties)
    found.members = _members(texts)
    logs = [_read(dump, parse_rebalances) for dump in texts.get(LEADER_LOG, ())]
    if logs:
        # Whoever leads logs; when the lead changes hands, the log goes on in another file.
        rounds = sorted((each for log in logs for each in log.content), key=lambda each: each.at_ms or 0)
        found.rebalances = Dump(", ".join(log.file for log in logs), tuple(rounds))


def _members(texts: Mapping[str, Sequence[Dump[str]]]) -> Dump[tuple[GroupMember, ...]] | None:
    """Members as they were asked for, or else those that offsets name, which lack members without partitions."""
    has_offsets = OFFSETS in texts
    try:
        members = _one(texts, MEMBERS, parse_group_members)
    except ObservationError:
        if not has_offsets:
            raise
        members = None
    return members or _one(texts, OFFSETS, parse_group_members)


def _one(texts: Mapping[str, Sequence[Dump[str]]], kind: str, read: Callable[[str], T]) -> Dump[T] | None:
    dumps = texts.get(kind, ())
    if len(dumps) > 1:
        names = " and ".join(dump.file for dump in dumps)
        raise ObservationError(f"{names} are both {kind}; leave one of them in the folder")
    return _read(dumps[0], read) if dumps else None


def _read(dump: Dump[str], read: Callable[[str], T]) -> Dump[T]:
    try:
        return Dump(dump.file, read(dump.content))
    except FormatError as error:
        place = dump.file if error.line is None else f"{dump.file}:{error.line}"
        raise ObservationError(f"{place}: {error}") from None


def _checked_topology(text: str) -> str:
    parse_topology(text)
    return text
