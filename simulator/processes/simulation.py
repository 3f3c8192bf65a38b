"""One simulated run, driven by its timeline, the group protocol and changes of rates over time.

A coordinator converts consumer groups from the classic to the consumer protocol, and back. The first member that joins
with `group.protocol=consumer` converts the group (`group.consumer.migration.policy`, whose default is `bidirectional`).
When the last member that has it leaves or is replaced, and others remain, the group is converted back.

Source: `GroupMetadataManager.convertToConsumerGroup`, `.convertToClassicGroup`,
`.validateOnlineDowngradeWithFencedMembers`, `.validateOnlineDowngradeWithReplacedMember`, Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import simpy

from assignors.flow import flow_cache
from assignors.model.assignment import TaskAssignor
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import TopicPartition
from assignors.model.traffic_rates import RateAwareAssignor
from assignors.objective import EQUAL_WEIGHTS, Weights
from simulator.assignment.leader import Leader
from simulator.brokers.partition_locations import ClusterMetadata
from simulator.errors import AssignorFailedError, BudgetExceededError, IllegalTransitionError, SimulationError
from simulator.flows.execution import Execution
from simulator.flows.other_history import OtherTrafficHistory
from simulator.flows.shared_bandwidth import ApplicationBandwidth
from simulator.group.fleet import Fleet
from simulator.group.member import Member
from simulator.group.rebalance_causes import START, Cause, RebalanceCauses
from simulator.processes.autoscaling import Autoscaling
from simulator.processes.classic_protocol import ClassicProtocol
from simulator.processes.run_options import DEFAULT_OPTIONS, RunBudget, RunOptions
from simulator.processes.simulation_context import GroupProtocolProcess, Process, SimulationContext
from simulator.processes.streams_protocol import StreamsProtocol
from simulator.results.recording import TraceRecorder
from simulator.results.trace import Trace
from simulator.timeline import timeline
from simulator.world.changes import (
    BrokersDown,
    BrokersUp,
    ClientDown,
    ClientUp,
    ConfigsSet,
    CoordinatorMoved,
    Disk,
    PartitionsSet,
    ReplicasSet,
    ReplicationStep,
    ThreadReplaced,
    ThreadsSet,
    TimedChange,
    TrafficScaled,
)
from simulator.world.group_configs import GroupConfigs, GroupProtocol
from simulator.world.layout import build_initial_state, lay_out, mean_traffic, with_added_partitions
from simulator.world.world import Start, World


def group_process(context: SimulationContext) -> GroupProtocolProcess:
    """Return the process of the group of a world."""
    application = context.world.application
    if application.group_configs.protocol is not GroupProtocol.CLASSIC:
        return StreamsProtocol(context)
    return ConvertibleGroup(context) if application.is_consumer_group else ClassicProtocol(context)


class ConvertibleGroup:
    """The process of the protocol that a consumer group has at the moment."""

    def __init__(self, context: SimulationContext) -> None:
        self._context = context
        self._converted = context.world.application.group_configs.converted
        self._current: ClassicProtocol | StreamsProtocol = ClassicProtocol(context)

    @property
    def is_stable(self) -> bool:
        """Return whether no rebalance is in progress or pending."""
        return self._current.is_stable

    @property
    def current_round(self) -> int:
        """Return the number of the round that is being computed, or of the last one."""
        return self._current.current_round

    def resume(self, members: Sequence[Member]) -> None:
        """Continue with members that are in the group already and have their tasks."""
        if isinstance(self._current, ClassicProtocol) and not all(map(self._context.is_classic, members)):
            self._to_consumer(self._current)
        self._current.resume(members)

    def join(self, members: Sequence[Member], cause: Cause) -> None:
        """Let consumers join; the first one with the consumer protocol converts the group.

        A static consumer with the classic protocol that replaces the last one with the other converts it back.
        """
        is_classic = all(map(self._context.is_classic, members))
        match self._current:
            case ClassicProtocol() as current if not is_classic:
                self._to_consumer(current)
            case StreamsProtocol() as current if is_classic and current.is_classic_with(members):
                self._to_classic(current)
        self._current.join(members, cause)

    def stop(self, members: Sequence[Member], cause: Cause, *, leaves_group: bool, closes: bool) -> None:
        """Process the end of consumers, which left the group or not, and which closed or were killed."""
        self._current.stop(members, cause, leaves_group=leaves_group, closes=closes)

    def record_change(self) -> None:
        """Record what the group must know of a change of the execution."""
        self._current.record_change()

    def move_coordinator(self, configs: GroupConfigs) -> None:
        """Let another broker coordinate the group, with the group configs of its release."""
        self._converted = configs.converted
        is_classic = isinstance(self._current, ClassicProtocol)
        self._current.move_coordinator(configs if is_classic else self._configs())

    def set_configs(self, configs: AssignmentConfigs, cause: Cause) -> None:
        """Learn of new assignment configs."""
        self._current.set_configs(configs, cause)

    def note_partitions(self, reason: str, cause: Cause) -> None:
        """Note that a topic that the group reads got more partitions."""
        self._current.note_partitions(reason, cause)

    def request_rebalance(self, reason: str, cause: Cause) -> None:
        """Request a rebalance because of a change that the members notice."""
        self._current.request_rebalance(reason, cause)

    def _configs(self) -> GroupConfigs:
        """Return the configs of the group under the consumer protocol."""
        if self._converted is None:
            raise IllegalTransitionError("brokers older than Kafka 4.0 cannot convert a group to the consumer protocol")
        return self._converted

    def _to_consumer(self, current: ClassicProtocol) -> None:
        group = current.hand_over()
        self._current = StreamsProtocol(self._context, self._configs(), self._convert_back)
        self._current.take_over(group)
        self._context.leader.convert(GroupProtocol.CONSUMER)
        self._let_join(group.joining)

    def _to_classic(self, current: StreamsProtocol) -> ClassicProtocol:
        group = current.hand_over()
        classic = self._current = ClassicProtocol(self._context)
        classic.take_over(group)
        self._context.leader.convert(GroupProtocol.CLASSIC)
        self._let_join(group.joining)
        return classic

    def _let_join(self, joining: Mapping[Member, Cause]) -> None:
        """Let members join that had started before the group was converted."""
        if joining:
            self._context.env.process(self._join_all(joining))

    def _join_all(self, joining: Mapping[Member, Cause]) -> Process:
        yield self._context.env.timeout(0)
        for member, cause in joining.items():
            if self._context.fleet.is_up(member):
                self.join([member], cause)

    def _convert_back(self, member: Member, reason: str) -> None:
        """Convert the group to the classic protocol as its last member of the consumer protocol leaves."""
        assert isinstance(self._current, StreamsProtocol)
        self._to_classic(self._current).remove(member, reason)


def first_of(env: simpy.Environment, awaited: Sequence[simpy.Event]) -> simpy.Event:
    """Return an event that succeeds with the first of some events: `any_of` without their values, which cost time.

    `awaited`: events that have not been processed, and that do not fail.
    """
    first = env.event()

    def succeed(_: simpy.Event) -> None:
        if not first.triggered:
            first.succeed()

    for event in awaited:
        event.callbacks.append(succeed)
    return first


def simulate(
    world: World,
    assignor: TaskAssignor,
    weights: Weights = EQUAL_WEIGHTS,
    options: RunOptions = DEFAULT_OPTIONS,
    *,
    upgraded: Mapping[str, TaskAssignor] = MappingProxyType({}),
) -> Trace:
    """Simulate a world for its duration.

    Returns the trace, equal for equal arguments. If the assignment is invalid or the assignor raises an
    `AssignorError`, the run ends there and `Trace.failure` has the reason; other exceptions propagate. If the run has
    more rebalances or events than its budget, it ends there and `Trace.stopped` has the number.

    Args:
        world: the cluster, the application and their disturbances, as drawn from a seed.
        assignor: computes the assignment of every rebalance; one that weighs bytes and has no traffic rates gets the
            world's mean rates.
        weights: the assignor's default costs of a remote partition and of a moved task.
        options: what the run records beside its figures, and when it is stopped.
        upgraded: the assignors that replace `assignor` when brokers of a release coordinate the group, or a client of a
            release leads it, by release; `""` for those that were not upgraded.
    """
    with flow_cache():
        return Simulation(world, assignor, weights, options, upgraded=upgraded).run()


class Simulation:
    """A run of a world with one assignor; times are whole milliseconds.

    `run` does it all. If several applications run at the same time, `simulator.processes.neighbors` starts each of them
    in a shared environment, runs that, and finishes each.
    """

    def __init__(
        self,
        world: World,
        assignor: TaskAssignor,
        weights: Weights,
        options: RunOptions,
        *,
        upgraded: Mapping[str, TaskAssignor] = MappingProxyType({}),
        env: simpy.Environment | None = None,
        bandwidth: ApplicationBandwidth | None = None,
    ) -> None:
        without_added, world = world, with_added_partitions(world)
        self._world = world
        self._options = options
        self._budget = RunBudget(options)
        self._env = env or simpy.Environment(initial_time=0)
        layout = lay_out(world)
        if isinstance(assignor, RateAwareAssignor) and assignor.needs_rates:
            assignor = assignor.with_rates(mean_traffic(world, layout))
        self._tasks = layout.tasks.ids
        self._cluster_metadata = ClusterMetadata(world, layout)
        self._subscribed = {layout.partitions[row] for row in layout.tasks.source.values.tolist()}
        self._fleet = Fleet(world, layout.racks)
        self._starting: dict[str, ClientUp] = {}
        self._after_start: dict[str, list[TimedChange]] = {}
        self._changed = self._env.event()
        self._execution = Execution(
            world, layout, self._cluster_metadata, self._fleet, self._announce_change, bandwidth
        )
        self._leader = Leader(
            world,
            layout,
            self._fleet,
            self._execution,
            assignor,
            weights,
            upgraded=upgraded,
            appraises=options.appraise,
            prove=options.prove,
            explain=options.explain,
        )
        self._timeline = timeline(world)
        other = world.other_traffic
        self._recorder = TraceRecorder(
            world,
            layout,
            self._execution,
            self._fleet,
            capture=options.capture,
            # Others use the partitions of the start only.
            other_traffic=(
                None if other is None else OtherTrafficHistory(without_added, other, layout, timeline(without_added))
            ),
        )
        self._rebalance_causes = RebalanceCauses()
        context = SimulationContext(
            world=world,
            env=self._env,
            fleet=self._fleet,
            execution=self._execution,
            leader=self._leader,
            recorder=self._recorder,
            rebalance_causes=self._rebalance_causes,
            budget=self._budget,
        )
        self._autoscaling = Autoscaling(context, self._apply)
        self._group = group_process(context)

    def run(self) -> Trace:
        """Run until the end of the world's duration, and return the trace."""
        self.start()
        failure: SimulationError | None = None
        try:
            self._env.run(until=self._world.duration_ms)
        except (AssignorFailedError, BudgetExceededError) as error:
            failure = error
        return self.finish(failure)

    def start(self) -> None:
        """Start the processes, which run with the environment."""
        self._env.process(self._play_timeline())
        self._env.process(self._update_rates_when_due())
        self._autoscaling.start()

    def finish(self, error: SimulationError | None) -> Trace:
        """Return the trace up to now.

        `error`: why the environment stopped early, None if it did not; possibly the error of another application.
        """
        has_failed = error is not None and self._leader.has_failed
        failure = f"round {self._group.current_round}: {error}" if has_failed else None
        self._execution.advance(self._now_ms)
        pending = self._rebalance_causes.pending
        unfinished = bool(self._starting) or not self._group.is_stable
        trace = self._recorder.finish(self._now_ms, failure, pending, unfinished=unfinished)
        kind = error.kind if isinstance(error, AssignorFailedError) and has_failed else None
        return replace(trace, failure_kind=kind, stopped=self._budget.verdict)

    def update_rates(self) -> None:
        """Update the rates of the execution, because other applications left it more or less bandwidth."""
        with self._execution.changing(self._now_ms):
            self._execution.update_rates()

    def _play_timeline(self) -> Process:
        if self._world.start is Start.RUNNING:
            self._resume()
        else:
            for client in self._world.clients:
                if client.starts:
                    self._apply(TimedChange(0, ClientUp(client.name), START))
        for timed in self._timeline:
            if timed.at_ms >= self._world.duration_ms:
                return
            if timed.at_ms > self._now_ms:
                yield self._env.timeout(timed.at_ms - self._now_ms)
            self._autoscaling.play(timed)

    def _resume(self) -> None:
        """Begin with a running group, whose members have tasks."""
        rows = [row for row, client in enumerate(self._world.clients) if client.starts]
        if not rows:
            return
        with self._execution.changing(self._now_ms):
            for row in rows:
                self._execution.start_client(row)
            members = [member for row in rows for member in self._fleet.start(row, None, None)]
            self._execution.load_initial_state(build_initial_state(self._tasks, self._world.clients))
            decision = self._leader.describe_initial_state(members, self._world.next_rebalance_ms)
            self._recorder.record_initial_round(members, decision, self._options.explain)
            self._group.resume(members)

    def _apply(self, timed: TimedChange) -> None:
        change = timed.change
        cause = Cause(START if timed.event is None else timed.event, self._now_ms)
        with self._execution.changing(self._now_ms):
            match change:
                case ClientUp():
                    self._start(change, cause)
                case ClientDown(client=client, disk=disk):
                    row = self._fleet.row(client)
                    self._starting.pop(client, None)
                    self._after_start.pop(client, None)
                    if self._fleet.up[row]:
                        # Threads end in the order in which they started.
                        members = sorted(self._fleet.members(row), key=lambda member: (member.start, member.thread))
                        self._fleet.stop(row, keeps_disk=disk is not Disk.LOST)
                        self._execution.stop_client(row, disk)
                        if change.closes_in_ms:
                            self._env.process(self._end_membership(members, cause, change))
                        else:
                            self._group.stop(
                                members, cause, leaves_group=change.leaves_group, closes=change.ends_in_order
                            )
                case BrokersDown(brokers=brokers, states=states):
                    self._cluster_metadata.stop_brokers(brokers)
                    self._cluster_metadata.apply(states)
                    self._update_brokers(str(change), cause)
                case BrokersUp(brokers=brokers, states=states):
                    self._cluster_metadata.start_brokers(brokers)
                    self._cluster_metadata.apply(states)
                    self._update_brokers(str(change), cause)
                case CoordinatorMoved(configs=configs, release=release):
                    self._group.move_coordinator(configs)
                    self._leader.move_coordinator(release)
                case ReplicasSet(topic=topic, partition=partition, states=states):
                    moved = TopicPartition(topic, partition)
                    self._cluster_metadata.apply(states)
                    self._execution.update_locations()
                    # Since KAFKA-14867, consumers with client.rack rejoin when the racks of their partitions change.
                    if self._is_read(moved) and self._fleet.announces_racks():
                        self._group.request_rebalance(f"replicas of {moved} moved", cause)
                case PartitionsSet(topic=topic):
                    self._execution.add_partitions()
                    up = self._fleet.up
                    if not any(up) or self._execution.subscriptions.is_read(topic, up):
                        self._group.note_partitions(f"partitions added to {topic}", cause)
                case ReplicationStep():
                    self._apply_replication(change, cause)
                case ConfigsSet(configs=configs):
                    self._fleet.set_configs(configs)
                    self._group.set_configs(configs, cause)
                case TrafficScaled(factor=factor, hour=hour):
                    self._execution.set_traffic(factor, hour)
                case ThreadReplaced(client=client) | ThreadsSet(client=client) if client in self._starting:
                    self._after_start.setdefault(client, []).append(timed)
                case ThreadReplaced(client=client, leaves_group=leaves_group):
                    self._replace_thread(self._fleet.row(client), cause, leaves_group)
                case ThreadsSet(client=client, threads=threads, leaves_group=leaves_group):
                    self._set_threads(self._fleet.row(client), threads, cause, leaves_group)

    def _replace_thread(self, row: int, cause: Cause, leaves_group: bool) -> None:
        """Replace the oldest thread; the new one starts first (`KafkaStreams.replaceStreamThread`)."""
        dead = self._fleet.oldest_member(row)
        new = self._fleet.start_thread(row)
        # A dirty close deletes the state of tasks that write in transactions, unless their stores do, too
        # (`StateManagerUtil.closeStateManager`).
        configs = self._world.application.state_configs
        wipes = configs.exactly_once and not configs.transactional
        self._group.join([new], cause)
        self._stop_thread(dead, cause, leaves_group, wipes=wipes)

    def _set_threads(self, row: int, threads: int, cause: Cause, leaves_group: bool) -> None:
        """Add threads, or remove the oldest ones (`KafkaStreams.addStreamThread` and `.removeStreamThread`)."""
        running = len(self._fleet.members(row))
        self._group.join([self._fleet.start_thread(row) for _ in range(threads - running)], cause)
        for _ in range(running - threads):
            self._stop_thread(self._fleet.oldest_member(row), cause, leaves_group, wipes=False)

    def _stop_thread(self, member: Member, cause: Cause, leaves_group: bool, *, wipes: bool) -> None:
        self._fleet.stop_thread(member)
        self._execution.stop_thread(self._fleet.row(member.client), member.thread, wipes=wipes)
        self._group.stop([member], cause, leaves_group=leaves_group, closes=True)

    def _start(self, change: ClientUp, cause: Cause) -> None:
        """Start a client, which joins after `ClientTimes.start_ms`; the clients of the start have joined by then."""
        delay_ms = 0 if cause.event == START else self._world.application.times.start_ms
        if delay_ms == 0:
            self._join(change, cause)
        elif not self._fleet.up[self._fleet.row(change.client)] and change.client not in self._starting:
            self._starting[change.client] = change
            self._env.process(self._join_after(delay_ms, change, cause))

    def _join_after(self, delay_ms: int, change: ClientUp, cause: Cause) -> Process:
        yield self._env.timeout(delay_ms)
        if self._starting.get(change.client) is change:
            del self._starting[change.client]
            with self._execution.changing(self._now_ms):
                self._join(change, cause)
            for timed in self._after_start.pop(change.client, ()):
                self._apply(timed)

    def _join(self, change: ClientUp, cause: Cause) -> None:
        row = self._fleet.row(change.client)
        if not self._fleet.up[row]:
            self._execution.start_client(row)
            members = self._fleet.start(
                row,
                change.configs,
                change.announces_rack,
                change.release,
                change.group_configs,
                change.consumer,
            )
            self._group.join(members, cause)

    def _end_membership(self, members: Sequence[Member], cause: Cause, change: ClientDown) -> Process:
        """Let a client that is closing send heartbeats until its process ends."""
        yield self._env.timeout(change.closes_in_ms)
        with self._execution.changing(self._now_ms):
            self._group.stop(members, cause, leaves_group=change.leaves_group, closes=change.ends_in_order)

    def _apply_replication(self, step: ReplicationStep, cause: Cause) -> None:
        self._execution.set_reassignment_traffic(step.copied, step.copying)
        if step.states is None:
            return
        changed = self._cluster_metadata.apply(step.states)
        moved = [str(partition) for partition in changed.to_other_racks if self._is_read(partition)]
        self._execution.update_locations()
        if changed.any_replica:
            self._recorder.note_moved_partitions()
        # Members compare racks only, neither leaders nor the order of replicas.
        if moved and self._fleet.announces_racks():
            partitions = moved[0] if len(moved) == 1 else f"{len(moved)} partitions"
            self._group.request_rebalance(f"replicas of {partitions} moved", cause)

    def _is_read(self, partition: TopicPartition) -> bool:
        """Return whether a member subscribes to the topic of a partition."""
        return partition in self._subscribed and self._execution.subscriptions.is_read(partition.topic, self._fleet.up)

    def _update_brokers(self, reason: str, cause: Cause) -> None:
        self._execution.update_locations()
        rejoins = self._world.application.group_configs.rejoins_when_brokers_bounce
        if rejoins and self._fleet.announces_racks():
            self._group.request_rebalance(reason, cause)

    def _update_rates_when_due(self) -> Process:
        """Update the rates of the execution when a copy or a task catches up, or a copy falls behind."""
        while True:
            self._budget.count_event()
            due_ms = self._execution.next_change_ms()
            awaited: list[simpy.Event] = [self._changed]
            if due_ms is not None:
                awaited.append(self._env.timeout(due_ms - self._now_ms))
            yield first_of(self._env, awaited)
            if self._now_ms == due_ms:
                self.update_rates()

    def _announce_change(self) -> None:
        announced, self._changed = self._changed, self._env.event()
        announced.succeed()
        self._group.record_change()
        if self._options.observe is not None:
            self._options.observe(self._execution)

    @property
    def _now_ms(self) -> int:
        return int(self._env.now)
