"""Logs as containers and collectors print them: with a prefix on each line, or as JSON lines.

Supported are the prefixes of `docker compose logs`, `kubectl logs --prefix` and journald, `--timestamps` of both tools,
the log files of container runtimes, and JSON lines with the message in one of `MESSAGE_KEYS`, also nested.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

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
