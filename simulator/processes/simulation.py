"""One run while it is running: what moves it is the timeline, the group's protocol, and time itself."""

from __future__ import annotations

from collections.abc import Callable

import simpy

from assignors.model.assignment import TaskAssignor
from assignors.model.ids import TopicPartition
from assignors.objective.cost import Weights
from simulator.assignment.explanation import ExplanationRequest
from simulator.assignment.leader import Leader
from simulator.brokers.partition_locations import ClusterMetadata
from simulator.brokers.reassignment import ReassignmentStep
from simulator.errors import AssignorFailedError
from simulator.flows.execution import Execution
from simulator.group.fleet import Fleet
from simulator.group.rebalance_causes import START, Cause, RebalanceCauses
from simulator.processes.classic_protocol import ClassicProtocol
from simulator.processes.simulation_context import GroupProtocolProcess, Process, SimulationContext
from simulator.processes.streams_protocol import StreamsProtocol
from simulator.results.recording import TraceRecorder
from simulator.results.trace import Trace
from simulator.timeline import (
    BrokersDown,
    BrokersUp,
    ClientDown,
    ClientUp,
    ConfigsSet,
    ReplicasSet,
    TimedChange,
    TrafficScaled,
    timeline,
)
from simulator.world.initial_state import build_initial_state
from simulator.world.layout import lay_out
from simulator.world.world import GroupProtocol, Start, World

Observer = Callable[[Execution], None]
"""Is shown the execution after every change of it."""


class Simulation:
    """A run: the parts, and the processes that move them. Time is in whole milliseconds."""

    def __init__(
        self,
        world: World,
        assignor: TaskAssignor,
        weights: Weights,
        *,
        capture: bool = False,
        explain: ExplanationRequest | None = None,
        observe: Observer | None = None,
    ) -> None:
        self._world = world
        self._explain = explain
        self._env = simpy.Environment(initial_time=0)
        layout = lay_out(world)
        self._tasks = layout.tasks.ids
        self._brokers = ClusterMetadata(world, layout)
        self._subscribed = {layout.partitions[row] for row in layout.tasks.source.values.tolist()}
        self._fleet = Fleet(world, layout.racks)
        self._execution = Execution(world, layout, self._brokers, self._fleet)
        self._leader = Leader(world, layout, self._fleet, self._execution, assignor, weights, explain)
        self._recorder = TraceRecorder(world, layout, self._execution, self._fleet, capture=capture)
        self._attribution = RebalanceCauses()
        self._observe = observe
        self._something_changed = self._env.event()
        parts = SimulationContext(
            world=world,
            env=self._env,
            fleet=self._fleet,
            execution=self._execution,
            leader=self._leader,
            recording=self._recorder,
            rebalance_causes=self._attribution,
            announce_change=self._announce_change,
        )
        is_classic = world.application.group_configs.protocol is GroupProtocol.CLASSIC
        self._group: GroupProtocolProcess = ClassicProtocol(parts) if is_classic else StreamsProtocol(parts)

    def run(self) -> Trace:
        """Let the world's duration pass."""
        self._env.process(self._live_through_the_timeline())
        self._env.process(self._let_flow())
        failure = None
        try:
            self._env.run(until=self._world.duration_ms)
        except AssignorFailedError as error:
            failure = f"round {self._group.round_under_way}: {error}"
        self._execution.advance(self._now_ms)
        pending = self._attribution.pending
        return self._recorder.finish(self._now_ms, failure, pending, unfinished=not self._group.is_at_rest)

    def _live_through_the_timeline(self) -> Process:
        if self._world.start is Start.RUNNING:
            self._go_on()
        else:
            for client in self._world.clients:
                if client.starts:
                    self._apply(TimedChange(0, ClientUp(client.name), START))
        for timed in timeline(self._world):
            if timed.at_ms >= self._world.duration_ms:
                return
            if timed.at_ms > self._now_ms:
                yield self._env.timeout(timed.at_ms - self._now_ms)
            self._apply(timed)
            if str(timed.change):
                self._recorder.note(timed)

    def _go_on(self) -> None:
        """Begin with the group that is there, and with what its members have."""
        rows = [row for row, client in enumerate(self._world.clients) if client.starts]
        if not rows:
            return
        for row in rows:
            self._execution.start(row)
        members = [self._fleet.start(row, None, None) for row in rows]
        self._execution.take_over(build_initial_state(self._tasks, self._world.clients))
        found = self._leader.take_over(members, self._world.next_rebalance_ms)
        self._recorder.begin(members, found, self._explain)
        self._group.go_on(members)
        self._announce_change()

    def _apply(self, timed: TimedChange) -> None:
        self._execution.advance(self._now_ms)
        change = timed.change
        cause = Cause(START if timed.event is None else timed.event, self._now_ms)
        match change:
            case ClientUp(client=client, configs=configs, announces_rack=announces_rack):
                row = self._fleet.row(client)
                if not self._fleet.up[row]:
                    self._execution.start(row)
                    self._group.join(self._fleet.start(row, configs, announces_rack), cause)
            case ClientDown(client=client, leaves_group=leaves_group, keeps_state=keeps_state):
                row = self._fleet.row(client)
                if self._fleet.up[row]:
                    member = self._fleet.member(row)
                    self._fleet.stop(row, keeps_state)
                    self._execution.stop(row, keeps_state)
                    self._group.stop(member, cause, leaves_group=leaves_group)
            case BrokersDown(brokers=brokers):
                self._brokers.lose(brokers)
                self._move_brokers(str(change), cause)
            case BrokersUp(brokers=brokers):
                self._brokers.regain(brokers)
                self._move_brokers(str(change), cause)
            case ReplicasSet(topic=topic, partition=partition, replicas=replicas):
                moved = TopicPartition(topic, partition)
                self._brokers.set_replicas(moved, replicas)
                self._execution.move_brokers()
                # Since KAFKA-14867 consumers with client.rack join anew when racks of what they read change.
                if moved in self._subscribed and self._fleet.announces_racks():
                    self._group.ask(f"replicas of {moved} moved", cause)
            case ReassignmentStep():
                self._reassign(change, cause)
            case ConfigsSet(configs=configs):
                self._fleet.set_configs(configs)
                self._group.ask("configs changed", cause)
            case TrafficScaled(factor=factor, hour=hour):
                self._execution.scale_traffic(factor, hour)
        self._announce_change()

    def _reassign(self, step: ReassignmentStep, cause: Cause) -> None:
        self._execution.copy_partitions(step.copied, step.copying)
        if not step.partitions:
            return
        moved = [str(each) for each in self._brokers.reassign(step.partitions) if each in self._subscribed]
        self._execution.move_brokers()
        self._recorder.note_other_ways()
        # Which replica leads, and in which order they stand, is nothing that members look at.
        if moved and self._fleet.announces_racks():
            which = moved[0] if len(moved) == 1 else f"{len(moved)} partitions"
            self._group.ask(f"replicas of {which} moved", cause)

    def _move_brokers(self, reason: str, cause: Cause) -> None:
        self._execution.move_brokers()
        rejoins = self._world.application.group_configs.rejoins_when_brokers_bounce
        if rejoins and self._fleet.announces_racks():
            self._group.ask(reason, cause)

    def _let_flow(self) -> Process:
        """Settle whenever rates change by themselves; whoever else changes anything settles it and says so."""
        while True:
            due_ms = self._execution.next_change_ms()
            awaited: list[simpy.Event] = [self._something_changed]
            if due_ms is not None:
                awaited.append(self._env.timeout(due_ms - self._now_ms))
            yield self._env.any_of(awaited)
            if self._now_ms == due_ms:
                self._execution.advance(self._now_ms)
                self._execution.settle()
                if self._observe is not None:
                    self._observe(self._execution)

    def _announce_change(self) -> None:
        announced, self._something_changed = self._something_changed, self._env.event()
        announced.succeed()
        if self._observe is not None:
            self._observe(self._execution)

    @property
    def _now_ms(self) -> int:
        return int(self._env.now)
