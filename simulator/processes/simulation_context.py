"""What the processes of a run share."""

from __future__ import annotations

import typing
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import simpy

from simulator.assignment.leader import Leader
from simulator.flows.execution import Execution
from simulator.group.classic_group import Member
from simulator.group.fleet import Fleet
from simulator.group.rebalance_causes import Cause, RebalanceCauses
from simulator.results.recording import TraceRecorder
from simulator.world.world import World

Process = Generator[simpy.Event, Any, None]


@dataclass(frozen=True, slots=True, eq=False)
class SimulationContext:
    """The parts of a run.

    `announce_change` is to be called after anything was done to the execution.
    """

    world: World
    env: simpy.Environment
    fleet: Fleet
    execution: Execution
    leader: Leader
    recording: TraceRecorder
    attribution: RebalanceCauses
    announce_change: Callable[[], None]

    @property
    def now_ms(self) -> int:
        """The time."""
        return int(self.env.now)

    def is_static(self, member: Member) -> bool:
        """Whether a member has a `group.instance.id`."""
        return self.world.clients[self.fleet.row(member.client)].is_static


class GroupProtocolProcess(typing.Protocol):
    """How a group comes to its assignments and its members to their tasks."""

    @property
    def is_at_rest(self) -> bool:
        """Whether no rebalance is under way."""

    @property
    def round_under_way(self) -> int:
        """The number of the round that is being decided, or was last."""

    def go_on(self, members: Sequence[Member]) -> None:
        """These members are in the group already, and have been handed out what they have."""

    def join(self, member: Member, cause: Cause) -> None:
        """Let a client that has just started join."""

    def stop(self, member: Member, cause: Cause, *, says_so: bool) -> None:
        """Handle the end of a client, which left the group or not."""

    def ask(self, reason: str, cause: Cause) -> None:
        """Ask for a rebalance because of a change that the members know of."""
