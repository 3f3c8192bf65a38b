"""The log of a Kafka Streams group's leader at INFO: assignments of successive rebalances.

Read is what `StreamsPartitionAssignor` logs, in the wordings of 2.4 to 4.x; whatever else stands in the log is passed
over. Times are taken as they stand; a log does not say in which zone.

Source: `org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor` (`assignTasksToClients`,
`computeNewAssignment`), `ClientState.currentAssignment`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from scenarios.importers.lines import FormatError

RELEVANT = (
    r"participating in this rebalance|Assigning stateful tasks: |and stateless tasks: |including stateful"
    r"|Assigned tasks |Assignment of tasks to nodes: |activeTasks: \(|Finished (un)?stable assignment"
    r"|^[0-9a-f]{8}-[0-9a-f-]{27}: \["
)
"""What the lines have that matter, as a regular expression of Java and of Python."""

_TIME = re.compile(r"\[?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?")
_THREAD = re.compile(r"stream-thread \[([^\]]+)\]")
_PROCESS = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_CONSUMERS = re.compile(rf"({_PROCESS}): \[([^\]]*)\]")
_STATEFUL = re.compile(r"(?:Assigning stateful tasks: |including stateful )\[([^\]]*)\]")
_TASKS_OF = re.compile(rf"({_PROCESS})=\[activeTasks: \(\[([^\]]*)\]\) standbyTasks: \(\[([^\]]*)\]\)")
_TASK = re.compile(r"(?:[\w.-]+__)?\d{1,9}_\d{1,9}")
_DEBUG = "Assigning tasks "
"""What the leader says at DEBUG before it assigns has the same form, with what clients had before."""
_BEGINS = ("Assigned tasks ", "Assignment of tasks to nodes: ")


@dataclass(frozen=True, slots=True)
class ClientTasks:
    """What a client is to have: tasks as Kafka writes them, sorted as in the text; `threads` is None if not told."""

    process_id: str
    threads: int | None
    active: tuple[str, ...]
    standby: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoggedRebalance:
    """One assignment of the leader.

    Attributes:
        line: where the assignment begins.
        at_ms: the log's time, taken for UTC; None if the line has none.
        leader: the stream thread that led; None if the line has none.
        stateful: the tasks that have state; None if it was not logged.
        stable: whether no follow-up rebalance was needed; None if it was not logged.
    """

    line: int
    at_ms: int | None
    leader: str | None
    clients: tuple[ClientTasks, ...]
    stateful: frozenset[str] | None
    stable: bool | None


@dataclass(slots=True)
class _Draft:
    line: int
    at_ms: int | None
    leader: str | None
    stateful: frozenset[str] | None
    threads: dict[str, int]
    clients: list[ClientTasks] = field(default_factory=list)
    stable: bool | None = None


def read_rebalances(text: str) -> tuple[LoggedRebalance, ...]:
    """Read the rebalances, in the order of the text.

    Raises:
        FormatError: an assignment is cut off or lists what is no task, or there is none at all.
    """
    drafts: list[_Draft] = []
    threads: dict[str, int] = {}
    stateful: frozenset[str] | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        if "participating in this rebalance" in line:
            threads, stateful = {}, None
        for process, consumers in _CONSUMERS.findall(line):
            threads[process] = len(_split(consumers))
        if match := _STATEFUL.search(line):
            stateful = frozenset(_tasks(number, match[1]))
        if any(begin in line for begin in _BEGINS):
            drafts.append(_Draft(number, _time_ms(line), _leader(line), stateful, threads))
        if "activeTasks: (" in line and _DEBUG not in line:
            _add_clients(drafts, number, line)
        if drafts and drafts[-1].stable is None and "stable assignment of tasks" in line:
            drafts[-1].stable = "unstable" not in line
    if not drafts:
        raise FormatError(None, "no assignments; the log should have those of the group's leader, at INFO")
    return tuple(_finished(drafts))


def _add_clients(drafts: list[_Draft], number: int, line: str) -> None:
    found = _TASKS_OF.findall(line)
    if not drafts or len(found) != line.count("activeTasks: ("):
        raise FormatError(
            number, f"'{line.strip()[:60]}' is not the tasks of a client: cut off, or without a beginning"
        )
    draft = drafts[-1]
    for process, active, standby in found:
        tasks = ClientTasks(process, draft.threads.get(process), _tasks(number, active), _tasks(number, standby))
        draft.clients.append(tasks)


def _finished(drafts: list[_Draft]) -> Iterator[LoggedRebalance]:
    for draft in drafts:
        if not draft.clients:
            raise FormatError(draft.line, "an assignment without clients: the lines that should follow are missing")
        yield LoggedRebalance(draft.line, draft.at_ms, draft.leader, tuple(draft.clients), draft.stateful, draft.stable)


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _tasks(number: int, text: str) -> tuple[str, ...]:
    tasks = _split(text)
    for task in tasks:
        if not _TASK.fullmatch(task):
            raise FormatError(number, f"'{task[:60]}' is not a task (such as 0_3)")
    return tuple(tasks)


def _time_ms(line: str) -> int | None:
    match = _TIME.search(line[:60])
    if match is None:
        return None
    try:
        seconds = datetime.fromisoformat(match[1]).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
    return round(seconds) * 1_000 + int((match[2] or "0").ljust(3, "0")[:3])


def _leader(line: str) -> str | None:
    match = _THREAD.search(line)
    return match[1] if match else None
