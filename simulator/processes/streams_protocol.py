"""The streams protocol in time (KIP-1071): the coordinator computes targets, and each member reconciles by itself.

The coordinator acts when it receives a heartbeat: it computes a target that is due at the next heartbeat of any member,
no sooner than `group.streams.assignment.interval.ms` after the previous target. A joining member sends a heartbeat
immediately.

Every stream thread is a member. The threads of a client start one after the other, so the first one's heartbeat
triggers a target, and the heartbeats of the other threads trigger the next one.

A member learns of a new target with its next heartbeat. It revokes the tasks that are not in its target, reports that
immediately, and gets the tasks that are free. It requests the others with every further heartbeat. Members do not wait
for each other, and tasks that stay are never interrupted.

The coordinator keeps the tasks of a member that is down until it removes the member, so no other member gets them. A
static member that closes (`simulator.group.streams_group`) gets them back when it returns within its session. After a
kill, the coordinator refuses it until the session has timed out, which ends its thread (`UNRELEASED_INSTANCE_ID`); it
is simulated as if its platform restarted it until then.

A group of the consumer protocol (KIP-848) works in the same way, with the configs of `group.consumer`: the streams
protocol descends from it. Its members are consumers and its tasks partitions, and an empty group does not wait for more
members. If it was converted from the classic protocol, `ClassicMembers` serves the members that still have that.

With clients and brokers from Kafka 4.4 on, members of streams groups report the offsets of their copies, and the
coordinator passes the last reports to its assignor (`simulator.group.task_offset_reports`).

Source: `StreamsGroup`, `CurrentAssignmentBuilder` in `org.apache.kafka.coordinator.group.streams`;
`GroupMetadataManager.streamsGroupHeartbeat`, `.maybeUpdateStreamsTargetAssignment`, Kafka 4.3.1;
`.streamsGroupStaticMemberGroupLeave`, `TargetAssignmentBuilder.createMemberMetadataAndState`, Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assignors.model.ids import ProcessId
from simulator.assignment.approached_target import ApproachedTarget
from simulator.group.group_events import AwaitFirstMembers, ComputeAssignment, Member
from simulator.group.handover import GroupHandover
from simulator.group.heartbeats import Heartbeats
from simulator.group.rebalance_causes import Cause
from simulator.group.reconciliation import reconcile_group, without_stopped_threads
from simulator.group.streams_group import ComputeTarget, Instruction, StreamsGroupProtocolState
from simulator.processes.classic_members import ClassicMembers
from simulator.processes.process_scope import ProcessScope
from simulator.processes.reconciling import Reconciling
from simulator.processes.reported_offsets import ReportedOffsets
from simulator.processes.selected_assignor import SelectedAssignor
from simulator.processes.simulation_context import Process, SimulationContext
from simulator.processes.waiting_joins import WaitingJoins
from simulator.world.group_assignment import GroupAssignment
from simulator.world.world import GroupConfigs, Start


class StreamsProtocol:
    """Runs the state machine of a streams group: executes its instructions after the right delays.

    Args:
        context: the objects of the run.
        configs: the configs of the group; None for those of the world.
        convert_back: converts the group to the classic protocol before a member is removed whose departure leaves only
            members of that, and removes it; None if the group always had this protocol.
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
        self._announced: dict[Member, tuple[ProcessId, bool]] = {}
        self._waiting = WaitingJoins(context, self._scope, self._join)
        interval_ms, seed = self._configs.streams_heartbeat_interval_ms, context.world.seed
        self._heartbeats = Heartbeats(context.fleet, interval_ms, seed, are_late=False)
        self._of_classic = Heartbeats(context.fleet, self._configs.heartbeat_interval_ms, seed, are_late=True)
        self._begin(StreamsGroupProtocolState(), context.execution.assignment)
        self._reported_offsets = self._read_offsets()
        self._approached: ApproachedTarget | None = None
        self._requested_at_ms: int | None = None
        self._computed_at_ms: int | None = None
        self._last_join: tuple[int, Member | None] = -1, None

    def _begin(self, group: StreamsGroupProtocolState, assignment: GroupAssignment) -> None:
        """Begin with members that have a target."""
        self._group = group
        self._announced = {member: self._announcement(member) for member in group.members}
        self._reconciling = Reconciling(self._context, self._scope, group, self._heartbeats, assignment)
        self._classic_members = ClassicMembers(
            self._context, self._scope, self._reconciling, self._of_classic, self._compute_if_due
        )

    def _read_offsets(self) -> ReportedOffsets | None:
        """Return the offsets that members report; None if the coordinator reads none."""
        interval_ms = self._configs.task_offset_interval_ms
        reported = None if interval_ms is None else ReportedOffsets(self._context, self._heartbeats, interval_ms)
        self._reconciling.reported_offsets = reported
        return reported

    @property
    def is_stable(self) -> bool:
        """Return whether every member has its target, none waits for a warm-up, and no member is down."""
        if self._approached is not None or not self._reconciling.is_complete:
            return False
        return set(self._group.members) == self._context.fleet.members_up()

    def is_classic_with(self, members: Sequence[Member]) -> bool:
        """Return whether all members have the classic protocol once some of that have joined."""
        return self._group.is_classic_with(members)

    @property
    def current_round(self) -> int:
        """Return the epoch of the last target."""
        return self._group.epoch

    def resume(self, members: Sequence[Member]) -> None:
        """Continue with members whose current tasks are their target."""
        static = {member: self._context.is_static(member) for member in members}
        classic = list(filter(self._context.is_classic, members))
        self._begin(StreamsGroupProtocolState.running(static, classic=classic), self._context.execution.assignment)
        self._reconciling.reported_offsets = self._reported_offsets
        self._heartbeats.spread(members, self._context.now_ms)
        self._of_classic.spread(classic, self._context.now_ms)
        self._selected.select(members)
        if self._reported_offsets is not None:
            self._reported_offsets.resume(members)

    def take_over(self, group: GroupHandover) -> None:
        """Continue with a group of the classic protocol, whose members keep that and what they have."""
        self._of_classic, self._selected.name = group.heartbeats, group.assignor
        members = group.members
        state = StreamsGroupProtocolState.running(members, epoch=group.generation, classic=members)
        self._begin(state, group.assignment)
        for member in members:
            if self._context.rebalance_causes.has_crashed(member):  # Its session begins anew.
                self._of_classic.restart([member], self._context.now_ms)
                self._scope.start(self._time_out(member))
        self._classic_members.rejoin(group.rejoining)

    def hand_over(self) -> GroupHandover:
        """End, and return the group."""
        self._scope.end()
        members = {member: self._context.is_static(member) for member in self._group.members}
        return GroupHandover(
            members,
            generation=self._group.epoch,
            assignment=self._reconciling.owned,
            heartbeats=self._of_classic,
            joining=self._waiting.causes,
            assignor=self._selected.name,
        )

    def record_change(self) -> None:
        """Record the copies after a change of the execution, if members report their offsets."""
        if self._reported_offsets is not None:
            self._reported_offsets.record_change()

    def join(self, members: Sequence[Member], cause: Cause) -> None:
        """Let threads that have just started join, one after the other."""
        for number, member in enumerate(members):
            if number:
                self._waiting.join_as_thread(member, cause, number)
            else:
                self._join(member, cause)

    def _join(self, member: Member, cause: Cause) -> None:
        is_static = self._context.is_static(member)
        is_classic = self._context.is_classic(member)
        before = self._group.predecessor(member) if is_static else None
        if before is not None and not (is_classic or self._group.is_released(before)):
            self._waiting.join_after(before, member, cause, self._group)
            return
        announced = self._announced[member] = self._announcement(member)
        is_changed = before is not None and self._announced.pop(before) != announced
        instructions = self._group.join(member, is_static=is_static, is_changed=is_changed, is_classic=is_classic)
        is_replaced = before is not None
        rebalances = not is_replaced or self._group.is_waiting
        self._context.rebalance_causes.add_start(member, cause, rebalances=rebalances, replaces=is_replaced)
        self._heartbeats_of(member).restart([member], self._context.now_ms)
        self._last_join = self._context.now_ms, member
        if self._reported_offsets is not None:
            self._reported_offsets.join(member)
        if is_replaced:
            self._reconciling.replace(member)
        else:
            self._reconciling.note_owned(member)
        self._execute_all(instructions)
        if is_classic:
            self._classic_members.start(member, joins_in_ms=0)
        else:
            self._let_reconcile(member, at_once=True)

    def _heartbeats_of(self, member: Member) -> Heartbeats:
        return self._of_classic if member in self._group.classic else self._heartbeats

    def _announcement(self, member: Member) -> tuple[ProcessId, bool]:
        """Return that of which a change triggers a target when a static member is replaced.

        That is the process and the rack of a stream thread, but nothing of a consumer except for its topics, which do
        not change (`GroupMetadataManager.hasMemberSubscriptionChanged`).
        """
        if self._context.world.application.is_consumer_group:
            return self._context.fleet.first_process_id(member.client), False
        return self._context.fleet.announcement(self._context.fleet.row(member.client))

    def stop(self, members: Sequence[Member], cause: Cause, *, leaves_group: bool, closes: bool) -> None:
        """Process the end of threads; if they do not leave, the group removes each after its session timeout.

        Args:
            members: their members.
            cause: the event.
            leaves_group: whether they leave.
            closes: whether they close; static ones that do not leave then allow others to replace them.
        """
        for member in members:
            if member not in self._group.members:
                continue
            if self._reported_offsets is not None:
                self._reported_offsets.stop(member)
            self._reconciling.stop(member)
            if leaves_group:
                self._context.rebalance_causes.add(cause)
                self._remove(member, f"{member.client} left")
            else:
                self._context.rebalance_causes.add_crash(member, cause)
                if closes and self._context.is_static(member) and member not in self._group.classic:
                    self._group.release(member)
                self._scope.start(self._time_out(member))
            self._waiting.stop(member)

    def move_coordinator(self, configs: GroupConfigs) -> None:
        """Let another broker coordinate the group: it knows members and tasks, but no reported offsets."""
        before, self._configs = self._configs, configs
        if configs.task_offset_interval_ms != before.task_offset_interval_ms:
            self._reported_offsets = self._read_offsets()
            if self._reported_offsets is not None:
                self._reported_offsets.resume(list(filter(self._context.fleet.is_up, self._group.members)))
        if self._reported_offsets is not None:
            self._reported_offsets.lose()

    def request_rebalance(self, reason: str, cause: Cause) -> None:
        """Do nothing: the coordinator ignores racks, and its own configs do not change."""

    def _time_out(self, member: Member) -> Process:
        if member not in self._group.members:
            return  # Another member with its instance id has replaced it at this moment.
        now_ms, session_ms = self._context.now_ms, self._configs.session_timeout_ms
        if member in self._group.classic:
            session_ms = self._context.world.application.group_configs.session_timeout_ms
        end_ms = self._heartbeats_of(member).last_ms(member, now_ms) + session_ms
        self._waiting.end_session(member, end_ms)
        yield self._context.env.timeout(max(0, end_ms - now_ms))
        if member in self._group.members:
            self._remove(member, f"{member.client}: session timed out")

    def _remove(self, member: Member, reason: str) -> None:
        """Remove a member and its target; its next start is a new member."""
        if self._convert_back is not None and self._group.is_classic_without(member):
            self._convert_back(member, reason)
            return
        instructions = self._group.leave(member, reason)
        self._reconciling.remove(member)
        self._announced.pop(member, None)
        if self._reported_offsets is not None:
            self._reported_offsets.remove(member)
        self._execute_all(instructions)

    def _execute_all(self, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            if self._requested_at_ms is None and isinstance(instruction, ComputeTarget):
                self._requested_at_ms = self._context.now_ms
            self._scope.start(self._execute(instruction))

    def _execute(self, instruction: Instruction) -> Process:
        match instruction:
            case AwaitFirstMembers():
                yield self._context.env.timeout(self._configs.initial_rebalance_delay_ms)
                self._execute_all(self._group.end_initial_delay())
            case ComputeTarget(awaits_heartbeat):
                yield self._context.env.timeout(0)
                if not awaits_heartbeat:
                    self._compute()
                    return
                while self._group.members:
                    heartbeat_ms, member = self._next_heartbeat()
                    if member is not None and heartbeat_ms == self._context.now_ms:
                        self._compute(member)
                        return
                    yield self._context.env.timeout(heartbeat_ms - self._context.now_ms)
                self._compute()

    def _next_heartbeat(self) -> tuple[int, Member | None]:
        """Return when a heartbeat may trigger the next target, and whose.

        While all members are down, the member is None, and the time is when to call this again.
        """
        now_ms, interval_ms = self._context.now_ms, self._configs.streams_heartbeat_interval_ms
        earliest_ms = now_ms
        if self._computed_at_ms is not None:
            earliest_ms = max(now_ms, self._computed_at_ms + self._configs.streams_assignment_interval_ms)
        next_heartbeat: tuple[int, Member | None] = now_ms + interval_ms, None
        for member in filter(self._context.fleet.is_up, self._group.members):
            if member in self._group.classic:
                continue  # Its heartbeats trigger no target.
            heartbeat_ms = self._heartbeats.due_ms(member, earliest_ms)
            if next_heartbeat[1] is None or heartbeat_ms < next_heartbeat[0]:
                next_heartbeat = heartbeat_ms, member
        return next_heartbeat

    def _compute(self, triggered_by: Member | None = None) -> None:
        """Compute a new target for all current members.

        Args:
            triggered_by: the member whose heartbeat triggers it, which gets its target immediately.
        """
        instruction = self._group.take_target()
        requested_at_ms, self._requested_at_ms = self._requested_at_ms, None
        if instruction is None:
            return
        assert requested_at_ms is not None  # A target is due only if it was requested.
        self._take_step(instruction, requested_at_ms, triggered_by, is_new_target=True)

    def _compute_if_due(self, member: Member) -> None:
        """Compute the target that is due as a member of the classic protocol joins."""
        interval_ms = self._configs.streams_assignment_interval_ms
        if self._computed_at_ms is None or self._context.now_ms >= self._computed_at_ms + interval_ms:
            self._compute(member)

    def _refine(self) -> Process:
        """Take the next step towards a target when a copy has caught up and all members have taken the last step.

        The coordinator learns that from heartbeats.

        Yields:
            The time between two heartbeats.
        """
        approached = self._approached
        while approached is not None and approached is self._approached:
            yield self._context.env.timeout(self._configs.streams_heartbeat_interval_ms)
            is_due = approached is self._approached and self._reconciling.is_complete
            if is_due and self._context.leader.has_caught_up(approached):
                instruction = self._group.refine()
                if instruction is not None:
                    self._take_step(instruction, self._context.now_ms, None, is_new_target=False)

    def _take_step(
        self, instruction: ComputeAssignment, requested_at_ms: int, triggered_by: Member | None, *, is_new_target: bool
    ) -> None:
        now_ms, execution, recorder = self._context.now_ms, self._context.execution, self._context.recorder
        execution.delete_expired_copies(now_ms)
        self._context.budget.count_rebalance()
        joined_at_ms, joined = self._last_join
        # Others may send a heartbeat in the same millisecond, but only the join changes the group.
        self._context.fleet.note_trigger(joined if joined_at_ms == now_ms else triggered_by)
        instruction = self._selected.update(instruction)
        previous = self._reconciling.owned if self._configs.passes_owned_tasks else self._reconciling.target
        reported = None if self._reported_offsets is None else self._reported_offsets.of(instruction.members)
        decision = self._context.leader.decide(
            instruction, previous, reported, self._approached, is_new_target=is_new_target
        )
        self._approached = decision.approached
        if self._approached is not None:
            self._scope.start(self._refine())
        is_warm_start = instruction.generation == 1 and self._context.world.start is Start.WARM
        target = without_stopped_threads(decision.target, self._context.fleet.running)
        current = execution.assignment
        reconciliation = reconcile_group(target, current, self._context.leader.stateful, current.standby)
        causes = self._context.rebalance_causes.take(self._group.members)
        with execution.changing(now_ms):
            recorder.open_round(instruction, decision, reconciliation, causes, requested_at_ms, now_ms)
            self._reconciling.target = decision.target
            self._computed_at_ms = now_ms
            if is_warm_start:
                execution.assign(reconciliation, is_restored=True)
                self._reconciling.owned = execution.assignment
                self._group.rejoin_all()
                self._heartbeats.spread(instruction.members, now_ms)
                self._of_classic.spread(self._group.classic, now_ms)
                if self._reported_offsets is not None:
                    self._reported_offsets.resume(instruction.members)
            recorder.count_unfinished()
        for member in instruction.members:
            self._let_reconcile(member, at_once=member == triggered_by)
        self._reconciling.mark_if_complete()

    def _let_reconcile(self, member: Member, *, at_once: bool) -> None:
        """Let a member learn of its target, immediately or by a heartbeat, and reconcile with it."""
        if member in self._group.classic:
            self._classic_members.start(member)
        else:
            self._reconciling.start(member, at_once=at_once)
