"""What the members of a classic group have received with the last assignment, and what they report as owned."""

from __future__ import annotations

from collections.abc import Collection, Container

import numpy as np

from assignors.model.assignment import UNASSIGNED
from simulator.group.member import Member
from simulator.group.reconciliation import Reconciliation
from simulator.processes.simulation_context import SimulationContext
from simulator.world.group_assignment import GroupAssignment


class ReceivedAssignment:
    """The last assignment of a classic group.

    Attributes:
        last: what each member got with the last assignment, including static members that were down.
        reported: what the members that have not stopped since report as owned, although they may have revoked it.
    """

    def __init__(self, context: SimulationContext) -> None:
        self._context = context
        self.last = self.reported = self._joined = context.execution.assignment
        self._stopped: dict[tuple[int, int], Member] = {}
        self._stopped_since_decision: list[Member] = []

    def note_decision(self) -> None:
        """Note that the next assignment is decided now, so that it is for the threads that run now."""
        self._stopped_since_decision.clear()

    def update(self, of_all: Reconciliation, of_running: Reconciliation) -> None:
        """Note a new assignment.

        `of_running`: that of the members that are up. Of the others, only static ones receive it later.
        """
        self.last, self.reported = of_all.assignment, of_running.assignment
        for member in self._stopped_since_decision:
            if not self._context.is_static(member):
                self.last = self.last.without_thread(self._context.fleet.row(member.client), member.thread)
        self._stopped.clear()

    def update_member(self, member: Member) -> None:
        """Note that a static member that is back has received the assignment of its predecessor."""
        row = self._context.fleet.row(member.client)
        self.reported = self.reported.with_tasks_of(row, member.thread, self._context.execution.assignment)

    def stop(self, member: Member) -> None:
        """Note that a member has stopped."""
        row = self._context.fleet.row(member.client)
        self.reported = self.reported.without_thread(row, member.thread)
        self._stopped.setdefault((row, member.thread), member)
        self._stopped_since_decision.append(member)

    def remove(self, member: Member) -> None:
        """Forget the assignment of a member that is removed, or has lost it; its next start is a new member."""
        row, slot = self._context.fleet.row(member.client), self._context.fleet.slot(member)
        self.last = self.last.without_thread(row, slot)

    def replace(self, member: Member, *, keeps_assignment: bool) -> None:
        """Note that a static process has started, which has nothing; it may get the assignment of its predecessor."""
        row = self._context.fleet.row(member.client)
        self._joined = self._joined.without_thread(row, member.thread)
        if not keeps_assignment:
            self.last = self.last.without_thread(row, member.thread)

    def of_members(self, members: Collection[Member]) -> GroupAssignment:
        """Return what each member has received; members that are down have the numbers of their slots."""
        assignment = self.last
        for (row, thread), member in self._stopped.items():
            if member in members:
                assignment = assignment.with_thread(row, thread, self._context.fleet.slot(member))
            elif not self._context.is_static(member):
                assignment = assignment.without_thread(row, thread)
        return assignment

    def at_join(self, members: Collection[Member], joined: Container[Member]) -> GroupAssignment:
        """Return the active tasks that each member had when it joined a rebalance that has all its members now.

        Members that are down have what they reported before, so that the leader does not give it to others. `joined`:
        those that have joined this rebalance; others have joined an earlier one.
        """
        fleet, current = self._context.fleet, self._context.execution.assignment
        down = [one for one in members if not fleet.is_up(one) and not self._context.leader.is_eager(one)]
        before, self._joined = self._joined, current
        if down:
            last, owner, thread = self.of_members(members), current.owner.copy(), current.thread.copy()
            for member in down:
                row, slot = fleet.row(member.client), fleet.slot(member)
                source = last if member in joined else before
                has = (source.owner == row) & (source.thread[:, row] == slot) & (owner == UNASSIGNED)
                owner[has] = row
                thread[np.flatnonzero(has), row] = slot
            self._joined = GroupAssignment(owner, current.standby, thread)
        return self._joined
