"""The timeline of a run: disturbances broken down into elementary changes, each at one point in time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final

from assignors.model.ids import TopicPartition
from simulator.brokers.coordinator import with_coordinator_moves
from simulator.brokers.replication_progress import ReplicationProgress, may_lag
from simulator.pod_schedules import PodStart, PodStop, pod_schedule, startable_ms
from simulator.world.changes import (
    BrokersDown,
    BrokersUp,
    ClientDown,
    ClientUp,
    ConfigsSet,
    ElementaryChange,
    PartitionsSet,
    PodsReplaced,
    ReplicasSet,
    ReplicaStates,
    ReplicationStep,
    ThreadReplaced,
    ThreadsSet,
    TimedChange,
    TrafficScaled,
)
from simulator.world.disturbances import (
    BrokerBounce,
    BrokerLoss,
    BrokerUpgrade,
    ConfigChange,
    Crash,
    Disk,
    Disturbance,
    Join,
    Leave,
    PartitionsAdded,
    RackOutage,
    Reassignment,
    ReplaceThread,
    ReplicaMove,
    RollingBounce,
    StreamThreads,
    TrafficChange,
    event_numbers,
)
from simulator.world.leave_on_close import group_configs_of, leaves_on_close, leaves_when_removed, leaves_when_replaced
from simulator.world.pod_events import Closing, LagScaling, PodEvent, Volume
from simulator.world.world import Start, World

_CHANGES_OF_BROKERS: Final = BrokersDown | BrokersUp | ReplicasSet


def timeline(world: World) -> list[TimedChange]:
    """Return every change of a run.

    Taking down an absent client is a no-op, and so is its return. A client that several events keep down comes back
    with the last of them. Clients that an autoscaler scales count as present: which of them run is known only in a run.
    Returns changes by time; changes of one moment are in the order of the scenario, with the steps of reassignments
    last. Reassignments are included up to the end of the run.
    """
    numbers = event_numbers(world.disturbances)
    planned = [
        (replace(timed, event=numbers[place]), place if _is_temporary(disturbance) else None)
        for place, disturbance in enumerate(world.disturbances)
        for timed in _elementary_changes(world, disturbance)
    ]
    happening = list(_with_outages(_without_no_ops(world, sorted(planned, key=lambda entry: entry[0].at_ms))))
    has_changes = any(isinstance(timed.change, _CHANGES_OF_BROKERS) for timed in happening)
    has_plans = any(isinstance(event, Reassignment) for event in world.disturbances)
    if has_changes or has_plans or _has_other_leaders(world) or may_lag(world):
        happening = list(_with_replication(ReplicationProgress(world), world, happening, world.duration_ms))
    return list(with_coordinator_moves(world, happening))


def replicas_at(world: World, until_ms: int) -> ReplicationProgress:
    """Return the brokers and partitions at a time, before the reassignments that begin at that time."""
    planned = [timed for disturbance in world.disturbances for timed in _elementary_changes(world, disturbance)]
    changes = sorted((timed for timed in planned if timed.at_ms <= until_ms), key=lambda timed: timed.at_ms)
    progress = ReplicationProgress(world)
    for _ in _with_replication(progress, world, list(_with_outages(changes)), until_ms):
        pass
    return progress


def _has_other_leaders(world: World) -> bool:
    """Return whether the controller may elect preferred leaders without another change."""
    return any(
        leader != replicas[0]
        for topic in world.cluster.topics.values()
        for leader, replicas in zip(topic.leaders, topic.replicas, strict=True)
        if replicas
    )


def _with_outages(changes: Iterable[TimedChange]) -> Iterator[TimedChange]:
    """Let a broker stop with the first of overlapping outages and start when none lasts any more.

    An outage lasts until just before its end; where one ends as another begins, the broker stays down. `changes`:
    changes by time, those of brokers for each outage alone. Yields the changes that happen.
    """
    outages, down, upgrade_of = Counter[int](), set[int](), dict[int, BrokerUpgrade]()
    for _, simultaneous in groupby(changes, key=lambda timed: timed.at_ms):
        at_once = list(simultaneous)
        for change in (timed.change for timed in at_once):
            if isinstance(change, BrokersDown):
                outages.update(change.brokers)
            elif isinstance(change, BrokersUp):
                outages.subtract(change.brokers)
        for timed in at_once:
            match timed.change:
                case BrokersDown(brokers=brokers):
                    stopped = tuple(broker for broker in brokers if broker not in down)
                    down.update(stopped)
                    if stopped:
                        yield replace(timed, change=replace(timed.change, brokers=stopped))
                case BrokersUp(brokers=brokers, upgrade=upgrade):
                    if upgrade is not None:
                        upgrade_of.update(dict.fromkeys(brokers, upgrade))
                    started = [broker for broker in brokers if broker in down and not outages[broker]]
                    down.difference_update(started)
                    for new, group in groupby(started, key=lambda broker: upgrade_of.pop(broker, None)):
                        yield replace(timed, change=BrokersUp(tuple(group), new))
                case _:
                    yield timed


def _with_replication(
    progress: ReplicationProgress, world: World, planned: Sequence[TimedChange], until_ms: int
) -> Iterator[TimedChange]:
    """Yield changes with the replicas that they change, and the steps of replication that follow from them."""
    numbered = zip(event_numbers(world.disturbances), world.disturbances, strict=True)
    begun = [
        (number, disturbance)
        for number, disturbance in numbered
        if isinstance(disturbance, Reassignment) and disturbance.at_ms < until_ms
    ]
    changes: list[tuple[int, TimedChange | tuple[int | None, Reassignment]]] = [
        *((timed.at_ms, timed) for timed in planned),
        *((reassignment.at_ms, (number, reassignment)) for number, reassignment in begun),
    ]
    events = _Events()
    for at_ms, simultaneous in groupby(sorted(changes, key=lambda entry: entry[0]), key=lambda entry: entry[0]):
        yield from events.attribute(progress.until(at_ms))
        for _, change in simultaneous:
            if isinstance(change, TimedChange):
                states = _apply(progress, change.change)
                events.last_of_brokers = change.event if states is not None else events.last_of_brokers
                yield (
                    replace(change, change=replace(change.change, states=states))
                    if isinstance(change.change, _CHANGES_OF_BROKERS)
                    else change
                )
            else:
                number, reassignment = change
                progress.begin(reassignment)
                events.of_partition |= {
                    progress.replicas.row(target.partition): number for target in reassignment.targets
                }
        yield from events.attribute(progress.take_step())
    yield from events.attribute(progress.until(until_ms))


@dataclass(slots=True)
class _Events:
    """The events that steps of replication follow from.

    Attributes:
        of_partition: the last event that reassigned a partition, by row.
        last_of_brokers: the last event that stopped or started a broker or moved a replica.
    """

    of_partition: dict[int, int | None] = field(default_factory=dict)
    last_of_brokers: int | None = None

    def attribute(self, steps: Iterable[tuple[int, ReplicationStep]]) -> Iterator[TimedChange]:
        """Attribute each step to the last event that reassigned one of its partitions, or else concerned brokers."""
        for at_ms, step in steps:
            rows = [] if step.states is None else step.states.partitions.tolist()
            events = [self.of_partition.get(row) for row in rows] if self.of_partition else []
            known = [number for number in events if number is not None]
            yield TimedChange(at_ms, step, max(known, default=self.last_of_brokers if rows else None))


def _apply(progress: ReplicationProgress, change: ElementaryChange) -> ReplicaStates | None:
    """Apply a change to the brokers and partitions, and return the partitions that change at once."""
    match change:
        case ReplicasSet(topic=topic, partition=partition, replicas=replicas):
            progress.set_replicas(TopicPartition(topic, partition), replicas)
        case BrokersDown(brokers=brokers, crash=crash):
            progress.stop_brokers(brokers, crash=crash)
        case BrokersUp(brokers=brokers):
            progress.start_brokers(brokers)
        case TrafficScaled(factor=factor, hour=hour):
            progress.set_traffic(factor, hour)
        case _:
            return None
    return progress.replicas.take_changed()


def _is_temporary(disturbance: Disturbance) -> bool:
    """Whether the clients that it takes down come back."""
    if isinstance(disturbance, PodEvent):
        return not disturbance.is_permanent
    return isinstance(disturbance, RollingBounce) or getattr(disturbance, "down_ms", None) is not None


def _without_no_ops(world: World, planned: Iterable[tuple[TimedChange, int | None]]) -> Iterator[TimedChange]:
    """Drop stops of absent clients and starts of present ones.

    `planned`: changes by time, each with the place of its disturbance if that is temporary. Yields the changes that
    happen.
    """
    up = {client.name for client in world.clients if client.starts} | _scaled(world)
    started_ms = dict.fromkeys(up, None if world.start is Start.RUNNING else 0)
    kept_down_by: dict[str, set[int]] = {client.name: set() for client in world.clients}
    for timed, outage in planned:
        happens = True
        match timed.change:
            case ClientDown(client=client):
                happens = client in up
                up.discard(client)
                if started_ms.get(client) == timed.at_ms:
                    # It has not joined yet, so the group does not wait for its session, whether it closes or crashes.
                    timed = replace(timed, change=replace(timed.change, leaves_group=True))
                if outage is None:
                    kept_down_by[client].clear()
                elif happens or kept_down_by[client]:
                    kept_down_by[client].add(outage)
            case ClientUp(client=client):
                if outage is None:
                    happens = client not in up
                    kept_down_by[client].clear()
                else:
                    happens = kept_down_by[client] == {outage}
                    kept_down_by[client].discard(outage)
                if happens:
                    up.add(client)
                    started_ms[client] = timed.at_ms
            case ThreadReplaced(client=client) | ThreadsSet(client=client):
                happens = client in up
        if happens:
            yield timed


def _elementary_changes(world: World, disturbance: Disturbance) -> Iterator[TimedChange]:
    at_ms = disturbance.at_ms
    match disturbance:
        case Join(clients=clients, every_ms=every_ms):
            yield from (TimedChange(at_ms + i * every_ms, ClientUp(client)) for i, client in enumerate(clients))
        case Leave(clients=clients, every_ms=every_ms, closing=closing):
            for i, client in enumerate(clients):
                yield _close(world, client, at_ms + i * every_ms, closing, Disk.KEPT)
        case Crash(clients=clients, down_ms=down_ms, disk=disk):
            yield from _crash(at_ms, clients, down_ms, disk)
        case RollingBounce():
            yield from _bounce(world, disturbance)
        case PodEvent(clients=clients) if not _scaled(world).isdisjoint(clients):
            yield TimedChange(at_ms, PodsReplaced(disturbance))
        case PodEvent():
            yield from pod_event_changes(world, disturbance)
        case RackOutage(rack=rack, down_ms=down_ms, disk=disk):
            brokers = tuple(broker.id for broker in world.cluster.brokers if broker.rack == rack)
            clients = tuple(client.name for client in world.clients if client.rack == rack)
            yield from _brokers_crash(at_ms, brokers, down_ms)
            yield from _crash(at_ms, clients, down_ms, disk)
        case BrokerLoss(brokers=brokers, down_ms=down_ms):
            yield from _brokers_crash(at_ms, brokers, down_ms)
        case BrokerBounce(brokers=brokers, down_ms=down_ms, pause_ms=pause_ms):
            for i, broker in enumerate(brokers):
                stop_ms = at_ms + i * (down_ms + pause_ms)
                yield TimedChange(stop_ms, BrokersDown((broker,)))
                yield TimedChange(stop_ms + down_ms, BrokersUp((broker,)))
        case BrokerUpgrade(brokers=brokers, down_ms=down_ms, pause_ms=pause_ms):
            for i, broker in enumerate(brokers):
                stop_ms = at_ms + i * (down_ms + pause_ms)
                yield TimedChange(stop_ms, BrokersDown((broker,)))
                yield TimedChange(stop_ms + down_ms, BrokersUp((broker,), disturbance))
        case ReplicaMove(topic=topic, partition=partition, replicas=replicas):
            yield TimedChange(at_ms, ReplicasSet(topic, partition, replicas))
        case PartitionsAdded(topic=topic, first=first, replicas=added):
            yield TimedChange(at_ms, PartitionsSet(topic, first + len(added)))
        case Reassignment() | LagScaling():
            # Steps depend on all other changes of brokers; see `_with_replication`. Scaling depends on the run.
            return
        case ConfigChange(configs=configs):
            yield TimedChange(at_ms, ConfigsSet(configs))
        case TrafficChange(factor=factor, hour=hour):
            yield TimedChange(at_ms, TrafficScaled(factor, hour))
        case ReplaceThread() | StreamThreads():
            yield from _change_threads(world, disturbance)


def _change_threads(world: World, event: ReplaceThread | StreamThreads) -> Iterator[TimedChange]:
    static = {client.name for client in world.clients if client.is_static}
    for client in event.clients:
        is_static = client in static
        configs = group_configs_of(world, client, event.at_ms)
        match event:
            case ReplaceThread():
                leaves = leaves_when_replaced(configs, is_static=is_static)
                yield TimedChange(event.at_ms, ThreadReplaced(client, leaves))
            case StreamThreads(threads=threads):
                leaves = leaves_when_removed(configs, is_static=is_static)
                yield TimedChange(event.at_ms, ThreadsSet(client, threads, leaves))


def _crash(at_ms: int, clients: Iterable[str], down_ms: int | None, disk: Disk) -> Iterator[TimedChange]:
    for client in clients:
        yield TimedChange(at_ms, ClientDown(client, leaves_group=False, disk=disk, crashes=True))
        if down_ms is not None:
            yield TimedChange(at_ms + down_ms, ClientUp(client))


def _brokers_crash(at_ms: int, brokers: tuple[int, ...], down_ms: int | None) -> Iterator[TimedChange]:
    if brokers:
        yield TimedChange(at_ms, BrokersDown(brokers, crash=True))
        if down_ms is not None:
            yield TimedChange(at_ms + down_ms, BrokersUp(brokers))


def _bounce(world: World, bounce: RollingBounce) -> Iterator[TimedChange]:
    at_ms = bounce.at_ms
    for client in bounce.clients:
        yield _close(world, client, at_ms, bounce.closing, bounce.disk)
        at_ms += bounce.closing.ends_after_ms + bounce.down_ms
        up = ClientUp(
            client, bounce.configs, bounce.announces_rack, bounce.release, bounce.group_configs, bounce.consumer
        )
        yield TimedChange(at_ms, up)
        at_ms += bounce.pause_ms


def pod_event_changes(world: World, event: PodEvent) -> Iterator[TimedChange]:
    """Yield the changes of an event in which a platform stops processes."""
    for step in pod_schedule(event, startable_ms(world)):
        yield from pod_changes(world, step, event.volume)


def pod_changes(world: World, step: PodStop | PodStart, volume: Volume) -> Iterator[TimedChange]:
    """Yield the changes of a pod that starts or is asked to stop.

    `step`: what happens; `volume`: where the state directory of the pod is.
    """
    is_lost = volume is Volume.NONE
    match step:
        case PodStop(client=client, at_ms=at_ms, closing=None):
            yield from _crash(at_ms, [client], None, Disk.LOST if is_lost else Disk.UNFLUSHED_LOST)
        case PodStop(client=client, at_ms=at_ms, closing=Closing() as closing):
            yield _close(world, client, at_ms, closing, Disk.LOST if is_lost else Disk.KEPT)
        case PodStart(client=client, at_ms=at_ms):
            yield TimedChange(at_ms, ClientUp(client))


def _scaled(world: World) -> frozenset[str]:
    """Return the clients that autoscalers scale by lag."""
    return frozenset(
        client for event in world.disturbances if isinstance(event, LagScaling) for client in event.clients
    )


def _close(world: World, client: str, at_ms: int, closing: Closing, disk: Disk) -> TimedChange:
    leaves = leaves_on_close(world, client, closing.leaves_group, at_ms) and not closing.is_killed
    if closing.is_killed and disk is Disk.KEPT:
        disk = Disk.UNFLUSHED_LOST
    closes_in_ms = closing.ends_after_ms - closing.begins_after_ms
    down = ClientDown(client, leaves, disk, closes_in_ms=closes_in_ms, is_killed=closing.is_killed)
    return TimedChange(at_ms + closing.begins_after_ms, down)
