"""What the members of a classic group have received with the last assignment, and what they report as owned."""

from __future__ import annotations

from collections.abc import Collection

from simulator.group.group_events import Member
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
        self.last = self.reported = context.execution.assignment
        self._stopped: dict[tuple[int, int], Member] = {}

    def update(self, of_all: Reconciliation, of_running: Reconciliation) -> None:
        """Note a new assignment.

        Args:
            of_all: that of all members.
            of_running: that of the members that are up.
        """
        self.last, self.reported = of_all.assignment, of_running.assignment
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

    def remove(self, member: Member) -> None:
        """Forget the assignment of a member that is removed; its next start is a new member."""
        row, slot = self._context.fleet.row(member.client), self._context.fleet.slot(member)
        self.last = self.last.without_thread(row, slot)

    def of_members(self, members: Collection[Member]) -> GroupAssignment:
        """Return what each member has received; members that are down have the numbers of their slots."""
        assignment = self.last
        for (row, thread), member in self._stopped.items():
            if member in members:
                assignment = assignment.with_thread(row, thread, self._context.fleet.slot(member))
            elif not self._context.is_static(member):
                assignment = assignment.without_thread(row, thread)
        return assignment
