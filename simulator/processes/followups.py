"""When members of a classic group request follow-up rebalances: after revoking tasks, and when the leader says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Final

from simulator.group.classic_group import ClassicGroupProtocolState
from simulator.group.group_events import FollowupDue, GroupEvent, Member, RebalanceRequested
from simulator.group.reconciliation import Reconciliation
from simulator.processes.process_scope import ProcessScope
from simulator.processes.rejoining import Rejoining
from simulator.processes.simulation_context import Process, SimulationContext
from simulator.world.group_assignment import GroupAssignment

FOLLOWUP: Final = "follow-up rebalance: revoked tasks can be assigned"


class FollowupRebalances:
    """The follow-up rebalances of a classic group.

    Args:
        context: the objects of the run.
        scope: starts processes.
        rejoining: when members rejoin.
        send: sends an event to the group.
    """

    def __init__(
        self,
        context: SimulationContext,
        scope: ProcessScope,
        rejoining: Rejoining,
        send: Callable[[GroupEvent], None],
    ) -> None:
        self._context = context
        self._scope = scope
        self._rejoining = rejoining
        self._send = send
        self._is_consumer_group = context.world.application.is_consumer_group
        self._overdue: int | None = None

    def rejoining_members(
        self, group: ClassicGroupProtocolState, target: GroupAssignment, reconciliation: Reconciliation
    ) -> dict[Member, bool]:
        """Return the members that revoke a task or wait for one, and therefore rejoin; and whether each revokes."""
        current = self._context.execution.assignment
        revokes: dict[tuple[int, int], bool] = {}
        awaiting = [] if self._is_consumer_group else [(target, reconciliation.withheld, False)]
        for assignment, tasks, is_revoking in (*awaiting, (current, reconciliation.revoked, True)):
            clients, numbers = assignment.owner[tasks].tolist(), assignment.owner_thread()[tasks].tolist()
            revokes.update(dict.fromkeys(zip(clients, numbers, strict=True), is_revoking))
        members = {thread: self._context.fleet.member(*thread) for thread in sorted(revokes)}
        return {
            member: revokes[thread]
            for thread, member in members.items()
            if member is not None and member in group.members
        }

    def request(self, group: ClassicGroupProtocolState, rejoining: Mapping[Member, bool], generation: int) -> None:
        """Let members rejoin, each as soon as it can.

        Args:
            group: the group.
            rejoining: the members, and whether each rejoins because it must revoke tasks.
            generation: the generation whose assignment they have just received.
        """
        now_ms = self._context.now_ms
        ready = [(self._rejoining.ready_ms(member, now_ms, revokes), member) for member, revokes in rejoining.items()]
        for at_ms, together in groupby(sorted(ready, key=lambda call: call[0]), key=lambda call: call[0]):
            members = [member for _, member in together]
            if at_ms == now_ms:
                self._send(RebalanceRequested(members, FOLLOWUP))
            else:
                self._scope.start(self._request_at(group, at_ms, members, generation))

    def _request_at(
        self, group: ClassicGroupProtocolState, at_ms: int, members: Sequence[Member], generation: int
    ) -> Process:
        yield self._context.env.timeout(at_ms - self._context.now_ms)
        is_up = self._context.fleet.is_up
        remaining = [member for member in members if is_up(member) and member in group.members]
        if group.generation == generation and remaining:
            self._send(RebalanceRequested(remaining, FOLLOWUP))

    def request_later(self, group: ClassicGroupProtocolState, generation: int, delay_ms: int) -> None:
        """Let the leader request the follow-up rebalance of a generation after a time."""
        self._scope.start(self._request_later(group, generation, delay_ms))

    def _request_later(self, group: ClassicGroupProtocolState, generation: int, delay_ms: int) -> Process:
        yield self._context.env.timeout(delay_ms)
        self._overdue = generation
        self.request_overdue(group)

    def request_overdue(self, group: ClassicGroupProtocolState) -> None:
        """Let the leader request the follow-up rebalance that is due, if it is up."""
        leader = group.leader
        if leader is not None and self._overdue is not None and self._context.fleet.is_up(leader):
            self._send(FollowupDue(self._overdue))
