"""A folder with segments of `__consumer_offsets`, output of tools, and logs; files are identified by content.

Leader logs describe the rebalances of a classic group alone, or in addition to records.
"""

from __future__ import annotations

import gzip
import re
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from assignors.model.ids import TaskId
from assignors.tasks.streams_group_sticky import RELEASES
from scenarios.kafka.dumps.files import LOGS, Dumps, broker_release, read_dumps, with_printed_topology
from scenarios.kafka.dumps.groups import from_leader, select_application
from scenarios.kafka.formats.coordinator_records import (
    CONSUMER_RECORDS,
    DEFAULT_PARTITIONS,
    GROUP_METADATA,
    CoordinatorRecord,
    decode_record,
    is_about_group,
    looks_like_printed_records,
    parse_printed_records,
    partition_of_group,
)
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.logs import (
    JoinReason,
    LoggedRebalance,
    LoggedState,
    parse_join_reasons,
    parse_states,
    split_log,
)
from scenarios.kafka.formats.record_batches import looks_like_segment, read_segment
from scenarios.kafka.incident.classic_records import (
    classic_consumer_rebalances,
    classic_rebalances,
    is_of_plain_consumers,
)
from scenarios.kafka.incident.coordinated_records import coordinated_consumer_rebalances, streams_rebalances
from scenarios.kafka.incident.recorded import RecordedGroup, RecordedMember, RecordedRebalance
from scenarios.kafka.naming import UUID_PATTERN
from scenarios.kafka.observation.observation import ObservationError, ObservedThread
from scenarios.language.releases import parse_release
from scenarios.language.text_files import MAX_IMPORT_BYTES
from simulator.group.streams_coordinator import Rules
from simulator.results.files import open_regular

LONGEST_DECISION_MS: Final = 30_000
"""Maximum time between the state that a leader logs, its answer, and the record of it."""

_QUARTER_HOUR_MS: Final = 900_000
_MAX_ZONE_MS: Final = 14 * 3_600_000


@dataclass(frozen=True, slots=True)
class ApplicationLogs:
    """What the logs of an application say.

    Attributes:
        rebalances: Assignments of the leaders, by time.
        states: States of the clients before assignments, by time.
        reasons: Why clients joined again or left, by time.
    """

    rebalances: tuple[LoggedRebalance, ...] = ()
    states: tuple[LoggedState, ...] = ()
    reasons: tuple[JoinReason, ...] = ()

    def shifted(self, by_ms: int) -> ApplicationLogs:
        """Return the logs with other times."""
        return ApplicationLogs(
            tuple(
                replace(rebalance, at_ms=None if rebalance.at_ms is None else rebalance.at_ms + by_ms)
                for rebalance in self.rebalances
            ),
            tuple(replace(state, at_ms=state.at_ms + by_ms) for state in self.states),
            tuple(replace(reason, at_ms=reason.at_ms + by_ms) for reason in self.reasons),
        )


def rebalances_of_logs(group: str, logs: ApplicationLogs, threads: int | None) -> RecordedGroup:
    """Build the rebalances of a group from logs alone.

    Members have had what the previous rebalance assigned, unless the leader logged their state. Returns the rebalances,
    by time. Raises ObservationError if a rebalance has no time.
    """
    rebalances: list[RecordedRebalance] = []
    for number, logged in enumerate(logs.rebalances):
        if logged.at_ms is None:
            raise ObservationError(
                f"the leader's log has no time in line {logged.line}, so its rebalances have no order"
            )
        before = {member.id: member for member in rebalances[-1].members} if rebalances else {}
        members = tuple(
            _member(thread.member_id, process.process_id, process.client_id, thread, before)
            for process in from_leader(logged, group, threads).processes
            for thread in process.threads
        )
        members = tuple(sorted(members, key=lambda member: member.id))
        stable_at_ms = logged.at_ms if logged.stable else None
        rebalances.append(
            RecordedRebalance(number, logged.at_ms, members, leader=logged.leader, stable_at_ms=stable_at_ms)
        )
    stateful = {
        TaskId.parse(task).subtopology
        for logged in logs.rebalances
        for task in (*(logged.stateful or ()), *(task for client in logged.clients for task in client.standby))
    }
    with_states = [_with_state(rebalance, logs) for rebalance in rebalances]
    remark = "Logs have no racks, tags and offsets of the members; times in them are read as UTC."
    return RecordedGroup(
        group, "classic", tuple(with_states), {}, frozenset(stateful), has_records=False, remarks=(remark,)
    )


def with_logs(group: RecordedGroup, logs: ApplicationLogs) -> RecordedGroup:
    """Return recorded rebalances with the lags, the withheld tasks and the reasons of the logs."""
    shift_ms = _clock_shift_ms(group, logs)
    shifted = logs.shifted(shift_ms)
    rebalances = []
    for position, rebalance in enumerate(group.rebalances):
        since_ms = group.rebalances[position - 1].at_ms if position else rebalance.at_ms - LONGEST_DECISION_MS
        rebalance = _with_state(_with_decision(rebalance, shifted), shifted)
        reasons = dict.fromkeys(
            f"{reason.client_id}: {'left: ' if reason.leaves else ''}{reason.reason}".rstrip(": ")
            for reason in shifted.reasons
            if since_ms < reason.at_ms <= rebalance.at_ms
        )
        rebalances.append(replace(rebalance, stated_causes=tuple(reasons)))
    remarks = group.remarks
    if shift_ms:
        hours = f"{abs(shift_ms) / 3_600_000:g} h {'behind' if shift_ms > 0 else 'ahead of'}"
        remarks = (*remarks, f"The times of the logs are {hours} UTC, according to the records.")
    return replace(group, rebalances=tuple(rebalances), remarks=remarks)


def _member(
    member_id: str, process_id: str, client_id: str, thread: ObservedThread, before: Mapping[str, RecordedMember]
) -> RecordedMember:
    previous = before.get(member_id)
    return RecordedMember(
        id=member_id,
        process_id=process_id,
        client_id=client_id,
        thread=_without_uuid(member_id),
        active=thread.active,
        standby=thread.standby,
        previous_active=previous.active if previous else (),
        previous_standby=previous.standby if previous else (),
    )


def _without_uuid(member_id: str) -> str:
    """Return the client id in a member id, which the coordinator made of it and a random UUID."""
    return re.sub(rf"-{UUID_PATTERN}$", "", member_id)


def _with_state(rebalance: RecordedRebalance, logs: ApplicationLogs) -> RecordedRebalance:
    """Return a rebalance with the last state that was logged before it for the same processes."""
    position = bisect_right(logs.states, rebalance.at_ms, key=lambda state: state.at_ms)
    processes = {member.process_id for member in rebalance.members}
    for state in reversed(logs.states[max(0, position - 2) : position]):
        if rebalance.at_ms - state.at_ms <= LONGEST_DECISION_MS and state.clients.keys() == processes:
            return replace(rebalance, lags={process: client.lags for process, client in state.clients.items()})
    return rebalance


def _with_decision(rebalance: RecordedRebalance, logs: ApplicationLogs) -> RecordedRebalance:
    """Return a rebalance with the withheld tasks according to the leader's decision."""
    decision = _decision_of(rebalance, logs)
    if decision is None:
        return rebalance
    assigned = {task for member in rebalance.members for task in member.active}
    withheld = {
        task: client.process_id for client in decision.clients for task in client.active if task not in assigned
    }
    return replace(rebalance, withheld=withheld)


def _decision_of(rebalance: RecordedRebalance, logs: ApplicationLogs) -> LoggedRebalance | None:
    """Return the last decision before a record whose answer is the recorded one, except for withheld tasks."""
    processes = {member.process_id for member in rebalance.members}
    position = bisect_right(logs.rebalances, rebalance.at_ms, key=lambda logged: logged.at_ms or 0)
    for logged in reversed(logs.rebalances[max(0, position - 2) : position]):
        owners = {task: client.process_id for client in logged.clients for task in client.active}
        is_recent = rebalance.at_ms - (logged.at_ms or 0) <= LONGEST_DECISION_MS
        fits = all(owners.get(task) == member.process_id for member in rebalance.members for task in member.active)
        if is_recent and fits and {client.process_id for client in logged.clients} == processes:
            return logged
    return None


def _clock_shift_ms(group: RecordedGroup, logs: ApplicationLogs) -> int:
    """Return what to add to the times of logs: the multiple of 15 minutes that fits most decisions and records.

    Logs have no time zone. The smallest shift wins if several fit equally well.
    """
    times_ms = [rebalance.at_ms for rebalance in group.rebalances]
    counts: Counter[int] = Counter()
    for logged in logs.rebalances:
        for at_ms in times_ms:
            difference_ms = at_ms - (logged.at_ms or 0)
            shift_ms = difference_ms // _QUARTER_HOUR_MS * _QUARTER_HOUR_MS
            if abs(shift_ms) <= _MAX_ZONE_MS and difference_ms - shift_ms <= LONGEST_DECISION_MS:
                counts[shift_ms] += 1
    return max(counts, key=lambda shift_ms: (counts[shift_ms], -abs(shift_ms), shift_ms), default=0)


MAX_SEGMENT_BYTES: Final = 256 * 1024 * 1024
"""Maximum size of a segment; `offsets.topic.segment.bytes` is 100 MB by default."""

_SEGMENT_FOLDERS: Final = "__consumer_offsets-*"
_PARTITION: Final = re.compile(r"__consumer_offsets-(\d{1,5})")
_HEADER_BYTES: Final = 61
_GZIP: Final = b"\x1f\x8b"
_MAX_PARTITIONS: Final = 100_000
_EARLIEST_MS, _LATEST_MS = 1_262_304_000_000, 4_102_444_800_000
"""2010 and 2100."""


@dataclass(frozen=True, slots=True)
class IncidentFiles:
    """What a folder has about a group. `read`: files that were used, with their kinds."""

    group: RecordedGroup
    dumps: Dumps
    read: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Source:
    """Records from one file.

    Attributes:
        file: Its name in the folder.
        first_offset: Offset of its first record.
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
    coordinated = [record for record in records if record.type in CONSUMER_RECORDS]
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
    release = (broker_release(dumps) or "").partition(" ")[0]
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
