"""What is simulated: a Kafka cluster, a Kafka Streams application on it, and what will happen to both.

Everything here is frozen. A run starts from a `World` and never changes it; what changes lives in the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId, TaskId
from assignors.replicas.state import TopicRetention
from simulator.world.disturbances import Disturbance

NO_LEADER = -1


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker.

    Attributes:
        rack: its `broker.rack`, None if it has none.
        restore_bytes_per_s: what it can send to all clients that restore from it; None if that is no limit.
        capacity_bytes: the capacity of its disks, None if unknown. Only strategies that plan reassignments use it.
        capacity_bytes_per_s: what may be written to it, as leader and as follower, None if unknown; used likewise.
    """

    id: int
    rack: str | None = None
    restore_bytes_per_s: int | None = None
    capacity_bytes: int | None = None
    capacity_bytes_per_s: int | None = None


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic with its placement, traffic and size; every tuple has one entry a partition.

    Attributes:
        replicas: broker ids in replica order, the preferred leader first.
        leaders: the broker that leads, NO_LEADER if none.
        bytes_per_s: what is produced to the partition: the usual, which is the mean of a day where that was measured.
        size_bytes: what the partition holds at the start.
        record_bytes: the mean size of a record; turns bytes into offsets.
        hourly_bytes_per_s: what was measured to be produced in each of the 24 hours of a day (UTC), a tuple like
            `bytes_per_s` an hour, and 0 all day where that is 0; empty where nothing was measured.
        in_sync: the in-sync replicas (ISR) of each partition at the start; empty if all replicas are in sync.
        min_insync_replicas: `min.insync.replicas`: how many a partition needs to accept writes with `acks=all`.
        unclean_leader_election: `unclean.leader.election.enable`: whether a replica out of sync may lead if no in-sync
            replica is alive.
        retention: how long and how much its partitions retain, None if unknown. Only strategies that plan reassignments
            use it, as they do `has_rates`.
        has_rates: whether `bytes_per_s` was given or measured; if not, a run simulates the 0 that it holds.
    """

    name: str
    replicas: tuple[tuple[int, ...], ...]
    leaders: tuple[int, ...]
    bytes_per_s: tuple[int, ...]
    size_bytes: tuple[int, ...]
    record_bytes: int = 1_000
    hourly_bytes_per_s: tuple[tuple[int, ...], ...] = ()
    in_sync: tuple[tuple[int, ...], ...] = ()
    min_insync_replicas: int = 1
    unclean_leader_election: bool = False
    retention: TopicRetention | None = None
    has_rates: bool = True

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
    """A part of the topology that runs as one task a partition; stateful if any store is logged.

    `written_topics` are the repartition and result topics that it writes; all that is produced to them comes from here.
    """

    id: int
    source_topics: tuple[str, ...]
    stores: tuple[Store, ...] = ()
    written_topics: tuple[str, ...] = ()

    @property
    def is_stateful(self) -> bool:
        """Whether its tasks have a changelog."""
        return any(store.changelog is not None for store in self.stores)


class GroupProtocol(StrEnum):
    """`group.protocol`: who assigns, and how members hear of it.

    classic: a member leads the group and assigns; everybody joins anew for each rebalance. streams: the group
    coordinator assigns, and each member comes to its target by itself (KIP-1071).
    """

    CLASSIC = "classic"
    STREAMS = "streams"


@dataclass(frozen=True, slots=True)
class GroupConfigs:
    """The settings of the group's life, with Kafka's defaults.

    Attributes:
        protocol: `group.protocol`.
        session_timeout_ms: `session.timeout.ms` (of the brokers, `group.streams.session.timeout.ms`): when a member
            that crashed is missed.
        heartbeat_interval_ms: `heartbeat.interval.ms`: how often a member of a classic group hears from it.
        streams_heartbeat_interval_ms: `group.streams.heartbeat.interval.ms`: the same of a streams group.
        streams_assignment_interval_ms: `group.streams.assignment.interval.ms`: how long the coordinator of a streams
            group lets pass between two targets at least (from Kafka 4.3 on; 0 before).
        max_poll_interval_ms: `max.poll.interval.ms`: how long members have to join a rebalance, and how long the
            leader may compute.
        initial_rebalance_delay_ms: `group.initial.rebalance.delay.ms` of the brokers (of a streams group,
            `group.streams.initial.rebalance.delay.ms`): how long an empty group waits for more members.
        leave_group_on_close: `internal.leave.group.on.close`: whether a client that closes leaves the group, as in
            `simulator.world.leave_on_close`.
        state_cleanup_delay_ms: `state.cleanup.delay.ms`: how long a copy that is not assigned stays on disk.
        rejoins_when_brokers_bounce: whether members with `client.rack` join anew when a broker goes or comes, as in
            the releases before KAFKA-20778 was fixed.
        leader_speed: how fast the group leader computes, as a multiple of the machine that Kafka was timed on.
    """

    protocol: GroupProtocol = GroupProtocol.CLASSIC
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    streams_heartbeat_interval_ms: int = 5_000
    streams_assignment_interval_ms: int = 1_000
    max_poll_interval_ms: int = 300_000
    initial_rebalance_delay_ms: int = 3_000
    leave_group_on_close: bool = False
    state_cleanup_delay_ms: int = 600_000
    rejoins_when_brokers_bounce: bool = False
    leader_speed: float = 1.0


@dataclass(frozen=True, slots=True)
class Application:
    """A Kafka Streams application.

    `acks_all` says whether its producers write with `acks=all` (Kafka's default since 3.0, and required for exactly
    once), which `min.insync.replicas` holds for.
    """

    id: str
    subtopologies: tuple[Subtopology, ...]
    assignment_configs: AssignmentConfigs = field(default_factory=AssignmentConfigs)
    group_configs: GroupConfigs = field(default_factory=GroupConfigs)
    acks_all: bool = True


class OffsetReports(StrEnum):
    """Which offsets of its copies a client reports when it joins.

    current: those of that moment. stale: those of the rebalance before. never: none, as if it had no copy, unless the
    task runs there.
    """

    CURRENT = "current"
    STALE = "stale"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class HeldTasks:
    """What a client has at the start, where the application is running already.

    Attributes:
        active: the tasks that it runs, one entry a thread.
        standby: the standbys and warm-ups that it holds, one entry a thread.
        lags: by how many records a copy is behind: of its tasks those that are not level, and of others those that lie
            dormant on its disk.
    """

    active: tuple[tuple[TaskId, ...], ...] = ()
    standby: tuple[tuple[TaskId, ...], ...] = ()
    lags: Mapping[TaskId, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Client:
    """A Kafka Streams process.

    Attributes:
        name: how people call it; unique.
        process_id: how the group calls it; a process that lost its disk, or has no persistent store, gets another one
            when it starts again.
        rack: where it stands.
        announces_rack: whether `client.rack` says so.
        threads: `num.stream.threads`.
        tags: `client.tag.*`.
        restore_bytes_per_s: how fast it can read changelogs, over all its tasks.
        records_per_s: how many source records a thread can process; None if that is no limit.
        is_static: whether its members have a `group.instance.id`; only those of a classic group can.
        reports: which offsets it reports.
        starts: whether it is a member from the start; if not, an event lets it join.
        tasks: what it has at the start; nothing unless the world starts running.
    """

    name: str
    process_id: ProcessId
    rack: str | None = None
    threads: int = 1
    tags: Mapping[str, str] = field(default_factory=dict)
    restore_bytes_per_s: int = 50_000_000
    starts: bool = True
    announces_rack: bool = True
    records_per_s: int | None = None
    is_static: bool = False
    reports: OffsetReports = OffsetReports.CURRENT
    tasks: HeldTasks = field(default_factory=HeldTasks)


@dataclass(frozen=True, slots=True)
class Price:
    """What a cloud takes for a gigabyte (10⁹ bytes) that crosses from one rack to another.

    Attributes:
        provider: whose price it is.
        usd_per_gb: the price.
        as_of: when and where it was read.
    """

    provider: str
    usd_per_gb: float
    as_of: str


class Start(StrEnum):
    """How an application comes into a run.

    warm: it has run before; all clients start at once, and what the first rebalance assigns is there already. cold: all
    clients start at once, and every copy has to be restored from its changelog. running: it goes on with the group and
    the tasks that its clients have.
    """

    WARM = "warm"
    COLD = "cold"
    RUNNING = "running"


@dataclass(frozen=True, slots=True)
class World:
    """A cluster, an application, every client that will ever take part, and what happens when.

    Attributes:
        duration_ms: how long the run lasts.
        start: how the application comes into it.
        next_rebalance_ms: of a classic group that is running already, when the follow-up is due that its last
            assignment asked for; None if it asked for none.
        price: None where nobody said which cloud it runs in.
    """

    name: str
    cluster: Cluster
    application: Application
    clients: tuple[Client, ...]
    disturbances: tuple[Disturbance, ...] = ()
    duration_ms: int = 86_400_000
    start: Start = Start.WARM
    next_rebalance_ms: int | None = None
    price: Price | None = None
