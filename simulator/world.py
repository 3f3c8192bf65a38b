"""What is simulated: a Kafka cluster, a Kafka Streams application on it, and what will happen to both.

Everything here is frozen. A run starts from a `World` and never changes it; what changes lives in the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assignors.configs import AssignmentConfigs
from assignors.ids import ProcessId
from simulator.disturbances import Disturbance

NO_LEADER = -1


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker and its `broker.rack`, None if it has none."""

    id: int
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic with its placement, traffic and size; every tuple has one entry a partition.

    Attributes:
        replicas: broker ids in replica order, the preferred leader first.
        leaders: the broker that leads, NO_LEADER if none.
        bytes_per_s: what is produced to the partition.
        size_bytes: what the partition holds at the start.
        record_bytes: the mean size of a record; turns bytes into offsets.
    """

    name: str
    replicas: tuple[tuple[int, ...], ...]
    leaders: tuple[int, ...]
    bytes_per_s: tuple[int, ...]
    size_bytes: tuple[int, ...]
    record_bytes: int = 1_000

    @property
    def num_partitions(self) -> int:
        """How many partitions the topic has."""
        return len(self.replicas)


@dataclass(frozen=True, slots=True)
class Cluster:
    """The brokers and topics.

    `reads_from_nearest_replica` says whether brokers set `replica.selector.class` to the rack-aware selector; without
    it a consumer reads from the leader, wherever that is.
    """

    brokers: tuple[Broker, ...]
    topics: Mapping[str, Topic]
    reads_from_nearest_replica: bool = False

    @property
    def racks(self) -> tuple[str, ...]:
        """The racks that brokers stand in, sorted."""
        return tuple(sorted({broker.rack for broker in self.brokers if broker.rack is not None}))


@dataclass(frozen=True, slots=True)
class Store:
    """A state store; `changelog` is its topic, None if logging is disabled."""

    name: str
    changelog: str | None
    persistent: bool = True


@dataclass(frozen=True, slots=True)
class Subtopology:
    """A part of the topology that runs as one task a partition; stateful if any store is logged."""

    id: int
    source_topics: tuple[str, ...]
    stores: tuple[Store, ...] = ()

    @property
    def is_stateful(self) -> bool:
        """Whether its tasks have a changelog."""
        return any(store.changelog is not None for store in self.stores)


@dataclass(frozen=True, slots=True)
class GroupConfigs:
    """The settings of the group's life, with Kafka's defaults.

    Attributes:
        session_timeout_ms: `session.timeout.ms`: when a member that crashed is missed.
        initial_rebalance_delay_ms: `group.initial.rebalance.delay.ms` of the brokers.
        leave_group_on_close: `internal.leave.group.on.close`: whether a client that shuts down says so.
        state_cleanup_delay_ms: `state.cleanup.delay.ms`: how long a copy that is not assigned stays on disk.
    """

    session_timeout_ms: int = 45_000
    initial_rebalance_delay_ms: int = 3_000
    leave_group_on_close: bool = False
    state_cleanup_delay_ms: int = 600_000


@dataclass(frozen=True, slots=True)
class Application:
    """A Kafka Streams application."""

    id: str
    subtopologies: tuple[Subtopology, ...]
    assignment_configs: AssignmentConfigs = field(default_factory=AssignmentConfigs)
    group_configs: GroupConfigs = field(default_factory=GroupConfigs)


@dataclass(frozen=True, slots=True)
class Client:
    """A Kafka Streams process.

    Attributes:
        name: how people call it; unique.
        process_id: how the group calls it.
        rack: `client.rack`.
        threads: `num.stream.threads`.
        tags: `client.tag.*`.
        restore_bytes_per_s: how fast it can read changelogs, over all its tasks.
        starts: whether it is a member from the start; if not, an event lets it join.
    """

    name: str
    process_id: ProcessId
    rack: str | None = None
    threads: int = 1
    tags: Mapping[str, str] = field(default_factory=dict)
    restore_bytes_per_s: int = 50_000_000
    starts: bool = True


@dataclass(frozen=True, slots=True)
class World:
    """A cluster, an application, every client that will ever take part, and what happens when.

    The run lasts `duration_ms`. If it starts warm, the application has run before: what the first rebalance assigns is
    there already. If it starts cold, every copy has to be restored from its changelog.
    """

    name: str
    cluster: Cluster
    application: Application
    clients: tuple[Client, ...]
    disturbances: tuple[Disturbance, ...] = ()
    duration_ms: int = 86_400_000
    starts_warm: bool = True
