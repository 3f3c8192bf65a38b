"""The input of a run: a Kafka cluster, a Kafka Streams application on it, and the disturbances of both.

A consumer group is an application whose tasks are stateless and read one partition each. All classes are frozen. A run
starts from a `World` and never changes it.

A stream thread opens the stores of its new tasks one after another, in the loop that also polls the consumer: while it
opens stores, it neither joins a rebalance nor starts a restored task. Each task joins the state updater of its thread
as soon as its stores are open; the state updater then asks for end offsets, seeks, and waits for the first fetch.

Source of the client times: `StreamThread.runOnceWithoutProcessingThreads` (`pollPhase` before `checkStateUpdater`),
`TaskManager.checkStateUpdater`, `.addTasksToStateUpdater` and `.handleRestoredTasksFromStateUpdater`,
`StreamTask.initializeIfNeeded`, `DefaultStateUpdater.StateUpdaterThread.runOnce`,
`StoreChangelogReader.initializeChangelogs`, Kafka 3.9.1 and 4.3.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from typing import Final, NamedTuple

from assignors.kafka_releases import CLIENT_RELEASES
from assignors.model.columns import ConsumerProperties
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId, TaskId, TopicId
from assignors.replicas.state import TopicRetention
from simulator.world.changes import Disturbance
from simulator.world.group_configs import GroupConfigs, StateConfigs

UNCOMPRESSED: Final = "none"
"""The codec of a producer that does not compress."""


class RackShare(NamedTuple):
    """The fraction of a producer's or group's traffic that has its clients in a rack; all fractions add up to 1."""

    rack: str
    share: float


@dataclass(frozen=True, slots=True)
class OtherProducer:
    """Processes that produce to topics of the cluster.

    Attributes:
        share_of: the fraction of each topic's bytes, as brokers store them, that it produces.
        racks: where its processes are.
        is_rack_aware: whether it prefers partitions whose leader is in its rack (KIP-1123).
        has_keys: whether keys determine the partitions of its records, so that it cannot be rack-aware.
        codec: its `compression.type`.
    """

    name: str
    share_of: Mapping[str, float]
    racks: tuple[RackShare, ...]
    is_rack_aware: bool = False
    has_keys: bool = True
    codec: str = UNCOMPRESSED


@dataclass(frozen=True, slots=True)
class OtherGroup:
    """A consumer group besides the application.

    Attributes:
        name: `group.id`.
        topics: the topics that it reads.
        racks: where its members are; each partition is read from a rack in proportion to the members there.
        announces_rack: whether its members have `client.rack`.
        read_share: the bytes that it reads, as a multiple of its topics' bytes.
        share_of: the same for single topics.
    """

    name: str
    topics: tuple[str, ...]
    racks: tuple[RackShare, ...]
    announces_rack: bool = True
    read_share: float = 1.0
    share_of: Mapping[str, float] = field(default_factory=dict)

    def reads_of(self, topic: str) -> float:
        """Return the bytes that it reads of one of its topics, as a multiple of the topic's bytes."""
        return self.share_of.get(topic, self.read_share)


@dataclass(frozen=True, slots=True)
class OtherTraffic:
    """The traffic of the cluster besides the application's.

    Attributes:
        producers: the producers of topics that the application does not write.
        topic_codecs: `compression.type` of topics whose brokers recompress; absent ones store what producers send.
        compression_ratios: uncompressed bytes per compressed byte, by codec; 1 for none.
    """

    producers: tuple[OtherProducer, ...] = ()
    groups: tuple[OtherGroup, ...] = ()
    topic_codecs: Mapping[str, str] = field(default_factory=dict)
    compression_ratios: Mapping[str, float] = field(default_factory=dict)

    @property
    def racks(self) -> frozenset[str]:
        """The racks of the producers and of the groups' members."""
        places = [*(user.racks for user in self.producers), *(user.racks for user in self.groups)]
        return frozenset(place.rack for racks in places for place in racks)

    def ratio(self, codec: str) -> float | None:
        """Return uncompressed bytes per compressed byte, None if unknown."""
        return 1.0 if codec == UNCOMPRESSED else self.compression_ratios.get(codec)

    def sent_per_stored_byte(self, producer: OtherProducer, topic: str) -> float | None:
        """Return how many bytes a producer sends for each byte that the leader stores; None if a ratio is unknown.

        A leader stores batches as they arrive unless the topic has another `compression.type` than the producer.
        """
        stored_codec = self.topic_codecs.get(topic, producer.codec)
        if stored_codec == producer.codec:
            return 1.0
        stored, sent = self.ratio(stored_codec), self.ratio(producer.codec)
        return None if stored is None or sent is None else stored / sent


@dataclass(frozen=True, slots=True)
class ClientTimes:
    """How long a client needs for each step, 0 for no time.

    Attributes:
        start_ms: from the event that starts a process until its members join. Events usually say when a process is up,
            so scenarios assume 0.
        open_store_ms: opening one persistent store of a newly assigned task. A thread opens its stores one after
            another.
        restore_start_ms: from the moment when the stores of a task are open until it reads its changelogs: the state
            updater finishes its poll (`poll.ms`, 100 ms), asks for end offsets, seeks, and fetches for the first time.
        rejoin_ms: from the moment when a member learns of a rebalance, or has to revoke tasks, until it sends its
            JoinGroup request: the poll in progress, the commit, and the closing of revoked tasks. For consumers, the
            longest time between two polls.
        uncertainty: factor by which these times may differ on another machine; reports name outcomes that depend on it.
            1 for exact times.
    """

    start_ms: int = 0
    open_store_ms: int = 0
    restore_start_ms: int = 0
    rejoin_ms: int = 0
    uncertainty: float = 1.0

    def early(self) -> ClientTimes:
        """Return the times with which copies begin to read as early as possible before members rejoin."""
        return self.scaled(1 / self.uncertainty, self.uncertainty)

    def late(self) -> ClientTimes:
        """Return the times with which copies begin to read as late as possible after members rejoin."""
        return self.scaled(self.uncertainty, 1 / self.uncertainty)

    def scaled(self, factor: float, rejoin_factor: float | None = None) -> ClientTimes:
        """Return the times multiplied by factors, in whole milliseconds and exact.

        `rejoin_factor`: another one for `rejoin_ms`; None for the same.
        """
        return ClientTimes(
            round(self.start_ms * factor),
            round(self.open_store_ms * factor),
            round(self.restore_start_ms * factor),
            round(self.rejoin_ms * (factor if rejoin_factor is None else rejoin_factor)),
        )


MEASURED: Final = ClientTimes(start_ms=0, open_store_ms=70, restore_start_ms=250, rejoin_ms=30, uncertainty=2.0)
"""The defaults of scenarios: medians of tests/fidelity/calibration.json, rounded to 10 ms."""


class PairPrice(NamedTuple):
    """The price of a gigabyte (10⁹ bytes) from one rack to another.

    Attributes:
        usd_per_gb: the price of sending and receiving.
        received_usd_per_gb: the part of it for receiving.
    """

    usd_per_gb: float
    received_usd_per_gb: float


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a cloud provider for a gigabyte (10⁹ bytes) of cross-rack traffic.

    Attributes:
        usd_per_gb: the price of sending and receiving.
        as_of: date and source of the price.
        received_usd_per_gb: the part of it for receiving; the rest is for sending.
        pairs: other prices from one rack to another.
    """

    provider: str
    usd_per_gb: float
    as_of: str
    received_usd_per_gb: float = 0.0
    pairs: Mapping[tuple[str, str], PairPrice] = field(default_factory=dict)

    def between(self, from_rack: str, to_rack: str) -> PairPrice:
        """Return the price from one rack to another."""
        return self.pairs.get((from_rack, to_rack)) or PairPrice(self.usd_per_gb, self.received_usd_per_gb)


@dataclass(frozen=True, slots=True)
class HeldTasks:
    """The tasks of a client at the start, if the application is already running.

    Attributes:
        active: its active tasks, one entry per thread.
        standby: its standbys and warm-ups, one entry per thread.
        lags: how many records a copy is behind: for assigned tasks that have not caught up, and for unassigned copies
            on its disk.
        lags_when_opened: how many records, at the start, what was on disk was behind when the stores of assigned tasks
            were opened; those of the others were empty.
    """

    active: tuple[tuple[TaskId, ...], ...] = ()
    standby: tuple[tuple[TaskId, ...], ...] = ()
    lags: Mapping[TaskId, int] = field(default_factory=dict)
    lags_when_opened: Mapping[TaskId, int] = field(default_factory=dict)


NO_LEADER = -1
"""Broker id of the leader of a partition that has none."""

WRITE_BUFFER_BYTES = 16 * 1024**2
"""Default size of a memtable of a store (`RocksDBStore.WRITE_BUFFER_SIZE`)."""


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker.

    Attributes:
        id: `broker.id`.
        rack: `broker.rack`, None if it has none.
        restore_bytes_per_s: its bandwidth for all restoring clients together; None for no limit.
        capacity_bytes: the capacity of its disks, None if unknown. Only replica assignors use it.
        capacity_bytes_per_s: how much may be written to it, as leader and as follower, None if unknown. Only replica
            assignors use it.
        replication_bytes_per_s: how much it sends to, and receives from, other brokers that replicate.
    """

    id: int
    rack: str | None = None
    restore_bytes_per_s: int | None = None
    capacity_bytes: int | None = None
    capacity_bytes_per_s: int | None = None
    replication_bytes_per_s: int = 1_250_000_000


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic with its replicas, traffic and size; tuples have one entry per partition.

    Attributes:
        replicas: broker ids in replica order, the preferred leader first.
        leaders: broker id of the leader, NO_LEADER if none.
        bytes_per_s: the usual production rate of the partition: the mean of a day if that was measured.
        size_bytes: the size of the partition at the start.
        record_bytes: the mean size of a record, which converts bytes into offsets.
        hourly_bytes_per_s: the production rate measured in each of the 24 hours of a day (UTC), one tuple like
            `bytes_per_s` per hour, and 0 all day where that is 0; empty if nothing was measured.
        in_sync: the in-sync replicas (ISR) of each partition at the start; empty if all replicas are in sync.
        min_insync_replicas: `min.insync.replicas`: the ISR size that writes with `acks=all` need.
        unclean_leader_election: `unclean.leader.election.enable`: whether a replica out of sync may lead if no in-sync
            replica is alive.
        retention: how long and how much its partitions retain, None if unknown. Only replica assignors use it.
        has_rates: whether `bytes_per_s` was given or measured; if not, it is 0, and a run simulates that. Only replica
            assignors use it.
        topic_id: its id, on which the order of the assignments of consumer groups by the coordinator depends; None if
            unknown.
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
    topic_id: TopicId | None = None

    @property
    def num_partitions(self) -> int:
        """The number of partitions."""
        return len(self.replicas)


@dataclass(frozen=True, slots=True)
class Controller:
    """How the controller of a cluster elects leaders, and ends reassignments.

    Attributes:
        check_interval_ms: `leader.imbalance.check.interval.seconds`: how often it elects preferred leaders; None if
            `auto.leader.rebalance.enable` is false.
        checks_periodically: whether it checks at fixed intervals (Kafka 4.0 and later); before, an interval after a
            partition got another leader than the preferred one.
        keeps_eligible_replicas: whether it knows eligible leader replicas (KIP-966; Kafka 4.1 and later).
        waits_for_kept_replicas: whether a reassignment ends only when replicas that the partition keeps are in sync,
            too (before Kafka 4.3); since then, the new ones suffice, unless there are fewer replicas than before.
    """

    check_interval_ms: int | None = 300_000
    checks_periodically: bool = True
    keeps_eligible_replicas: bool = True
    waits_for_kept_replicas: bool = False


@dataclass(frozen=True, slots=True)
class Cluster:
    """The brokers and topics.

    Attributes:
        reads_from_nearest_replica: whether brokers set `replica.selector.class` to the rack-aware selector; without it
            consumers read from leaders only.
        controller: how the controller elects leaders.
        replica_lag_time_max_ms: `replica.lag.time.max.ms`: how long an in-sync replica may lag behind its leader.
    """

    brokers: tuple[Broker, ...]
    topics: Mapping[str, Topic]
    reads_from_nearest_replica: bool = False
    controller: Controller = Controller()
    replica_lag_time_max_ms: int = 30_000

    @property
    def partition_offsets(self) -> dict[str, int]:
        """The row of the first partition of each topic; the topics follow each other."""
        counts = [topic.num_partitions for topic in self.topics.values()]
        return dict(zip(self.topics, accumulate(counts, initial=0), strict=False))

    @property
    def racks(self) -> tuple[str, ...]:
        """The racks of the brokers, sorted."""
        return tuple(sorted({broker.rack for broker in self.brokers if broker.rack is not None}))


@dataclass(frozen=True, slots=True)
class Store:
    """A state store.

    Attributes:
        changelog: its changelog topic, None if logging is disabled.
        persistent: whether it is on disk; an in-memory store is lost when its task closes.
        write_buffer_bytes: how much RocksDB collects in a memtable before it writes it to disk.
    """

    name: str
    changelog: str | None
    persistent: bool = True
    write_buffer_bytes: int = WRITE_BUFFER_BYTES


@dataclass(frozen=True, slots=True)
class Subtopology:
    """A subtopology: it runs as one task per partition, and is stateful if any store has a changelog.

    Attributes:
        source_topics: the topics that it reads.
        written_topics: the repartition and result topics that it writes; no other producer writes to them.
    """

    id: int
    source_topics: tuple[str, ...]
    stores: tuple[Store, ...] = ()
    written_topics: tuple[str, ...] = ()

    @property
    def is_stateful(self) -> bool:
        """Whether its tasks have a changelog."""
        return any(store.changelog is not None for store in self.stores)


def topics_written_by(subtopologies: Sequence[Subtopology]) -> tuple[str, ...]:
    """Return the topics that tasks write: repartition and result topics, and changelogs that are not sources."""
    read = {topic for part in subtopologies for topic in part.source_topics}
    changelogs = (store.changelog for part in subtopologies for store in part.stores)
    written = [topic for part in subtopologies for topic in part.written_topics]
    return tuple(dict.fromkeys([*written, *(log for log in changelogs if log is not None and log not in read)]))


@dataclass(frozen=True, slots=True)
class Application:
    """A Kafka Streams application.

    Attributes:
        id: `application.id`.
        assignment_configs: the configs of the task assignor.
        group_configs: the configs of the group protocol.
        acks_all: whether its producers write with `acks=all`, to which `min.insync.replicas` applies (Kafka's default
            since 3.0, and required for exactly-once).
        state_configs: what decides which state survives when a process is killed.
        times: how long clients need to open stores, to begin to read changelogs, and to rejoin.
        is_consumer_group: whether it is a consumer group: each subtopology reads one topic, and each task is one
            partition. `id` is then the `group.id`.
        releases: the Kafka releases of the brokers and of the clients at the start, as results name them.
    """

    id: str
    subtopologies: tuple[Subtopology, ...]
    assignment_configs: AssignmentConfigs = field(default_factory=AssignmentConfigs)
    group_configs: GroupConfigs = field(default_factory=GroupConfigs)
    acks_all: bool = True
    state_configs: StateConfigs = field(default_factory=StateConfigs)
    times: ClientTimes = field(default_factory=ClientTimes)
    is_consumer_group: bool = False
    releases: tuple[str, str] = (CLIENT_RELEASES[-1], CLIENT_RELEASES[-1])


class OffsetReports(StrEnum):
    """Which offsets of its copies a client reports when it joins.

    Attributes:
        CURRENT: the current ones.
        STALE: those of the previous rebalance.
        NEVER: none, as if it had no copy, except for running tasks.
    """

    CURRENT = "current"
    STALE = "stale"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class ClientHost:
    """A machine on which several clients run, of the same or of several applications.

    Attributes:
        name: its unique name on the cluster.
        restore_bytes_per_s: how fast all its clients together can read changelogs.
    """

    name: str
    restore_bytes_per_s: int


@dataclass(frozen=True, slots=True)
class Client:
    """A Kafka Streams process.

    Attributes:
        name: its unique name in the scenario.
        process_id: its id in the group; a process that lost its disk, or has no persistent store, gets another one when
            it starts again.
        rack: its rack, None if unknown.
        announces_rack: whether it has `client.rack`.
        threads: `num.stream.threads`.
        tags: `client.tag.*`.
        restore_bytes_per_s: how fast it can read changelogs, over all its tasks.
        records_per_s: how many source records a thread can process; None for no limit.
        is_static: whether its members have a `group.instance.id`.
        starts: whether it is a member from the start; otherwise an event starts it.
        tasks: its tasks at the start; empty unless the world starts running.
        host: the name of its host; None for a host of its own, without a limit beyond `restore_bytes_per_s`.
        consumer: what its consumers have of their own, if the application is a consumer group.
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
    host: str | None = None
    consumer: ConsumerProperties = field(default_factory=ConsumerProperties)


class Start(StrEnum):
    """The state of the application when a run begins.

    Attributes:
        WARM: it ran before; all clients start together, and the copies of the first assignment have caught up.
        COLD: all clients start together, and every copy has to be restored from its changelog.
        RUNNING: it continues with the group and the tasks that its clients have.
    """

    WARM = "warm"
    COLD = "cold"
    RUNNING = "running"


@dataclass(frozen=True, slots=True)
class World:
    """The complete input of a run: a cluster, an application, all its clients, and the disturbances.

    Attributes:
        name: name of the scenario.
        cluster: the brokers and topics.
        application: the Kafka Streams application.
        clients: every client that ever takes part.
        duration_ms: how long the run lasts.
        start: the state of the application when the run begins.
        next_rebalance_ms: for a classic group that is already running, when its follow-up rebalance is due; None if its
            last assignment requested none.
        price: the price of cross-rack traffic; None if the cloud provider is unknown.
        seed: the seed of the run, which draws when members send their heartbeats.
        hosts: the hosts that limit the restoration of several clients together.
        other_traffic: other producers and consumer groups of the cluster; None if the scenario states none.
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
    seed: int = 0
    hosts: tuple[ClientHost, ...] = ()
    other_traffic: OtherTraffic | None = None
