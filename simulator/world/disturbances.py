"""The disturbances of a scenario, such as a rolling bounce or a rack outage, and their elementary changes.

They do not depend on the assignor, so every assignor faces the same disturbances; what an autoscaler of the scenario
then does depends on the run. The text of a disturbance is its label in results, such as `rolling bounce of 6 clients
(app-0, app-1, app-2, …)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from assignors.model.columns import ConsumerUpdate
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import TopicPartition
from simulator.world.changes import (
    BrokersDown,
    BrokersUp,
    ChangeContext,
    ClientDown,
    ClientUp,
    ConfigsSet,
    Disk,
    Disturbance,
    NewRelease,
    PartitionsSet,
    ReplicasSet,
    ThreadReplaced,
    ThreadsSet,
    TimedChange,
    TrafficScaled,
)
from simulator.world.group_configs import GroupConfigs
from simulator.world.pod_events import AT_ONCE, Closing, count_and_names


@dataclass(frozen=True, slots=True)
class Join(Disturbance):
    """Clients start and join the group, all together or one every `every_ms`."""

    at_ms: int
    clients: tuple[str, ...]
    every_ms: int = 0

    def changes(self, context: ChangeContext) -> Iterator[TimedChange]:
        for i, client in enumerate(self.clients):
            yield TimedChange(self.at_ms + i * self.every_ms, ClientUp(client))

    def __str__(self) -> str:
        return f"join of {count_and_names('client', self.clients)}"


@dataclass(frozen=True, slots=True)
class Leave(Disturbance):
    """Clients close for good, all together or one every `every_ms`. `closing`: how they are stopped."""

    at_ms: int
    clients: tuple[str, ...]
    every_ms: int = 0
    closing: Closing = AT_ONCE

    def changes(self, context: ChangeContext) -> Iterator[TimedChange]:
        for i, client in enumerate(self.clients):
            yield self.closing.stop(client, self.at_ms + i * self.every_ms, Disk.KEPT, context)

    def __str__(self) -> str:
        return f"leave of {count_and_names('client', self.clients)}"


@dataclass(frozen=True, slots=True)
class Crash(Disturbance):
    """Clients crash, and come back after `down_ms` unless that is None. `disk`: what is left of their disks."""

    at_ms: int
    clients: tuple[str, ...]
    down_ms: int | None = None
    disk: Disk = Disk.UNFLUSHED_LOST

    def changes(self, context: ChangeContext) -> Iterator[TimedChange]:
        yield from _crash(self.at_ms, self.clients, self.down_ms, self.disk)

    def __str__(self) -> str:
        return f"crash of {count_and_names('client', self.clients)}"


@dataclass(frozen=True, slots=True)
class RollingBounce(Disturbance):
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

    def changes(self, context: ChangeContext) -> Iterator[TimedChange]:
        news = (self.configs, self.announces_rack, self.release, self.group_configs, self.consumer)
        at_ms = self.at_ms
        for client in self.clients:
            yield self.closing.stop(client, at_ms, self.disk, context)
            at_ms += self.closing.ends_after_ms + self.down_ms
            yield TimedChange(at_ms, ClientUp(client, *news))
            at_ms += self.pause_ms

    def __str__(self) -> str:
        kind = "rolling bounce" if self.release is None else f"upgrade to Kafka {self.release}"
        return f"{kind} of {count_and_names('client', self.clients)}"


@dataclass(frozen=True, slots=True)
class RackOutage(Disturbance):
    """All clients and brokers of a rack stop without closing, and come back after `down_ms` unless that is None.

    `disk`: what is left of the disks of the clients.
    """

    is_of_cluster = True

    at_ms: int
    rack: str
    down_ms: int | None = None
    disk: Disk = Disk.UNFLUSHED_LOST

    def changes(self, context: ChangeContext) -> Iterator[TimedChange]:
        brokers = tuple(broker for broker, rack in context.broker_racks.items() if rack == self.rack)
        clients = (client for client, rack in context.client_racks.items() if rack == self.rack)
        yield from _brokers_crash(self.at_ms, brokers, self.down_ms)
        yield from _crash(self.at_ms, clients, self.down_ms, self.disk)

    def __str__(self) -> str:
        return f"outage of rack {self.rack}"


@dataclass(frozen=True, slots=True)
class BrokerLoss(Disturbance):
    """Brokers stop, and come back after `down_ms` unless that is None."""

    is_of_cluster = True

    at_ms: int
    brokers: tuple[int, ...]
    down_ms: int | None = None

    def changes(self, context: ChangeContext) -> Iterator[TimedChange]:
        yield from _brokers_crash(self.at_ms, self.brokers, self.down_ms)

    def __str__(self) -> str:
        return f"loss of {count_and_names('broker', self.brokers)}"


@dataclass(frozen=True, slots=True)
class BrokerBounce(Disturbance):
    """Brokers restart one after the other. A broker is down for `down_ms`; the next stops `pause_ms` later."""

    is_of_cluster = True

    at_ms: int
    brokers: tuple[int, ...]
    down_ms: int
    pause_ms: int

    @property
    def restarts_ms(self) -> tuple[int, ...]:
        """When each broker starts again."""
        interval_ms = self.down_ms + self.pause_ms
        return tuple(self.at_ms + self.down_ms + number * interval_ms for number in range(len(self.brokers)))

    def changes(self, context: ChangeContext) -> Iterator[TimedChange]:
        yield from self.restarts(None)

    def restarts(self, upgrade: NewRelease | None) -> Iterator[TimedChange]:
        """Yield the restarts, perhaps with another release."""
        for broker, start_ms in zip(self.brokers, self.restarts_ms, strict=True):
            yield TimedChange(start_ms - self.down_ms, BrokersDown((broker,)))
            yield TimedChange(start_ms, BrokersUp((broker,), upgrade))

    def __str__(self) -> str:
        return f"bounce of {count_and_names('broker', self.brokers)}"


@dataclass(frozen=True, slots=True)
class BrokerUpgrade(Disturbance):
    """Brokers restart one after the other with another Kafka release.

    Attributes:
        release: the release from the restart on.
        group_configs: the application's group configs with that release, of which those of brokers count.
    """

    is_of_cluster = True

    at_ms: int
    brokers: tuple[int, ...]
    down_ms: int
    pause_ms: int
    release: str
    group_configs: GroupConfigs

    def changes(self, context: ChangeContext) -> Iterator[TimedChange]:
        yield from self.for_neighbor().restarts(NewRelease(self.release, self.group_configs))

    def for_neighbor(self) -> BrokerBounce:
        """Return the restarts: the group of a neighbor keeps the release of its scenario."""
        return BrokerBounce(self.at_ms, self.brokers, self.down_ms, self.pause_ms)

    def __str__(self) -> str:
        return f"upgrade to Kafka {self.release} of {count_and_names('broker', self.brokers)}"


@dataclass(frozen=True, slots=True)
class ReplicaMove(Disturbance):
    """A partition gets other replicas immediately, without copying; the first replica leads."""

    is_of_cluster = True

    at_ms: int
    topic: str
    partition: int
    replicas: tuple[int, ...]

    def changes(self, context: ChangeContext) -> Iterator[TimedChange]:
        yield TimedChange(self.at_ms, ReplicasSet(self.topic, self.partition, self.replicas))

    def __str__(self) -> str:
        return f"replica move of {self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class PartitionsAdded(Disturbance):
    """A topic gets more partitions, as by `kafka-topics.sh --alter --partitions`.

    Attributes:
        first: the number of the first one, which is the number of partitions until then.
        replicas: the brokers of each new partition, the preferred leader first.
    """

    at_ms: int
    topic: str
    first: int
    replicas: tuple[tuple[int, ...], ...]

    def changes(self, context: ChangeContext) -> Iterator[TimedChange]:
        yield TimedChange(self.at_ms, PartitionsSet(self.topic, self.first + len(self.replicas)))

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
class Reassignment(Disturbance):
    """Partitions are reassigned, as by `kafka-reassign-partitions.sh --execute` (KIP-455).

    Attributes:
        targets: every partition once, in the order in which batches are formed.
        throttle_bytes_per_s: the throttle of every broker for sending and for receiving, from now on; None to keep the
            current one; there is none at the start of a run.
        batch: how many partitions are reassigned at a time; None for all.
        election: when the first replicas become leaders.
    """

    is_of_cluster = True

    at_ms: int
    targets: tuple[ReassignmentTarget, ...]
    throttle_bytes_per_s: int | None = None
    batch: int | None = None
    election: LeaderElection = LeaderElection.AUTO

    def changes(self, context: ChangeContext) -> Iterator[TimedChange]:
        yield from ()  # Its steps depend on all other changes of brokers: `simulator.timeline` adds them.

    def __str__(self) -> str:
        return f"reassignment of {count_and_names('partition', [str(target.partition) for target in self.targets])}"


@dataclass(frozen=True, slots=True)
class ConfigChange(Disturbance):
    """The application gets other assignment configs on all clients."""

    at_ms: int
    configs: AssignmentConfigs

    def changes(self, context: ChangeContext) -> Iterator[TimedChange]:
        yield TimedChange(self.at_ms, ConfigsSet(self.configs))

    def __str__(self) -> str:
        return "config change"


@dataclass(frozen=True, slots=True)
class TrafficChange(Disturbance):
    """The rate of every source topic becomes a multiple of its rate in the world.

    Attributes:
        hour: the hour of the day whose measured rate is multiplied; None for the usual rate.
    """

    at_ms: int
    factor: float
    hour: int | None = None

    def changes(self, context: ChangeContext) -> Iterator[TimedChange]:
        yield TimedChange(self.at_ms, TrafficScaled(self.factor, self.hour))

    def __str__(self) -> str:
        return "traffic change"


@dataclass(frozen=True, slots=True)
class ReplaceThread(Disturbance):
    """The first stream thread of each client dies of an exception, and another one replaces it (REPLACE_THREAD)."""

    at_ms: int
    clients: tuple[str, ...]

    def changes(self, context: ChangeContext) -> Iterator[TimedChange]:
        for client in self.clients:
            leaves = context.leaves_when_replaced(client, self.at_ms)
            yield TimedChange(self.at_ms, ThreadReplaced(client, leaves))

    def __str__(self) -> str:
        return f"replaced thread of {count_and_names('client', self.clients)}"


@dataclass(frozen=True, slots=True)
class StreamThreads(Disturbance):
    """Clients add or remove stream threads until they have `threads`, as by `KafkaStreams.addStreamThread`."""

    at_ms: int
    clients: tuple[str, ...]
    threads: int

    def changes(self, context: ChangeContext) -> Iterator[TimedChange]:
        for client in self.clients:
            leaves = context.leaves_when_removed(client, self.at_ms)
            yield TimedChange(self.at_ms, ThreadsSet(client, self.threads, leaves))

    def __str__(self) -> str:
        return f"change to {self.threads} threads of {count_and_names('client', self.clients)}"


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


def event_numbers(disturbances: Sequence[Disturbance]) -> list[int | None]:
    """Return the numbers of events, from 1 by time; simultaneous events keep the given order.

    Returns a number for each disturbance; None for changes of traffic, which never cause a rebalance.
    """
    numbered = [index for index, event in enumerate(disturbances) if not isinstance(event, TrafficChange)]
    numbered.sort(key=lambda index: disturbances[index].at_ms)
    number_of = {index: number for number, index in enumerate(numbered, 1)}
    return [number_of.get(index) for index in range(len(disturbances))]
