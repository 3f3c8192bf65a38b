"""Logs of a Kafka Streams group: the log of each process in a file, the assignments of its leader, and reasons to join.

Containers and collectors print logs with a prefix on each line, or as JSON lines. Supported are the prefixes of
`docker compose logs`, `kubectl logs --prefix` and journald, `--timestamps` of both tools, the log files of container
runtimes, and JSON lines with the message in one of `MESSAGE_KEYS`, also nested. A log has no time zone: times are read
as UTC. A rebalance may begin in one rotated file and end in the next one. Files may be in any order, and from several
instances of the application, which log into files of their own.

Supported are the messages of `StreamsPartitionAssignor` in releases 2.4 to 4.x, at INFO or DEBUG; other lines are
ignored. `HighAvailabilityTaskAssignor` logs the states of the clients, its input, at INFO with its answer, and the
leader at DEBUG before any assignor. A client logs its release and its group. Kafka does not log a topology; many
applications print `Topology.describe()`.

Source: `org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor` (`assignTasksToClients`,
`computeNewAssignment`, `addClientAssignments`; `assignTasksToInternalClients`: `Assigning tasks and … standby
replicas`), `ClientState.currentAssignment` and `toString`, `HighAvailabilityTaskAssignor.assign` (`Decided on
assignment`), `AbstractCoordinator.requestRejoin` and `maybeLeaveGroup` (since Kafka 3.2);
`org.apache.kafka.common.utils.AppInfoParser` (`Kafka version: 3.9.1`, of every client), `KafkaStreams` (`Kafka Streams
version: 3.9.1`), `LogContext` of consumers (`groupId=shop`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.topology import find_topologies
from scenarios.kafka.naming import TASK_PATTERN, UUID_PATTERN, process_client_id

RELEVANT_LINE = (
    r"participating in this rebalance|Assigning stateful tasks: |and stateless tasks: |including stateful"
    r"|Assigned tasks (to clients as |\[)|Assignment of tasks to nodes: |activeTasks: \("
    r"|Finished (un)?stable assignment|(^|[ \"m])[0-9a-f]{8}-[0-9a-f-]{27}: \["
)
"""Regular expression (Java and Python) that finds the lines which `parse_rebalances` reads, also behind a prefix."""

_TIME = re.compile(r"\[?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?")
_THREAD = re.compile(r"stream-thread \[([^\]]+)\]")
_CONSUMERS = re.compile(rf"({UUID_PATTERN}): \[([^\]]*)\]")
_STATEFUL_TASKS = re.compile(r"(?:Assigning stateful tasks: |including stateful )\[([^\]]*)\]")
_CLIENT_TASKS = re.compile(rf"({UUID_PATTERN})=\[activeTasks: \(\[([^\]]*)\]\) standbyTasks: \(\[([^\]]*)\]\)")
_TASK = re.compile(TASK_PATTERN)
_CONSUMER_ASSIGNMENT = re.compile(rf"Client ({UUID_PATTERN}) per-consumer assignment")
_TASKS_BY_CONSUMER = re.compile(r"\s+assigned (active|standby) \{(.*)\}")
_CONSUMER_TASKS = re.compile(r"([^\s={,]+)=\[([^\]]*)\]")
_PREVIOUS_STATE = re.compile(rf"\{{{UUID_PATTERN}=(\[activeTasks: \(|ClientMetadata\{{)")
"""Client states that assignors and the leader log before and during an assignment; they resemble its result."""
_ASSIGNMENT_START = re.compile(r"Assigned tasks (to clients as |\[)|Assignment of tasks to nodes: ")


@dataclass(frozen=True, slots=True)
class LoggedClient:
    """The assignment of one client; task ids as Kafka writes them, in the order of the text.

    Attributes:
        threads: Number of stream threads; None if it was not logged.
    """

    process_id: str
    threads: int | None
    active: tuple[str, ...]
    standby: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoggedThread:
    """The assignment of one stream thread; task ids in the order of the text.

    Attributes:
        consumer: Member id of the thread's consumer.
    """

    consumer: str
    active: tuple[str, ...]
    standby: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoggedRebalance:
    """One assignment of the group leader.

    Attributes:
        at_ms: Time of that line since 1970, read as UTC; None if the line has no time.
        leader: Name of the leading stream thread; None if the line has none.
        stateful: Stateful tasks; None if they were not logged.
        stable: Whether no follow-up rebalance is needed; None if it was not logged.
        by_thread: Assignment of each thread by process id, for the processes for which it was logged.
        members: Member ids of the threads by process id, for the processes for which they were logged.
    """

    line: int
    at_ms: int | None
    leader: str | None
    clients: tuple[LoggedClient, ...]
    stateful: frozenset[str] | None
    stable: bool | None
    by_thread: Mapping[str, tuple[LoggedThread, ...]] = field(default_factory=dict)
    members: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(slots=True)
class _RebalanceDraft:
    """A rebalance while its lines are read."""

    line: int
    at_ms: int | None
    leader: str | None
    stateful: frozenset[str] | None
    consumers: dict[str, list[str]]
    clients: list[LoggedClient] = field(default_factory=list)
    stable: bool | None = None
    tasks_by_role: dict[tuple[str, str], dict[str, tuple[str, ...]]] = field(default_factory=dict)


def parse_rebalances(text: str) -> tuple[LoggedRebalance, ...]:
    """Parse the rebalances of a leader's log.

    Returns the rebalances, in the order of the text. Raises FormatError if the log has no assignment, or one that is
    truncated or contains an invalid task id.
    """
    drafts: list[_RebalanceDraft] = []
    consumers_of: dict[str, list[str]] = {}
    stateful: frozenset[str] | None = None
    process: str | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        if "participating in this rebalance" in line:
            consumers_of, stateful = {}, None
        consumers_of.update((process_id, _split(consumers)) for process_id, consumers in _CONSUMERS.findall(line))
        if match := _STATEFUL_TASKS.search(line):
            stateful = frozenset(_parse_tasks(number, match[1]))
        is_start = starts_assignment(line)
        if is_start:
            drafts.append(_RebalanceDraft(number, find_time_ms(line), find_leader(line), stateful, consumers_of))
        if "activeTasks: (" in line and (is_start or not _PREVIOUS_STATE.search(line)):
            _add_clients(drafts, number, line)
        if match := _CONSUMER_ASSIGNMENT.search(line):
            process = match[1]
        if drafts and process is not None and (match := _TASKS_BY_CONSUMER.fullmatch(line.rstrip())):
            _add_threads(drafts[-1], number, process, match[1], match[2])
        if drafts and drafts[-1].stable is None and "stable assignment of tasks" in line:
            drafts[-1].stable = "unstable" not in line
    if not drafts:
        raise FormatError(None, "no assignments; expected the log of the group leader at INFO")
    return tuple(_finish(drafts))


def _add_clients(drafts: list[_RebalanceDraft], number: int, line: str) -> None:
    assignments = _CLIENT_TASKS.findall(line)
    if not drafts or len(assignments) != line.count("activeTasks: ("):
        raise FormatError(number, f"'{line.strip()[:60]}' is not a client's assignment: truncated or without its start")
    draft = drafts[-1]
    for process, active, standby in assignments:
        consumers = draft.consumers.get(process)
        threads = None if consumers is None else len(consumers)
        draft.clients.append(
            LoggedClient(process, threads, _parse_tasks(number, active), _parse_tasks(number, standby))
        )


def _add_threads(draft: _RebalanceDraft, number: int, process: str, role: str, text: str) -> None:
    for consumer, tasks in _CONSUMER_TASKS.findall(text):
        draft.tasks_by_role.setdefault((process, consumer), {})[role] = _parse_tasks(number, tasks)


def _finish(drafts: list[_RebalanceDraft]) -> Iterator[LoggedRebalance]:
    for draft in drafts:
        if not draft.clients:
            raise FormatError(draft.line, "an assignment without clients: the following lines are missing")
        yield LoggedRebalance(
            draft.line,
            draft.at_ms,
            draft.leader,
            tuple(draft.clients),
            draft.stateful,
            draft.stable,
            _group_by_thread(draft),
            {process: frozenset(consumers) for process, consumers in draft.consumers.items()},
        )


def _group_by_thread(draft: _RebalanceDraft) -> dict[str, tuple[LoggedThread, ...]]:
    """Return the threads by process; threads without tasks appear only in the list of consumers."""
    threads: dict[str, tuple[LoggedThread, ...]] = {}
    for process in dict.fromkeys(process for process, _ in draft.tasks_by_role):
        with_tasks = (consumer for owner, consumer in draft.tasks_by_role if owner == process)
        consumers = sorted({*draft.consumers.get(process, ()), *with_tasks})
        tasks = {consumer: draft.tasks_by_role.get((process, consumer), {}) for consumer in consumers}
        threads[process] = tuple(
            LoggedThread(consumer, roles.get("active", ()), roles.get("standby", ()))
            for consumer, roles in tasks.items()
        )
    return threads


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _parse_tasks(number: int, text: str) -> tuple[str, ...]:
    tasks = _split(text)
    for task in tasks:
        if not _TASK.fullmatch(task):
            raise FormatError(number, f"'{task[:60]}' is not a task id (such as 0_3)")
    return tuple(tasks)


def starts_assignment(line: str) -> bool:
    """Return whether a line is the first one of an assignment."""
    return _ASSIGNMENT_START.search(line) is not None


def find_time_ms(line: str) -> int | None:
    """Return the time at the beginning of a line in ms since 1970, read as UTC; None if it has none."""
    match = _TIME.search(line[:60])
    if match is None:
        return None
    try:
        seconds = datetime.fromisoformat(match[1]).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
    return round(seconds) * 1_000 + int((match[2] or "0").ljust(3, "0")[:3])


def find_leader(line: str) -> str | None:
    """Return the stream thread that has written a line; None if it names none."""
    match = _THREAD.search(line)
    return match[1] if match else None


_REASON = re.compile(
    r"\[Consumer (?:instanceId=\S+, )?clientId=([^,\]]+), groupId=([^\]]*)\] "
    r"(Request joining group due to: |Member \S+ sending LeaveGroup request(?: to coordinator .* due to )?)(.*)"
)
_WITHOUT_CAUSE = ("group is already rebalancing", "need to re-join with the given member-id", "rebalance failed due to")
"""Reasons that follow from a rebalance which another one caused."""


@dataclass(frozen=True, slots=True)
class JoinReason:
    """Why a client joined again, or left.

    Attributes:
        at_ms: Time since 1970, read as UTC.
        client_id: Client id that the threads of the process share.
    """

    at_ms: int
    client_id: str
    leaves: bool
    reason: str


def parse_join_reasons(text: str, group: str) -> Iterator[JoinReason]:
    """Yield the reasons that caused rebalances of a group, in the order of the log."""
    for line in text.split("\n"):
        if "group" not in line and "Group" not in line:
            continue
        match = _REASON.search(line)
        at_ms = find_time_ms(line) if match else None
        if match is None or at_ms is None or match[2] != group:
            continue
        leaves = match[3].startswith("Member")
        reason = match[4].strip()
        if leaves or not reason.startswith(_WITHOUT_CAUSE):
            yield JoinReason(at_ms, process_client_id(match[1]), leaves, reason)


_STATES = ("Decided on assignment: {", "Assigning tasks and ")
_CLIENT = re.compile(
    rf"({UUID_PATTERN})=\[activeTasks: \(\[[^\]]*\]\) standbyTasks: \(\[[^\]]*\]\) prevActiveTasks: \(\[([^\]]*)\]\) "
    r"prevStandbyTasks: \(\[([^\]]*)\]\) changelogOffsetTotalsByTask: \(\[[^\]]*\]\) taskLagTotals: \(\[([^\]]*)\]\)"
)
_LAG = re.compile(r"(\d{1,9}_\d{1,9})=(-?\d{1,19})")
_NUMBERED_TASK = re.compile(r"\d{1,9}_\d{1,9}")


@dataclass(frozen=True, slots=True)
class StateBeforeAssignment:
    """State of a client before an assignment.

    Attributes:
        lags: Lag of each stateful task, as in `KafkaStreamsState.task_lags`.
    """

    active: tuple[str, ...]
    standby: tuple[str, ...]
    lags: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class LoggedState:
    """State of all clients before an assignment.

    Attributes:
        at_ms: Time since 1970, read as UTC.
        clients: State by process id.
    """

    at_ms: int
    clients: Mapping[str, StateBeforeAssignment]


def parse_states(text: str) -> Iterator[LoggedState]:
    """Yield the states in a log, in its order; lines without a time and truncated ones are skipped."""
    for line in text.split("\n"):
        if not any(start in line for start in _STATES):
            continue
        at_ms = find_time_ms(line)
        clients = {
            process: StateBeforeAssignment(
                tuple(_NUMBERED_TASK.findall(active)),
                tuple(_NUMBERED_TASK.findall(standby)),
                {task: int(lag) for task, lag in _LAG.findall(lags)},
            )
            for process, active, standby, lags in _CLIENT.findall(line)
        }
        if at_ms is not None and clients and len(clients) == line.count("taskLagTotals: ("):
            yield LoggedState(at_ms, clients)


_PREFIX: Final = re.compile(
    r"(?!(?:TRACE|DEBUG|INFO|WARN|ERROR) )(?P<service>[\w.-]+) +\|(?: |$)"
    r"|\[(?P<pod>pod/[^\]\s]+)\](?: |$)"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?P<unit>\S+ [^\s:\[]+(?:\[\d+\])?):(?: |$)"
)
_STAMP: Final = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d))(?: std(?:out|err) [FP])?(?: |$)"
)
_COLOR: Final = re.compile(r"\x1b\[[\d;]*m")
_CONTINUATION: Final = re.compile(
    rf"\s*$|\s+(prev owned|assigned|revoking) |{UUID_PATTERN}[:=]|and stateless tasks: "
    r"|\s*(Sub-topology: \d|(Source|Processor|Sink): |-->|<--)"
)
"""Further lines of a message of `StreamsPartitionAssignor`, and of a printed topology."""
MESSAGE_KEYS: Final = (
    "message",  # Logback, Log4j, Elastic, Datadog
    "msg",
    "log",  # Docker, Fluent Bit
    "textPayload",  # Google Cloud Logging
    "@message",  # CloudWatch Logs Insights
    "MESSAGE",  # journalctl
    "_raw",  # Splunk
    "line",  # logcli of Loki
)
"""Keys of JSON lines with the message, as logging libraries and exporters document them."""
_RECORD_KEYS: Final = (
    "jsonPayload",  # Google Cloud Logging
    "_source",  # Elasticsearch
    "attributes",  # Datadog
    "result",  # Splunk
)
"""Keys of JSON lines with the record that contains the message."""
_TIME_KEYS: Final = ("@timestamp", "timestamp", "time", "ts", "datetime", "timeMillis", "_time")
_LATEST_S, _LATEST_MS = 10_000_000_000, 10_000_000_000_000
"""The year 2286: a larger number of seconds is one of milliseconds, or else of nanoseconds."""


@dataclass(slots=True)
class ProcessLog:
    """The log of one process as it wrote it, without what containers and collectors added.

    Attributes:
        process: The process as the prefix of its lines names it; empty without prefix.
        lines: Its lines. A line without a time of its own has the collector's.
        numbers: Number of the line in the text of each line.
    """

    process: str
    lines: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)


def split_log(text: str) -> tuple[ProcessLog, ...]:
    """Return the log of each process in a text, in the order of their first lines; other text remains as it is.

    A line without prefix belongs to the process of the line before it.
    """
    logs: dict[str, ProcessLog] = {}
    process = ""
    for number, line in enumerate(_COLOR.sub("", text).split("\n"), start=1):
        if match := _PREFIX.match(line):
            process, line = match["service"] or match["pod"] or match["unit"], line[match.end() :]
        log = logs.setdefault(process, ProcessLog(process))
        unwrapped = list(_unwrap(line))
        log.lines += unwrapped
        log.numbers += [number] * len(unwrapped)
    return tuple(logs.values())


def _unwrap(line: str, outer_time: str = "") -> Iterator[str]:
    """Yield the lines of a message that a container or collector has written as one line."""
    match = _STAMP.match(line)
    time, message = (match[1], line[match.end() :]) if match else (outer_time, line)
    record = _parse_record(message)
    if record is not None:
        inner_time, message = _record_time(record), _record_message(record)
        first, *others = message.rstrip("\r\n").split("\n")
        yield from _unwrap(first, inner_time or time)
        yield from others
    elif not time or _TIME.match(message) or _CONTINUATION.match(message):
        yield message
    else:
        yield f"{time} {message}"


def _parse_record(text: str) -> dict[str, Any] | None:
    """Return a JSON line with a message, without the record around it; None if the text is none."""
    if not text.startswith("{"):
        return None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    nested = (record[key] for key in _RECORD_KEYS if isinstance(record.get(key), dict))
    merged = (record, *({**record, **inner} for inner in nested))
    return next((one for one in merged if any(isinstance(one.get(key), str) for key in MESSAGE_KEYS)), None)


def _record_message(record: dict[str, Any]) -> str:
    message: str = next(record[key] for key in MESSAGE_KEYS if isinstance(record.get(key), str))
    # JSON can contain half of a surrogate pair, which no output can.
    return message.encode("utf-8", "replace").decode()


def _record_time(record: dict[str, Any]) -> str:
    """Return the time of a JSON line in ISO format; empty if it has none."""
    instant: Any = record.get("instant")
    if isinstance(instant, dict):  # Log4j's JsonLayout
        return _iso_time(instant.get("epochSecond"), instant.get("nanoOfSecond"))
    for key in _TIME_KEYS:
        value: Any = record.get(key)
        if isinstance(value, str) and _TIME.match(value):
            return value
        if time := _iso_time(value):
            return time
    return ""


def _iso_time(value: Any, nanoseconds: Any = 0) -> str:
    """Return seconds, milliseconds or nanoseconds since 1970 in ISO format; empty if the value is no such number."""
    if type(value) not in (int, float) or not 0 < value < 1e19 or type(nanoseconds) is not int:
        return ""
    unit = 1 if value < _LATEST_S else 1_000 if value < _LATEST_MS else 1_000_000_000
    milliseconds = round(value * 1_000 / unit) + nanoseconds // 1_000_000
    try:
        time = datetime.fromtimestamp(milliseconds / 1_000, UTC)
    except (OverflowError, ValueError, OSError):
        return ""
    return f"{time:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1_000:03}Z"


LONGEST_REBALANCE_MS: Final = 300_000
"""Maximum time between the last line of a file and the first one of the next file, for one rebalance in both."""

_RELEVANT = re.compile(RELEVANT_LINE)
_START = "participating in this rebalance"
_END = re.compile(r"Finished (un)?stable assignment")


@dataclass(frozen=True, slots=True)
class LogBounds:
    """Where a log begins and ends.

    Attributes:
        head: relevant lines before the first rebalance that begins in the log.
        has_start: whether a rebalance begins in the log.
        first_ms: time of the first relevant line that has one, in ms since 1970; None if none has.
        last_ms: time of the last one.
        head_threads: stream threads in the head.
        leader: stream thread of the last rebalance; None if unknown.
        is_open: whether the last rebalance, or the head without one, has no end.
    """

    head: tuple[str, ...]
    has_start: bool
    first_ms: int | None
    last_ms: int | None
    head_threads: tuple[str, ...]
    leader: str | None
    is_open: bool


def find_bounds(text: str) -> LogBounds:
    """Return where a log begins and ends."""
    lines = [line for line in text.split("\n") if _RELEVANT.search(line)]
    starts = [number for number, line in enumerate(lines) if _START in line]
    head = lines[: starts[0]] if starts else lines
    last = lines[starts[-1] :] if starts else lines
    times = [time for time in map(find_time_ms, lines) if time is not None]
    return LogBounds(
        tuple(head),
        bool(starts),
        times[0] if times else None,
        times[-1] if times else None,
        _threads(head),
        next(iter(_threads(last)), None),
        bool(last) and not any(_END.search(line) for line in last),
    )


def join_rotated(bounds: Mapping[str, LogBounds]) -> dict[str, str]:
    """Find the logs that begin with the end of a rebalance of another log.

    `bounds`: where the logs begin and end, by file. Returns, for each such log, the file in which the rebalance begins.
    """
    open_logs: dict[str, tuple[int, str | None]] = {}
    joined: dict[str, str] = {}
    in_time = ((log.first_ms, file, log) for file, log in bounds.items() if log.first_ms is not None)
    for first_ms, file, log in sorted(in_time, key=lambda item: item[:2]):
        assert log.last_ms is not None
        owner = _find_owner(open_logs, first_ms, log) if log.head else None
        if owner is not None:
            joined[file] = owner
            leader = open_logs.pop(owner)[1]
            if not log.has_start and log.is_open:
                open_logs[owner] = (log.last_ms, leader)
        if log.has_start and log.is_open:
            open_logs[file] = (log.last_ms, log.leader)
    return joined


def move_heads(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of logs, each with the rebalances that begin in it.

    Line numbers stay the same: lines that belong to another log become empty. A log without any other relevant line is
    left out.
    """
    bounds = {file: find_bounds(text) for file, text in texts.items()}
    joined = join_rotated(bounds)
    heads = heads_by_file(joined, bounds)
    moved = {file: with_heads(text, file in joined, heads.get(file, ())) for file, text in texts.items()}
    return {file: text for file, text in moved.items() if file not in joined or bounds[file].has_start}


def heads_by_file(joined: Mapping[str, str], bounds: Mapping[str, LogBounds]) -> dict[str, list[str]]:
    """Return the lines to append to each file, in the order of their times."""
    heads: dict[str, list[str]] = {}
    for file in sorted(joined, key=lambda name: (bounds[name].first_ms or 0, name)):
        heads.setdefault(joined[file], []).extend(bounds[file].head)
    return heads


def with_heads(text: str, is_joined: bool, heads: Iterable[str]) -> str:
    """Return the text of a log without its head if it is joined to another one, and with the heads of others."""
    lines = text.split("\n")
    if is_joined:
        left = len(find_bounds(text).head)
        for number, line in enumerate(lines):
            if left and _RELEVANT.search(line):
                lines[number] = ""
                left -= 1
    return "\n".join([*lines, *heads])


def _find_owner(open_logs: Mapping[str, tuple[int, str | None]], first_ms: int, log: LogBounds) -> str | None:
    """Return the open log that ends last before the head of a log, with the same leader; None without one."""
    candidates = [
        (last_ms, file)
        for file, (last_ms, leader) in open_logs.items()
        if 0 <= first_ms - last_ms <= LONGEST_REBALANCE_MS
        and (leader is None or not log.head_threads or leader in log.head_threads)
    ]
    return max(candidates)[1] if candidates else None


def _threads(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(thread for thread in map(find_leader, lines) if thread is not None))


CLIENT_PATTERN: Final = r"stream-(thread|client) \[|\[Consumer [^\]]*groupId="
"""Regular expression that finds a line of a consumer or of Kafka Streams."""

VERSION_PATTERN: Final = r"Kafka (?:Streams )?version ?: "
"""Regular expression that finds the release of a client."""

_VERSION: Final = re.compile(rf"{VERSION_PATTERN}(\d{{1,3}}\.\d{{1,3}}[\w.-]{{0,40}})")
_GROUP: Final = re.compile(r"\[Consumer [^\]]*groupId=([^\],]+)")


@dataclass(frozen=True, slots=True)
class LoggedVersion:
    """The release that a client logs when it starts.

    Attributes:
        version: As logged, such as `3.9.1` or `7.9.0-ccs`.
        at_ms: Time of the line since 1970, read as UTC; None if it has none.
    """

    version: str
    at_ms: int | None


@dataclass(frozen=True, slots=True)
class ClientLog:
    """What a log says about its client.

    Attributes:
        version: The last logged release; None without one.
        topologies: Printed topologies, in the order of the log; each with the line numbers of the file.
    """

    groups: frozenset[str]
    version: LoggedVersion | None
    topologies: tuple[str, ...]


def read_client_log(log: ProcessLog) -> ClientLog:
    """Return what a log says about its client."""
    groups: set[str] = set()
    version = None
    for line in log.lines:
        if match := _GROUP.search(line):
            groups.add(match[1])
        if match := _VERSION.search(line):
            version = LoggedVersion(match[1].rstrip("."), find_time_ms(line))
    topologies = ("\n" * (log.numbers[start] - 1) + text for start, text in find_topologies(log.lines))
    return ClientLog(frozenset(groups), version, tuple(topologies))
