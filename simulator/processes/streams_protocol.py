"""The streams protocol in time (KIP-1071): members send heartbeats, and do what the coordinator answers.

`StreamsCoordinator` decides everything; here is when its members send what. Every stream thread is a member. The
threads of a client start one after the other. A heartbeat is simulated only if it can change something: while a target
is due, the next one of any member, and while a member is on the way to its target, each of its own.

A member that is given other tasks has them after its next poll: it revokes the rest, reports that at once, which
restarts its heartbeat timer, and gets what is free. Members do not wait for each other, and tasks that stay are never
interrupted.

The coordinator keeps the tasks of a member that is down until it removes the member, so no other member gets them. A
static member that closes gets them back when it returns within its session. After a kill, the coordinator refuses it
until the session has timed out, which ends its thread (`UNRELEASED_INSTANCE_ID`); it is simulated as if its platform
restarted it until then.

A client that returns with another process id may get a task on two threads: the first one joins, and gets a standby of
a task that another one had, and gets back. If a store of the application is persistent, the first thread locks the
task, and the other one tries to open it until it is closed. If none is, both threads open stores in memory; then the
active task counts, and a standby beside another copy in the same process is not simulated.

A group of the consumer protocol (KIP-848) works in the same way, with the configs of `group.consumer`: the streams
protocol descends from it. Its members are consumers and its tasks partitions, and an empty group does not wait for more
members. If it was converted from the classic protocol, members that still have that learn of a new target by their next
heartbeat, and rejoin with their next poll.

With clients and brokers from Kafka 4.4 on, members of streams groups report the offsets of their copies, and the
coordinator passes the last reports to its assignor (`simulator.group.heartbeats`).

Source: `StreamsGroupHeartbeatRequestManager` and `StreamsMembershipManager` of `kafka-clients`, `StateDirectory.lock`
and `TaskManager.addTaskToStateUpdater` of `kafka-streams`, Kafka 4.4.0;
`GroupMetadataManager.onLoaded`, `.classicGroupJoinToConsumerGroup`, `ConsumerCoordinator.onJoinPrepare` and
`.onJoinComplete`, Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, cast

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray
from assignors.model.configs import AssignmentConfigs
from simulator.assignment.leader import ApproachedTarget, Decision
from simulator.group.heartbeats import GroupHandover, Heartbeats
from simulator.group.member import ComputeAssignment, Member
from simulator.group.rebalance_causes import Cause
from simulator.group.reconciliation import (
    assignment_of,
    reconcile_group,
    reconcile_member,
    tasks_of_members,
    without_stopped_threads,
)
from simulator.group.streams_coordinator import (
    CLOSES,
    NO_TASKS,
    Configs,
    CoordinatedMember,
    Rules,
    StreamsCoordinator,
    Task,
    Tasks,
    Timer,
)
from simulator.processes.rejoining import REVOKE_MS, ProcessScope, Rejoining, WaitingJoins
from simulator.processes.reported_offsets import ReportedOffsets
from simulator.processes.simulation_context import Process, SelectedAssignor, SimulationContext
from simulator.world.group_assignment import GroupAssignment
from simulator.world.group_configs import GroupConfigs, GroupProtocol
from simulator.world.world import Start

RETRY_MS: Final = 100
"""The time after which a member of the classic protocol repeats a request that failed (`retry.backoff.ms`)."""


@dataclass(slots=True)
class Membership:
    """What a member that is up knows.

    Attributes:
        received: the tasks that the coordinator gave it last.
        is_polling: whether it will have those with its next poll.
        is_beating: whether its next heartbeat is simulated.
        sent_at_ms: when it has sent its last simulated request.
        refused_at_ms: since when it cannot open tasks of its own, because another thread of its client has them open.
    """

    owned: Tasks = NO_TASKS
    received: Tasks = NO_TASKS
    is_polling: bool = False
    is_beating: bool = False
    sent_at_ms: int = -1
    refused_at_ms: dict[Task, int] = field(default_factory=dict)


class StreamsProtocol:
    """Runs a group with a coordinator that computes targets.

    `configs`: the configs of the group; None for those of the world. `convert_back`: converts the group to the classic
    protocol before a member is removed whose departure leaves only members of that, and removes it; None if the group
    always had this protocol.
    """

    def __init__(
        self,
        context: SimulationContext,
        configs: GroupConfigs | None = None,
        convert_back: Callable[[Member, str], None] | None = None,
    ) -> None:
        self._context = context
        self._configs = configs or context.world.application.group_configs
        self._convert_back = convert_back
        self._scope = ProcessScope(context.env)
        self._selected = SelectedAssignor(context.leader)
        self._rejoining = Rejoining(context)
        self._waiting = WaitingJoins(context, self._scope, self._join, self._is_refused)
        interval_ms, seed = self._configs.streams_heartbeat_interval_ms, context.world.seed
        self._heartbeats = Heartbeats(context.fleet, interval_ms, seed, are_late=False)
        self._of_classic = Heartbeats(context.fleet, self._configs.heartbeat_interval_ms, seed, are_late=True)
        self._num_standby_replicas = context.world.application.assignment_configs.num_standby_replicas
        self._coordinator: StreamsCoordinator[Member] = StreamsCoordinator(
            self._rules(), self._assign, self._coordinator_configs()
        )
        self._memberships: dict[Member, Membership] = {}
        self._unsettled: set[Member] = set()
        self._classic: set[Member] = set()
        self._session_ends_ms: dict[Member, int] = {}
        self._deadlines_ms: dict[Member, int | None] = {}
        self._reasons: list[str] = []
        self._requester: Member | None = None
        self._requested_at_ms: int | None = None
        self._decided: tuple[ComputeAssignment, Decision] | None = None
        self._approached: ApproachedTarget | None = None
        self._known_until_ms = 0
        self._refines = False
        self._targeted = context.execution.assignment.owner != UNASSIGNED
        self._is_locked: BoolArray = context.leader.stateful & context.fleet.locks_tasks
        self._generation = 0
        self._watch = 0
        self._moved_at_ms: int | None = None
        self._delay_ends_ms: int | None = None
        self._due_at_ms: int | None = None
        self._is_warm_start = context.world.start is Start.WARM
        self._reported_offsets = self._read_offsets()

    def _rules(self) -> Rules:
        if self._configs.protocol is GroupProtocol.CONSUMER:
            return Rules.of_consumer_group()
        # A scenario says which configs the group has, whether dynamic or of the brokers.
        return replace(Rules.of(self._configs.broker_release), hides_broker_configs=False)

    def _coordinator_configs(self) -> Configs:
        configs = self._configs
        return Configs(
            configs.initial_rebalance_delay_ms,
            configs.streams_assignment_interval_ms,
            configs.session_timeout_ms,
            self._num_standby_replicas,
            configs.streams_heartbeat_interval_ms,
        )

    def _read_offsets(self) -> ReportedOffsets | None:
        """Return the offsets that members report; None if the coordinator reads none."""
        interval_ms = self._configs.task_offset_interval_ms
        return None if interval_ms is None else ReportedOffsets(self._context, self._heartbeats, interval_ms)

    @property
    def is_stable(self) -> bool:
        """Return whether every member has its target, none waits for a warm-up, and no member is down."""
        if self._approached is not None or not self._is_complete:
            return False
        return set(self._coordinator.members) == self._context.fleet.members_up()

    @property
    def _is_complete(self) -> bool:
        """Return whether no target is due, and each member that is up has its own."""
        is_up = self._context.fleet.is_up
        return not self._coordinator.is_due and not any(is_up(member) for member in self._unsettled)

    @property
    def current_round(self) -> int:
        """Return the number of the last target."""
        return self._generation

    def _is_up(self, member: Member) -> bool:
        """Return whether a member has joined and is up; the process of one that is closing is down."""
        return member in self._memberships and self._context.fleet.is_up(member)

    def _is_present(self, member: Member) -> bool:
        """Return whether a member is up, and the coordinator has not removed it."""
        return self._is_up(member) and member in self._coordinator.members

    def _heartbeats_of(self, member: Member) -> Heartbeats:
        return self._of_classic if member in self._classic else self._heartbeats

    # Groups that are taken over.

    def resume(self, members: Sequence[Member]) -> None:
        """Continue with members whose current tasks are their target."""
        classic = list(filter(self._context.is_classic, members))
        self._begin(members, classic, self._context.execution.assignment, 0)
        self._heartbeats.spread(members, self._context.now_ms)
        self._of_classic.spread(classic, self._context.now_ms)
        self._selected.select(members)
        if self._reported_offsets is not None:
            self._reported_offsets.resume(members)

    def take_over(self, group: GroupHandover) -> None:
        """Continue with a group of the classic protocol, whose members keep that and what they have."""
        self._of_classic, self._selected.name = group.heartbeats, group.assignor
        self._begin(group.members, group.members, group.assignment, group.generation)
        self._generation = group.generation
        for member in group.members:
            if self._context.rebalance_causes.has_crashed(member):  # Its session begins anew.
                self._of_classic.restart([member], self._context.now_ms)
                self._scope.start(self._time_out(member))
        for member in group.rejoining:  # Their requests failed when the group was converted.
            if self._is_present(member):
                self._scope.start(self._serve_classic(member, self._memberships[member], RETRY_MS))

    def _begin(
        self, members: Iterable[Member], classic: Iterable[Member], assignment: GroupAssignment, epoch: int
    ) -> None:
        """Begin with members that have their target."""
        if epoch or self._context.world.start is Start.RUNNING:
            self._is_warm_start = self._coordinator.is_delayed = False
        self._classic.update(classic)
        self._targeted = assignment.owner != UNASSIGNED
        resumed = {member: self._announced(member) for member in members}
        for member, tasks in tasks_of_members(assignment, None, self._context.fleet.places(resumed)).items():
            resumed[member].assigned = tasks
            if self._context.fleet.is_up(member):
                self._memberships[member] = Membership(tasks, tasks)
        self._coordinator.resume(resumed, epoch)

    def hand_over(self) -> GroupHandover:
        """End, and return the group."""
        self._scope.end()
        members = self._coordinator.members
        return GroupHandover(
            {member: self._context.is_static(member) for member in members},
            generation=self._generation,
            assignment=self._assignment_of({member: one.assigned for member, one in members.items()}),
            heartbeats=self._of_classic,
            joining=self._waiting.causes,
            assignor=self._selected.name,
        )

    def _assignment_of(self, tasks: Mapping[Member, Tasks]) -> GroupAssignment:
        num_tasks, num_clients = self._context.execution.assignment.standby.shape
        return assignment_of(tasks, self._context.fleet.places(tasks), (num_tasks, num_clients))

    def is_classic_with(self, joining: Iterable[Member]) -> bool:
        """Return whether all members have the classic protocol once some of that have joined."""
        replaced = {self._coordinator.member_with(_instance(member)) for member in joining}
        return all(member in self._classic or member in replaced for member in self._coordinator.members)

    def _is_classic_without(self, member: Member) -> bool:
        """Return whether members remain without one of the other protocol, and all of them have the classic one."""
        others = len(self._coordinator.members) - 1
        return others > 0 and member not in self._classic and len(self._classic) == others

    # Members that join and end.

    def join(self, members: Sequence[Member], cause: Cause) -> None:
        """Let threads that have just started join, one after the other."""
        self._waiting.join_in_turn(members, cause, at_once=self._is_warm_start)

    def _join(self, member: Member, cause: Cause) -> None:
        before = self._predecessor(member)
        if before is not None and self._is_refused(member):
            self._waiting.join_after(before, member, cause)
            return
        coordinator, causes = self._coordinator, self._context.rebalance_causes
        is_changed = before is None or not self._announced(member).replaces_unchanged(coordinator.members[before])
        rebalances = is_changed or coordinator.is_due
        if is_changed:
            reason = "joined" if before is None else "is back as another process"
            self._reasons.append(f"{member.client} {reason}")
        causes.add_start(member, cause, rebalances=rebalances, replaces=before is not None)
        if before is not None:
            if self._context.is_classic(member) or before in self._classic:
                coordinator.close(before)  # With the classic protocol on either side, it is replaced at any time.
            self._classic.discard(before)
        self._enter(member)

    def _enter(self, member: Member) -> None:
        """Let a member send its first heartbeat, or its first JoinGroup request."""
        now_ms, coordinator = self._context.now_ms, self._coordinator
        waits = coordinator.rules.has_initial_delay and self._configs.initial_rebalance_delay_ms > 0
        if self._is_warm_start and not (waits or coordinator.is_delayed):
            # The application has run before, so the members that join at this moment share their first target.
            coordinator.hold()
            self._delay_ends_ms = now_ms
            self._scope.start(self._end_initial_delay(now_ms))
        if self._context.is_classic(member):
            self._classic.add(member)
        self._heartbeats_of(member).restart([member], now_ms)
        if self._reported_offsets is not None:
            self._reported_offsets.join(member)
        self._memberships.setdefault(member, Membership()).sent_at_ms = now_ms
        self._requester = member
        tasks = coordinator.join(member, self._announced(member), now_ms)
        self._follow_up()
        if member in self._classic:
            self._have(member, tasks)
            self._note(member)
        else:
            self._receive(member, tasks)

    def _announced(self, member: Member) -> CoordinatedMember:
        """Return what a member announces of itself.

        That is the process and the rack of a stream thread, and the topics of a consumer
        (`GroupMetadataManager.hasMemberSubscriptionChanged`).
        """
        fleet, application = self._context.fleet, self._context.world.application
        row = fleet.row(member.client)
        instance = _instance(member) if self._context.is_static(member) else None
        timeout_ms = self._configs.max_poll_interval_ms
        if application.is_consumer_group:
            process, topics = fleet.first_process_id(member.client), fleet.consumers[row].topics
            return CoordinatedMember(process, topics, instance, timeout_ms)
        process, announces_rack = fleet.announcement(row)
        return CoordinatedMember(process, None, instance, timeout_ms, rack=announces_rack or None)

    def _predecessor(self, member: Member) -> Member | None:
        """Return the static member whose instance id a member has; None for none."""
        return self._coordinator.member_with(_instance(member)) if self._context.is_static(member) else None

    def _is_refused(self, member: Member) -> bool:
        """Return whether another member has the instance id of a member, and has not closed."""
        before = self._predecessor(member)
        if before is None or before in self._classic or self._context.is_classic(member):
            return False
        return self._coordinator.members[before].epoch != CLOSES

    def stop(self, members: Sequence[Member], cause: Cause, *, leaves_group: bool, closes: bool) -> None:
        """Process the end of threads; if they do not leave, the group removes each after its session timeout.

        `leaves_group` says whether they leave. `closes` says whether they close; static ones that do not leave then
        allow others to replace them.
        """
        for member in members:
            ended = self._memberships.pop(member, None)
            if ended is not None:
                self._open_released(member.client, _all_of(ended.owned))
            self._unsettled.discard(member)
            if member not in self._coordinator.members:
                continue
            if self._reported_offsets is not None:
                self._reported_offsets.stop(member)
            if self._coordinator.is_delayed:
                self._note_heartbeats(member, self._context.now_ms)
            if leaves_group:
                self._context.rebalance_causes.add(cause)
                self._remove(member, f"{member.client} left")
            else:
                self._context.rebalance_causes.add_crash(member, cause)
                if closes and self._context.is_static(member) and member not in self._classic:
                    self._coordinator.close(member)
                self._scope.start(self._time_out(member))
            self._waiting.release(member)

    def _time_out(self, member: Member) -> Process:
        """Remove a member that is down when its session ends."""
        if member not in self._coordinator.members:
            return  # Another member with its instance id has replaced it at this moment.
        since_ms = self._heartbeats_of(member).last_ms(member, self._context.now_ms)
        self._end_session(member, since_ms if self._moved_at_ms is None else max(since_ms, self._moved_at_ms))
        while self._context.now_ms < self._session_ends_ms[member]:
            yield self._context.env.timeout(self._session_ends_ms[member] - self._context.now_ms)
        if member in self._coordinator.members:
            self._remove(member, f"{member.client}: session timed out")

    def _end_session(self, member: Member, since_ms: int) -> None:
        """Note when the session of a member ends that is down."""
        configs = self._context.world.application.group_configs if member in self._classic else self._configs
        self._session_ends_ms[member] = since_ms + configs.session_timeout_ms

    def _remove(self, member: Member, reason: str) -> None:
        """Remove a member and its target; its next start is a new member."""
        if self._convert_back is not None and self._is_classic_without(member):
            self._convert_back(member, reason)
            return
        self._reasons.append(reason)
        self._requester = None
        self._coordinator.remove(member)
        self._classic.discard(member)
        if self._reported_offsets is not None:
            self._reported_offsets.remove(member)
        self._follow_up()
        self._forget_reasons()
        self._mark_if_complete()

    def _forget_reasons(self) -> None:
        """Forget why a target was due when the last member has left."""
        if not self._coordinator.members and not self._coordinator.is_delayed:
            self._reasons.clear()
            self._requested_at_ms = None

    # Heartbeats.

    def _follow_up(self) -> None:
        """Do what follows from a request or a timer of the coordinator."""
        coordinator = self._coordinator
        events, coordinator.events = coordinator.events, []
        timers, coordinator.timers = coordinator.timers, []
        for timer in timers:
            match timer:
                case Timer(("initial", _), at_ms):
                    self._delay_ends_ms = at_ms
                    if at_ms is not None:
                        self._scope.start(self._end_initial_delay(at_ms))
                case Timer(("rebalance", Member() as member), at_ms) if member not in self._classic:
                    self._deadlines_ms[member] = at_ms
                    if at_ms is not None:
                        self._scope.start(self._end_rebalance(member, at_ms))
        for event in events:
            if event.kind == "removed" and isinstance(event.member, Member):
                self._waiting.release(event.member)
            elif event.kind == "epoch" and self._requested_at_ms is None:
                self._requested_at_ms = self._context.now_ms
            elif event.kind == "target" and self._decided is not None:
                self._open_round(*self._decided)
        self._await_heartbeat()

    def _await_heartbeat(self) -> None:
        """Wait for the next heartbeat that can compute the target that is due."""
        from_ms = self._coordinator.due_from_ms()
        if from_ms is None:
            self._due_at_ms = None
            return
        earliest_ms = max(from_ms, self._context.now_ms)
        candidates = self._memberships if self._due_at_ms is None else (self._requester,)
        first: tuple[int, Member] | None = None
        for member in candidates:
            if member is not None and self._is_present(member) and member not in self._classic:
                since_ms = max(earliest_ms, self._memberships[member].sent_at_ms + 1)
                at_ms = self._heartbeats.due_ms(member, since_ms)
                if first is None or at_ms < first[0]:
                    first = at_ms, member
        if first is not None and (self._due_at_ms is None or first[0] < self._due_at_ms):
            self._due_at_ms = first[0]
            self._watch += 1
            self._scope.start(self._beat_when_due(self._watch, *first))

    def _beat_when_due(self, watch: int, at_ms: int, member: Member) -> Process:
        yield self._context.env.timeout(at_ms - self._context.now_ms)
        if watch == self._watch and self._due_at_ms is not None:
            self._due_at_ms = None
            self._requester = None
            if self._is_beat(member):
                self._beat(member)
            else:
                self._await_heartbeat()

    def _is_beat(self, member: Member) -> bool:
        """Return whether the heartbeat of a member is due now."""
        if not self._is_up(member):
            return False
        now_ms = self._context.now_ms
        return self._memberships[member].sent_at_ms < now_ms == self._heartbeats.last_ms(member, now_ms)

    def _beat(self, member: Member, owned: Tasks | None = None) -> None:
        """Let a member send a heartbeat, which restarts its timer if it reports the tasks that it owns."""
        now_ms = self._context.now_ms
        if owned is not None:
            self._heartbeats.restart([member], now_ms)
        self._requester, self._memberships[member].sent_at_ms = member, now_ms
        if member not in self._coordinator.members:
            self._rejoin_fenced(member)
            return
        tasks = self._coordinator.heartbeat(member, owned, now_ms)
        self._follow_up()
        self._receive(member, tasks)

    def _rejoin_fenced(self, member: Member) -> None:
        """Let a member that the coordinator has removed (`UNKNOWN_MEMBER_ID`) abandon its tasks, and join anew."""
        self._have(member, NO_TASKS)
        self._reasons.append(f"{member.client} joined")
        self._enter(member)

    def _receive(self, member: Member, tasks: Tasks | None) -> None:
        """Let a member that is given other tasks have them with its next poll."""
        membership, now_ms = self._memberships[member], self._context.now_ms
        if tasks is not None:
            membership.received = tasks
        if membership.received != membership.owned and not membership.is_polling:
            membership.is_polling = True
            ready_ms = self._rejoining.ready_ms(member, now_ms)
            if ready_ms > now_ms:
                self._scope.start(self._poll(member, ready_ms))
            else:
                self._take(member)
                return
        self._note(member)

    def _poll(self, member: Member, at_ms: int) -> Process:
        yield self._context.env.timeout(at_ms - self._context.now_ms)
        if self._is_up(member):
            self._take(member)

    def _take(self, member: Member) -> None:
        """Let a member have the tasks that it has received, and report them."""
        membership = self._memberships[member]
        membership.is_polling = False
        if membership.received == membership.owned:
            self._note(member)
        else:
            self._have(member, membership.received)
            self._beat(member, membership.owned)

    def _have(self, member: Member, tasks: Tasks) -> None:
        """Let a member have other tasks."""
        membership = self._memberships[member]
        before, refused = membership.owned, membership.refused_at_ms
        with self._context.execution.changing(self._context.now_ms):
            self._open(member, before, tasks)
            membership.owned = membership.received = tasks
            membership.refused_at_ms = {task: refused[task] for task in refused if task in _all_of(tasks)}
            self._note_refused(member, _all_of(tasks) - _all_of(before))
            self._open_released(member.client, _all_of(before) - _all_of(tasks))
        if self._reported_offsets is not None:
            self._reported_offsets.report(member)

    def _open(self, member: Member, before: Tasks, after: Tasks) -> None:
        """Let a member close and open tasks, except those that another thread of its client has open."""
        execution = self._context.execution
        [place] = self._context.fleet.places([member]).values()
        execution.assign(reconcile_member(place, before, after, execution.assignment, self._targeted, self._is_locked))

    def _note_refused(self, member: Member, tasks: frozenset[Task]) -> None:
        """Note which tasks a member could not open when it tried to."""
        refused_at_ms, thread = self._memberships[member].refused_at_ms, self._context.execution.assignment.thread
        [(row, slot)] = self._context.fleet.places([member]).values()
        for task in cast("frozenset[int]", tasks):
            if self._is_locked[task] and thread[task, row] != slot:
                refused_at_ms.setdefault(task, self._context.now_ms)
            else:
                refused_at_ms.pop(task, None)

    def _open_released(self, client: str, released: frozenset[Task]) -> None:
        """Let other threads of a client open those of their tasks that one of its threads has closed."""
        fleet, now_ms = self._context.fleet, self._context.now_ms
        for member in fleet.members(fleet.row(client)):
            membership = self._memberships.get(member, Membership())
            wanted = released & _all_of(membership.owned)
            if not fleet.locks_tasks and wanted:
                self._open_free(member, wanted)
            refused_at_ms = {at_ms for task, at_ms in membership.refused_at_ms.items() if task in wanted}
            for at_ms in sorted({_retry_ms(since_ms, now_ms) for since_ms in refused_at_ms}):
                self._scope.start(self._open_later(member, at_ms))

    def _open_later(self, member: Member, at_ms: int) -> Process:
        """Let a member try again to open tasks."""
        yield self._context.env.timeout(at_ms - self._context.now_ms)
        if not self._is_up(member):
            return
        refused = self._memberships[member].refused_at_ms.items()
        tries = frozenset(task for task, since_ms in refused if _retry_ms(since_ms, at_ms) == at_ms)
        with self._context.execution.changing(at_ms):
            self._open_free(member, tries)
            self._note_refused(member, tries)
        self._note(member)

    def _open_free(self, member: Member, tasks: frozenset[Task]) -> None:
        """Let a member open those of its tasks that no other client has got in the meantime."""
        active, standby, warmup = (role & tasks for role in self._memberships[member].owned)
        owner = self._context.execution.assignment.owner
        free = frozenset(task for task in cast("frozenset[int]", active) if owner[task] == UNASSIGNED)
        self._open(member, NO_TASKS, Tasks(free, standby, warmup))

    def _note(self, member: Member) -> None:
        """Note whether a member has its target, and let it send heartbeats until it has."""
        membership, coordinator = self._memberships[member], self._coordinator
        is_classic = member in self._classic
        is_settled = coordinator.is_at_target(member) if is_classic else self._is_settled(member)
        has_opened_all = not membership.refused_at_ms
        if is_settled and has_opened_all and membership.owned == coordinator.members[member].assigned:
            self._unsettled.discard(member)
            self._mark_if_complete()
            return
        self._unsettled.add(member)
        if not is_settled and not membership.is_beating:
            membership.is_beating = True
            self._scope.start(
                self._serve_classic(member, membership) if is_classic else self._keep_beating(member, membership)
            )

    def _is_settled(self, member: Member) -> bool:
        return member in self._coordinator.members and self._coordinator.is_settled(member)

    def _keep_beating(self, member: Member, membership: Membership) -> Process:
        while self._is_up(member) and not self._is_settled(member):
            now_ms = self._context.now_ms
            due_ms = self._heartbeats.due_ms(member, max(now_ms, membership.sent_at_ms + 1))
            yield self._context.env.timeout(due_ms - now_ms)
            if self._is_beat(member):
                self._beat(member)
        membership.is_beating = False

    def _mark_if_complete(self) -> None:
        """Record that all members have their target, if they do."""
        if self._is_complete:
            self._context.recorder.mark_reconciled(self._context.now_ms)

    # Members of the classic protocol in a group that was converted.

    def _serve_classic(self, member: Member, membership: Membership, joins_in_ms: int | None = None) -> Process:
        """Let a member of the classic protocol send heartbeats, and rejoin when it has to, until it has its target."""
        # The coordinator answers its requests itself, at once. Its heartbeats trigger no target.
        env, membership.is_beating = self._context.env, True
        if joins_in_ms is not None:
            yield env.timeout(joins_in_ms)
            yield from self._rejoin(member)
        while self._is_present(member) and not self._coordinator.is_at_target(member):
            now_ms = self._context.now_ms
            yield env.timeout(self._of_classic.next_ms(member, now_ms) - now_ms)
            if self._is_present(member) and self._coordinator.has_to_rejoin(member):
                yield env.timeout(max(0, self._rejoining.ready_ms(member, self._context.now_ms) - self._context.now_ms))
                yield from self._rejoin(member)
        membership.is_beating = False

    def _rejoin(self, member: Member) -> Process:
        # An eager member revokes all its partitions before. A cooperative one revokes what it is not assigned any more,
        # and rejoins.
        if not self._is_present(member) or self._coordinator.is_at_target(member):
            return
        membership = self._memberships[member]
        if self._context.leader.is_eager(member) and membership.owned != NO_TASKS:
            self._have(member, NO_TASKS)
            yield self._context.env.timeout(REVOKE_MS)
        while self._is_present(member):
            self._of_classic.restart([member], self._context.now_ms)
            self._requester = member
            tasks = self._coordinator.heartbeat(member, membership.owned, self._context.now_ms)
            self._follow_up()
            before = membership.owned
            self._have(member, self._coordinator.members[member].assigned if tasks is None else tasks)
            self._note(member)
            if before.active <= membership.owned.active:
                return
            yield self._context.env.timeout(REVOKE_MS)

    # Timers and configs of the coordinator.

    def _note_heartbeats(self, member: Member, until_ms: int) -> None:
        """Note whether a member has sent heartbeats, which were not simulated, since it joined a new group."""
        heartbeats = self._heartbeats_of(member)
        if heartbeats.last_ms(member, until_ms) > heartbeats.since_ms(member):
            self._coordinator.is_configured = True

    def _end_initial_delay(self, at_ms: int) -> Process:
        yield self._context.env.timeout(at_ms - self._context.now_ms)
        if not self._coordinator.is_delayed or self._delay_ends_ms != at_ms:
            return
        self._requester = None
        for member in self._memberships:
            self._note_heartbeats(member, self._context.now_ms - 1)
        self._coordinator.end_initial_delay(self._context.now_ms)
        self._follow_up()
        self._forget_reasons()

    def _end_rebalance(self, member: Member, at_ms: int) -> Process:
        """Remove a member that has not revoked in time, unless it has closed; its next heartbeat shows it that."""
        yield self._context.env.timeout(at_ms - self._context.now_ms)
        member_now = self._coordinator.members.get(member)
        if self._deadlines_ms.get(member) == at_ms and member_now is not None and member_now.epoch != CLOSES:
            self._remove(member, f"{member.client}: rebalance timed out")
            if self._is_up(member):
                self._note(member)

    def move_coordinator(self, configs: GroupConfigs) -> None:
        """Let another broker coordinate the group: it knows members and tasks, but no reported offsets.

        The sessions of all members begin anew, and first members no longer wait for others.
        """
        before, self._configs = self._configs, configs
        self._moved_at_ms = self._context.now_ms
        self._coordinator.reload(self._rules(), self._coordinator_configs(), self._context.now_ms)
        for member in self._coordinator.members:
            if member not in self._memberships:
                self._end_session(member, self._context.now_ms)
        self._requester = None
        self._follow_up()
        if configs.task_offset_interval_ms != before.task_offset_interval_ms:
            self._reported_offsets = self._read_offsets()
            if self._reported_offsets is not None:
                self._reported_offsets.resume(list(filter(self._context.fleet.is_up, self._coordinator.members)))
        if self._reported_offsets is not None:
            self._reported_offsets.lose()

    def set_configs(self, configs: AssignmentConfigs, cause: Cause) -> None:
        """Set the number of standbys of the group, which the coordinator compares with the next heartbeat."""
        self._num_standby_replicas = configs.num_standby_replicas
        self._coordinator.configure(num_standby_replicas=configs.num_standby_replicas)
        self._await_target("configs changed", cause)

    def note_partitions(self, reason: str, cause: Cause) -> None:
        """Let the coordinator detect with the next heartbeat that a topic has more partitions.

        The target at the end of the initial delay lacks those that no heartbeat has detected.
        """
        if not self._coordinator.has_unknown_partitions:
            self._known_until_ms = max(0, self._context.now_ms - 1)
        self._coordinator.note_partitions()
        self._await_target(reason, cause)

    def _await_target(self, reason: str, cause: Cause) -> None:
        """Wait for the heartbeat that raises the epoch, if a change is to be detected."""
        if self._coordinator.is_due:
            self._context.rebalance_causes.add(cause)
            self._reasons.append(reason)
            self._requester = None
            if self._requested_at_ms is None:
                self._requested_at_ms = self._context.now_ms
            self._due_at_ms = None
            self._await_heartbeat()

    def request_rebalance(self, reason: str, cause: Cause) -> None:
        """Do nothing: the coordinator ignores racks."""

    def record_change(self) -> None:
        """Record the copies after a change of the execution, if members report their offsets."""
        if self._reported_offsets is not None:
            self._reported_offsets.record_change()

    # Targets.

    def _assign(self, members: Mapping[Member, CoordinatedMember]) -> Mapping[Member, Tasks]:
        """Compute the target of all members."""
        context, coordinator = self._context, self._coordinator
        context.execution.delete_expired_copies(context.now_ms)
        context.budget.count_rebalance()
        context.fleet.note_trigger(self._requester)
        ordered = tuple(members)
        reason, self._reasons = ", ".join(dict.fromkeys(self._reasons)), []
        self._generation += 1
        instruction = self._selected.update(ComputeAssignment(self._generation, ordered, ordered[0], reason))
        has = {member: coordinator.members[member].assigned for member in ordered}
        if not coordinator.rules.passes_assigned:
            has = {member: coordinator.targets.get(member, NO_TASKS) for member in ordered}
        reported = None if self._reported_offsets is None else self._reported_offsets.of(ordered)
        decision, target = context.leader.decide_for_coordinator(
            instruction,
            coordinator.num_standby_replicas,
            has,
            reported,
            self._approached,
            self._known_until_ms if coordinator.has_unknown_partitions else None,
            is_new_target=not self._refines,
        )
        self._approached = decision.approached
        self._decided = instruction, decision
        return target

    def _open_round(self, instruction: ComputeAssignment, decision: Decision) -> None:
        """Record a target, and let members go towards it."""
        now_ms, execution, recorder = self._context.now_ms, self._context.execution, self._context.recorder
        requested_at_ms, self._requested_at_ms, self._decided = self._requested_at_ms, None, None
        self._targeted = decision.target.owner != UNASSIGNED
        if self._approached is not None:
            self._scope.start(self._refine())
        target = without_stopped_threads(decision.target, self._context.fleet.running)
        current = execution.assignment
        reconciliation = reconcile_group(target, current, self._context.leader.stateful, current.standby)
        causes = self._context.rebalance_causes.take(self._coordinator.members)
        is_warm_start, self._is_warm_start = self._is_warm_start, False
        with execution.changing(now_ms):
            recorder.open_round(
                instruction,
                decision,
                reconciliation,
                causes,
                now_ms if requested_at_ms is None else requested_at_ms,
                now_ms,
            )
            if is_warm_start:
                execution.assign(reconciliation, is_restored=True)
                self._coordinator.assign_all()
                for member, membership in self._memberships.items():
                    membership.owned = membership.received = self._coordinator.members[member].assigned
                self._heartbeats.spread(instruction.members, now_ms)
                self._of_classic.spread(self._classic, now_ms)
                if self._reported_offsets is not None:
                    self._reported_offsets.resume(instruction.members)
            recorder.count_unfinished()
        present = [member for member in instruction.members if self._is_present(member)]
        # The target is not complete as long as any of its members has not been looked at.
        self._unsettled.update(present)
        for member in present:
            self._note(member)
        self._mark_if_complete()

    def _refine(self) -> Process:
        """Take the next step towards a target when a copy has caught up and all members have taken the last step.

        The coordinator learns that from heartbeats. Yields the time between two heartbeats.
        """
        approached = self._approached
        while approached is not None and approached is self._approached:
            yield self._context.env.timeout(self._configs.streams_heartbeat_interval_ms)
            is_complete = approached is self._approached and self._is_complete and bool(self._coordinator.members)
            if is_complete and self._context.leader.has_caught_up(approached):
                self._reasons, self._requester, self._refines = ["copies have caught up"], None, True
                self._coordinator.refine(self._context.now_ms)
                self._refines = False
                self._follow_up()


def _instance(member: Member) -> tuple[str, int]:
    """Return what identifies a static member: `group.instance.id` is the client's with the number of the thread."""
    return member.client, member.thread


def _retry_ms(refused_at_ms: int, from_ms: int) -> int:
    """Return when a thread tries to open a task again, at `from_ms` or later.

    The backoff is two seconds, then four, eight and ten, with a jitter of 50 %. Each poll draws the jitter anew, so the
    smallest one counts (`TaskManager.BackoffRecord`).
    """
    at_ms, backoff_ms = refused_at_ms, 2_000
    while at_ms < from_ms:
        at_ms += backoff_ms // 2
        backoff_ms = min(2 * backoff_ms, 10_000)
    return at_ms


def _all_of(tasks: Tasks) -> frozenset[Task]:
    """Return tasks in any role."""
    return tasks.active | tasks.standby | tasks.warmup
