"""The elementary changes of a run, each at one point in time, and the base class of disturbances, which yield them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, NamedTuple

from assignors.model.columns import BoolArray, ConsumerUpdate, IntArray
from assignors.model.configs import AssignmentConfigs
from simulator.world.group_configs import GroupConfigs


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
class ClientUp:
    """A client process that starts and joins the group.

    Attributes:
        configs: its new assignment configs; None if it keeps those it had.
        announces_rack: whether it has `client.rack` from now on; None if that does not change.
        release: its new Kafka release; None if it keeps its own.
        group_configs: the application's group configs with that release; None if it keeps its own.
        consumer: the new configs of its consumers; None if they do not change.
    """

    client: str
    configs: AssignmentConfigs | None = None
    announces_rack: bool | None = None
    release: str | None = None
    group_configs: GroupConfigs | None = None
    consumer: ConsumerUpdate | None = None

    def __str__(self) -> str:
        has_new_configs = any(news is not None for news in (self.configs, self.announces_rack, self.consumer))
        news = [*(["new configs"] * has_new_configs), *([f"Kafka {self.release}"] * (self.release is not None))]
        return f"{self.client} starts" + (f" with {' and '.join(news)}" if news else "")


@dataclass(frozen=True, slots=True)
class ClientDown:
    """A client process that stops: from now on, it does not process tasks, and its stores cannot be queried.

    Attributes:
        leaves_group: whether it leaves the group; if not, the group removes it after its session timeout.
        disk: what is left of its disk.
        crashes: whether it stops without closing.
        closes_in_ms: the time until its process ends; its members send heartbeats until then, and leave only then.
        is_killed: whether it is killed while it closes.
    """

    client: str
    leaves_group: bool
    disk: Disk
    crashes: bool = False
    closes_in_ms: int = 0
    is_killed: bool = False

    @property
    def ends_in_order(self) -> bool:
        """Whether the client closes, so that its members can send a last request."""
        return not self.crashes and not self.is_killed

    def __str__(self) -> str:
        return f"{self.client} {self._manner()}" + (", its state is lost" if self.disk is Disk.LOST else "")

    def _manner(self) -> str:
        duration = f"{self.closes_in_ms / 1000:g} s"
        if self.is_killed:
            return f"is killed after closing for {duration}" if self.closes_in_ms else "is killed"
        if not self.closes_in_ms:
            return "leaves" if self.leaves_group else "goes down" if self.crashes else "closes without LeaveGroup"
        return f"closes for {duration}, {'then leaves' if self.leaves_group else 'without LeaveGroup'}"


@dataclass(frozen=True, slots=True, eq=False)
class ReplicaStates:
    """New states of N partitions with up to W replicas.

    Attributes:
        partitions: shape (N,); rows of the partitions, in the order of the cluster's topics.
        replicas: shape (N, W); rows of the brokers, NO_BROKER after the last replica.
        leader: shape (N,); row of the leading broker, NO_BROKER if none.
        copying: shape (N, W); whether a replica of a reassignment does not have all data yet.
        in_sync: shape (N, W); whether a replica is in the ISR.
        num_brokers: the number of brokers of the cluster; larger rows are of brokers that it lacks.
    """

    partitions: IntArray
    replicas: IntArray
    leader: IntArray
    copying: BoolArray
    in_sync: BoolArray
    num_brokers: int


@dataclass(frozen=True, slots=True)
class BrokersDown:
    """Brokers that stop; other replicas take over their leaderships.

    Attributes:
        crash: whether they stop without a controlled shutdown.
        states: the partitions that change at once.
    """

    brokers: tuple[int, ...]
    crash: bool = False
    states: ReplicaStates | None = None

    def __str__(self) -> str:
        return f"brokers {', '.join(map(str, self.brokers))} go down"


@dataclass(frozen=True, slots=True, eq=False)
class NewRelease:
    """The Kafka release that brokers get by one upgrade, and the application's group configs with it."""

    release: str
    group_configs: GroupConfigs


@dataclass(frozen=True, slots=True)
class BrokersUp:
    """Brokers that restart; they lead the partitions without a leader whose data they have.

    Attributes:
        upgrade: the Kafka release with which they restart; None if they keep theirs.
        states: the partitions that change at once.
    """

    brokers: tuple[int, ...]
    upgrade: NewRelease | None = None
    states: ReplicaStates | None = None

    def __str__(self) -> str:
        release = "" if self.upgrade is None else f" with Kafka {self.upgrade.release}"
        return f"brokers {', '.join(map(str, self.brokers))} are back{release}"


@dataclass(frozen=True, slots=True)
class CoordinatorMoved:
    """Another broker that becomes the coordinator of the group, or its broker that has another release.

    Attributes:
        configs: the group configs with its release.
        release: the release to which it was upgraded; empty if it was not.
    """

    broker: int
    configs: GroupConfigs
    release: str

    def __str__(self) -> str:
        release = f" (Kafka {self.release})" if self.release else ""
        return f"broker {self.broker} coordinates the group{release}"


@dataclass(frozen=True, slots=True)
class ReplicasSet:
    """A partition that gets other replicas immediately, without copying; `states` has its leader and ISR, too."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    states: ReplicaStates | None = None

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} moves to brokers {', '.join(map(str, self.replicas))}"


@dataclass(frozen=True, slots=True)
class PartitionsSet:
    """A topic that gets more partitions. `num_partitions`: its number of partitions from now on."""

    topic: str
    num_partitions: int

    def __str__(self) -> str:
        return f"{self.topic} has {self.num_partitions} partitions"


class RackTransfer(NamedTuple):
    """Bytes, or bytes per second, that brokers of one rack send to brokers of another or the same; None for no rack."""

    from_rack: str | None
    to_rack: str | None
    amount: float


@dataclass(frozen=True, slots=True)
class ReplicationStep:
    """A step of replication: of ongoing reassignments, of replicas that catch up, or an election of preferred leaders.

    Attributes:
        states: the partitions that changed; None if only rates did.
        copied: bytes that unthrottled replicas copied instantly at this step.
        copying: bytes per second that are copied from now on, replacing the rates of the step before.
        about: a short description; empty if only rates changed.
    """

    states: ReplicaStates | None
    copied: tuple[RackTransfer, ...]
    copying: tuple[RackTransfer, ...]
    about: str

    def __str__(self) -> str:
        return self.about


@dataclass(frozen=True, slots=True)
class ConfigsSet:
    """New assignment configs of the application, on all clients from now on."""

    configs: AssignmentConfigs

    def __str__(self) -> str:
        return "assignment configs change"


@dataclass(frozen=True, slots=True)
class TrafficScaled:
    """A new rate of the source topics: a multiple of the usual rate, or of the rate in an hour of the day.

    Attributes:
        hour: the hour, None for the usual rate.
    """

    factor: float
    hour: int | None = None

    def __str__(self) -> str:
        if self.hour is None:
            return f"traffic is {self.factor:g} times the usual"
        return f"traffic is {'' if self.factor == 1 else f'{self.factor:g} times '}that of {self.hour:02}:00"


@dataclass(frozen=True, slots=True)
class ThreadReplaced:
    """A stream thread of a client that dies of an exception and is replaced; `leaves_group` says whether it leaves."""

    client: str
    leaves_group: bool

    def __str__(self) -> str:
        return f"{self.client} replaces a stream thread"


@dataclass(frozen=True, slots=True)
class ThreadsSet:
    """A client that adds or removes stream threads. `threads`: its number of threads from now on, until it restarts."""

    client: str
    threads: int
    leaves_group: bool

    def __str__(self) -> str:
        return f"{self.client} changes its stream threads to {self.threads}"


@dataclass(frozen=True, slots=True)
class PodsScaled:
    """A new number of replicas that an autoscaler sets; the pods start and stop by changes of their own.

    Attributes:
        workload: the name of the StatefulSet or Deployment.
        scaler: who sets it: `HPA` or `KEDA`.
        before: the replicas until then.
        lag: the lag of the group in records.
    """

    workload: str
    scaler: str
    before: int
    replicas: int
    lag: int

    def __str__(self) -> str:
        return f"{self.scaler} scales {self.workload} from {self.before} to {self.replicas} pods (lag {self.lag:,})"


@dataclass(frozen=True, slots=True)
class PodsReplaced:
    """The begin of an event of pods that an autoscaler scales: which of them run is known only then."""

    event: Disturbance

    def __str__(self) -> str:
        return ""


ElementaryChange = (
    ClientUp
    | ClientDown
    | BrokersDown
    | BrokersUp
    | CoordinatorMoved
    | ReplicasSet
    | PartitionsSet
    | ReplicationStep
    | ConfigsSet
    | TrafficScaled
    | ThreadReplaced
    | ThreadsSet
    | PodsScaled
    | PodsReplaced
)


@dataclass(frozen=True, slots=True)
class TimedChange:
    """A change and its time.

    Attributes:
        change: what happens.
        event: number of the event that it belongs to, as in `event_numbers`; None for traffic.
    """

    at_ms: int
    change: ElementaryChange
    event: int | None = None


Startable = Callable[[str, int], int | None]
"""Returns the first time from a given one on at which a client can start; None for never."""


@dataclass(frozen=True, slots=True)
class ChangeContext:
    """What the changes of disturbances depend on in a world.

    Attributes:
        broker_racks: the racks of brokers by id, None for no rack; `client_racks`: those of clients by name.
        leaves_on_close: returns whether a client leaves the group, given the request of the event and the time.
        leaves_when_replaced: returns whether the thread of a client that another one replaces leaves the group, given
            the time; `leaves_when_removed`: the same of a thread that is removed.
        startable: when clients can start, given the outages of their racks.
        scaled: the clients that autoscalers scale by lag.
    """

    broker_racks: Mapping[int, str | None]
    client_racks: Mapping[str, str | None]
    leaves_on_close: Callable[[str, bool | None, int], bool]
    leaves_when_replaced: Callable[[str, int], bool]
    leaves_when_removed: Callable[[str, int], bool]
    startable: Startable
    scaled: frozenset[str]


class Disturbance(ABC):
    """An event of a run that does not depend on the assignor; its text is its label in results.

    Attributes:
        is_of_cluster: whether it concerns brokers or replicas, so that all applications of the cluster have it.
    """

    __slots__ = ()

    at_ms: int
    is_of_cluster: ClassVar[bool] = False

    @abstractmethod
    def changes(self, context: ChangeContext) -> Iterator[TimedChange]:
        """Yield the elementary changes of the disturbance alone."""

    @property
    def is_temporary(self) -> bool:
        """Whether the clients that it takes down come back."""
        return getattr(self, "down_ms", None) is not None

    @property
    def num_changes(self) -> float:
        """How many times it changes the group, about: clients that it changes together count as one."""
        return len(getattr(self, "clients", ())) if getattr(self, "every_ms", 0) else 1.0

    def for_neighbor(self) -> Disturbance | None:
        """Return what happens to another application of the cluster; None if nothing does."""
        return self if self.is_of_cluster else None
