"""The coordinator of a classic group, without a clock: its answers to requests, and when it acts by itself.

A group is *empty*, *preparing* a rebalance (it waits for JoinGroup requests), *completing* it (the leader computes, and
the others wait for the assignment with SyncGroup requests), or *stable*. The answers to JoinGroup and SyncGroup
requests come when the group reaches the next phase, so they are a list that the caller takes after each request.

A member that is down stays in the group until its session has timed out, or until a rebalance has waited for it for too
long. A static one stays even then, and keeps its assignment for the process that replaces it.

`tests/group_histories` compares this with the released coordinators.

Source: `GroupMetadataManager.classicGroupJoin`, `.classicGroupSync`, `.classicGroupHeartbeat`, `.classicGroupLeave`,
`.prepareRebalance`, `.completeClassicGroupJoin`, `.expireClassicGroupMemberHeartbeat`, `.expirePendingSync`,
`ClassicGroup` and `ClassicGroupMember` of `org.apache.kafka.coordinator.group`, Kafka 3.9.2 and 4.3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from simulator.group.streams_coordinator import Timer

M = TypeVar("M", bound=Hashable)
"""What identifies a member."""
NEW_MEMBER_TIMEOUT_MS = 300_000
"""How long a new member may wait for its first rebalance (`classicGroupNewMemberJoinTimeoutMs`)."""


class RebalancePhase(Enum):
    """Where a group is in a rebalance."""

    EMPTY = auto()
    PREPARING = auto()
    COMPLETING = auto()
    STABLE = auto()


class Error(Enum):
    """An error code of Kafka's protocol."""

    NONE = auto()
    REBALANCE_IN_PROGRESS = auto()
    UNKNOWN_MEMBER_ID = auto()
    ILLEGAL_GENERATION = auto()
    FENCED_INSTANCE_ID = auto()


@dataclass(slots=True)
class ClassicMember:
    """A member of the group.

    Attributes:
        metadata: its subscription, a change of which triggers a rebalance.
        instance: its instance id; None for a dynamic member.
        session_timeout_ms: how long it may send no heartbeat.
        rebalance_timeout_ms: how long the group may wait for its JoinGroup request.
        assignment: what it has been assigned in this generation; None for nothing.
    """

    metadata: Hashable
    instance: Hashable = None
    session_timeout_ms: int = 45_000
    rebalance_timeout_ms: int = 300_000
    assignment: Hashable = None
    is_new: bool = False
    awaits_join: bool = False
    awaits_sync: bool = False


class Answer(NamedTuple):
    """The answer to a JoinGroup or SyncGroup request.

    Attributes:
        member: who sent it.
        is_join: whether it was a JoinGroup request.
        error: the error, if any.
        generation: the generation that the member has joined.
        leads: whether the member leads the group, so that it has to compute the assignment.
        skips_assignment: whether it leads, but must not compute an assignment, because it has replaced the leader.
        members: if it leads, the metadata of all members.
        assignment: what it is assigned, as an answer to SyncGroup.
    """

    member: Hashable
    is_join: bool
    error: Error = Error.NONE
    generation: int = 0
    leads: bool = False
    skips_assignment: bool = False
    members: Mapping[Any, Hashable] = MappingProxyType({})
    assignment: Hashable = None


@dataclass(slots=True)
class ClassicCoordinator(Generic[M]):
    """A classic group.

    Attributes:
        initial_delay_ms: `group.initial.rebalance.delay.ms`.
        choose: chooses a leader among members, if the leader has left or does not join. Kafka takes the first one in
            the order of a hash table, and member ids are random.
        changes_assignor: returns whether members have another assignor in common than those of the last generation, so
            that a static member that is back triggers a rebalance.
        extends_every_initial_delay: whether each initial delay is extended while members join, not only the first one
            of the group: since Kafka 4.0. (Source: `GroupMetadataManager.addMemberAndRebalance`, 4.3.1;
            `GroupCoordinator.addMemberAndRebalance`, 3.9.1.)
        rebalances: how many rebalances have begun.
        members: the members in the order in which they joined.
        leader: the member that computes assignments.
        timers: timers that were started or canceled since they were last taken: `join`, `sync`, or `session` with a
            member.
        answers: the answers to requests since they were last taken.
    """

    initial_delay_ms: int
    choose: Callable[[Collection[M]], M] = lambda members: next(iter(members))
    changes_assignor: Callable[[Collection[M]], bool] = lambda _: False
    extends_every_initial_delay: bool = True
    phase: RebalancePhase = RebalancePhase.EMPTY
    generation: int = 0
    rebalances: int = 0
    members: dict[M, ClassicMember] = field(default_factory=dict)
    leader: M | None = None
    timers: list[Timer] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    _instances: dict[Hashable, M] = field(default_factory=dict)
    _fenced: set[M] = field(default_factory=set)
    _pending: set[M] = field(default_factory=set)
    _pending_sync: set[M] = field(default_factory=set)
    _has_run: bool = False
    _was_empty: bool = False
    _has_newcomer: bool = False
    _delay_ms: int = 0
    _remaining_ms: int = 0
    _is_initial: bool = False

    def resume(self, members: Mapping[M, ClassicMember], generation: int) -> None:
        """Continue with members of a generation, which have their assignments."""
        self.members.update(members)
        self._instances.update((one.instance, name) for name, one in members.items() if one.instance is not None)
        self.generation, self._has_run = generation, True
        if members:
            self.phase, self.leader = RebalancePhase.STABLE, self.choose(self.members)

    def member_with(self, instance: Hashable) -> M | None:
        """Return the static member with an instance id; None if there is none."""
        return self._instances.get(instance)

    def request_id(self, member: M, session_timeout_ms: int, now_ms: int) -> None:
        """Process the first JoinGroup request of a dynamic member, which gets its member id (`MEMBER_ID_REQUIRED`).

        Rebalances wait for its next request.
        """
        self._pending.add(member)
        self.timers.append(Timer(("session", member), now_ms + session_timeout_ms))

    def join(self, member: M, new: ClassicMember, now_ms: int) -> None:
        """Process a JoinGroup request.

        `new`: what it announces.
        """
        known = self.members.get(member)
        before = None if new.instance is None else self._instances.get(new.instance)
        if known is None and before is not None:
            self._replace(before, member, new, now_ms)
        elif known is None:
            self._add(member, new, now_ms)
        elif self._rebalances_with(member, new.metadata):
            known.metadata, known.awaits_join = new.metadata, True
            self._prepare_or_complete(now_ms)
        else:
            self._answer_join(member)

    def _rebalances_with(self, member: M, metadata: Hashable) -> bool:
        """Return whether a JoinGroup request of a member begins a rebalance, or joins the one in preparation."""
        if self.phase is RebalancePhase.PREPARING or self.members[member].metadata != metadata:
            return True
        return self.phase is RebalancePhase.STABLE and member == self.leader

    def _add(self, member: M, new: ClassicMember, now_ms: int) -> None:
        if self.phase is RebalancePhase.PREPARING and self._was_empty:
            self._has_newcomer = self.extends_every_initial_delay or not self._has_run
        new.is_new = new.awaits_join = True
        self._pending.discard(member)
        self.members[member] = new
        if new.instance is not None:
            self._instances[new.instance] = member
        if self.leader is None:
            self.leader = member
        self._expect(member, now_ms, NEW_MEMBER_TIMEOUT_MS)
        self._prepare_or_complete(now_ms)

    def _replace(self, before: M, member: M, new: ClassicMember, now_ms: int) -> None:
        """Let a static member take the place of the one with its instance id."""
        former = self.members.pop(before)
        self._fenced.add(before)
        if former.awaits_join:
            self.answers.append(Answer(before, is_join=True, error=Error.FENCED_INSTANCE_ID))
        if former.awaits_sync:
            self.answers.append(Answer(before, is_join=False, error=Error.FENCED_INSTANCE_ID))
        new.assignment = former.assignment
        self.members[member] = new
        self._instances[new.instance] = member
        if self.leader == before:
            self.leader = member
        self._expect(member, now_ms)
        new.awaits_join = True
        if self.phase is RebalancePhase.STABLE and not self.changes_assignor(self.members):
            new.awaits_join = False
            self._answer_join(member, skips_assignment=member == self.leader)
        elif self.phase in (RebalancePhase.STABLE, RebalancePhase.COMPLETING):
            self._prepare(now_ms)
        else:
            self._complete_if_all_joined(now_ms)

    def _answer_join(self, member: M, *, skips_assignment: bool = False) -> None:
        answer = Answer(member, is_join=True, generation=self.generation)
        if member == self.leader:
            members = {name: one.metadata for name, one in self.members.items()}
            answer = answer._replace(leads=True, skips_assignment=skips_assignment, members=members)
        self.answers.append(answer)

    def sync(self, member: M, generation: int, now_ms: int, assignments: Mapping[M, Hashable] | None = None) -> None:
        """Process a SyncGroup request.

        `assignments`: what the leader assigns to each member.
        """
        error = self._validate(member, generation)
        if error is Error.NONE and self.phase is RebalancePhase.PREPARING:
            error = Error.REBALANCE_IN_PROGRESS
        if error is not Error.NONE:
            self.answers.append(Answer(member, is_join=False, error=error))
            return
        one = self.members[member]
        self._pending_sync.discard(member)
        if not self._pending_sync:
            self.timers.append(Timer(("sync", None), None))
        if self.phase is RebalancePhase.STABLE:
            self.answers.append(Answer(member, is_join=False, assignment=one.assignment))
            return
        one.awaits_sync = True
        if member == self.leader:
            for name, other in self.members.items():
                other.assignment = (assignments or {}).get(name)
            self._answer_syncs(Error.NONE, now_ms)
            self.phase = RebalancePhase.STABLE

    def _answer_syncs(self, error: Error, now_ms: int) -> None:
        """Answer the waiting SyncGroup requests, and begin the sessions of their members anew."""
        for name, one in self.members.items():
            if one.awaits_sync:
                one.awaits_sync = False
                self.answers.append(Answer(name, is_join=False, error=error, assignment=one.assignment))
                self._expect(name, now_ms)

    def heartbeat(self, member: M, generation: int, now_ms: int) -> Error:
        """Process a heartbeat."""
        error = self._validate(member, generation)
        if error is not Error.NONE:
            return error
        self._expect(member, now_ms)
        return Error.REBALANCE_IN_PROGRESS if self.phase is RebalancePhase.PREPARING else Error.NONE

    def _validate(self, member: M, generation: int) -> Error:
        if member in self._fenced:
            return Error.FENCED_INSTANCE_ID
        if member not in self.members:
            return Error.UNKNOWN_MEMBER_ID
        return Error.NONE if generation == self.generation else Error.ILLEGAL_GENERATION

    def leave(self, member: M, now_ms: int) -> None:
        """Process a LeaveGroup request of a member."""
        if member in self._pending:
            self._pending.remove(member)
        elif member in self.members:
            self._remove(member)
        else:
            return
        if self.phase is not RebalancePhase.EMPTY:
            self._prepare_or_complete(now_ms)

    def expire(self, member: M, now_ms: int) -> None:
        """Process the timer `session`: remove a member, unless it waits for the answer to a request."""
        one = self.members.get(member)
        is_pending = member in self._pending
        self._pending.discard(member)
        if one is not None and not one.is_new and (one.awaits_join or one.awaits_sync):
            return
        if one is not None:
            self._remove(member)
        if self.phase is RebalancePhase.PREPARING:
            if (is_pending or one is not None) and self._have_all_joined:
                self._complete(now_ms)
        elif one is not None:
            self._prepare(now_ms)

    def _remove(self, member: M) -> None:
        one = self.members.pop(member)
        if one.awaits_join:
            self.answers.append(Answer(member, is_join=True, error=Error.UNKNOWN_MEMBER_ID))
        if one.instance is not None:
            del self._instances[one.instance]
        if self.leader == member:
            self.leader = self.choose(self.members) if self.members else None
        self._pending_sync.discard(member)
        self.timers.append(Timer(("session", member), None))

    @property
    def _have_all_joined(self) -> bool:
        return not self._pending and all(one.awaits_join for one in self.members.values())

    @property
    def _rebalance_timeout_ms(self) -> int:
        return max((one.rebalance_timeout_ms for one in self.members.values()), default=0)

    def _prepare_or_complete(self, now_ms: int) -> None:
        if self.phase is RebalancePhase.PREPARING:
            self._complete_if_all_joined(now_ms)
        else:
            self._prepare(now_ms)

    def _prepare(self, now_ms: int) -> None:
        """Begin a rebalance."""
        if self.phase is RebalancePhase.COMPLETING:
            self._answer_syncs(Error.REBALANCE_IN_PROGRESS, now_ms)
        self._pending_sync.clear()
        self.timers.append(Timer(("sync", None), None))
        self._was_empty, self.phase = self.phase is RebalancePhase.EMPTY, RebalancePhase.PREPARING
        self.rebalances += 1
        if self._was_empty:
            self._is_initial, self._delay_ms = True, self.initial_delay_ms
            self._remaining_ms = max(self._rebalance_timeout_ms - self.initial_delay_ms, 0)
            self.timers.append(Timer(("join", None), now_ms + self.initial_delay_ms))
        elif self._have_all_joined:
            self._complete(now_ms)
        else:
            self.timers.append(Timer(("join", None), now_ms + self._rebalance_timeout_ms))

    def _complete_if_all_joined(self, now_ms: int) -> None:
        if self.phase is RebalancePhase.PREPARING and not self._was_empty and self._have_all_joined:
            self._complete(now_ms)

    def end_join(self, now_ms: int) -> None:
        """Process the timer `join`: the initial delay, or the time for JoinGroup requests, is over."""
        if self._is_initial and self._has_newcomer and self._remaining_ms:
            delay_ms, self._has_newcomer = min(self.initial_delay_ms, self._remaining_ms), False
            self._remaining_ms = max(self._remaining_ms - self._delay_ms, 0)
            self._delay_ms = delay_ms
            self.timers.append(Timer(("join", None), now_ms + delay_ms))
        else:
            self._complete(now_ms)

    def _complete(self, now_ms: int) -> None:
        """Complete the JoinGroup requests; remove dynamic members that have sent none."""
        self.timers.append(Timer(("join", None), None))
        self._is_initial = False
        absent = [name for name, one in self.members.items() if not one.awaits_join and one.instance is None]
        for name in absent:
            self._remove(name)
        if self.members and not self._elect():
            self.timers.append(Timer(("join", None), now_ms + self._rebalance_timeout_ms))
            return
        self.generation += 1
        self._pending_sync.clear()
        if not self.members:
            self.phase = RebalancePhase.EMPTY
            return
        self.phase, self._has_run = RebalancePhase.COMPLETING, True
        for name, one in self.members.items():
            if one.awaits_join:
                one.awaits_join = False
                self._answer_join(name)
            self._expect(name, now_ms)
            one.is_new = False
            self._pending_sync.add(name)
        self.timers.append(Timer(("sync", None), now_ms + self._rebalance_timeout_ms))

    def _elect(self) -> bool:
        """Let a member lead that has joined; return whether there is one."""
        joined = [name for name, one in self.members.items() if one.awaits_join]
        if joined and self.leader not in joined:
            self.leader = self.choose(joined)
        return bool(joined)

    def end_sync(self, now_ms: int) -> None:
        """Process the timer `sync`: remove the members that have sent no SyncGroup request."""
        if self.phase in (RebalancePhase.COMPLETING, RebalancePhase.STABLE) and self._pending_sync:
            for name in self._in_order(self._pending_sync):
                self._remove(name)
            self._prepare(now_ms)

    def _in_order(self, members: Iterable[M]) -> list[M]:
        chosen = set(members)
        return [name for name in self.members if name in chosen]

    def _expect(self, member: M, now_ms: int, timeout_ms: int | None = None) -> None:
        """Begin the session of a member anew."""
        after_ms = self.members[member].session_timeout_ms if timeout_ms is None else timeout_ms
        self.timers.append(Timer(("session", member), now_ms + after_ms))
