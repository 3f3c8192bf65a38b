"""The classic protocol in time: members send requests, the leader computes, and members revoke tasks.

`ClassicCoordinator` decides everything about the group; here is when its members send what. Every stream thread is a
member. The threads of a client start one after the other. Requests and their answers take no time. A member sends
heartbeats from the answer to its JoinGroup request until its next one; only those are simulated that can show it that
it has to rejoin.

Members of Kafka Streams rebalance cooperatively (KIP-429): they keep their tasks while a rebalance goes on, revoke
those that move when they receive the assignment, and rejoin. Consumers do the same with a cooperative assignor, but
those that wait for a partition do not rejoin: the revocation of another one triggers the follow-up rebalance. With an
eager assignor, a member revokes all partitions before it joins, and gets partitions again with the assignment.

A leader neither polls nor joins while it computes. If another rebalance has begun by then, its assignment is discarded.

Only the leader notices that a topic has more partitions: when it refreshes its metadata, `metadata.max.age.ms` after it
did so last, it rejoins if it has not assigned them. Other reasons for which a client refreshes metadata are not
simulated, such as a partition whose leader has moved.

Source: `AbstractCoordinator`, `ConsumerCoordinator.onJoinPrepare` and `.onJoinComplete`,
`StreamsPartitionAssignor.onAssignment`, `GroupMetadataManager.onLoaded`, Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray
from assignors.model.configs import AssignmentConfigs
from simulator.assignment.leader import Decision
from simulator.group.classic_coordinator import Answer, ClassicCoordinator, ClassicMember, Error, RebalancePhase
from simulator.group.heartbeats import GroupHandover, Heartbeats
from simulator.group.member import ComputeAssignment, Member
from simulator.group.rebalance_causes import Cause
from simulator.group.reconciliation import Reconciliation, reconcile_group, without_stopped_threads
from simulator.group.streams_coordinator import Timer
from simulator.processes.received_assignment import ReceivedAssignment
from simulator.processes.rejoining import ProcessScope, Rejoining, WaitingJoins, timer_of_broker
from simulator.processes.simulation_context import Process, SelectedAssignor, SimulationContext
from simulator.random_streams import random_order
from simulator.world.group_assignment import GroupAssignment
from simulator.world.group_configs import GroupConfigs
from simulator.world.world import Start

API_TIMEOUT_MS: Final = 60_000
"""`default.api.timeout.ms` of the admin client: how long a leader retries to fetch end offsets."""
FOLLOWUP: Final = "follow-up rebalance: revoked tasks can be assigned"
_RETRY_MS: Final = 1_000
"""The time between two retries (`retry.backoff.max.ms`)."""
_NO_GENERATION: Final = -1


@dataclass(slots=True)
class _Membership:
    """What a member that is up knows.

    Attributes:
        joins: how many JoinGroup requests it has sent.
        is_rejoining: whether it will send another one.
        is_computing: whether it computes an assignment, and does nothing else.
        leads: whether it leads the generation, as the answer to its last JoinGroup request says.
    """

    generation: int = _NO_GENERATION
    joins: int = 0
    is_rejoining: bool = False
    is_computing: bool = False
    leads: bool = False


class ClassicProtocol:
    """Runs a classic group."""

    def __init__(self, context: SimulationContext) -> None:
        self._context = context
        self._scope = ProcessScope(context.env)
        self._configs = configs = context.world.application.group_configs
        self._selected = SelectedAssignor(context.leader)
        self._coordinator: ClassicCoordinator[Member] = ClassicCoordinator(
            configs.initial_rebalance_delay_ms,
            self._choose,
            self._selected.changes_with,
            configs.extends_every_initial_delay,
        )
        self._rejoining = Rejoining(context)
        self._waiting = WaitingJoins(context, self._scope, self._join_new)
        self._heartbeats = Heartbeats(context.fleet, configs.heartbeat_interval_ms, context.world.seed, are_late=True)
        self._received = ReceivedAssignment(context)
        self._is_consumer_group = context.world.application.is_consumer_group
        self._memberships: dict[Member, _Membership] = {}
        self._joined: dict[Member, None] = {}
        self._waits: set[tuple[int, int]] = set()
        self._timers: dict[str, Timer] = {}
        self._session_ends_ms: dict[Member, int] = {}
        self._watched_ms: dict[Member, int] = {}
        self._reasons: list[str] = []
        self._changes: list[tuple[str, Cause]] = []
        self._rebalances = 0
        self._requested_at_ms = 0
        self._overdue: int | None = None
        self._is_following = False
        self._is_warm_start = context.world.start is Start.WARM
        self._started_ms: dict[Member, int] = {}
        self._assigned_until_ms = 0
        self._added: list[tuple[int, str, Cause]] = []

    @property
    def is_stable(self) -> bool:
        """Return whether no rebalance is in progress, and no member is down or was removed."""
        is_stable = self._coordinator.phase in (RebalancePhase.STABLE, RebalancePhase.EMPTY)
        return is_stable and set(self._coordinator.members) == self._context.fleet.members_up()

    @property
    def current_round(self) -> int:
        """Return the number of the round that is being computed, or of the last one."""
        return self._coordinator.generation

    def _choose(self, members: Collection[Member]) -> Member:
        """Return the first of some members in the coordinator's hash table: each start of a thread gets a random id."""
        seed, fleet = self._context.world.seed, self._context.fleet

        def order(member: Member) -> int:
            process_id = str(fleet.first_process_id(member.client))
            return random_order(seed, "member_id", process_id, str(member.start), str(member.thread))

        return min(members, key=order)

    # Groups that are taken over.

    def resume(self, members: Sequence[Member]) -> None:
        """Continue with members that have their tasks; a probing rebalance may be due."""
        self._received = ReceivedAssignment(self._context)
        self._heartbeats.spread(members, self._context.now_ms)
        self._continue(members, 0)
        self._selected.select(members)
        due_ms = self._context.world.next_rebalance_ms
        if due_ms is not None:
            self._scope.start(self._request_later(0, due_ms))

    def _continue(self, members: Iterable[Member], generation: int) -> None:
        self._coordinator.resume({member: self._announced(member) for member in members}, generation)
        for member in self._coordinator.members:
            if self._context.fleet.is_up(member):
                self._memberships[member] = _Membership(generation, leads=member == self._coordinator.leader)

    def _announced(self, member: Member) -> ClassicMember:
        """Return what a member announces with its JoinGroup request; the metadata differ each time."""
        membership = self._memberships.get(member)
        return ClassicMember(
            (member, 0 if membership is None else membership.joins),
            (member.client, member.thread) if self._context.is_static(member) else None,
            self._configs.session_timeout_ms,
            self._configs.max_poll_interval_ms,
        )

    def take_over(self, group: GroupHandover) -> None:
        """Continue with a group of which a member of the consumer protocol is removed or replaced next."""
        self._heartbeats, self._selected.name = group.heartbeats, group.assignor
        self._received.last = group.assignment
        self._assigned_until_ms = self._context.now_ms
        self._continue(group.members, group.generation)
        for member in group.members:
            if self._context.rebalance_causes.has_crashed(member):
                self._begin_session(member, self._context.now_ms)

    def hand_over(self) -> GroupHandover:
        """End, and return the group with what each member has received."""
        self._scope.end()
        members = self._coordinator.members
        computing = {member for member, one in self._memberships.items() if one.is_computing}
        return GroupHandover(
            members={member: self._context.is_static(member) for member in members},
            generation=self._coordinator.generation,
            assignment=self._received.of_members(members),
            heartbeats=self._heartbeats,
            rejoining=tuple(
                member for member, one in members.items() if one.awaits_join or one.awaits_sync or member in computing
            ),
            joining=self._waiting.causes,
            assignor=self._selected.name,
        )

    def remove(self, member: Member, reason: str) -> None:
        """Remove a member of the consumer protocol that left, or whose session timed out."""
        self._received.remove(member)
        self._reasons.append(reason)
        self._coordinator.leave(member, self._context.now_ms)
        self._follow_up()

    # Members that start and end.

    def join(self, members: Sequence[Member], cause: Cause) -> None:
        """Let threads that have just started join, one after the other; one that is back in time needs no rebalance."""
        self._waiting.join_in_turn(members, cause, at_once=self._is_warm_start)

    def _join_new(self, member: Member, cause: Cause) -> None:
        is_static = self._context.is_static(member)
        self._memberships[member] = _Membership()
        if not self._is_warm_start:
            self._started_ms[member] = self._context.now_ms
        self._heartbeats.restart([member], self._context.now_ms)
        is_back = self._coordinator.member_with(self._announced(member).instance) is not None
        rebalances = self._join([member], f"{member.client} {'is back' if is_back else 'joined'}")
        self._context.rebalance_causes.add_start(member, cause, rebalances=rebalances, replaces=is_static)

    def stop(self, members: Sequence[Member], cause: Cause, *, leaves_group: bool, closes: bool) -> None:
        """Process the end of threads; if they do not leave, the group removes each after its session timeout.

        `leaves_group` says whether they leave. `closes` has no effect, since a member that closes without leaving sends
        nothing.
        """
        for member in members:
            membership = self._memberships.pop(member, None)
            self._received.stop(member)
            if member not in self._coordinator.members:
                continue
            is_known = membership is not None and membership.generation != _NO_GENERATION
            # A static member that has not got its member id yet cannot leave.
            if leaves_group and (is_known or not self._context.is_static(member)):
                self._context.rebalance_causes.add(cause)
                self._reasons.append(f"{member.client} left")
                self._coordinator.leave(member, self._context.now_ms)
            else:
                self._context.rebalance_causes.add_crash(member, cause)
                if is_known and not self._coordinator.members[member].awaits_join:
                    self._begin_session(member, self._heartbeats.last_ms(member, self._context.now_ms))
                self._watch_session(member)
        self._follow_up()

    # Partitions that are added.

    def note_partitions(self, reason: str, cause: Cause) -> None:
        """Let the leader notice that a topic has more partitions when it refreshes its metadata."""
        self._added.append((self._context.now_ms, reason, cause))
        self._await_refresh()

    def _await_refresh(self) -> None:
        leader = self._coordinator.leader
        if leader is not None and self._added and self._added[-1][0] > self._assigned_until_ms:
            self._scope.start(self._refresh(leader))

    def _refresh(self, leader: Member) -> Process:
        """Let the leader refresh its metadata, and rejoin if partitions are added that it has not assigned."""
        age_ms = self._configs.metadata_max_age_ms
        now_ms = self._context.now_ms
        yield self._context.env.timeout(self._refreshed_at(leader, now_ms) + age_ms - now_ms)
        if leader == self._coordinator.leader and self._is_up(leader) and self._memberships[leader].leads:
            self._request(self._added_since_assignment(leader))

    def _added_since_assignment(self, leader: Member) -> list[tuple[str, Cause]]:
        """Return the additions that a leader knows, and that were unknown when partitions were assigned last."""
        known = range(self._assigned_until_ms + 1, self._known_until_ms(leader) + 1)
        return [(reason, cause) for at_ms, reason, cause in self._added if at_ms in known]

    def _known_until_ms(self, member: Member) -> int:
        """Return up to when a member knows how many partitions there are; at least those of the start."""
        return max(0, self._refreshed_at(member, self._context.now_ms))

    def _refreshed_at(self, member: Member, now_ms: int) -> int:
        """Return when a member has refreshed its metadata last.

        A client reads them when it starts. For one that ran before the simulation began, the seed draws the time.
        """
        age_ms = self._configs.metadata_max_age_ms
        first_ms = self._started_ms.get(member)
        if first_ms is None:
            first_ms = random_order(self._context.world.seed, "metadata", member.client, str(member.thread)) % age_ms
        return now_ms - (now_ms - first_ms) % age_ms

    # Sessions: those of members that are up end only while they wait for their first rebalance.

    def _begin_session(self, member: Member, since_ms: int) -> None:
        end_ms = since_ms + self._configs.session_timeout_ms
        self._session_ends_ms[member] = max(end_ms, self._session_ends_ms.get(member, end_ms))

    def _watch_session(self, member: Member) -> None:
        end_ms = self._session_ends_ms.get(member, self._context.now_ms)
        watched_ms = self._watched_ms.get(member)
        if watched_ms is None or end_ms < watched_ms:
            self._watched_ms[member] = end_ms
            self._scope.start(self._time_out(member, end_ms))

    def _time_out(self, member: Member, end_ms: int) -> Process:
        yield timer_of_broker(self._context.env, max(0, end_ms - self._context.now_ms))
        if self._watched_ms.get(member) != end_ms:
            return
        del self._watched_ms[member]
        members = self._coordinator.members
        if member not in members or (member in self._memberships and not members[member].is_new):
            return
        if self._session_ends_ms.get(member, end_ms) > end_ms:
            self._watch_session(member)
            return
        self._coordinator.expire(member, self._context.now_ms)
        if member not in members:
            self._reasons.append(f"{member.client}: session timed out")
        self._follow_up(is_timer=True)

    # Requests of members.

    def _join(self, members: Iterable[Member], reason: str | None = None) -> bool:
        """Let members send JoinGroup requests; return whether the group rebalances."""
        coordinator, now_ms, joining = self._coordinator, self._context.now_ms, list(members)
        self._lose([member for member in joining if not self._is_current(member)])
        for member in joining:
            membership = self._memberships[member]
            membership.joins += 1
            membership.is_rejoining = False
            coordinator.join(member, self._announced(member), now_ms)
            self._joined.pop(member, None)
        rebalances = coordinator.phase is not RebalancePhase.STABLE
        if rebalances:
            self._joined.update(dict.fromkeys(joining))
            if reason is not None:
                self._reasons.append(reason)
        for member in joining:
            if self._memberships[member].joins == 1 and self._context.is_static(member):
                self._received.replace(member, keeps_assignment=not rebalances)
        self._rejoining.record_reports(joining)
        if eager := [member for member in joining if self._context.leader.is_eager(member)]:
            self._revoke_all(eager)
        self._follow_up()
        return rebalances

    def _is_current(self, member: Member) -> bool:
        """Return whether a member has taken part in the last generation, or knows that it is new."""
        generation = self._memberships[member].generation
        if generation == _NO_GENERATION:
            return True
        return generation == self._coordinator.generation and member in self._coordinator.members

    def _lose(self, members: Iterable[Member]) -> None:
        """Let members lose their tasks, since the group goes on without them."""
        for member in members:
            self._memberships[member].generation = _NO_GENERATION
            self._received.remove(member)
            self._revoke_all([member])

    def _revoke_all(self, members: Iterable[Member]) -> None:
        """Let members revoke all tasks, as eager ones do before they join."""
        execution, fleet = self._context.execution, self._context.fleet
        assignment = remaining = execution.assignment
        for member in members:
            if fleet.is_up(member):
                remaining = remaining.without_thread(fleet.row(member.client), member.thread)
        revoked = remaining.owner != assignment.owner
        if revoked.any():
            with execution.changing(self._context.now_ms):
                execution.assign(Reconciliation(remaining, revoked, np.zeros_like(revoked)))

    def _rejoin(self, ready_ms: Mapping[Member, int], reason: str | None = None) -> None:
        """Let members send JoinGroup requests when they can, unless they will do so anyway, or compute."""
        due: list[tuple[int, Member, int]] = []
        for member, at_ms in ready_ms.items():
            membership = self._memberships[member]
            if not (membership.is_rejoining or membership.is_computing):
                membership.is_rejoining = True
                due.append((at_ms, member, membership.joins))
        for at_ms, together in groupby(sorted(due, key=lambda call: call[0]), key=lambda call: call[0]):
            joins = {member: number for _, member, number in together}
            if at_ms == self._context.now_ms:
                self._join(joins, reason)
            else:
                self._scope.start(self._join_at(at_ms, joins, reason))

    def _join_at(self, at_ms: int, joins: Mapping[Member, int], reason: str | None) -> Process:
        yield self._context.env.timeout(at_ms - self._context.now_ms)
        remaining = [
            one for one, number in joins.items() if self._is_up(one) and self._memberships[one].joins == number
        ]
        if remaining:
            self._join(remaining, reason)

    def _rejoin_now(self, members: Sequence[Member]) -> None:
        """Let members rejoin with their next polls."""
        now_ms = self._context.now_ms
        times_ms = self._rejoining.ready_times_ms(members, [now_ms] * len(members))
        self._rejoin(dict(zip(members, times_ms, strict=True)))

    def _is_up(self, member: Member) -> bool:
        """Return whether a member is up, and not closing."""
        return member in self._memberships and self._context.fleet.is_up(member)

    def _call_members(self, since_ms: int) -> Process:
        """Let each member that has not joined a rebalance send its first heartbeat after a time."""
        members = self._coordinator.members
        missing = [
            member
            for member, one in members.items()
            if not one.awaits_join and self._is_up(member) and not self._memberships[member].is_rejoining
        ]
        due: dict[int, list[Member]] = {}
        for at_ms, member in zip(self._heartbeats.next_times_ms(missing, since_ms), missing, strict=True):
            is_first = at_ms > self._heartbeats.since_ms(member)
            due.setdefault(at_ms if is_first else self._heartbeats.next_ms(member, at_ms), []).append(member)
        for at_ms in sorted(due):
            yield self._context.env.timeout(at_ms - self._context.now_ms)
            self._beat(due[at_ms])

    def _beat(self, members: Iterable[Member]) -> None:
        """Let members send heartbeats, unless they wait for a rebalance, or know that they have to rejoin."""
        called = []
        for member in members:
            if not self._is_up(member):
                continue
            membership, known = self._memberships[member], self._coordinator.members.get(member)
            waits = membership.is_rejoining or membership.is_computing or (known is not None and known.awaits_join)
            if waits or not self._heartbeats.is_due(member, self._context.now_ms):
                continue
            error = self._coordinator.heartbeat(member, membership.generation, self._context.now_ms)
            if error is not Error.NONE:
                called.append(member)
                if error is not Error.REBALANCE_IN_PROGRESS:
                    self._lose([member])
        self._rejoin_now(called)
        self._follow_up()

    # Answers and timers of the coordinator.

    def _follow_up(self, *, is_timer: bool = False) -> None:
        """Do what follows from requests and timers of the coordinator; timers end before heartbeats of the moment."""
        if self._is_following:
            return
        self._is_following, coordinator = True, self._coordinator
        while coordinator.timers or coordinator.answers:
            timers, coordinator.timers = coordinator.timers, []
            for timer in timers:
                self._set(timer)
            answers, coordinator.answers = coordinator.answers, []
            self._receive(answers)
        self._is_following = False
        if coordinator.phase is RebalancePhase.EMPTY:
            self._reasons.clear()
        if coordinator.rebalances != self._rebalances:
            self._rebalances, self._requested_at_ms = coordinator.rebalances, self._context.now_ms
            if coordinator.phase is RebalancePhase.PREPARING:
                self._scope.start(self._call_members(self._context.now_ms - is_timer))

    def _set(self, timer: Timer) -> None:
        """Start or cancel a timer."""
        kind, member = timer.key
        if not isinstance(member, Member):
            self._timers[kind] = timer
            if timer.at_ms is not None:
                self._scope.start(self._end(kind, timer, timer.at_ms))
        elif timer.at_ms is None:
            self._session_ends_ms.pop(member, None)
        else:
            self._session_ends_ms[member] = timer.at_ms
            if member not in self._memberships or self._coordinator.members[member].is_new:
                self._watch_session(member)

    def _end(self, kind: str, timer: Timer, at_ms: int) -> Process:
        """End a timer, unless it was canceled or started anew; name the members that the group then removes."""
        yield timer_of_broker(self._context.env, at_ms - self._context.now_ms)
        if self._timers[kind] is not timer:
            return
        before = list(self._coordinator.members)
        if kind == "join":
            self._coordinator.end_join(self._context.now_ms)
        else:
            self._coordinator.end_sync(self._context.now_ms)
        removed = [member for member in before if member not in self._coordinator.members]
        self._reasons += [f"{member.client} exceeded max.poll.interval.ms" for member in removed]
        self._follow_up(is_timer=True)

    def _receive(self, answers: Sequence[Answer]) -> None:
        """Process answers; those to the members of a rebalance come together."""
        coordinator, now_ms, leader = self._coordinator, self._context.now_ms, None
        joined: list[Member] = []
        for answer in answers:
            member = answer.member
            assert isinstance(member, Member)
            if answer.leads and not answer.skips_assignment:
                leader = member
                self._complete(answer, leader)
            if answer.is_join and member in self._memberships:  # One that is closing only sends heartbeats.
                self._heartbeats.restart([member], now_ms)
            if not self._is_up(member):
                continue
            if answer.error is not Error.NONE:
                if answer.error is not Error.REBALANCE_IN_PROGRESS:
                    self._lose([member])
                self._rejoin_now([member])
            elif answer.is_join:
                self._memberships[member].generation = answer.generation
                self._memberships[member].leads = answer.leads
                joined.append(member)
            else:
                self._resend_assignment(member)
        for member in joined:
            if member != leader:
                coordinator.sync(member, self._memberships[member].generation, now_ms)

    def _complete(self, answer: Answer, leader: Member) -> None:
        """Let the leader compute the assignment of a generation, which has all its members."""
        self._note_changes()
        members = tuple(member for member in answer.members if isinstance(member, Member))
        reason, self._reasons = ", ".join(dict.fromkeys(self._reasons)), []
        joined, self._joined = self._joined, {}
        self._lose([member for member in self._memberships if self._is_up(member) and self._is_removed(member)])
        at_join = self._received.at_join(members, joined)
        rejoined = tuple(member for member in joined if member in answer.members)
        instruction = ComputeAssignment(answer.generation, members, leader, reason, rejoined)
        if self._is_up(leader):
            self._memberships[leader].is_computing = True
            self._scope.start(self._compute(instruction, at_join))

    def _is_removed(self, member: Member) -> bool:
        """Return whether the coordinator has removed a member that does not know it yet."""
        return member not in self._coordinator.members and self._memberships[member].generation != _NO_GENERATION

    def record_change(self) -> None:
        """Do nothing: members report offsets only when they join."""

    def move_coordinator(self, configs: GroupConfigs) -> None:
        """Let another broker coordinate the group; members and assignments stay, and all sessions begin anew."""
        self._coordinator.extends_every_initial_delay = configs.extends_every_initial_delay
        for member in self._coordinator.members:
            if member in self._session_ends_ms:
                self._begin_session(member, self._context.now_ms)

    def set_configs(self, configs: AssignmentConfigs, cause: Cause) -> None:
        """Let the leader request a rebalance, since the members have other configs."""
        self.request_rebalance("configs changed", cause)

    def request_rebalance(self, reason: str, cause: Cause) -> None:
        """Let the leader request a rebalance, if it is up."""
        self._request([(reason, cause)])

    def _request(self, changes: Sequence[tuple[str, Cause]]) -> None:
        """Let the leader request one rebalance because of changes, if there are any and it is up."""
        leader = self._coordinator.leader
        if not changes or leader is None or not self._is_up(leader):
            return
        membership = self._memberships[leader]
        if membership.is_computing:
            self._changes += changes
            return
        for _, cause in changes:
            self._context.rebalance_causes.add(cause)
        self._reasons += [reason for reason, _ in changes]
        if not (self._coordinator.members[leader].awaits_join or membership.is_rejoining):
            self._join([leader])

    # Assignments.

    def _compute(self, instruction: ComputeAssignment, at_join: GroupAssignment) -> Process:
        """Let the leader compute the assignment, for as long as Kafka's leader would take."""
        execution = self._context.execution
        yield from self._fetch_end_offsets()
        if not self._is_up(instruction.leader):
            return
        execution.delete_expired_copies(self._context.now_ms)
        self._context.budget.count_rebalance()
        instruction = self._selected.update(instruction)
        known_until_ms = self._known_until_ms(instruction.leader)
        for _, cause in self._added_since_assignment(instruction.leader):
            self._context.rebalance_causes.add(cause)
        self._assigned_until_ms = known_until_ms
        self._await_refresh()
        decision: Decision | None = self._decide(instruction, known_until_ms)
        self._received.note_decision()
        assert decision is not None
        leader_compute_ms = decision.leader_compute_ms
        if leader_compute_ms > self._configs.max_poll_interval_ms:
            # The coordinator removes the leader by then. Decisions are large, and this one is never sent.
            self._context.recorder.note_slow_leader(leader_compute_ms)
            decision = None
        if round(leader_compute_ms):
            yield self._context.env.timeout(round(leader_compute_ms))
        if self._is_up(instruction.leader):
            self._send_assignment(instruction, decision, at_join)

    def _decide(self, instruction: ComputeAssignment, known_until_ms: int) -> Decision:
        return self._context.leader.decide(instruction, self._owned_partitions(), known_until_ms)

    def _owned_partitions(self) -> GroupAssignment | None:
        """Return the partitions that members of a consumer group report as owned; None for Kafka Streams.

        The sticky assignor remembers the last assignment in spite of the revocation (`StickyAssignor.onAssignment`).
        """
        if not self._is_consumer_group:
            return None
        is_eager = all(map(self._context.leader.is_eager, self._coordinator.members))
        return self._received.reported if is_eager else self._context.execution.assignment

    def _fetch_end_offsets(self) -> Process:
        """Wait until the leader can fetch the end offsets of all changelogs, or its admin client times out."""
        for _ in range(API_TIMEOUT_MS // _RETRY_MS):
            if self._context.leader.knows_lags:
                return
            yield self._context.env.timeout(_RETRY_MS)

    def _send_assignment(
        self, instruction: ComputeAssignment, decision: Decision | None, at_join: GroupAssignment
    ) -> None:
        """Let the leader send the assignment, unless it has learned by now that it is not in this generation."""
        coordinator, leader = self._coordinator, instruction.leader
        membership = self._memberships[leader]
        membership.is_computing = False
        if membership.generation != instruction.generation:
            self._rejoin_now([leader])
            return
        coordinator.sync(leader, instruction.generation, self._context.now_ms)
        received = {answer.member for answer in coordinator.answers if answer.error is Error.NONE}
        if decision is not None and leader in received:
            coordinator.answers = []
            self._assign(instruction, decision, at_join, received)
        self._follow_up()
        if self._note_changes():
            self._rejoin_now([leader])

    def _note_changes(self) -> bool:
        """Let the changes that came while the leader computed cause a rebalance; return whether there are any."""
        changes, self._changes = self._changes, []
        for reason, cause in changes:
            self._reasons.append(reason)
            self._context.rebalance_causes.add(cause)
        return bool(changes)

    def _assign(
        self, instruction: ComputeAssignment, decision: Decision, at_join: GroupAssignment, received: Collection[object]
    ) -> None:
        """Let members have the tasks of an assignment that no other member has.

        `at_join`: what they had when they joined; `received`: those that receive it now.
        """
        execution, recorder, fleet = self._context.execution, self._context.recorder, self._context.fleet
        now_ms, stateful, running = self._context.now_ms, self._context.leader.stateful, fleet.running
        # A static member that has started, but not joined, is up in the place of the one that is in the group.
        absent = [member for member in fleet.members_up() if member not in received]
        if absent:
            self._lose([member for member in absent if member in self._coordinator.members])
            running = running.copy()
            running[[fleet.row(member.client) for member in absent], [member.thread for member in absent]] = False
        with execution.changing(now_ms):
            current = execution.assignment
            copies = execution.restoration.holds_copy(np.arange(current.standby.shape[1]))
            # A static member that is down at the moment gets its part of this assignment when it is back.
            of_all = reconcile_group(decision.target, at_join, stateful, copies)
            assignment = without_stopped_threads(of_all.assignment, running)
            is_owned = current.owner != UNASSIGNED
            reconciliation = Reconciliation(assignment, of_all.revoked & is_owned, of_all.withheld)
            self._received.update(of_all, reconciliation)
            rejoining = self._rejoining_members(current, decision.target, reconciliation, received)
            causes = self._context.rebalance_causes.take(self._coordinator.members)
            recorder.open_round(instruction, decision, reconciliation, causes, self._requested_at_ms, now_ms)
            execution.assign(reconciliation, is_restored=self._is_warm_start)
            recorder.count_unfinished()
        if self._is_warm_start:
            self._heartbeats.spread(filter(self._is_up, self._coordinator.members), now_ms)
            self._is_warm_start = False
        if rejoining:
            ready_ms = {member: self._rejoining.ready_ms(member, now_ms, does) for member, does in rejoining.items()}
            self._rejoin(ready_ms, FOLLOWUP)
        elif not reconciliation.withheld.any():
            recorder.mark_reconciled(now_ms)
            if decision.followup_delay_ms is not None:
                self._scope.start(self._request_later(instruction.generation, decision.followup_delay_ms))

    def _rejoining_members(
        self,
        current: GroupAssignment,
        target: GroupAssignment,
        reconciliation: Reconciliation,
        received: Collection[object],
    ) -> dict[Member, bool]:
        """Return the members that revoke a task or wait for one, and therefore rejoin; and whether each revokes."""
        waiting = [] if self._is_consumer_group else _threads_of(target, reconciliation.withheld)
        revoking = _threads_of(current, reconciliation.revoked)
        self._waits = set(waiting)
        revokes = {**dict.fromkeys(waiting, False), **dict.fromkeys(revoking, True)}
        members = {thread: self._context.fleet.member(*thread) for thread in sorted(revokes)}
        return {
            member: revokes[thread] for thread, member in members.items() if member is not None and member in received
        }

    def _resend_assignment(self, member: Member) -> None:
        """Let a static member that is back have the assignment of its predecessor."""
        execution, row = self._context.execution, self._context.fleet.row(member.client)
        with execution.changing(self._context.now_ms):
            execution.assign_to_static_member(row, member.thread, self._received.last)
            self._received.update_member(member)
        if (row, member.thread) in self._waits:
            self._rejoin_now([member])
        self._request_overdue()

    def _request_later(self, generation: int, delay_ms: int) -> Process:
        """Let the leader request the follow-up rebalance of a generation after a time."""
        yield self._context.env.timeout(delay_ms)
        self._overdue = generation
        self._request_overdue()

    def _request_overdue(self) -> None:
        """Let the leader request the follow-up rebalance that is due, if it is up."""
        coordinator, leader = self._coordinator, self._coordinator.leader
        is_due = self._overdue == coordinator.generation and coordinator.phase is RebalancePhase.STABLE
        if is_due and leader is not None and self._is_up(leader):
            self._join([leader], "follow-up")


def _threads_of(assignment: GroupAssignment, tasks: BoolArray) -> list[tuple[int, int]]:
    """Return the client and the thread of the owner of each of some tasks."""
    return list(zip(assignment.owner[tasks].tolist(), assignment.owner_thread()[tasks].tolist(), strict=True))
