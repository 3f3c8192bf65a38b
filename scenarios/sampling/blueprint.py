"""The blueprint of a world: a resolved scenario, except for what a seed decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from assignors.model.columns import ConsumerProperties
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId, TopicId
from scenarios.language.cluster_entries import parse_topic_configs
from scenarios.sampling.event_sampling import PlannedEvent, place_replicas, realize_events
from simulator.random_streams import random_stream
from simulator.world.group_configs import GroupConfigs, GroupProtocol
from simulator.world.world import (
    Application,
    Broker,
    Client,
    ClientHost,
    Cluster,
    Controller,
    HeldTasks,
    OffsetReports,
    OtherTraffic,
    Price,
    Start,
    Topic,
    World,
    topics_written_by,
)

MAX_BROKERS: Final = 1_000
MAX_PARTITIONS: Final = 100_000
"""Of the whole cluster, including changelogs and repartition topics."""

MAX_REPLICAS: Final = 1_000_000
MAX_CLIENTS: Final = 10_000
MAX_THREADS: Final = 20_000
"""Of all clients of an application; for example 10 on each of 2,000 clients."""

MAX_TASK_CLIENT_PAIRS: Final = 40_000_000
"""Tasks times clients; for example 20,000 tasks on 2,000 clients."""


@dataclass(frozen=True, slots=True)
class TopicDefaults:
    """The brokers' defaults for topic configs `min.insync.replicas` and `unclean.leader.election.enable`."""

    min_insync_replicas: int = 1
    unclean_leader_election: bool = False


@dataclass(frozen=True, slots=True)
class TopicBlueprint:
    """A topic whose replicas may not be placed yet; tuples have one entry per partition, as in `Topic`.

    `replicas`: broker ids, the preferred leader first; None for Kafka's placement, which depends on the seed.
    `leaders`: None for the preferred leaders. `in_sync`: the in-sync replicas at the start; None if all are.
    `stated_keys`: those of `bytes_per_s`, `size` and `record_size` that the scenario, or its log_dirs file, sets for
    this topic. `configs`: in Kafka's notation; absent keys have the brokers' or Kafka's defaults. `has_default_factor`:
    whether nothing states the replication factor, so that Kafka's default of 1 holds.
    """

    name: str
    num_partitions: int
    replication_factor: int
    bytes_per_s: tuple[int, ...]
    size_bytes: tuple[int, ...]
    record_bytes: int
    replicas: tuple[tuple[int, ...], ...] | None = None
    leaders: tuple[int, ...] | None = None
    hourly_bytes_per_s: tuple[tuple[int, ...], ...] = ()
    in_sync: tuple[tuple[int, ...], ...] | None = None
    stated_keys: frozenset[str] = frozenset()
    configs: Mapping[str, str] = field(default_factory=dict)
    topic_id: TopicId | None = None
    has_default_factor: bool = False

    def to_topic(self, brokers: tuple[Broker, ...], seed: int, defaults: TopicDefaults) -> Topic:
        """Build the topic; the seed places replicas that are not given."""
        replicas = self.replicas
        if replicas is None:
            replicas = place_replicas(self.name, brokers, seed, self.num_partitions, self.replication_factor)
        leaders = self.leaders or tuple(brokers[0] for brokers in replicas)
        settings = parse_topic_configs(self.configs)
        unclean = settings.unclean_leader_election
        return Topic(
            name=self.name,
            replicas=replicas,
            leaders=leaders,
            bytes_per_s=self.bytes_per_s,
            size_bytes=self.size_bytes,
            record_bytes=self.record_bytes,
            hourly_bytes_per_s=self.hourly_bytes_per_s,
            in_sync=self.in_sync or (),
            min_insync_replicas=settings.min_insync_replicas or defaults.min_insync_replicas,
            unclean_leader_election=defaults.unclean_leader_election if unclean is None else unclean,
            retention=settings.retention,
            has_rates="bytes_per_s" in self.stated_keys or any(self.bytes_per_s) or bool(self.hourly_bytes_per_s),
            topic_id=self.topic_id,
        )


@dataclass(frozen=True, slots=True)
class ClientBlueprint:
    """A client that may not have a process id yet; the fields are those of `simulator.world.world.Client`.

    `keeps_name` says whether its successor after a rollout has its name; no for pods of a Deployment.
    """

    name: str
    process_id: ProcessId | None
    rack: str | None
    threads: int
    tags: Mapping[str, str]
    restore_bytes_per_s: int
    starts: bool
    announces_rack: bool
    records_per_s: int | None
    is_static: bool
    reports: OffsetReports
    tasks: HeldTasks
    host: str | None = None
    consumer: ConsumerProperties = field(default_factory=ConsumerProperties)
    keeps_name: bool = True

    def to_client(self, seed: int, group: GroupConfigs) -> Client:
        """Build the client of a group, which may have static members or not; the seed draws a missing process id."""
        return Client(
            name=self.name,
            process_id=self.process_id or draw_process_id(seed, self.name),
            rack=self.rack,
            threads=self.threads,
            tags=self.tags,
            restore_bytes_per_s=self.restore_bytes_per_s,
            starts=self.starts,
            announces_rack=self.announces_rack,
            records_per_s=self.records_per_s,
            is_static=self.is_static and group.has_static_members,
            reports=self.reports,
            tasks=self.tasks,
            host=self.host,
            consumer=self.consumer,
        )


def draw_process_id(seed: int, client: str) -> ProcessId:
    """Draw a random UUID (version 4), as Kafka Streams does for a new process."""
    return ProcessId.of(UUID(bytes=random_stream(seed, "process_id", client).bytes(16), version=4))


@dataclass(frozen=True, slots=True)
class Blueprint:
    """The seed-independent part of a world; the fields are those of `simulator.world.world.World`.

    `topic_defaults`: the brokers' defaults for topic configs. `group_configs`: those of the application, by protocol.
    """

    name: str
    brokers: tuple[Broker, ...]
    topics: tuple[TopicBlueprint, ...]
    topic_defaults: TopicDefaults
    reads_from_nearest_replica: bool
    controller: Controller
    application: Application
    group_configs: Mapping[GroupProtocol, GroupConfigs]
    clients: tuple[ClientBlueprint, ...]
    events: tuple[PlannedEvent, ...]
    duration_ms: int
    start: Start
    next_rebalance_ms: int | None
    price: Price | None
    replica_lag_time_max_ms: int = 30_000
    hosts: tuple[ClientHost, ...] = ()
    other_traffic: OtherTraffic | None = None

    def topics_with_default_factor(self) -> list[str]:
        """Return the topics that the tasks read or write, and that have one replica because nothing states more."""
        parts = self.application.subtopologies
        used = {*topics_written_by(parts), *(topic for part in parts for topic in part.source_topics)}
        return [plan.name for plan in self.topics if plan.has_default_factor and plan.name in used]

    def world(
        self,
        seed: int,
        configs: AssignmentConfigs | None = None,
        protocol: GroupProtocol | None = None,
        *,
        is_neighbor: bool = False,
    ) -> World:
        """Build the world of one run with its disturbances.

        `configs`, `protocol`: None for those of the application. `is_neighbor` says whether the application runs next
        to another one; its random events are then drawn independently of the draws of the other. Raises NoPlanError if
        a reassignment strategy finds no plan.
        """
        configs = configs or self.application.assignment_configs
        group = self.group_configs[protocol or self.application.group_configs.protocol]
        world = World(
            name=self.name,
            cluster=Cluster(
                brokers=self.brokers,
                topics={plan.name: plan.to_topic(self.brokers, seed, self.topic_defaults) for plan in self.topics},
                reads_from_nearest_replica=self.reads_from_nearest_replica,
                controller=self.controller,
                replica_lag_time_max_ms=self.replica_lag_time_max_ms,
            ),
            application=replace(self.application, assignment_configs=configs, group_configs=group),
            clients=tuple(plan.to_client(seed, group) for plan in self.clients),
            duration_ms=self.duration_ms,
            start=self.start,
            next_rebalance_ms=self.next_rebalance_ms if group.protocol is GroupProtocol.CLASSIC else None,
            price=self.price,
            seed=seed,
            hosts=self.hosts,
            other_traffic=self.other_traffic,
        )
        stream = self.application.id if is_neighbor else None
        return replace(world, disturbances=realize_events(self.events, world, stream))
