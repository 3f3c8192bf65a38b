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

With clients and brokers from Kafka 4.4 on, members report the offsets of their copies, and the coordinator passes the
last reports to its assignor (`simulator.group.task_offset_reports`).

Source: `StreamsGroup`, `CurrentAssignmentBuilder` in `org.apache.kafka.coordinator.group.streams`;
`GroupMetadataManager.streamsGroupHeartbeat`, `.maybeUpdateStreamsTargetAssignment`, Kafka 4.3.1;
`.streamsGroupStaticMemberGroupLeave`, `TargetAssignmentBuilder.createMemberMetadataAndState`, Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from assignors.model.ids import ProcessId
from simulator.assignment.leader import ApproachedTarget
from simulator.group.classic_group import AwaitFirstMembers, ComputeAssignment, Member
from simulator.group.heartbeats import Heartbeats
from simulator.group.rebalance_causes import Cause
from simulator.group.reconciliation import (
    reconcile_group,
    reconcile_member,
    threads_behind,
    without_stopped_threads,
    without_tasks_of_others,
)
from simulator.group.streams_group import ComputeTarget, Instruction, StreamsGroupProtocolState
from simulator.processes.rejoining import Rejoining
from simulator.processes.reported_offsets import ReportedOffsets
from simulator.processes.simulation_context import Process, SimulationContext
from simulator.world.world import GroupConfigs, Start

THREAD_START_MS: Final = 10
"""The time between the first heartbeats of two threads of a client that starts: an estimate."""


class StreamsProtocol:
    """Runs the state machine of a streams group: executes its instructions after the right delays."""

    def __init__(self, context: SimulationContext) -> None:
        self._context = context
        self._configs = context.world.application.group_configs
        self._group = StreamsGroupProtocolState()
        self._rejoining = Rejoining(context)
        self._target = context.execution.assignment
        self._owned = context.execution.assignment
        self._announced: dict[Member, tuple[ProcessId, bool]] = {}
        self._session_ends_ms: dict[Member, int] = {}
        interval_ms, seed = self._configs.streams_heartbeat_interval_ms, context.world.seed
        self._heartbeats = Heartbeats(context.fleet, interval_ms, seed, are_late=False)
        self._reported_offsets = self._read_offsets()
        self._reconciling: set[Member] = set()
        self._approached: ApproachedTarget | None = None
        self._requested_at_ms: int | None = None
        self._computed_at_ms: int | None = None

    def _read_offsets(self) -> ReportedOffsets | None:
        """Return the offsets that members report; None if the coordinator reads none."""
        interval_ms = self._configs.task_offset_interval_ms
        return None if interval_ms is None else ReportedOffsets(self._context, self._heartbeats, interval_ms)

    @property
    def is_stable(self) -> bool:
        """Return whether every member has its target, none waits for a warm-up, and no member is down."""
        if self._approached is not None or not self._is_reconciled:
            return False
        return set(self._group.members) == self._context.fleet.members_up()

    @property
    def _is_reconciled(self) -> bool:
        if self._group.is_waiting:
            return False
        fleet = self._context.fleet
        members = (fleet.member(*thread) for thread in threads_behind(self._target, self._context.execution.assignment))
        return not any(member in self._group.members for member in members)

    @property
    def current_round(self) -> int:
        """Return the epoch of the last target."""
        return self._group.epoch

    def resume(self, members: Sequence[Member]) -> None:
        """Continue with members whose current tasks are their target."""
        self._group = StreamsGroupProtocolState.running({member: self._context.is_static(member) for member in members})
        self._announced = {member: self._announcement(member) for member in members}
        self._target = self._owned = self._context.execution.assignment
        self._heartbeats.spread(members, self._context.now_ms)
        if self._reported_offsets is not None:
            self._reported_offsets.resume(members)

    def record_change(self) -> None:
        """Record the copies after a change of the execution, if members report their offsets."""
        if self._reported_offsets is not None:
            self._reported_offsets.record_change()

    def join(self, members: Sequence[Member], cause: Cause) -> None:
        """Let threads that have just started join, one after the other."""
        for number, member in enumerate(members):
            if number:
                self._context.env.process(self._join_later(member, cause, number * THREAD_START_MS))
            else:
                self._join(member, cause)

    def _join_later(self, member: Member, cause: Cause, delay_ms: int) -> Process:
        yield self._context.env.timeout(delay_ms)
        if self._context.fleet.is_up(member):
            self._join(member, cause)

    def _join(self, member: Member, cause: Cause) -> None:
        is_static = self._context.is_static(member)
        before = self._group.predecessor(member) if is_static else None
        if before is not None and not self._group.is_released(before):
            self._context.env.process(self._join_after_session(member, before, cause))
            return
        announced = self._announced[member] = self._announcement(member)
        is_changed = before is not None and self._announced.pop(before) != announced
        instructions = self._group.join(member, is_static=is_static, is_changed=is_changed)
        is_replaced = before is not None
        rebalances = not is_replaced or self._group.is_waiting
        self._context.rebalance_causes.add_start(member, cause, rebalances=rebalances, replaces=is_replaced)
        self._heartbeats.restart([member], self._context.now_ms)
        if self._reported_offsets is not None:
            self._reported_offsets.join(member)
        if not is_replaced:
            self._note_owned(member)  # A static member takes over the tasks of the one that it replaces.
        self._execute_all(instructions)
        self._start_reconciling(member, at_once=True)

    def _join_after_session(self, member: Member, before: Member, cause: Cause) -> Process:
        """Let a static member join when the session of the killed one with its instance id has timed out."""
        while self._group.predecessor(member) == before:
            wait_ms = self._session_ends_ms[before] - self._context.now_ms
            yield self._context.env.timeout(max(1, wait_ms))
        if self._context.fleet.is_up(member):
            self._join(member, cause)

    def _announcement(self, member: Member) -> tuple[ProcessId, bool]:
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
            fleet = self._context.fleet
            row, slot = fleet.row(member.client), fleet.slot(member)
            if self._reported_offsets is not None:
                self._reported_offsets.stop(member)
            self._target = self._target.with_thread(row, member.thread, slot)
            self._owned = self._owned.with_thread(row, member.thread, slot)
            if leaves_group:
                self._context.rebalance_causes.add(cause)
                self._remove(member, f"{member.client} left")
            else:
                self._context.rebalance_causes.add_crash(member, cause)
                if closes and self._context.is_static(member):
                    self._group.release(member)
                self._context.env.process(self._time_out(member))

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
        now_ms = self._context.now_ms
        end_ms = self._heartbeats.last_ms(member, now_ms) + self._configs.session_timeout_ms
        self._session_ends_ms[member] = end_ms
        yield self._context.env.timeout(max(0, end_ms - now_ms))
        if member in self._group.members:
            self._remove(member, f"{member.client}: session timed out")

    def _remove(self, member: Member, reason: str) -> None:
        """Remove a member and its target; its next start is a new member."""
        instructions = self._group.leave(member, reason)
        row, slot = self._context.fleet.row(member.client), self._context.fleet.slot(member)
        self._target = self._target.without_thread(row, slot)
        self._owned = self._owned.without_thread(row, slot)
        self._announced.pop(member, None)
        if self._reported_offsets is not None:
            self._reported_offsets.remove(member)
        self._execute_all(instructions)

    def _execute_all(self, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            if self._requested_at_ms is None and isinstance(instruction, ComputeTarget):
                self._requested_at_ms = self._context.now_ms
            self._context.env.process(self._execute(instruction))

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

    def _refine(self) -> Process:
        """Take the next step towards a target when a copy has caught up and all members have taken the last step.

        The coordinator learns that from heartbeats.

        Yields:
            The time between two heartbeats.
        """
        approached = self._approached
        while approached is not None and approached is self._approached:
            yield self._context.env.timeout(self._configs.streams_heartbeat_interval_ms)
            is_due = approached is self._approached and self._is_reconciled
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
        previous = self._owned if self._configs.passes_owned_tasks else self._target
        reported = None if self._reported_offsets is None else self._reported_offsets.of(instruction.members)
        decision = self._context.leader.decide(
            instruction, previous, reported, self._approached, is_new_target=is_new_target
        )
        self._approached = decision.approached
        if self._approached is not None:
            self._context.env.process(self._refine())
        is_warm_start = instruction.generation == 1 and self._context.world.start is Start.WARM
        target = without_stopped_threads(decision.target, self._context.fleet.running)
        current = execution.assignment
        reconciliation = reconcile_group(target, current, self._context.leader.stateful, current.standby)
        causes = self._context.rebalance_causes.take(self._group.members)
        with execution.changing(now_ms):
            recorder.open_round(instruction, decision, reconciliation, causes, requested_at_ms, now_ms)
            self._target = decision.target
            self._computed_at_ms = now_ms
            if is_warm_start:
                execution.assign(reconciliation, is_restored=True)
                self._owned = execution.assignment
                self._heartbeats.spread(instruction.members, now_ms)
                if self._reported_offsets is not None:
                    self._reported_offsets.resume(instruction.members)
            recorder.count_unfinished()
        for member in instruction.members:
            self._start_reconciling(member, at_once=member == triggered_by)
        self._mark_if_reconciled()

    def _start_reconciling(self, member: Member, *, at_once: bool) -> None:
        """Let a member send heartbeats, the first one immediately or when it is due, until it has its target."""
        if member not in self._reconciling and self._is_behind(member):
            self._reconciling.add(member)
            self._context.env.process(self._reconcile(member, at_once))

    def _reconcile(self, member: Member, at_once: bool) -> Process:
        heartbeat_ms = self._context.now_ms
        if not at_once:
            heartbeat_ms = self._heartbeats.next_ms(member, heartbeat_ms)
        while member in self._group.members and self._is_behind(member):
            yield self._context.env.timeout(heartbeat_ms - self._context.now_ms)
            yield from self._await_poll(member)
            if member in self._group.members and self._context.fleet.is_up(member):
                self._assign(member)
            heartbeat_ms = self._heartbeats.next_ms(member, self._context.now_ms)
        self._reconciling.discard(member)
        self._mark_if_reconciled()

    def _await_poll(self, member: Member) -> Process:
        """Wait until a member, which has received its target, applies it in its next poll."""
        now_ms = self._context.now_ms
        ready_ms = self._rejoining.ready_ms(member, now_ms)
        if ready_ms > now_ms:
            yield self._context.env.timeout(ready_ms - now_ms)

    def _assign(self, member: Member) -> None:
        execution, client = self._context.execution, self._context.fleet.row(member.client)
        with execution.changing(self._context.now_ms):
            target = without_tasks_of_others(self._target, self._owned, client, member.thread)
            execution.assign(reconcile_member(client, member.thread, target, execution.assignment))
        if self._reported_offsets is not None:
            self._reported_offsets.report(member)
        self._note_owned(member)

    def _note_owned(self, member: Member) -> None:
        """Note the tasks that a member has reported to the coordinator."""
        row = self._context.fleet.row(member.client)
        self._owned = self._owned.with_tasks_of(row, member.thread, self._context.execution.assignment)

    def _is_behind(self, member: Member) -> bool:
        """Return whether a member that is up has not reconciled with its target."""
        if not self._context.fleet.is_up(member):
            return False
        client, current, target = (
            self._context.fleet.row(member.client),
            self._context.execution.assignment,
            self._target,
        )
        on_thread, to_thread = (assignment.thread[:, client] == member.thread for assignment in (current, target))
        has_active, gets_active = (current.owner == client) & on_thread, (target.owner == client) & to_thread
        has_standby, gets_standby = current.standby[:, client] & on_thread, target.standby[:, client] & to_thread
        return bool((has_active != gets_active).any() or (has_standby != gets_standby).any())

    def _mark_if_reconciled(self) -> None:
        if self._is_reconciled:
            self._context.recorder.mark_reconciled(self._context.now_ms)
