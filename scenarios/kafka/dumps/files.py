"""Files of a folder of dumps, of detected formats, and what they say about the cluster and the clients."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Generic, TypeVar

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.broker_list import ListedBroker, parse_broker_list
from scenarios.kafka.formats.groups import (
    GroupMember,
    GroupState,
    StreamsGroupMember,
    UnlistedAssignmentsError,
    parse_group_members,
    parse_group_states,
    parse_streams_members,
)
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.logs import (
    CLIENT_PATTERN,
    MESSAGE_KEYS,
    VERSION_PATTERN,
    ClientLog,
    LoggedRebalance,
    ProcessLog,
    move_heads,
    parse_rebalances,
    read_client_log,
    split_log,
)
from scenarios.kafka.formats.properties import PREFIX_PATTERN, parse_streams_properties
from scenarios.kafka.formats.topics import DescribedTopic, parse_partition_sizes, parse_topics
from scenarios.kafka.formats.topology import parse_topology
from scenarios.kafka.observation.observation import ObservationError, ObservedBroker, ObservedTopic
from scenarios.kafka.observation.releases import LoggedRelease
from scenarios.language.errors import format_list
from scenarios.language.text_files import MAX_IMPORT_BYTES, UnreadableError, read_text
from simulator.results.files import open_regular

T = TypeVar("T")
M = TypeVar("M", GroupMember, StreamsGroupMember)

TOPICS: Final = "topics"
BROKERS: Final = "brokers"
LOG_DIRS: Final = "log dirs"
MEMBERS: Final = "consumer group members"
OFFSETS: Final = "consumer group offsets"
GROUP_STATES: Final = "consumer group states"
STREAMS_MEMBERS: Final = "streams group members"
TOPOLOGY: Final = "topology"
LEADER_LOG: Final = "leader log"
CLIENT_LOG: Final = "client log"
PROPERTIES: Final = "properties"

LOGS: Final = (LEADER_LOG, CLIENT_LOG)
"""Kinds of logs."""

_KIND_PATTERNS: Final[Sequence[tuple[str | None, *tuple[str, ...]]]] = (
    (LEADER_LOG, r"activeTasks: \("),
    (LOG_DIRS, r'"logDirs"[ \t]*:'),
    (LOG_DIRS, r'"brokers"\s*:\s*\[\s*\]', r'^\{[^{}]*"brokers"'),
    (CLIENT_LOG, rf"{VERSION_PATTERN}\d", CLIENT_PATTERN),
    (CLIENT_LOG, r"Sub-topology: \d", r"^.{0,120}\d\d:\d\d:\d\d.*\b(INFO|WARN|ERROR|DEBUG)\b"),
    (CLIENT_LOG, r"Sub-topology: \d", rf'^.{{0,120}}\{{.*"({"|".join(MESSAGE_KEYS)})"\s*:\s*".*Sub-topology: \d'),
    (TOPOLOGY, r"^[ \t]*Sub-topology: \d"),
    (TOPICS, r"^[ \t]*Topic: ?\S.*(PartitionCount|Partition):"),
    (BROKERS, r"\(id: -?\d+ rack: .*\) ->|\A[ \t]*id[ \t]*,[ \t]*rack\b|^kminion_kafka_broker_info\{"),
    (GROUP_STATES, r"^[ \t]*GROUP .*\bASSIGNMENT-STRATEGY\b.*\bSTATE\b"),
    (OFFSETS, r"^[ \t]*GROUP .*\bPARTITION\b.*\bCONSUMER-ID\b"),
    (MEMBERS, r"^[ \t]*GROUP .*\bCONSUMER-ID\b"),
    (STREAMS_MEMBERS, r"^[ \t]*GROUP .*\bMEMBER\b.*\bPROCESS\b.*\bASSIGNMENTS\b"),
    # Other logs and scenarios contain configs as well.
    (None, r"^.{0,40}\d\d:\d\d:\d\d.*\b(INFO|WARN|ERROR|DEBUG)\b|^(cluster|application):[ \t]*$"),
    (
        PROPERTIES,
        r"^[ \t]*((application\.id|bootstrap\.servers|num\.standby\.replicas|num\.stream\.threads)[ \t]*[=:]"
        rf"|(%prod\.)?({PREFIX_PATTERN})[.\[].*[=:])",
    ),
)
"""Patterns that all match a kind of file, the fastest first; the first kind wins, None is an unused kind."""

_NAMES: Final[Sequence[tuple[str, str]]] = (
    (LOG_DIRS, r"log[-_]?dirs"),
    (STREAMS_MEMBERS, r"streams[-_]?groups?"),
    (GROUP_STATES, r"group[-_]?states?"),
    (OFFSETS, r"group[-_]?offsets"),
    (MEMBERS, r"consumer[-_]?groups?|members"),
    (BROKERS, r"brokers|api[-_]?versions"),
    (TOPICS, r"topics"),
    (TOPOLOGY, r"topology"),
)
"""Names of files that say what they are."""

_BEGINNINGS: Final[Sequence[tuple[str, str]]] = (
    (LOG_DIRS, r'^Querying brokers for log directories|\A\s*\{[^{}]*"brokers"\s*:\s*\[\s*\{\s*"broker"\s*:'),
    (TOPICS, r"\A\s*Topic: ?\S+\s+TopicId:|^Error while executing topic command"),
    (BROKERS, r"\A\s*\S+:\d+ \(id: -?\d"),
    (TOPOLOGY, r"\A\s*Topolog(y|ies):?[ \t]*$"),
    (
        STREAMS_MEMBERS,
        r"^(Error: )?(Executing streams group command failed|Streams group '.*' (has no|does not exist))",
    ),
    (MEMBERS, r"^(Error: )?(Executing consumer group command failed|Consumer group '.*' (has no|does not exist))"),
    (MEMBERS, r"\A\s*GROUP[ \t]+(TOPIC|CONSUMER)\b"),
)
"""Beginnings of files that say what they are: of damaged output, and of errors of the tools."""

_UNUSED: Final = r"^[ \t]*GROUP .*\b(OFFSET-LAG|COORDINATOR)\b"
"""Output of kafka-streams-groups.sh that is complete, but of no use."""

_TEXT_SUFFIXES: Final = r"(\.sh(?=\.))?(\.(txt|out|log|json|csv))*"

_PACKED: Final = ".gz"
"""Suffix of rotated logs; other dumps are not compressed."""


@dataclass(frozen=True, slots=True)
class Dump(Generic[T]):
    """The content of a file."""

    file: str
    content: T


@dataclass(slots=True)
class Dumps:
    """The files of a folder; None for a kind that is missing.

    Attributes:
        topics: Output of kafka-topics.sh.
        brokers: Output of kafka-broker-api-versions.sh, a broker list, or metrics of kminion.
        sizes: Partition sizes from kafka-log-dirs.sh.
        members: Output of kafka-consumer-groups.sh.
        states: Output of kafka-consumer-groups.sh --state.
        streams_members: Output of kafka-streams-groups.sh.
        topology: Output of Topology.describe(), as text that has been checked.
        rebalances: Rebalances of the leader logs.
        client_logs: What each log says about its client.
        properties: Properties of the application.
        remarks: Sentences on how files were read.
        kinds: Kind of each file that was read.
        ignored: Names of the other files, sorted.
    """

    topics: Dump[tuple[DescribedTopic, ...]] | None = None
    brokers: Dump[tuple[ListedBroker, ...]] | None = None
    sizes: Dump[Mapping[TopicPartition, int]] | None = None
    members: Dump[tuple[GroupMember, ...]] | None = None
    states: Dump[tuple[GroupState, ...]] | None = None
    streams_members: Dump[tuple[StreamsGroupMember, ...]] | None = None
    topology: Dump[str] | None = None
    rebalances: Dump[tuple[LoggedRebalance, ...]] | None = None
    client_logs: tuple[Dump[ClientLog], ...] = ()
    properties: Dump[Mapping[str, str]] | None = None
    remarks: tuple[str, ...] = ()
    kinds: dict[str, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()


def read_dumps(folder: Path, skip: Collection[str] = ()) -> Dumps:
    """Read the dumps of a folder, without its subfolders.

    `skip`: names of files in it that are not read. Returns the parsed files. Raises ObservationError if the folder does
    not exist, a file cannot be read or is malformed, or a kind has two files.
    """
    if not folder.is_dir():
        raise ObservationError(f"'{folder}' is not a folder")
    dumps = Dumps()
    texts: dict[str, list[Dump[str]]] = {}
    ignored = []
    for path in sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")):
        if path.name in skip:
            continue
        text = _read_file(path)
        kind = None if text is None else detect_kind(text)
        if path.suffix == _PACKED and kind not in LOGS:
            kind = None
        elif text is not None and kind is None:
            kind = _stated_kind(path.name, text)
        if text is None or kind is None:
            ignored.append(path.name)
            continue
        dumps.kinds[path.name] = kind
        texts.setdefault(kind, []).append(Dump(path.name, text))
    dumps.ignored = tuple(ignored)
    _parse_all(dumps, texts)
    return dumps


def detect_kind(text: str) -> str | None:
    """Return the kind of a text; None if it is not a supported dump."""
    return next(
        (
            kind
            for kind, *patterns in _KIND_PATTERNS
            if all(re.search(pattern, text, re.MULTILINE) for pattern in patterns)
        ),
        None,
    )


def _stated_kind(name: str, text: str) -> str | None:
    """Return the kind that the name or the beginning of an unsupported text states; None for files of others.

    The parser of that kind says what is wrong with it.
    """
    if re.search(_UNUSED, text, re.MULTILINE):
        return None
    beginnings = (kind for kind, pattern in _BEGINNINGS if re.search(pattern, text, re.MULTILINE))
    return next(beginnings, None) or _kind_of_name(name)


def _kind_of_name(name: str) -> str | None:
    names = (kind for kind, pattern in _NAMES if re.fullmatch(rf"(.*[-_])?({pattern}){_TEXT_SUFFIXES}", name.lower()))
    return next(names, None)


def no_member_message(dump: Dump[tuple[M, ...]], group: str) -> str:
    """Return the error message for a list of members that has none of a group."""
    groups = ", ".join(sorted({member.group for member in dump.content})) or "none"
    return f"{dump.file} has no member of '{group}' (groups: {groups})"


def _read_file(path: Path) -> str | None:
    """Return the content of a file; None if it is not UTF-8 text, and its name does not state that it should be.

    Raises ObservationError if the file cannot be read.
    """
    if path.suffix == _PACKED:
        return _read_packed(path)
    try:
        return read_text(path, MAX_IMPORT_BYTES, f"longer than {MAX_IMPORT_BYTES:,} bytes")
    except UnreadableError as error:
        if str(error).startswith("not UTF-8") and _kind_of_name(path.name) is None and not _is_utf_16(path):
            return None
        raise ObservationError(f"{error.place(path.name)}: {error}") from None


def _is_utf_16(path: Path) -> bool:
    """Return whether a file is text as PowerShell writes it."""
    with open_regular(path) as file:
        return file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _read_packed(path: Path) -> str | None:
    """Return the content of a gzip file; None if it is not UTF-8 text.

    Raises ObservationError if the content is damaged or too large.
    """
    try:
        with open_regular(path) as packed, gzip.GzipFile(fileobj=packed) as file:
            content = file.read(MAX_IMPORT_BYTES + 1)
        if len(content) > MAX_IMPORT_BYTES:
            raise ObservationError(f"{path.name}: longer than {MAX_IMPORT_BYTES:,} bytes")
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    except (OSError, EOFError, zlib.error) as error:
        raise ObservationError(f"{path.name}: damaged gzip file: {error}; copy it again or remove it") from None


def _parse_all(dumps: Dumps, texts: Mapping[str, Sequence[Dump[str]]]) -> None:
    dumps.topics = _parse_single(texts, TOPICS, parse_topics)
    dumps.brokers = _parse_single(texts, BROKERS, parse_broker_list)
    dumps.sizes = _parse_single(texts, LOG_DIRS, parse_partition_sizes)
    dumps.states = _parse_single(texts, GROUP_STATES, parse_group_states)
    dumps.streams_members = _parse_single(texts, STREAMS_MEMBERS, parse_streams_members)
    dumps.topology = _parse_single(texts, TOPOLOGY, _check_topology)
    properties = _parse_single(texts, PROPERTIES, parse_streams_properties)
    if properties is not None:
        dumps.properties = Dump(properties.file, properties.content.configs)
        dumps.remarks += properties.content.remarks(properties.file)
    dumps.members = _parse_members(texts)
    processes = [(dump.file, log) for kind in LOGS for dump in texts.get(kind, ()) for log in split_log(dump.content)]
    for file, log in processes:
        _check_messages(file, log)
    dumps.client_logs = tuple(Dump(file, read_client_log(log)) for file, log in processes)
    logs = _parse_logs(processes)
    if logs:
        # Only the leader logs assignments; after a change of the leader, they continue in another file.
        rebalances = sorted(
            (rebalance for log in logs for rebalance in log.content), key=lambda rebalance: rebalance.at_ms or 0
        )
        dumps.rebalances = Dump(", ".join(log.file for log in logs), tuple(rebalances))


def _check_messages(file: str, log: ProcessLog) -> None:
    """Raise ObservationError for a JSON line of Kafka Streams whose message is not found."""
    for number, line in zip(log.numbers, log.lines, strict=True):
        if line.startswith("{") and re.search(rf'" *: *".*({CLIENT_PATTERN}|activeTasks: \()', line):
            keys = ", ".join(MESSAGE_KEYS)
            raise ObservationError(f"{file}:{number}: no message of this JSON line is known (expected one of: {keys})")


def _parse_logs(logs: Sequence[tuple[str, ProcessLog]]) -> list[Dump[tuple[LoggedRebalance, ...]]]:
    """Return the rebalances of each leader; a file may contain the logs of several processes."""
    of_leaders = {(file, log.process): log for file, log in logs if detect_kind(log.text) == LEADER_LOG}
    keys = {f"{file} ({process})" if process else file: (file, process) for file, process in of_leaders}
    whole = move_heads({name: of_leaders[key].text for name, key in keys.items()})
    return [_parse_log(name, text, of_leaders[keys[name]].numbers) for name, text in whole.items()]


def _parse_log(name: str, text: str, numbers: Sequence[int]) -> Dump[tuple[LoggedRebalance, ...]]:
    """Parse a log whose lines have the given numbers in its file; lines of another file may follow them."""

    def parse(text: str) -> tuple[LoggedRebalance, ...]:
        try:
            rebalances = parse_rebalances(text)
        except FormatError as error:
            line = None if error.line is None else numbers[min(error.line, len(numbers)) - 1]
            raise FormatError(line, str(error)) from None
        return tuple(replace(rebalance, line=numbers[rebalance.line - 1]) for rebalance in rebalances)

    return _parse(Dump(name, text), parse)


def _parse_members(texts: Mapping[str, Sequence[Dump[str]]]) -> Dump[tuple[GroupMember, ...]] | None:
    """Return the members of `--members`, or else those of `--offsets`, which omits members without partitions."""

    def parse(text: str) -> tuple[GroupMember, ...] | None:
        try:
            return parse_group_members(text)
        except UnlistedAssignmentsError:
            if OFFSETS not in texts:
                raise
            return None

    listed = _parse_single(texts, MEMBERS, parse)
    if listed is None or listed.content is None:
        return _parse_single(texts, OFFSETS, parse_group_members)
    return Dump(listed.file, listed.content)


def _parse_single(texts: Mapping[str, Sequence[Dump[str]]], kind: str, parse: Callable[[str], T]) -> Dump[T] | None:
    dumps = [_parse(dump, parse) for dump in texts.get(kind, ())]
    if len(dumps) > 1:
        names = " and ".join(dump.file for dump in dumps)
        raise ObservationError(f"{names} are both {kind}; keep one of them in the folder")
    return dumps[0] if dumps else None


def _parse(dump: Dump[str], parse: Callable[[str], T]) -> Dump[T]:
    try:
        return Dump(dump.file, parse(dump.content))
    except FormatError as error:
        place = dump.file if error.line is None else f"{dump.file}:{error.line}"
        raise ObservationError(f"{place}: {error}") from None


def _check_topology(text: str) -> str:
    parse_topology(text)
    return text


def with_printed_topology(dumps: Dumps, group: str) -> Dumps:
    """Return dumps with the topology that an application prints to its log, if they have no other.

    `group`: `application.id`. Raises ObservationError if logs print different topologies.
    """
    printed = [Dump(log.file, log.content.topologies) for log in _logs_of(dumps, group) if log.content.topologies]
    if dumps.topology is not None or not printed:
        return dumps
    last = [Dump(log.file, log.content[-1]) for log in printed]
    for other in last[1:]:
        if other.content.strip() != last[0].content.strip():
            raise ObservationError(
                f"{last[0].file} and {other.file} print different topologies; add the right one as a file"
            )
    remark = f"The topology is that which the application prints in {last[0].file}."
    if len({text.strip() for text in printed[0].content}) > 1:
        remark = f"{remark} It prints several different ones there; this is the last."
    return replace(dumps, topology=last[0], remarks=(*dumps.remarks, remark))


def logged_release(dumps: Dumps, group: str) -> LoggedRelease | None:
    """Return the release that the clients of a group have logged last; None if they logged none."""
    logged = [(log.content.version, log.file) for log in _logs_of(dumps, group) if log.content.version is not None]
    if not logged:
        return None
    version, file = max(logged, key=lambda item: item[0].at_ms or 0)
    others = {other.version for other, _ in logged} - {version.version}
    return LoggedRelease(version.version, file, tuple(sorted(others)))


def _logs_of(dumps: Dumps, group: str) -> list[Dump[ClientLog]]:
    """Return the logs that are not only of other groups."""
    return [log for log in dumps.client_logs if not log.content.groups or group in log.content.groups]


NO_RATES: Final = (
    "Dumps contain no rates: nothing is produced until you set bytes_per_s of topics, as in "
    "--set 'cluster.topics[NAME].bytes_per_s=10 MB/s'."
)
"""Assumption of every observation of dumps."""


def observed_brokers(
    dumps: Dumps, topics: Iterable[DescribedTopic | ObservedTopic], assumptions: list[str] | None = None
) -> tuple[ObservedBroker, ...]:
    """Return the brokers by id; without a list of brokers, those that have replicas of topics.

    `assumptions`: gets what is assumed.
    """
    if dumps.brokers is not None:
        listed = sorted(dumps.brokers.content, key=lambda broker: broker.id)
        return tuple(ObservedBroker(broker.id, broker.rack) for broker in listed)
    if assumptions is not None:
        assumptions.append("No output of kafka-broker-api-versions.sh: brokers are assumed to have no racks.")
    ids = {broker for topic in topics for replicas in topic.replicas for broker in replicas}
    return tuple(ObservedBroker(broker, None) for broker in sorted(ids))


def broker_release(dumps: Dumps) -> str | None:
    """Return the release of all brokers; None if it is unknown or differs."""
    releases = {broker.release for broker in dumps.brokers.content} if dumps.brokers else set[str | None]()
    return next(iter(releases)) if len(releases) == 1 else None


def observed_topics(
    dumps: Dumps, names: Iterable[str], topics: Mapping[str, DescribedTopic], assumptions: list[str]
) -> tuple[ObservedTopic, ...]:
    """Return topics with the sizes of their partitions.

    `assumptions`: gets what is assumed.
    """
    sizes = dumps.sizes.content if dumps.sizes else {}
    observed = tuple(observed_topic(topics[name], sizes) for name in names)
    unsized = [
        topic.name
        for topic in observed
        if any(TopicPartition(topic.name, partition) not in sizes for partition in range(len(topic.replicas)))
    ]
    if dumps.sizes is not None and unsized:
        listed = format_list("topics", unsized)
        assumptions.append(f"{dumps.sizes.file} lacks sizes of partitions, which are assumed empty ({listed}).")
    return observed


def observed_topic(topic: DescribedTopic, sizes: Mapping[TopicPartition, int]) -> ObservedTopic:
    """Return a topic with the sizes of its partitions, if any is known."""
    size_bytes = [sizes.get(TopicPartition(topic.name, partition)) for partition in range(len(topic.replicas))]
    has_sizes = any(size is not None for size in size_bytes)
    return ObservedTopic(
        topic.name,
        topic.replicas,
        topic.leaders,
        tuple(size or 0 for size in size_bytes) if has_sizes else None,
        topic_id=topic.topic_id,
        configs=topic.configs,
    )
