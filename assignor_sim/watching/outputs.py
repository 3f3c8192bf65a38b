"""Where events go: lines on standard output, and JSON lines that are appended to a file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from scenarios.watch.watch_events import WatchEvent


class WatchFormat(StrEnum):
    """Format of events on standard output: lines for people, or JSON lines."""

    TEXT = "text"
    JSONL = "jsonl"


def print_events(events: Sequence[WatchEvent], format_: WatchFormat) -> None:
    """Print events to standard output at once."""
    for event in events:
        sys.stdout.write(f"{event.line() if format_ is WatchFormat.TEXT else json_line(event)}\n")
    if events:
        sys.stdout.flush()


def append_events(events: Sequence[WatchEvent], path: Path) -> None:
    """Append events to a file as JSON lines.

    The file is opened for each call, so that it may be rotated. The lines are written in one operation; if a line
    before was cut, by a killed process or a full disk, they begin on a new line. `path`: the file; created if it does
    not exist. Raises OSError if the file cannot be written.
    """
    if not events:
        return
    data = "".join(f"{json_line(event)}\n" for event in events).encode()
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(handle).st_size
        if size and os.pread(handle, 1, size - 1) != b"\n":
            data = b"\n" + data
        written = os.write(handle, data)
        if written != len(data):
            raise OSError(28, "No space left on device", str(path))
    finally:
        os.close(handle)


def json_line(event: WatchEvent) -> str:
    """Return an event as one line of JSON."""
    return json.dumps(event.record(), ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
