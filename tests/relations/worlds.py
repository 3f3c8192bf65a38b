"""Random worlds: chains of subtopologies on a cluster, and disturbances of both.

A relation that holds only under a condition draws its worlds with that condition, instead of discarding others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

from assignors import registry
from assignors.model.assignment import TaskAssignor
from assignors.model.configs import AssignmentConfigs, RackAwareStrategy
from assignors.model.ids import TopicPartition
from simulator.world.changes import Disk, Disturbance
from simulator.world.disturbances import (
    BrokerBounce,
    BrokerLoss,
    ConfigChange,
    Crash,
    Join,
    LeaderElection,
    Leave,
    RackOutage,
    Reassignment,
    ReassignmentTarget,
    ReplicaMove,
    RollingBounce,
    TrafficChange,
)
from simulator.world.group_configs import GroupConfigs, GroupProtocol
from simulator.world.pod_events import PodEvent
from simulator.world.world import (
    Application,
    Broker,
    Client,
    Cluster,
    OffsetReports,
    Price,
    Start,
    Store,
    Subtopology,
    Topic,
    World,
)
from tests.simulator.random_worlds import ASSIGNORS as KAFKA_ASSIGNORS
from tests.simulator.random_worlds import (
    DURATION_MS,
    assignment_configs,
    closings,
    group_configs,
    moments,
    pod_events,
    spans,
    with_running_clients,
)
from tests.simulator.world_builders import RACKS, client

UNLIMITED = 10**15
ASSIGNORS = (*KAFKA_ASSIGNORS, "incremental")

CLIENT_EVENTS = (Join, Leave, Crash, RollingBounce, PodEvent)
BROKER_EVENTS = (BrokerLoss, BrokerBounce, ReplicaMove, Reassignment, RackOutage)
OTHER_EVENTS = (ConfigChange, TrafficChange)
EVERY_EVENT = (*CLIENT_EVENTS, *BROKER_EVENTS, *OTHER_EVENTS)

pauses = st.sampled_from((0, 1_500, 40_000))


@dataclass(frozen=True, slots=True)
class WorldLimits:
    """The worlds to draw.

    Attributes:
        events: kinds of disturbances.
        starts: how the application may start.
        has_state: whether there may be state stores.
        grows: whether changelogs may grow.
        is_limited: whether the processing and restore rates of threads, clients and brokers may be limited.
        has_hours: whether topics may have hourly rates.
        hides_racks: whether the racks of brokers and clients may be unknown.
        has_chains: whether subtopologies may read repartition topics of others.
        nearest: whether brokers serve the nearest replica; None for either.
        protocols: group protocols.
    """

    events: tuple[type[Disturbance], ...] = EVERY_EVENT
    starts: tuple[Start, ...] = tuple(Start)
    has_state: bool = True
    grows: bool = True
    is_limited: bool = True
    has_hours: bool = True
    hides_racks: bool = True
    has_chains: bool = True
    nearest: bool | None = None
    protocols: tuple[GroupProtocol, ...] = tuple(GroupProtocol)


ANY = WorldLimits()


def assignors(names: tuple[str, ...] = ASSIGNORS) -> st.SearchStrategy[TaskAssignor]:
    """Draw an assignor that works with either protocol."""
    return st.sampled_from(names).map(lambda name: registry.make(registry.find(name)))


@st.composite
def worlds(draw: st.DrawFn, limits: WorldLimits = ANY) -> World:
    """Draw a world within limits, with up to five disturbances."""
    brokers = draw(_brokers(limits))
    application, topics = draw(_applications(limits, len(brokers)))
    nearest = draw(st.booleans()) if limits.nearest is None else limits.nearest
    is_classic = application.group_configs.protocol is GroupProtocol.CLASSIC
    base = World(
        name="random",
        cluster=Cluster(brokers, topics, nearest),
        application=application,
        clients=tuple(draw(_clients(limits, f"c{i}", is_classic)) for i in range(draw(st.integers(1, 5)))),
        duration_ms=DURATION_MS,
        start=draw(st.sampled_from(limits.starts)),
        price=draw(st.sampled_from((None, Price("aws", 0.02, "2025"), Price("own", 0.0081, "2026")))),
    )
    if base.start is Start.RUNNING:
        base = draw(with_running_clients(base))
        if not is_classic:
            base = dataclasses.replace(base, next_rebalance_ms=None)
    if limits.events:
        events = draw(st.lists(disturbances(base, limits), max_size=5))
        base = dataclasses.replace(base, disturbances=tuple(events))
    return base


@st.composite
def _brokers(draw: st.DrawFn, limits: WorldLimits) -> tuple[Broker, ...]:
    no_rack = draw(st.sampled_from((False,) * 5 + (True,))) if limits.hides_racks else False
    limit = draw(st.sampled_from((None, None, 300_000))) if limits.is_limited else None
    count = draw(st.integers(3, 6))
    return tuple(Broker(i, None if no_rack and i % 2 else RACKS[i % 3], limit) for i in range(count))


@st.composite
def _clients(draw: st.DrawFn, limits: WorldLimits, name: str, is_classic: bool) -> Client:
    bandwidths = (2_000, 500_000, 10_000_000) if limits.is_limited else (UNLIMITED,)
    speeds = (None, None, None, 120, 5_000) if limits.is_limited else (None,)
    reports = (OffsetReports.CURRENT, OffsetReports.CURRENT, OffsetReports.CURRENT, *OffsetReports)
    return client(
        name,
        draw(st.sampled_from((*RACKS, *RACKS, None) if limits.hides_racks else RACKS)),
        threads=draw(st.integers(1, 3)),
        restore_bytes_per_s=draw(st.sampled_from(bandwidths)),
        records_per_s=draw(st.sampled_from(speeds)),
        starts=draw(st.sampled_from((True, True, True, False))),
        announces_rack=draw(st.sampled_from((True, True, False))),
        is_static=is_classic and draw(st.sampled_from((False, False, True))),
        reports=draw(st.sampled_from(reports)),
    )


@st.composite
def _applications(draw: st.DrawFn, limits: WorldLimits, brokers: int) -> tuple[Application, dict[str, Topic]]:
    """Draw a chain: a subtopology may read the repartition topic of the one before, and writes output or the next."""
    topics: dict[str, Topic] = {}
    parts = []
    count = draw(st.integers(1, 3))
    for number in range(count):
        partitions = draw(st.integers(1, 5))
        is_fed = limits.has_chains and number > 0 and draw(st.booleans())
        sources = [f"in{number}"] if not is_fed or draw(st.booleans()) else []
        is_table = limits.has_state and bool(sources) and draw(st.sampled_from((False,) * 5 + (True,)))
        for name in sources:
            topics[name] = draw(_topics(limits, name, partitions, brokers, is_log=is_table))
        if is_fed:
            repartition_topic = f"repartition{number}"
            topics[repartition_topic] = draw(_topics(limits, repartition_topic, partitions, brokers))
            sources.append(repartition_topic)
            parts[-1] = dataclasses.replace(parts[-1], written_topics=(*parts[-1].written_topics, repartition_topic))
        stores = draw(st.sampled_from((0, 1, 1, 1, 2))) if limits.has_state else 0
        logs = [f"log{number}{store}" for store in range(stores)]
        for log in logs:
            topics[log] = draw(_topics(limits, log, partitions, brokers, is_log=True))
        results = [f"out{number}"] if draw(st.booleans()) else []
        for name in results:
            topics[name] = draw(_topics(limits, name, draw(st.integers(1, 3)), brokers))
        state_stores = tuple(Store(log, log, draw(st.sampled_from((True, True, False)))) for log in logs)
        if is_table:
            state_stores = (*state_stores, Store("table", f"in{number}"))
        parts.append(Subtopology(number, tuple(sources), state_stores, tuple(results)))
    groups = draw(_groups(limits))
    configs = draw(_configs(limits))
    return Application("app", tuple(parts), configs, groups), topics


@st.composite
def _configs(draw: st.DrawFn, limits: WorldLimits) -> AssignmentConfigs:
    configs = draw(assignment_configs())
    strategy = draw(st.sampled_from((RackAwareStrategy.NONE, *RackAwareStrategy)))
    return dataclasses.replace(configs, rack_aware_assignment_strategy=strategy)


@st.composite
def _groups(draw: st.DrawFn, limits: WorldLimits) -> GroupConfigs:
    configs = draw(group_configs())
    protocol = draw(st.sampled_from(limits.protocols))
    slow = draw(st.sampled_from((1.0, 1.0, 1.0, 1e-6)))
    return dataclasses.replace(configs, protocol=protocol, leader_speed=slow)


@st.composite
def _topics(
    draw: st.DrawFn, limits: WorldLimits, name: str, partitions: int, brokers: int, *, is_log: bool = False
) -> Topic:
    first, copies = draw(st.integers(0, brokers - 1)), draw(st.integers(1, 3))
    replicas = tuple(tuple((first + p + r) % brokers for r in range(copies)) for p in range(partitions))
    leader_position = draw(st.sampled_from((0, 0, 0, copies - 1)))
    leaders = tuple(row[leader_position] for row in replicas)
    rates = st.sampled_from(((0, 1_000, 20_000) if limits.grows else (0,)) if is_log else (0, 10_000, 100_000))
    sizes = st.sampled_from((0, 40, 1_000, 5_000_000, 60_000_000))
    usual = tuple(draw(rates) for _ in range(partitions))
    hourly: tuple[tuple[int, ...], ...] = ()
    if limits.has_hours and any(usual) and draw(st.sampled_from((False, False, True))):
        usual, hourly = _hourly_rates(usual, draw(st.sampled_from((1, 2, 6))))
    sizes_bytes = tuple(draw(sizes) if is_log else 0 for _ in range(partitions))
    return Topic(
        name,
        replicas,
        leaders,
        usual,
        sizes_bytes,
        draw(st.sampled_from((100, 1_000))),
        hourly,
        min_insync_replicas=draw(st.sampled_from((1, 1, 2))),
        unclean_leader_election=draw(st.booleans()),
    )


def _hourly_rates(usual: tuple[int, ...], peak: int) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Return hourly rates with a peak at noon and nothing at night, and their means."""
    factors = [0 if hour < 4 else peak if 10 <= hour < 14 else 1 for hour in range(24)]
    hourly = tuple(tuple(rate * factor for rate in usual) for factor in factors)
    means = tuple(max(1, round(rate * sum(factors) / 24)) if rate else 0 for rate in usual)
    return means, hourly


@st.composite
def disturbances(draw: st.DrawFn, base: World, limits: WorldLimits = ANY) -> Disturbance:
    """Draw an event that may happen to a world, even if it has no effect by then."""
    return draw(_EVENTS[draw(st.sampled_from(limits.events))](base))


def _names(base: World) -> st.SearchStrategy[tuple[str, ...]]:
    names = [client.name for client in base.clients]
    return st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True).map(tuple)


def _some_brokers(base: World) -> st.SearchStrategy[tuple[int, ...]]:
    ids = [broker.id for broker in base.cluster.brokers]
    return st.lists(st.sampled_from(ids), min_size=1, max_size=3, unique=True).map(tuple)


def _partitions(base: World) -> st.SearchStrategy[TopicPartition]:
    topics = sorted(base.cluster.topics.items())
    return st.sampled_from([TopicPartition(name, row) for name, topic in topics for row in range(topic.num_partitions)])


def _joins(base: World) -> st.SearchStrategy[Disturbance]:
    return st.builds(Join, moments, _names(base), pauses)


def _leaves(base: World) -> st.SearchStrategy[Disturbance]:
    return st.builds(Leave, moments, _names(base), pauses, closings)


def _crashes(base: World) -> st.SearchStrategy[Disturbance]:
    return st.builds(Crash, moments, _names(base), st.none() | spans, st.sampled_from(Disk))


def _bounces(base: World) -> st.SearchStrategy[Disturbance]:
    configs = st.none() | assignment_configs()
    announces = st.sampled_from((None, None, True, False))
    disks = st.sampled_from((Disk.KEPT, Disk.LOST))
    return st.builds(RollingBounce, moments, _names(base), spans, pauses, disks, configs, announces, closings)


def _pods(base: World) -> st.SearchStrategy[Disturbance]:
    return pod_events([client.name for client in base.clients])


def _outages(base: World) -> st.SearchStrategy[Disturbance]:
    return st.builds(RackOutage, moments, st.sampled_from(RACKS), st.none() | spans)


def _losses(base: World) -> st.SearchStrategy[Disturbance]:
    return st.builds(BrokerLoss, moments, _some_brokers(base), st.none() | spans)


def _broker_bounces(base: World) -> st.SearchStrategy[Disturbance]:
    return st.builds(BrokerBounce, moments, _some_brokers(base), spans, pauses)


@st.composite
def _moves(draw: st.DrawFn, base: World) -> Disturbance:
    topic, partition = draw(_partitions(base))
    return ReplicaMove(draw(moments), topic, partition, draw(_some_brokers(base)))


@st.composite
def _reassignments(draw: st.DrawFn, base: World) -> Disturbance:
    chosen = draw(st.lists(_partitions(base), min_size=1, max_size=3, unique=True))
    targets = tuple(ReassignmentTarget(partition, draw(_some_brokers(base))) for partition in chosen)
    throttle = draw(st.sampled_from((None, 300, 40_000, 2_000_000)))
    batch, election = draw(st.sampled_from((None, 1, 2))), draw(st.sampled_from(LeaderElection))
    return Reassignment(draw(moments), targets, throttle, batch, election)


def _config_changes(base: World) -> st.SearchStrategy[Disturbance]:
    return st.builds(ConfigChange, moments, assignment_configs())


def _traffic(base: World) -> st.SearchStrategy[Disturbance]:
    has_hours = any(topic.hourly_bytes_per_s for topic in base.cluster.topics.values())
    hours = st.none() | st.sampled_from((0, 3, 4, 9, 10, 13, 14, 23)) if has_hours else st.none()
    return st.builds(TrafficChange, moments, st.sampled_from((0.0, 0.5, 1.0, 3.0)), hours)


_EVENTS: dict[type[Disturbance], Callable[[World], st.SearchStrategy[Disturbance]]] = {
    Join: _joins,
    Leave: _leaves,
    Crash: _crashes,
    RollingBounce: _bounces,
    PodEvent: _pods,
    RackOutage: _outages,
    BrokerLoss: _losses,
    BrokerBounce: _broker_bounces,
    ReplicaMove: _moves,
    Reassignment: _reassignments,
    ConfigChange: _config_changes,
    TrafficChange: _traffic,
}


def with_one_thread(client: Client) -> Client:
    """Return a client with a single stream thread, which holds all tasks of the client."""
    held = client.tasks
    active, standby = (tuple(task for tasks in role for task in tasks) for role in (held.active, held.standby))
    tasks = dataclasses.replace(held, active=(active,) if active else (), standby=(standby,) if standby else ())
    return dataclasses.replace(client, threads=1, tasks=tasks)
