"""The log of a Kafka Streams group's leader at INFO or DEBUG: assignments of successive rebalances.

Read is what `StreamsPartitionAssignor` logs, in the wordings of 2.4 to 4.x; whatever else stands in the log is passed
over. Times are taken as they stand; a log does not say in which zone.

Source: `org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor` (`assignTasksToClients`,
`computeNewAssignment`, `addClientAssignments`), `ClientState.currentAssignment`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from scenarios.kafka.formats.lines import FormatError

RELEVANT_LINE = (
    r"participating in this rebalance|Assigning stateful tasks: |and stateless tasks: |including stateful"
    r"|Assigned tasks (to clients as |\[)|Assignment of tasks to nodes: |activeTasks: \("
    r"|Finished (un)?stable assignment|^[0-9a-f]{8}-[0-9a-f-]{27}: \["
)
"""What the lines have that matter, as a regular expression of Java and of Python."""

_TIME = re.compile(r"\[?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?")
_THREAD = re.compile(r"stream-thread \[([^\]]+)\]")
_PROCESS = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_CONSUMERS = re.compile(rf"({_PROCESS}): \[([^\]]*)\]")
_STATEFUL = re.compile(r"(?:Assigning stateful tasks: |including stateful )\[([^\]]*)\]")
_TASKS_OF = re.compile(rf"({_PROCESS})=\[activeTasks: \(\[([^\]]*)\]\) standbyTasks: \(\[([^\]]*)\]\)")
_TASK = re.compile(r"(?:[\w.-]+__)?\d{1,9}_\d{1,9}")
_CLIENT = re.compile(rf"Client ({_PROCESS}) per-consumer assignment")
_OF_THREADS = re.compile(r"\s+assigned (active|standby) \{(.*)\}")
_OF_THREAD = re.compile(r"([^\s={,]+)=\[([^\]]*)\]")
_IN_BRACES = re.compile(rf"\{{{_PROCESS}=(\[activeTasks: \(|ClientMetadata\{{)")
"""What assignors and the leader tell of what clients have before and while they decide has much the same form."""
_BEGINS = re.compile(r"Assigned tasks (to clients as |\[)|Assignment of tasks to nodes: ")


@dataclass(frozen=True, slots=True)
class LoggedClient:
    """What a client is to have: tasks as Kafka writes them, sorted as in the text; `threads` is None if not told."""

    process_id: str
    threads: int | None
    active: tuple[str, ...]
    standby: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoggedThread:
    """What a consumer, which is a stream thread, is to have; tasks sorted as in the text."""

    consumer: str
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
        by_thread: the threads of each process, by name, as far as it was logged.
    """

    line: int
    at_ms: int | None
    leader: str | None
    clients: tuple[LoggedClient, ...]
    stateful: frozenset[str] | None
    stable: bool | None
    by_thread: Mapping[str, tuple[LoggedThread, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class _Draft:
    line: int
    at_ms: int | None
    leader: str | None
    stateful: frozenset[str] | None
    consumers: dict[str, list[str]]
    clients: list[LoggedClient] = field(default_factory=list)
    stable: bool | None = None
    of_threads: dict[tuple[str, str], dict[str, tuple[str, ...]]] = field(default_factory=dict)
    """Tasks by role of each process and consumer."""


def parse_rebalances(text: str) -> tuple[LoggedRebalance, ...]:
    """Read the rebalances, in the order of the text.

    Raises:
        FormatError: an assignment is cut off or lists what is no task, or there is none at all.
    """
    drafts: list[_Draft] = []
    told: dict[str, list[str]] = {}
    stateful: frozenset[str] | None = None
    process: str | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        if "participating in this rebalance" in line:
            told, stateful = {}, None
        told.update((process_id, _split(consumers)) for process_id, consumers in _CONSUMERS.findall(line))
        if match := _STATEFUL.search(line):
            stateful = frozenset(_tasks(number, match[1]))
        begins = _BEGINS.search(line) is not None
        if begins:
            drafts.append(_Draft(number, _time_ms(line), _leader(line), stateful, told))
        if "activeTasks: (" in line and (begins or not _IN_BRACES.search(line)):
            _add_clients(drafts, number, line)
        if match := _CLIENT.search(line):
            process = match[1]
        if drafts and process is not None and (match := _OF_THREADS.fullmatch(line.rstrip())):
            _add_threads(drafts[-1], number, process, match[1], match[2])
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
        consumers = draft.consumers.get(process)
        threads = None if consumers is None else len(consumers)
        draft.clients.append(LoggedClient(process, threads, _tasks(number, active), _tasks(number, standby)))


def _add_threads(draft: _Draft, number: int, process: str, role: str, text: str) -> None:
    for consumer, tasks in _OF_THREAD.findall(text):
        draft.of_threads.setdefault((process, consumer), {})[role] = _tasks(number, tasks)


def _finished(drafts: list[_Draft]) -> Iterator[LoggedRebalance]:
    for draft in drafts:
        if not draft.clients:
            raise FormatError(draft.line, "an assignment without clients: the lines that should follow are missing")
        yield LoggedRebalance(
            draft.line,
            draft.at_ms,
            draft.leader,
            tuple(draft.clients),
            draft.stateful,
            draft.stable,
            _by_thread(draft),
        )


def _by_thread(draft: _Draft) -> dict[str, tuple[LoggedThread, ...]]:
    """The threads of the processes of which it was logged; those without tasks are in the list of all alone."""
    found: dict[str, tuple[LoggedThread, ...]] = {}
    for process in dict.fromkeys(process for process, _ in draft.of_threads):
        consumers = {*draft.consumers.get(process, ()), *(name for owner, name in draft.of_threads if owner == process)}
        roles = [(name, draft.of_threads.get((process, name), {})) for name in sorted(consumers)]
        found[process] = tuple(LoggedThread(name, of.get("active", ()), of.get("standby", ())) for name, of in roles)
    return found


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
