"""Changes of the members between recorded rebalances, client by client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from scenarios.kafka.incident.recorded import RecordedMember, RecordedRebalance


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
        position: Position of the rebalance that shows it.
        kind: What happened.
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
