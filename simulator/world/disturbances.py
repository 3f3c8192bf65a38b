"""What happens to a cluster and an application, and when.

A scenario states disturbances as people think of them (a rolling bounce, a rack outage). `timeline` breaks them down
into elementary changes at points in time. It knows the world and nothing of assignors, so every assignor faces the
same weather.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class Join:
    """Clients start and join the group, all at once or one every `every_ms`."""

    at_ms: int
    clients: tuple[str, ...]
    every_ms: int = 0


@dataclass(frozen=True, slots=True)
class Leave:
    """Clients close for good; all at once or one every `every_ms`.

    Attributes:
        leaves_group: whether they leave the group, as `CloseOptions` of `KafkaStreams.close` ask for it; None for the
            default of the configs and the protocol, as in `simulator.world.leave_on_close`.
    """

    at_ms: int
    clients: tuple[str, ...]
    every_ms: int = 0
    leaves_group: bool | None = None


@dataclass(frozen=True, slots=True)
class Crash:
    """Clients die; they come back after `down_ms`, never if that is None, with their disk or without it."""

    at_ms: int
    clients: tuple[str, ...]
    down_ms: int | None = None
    keeps_state: bool = True


@dataclass(frozen=True, slots=True)
class RollingBounce:
    """Clients restart one after the other: each is down for `down_ms`, the next goes `pause_ms` after it is back.

    Attributes:
        configs: the assignment configs with which they come back; None if they keep theirs.
        announces_rack: whether they come back with `client.rack`; None if that does not change.
        leaves_group: as in `Leave`.
    """

    at_ms: int
    clients: tuple[str, ...]
    down_ms: int
    pause_ms: int
    keeps_state: bool = True
    configs: AssignmentConfigs | None = None
    announces_rack: bool | None = None
    leaves_group: bool | None = None


@dataclass(frozen=True, slots=True)
class RackOutage:
    """All clients and brokers of a rack are gone, and come back after `down_ms` unless that is None."""

    at_ms: int
    rack: str
    down_ms: int | None = None


@dataclass(frozen=True, slots=True)
class BrokerLoss:
    """Brokers are gone, and come back after `down_ms` unless that is None."""

    at_ms: int
    brokers: tuple[int, ...]
    down_ms: int | None = None


@dataclass(frozen=True, slots=True)
class BrokerBounce:
    """Brokers restart one after the other: each is down for `down_ms`, the next goes `pause_ms` after it is back."""

    at_ms: int
    brokers: tuple[int, ...]
    down_ms: int
    pause_ms: int


@dataclass(frozen=True, slots=True)
class ReplicaMove:
    """A partition has other replicas from now on; the first one leads, and nothing is copied."""

    at_ms: int
    topic: str
    partition: int
    replicas: tuple[int, ...]


class LeaderElection(StrEnum):
    """When the first replica of a reassigned partition comes to lead it.

    at_end: once the whole reassignment is done, as somebody runs `kafka-leader-election.sh` then. auto: when the
    controller next looks (`auto.leader.rebalance.enable`). never: it does not, unless a broker comes back.
    """

    AT_END = "at_end"
    AUTO = "auto"
    NEVER = "never"


class ReassignmentTarget(NamedTuple):
    """A partition, and the brokers that it shall have, the preferred leader first."""

    partition: TopicPartition
    replicas: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reassignment:
    """Partitions are reassigned, as `kafka-reassign-partitions.sh --execute` has it (KIP-455).

    Attributes:
        targets: each partition once, in the order in which batches are made of them.
        throttle_bytes_per_s: the throttle of every broker, as it sends and as it receives, from now on; None to leave
            it as it is, which is no limit until somebody gives one.
        batch: how many partitions at a time; None for all.
        election: when the first replicas come to lead.
    """

    at_ms: int
    targets: tuple[ReassignmentTarget, ...]
    throttle_bytes_per_s: int | None = None
    batch: int | None = None
    election: LeaderElection = LeaderElection.AUTO


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """The application's assignment configs are others from now on, on all clients."""

    at_ms: int
    configs: AssignmentConfigs


@dataclass(frozen=True, slots=True)
class TrafficChange:
    """From now on, `factor` times as much is produced to every source topic as the world says.

    Attributes:
        hour: what the world says is what was measured in this hour of the day; None for the usual.
    """

    at_ms: int
    factor: float
    hour: int | None = None


Disturbance = (
    Join
    | Leave
    | Crash
    | RollingBounce
    | RackOutage
    | BrokerLoss
    | BrokerBounce
    | ReplicaMove
    | Reassignment
    | ConfigChange
    | TrafficChange
)
"""Scale-out is a `Join` of several clients, scale-in a `Leave`."""
