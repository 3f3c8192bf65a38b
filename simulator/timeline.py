"""Disturbances broken down into elementary changes, each at one point in time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from assignors.configs import AssignmentConfigs
from simulator.disturbances import (
    BrokerLoss,
    ConfigChange,
    Crash,
    Disturbance,
    Join,
    Leave,
    RackOutage,
    ReplicaMove,
    RollingBounce,
)
from simulator.world import World


@dataclass(frozen=True, slots=True)
class ClientUp:
    """A client process starts and joins the group."""

    client: str

    def __str__(self) -> str:
        return f"{self.client} starts"


@dataclass(frozen=True, slots=True)
class ClientDown:
    """A client process ends; if it does not say so, the group misses it after the session timeout."""

    client: str
    says_so: bool
    keeps_state: bool

    def __str__(self) -> str:
        how = "leaves" if self.says_so else "goes down"
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


Change = ClientUp | ClientDown | BrokersDown | BrokersUp | ReplicasSet | ConfigsSet


@dataclass(frozen=True, slots=True)
class TimedChange:
    """A change and when it happens."""

    at_ms: int
    change: Change


def timeline(world: World) -> list[TimedChange]:
    """Every change that will happen, in order of time; changes of one moment in the order of the scenario."""
    changes = [change for disturbance in world.disturbances for change in _break_down(world, disturbance)]
    return sorted(changes, key=lambda timed: timed.at_ms)


def _break_down(world: World, disturbance: Disturbance) -> Iterator[TimedChange]:
    at_ms = disturbance.at_ms
    match disturbance:
        case Join(clients=clients):
            yield from (TimedChange(at_ms, ClientUp(client)) for client in clients)
        case Leave(clients=clients):
            yield from (TimedChange(at_ms, ClientDown(client, says_so=True, keeps_state=True)) for client in clients)
        case Crash(clients=clients, down_ms=down_ms, keeps_state=keeps_state):
            yield from _down(at_ms, clients, down_ms, says_so=False, keeps_state=keeps_state)
        case RollingBounce():
            yield from _bounce(world, disturbance)
        case RackOutage(rack=rack, down_ms=down_ms):
            brokers = tuple(broker.id for broker in world.cluster.brokers if broker.rack == rack)
            clients = tuple(client.name for client in world.clients if client.rack == rack)
            yield from _brokers_down(at_ms, brokers, down_ms)
            yield from _down(at_ms, clients, down_ms, says_so=False, keeps_state=True)
        case BrokerLoss(brokers=brokers, down_ms=down_ms):
            yield from _brokers_down(at_ms, brokers, down_ms)
        case ReplicaMove(topic=topic, partition=partition, replicas=replicas):
            yield TimedChange(at_ms, ReplicasSet(topic, partition, replicas))
        case ConfigChange(configs=configs):
            yield TimedChange(at_ms, ConfigsSet(configs))


def _down(
    at_ms: int, clients: Iterable[str], down_ms: int | None, *, says_so: bool, keeps_state: bool
) -> Iterator[TimedChange]:
    for client in clients:
        yield TimedChange(at_ms, ClientDown(client, says_so, keeps_state))
        if down_ms is not None:
            yield TimedChange(at_ms + down_ms, ClientUp(client))


def _brokers_down(at_ms: int, brokers: tuple[int, ...], down_ms: int | None) -> Iterator[TimedChange]:
    if brokers:
        yield TimedChange(at_ms, BrokersDown(brokers))
        if down_ms is not None:
            yield TimedChange(at_ms + down_ms, BrokersUp(brokers))


def _bounce(world: World, bounce: RollingBounce) -> Iterator[TimedChange]:
    says_so = world.application.group_configs.leave_group_on_close
    at_ms = bounce.at_ms
    for client in bounce.clients:
        yield from _down(at_ms, [client], bounce.down_ms, says_so=says_so, keeps_state=bounce.keeps_state)
        at_ms += bounce.down_ms + bounce.pause_ms
