"""A folder with segments of `__consumer_offsets`, output of tools, and logs; files are identified by content."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from assignors.model.ids import TaskId
from assignors.tasks.streams_group_sticky import RELEASES
from scenarios.kafka.dumps.client_logs import with_printed_topology
from scenarios.kafka.dumps.files import LOGS, Dumps, read_dumps
from scenarios.kafka.dumps.history import select_application
from scenarios.kafka.formats.coordinator_records import (
    CONSUMER_CURRENT,
    CONSUMER_GROUP,
    CONSUMER_MEMBER,
    CONSUMER_PARTITIONS,
    CONSUMER_PATTERN,
    CONSUMER_TARGET,
    CONSUMER_TARGET_MEMBER,
    DEFAULT_PARTITIONS,
    GROUP_METADATA,
    CoordinatorRecord,
    decode_record,
    is_about_group,
    looks_like_printed_records,
    parse_printed_records,
    partition_of_group,
)
from scenarios.kafka.formats.leader_log import LoggedRebalance, parse_join_reasons, parse_states
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.log_files import split_log
from scenarios.kafka.formats.record_batches import looks_like_segment, read_segment
from scenarios.kafka.incident.classic_records import (
    classic_consumer_rebalances,
    classic_rebalances,
    is_of_plain_consumers,
)
from scenarios.kafka.incident.coordinated_consumer_records import coordinated_consumer_rebalances
from scenarios.kafka.incident.leader_logs import ApplicationLogs, rebalances_of_logs, with_logs
from scenarios.kafka.incident.recorded import RecordedGroup
from scenarios.kafka.incident.streams_records import streams_rebalances
from scenarios.kafka.naming import UUID_PATTERN
from scenarios.kafka.observation.observation import ObservationError
from scenarios.language.releases import parse_release
from scenarios.language.text_files import MAX_IMPORT_BYTES
from simulator.group.streams_coordinator import Rules
from simulator.results.files import open_regular

MAX_SEGMENT_BYTES: Final = 256 * 1024 * 1024
"""Maximum size of a segment; `offsets.topic.segment.bytes` is 100 MB by default."""

_SEGMENT_FOLDERS: Final = "__consumer_offsets-*"
_PARTITION: Final = re.compile(r"__consumer_offsets-(\d{1,5})")
_HEADER_BYTES: Final = 61
_GZIP: Final = b"\x1f\x8b"
_MAX_PARTITIONS: Final = 100_000
_OF_CONSUMERS: Final = frozenset(
    (
        CONSUMER_GROUP,
        CONSUMER_PARTITIONS,
        CONSUMER_MEMBER,
        CONSUMER_TARGET,
        CONSUMER_TARGET_MEMBER,
        CONSUMER_CURRENT,
        CONSUMER_PATTERN,
    )
)
"""Types of records about groups of the consumer protocol (KIP-848)."""

_EARLIEST_MS, _LATEST_MS = 1_262_304_000_000, 4_102_444_800_000
"""2010 and 2100."""


@dataclass(frozen=True, slots=True)
class IncidentFiles:
    """What a folder has about a group.

    Attributes:
        group: The recorded rebalances.
        dumps: Output of tools that describe the cluster.
        read: Files that were used, with their kinds.
    """

    group: RecordedGroup
    dumps: Dumps
    read: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Source:
    """Records from one file.

    Attributes:
        file: Its name in the folder.
        records: Its records about groups.
        first_offset: Offset of its first record.
        is_printed: Whether a tool printed them.
        is_truncated: Whether its last batch is incomplete.
    """

    file: str
    records: tuple[CoordinatorRecord, ...]
    first_offset: int
    is_printed: bool
    is_truncated: bool = False


def read_incident(folder: Path, group: str, broker_release: str | None, threads: int | None) -> IncidentFiles:
    """Read the rebalances of a group from a folder and its subfolders `__consumer_offsets-N`.

    `broker_release`: Kafka release of the brokers of a streams group; None for the listed one, or else the newest.
    `threads`: threads of each client, where logs have none. Rebalances come from segments; without any, from output of
    tools; without any, from leader logs. Raises ObservationError if a file is damaged or malformed, or nothing is
    recorded of the group; the message says which partition has it.
    """
    if not folder.is_dir():
        raise ObservationError(f"'{folder}' is not a folder")
    sources = tuple(_read_sources(folder, group))
    dumps = with_printed_topology(read_dumps(folder, skip=frozenset(source.file for source in sources)), group)
    records = _records_of(sources, group)
    logs = _read_logs(folder, dumps, group, has_records=bool(records))
    if not records and (sources or not logs.rebalances):
        _fail_without_records(folder, sources, dumps, group)
    used = [(source.file, "printed records" if source.is_printed else "segment") for source in sources]
    used += list(dumps.kinds.items())
    if not records:
        return IncidentFiles(rebalances_of_logs(group, logs, threads), dumps, tuple(sorted(used)))
    recorded = _rebuild(group, records, dumps, logs, broker_release)
    _check_plausibility(recorded)
    remarks = (*recorded.remarks, *_remarks(sources))
    return IncidentFiles(replace(recorded, remarks=remarks), dumps, tuple(sorted(used)))


def _rebuild(
    group: str,
    records: Sequence[CoordinatorRecord],
    dumps: Dumps,
    logs: ApplicationLogs,
    broker_release: str | None,
) -> RecordedGroup:
    """Return the rebalances of a group from its records, of the protocol that they show.

    A group that was migrated to the consumer protocol, or back, has records of both: the later ones count.
    """
    classic = [record for record in records if record.type == GROUP_METADATA]
    with_members = [record for record in classic if (record.value or {}).get("members")]
    coordinated = [record for record in records if record.type in _OF_CONSUMERS]
    of_members = [record for record in coordinated if record.value is not None]
    if _last(with_members) > _last(of_members):
        is_of_consumers = is_of_plain_consumers(classic)
        recorded = (classic_consumer_rebalances if is_of_consumers else classic_rebalances)(group, classic)
        recorded = with_logs(recorded, logs) if logs.rebalances or logs.reasons else recorded
        return _with_migration(recorded, of_members)
    if coordinated:
        topics = dumps.topics.content if dumps.topics else ()
        described = {str(topic.topic_id): topic.name for topic in topics if topic.topic_id is not None}
        recorded = coordinated_consumer_rebalances(group, coordinated, described)
        return _with_migration(recorded, with_members)
    others = [record for record in records if record.type != GROUP_METADATA]
    release = parse_release(broker_release or listed_release(dumps) or RELEASES[-1])
    return streams_rebalances(group, others, passes_owned_tasks=Rules.of(release[:2]).passes_assigned)


def _last(records: Sequence[CoordinatorRecord]) -> int:
    """Return the offset of the last record; -2 without records."""
    return max((record.offset for record in records), default=-2)


def _with_migration(group: RecordedGroup, others: Sequence[CoordinatorRecord]) -> RecordedGroup:
    """Return a group with a remark if it also has records of the other protocol."""
    if not others:
        return group
    other = "consumer" if group.protocol == "classic" else "classic"
    remark = f"The group was migrated: its {len(others)} records of the {other} protocol are not shown."
    return replace(group, remarks=(*group.remarks, remark))


def _check_plausibility(group: RecordedGroup) -> None:
    """Reject numbers that no group has, before anything is built from them.

    Raises ObservationError if a task, a process id or a time is impossible.
    """
    for rebalance in group.rebalances:
        place = f"group '{group.group}', generation or epoch {rebalance.number}"
        if not _EARLIEST_MS <= rebalance.at_ms <= _LATEST_MS:
            raise ObservationError(f"{place}: {rebalance.at_ms} ms since 1970 is no plausible time")
        if len({member.id for member in rebalance.members}) < len(rebalance.members):
            raise ObservationError(f"{place}: two members have the same id")
        for member in () if group.has_consumers else rebalance.members:
            if not re.fullmatch(UUID_PATTERN, member.process_id):
                raise ObservationError(f"{place}: '{member.process_id[:60]}' is not a process id (expected a UUID)")
            for task in (*member.active, *member.standby, *member.previous_active, *member.previous_standby):
                parsed = TaskId.parse(task)
                if max(parsed) > _MAX_PARTITIONS:
                    raise ObservationError(f"{place}: task {task} is impossible (maximum: {_MAX_PARTITIONS})")


def listed_release(dumps: Dumps) -> str | None:
    """Return the supported release of the brokers, if all have the same; a later release counts as the newest."""
    releases = {broker.release for broker in dumps.brokers.content} if dumps.brokers else set[str | None]()
    release = (next(iter(releases)) or "").partition(" ")[0] if len(releases) == 1 else ""
    return release if release in RELEASES else None


def _read_sources(folder: Path, group: str) -> Iterator[_Source]:
    """Yield the files with records, in the order of their names."""
    files = [path for path in folder.iterdir() if path.is_file()]
    files += [path for sub in folder.glob(_SEGMENT_FOLDERS) if sub.is_dir() for path in sub.iterdir() if path.is_file()]
    for path in sorted(path for path in files if not path.name.startswith(".")):
        name = path.relative_to(folder).as_posix()
        try:
            with open_regular(path) as file:
                start = file.read(_HEADER_BYTES)
                if start.startswith(_GZIP):
                    yield from _read_packed(name, path, group)
                elif looks_like_segment(start):
                    _check_size(name, path.stat().st_size)
                    yield _read_segment(name, start + file.read(MAX_SEGMENT_BYTES + 1 - len(start)), group)
                elif start[:1] in (b"{", b"D", b"|", b"S", b"L") or b"offset" in start:
                    yield from _read_printed(name, start + file.read(MAX_IMPORT_BYTES + 1 - len(start)))
        except OSError as error:
            raise ObservationError(f"{name}: {error.strerror or error}") from None


def _read_packed(name: str, path: Path, group: str) -> Iterator[_Source]:
    """Yield the records of a file that was compressed with gzip; nothing of another file, such as a log.

    Raises ObservationError if a compressed segment is truncated, damaged or too long.
    """
    try:
        with open_regular(path) as packed, gzip.GzipFile(fileobj=packed) as file:
            start = file.read(_HEADER_BYTES)
            if looks_like_segment(start):
                yield _read_segment(name, start + file.read(MAX_SEGMENT_BYTES + 1 - len(start)), group)
            elif b"offset" in start:
                yield from _read_printed(name, start + file.read(MAX_IMPORT_BYTES + 1 - len(start)))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ObservationError(f"{name}: damaged gzip file: {error}") from None


def _check_size(name: str, size: int) -> None:
    if size > MAX_SEGMENT_BYTES:
        raise ObservationError(f"{name}: longer than {MAX_SEGMENT_BYTES:,} bytes")


def _read_segment(name: str, data: bytes, group: str) -> _Source:
    _check_size(name, len(data))
    try:
        segment = read_segment(data, is_about_group)
        decoded = (decode_record(record, group) for record in segment.records)
        records = tuple(record for record in decoded if record is not None)
    except FormatError as error:
        raise ObservationError(f"{name}: {error}") from None
    return _Source(name, records, segment.first_offset or 0, False, segment.truncated_at is not None)


def _read_printed(name: str, data: bytes) -> Iterator[_Source]:
    text = data.decode("utf-8", errors="replace")
    if not looks_like_printed_records(text):
        return
    if len(data) > MAX_IMPORT_BYTES:
        raise ObservationError(f"{name}: longer than {MAX_IMPORT_BYTES:,} bytes")
    try:
        records = tuple(parse_printed_records(text))
    except FormatError as error:
        raise ObservationError(f"{name}:{error.line}: {error}") from None
    yield _Source(name, records, min((record.offset for record in records), default=0), True)


def _records_of(sources: Sequence[_Source], group: str) -> list[CoordinatorRecord]:
    """Return the records of a group from its segments, or else from one output of a tool, in the order of the offsets.

    Copies of the same partition from several brokers have the same records.
    """
    segments = [source for source in sources if not source.is_printed]
    of_segments = {record.offset: record for source in segments for record in source.records if record.group == group}
    if of_segments:
        return [of_segments[offset] for offset in sorted(of_segments)]
    printed = [
        [record for record in source.records if record.group == group] for source in sources if source.is_printed
    ]
    return max(printed, key=len, default=[])


def _remarks(sources: Sequence[_Source]) -> Iterator[str]:
    for source in sources:
        if source.is_truncated:
            yield f"{source.file} ends within a batch, as a copy of an active segment may: its end is missing."


def _fail_without_records(folder: Path, sources: Sequence[_Source], dumps: Dumps, group: str) -> None:
    partition = partition_of_group(group)
    needed = (
        f"the records of '{group}' are in partition {partition} of __consumer_offsets (with the default of "
        f"{DEFAULT_PARTITIONS} partitions): copy the folder __consumer_offsets-{partition} of its leader"
    )
    groups = sorted({record.group for source in sources for record in source.records})
    if sources:
        found = sorted({match[1] for source in sources for match in _PARTITION.finditer(source.file)}, key=int)
        where = f" (partition {', '.join(found)})" if found else ""
        listed = ", ".join(groups[:5]) or "none"
        raise ObservationError(f"the records in '{folder}'{where} are of other groups ({listed}); {needed}")
    raise ObservationError(
        f"'{folder}' has neither records of groups nor logs of group leaders; {needed}, or the logs of all instances"
    )


def _read_logs(folder: Path, dumps: Dumps, group: str, *, has_records: bool) -> ApplicationLogs:
    """Return what the logs of an application say, in the order of time."""
    rebalances: tuple[LoggedRebalance, ...] = ()
    if dumps.rebalances is not None:
        try:
            rebalances = select_application(dumps.rebalances.content, group)
        except ObservationError:
            if not has_records:
                raise
    files = [_text(folder / name) for name in sorted({*dumps.ignored, *_logs(dumps)})]
    texts = [log.text for text in files for log in split_log(text)]
    states = [state for text in texts for state in parse_states(text)]
    reasons = [reason for text in texts for reason in parse_join_reasons(text, group)]
    return ApplicationLogs(
        rebalances,
        tuple(sorted(states, key=lambda state: state.at_ms)),
        tuple(sorted(reasons, key=lambda reason: reason.at_ms)),
    )


def _logs(dumps: Dumps) -> Iterator[str]:
    return (name for name, kind in dumps.kinds.items() if kind in LOGS)


def _text(path: Path) -> str:
    """Return the text of a log, which may be compressed; empty if it is not text."""
    try:
        if path.suffix == ".gz":
            with open_regular(path) as packed, gzip.GzipFile(fileobj=packed) as file:
                return file.read(MAX_IMPORT_BYTES).decode("utf-8", errors="replace")
        with open_regular(path) as file:
            start = file.read(_HEADER_BYTES)
            if looks_like_segment(start):
                return ""
            return (start + file.read(MAX_IMPORT_BYTES)).decode("utf-8", errors="replace")
    except (OSError, EOFError, zlib.error):
        return ""
