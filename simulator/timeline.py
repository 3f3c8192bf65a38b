"""The timeline of a run: disturbances broken down into elementary changes, each at one point in time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Final

from assignors.model.ids import TopicPartition
from simulator.brokers.coordinator import with_coordinator_moves
from simulator.brokers.replication_progress import ReplicationProgress, may_lag
from simulator.world.changes import (
    BrokersDown,
    BrokersUp,
    ChangeContext,
    ClientDown,
    ClientUp,
    ElementaryChange,
    NewRelease,
    ReplicasSet,
    ReplicaStates,
    ReplicationStep,
    Startable,
    ThreadReplaced,
    ThreadsSet,
    TimedChange,
    TrafficScaled,
)
from simulator.world.disturbances import RackOutage, Reassignment, event_numbers
from simulator.world.leave_on_close import group_configs_of, leaves_on_close, leaves_when_removed, leaves_when_replaced
from simulator.world.pod_events import LagScaling
from simulator.world.world import Start, World

_CHANGES_OF_BROKERS: Final = BrokersDown | BrokersUp | ReplicasSet


def timeline(world: World) -> list[TimedChange]:
    """Return every change of a run.

    Taking down an absent client is a no-op, and so is its return. A client that several events keep down comes back
    with the last of them. Clients that an autoscaler scales count as present: which of them run is known only in a run.
    Returns changes by time; changes of one moment are in the order of the scenario, with the steps of reassignments
    last. Reassignments are included up to the end of the run.
    """
    numbers, context = event_numbers(world.disturbances), change_context(world)
    planned = [
        (replace(timed, event=numbers[place]), place if disturbance.is_temporary else None)
        for place, disturbance in enumerate(world.disturbances)
        for timed in disturbance.changes(context)
    ]
    planned.sort(key=lambda entry: entry[0].at_ms)
    happening = list(_with_outages(_without_no_ops(world, context.scaled, planned)))
    has_changes = any(isinstance(timed.change, _CHANGES_OF_BROKERS) for timed in happening)
    has_plans = any(isinstance(event, Reassignment) for event in world.disturbances)
    if has_changes or has_plans or _has_other_leaders(world) or may_lag(world):
        happening = list(_with_replication(ReplicationProgress(world), world, happening, world.duration_ms))
    return list(with_coordinator_moves(world, happening))


def replicas_at(world: World, until_ms: int) -> ReplicationProgress:
    """Return the brokers and partitions at a time, before the reassignments that begin at that time."""
    context = change_context(world)
    planned = [timed for disturbance in world.disturbances for timed in disturbance.changes(context)]
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
    outages, down, upgrade_of = Counter[int](), set[int](), dict[int, NewRelease]()
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


def _without_no_ops(
    world: World, scaled: Collection[str], planned: Iterable[tuple[TimedChange, int | None]]
) -> Iterator[TimedChange]:
    """Drop stops of absent clients and starts of present ones.

    `scaled`: the clients that an autoscaler scales. `planned`: changes by time, each with the place of its disturbance
    if that is temporary. Yields the changes that happen.
    """
    up = {client.name for client in world.clients if client.starts}.union(scaled)
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


def change_context(world: World) -> ChangeContext:
    """Return what the changes of disturbances depend on in a world."""
    static = {client.name for client in world.clients if client.is_static}

    def leaves(rule: Callable[..., bool]) -> Callable[[str, int], bool]:
        return lambda client, at_ms: rule(group_configs_of(world, client, at_ms), is_static=client in static)

    return ChangeContext(
        broker_racks={broker.id: broker.rack for broker in world.cluster.brokers},
        client_racks={client.name: client.rack for client in world.clients},
        leaves_on_close=partial(leaves_on_close, world),
        leaves_when_replaced=leaves(leaves_when_replaced),
        leaves_when_removed=leaves(leaves_when_removed),
        startable=startable_ms(world),
        scaled=frozenset(
            client for event in world.disturbances if isinstance(event, LagScaling) for client in event.clients
        ),
    )


def startable_ms(world: World) -> Startable:
    """Return when clients can start, given the outages of their racks."""
    rack_of = {client.name: client.rack for client in world.clients}
    outages = sorted((event for event in world.disturbances if isinstance(event, RackOutage)), key=lambda e: e.at_ms)

    def first_ms(client: str, at_ms: int) -> int | None:
        for outage in outages:
            if outage.rack == rack_of[client] and outage.at_ms <= at_ms:
                if outage.down_ms is None:
                    return None
                at_ms = max(at_ms, outage.at_ms + outage.down_ms)
        return at_ms

    return first_ms
