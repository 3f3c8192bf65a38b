"""Logs of the members of a Kafka Streams group: assignments, states of clients before them, and reasons to join again.

Supported are the messages of `StreamsPartitionAssignor` in releases 2.4 to 4.x, at INFO or DEBUG; other lines are
ignored. `HighAvailabilityTaskAssignor` logs the states of the clients, its input, at INFO with its answer, and the
leader at DEBUG before any assignor. A log has no time zone: times are read as UTC. `log_files` removes what containers
and collectors add to its lines.

Source: `org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor` (`assignTasksToClients`,
`computeNewAssignment`, `addClientAssignments`; `assignTasksToInternalClients`: `Assigning tasks and … standby
replicas`), `ClientState.currentAssignment` and `toString`, `HighAvailabilityTaskAssignor.assign` (`Decided on
assignment`), `AbstractCoordinator.requestRejoin` and `maybeLeaveGroup` (since Kafka 3.2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from scenarios.kafka.formats.lines import FormatError
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
        active: Active tasks.
        standby: Standby tasks.
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
        active: Active tasks.
        standby: Standby tasks.
    """

    consumer: str
    active: tuple[str, ...]
    standby: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoggedRebalance:
    """One assignment of the group leader.

    Attributes:
        line: Number of its first line.
        at_ms: Time of that line since 1970, read as UTC; None if the line has no time.
        leader: Name of the leading stream thread; None if the line has none.
        clients: Assignment of each client.
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
    """A rebalance while its lines are read.

    Attributes:
        line: Number of its first line.
        at_ms: Time of that line.
        leader: Name of the leading stream thread.
        stateful: Stateful tasks.
        consumers: Consumers of each process.
        clients: Assignment of each client.
        stable: Whether no follow-up rebalance is needed.
        tasks_by_role: Tasks by role, by process and consumer.
    """

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
        leaves: Whether it left the group.
        reason: The reason, as logged.
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
        active: Previous active tasks.
        standby: Previous standby tasks.
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
