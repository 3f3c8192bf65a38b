"""Changes of the members between recorded rebalances, client by client, and the causes of the rebalances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from scenarios.kafka.incident.recorded import RecordedGroup, RecordedMember, RecordedRebalance
from simulator.plurals import counted


class ChangeKind(StrEnum):
    """What happened to a client."""

    JOINED = "joined"
    """threads that were not members before"""
    RESTARTED = "restarted"
    """new members for threads whose old ones were in the group until then: their sessions had not timed out"""
    NEW_PROCESS = "new_process_id"
    """the same with another process id: the state directory is new"""
    RETURNED = "returned"
    """threads that had left before, with the same process id"""
    LEFT = "left"
    """members that left, or whose sessions timed out"""
    EXPIRED = "expired"
    """old members of threads that had returned before: their sessions timed out"""


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """A change of the members of one client between two rebalances.

    Attributes:
        process_id: Process id; the new one of `NEW_PROCESS`.
        previous_process_id: Process id before, of `NEW_PROCESS`; None otherwise.
        threads: Client ids of the threads, each once.
    """

    position: int
    kind: ChangeKind
    client_id: str
    process_id: str
    previous_process_id: str | None
    threads: tuple[str, ...]


def client_changes(rebalances: Sequence[RecordedRebalance]) -> tuple[RecordedChange, ...]:
    """Return the changes in the order of the rebalances, each kind of a client once for each of them.

    The first rebalance shows none.
    """
    last_of_thread: dict[str, RecordedMember] = {}
    changes: list[RecordedChange] = []
    for position, rebalance in enumerate(rebalances):
        before = {member.id: member for member in rebalances[position - 1].members} if position else {}
        now = {member.id: member for member in rebalance.members}
        if position:
            threads_of: dict[tuple[str, ChangeKind, str, str | None], list[str]] = {}
            for thread, client_id, kind, process_id, previous in _member_changes(before, now, last_of_thread):
                threads_of.setdefault((client_id, kind, process_id, previous), []).append(thread)
            changes += [
                RecordedChange(position, kind, client_id, process_id, previous, tuple(dict.fromkeys(threads)))
                for (client_id, kind, process_id, previous), threads in threads_of.items()
            ]
        last_of_thread.update({_thread(member): member for member in rebalance.members if member.id not in before})
    return tuple(changes)


def _member_changes(
    before: dict[str, RecordedMember], now: dict[str, RecordedMember], last_of_thread: dict[str, RecordedMember]
) -> Iterator[tuple[str, str, ChangeKind, str, str | None]]:
    appeared = [member for name, member in now.items() if name not in before]
    replaced = set()
    for member in appeared:
        last = last_of_thread.get(_thread(member))
        if last is None:
            yield _thread(member), member.client_id, ChangeKind.JOINED, member.process_id, None
            continue
        replaced.add(last.id)
        if last.process_id != member.process_id:
            yield _thread(member), member.client_id, ChangeKind.NEW_PROCESS, member.process_id, last.process_id
        else:
            kind = ChangeKind.RESTARTED if last.id in before else ChangeKind.RETURNED
            yield _thread(member), member.client_id, kind, member.process_id, None
    current = {_thread(member): member.id for member in now.values()}
    for name, member in before.items():
        if name in now or name in replaced:
            continue
        kind = ChangeKind.EXPIRED if _thread(member) in current else ChangeKind.LEFT
        yield _thread(member), member.client_id, kind, member.process_id, None


def _thread(member: RecordedMember) -> str:
    return member.thread or member.id


FIRST: Final = "first"
FOLLOW_UP: Final = "follow_up"
PROBING: Final = "probing"
STATED: Final = "stated"
UNKNOWN: Final = "unknown"

_CLOCK_TOLERANCE_MS: Final = 5_000
"""Clocks of clients and brokers may differ; a probing rebalance is scheduled by the former."""


@dataclass(frozen=True, slots=True)
class RecordedCause:
    """A cause of a rebalance.

    Attributes:
        kind: A `ChangeKind`, or one of the constants of this module.
        client: Client id; None if no single client caused it.
        text: The cause as text.
    """

    kind: str
    client: str | None
    text: str


def rebalance_causes(group: RecordedGroup) -> tuple[tuple[RecordedCause, ...], ...]:
    """Return the causes of each rebalance.

    Changes of the members come first. Without any, a rebalance is one that the previous assignment requested, or one
    for a reason that a client logged.
    """
    changes: dict[int, list[RecordedChange]] = {}
    for change in client_changes(group.rebalances):
        changes.setdefault(change.position, []).append(change)
    if group.has_consumers:
        changes = {position: _without_static_returns(group, own) for position, own in changes.items()}
    return tuple(
        tuple(_cause_of_change(change, of_consumer=group.has_consumers) for change in changes[position])
        if position in changes
        else (_cause_without_change(group, position),)
        for position in range(len(group.rebalances))
    )


def _without_static_returns(group: RecordedGroup, changes: list[RecordedChange]) -> list[RecordedChange]:
    """Return changes without static consumers that returned: that causes no rebalance, and a later one shows it."""
    static = {member.process_id for r in group.rebalances for member in r.members if member.instance_id is not None}
    others = [
        change for change in changes if change.kind is not ChangeKind.RESTARTED or change.process_id not in static
    ]
    return others or changes


def _cause_of_change(change: RecordedChange, *, of_consumer: bool) -> RecordedCause:
    if of_consumer:
        return RecordedCause(str(change.kind), change.client_id, _consumer_text(change))
    threads = counted(len(change.threads), "thread")
    texts = {
        ChangeKind.JOINED: f"{change.client_id} joined ({threads})",
        ChangeKind.RESTARTED: f"{change.client_id} restarted ({threads}, same process id)",
        ChangeKind.NEW_PROCESS: f"{change.client_id} restarted ({threads}, new process id)",
        ChangeKind.RETURNED: f"{change.client_id} returned ({threads}, same process id)",
        ChangeKind.LEFT: f"{change.client_id} left ({threads})",
        ChangeKind.EXPIRED: f"old session of {change.client_id} timed out ({threads})",
    }
    return RecordedCause(str(change.kind), change.client_id, texts[change.kind])


def _consumer_text(change: RecordedChange) -> str:
    texts = {
        ChangeKind.JOINED: f"{change.client_id} joined",
        ChangeKind.RESTARTED: f"{change.client_id} restarted (new member id)",
        ChangeKind.RETURNED: f"{change.client_id} returned",
        ChangeKind.LEFT: f"{change.client_id} left or timed out",
        ChangeKind.EXPIRED: f"old session of {change.client_id} timed out",
    }
    return texts[change.kind]


def _cause_without_change(group: RecordedGroup, position: int) -> RecordedCause:
    rebalance = group.rebalances[position]
    if not position:
        return RecordedCause(FIRST, None, "first recorded assignment")
    previous = group.rebalances[position - 1]
    if rebalance.missing:
        return RecordedCause(UNKNOWN, None, f"unknown: {rebalance.missing} rebalances before it were not recorded")
    due = [member.next_rebalance_at_ms for member in previous.members if member.next_rebalance_at_ms is not None]
    if 0 in due or (previous.withheld and not due):
        what = "partitions" if group.has_consumers else "tasks"
        return RecordedCause(FOLLOW_UP, None, f"follow-up: revoked {what} can be assigned")
    if due and min(due) <= rebalance.at_ms + _CLOCK_TOLERANCE_MS:
        return RecordedCause(PROBING, None, "probing for warm-ups that have caught up")
    return _stated_cause(group, rebalance, previous)


def _stated_cause(group: RecordedGroup, rebalance: RecordedRebalance, previous: RecordedRebalance) -> RecordedCause:
    topics_before = {topic for member in previous.members for topic in member.topics}
    topics_now = {topic for member in rebalance.members for topic in member.topics}
    if topics_before != topics_now:
        return RecordedCause(STATED, None, "the subscribed topics changed")
    grown = [
        f"{topic} has {number} partitions instead of {previous.partitions[topic]}"
        for topic, number in rebalance.partitions.items()
        if previous.partitions.get(topic, number) != number
    ]
    if grown:
        return RecordedCause(STATED, None, ", ".join(grown))
    if rebalance.assignor != previous.assignor:
        return RecordedCause(STATED, None, f"the assignor changed from {previous.assignor} to {rebalance.assignor}")
    if rebalance.configs != previous.configs:
        return RecordedCause(STATED, None, "configs of the group changed")
    if rebalance.stated_causes:
        return RecordedCause(STATED, rebalance.stated_causes[0].partition(":")[0], rebalance.stated_causes[0])
    if group.protocol == "consumer":
        return RecordedCause(UNKNOWN, None, "a subscription or the metadata of a topic changed")
    if group.protocol == "streams":
        return RecordedCause(UNKNOWN, None, "topics or the topology changed")
    return RecordedCause(UNKNOWN, None, "a member joined again; its log has the reason")


def clients_of(causes: Sequence[RecordedCause]) -> tuple[str, ...]:
    """Return the clients of causes, each once."""
    return tuple(dict.fromkeys(cause.client for cause in causes if cause.client is not None))
