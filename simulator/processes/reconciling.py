"""How the members of a group with targets reconcile: each with its own target, when it learns of it by a heartbeat."""

from __future__ import annotations

from simulator.group.group_events import Member
from simulator.group.heartbeats import Heartbeats
from simulator.group.reconciliation import (
    lacks_only_free_tasks,
    reconcile_member,
    revoke_tasks,
    threads_behind,
    without_tasks_of_others,
    without_untargeted_tasks,
)
from simulator.group.streams_group import StreamsGroupProtocolState
from simulator.processes.process_scope import ProcessScope
from simulator.processes.rejoining import Rejoining
from simulator.processes.reported_offsets import ReportedOffsets
from simulator.processes.simulation_context import Process, SimulationContext
from simulator.world.group_assignment import GroupAssignment


class Reconciling:
    """Lets members reconcile with their targets.

    Attributes:
        group: the members.
        target: the last target of all members.
        owned: the tasks that members have reported to the coordinator.
        reported_offsets: the offsets that members report; None if the coordinator reads none.
    """

    def __init__(
        self,
        context: SimulationContext,
        scope: ProcessScope,
        group: StreamsGroupProtocolState,
        heartbeats: Heartbeats,
        assignment: GroupAssignment,
    ) -> None:
        """Begin with members that have their target.

        Args:
            context: the objects of the run.
            scope: starts processes.
            group: the members, as they are at any time.
            heartbeats: the heartbeats by which members learn of targets.
            assignment: the target, and what members own.
        """
        self._context = context
        self._scope = scope
        self.group = group
        self._heartbeats = heartbeats
        self._rejoining = Rejoining(context)
        self._active: set[Member] = set()
        self.target = self.owned = assignment
        self.reported_offsets: ReportedOffsets | None = None

    @property
    def is_complete(self) -> bool:
        """Whether no target is due, and each member that is up has its own."""
        if self.group.is_waiting:
            return False
        fleet, assignment = self._context.fleet, self._context.execution.assignment
        if any(self.group.is_outdated(member) and fleet.is_up(member) for member in self.group.classic):
            return False
        members = (fleet.member(*thread) for thread in threads_behind(self.target, assignment))
        return not any(member in self.group.members for member in members)

    def start(self, member: Member, *, at_once: bool) -> None:
        """Let a member send heartbeats, the first one immediately or when it is due, until it has its target."""
        if member not in self._active and self.is_behind(member):
            self._active.add(member)
            self._scope.start(self._reconcile(member, at_once))

    def _reconcile(self, member: Member, at_once: bool) -> Process:
        heartbeat_ms = self._context.now_ms
        if not at_once:
            heartbeat_ms = self._heartbeats.next_ms(member, heartbeat_ms)
        while member in self.group.members and self.is_behind(member):
            yield self._context.env.timeout(heartbeat_ms - self._context.now_ms)
            yield from self.await_poll(member)
            if member in self.group.members and self._context.fleet.is_up(member):
                self.assign(member)
            heartbeat_ms = self._heartbeats.next_ms(member, self._context.now_ms)
        self._active.discard(member)
        self.mark_if_complete()

    def await_poll(self, member: Member) -> Process:
        """Wait until a member, which has received its target, applies it in its next poll."""
        now_ms = self._context.now_ms
        ready_ms = self._rejoining.ready_ms(member, now_ms)
        if ready_ms > now_ms:
            yield self._context.env.timeout(ready_ms - now_ms)

    def assign(self, member: Member) -> None:
        """Let a member revoke what is not in its target, and give it what is free."""
        execution, client = self._context.execution, self._context.fleet.row(member.client)
        with execution.changing(self._context.now_ms):
            target = without_tasks_of_others(self.target, self.owned, client, member.thread)
            execution.assign(reconcile_member(client, member.thread, target, execution.assignment))
        if self.reported_offsets is not None:
            self.reported_offsets.report(member)
        self.note_owned(member)

    def revoke(self, member: Member, *, everything: bool) -> bool:
        """Let a member revoke tasks, which it has not reported yet.

        Args:
            member: the member.
            everything: whether it revokes all its tasks; otherwise only those that are not in its target.

        Returns:
            Whether it had such tasks.
        """
        execution, client = self._context.execution, self._context.fleet.row(member.client)
        kept = None if everything else self.target
        reconciliation = revoke_tasks(client, member.thread, kept, execution.assignment)
        if not reconciliation.revoked.any():
            return False
        with execution.changing(self._context.now_ms):
            execution.assign(reconciliation)
        return True

    def note_owned(self, member: Member) -> None:
        """Note the tasks that a member has reported to the coordinator."""
        row = self._context.fleet.row(member.client)
        self.owned = self.owned.with_tasks_of(row, member.thread, self._context.execution.assignment)

    def replace(self, member: Member) -> None:
        """Let a static member take over the tasks of its predecessor that are still in its target.

        It reports that it owns nothing, so others can get the rest (`CurrentAssignmentBuilder.ownsRevokedPartitions`).
        """
        row = self._context.fleet.row(member.client)
        self.owned = without_untargeted_tasks(self.owned, self.target, row, member.thread)

    def stop(self, member: Member) -> None:
        """Keep the target and the tasks of a member that has stopped, until it is removed."""
        row, slot = self._context.fleet.row(member.client), self._context.fleet.slot(member)
        self.target = self.target.with_thread(row, member.thread, slot)
        self.owned = self.owned.with_thread(row, member.thread, slot)

    def remove(self, member: Member) -> None:
        """Remove the target and the tasks of a member that has stopped."""
        row, slot = self._context.fleet.row(member.client), self._context.fleet.slot(member)
        self.target = self.target.without_thread(row, slot)
        self.owned = self.owned.without_thread(row, slot)

    def lacks_only_free_tasks(self, member: Member) -> bool:
        """Return whether a member lacks tasks of its target, none of which another member owns."""
        return lacks_only_free_tasks(self.target, self.owned, self._context.fleet.row(member.client), member.thread)

    def is_behind(self, member: Member) -> bool:
        """Return whether a member that is up has not reconciled with its target."""
        if not self._context.fleet.is_up(member):
            return False
        client, current, target = (
            self._context.fleet.row(member.client),
            self._context.execution.assignment,
            self.target,
        )
        on_thread, to_thread = (assignment.thread[:, client] == member.thread for assignment in (current, target))
        has_active, gets_active = (current.owner == client) & on_thread, (target.owner == client) & to_thread
        has_standby, gets_standby = current.standby[:, client] & on_thread, target.standby[:, client] & to_thread
        return bool((has_active != gets_active).any() or (has_standby != gets_standby).any())

    def mark_if_complete(self) -> None:
        """Record that all members have their target, if they do."""
        if self.is_complete:
            self._context.recorder.mark_reconciled(self._context.now_ms)
