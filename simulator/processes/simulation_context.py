"""The objects that the processes of a run share."""

from __future__ import annotations

import typing
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import simpy

from assignors.model.configs import AssignmentConfigs
from simulator.assignment.leader import Leader
from simulator.flows.execution import Execution
from simulator.group.fleet import Fleet
from simulator.group.member import ComputeAssignment, Member
from simulator.group.rebalance_causes import Cause, RebalanceCauses
from simulator.processes.run_options import RunBudget
from simulator.results.recording import TraceRecorder
from simulator.world.group_configs import GroupConfigs, GroupProtocol
from simulator.world.world import World


class SelectedAssignor:
    """The assignor that the coordinator selected last; none for Kafka Streams.

    `name`: its name; None before the first rebalance, and if members have none in common.
    """

    def __init__(self, leader: Leader) -> None:
        self._leader = leader
        self.name: str | None = None

    def select(self, members: Iterable[Member]) -> None:
        """Note the assignor of a group that is running."""
        self.name = self._leader.selected_assignor(members)

    def update(self, instruction: ComputeAssignment) -> ComputeAssignment:
        """Note the assignor for the members of a rebalance; if it is another one than before, the reason says so."""
        before = self.name
        self.select(instruction.members)
        if before is None or self.name in (None, before):
            return instruction
        return replace(instruction, reason=f"{instruction.reason}, the assignor is now {self.name}")

    def changes_with(self, members: Iterable[Member]) -> bool:
        """Return whether the coordinator would select another assignor for members than in the last rebalance."""
        return self.name is not None and self.name != self._leader.selected_assignor(members)


Process = Generator[simpy.Event, Any, None]


@dataclass(frozen=True, slots=True, eq=False)
class SimulationContext:
    """The objects of a run.

    Attributes:
        world: the input of the run.
        env: the clock and the event queue.
        fleet: the client processes.
        execution: the work of clients between rebalances.
        leader: computes the assignments.
        recorder: records the trace.
        rebalance_causes: the events that no rebalance has processed yet.
    """

    world: World
    env: simpy.Environment
    fleet: Fleet
    execution: Execution
    leader: Leader
    recorder: TraceRecorder
    rebalance_causes: RebalanceCauses
    budget: RunBudget

    @property
    def now_ms(self) -> int:
        """Return the simulated time."""
        return int(self.env.now)

    def is_static(self, member: Member) -> bool:
        """Return whether a member has a `group.instance.id`."""
        return self.world.clients[self.fleet.row(member.client)].is_static

    def is_classic(self, member: Member) -> bool:
        """Return whether a member has the classic protocol."""
        is_classic = self.world.application.group_configs.protocol is GroupProtocol.CLASSIC
        return is_classic and not self.fleet.consumers[self.fleet.row(member.client)].has_consumer_protocol


class GroupProtocolProcess(typing.Protocol):
    """The processes of a group protocol: how a group gets assignments, and its members their tasks."""

    @property
    def is_stable(self) -> bool:
        """Return whether no rebalance is in progress or pending."""

    @property
    def current_round(self) -> int:
        """Return the number of the round that is being computed, or of the last one."""

    def resume(self, members: Sequence[Member]) -> None:
        """Continue with members that are in the group already and have their tasks."""

    def join(self, members: Sequence[Member], cause: Cause) -> None:
        """Let threads of a client that have just started join."""

    def stop(self, members: Sequence[Member], cause: Cause, *, leaves_group: bool, closes: bool) -> None:
        """Process the end of threads of a client, which left the group or not, and which closed or were killed."""

    def record_change(self) -> None:
        """Record what the group must know of a change of the execution."""

    def move_coordinator(self, configs: GroupConfigs) -> None:
        """Let another broker coordinate the group, with the group configs of its release."""

    def set_configs(self, configs: AssignmentConfigs, cause: Cause) -> None:
        """Learn of new assignment configs."""

    def note_partitions(self, reason: str, cause: Cause) -> None:
        """Note that a topic that the group reads got more partitions."""

    def request_rebalance(self, reason: str, cause: Cause) -> None:
        """Request a rebalance because of a change that the members notice."""
