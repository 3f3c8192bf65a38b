"""Disturbances broken down into elementary changes, each at one point in time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import TopicPartition
from simulator.brokers.reassignment import ReassignmentProgress, ReassignmentStep
from simulator.world.disturbances import (
    BrokerBounce,
    BrokerLoss,
    ConfigChange,
    Crash,
    Disturbance,
    Join,
    Leave,
    RackOutage,
    Reassignment,
    ReplicaMove,
    RollingBounce,
    TrafficChange,
)
from simulator.world.event_labels import event_numbers
from simulator.world.leave_on_close import leaves_on_close
from simulator.world.world import Start, World


@dataclass(frozen=True, slots=True)
class ClientUp:
    """A client process starts and joins the group; None where it starts with the settings that it had before."""

    client: str
    configs: AssignmentConfigs | None = None
    announces_rack: bool | None = None

    def __str__(self) -> str:
        new = self.configs is not None or self.announces_rack is not None
        return f"{self.client} starts" + (" with new configs" if new else "")


@dataclass(frozen=True, slots=True)
class ClientDown:
    """A client process ends; if it does not leave the group, the group waits for the session timeout.

    Attributes:
        client: its name.
        says_so: whether it leaves the group.
        keeps_state: whether it comes back with its disk.
        crashes: whether it ends without closing.
    """

    client: str
    says_so: bool
    keeps_state: bool
    crashes: bool = False

    def __str__(self) -> str:
        how = "leaves" if self.says_so else "goes down" if self.crashes else "closes without LeaveGroup"
        return f"{self.client} {how}" + ("" if self.keeps_state else ", its state is lost")


@dataclass(frozen=True, slots=True)
class BrokersDown:
    """Brokers end; other replicas take over their leaderships."""

    brokers: tuple[int, ...]

    def __str__(self) -> str:
        return f"brokers {', '.join(map(str, self.brokers))} go down"


@dataclass(frozen=True, slots=True)
class BrokersUp:
    """Brokers are back, and lead again what they are preferred for."""

    brokers: tuple[int, ...]

    def __str__(self) -> str:
        return f"brokers {', '.join(map(str, self.brokers))} are back"


@dataclass(frozen=True, slots=True)
class ReplicasSet:
    """A partition has these replicas from now on."""

    topic: str
    partition: int
    replicas: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} moves to brokers {', '.join(map(str, self.replicas))}"


@dataclass(frozen=True, slots=True)
class ConfigsSet:
    """The application has these configs from now on."""

    configs: AssignmentConfigs

    def __str__(self) -> str:
        return "assignment configs change"


@dataclass(frozen=True, slots=True)
class TrafficScaled:
    """So many times as much as usual, or as in an hour of the day, is produced to the sources from now on."""

    factor: float
    hour: int | None = None

    def __str__(self) -> str:
        if self.hour is None:
            return f"traffic is {self.factor:g} times the usual"
        return f"traffic is {'' if self.factor == 1 else f'{self.factor:g} times '}that of {self.hour:02}:00"


Change = ClientUp | ClientDown | BrokersDown | BrokersUp | ReplicasSet | ReassignmentStep | ConfigsSet | TrafficScaled


@dataclass(frozen=True, slots=True)
class TimedChange:
    """A change, when it happens, and the number of its event: None for traffic, as in `event_numbers`."""

    at_ms: int
    change: Change
    event: int | None = None


def timeline(world: World) -> list[TimedChange]:
    """Every change that will happen, in order of time; changes of one moment in the order of the scenario.

    Steps of reassignments come after all else of their moment, up to the end of the run. What takes a client down that
    is not there does not happen, nor does its return from that. A client that several things keep down comes back from
    the last of them.
    """
    numbers = event_numbers(world.disturbances)
    planned = [
        (replace(timed, event=numbers[place]), place if _ends(disturbance) else None)
        for place, disturbance in enumerate(world.disturbances)
        for timed in _break_down(world, disturbance)
    ]
    if any(isinstance(disturbance, Reassignment) for disturbance in world.disturbances):
        steps = _reassign(ReassignmentProgress(world), world, [timed for timed, _ in planned], world.duration_ms)
        planned += [(timed, None) for timed in list(steps)]
    return list(_that_happen(world, sorted(planned, key=lambda each: each[0].at_ms)))


def replicas_at(world: World, until_ms: int) -> ReassignmentProgress:
    """The brokers and partitions as they stand at a time, before reassignments that begin then."""
    planned = [timed for disturbance in world.disturbances for timed in _break_down(world, disturbance)]
    reassigning = ReassignmentProgress(world)
    list(_reassign(reassigning, world, [timed for timed in planned if timed.at_ms <= until_ms], until_ms))
    return reassigning


def _reassign(
    reassigning: ReassignmentProgress, world: World, planned: Sequence[TimedChange], until_ms: int
) -> Iterator[TimedChange]:
    """The steps of all reassignments, among changes that are no steps themselves."""
    numbered = zip(event_numbers(world.disturbances), world.disturbances, strict=True)
    begun = [(number, each) for number, each in numbered if isinstance(each, Reassignment) and each.at_ms < until_ms]
    happens: list[tuple[int, int | None, Change | Reassignment]] = [
        *((timed.at_ms, timed.event, timed.change) for timed in planned),
        *((each.at_ms, number, each) for number, each in begun),
    ]
    event_of: dict[TopicPartition, int | None] = {}
    for at_ms, together in groupby(sorted(happens, key=lambda each: each[0]), key=lambda each: each[0]):
        yield from _timed(reassigning.until(at_ms), event_of)
        for _, number, change in together:
            _tell(reassigning, change)
            if isinstance(change, Reassignment):
                event_of |= {target.partition: number for target in change.targets}
        yield from _timed(reassigning.settle(), event_of)
    yield from _timed(reassigning.until(until_ms), event_of)


def _timed(
    steps: Iterable[tuple[int, ReassignmentStep]], event_of: Mapping[TopicPartition, int | None]
) -> Iterator[TimedChange]:
    """Put each step down to the last event that reassigned one of its partitions."""
    for at_ms, step in steps:
        events = [event_of.get(each.partition) for each in step.partitions]
        yield TimedChange(at_ms, step, max((number for number in events if number is not None), default=None))


def _tell(reassigning: ReassignmentProgress, change: Change | Reassignment) -> None:
    match change:
        case Reassignment():
            reassigning.begin(change)
        case ReplicasSet(topic=topic, partition=partition, replicas=replicas):
            reassigning.put(TopicPartition(topic, partition), replicas)
        case BrokersDown(brokers=brokers):
            reassigning.lose(brokers)
        case BrokersUp(brokers=brokers):
            reassigning.regain(brokers)
        case TrafficScaled(factor=factor, hour=hour):
            reassigning.scale(factor, hour)


def _ends(disturbance: Disturbance) -> bool:
    """Whether clients that it takes down come back from it."""
    return isinstance(disturbance, RollingBounce) or getattr(disturbance, "down_ms", None) is not None


def _that_happen(world: World, planned: Iterable[tuple[TimedChange, int | None]]) -> Iterator[TimedChange]:
    there = {client.name for client in world.clients if client.starts}
    started_ms = dict.fromkeys(there, None if world.start is Start.RUNNING else 0)
    kept_down_by: dict[str, set[int]] = {client.name: set() for client in world.clients}
    for timed, outage in planned:
        happens = True
        match timed.change:
            case ClientDown(client=client):
                happens = client in there
                there.discard(client)
                if not timed.change.crashes and started_ms.get(client) == timed.at_ms:
                    # It has not joined yet, so the group does not wait for its session.
                    timed = replace(timed, change=replace(timed.change, says_so=True))
                if outage is None:
                    kept_down_by[client].clear()
                elif happens or kept_down_by[client]:
                    kept_down_by[client].add(outage)
            case ClientUp(client=client):
                if outage is None:
                    happens = client not in there
                    kept_down_by[client].clear()
                else:
                    happens = kept_down_by[client] == {outage}
                    kept_down_by[client].discard(outage)
                if happens:
                    there.add(client)
                    started_ms[client] = timed.at_ms
        if happens:
            yield timed


def _break_down(world: World, disturbance: Disturbance) -> Iterator[TimedChange]:
    at_ms = disturbance.at_ms
    match disturbance:
        case Join(clients=clients, every_ms=every_ms):
            yield from (TimedChange(at_ms + i * every_ms, ClientUp(client)) for i, client in enumerate(clients))
        case Leave(clients=clients, every_ms=every_ms, leaves_group=leaves_group):
            for i, client in enumerate(clients):
                yield _close(world, client, at_ms + i * every_ms, leaves_group, keeps_state=True)
        case Crash(clients=clients, down_ms=down_ms, keeps_state=keeps_state):
            yield from _crash(at_ms, clients, down_ms, keeps_state=keeps_state)
        case RollingBounce():
            yield from _bounce(world, disturbance)
        case RackOutage(rack=rack, down_ms=down_ms):
            brokers = tuple(broker.id for broker in world.cluster.brokers if broker.rack == rack)
            clients = tuple(client.name for client in world.clients if client.rack == rack)
            yield from _brokers_down(at_ms, brokers, down_ms)
            yield from _crash(at_ms, clients, down_ms, keeps_state=True)
        case BrokerLoss(brokers=brokers, down_ms=down_ms):
            yield from _brokers_down(at_ms, brokers, down_ms)
        case BrokerBounce(brokers=brokers, down_ms=down, pause_ms=pause_ms):
            for i, broker in enumerate(brokers):
                yield from _brokers_down(at_ms + i * (down + pause_ms), (broker,), down)
        case ReplicaMove(topic=topic, partition=partition, replicas=replicas):
            yield TimedChange(at_ms, ReplicasSet(topic, partition, replicas))
        case Reassignment():
            # Its steps depend on all else that happens to brokers.
            return
        case ConfigChange(configs=configs):
            yield TimedChange(at_ms, ConfigsSet(configs))
        case TrafficChange(factor=factor, hour=hour):
            yield TimedChange(at_ms, TrafficScaled(factor, hour))


def _crash(at_ms: int, clients: Iterable[str], down_ms: int | None, *, keeps_state: bool) -> Iterator[TimedChange]:
    for client in clients:
        yield TimedChange(at_ms, ClientDown(client, says_so=False, keeps_state=keeps_state, crashes=True))
        if down_ms is not None:
            yield TimedChange(at_ms + down_ms, ClientUp(client))


def _brokers_down(at_ms: int, brokers: tuple[int, ...], down_ms: int | None) -> Iterator[TimedChange]:
    if brokers:
        yield TimedChange(at_ms, BrokersDown(brokers))
        if down_ms is not None:
            yield TimedChange(at_ms + down_ms, BrokersUp(brokers))


def _bounce(world: World, bounce: RollingBounce) -> Iterator[TimedChange]:
    at_ms = bounce.at_ms
    for client in bounce.clients:
        yield _close(world, client, at_ms, bounce.leaves_group, keeps_state=bounce.keeps_state)
        yield TimedChange(at_ms + bounce.down_ms, ClientUp(client, bounce.configs, bounce.announces_rack))
        at_ms += bounce.down_ms + bounce.pause_ms


def _close(world: World, client: str, at_ms: int, leaves_group: bool | None, *, keeps_state: bool) -> TimedChange:
    leaves = leaves_on_close(world, client, leaves_group)
    return TimedChange(at_ms, ClientDown(client, leaves, keeps_state))
