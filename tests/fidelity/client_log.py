"""What a client logs at the level INFO: when and from which offsets it opens stores, begins to restore, and rejoins.

Source of the messages: `TaskManager.handleAssignment`, `ProcessorStateManager.initializeStoreOffsets` (up to 4.2
`initializeStoreOffsetsFromCheckpoint`), `StreamTask.initializeIfNeeded`, `StandbyTask.initializeIfNeeded`,
`DefaultStateUpdater.maybeCompleteRestoration`, `AbstractCoordinator.requestRejoin` and `.sendJoinGroupRequest`,
`.SyncGroupResponseHandler`, Kafka 3.9.1, 4.3.1 and 4.4.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

_LINE = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) \[(.+?)\] \w+ ([\w.$]+) - (.*)$", re.MULTILINE)
_STORE = re.compile(r"State store \S+ (initialized from checkpoint|did not find checkpoint|is not logged)")
_OPENED = re.compile(
    r"stream-thread \[(\S+)-StreamThread-\d+\] (?:stream|standby)-task \[(\d+_\d+)\] State store \S+ "
    r"(?:did not find checkpoint offset|initialized from checkpoint with offset (\d+)).* at changelog (\S+)-(\d+)$"
)
_INITIALIZED = re.compile(r"(standby-)?task \[(\d+_\d+)\] Initialized$")
_RESTORED = re.compile(r"Stateful active task (\d+_\d+) completed restoration")
_CONSUMER = re.compile(r"\[Consumer (?:instanceId=\S+, )?clientId=(\S+?-StreamThread-\d+)-consumer, groupId=\S+\] (.*)")
_LEARNS = "Request joining group due to: group is already rebalancing"
_FOLLOWS_UP = re.compile(r"Request joining group due to: (need to revoke|triggered followup rebalance)")
_SYNCED = "Successfully synced group"
_JOINS = "(Re-)joining group"


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a log: time since 1970, thread, class and message."""

    at_ms: int
    thread: str
    logger: str
    message: str


@dataclass(slots=True)
class ClientSamples:
    """Measured durations in milliseconds.

    Attributes:
        open_store: Opening a store: the time between two tasks that a thread initializes, per store of the second.
        restore_start: From the initialization of an active task with little state until it is restored.
        rejoin: From learning of a rebalance, or from an assignment that requires another one, until the JoinGroup
            request.
        start: From the start of the process until its first JoinGroup request.
    """

    open_store: list[float] = field(default_factory=list)
    restore_start: list[float] = field(default_factory=list)
    rejoin: list[float] = field(default_factory=list)
    start: list[float] = field(default_factory=list)

    def add(self, other: ClientSamples) -> None:
        """Add the samples of another log."""
        for name in self.__dataclass_fields__:
            getattr(self, name).extend(getattr(other, name))


def read_samples(log: str, started_ms: int | None = None) -> ClientSamples:
    """Return the durations that a log of one client shows.

    Args:
        log: The log of one process with one application.
        started_ms: When the process was started, since 1970; None to leave `start` empty.
    """
    lines = [line for line in log_lines(log) if started_ms is None or line.at_ms >= started_ms]
    samples = ClientSamples(_open_store(lines), _restore_start(lines), _rejoin(lines))
    first_join = next((line.at_ms for line in lines if _JOINS in line.message), None)
    if started_ms is not None and first_join is not None:
        samples.start.append(first_join - started_ms)
    return samples


def opened_offsets(log: str, client: str) -> dict[str, dict[tuple[str, int], int]]:
    """Return up to where each store had been written to disk when it was last opened.

    Args:
        log: The log of one process.
        client: Client id, without the number of a thread.

    Returns:
        The next offset to read, 0 for an empty store; by task, changelog and partition.
    """
    opened: dict[str, dict[tuple[str, int], int]] = {}
    for line in log_lines(log):
        match = _OPENED.search(line.message)
        if match and match[1] == client:
            last = -1 if match[3] is None else int(match[3])
            opened.setdefault(match[2], {})[match[4], int(match[5])] = last + 1
    return opened


def log_lines(log: str) -> Iterator[LogLine]:
    """Yield the first line of each entry of a log."""
    for match in _LINE.finditer(log):
        at_ms = round(datetime.fromisoformat(match[1]).timestamp() * 1000)
        yield LogLine(at_ms, match[2], match[3], match[4])


def _open_store(lines: list[LogLine]) -> list[float]:
    """Return the time per store between consecutive initializations; the first after an assignment is left out."""
    samples, last_ms, stores = [], dict[str, int](), dict[str, int]()
    for line in lines:
        if "Handle new assignment with:" in line.message:
            last_ms.pop(line.thread, None)
            stores[line.thread] = 0
        elif _STORE.search(line.message):
            stores[line.thread] = stores.get(line.thread, 0) + 1
        elif _INITIALIZED.search(line.message):
            num_stores, since_ms = stores.get(line.thread, 0), last_ms.get(line.thread)
            if num_stores and since_ms is not None:
                samples.append((line.at_ms - since_ms) / num_stores)
            last_ms[line.thread] = line.at_ms
            stores[line.thread] = 0
    return samples


def _restore_start(lines: list[LogLine]) -> list[float]:
    samples, initialized_ms = [], dict[str, int]()
    for line in lines:
        if (match := _INITIALIZED.search(line.message)) and match[1] is None:
            initialized_ms[match[2]] = line.at_ms
        elif (match := _RESTORED.search(line.message)) and match[1] in initialized_ms:
            samples.append(float(line.at_ms - initialized_ms.pop(match[1])))
    return samples


def _rejoin(lines: list[LogLine]) -> list[float]:
    """Return the delays of JoinGroup requests, unless the thread opened stores in the meantime."""
    samples, synced_ms, since_ms = [], dict[str, int](), dict[str, int]()
    for line in lines:
        if _INITIALIZED.search(line.message):
            since_ms.pop(line.thread, None)
            synced_ms.pop(line.thread, None)
        match = _CONSUMER.search(line.message)
        if match is None:
            continue
        thread, text = match[1], match[2]
        if text.startswith(_SYNCED):
            synced_ms[thread] = line.at_ms
        elif text.startswith(_LEARNS):
            since_ms.setdefault(thread, line.at_ms)
        elif _FOLLOWS_UP.match(text) and thread in synced_ms:
            since_ms[thread] = synced_ms.pop(thread)
        elif text.startswith(_JOINS):
            synced_ms.pop(thread, None)
            if thread in since_ms:
                samples.append(float(line.at_ms - since_ms.pop(thread)))
    return samples
