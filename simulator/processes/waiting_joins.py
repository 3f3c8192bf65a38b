"""Members that have started and join a group with a coordinator later.

The threads of a client send their first heartbeats one after the other. A static member whose instance id is in use
waits until the member that has it has left, or its session has timed out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import simpy

from simulator.group.member import Member
from simulator.group.rebalance_causes import Cause
from simulator.processes.process_scope import ProcessScope
from simulator.processes.simulation_context import Process, SimulationContext

THREAD_START_MS: Final = 10
"""The time between the first heartbeats of two threads of a client that starts: an estimate."""


class WaitingJoins:
    """Lets members join later.

    `causes`: the members that have not joined yet, and why each started. `is_refused` says whether another member has
    the instance id of a member, and has not closed.
    """

    def __init__(
        self,
        context: SimulationContext,
        scope: ProcessScope,
        join: Callable[[Member, Cause], None],
        is_refused: Callable[[Member], bool] = lambda _: False,
    ) -> None:
        self._context = context
        self._scope = scope
        self._join = join
        self._is_refused = is_refused
        self.causes: dict[Member, Cause] = {}
        self._released: dict[Member, simpy.Event] = {}

    def join_in_turn(self, members: Sequence[Member], cause: Cause, *, at_once: bool) -> None:
        """Let the threads of a client join, the first one now, and the others one after the other or now, too."""
        for number, member in enumerate(members):
            if number and not at_once:
                self.causes[member] = cause
                self._scope.start(self._join_as_thread(member, number))
            else:
                self._join(member, cause)

    def _join_as_thread(self, member: Member, number: int) -> Process:
        yield self._context.env.timeout(number * THREAD_START_MS)
        self._join_if_up(member)

    def join_after(self, before: Member, member: Member, cause: Cause) -> None:
        """Let a static member join a group when the one with its instance id has closed or was removed."""
        self.causes[member] = cause
        self._scope.start(self._join_after(before, member))

    def _join_after(self, before: Member, member: Member) -> Process:
        while self._is_refused(member):
            yield self._released.setdefault(before, self._context.env.event())
        self._join_if_up(member)

    def _join_if_up(self, member: Member) -> None:
        cause = self.causes.pop(member)
        if self._context.fleet.is_up(member):
            self._join(member, cause)

    def release(self, member: Member) -> None:
        """Note that a member has closed or was removed."""
        if member in self._released:
            self._released.pop(member).succeed()
