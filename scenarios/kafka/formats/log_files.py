"""Files of logs: the log of each process in a text, what it says about its client, and logs that were rotated.

Containers and collectors print logs with a prefix on each line, or as JSON lines. Supported are the prefixes of
`docker compose logs`, `kubectl logs --prefix` and journald, `--timestamps` of both tools, the log files of container
runtimes, and JSON lines with the message in one of `MESSAGE_KEYS`, also nested.

A client logs its release and its group. Kafka does not log a topology; many applications print `Topology.describe()`.
Source: `org.apache.kafka.common.utils.AppInfoParser` (`Kafka version: 3.9.1`, of every client), `KafkaStreams` (`Kafka
Streams version: 3.9.1`), `LogContext` of consumers (`groupId=shop`).

A rebalance may begin in one rotated file and end in the next one. Files may be in any order, and from several instances
of the application, which log into files of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from scenarios.kafka.formats.leader_log import RELEVANT_LINE, find_leader, find_time_ms, starts_assignment
from scenarios.kafka.formats.topology import find_topologies
from scenarios.kafka.naming import UUID_PATTERN

_PREFIX: Final = re.compile(
    r"(?!(?:TRACE|DEBUG|INFO|WARN|ERROR) )(?P<service>[\w.-]+) +\|(?: |$)"
    r"|\[(?P<pod>pod/[^\]\s]+)\](?: |$)"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?P<unit>\S+ [^\s:\[]+(?:\[\d+\])?):(?: |$)"
)
_STAMP: Final = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d))(?: std(?:out|err) [FP])?(?: |$)"
)
_COLOR: Final = re.compile(r"\x1b\[[\d;]*m")
_TIME: Final = re.compile(r"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
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
        has_assignment: whether the last rebalance has the first line of its assignment.
    """

    head: tuple[str, ...]
    has_start: bool
    first_ms: int | None
    last_ms: int | None
    head_threads: tuple[str, ...]
    leader: str | None
    is_open: bool
    has_assignment: bool


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
        any(starts_assignment(line) for line in last),
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
        groups: Groups of its consumers.
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
