"""The disturbances of a scenario, such as a rolling bounce or a rack outage.

`simulator.timeline` breaks them down into elementary changes at points in time. They do not depend on the assignor, so
every assignor faces the same disturbances; what an autoscaler of the scenario then does depends on the run. The text of
a disturbance is its label in results, such as `rolling bounce of 6 clients (app-0, app-1, app-2, …)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from assignors.model.columns import ConsumerUpdate
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import TopicPartition
from simulator.world.group_configs import GroupConfigs
from simulator.world.pod_events import AT_ONCE, Closing, LagScaling, PodEvent, count_and_names


@dataclass(frozen=True, slots=True)
class Join:
    """Clients start and join the group, all together or one every `every_ms`."""

    at_ms: int
    clients: tuple[str, ...]
    every_ms: int = 0

    def __str__(self) -> str:
        return f"join of {count_and_names('client', self.clients)}"


@dataclass(frozen=True, slots=True)
class Leave:
    """Clients close for good, all together or one every `every_ms`. `closing`: how they are stopped."""

    at_ms: int
    clients: tuple[str, ...]
    every_ms: int = 0
    closing: Closing = AT_ONCE

    def __str__(self) -> str:
        return f"leave of {count_and_names('client', self.clients)}"


class Disk(StrEnum):
    """What is left of the disk of a client that stopped.

    Attributes:
        KEPT: everything, as after a clean close.
        UNFLUSHED_LOST: what had been flushed, as after SIGKILL; `simulator.flows.durable_state` says what that is.
        LOST: nothing.
    """

    KEPT = "kept"
    UNFLUSHED_LOST = "unflushed_lost"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Crash:
    """Clients crash, and come back after `down_ms` unless that is None. `disk`: what is left of their disks."""

    at_ms: int
    clients: tuple[str, ...]
    down_ms: int | None = None
    disk: Disk = Disk.UNFLUSHED_LOST

    def __str__(self) -> str:
        return f"crash of {count_and_names('client', self.clients)}"


@dataclass(frozen=True, slots=True)
class RollingBounce:
    """Clients restart one after the other. A process ends, and starts `down_ms` later; the next stops `pause_ms` later.

    Attributes:
        disk: what is left of their disks, if they close properly.
        configs: the assignment configs from the restart on; None if they keep theirs.
        announces_rack: whether they have `client.rack` from the restart on; None if that does not change.
        closing: how they are stopped.
        release: the Kafka release that they have from the restart on; None if they keep theirs.
        group_configs: the application's group configs with that release, of which those of clients count.
        consumer: the configs that their consumers get with the restart; None if they do not change.
    """

    at_ms: int
    clients: tuple[str, ...]
    down_ms: int
    pause_ms: int
    disk: Disk = Disk.KEPT
    configs: AssignmentConfigs | None = None
    announces_rack: bool | None = None
    closing: Closing = AT_ONCE
    release: str | None = None
    group_configs: GroupConfigs | None = None
    consumer: ConsumerUpdate | None = None

    @property
    def restarts_ms(self) -> tuple[int, ...]:
        """When each client starts again."""
        first_ms = self.at_ms + self.closing.ends_after_ms + self.down_ms
        interval_ms = self.closing.ends_after_ms + self.down_ms + self.pause_ms
        return tuple(first_ms + number * interval_ms for number in range(len(self.clients)))

    def __str__(self) -> str:
        kind = "rolling bounce" if self.release is None else f"upgrade to Kafka {self.release}"
        return f"{kind} of {count_and_names('client', self.clients)}"


@dataclass(frozen=True, slots=True)
class RackOutage:
    """All clients and brokers of a rack stop without closing, and come back after `down_ms` unless that is None.

    `disk`: what is left of the disks of the clients.
    """

    at_ms: int
    rack: str
    down_ms: int | None = None
    disk: Disk = Disk.UNFLUSHED_LOST

    def __str__(self) -> str:
        return f"outage of rack {self.rack}"


@dataclass(frozen=True, slots=True)
class BrokerLoss:
    """Brokers stop, and come back after `down_ms` unless that is None."""

    at_ms: int
    brokers: tuple[int, ...]
    down_ms: int | None = None

    def __str__(self) -> str:
        return f"loss of {count_and_names('broker', self.brokers)}"


@dataclass(frozen=True, slots=True)
class BrokerBounce:
    """Brokers restart one after the other. A broker is down for `down_ms`; the next stops `pause_ms` later."""

    at_ms: int
    brokers: tuple[int, ...]
    down_ms: int
    pause_ms: int

    def __str__(self) -> str:
        return f"bounce of {count_and_names('broker', self.brokers)}"


@dataclass(frozen=True, slots=True)
class BrokerUpgrade:
    """Brokers restart one after the other with another Kafka release.

    Attributes:
        release: the release from the restart on.
        group_configs: the application's group configs with that release, of which those of brokers count.
    """

    at_ms: int
    brokers: tuple[int, ...]
    down_ms: int
    pause_ms: int
    release: str
    group_configs: GroupConfigs

    def __str__(self) -> str:
        return f"upgrade to Kafka {self.release} of {count_and_names('broker', self.brokers)}"


@dataclass(frozen=True, slots=True)
class ReplicaMove:
    """A partition gets other replicas immediately, without copying; the first replica leads."""

    at_ms: int
    topic: str
    partition: int
    replicas: tuple[int, ...]

    def __str__(self) -> str:
        return f"replica move of {self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class PartitionsAdded:
    """A topic gets more partitions, as by `kafka-topics.sh --alter --partitions`.

    Attributes:
        first: the number of the first one, which is the number of partitions until then.
        replicas: the brokers of each new partition, the preferred leader first.
    """

    at_ms: int
    topic: str
    first: int
    replicas: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        return f"increase of {self.topic} from {self.first} to {self.first + len(self.replicas)} partitions"


class LeaderElection(StrEnum):
    """When the first replica of a reassigned partition becomes its leader.

    Attributes:
        AT_END: when the whole reassignment is done, as if an operator ran `kafka-leader-election.sh`.
        AUTO: at the controller's next check (`auto.leader.rebalance.enable`).
        NEVER: not at all, not at checks of the controller either.
    """

    AT_END = "at_end"
    AUTO = "auto"
    NEVER = "never"


class ReassignmentTarget(NamedTuple):
    """The target of a reassignment: a partition and its new brokers, the preferred leader first."""

    partition: TopicPartition
    replicas: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reassignment:
    """Partitions are reassigned, as by `kafka-reassign-partitions.sh --execute` (KIP-455).

    Attributes:
        targets: every partition once, in the order in which batches are formed.
        throttle_bytes_per_s: the throttle of every broker for sending and for receiving, from now on; None to keep the
            current one; there is none at the start of a run.
        batch: how many partitions are reassigned at a time; None for all.
        election: when the first replicas become leaders.
    """

    at_ms: int
    targets: tuple[ReassignmentTarget, ...]
    throttle_bytes_per_s: int | None = None
    batch: int | None = None
    election: LeaderElection = LeaderElection.AUTO

    def __str__(self) -> str:
        return f"reassignment of {count_and_names('partition', [str(target.partition) for target in self.targets])}"


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """The application gets other assignment configs on all clients."""

    at_ms: int
    configs: AssignmentConfigs

    def __str__(self) -> str:
        return "config change"


@dataclass(frozen=True, slots=True)
class TrafficChange:
    """The rate of every source topic becomes a multiple of its rate in the world.

    Attributes:
        hour: the hour of the day whose measured rate is multiplied; None for the usual rate.
    """

    at_ms: int
    factor: float
    hour: int | None = None

    def __str__(self) -> str:
        return "traffic change"


@dataclass(frozen=True, slots=True)
class ReplaceThread:
    """The first stream thread of each client dies of an exception, and another one replaces it (REPLACE_THREAD)."""

    at_ms: int
    clients: tuple[str, ...]

    def __str__(self) -> str:
        return f"replaced thread of {count_and_names('client', self.clients)}"


@dataclass(frozen=True, slots=True)
class StreamThreads:
    """Clients add or remove stream threads until they have `threads`, as by `KafkaStreams.addStreamThread`."""

    at_ms: int
    clients: tuple[str, ...]
    threads: int

    def __str__(self) -> str:
        return f"change to {self.threads} threads of {count_and_names('client', self.clients)}"


Disturbance = (
    Join
    | Leave
    | Crash
    | RollingBounce
    | PodEvent
    | RackOutage
    | BrokerLoss
    | BrokerBounce
    | BrokerUpgrade
    | ReplicaMove
    | PartitionsAdded
    | Reassignment
    | ConfigChange
    | TrafficChange
    | ReplaceThread
    | StreamThreads
    | LagScaling
)
"""Scale-out is a `Join` of several clients, scale-in a `Leave`."""


def event_numbers(disturbances: Sequence[Disturbance]) -> list[int | None]:
    """Return the numbers of events, from 1 by time; simultaneous events keep the given order.

    Returns a number for each disturbance; None for changes of traffic, which never cause a rebalance.
    """
    numbered = [index for index, event in enumerate(disturbances) if not isinstance(event, TrafficChange)]
    numbered.sort(key=lambda index: disturbances[index].at_ms)
    number_of = {index: number for number, index in enumerate(numbered, 1)}
    return [number_of.get(index) for index in range(len(disturbances))]
