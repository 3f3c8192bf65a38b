"""Strategies for random small worlds with random, overlapping disturbances."""

from __future__ import annotations

import dataclasses

from hypothesis import strategies as st

from assignors import registry
from assignors.model.assignment import TaskAssignor
from assignors.model.configs import AssignmentConfigs, RackAwareStrategy
from assignors.model.ids import TaskId, TopicPartition
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
    ReplaceThread,
    ReplicaMove,
    RollingBounce,
    StreamThreads,
    TrafficChange,
)
from simulator.world.group_configs import EndedThreads, GroupConfigs, GroupProtocol
from simulator.world.layout import lay_out
from simulator.world.pod_events import (
    Closing,
    DeploymentUpdate,
    NodeDrain,
    PodEvent,
    SpotInterruption,
    StatefulSetUpdate,
    Volume,
)
from simulator.world.world import (
    Application,
    Broker,
    Client,
    Cluster,
    HeldTasks,
    OffsetReports,
    Start,
    Store,
    Subtopology,
    Topic,
    World,
)
from tests.simulator.world_builders import MINUTE, RACKS, client

ASSIGNORS = ("high_availability", "legacy_sticky", "sticky_task_assignor", "streams_group_sticky")
NUM_BROKERS = 4
DURATION_MS = 40 * MINUTE

moments = st.one_of(
    st.integers(0, DURATION_MS - 1),
    st.integers(0, 20).map(lambda n: n * 1_000),
    st.integers(0, 39).map(lambda n: n * MINUTE),
)
spans = st.sampled_from((1, 500, 5_000, 20_000, MINUTE, 15 * MINUTE))
brokers = st.integers(0, NUM_BROKERS - 1)
closings = st.builds(
    Closing,
    leaves_group=st.sampled_from((None, True, False)),
    close_ms=st.sampled_from((0, 0, 1, 4_000, 50_000)),
    pre_stop_ms=st.sampled_from((0, 0, 5_000)),
    grace_ms=st.sampled_from((None, 0, 4_000, 30_000)),
)


def assignors() -> st.SearchStrategy[TaskAssignor]:
    """Draw an assignor that supports both protocols."""
    return st.sampled_from(ASSIGNORS).map(lambda name: registry.make(registry.find(name)))


@st.composite
def assignment_configs(draw: st.DrawFn) -> AssignmentConfigs:
    return AssignmentConfigs(
        acceptable_recovery_lag=draw(st.sampled_from((0, 100, 10_000))),
        max_warmup_replicas=draw(st.integers(1, 3)),
        num_standby_replicas=draw(st.integers(0, 2)),
        probing_rebalance_interval_ms=draw(st.sampled_from((MINUTE, 10 * MINUTE))),
        rack_aware_assignment_strategy=draw(st.sampled_from(RackAwareStrategy)),
    )


@st.composite
def group_configs(draw: st.DrawFn) -> GroupConfigs:
    return GroupConfigs(
        protocol=draw(st.sampled_from(GroupProtocol)),
        session_timeout_ms=draw(st.sampled_from((10_000, 45_000, 6 * MINUTE))),
        heartbeat_interval_ms=draw(st.sampled_from((500, 3_000))),
        max_poll_interval_ms=draw(st.sampled_from((5_000, 30_000, 5 * MINUTE))),
        initial_rebalance_delay_ms=draw(st.sampled_from((0, 3_000))),
        leave_group_on_close=draw(st.booleans()),
        state_cleanup_delay_ms=draw(st.sampled_from((0, 30_000, 10 * MINUTE))),
        rejoins_when_brokers_bounce=draw(st.booleans()),
        leader_speed=draw(st.sampled_from((1.0, 1e-6, 1e-7))),
        ended_threads=draw(st.sampled_from(EndedThreads)),
    )


@st.composite
def topics(draw: st.DrawFn, name: str, partitions: int, *, state: bool = False) -> Topic:
    rates = st.sampled_from((0, 1_000, 20_000) if state else (0, 10_000, 100_000))
    sizes = st.sampled_from((0, 1_000, 5_000_000, 60_000_000))
    first, factor = draw(brokers), draw(st.integers(1, 3))
    replicas = tuple(tuple((first + p + r) % NUM_BROKERS for r in range(factor)) for p in range(partitions))
    return Topic(
        name,
        replicas,
        tuple(row[0] for row in replicas),
        tuple(draw(rates) for _ in range(partitions)),
        tuple(draw(sizes) if state else 0 for _ in range(partitions)),
        draw(st.sampled_from((100, 1_000))),
        min_insync_replicas=draw(st.integers(1, 2)),
        unclean_leader_election=draw(st.booleans()),
    )


@st.composite
def applications(draw: st.DrawFn) -> tuple[Application, dict[str, Topic]]:
    named: dict[str, Topic] = {}
    subtopologies = []
    for number in range(draw(st.integers(1, 2))):
        partitions = draw(st.integers(1, 4))
        logs = [f"log{number}{store}" for store in range(draw(st.sampled_from((0, 1, 1, 1, 2))))]
        for name in (f"in{number}", *logs):
            named[name] = draw(topics(name, partitions, state=name in logs))
        stores = tuple(Store(log, log, draw(st.booleans())) for log in logs)
        written = draw(st.sampled_from(((), ("out",), ("in1",) if number == 0 else ("out",))))
        subtopologies.append(Subtopology(number, (f"in{number}",), stores, written))
    named["out"] = draw(topics("out", draw(st.integers(1, 2))))
    if "in1" not in named:
        named["in1"] = draw(topics("in1", 2))
    application = Application(
        "app", tuple(subtopologies), draw(assignment_configs()), draw(group_configs()), draw(st.booleans())
    )
    return application, named


@st.composite
def clients(draw: st.DrawFn, name: str) -> Client:
    return client(
        name,
        draw(st.sampled_from((*RACKS, None))),
        threads=draw(st.integers(1, 3)),
        restore_bytes_per_s=draw(st.sampled_from((2_000, 500_000, 10_000_000))),
        records_per_s=draw(st.sampled_from((None, None, 120, 5_000, 10_000_000))),
        starts=draw(st.sampled_from((True, True, True, False))),
        announces_rack=draw(st.booleans()),
        is_static=draw(st.booleans()),
        reports=draw(st.sampled_from((OffsetReports.CURRENT, OffsetReports.CURRENT, *OffsetReports))),
    )


@st.composite
def with_running_clients(draw: st.DrawFn, base: World) -> World:
    """Draw clients that already have some of the tasks of a with_running_clients application."""
    started = [row for row, client in enumerate(base.clients) if client.starts]
    roles: list[tuple[list[list[TaskId]], ...]] = [
        tuple([[] for _ in range(client.threads)] for _ in ("active", "standby")) for client in base.clients
    ]
    lags: list[dict[TaskId, int]] = [{} for _ in base.clients]
    opened: list[dict[TaskId, int]] = [{} for _ in base.clients]
    tasks = lay_out(base).tasks
    for task, stateful in zip(tasks.ids, tasks.stateful.tolist(), strict=True):
        owner = draw(st.sampled_from((*started, None)))
        for row in started:
            role = 0 if row == owner else draw(st.sampled_from((1, 2, None))) if stateful else None
            if role in (0, 1):
                roles[row][role][draw(st.integers(0, base.clients[row].threads - 1))].append(task)
            if stateful and (role == 2 or (role is not None and draw(st.booleans()))):
                lags[row][task] = draw(st.sampled_from((0, 1, 500, 10**9)))
            if stateful and role in (0, 1) and (read := draw(st.sampled_from((None, 0, 300)))) is not None:
                opened[row][task] = lags[row].get(task, 0) + read
    held_tasks = [
        HeldTasks(*(tuple(map(tuple, tasks_of)) for tasks_of in roles[row]), lags[row], opened[row])
        for row in range(len(base.clients))
    ]
    return dataclasses.replace(
        base,
        clients=tuple(
            dataclasses.replace(client, tasks=tasks_of)
            for client, tasks_of in zip(base.clients, held_tasks, strict=True)
        ),
        next_rebalance_ms=draw(st.sampled_from((None, 0, 500, MINUTE))),
    )


@st.composite
def reassignments(
    draw: st.DrawFn, base: World
) -> tuple[tuple[ReassignmentTarget, ...], int | None, int | None, LeaderElection]:
    """Draw up to three targets, a throttle, a batch size and an election."""
    topics_by_name = sorted(base.cluster.topics.items())
    partitions = [
        TopicPartition(name, number) for name, topic in topics_by_name for number in range(topic.num_partitions)
    ]
    chosen = draw(st.lists(st.sampled_from(partitions), min_size=1, max_size=3, unique=True))
    broker_lists = st.lists(brokers, min_size=1, max_size=3, unique=True).map(tuple)
    targets = tuple(ReassignmentTarget(partition, draw(broker_lists)) for partition in chosen)
    throttle = draw(st.sampled_from((None, 300, 40_000, 2_000_000)))
    return targets, throttle, draw(st.sampled_from((None, 1, 2))), draw(st.sampled_from(LeaderElection))


@st.composite
def pod_events(draw: st.DrawFn, names: list[str]) -> PodEvent:
    """Draw an event in which a platform stops some of the named clients."""
    order = draw(st.permutations(names))
    count = draw(st.integers(1, len(order)))
    others = order[count : 2 * count]
    spares = tuple(others) if len(others) == count and draw(st.booleans()) else ()
    common = {"at_ms": draw(moments), "clients": tuple(order[:count]), "closing": draw(closings)}
    pods = {"start_ms": draw(spans), "ready_ms": draw(spans)}
    volume = draw(st.sampled_from(Volume))
    missing = draw(st.integers(1, count))
    back_ms, replace_ms = draw(st.none() | spans), draw(st.none() | spans)
    candidates: tuple[PodEvent, ...] = (
        StatefulSetUpdate(**common, **pods, volume=volume),
        DeploymentUpdate(
            **common,
            **pods,
            successors=spares,
            max_surge=draw(st.integers(0, 2)) if spares else 0,
            max_unavailable=missing,
        ),
        NodeDrain(
            **common,
            **pods,
            volume=volume,
            max_unavailable=draw(st.sampled_from((None, missing))),
            nodes_back_ms=back_ms,
            drains_zone=draw(st.booleans()),
        ),
        SpotInterruption(
            **common,
            successors=spares,
            notice_ms=draw(spans),
            reacts=draw(st.booleans()),
            replace_ms=replace_ms,
        ),
    )
    return draw(st.sampled_from(candidates))


@st.composite
def disturbances(draw: st.DrawFn, base: World) -> Disturbance:
    """Draw a disturbance, even if it has no effect by then."""
    names = [client.name for client in base.clients]
    client_lists = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True).map(tuple)
    at_ms, every_ms = draw(moments), draw(st.sampled_from((0, 1_500, 40_000)))
    down_ms = draw(spans)
    maybe_down_ms = draw(st.sampled_from((None, down_ms)))
    disk = draw(st.sampled_from(Disk))
    topic = draw(st.sampled_from(sorted(base.cluster.topics)))
    broker_list = draw(st.lists(brokers, min_size=1, max_size=3, unique=True).map(tuple))
    partition = draw(st.integers(0, base.cluster.topics[topic].num_partitions - 1))
    configs = draw(st.none() | assignment_configs())
    announces = draw(st.sampled_from((None, True, False)))
    candidates: tuple[Disturbance, ...] = (
        Join(at_ms, draw(client_lists), every_ms),
        Leave(at_ms, draw(client_lists), every_ms, draw(closings)),
        Crash(at_ms, draw(client_lists), maybe_down_ms, disk),
        RollingBounce(
            at_ms,
            draw(client_lists),
            down_ms,
            every_ms,
            draw(st.sampled_from((Disk.KEPT, Disk.LOST))),
            configs,
            announces,
            draw(closings),
        ),
        draw(pod_events(names)),
        RackOutage(at_ms, draw(st.sampled_from(RACKS)), maybe_down_ms, disk=Disk.KEPT),
        BrokerLoss(at_ms, broker_list, maybe_down_ms),
        BrokerBounce(at_ms, broker_list, down_ms, every_ms),
        ReplicaMove(at_ms, topic, partition, broker_list),
        Reassignment(at_ms, *draw(reassignments(base))),
        ConfigChange(at_ms, configs or AssignmentConfigs(num_standby_replicas=1)),
        TrafficChange(at_ms, draw(st.sampled_from((0.0, 0.5, 3.0)))),
        ReplaceThread(at_ms, draw(client_lists)),
        StreamThreads(at_ms, draw(client_lists), draw(st.integers(1, 4))),
    )
    return draw(st.sampled_from(candidates))


@st.composite
def disturbed_worlds(draw: st.DrawFn) -> World:
    """Draw a world with a few clients and tasks, and up to six disturbances."""
    application, named = draw(applications())
    limits = st.sampled_from((None, None, 300_000))
    base = World(
        name="random",
        cluster=Cluster(
            tuple(Broker(i, RACKS[i % 3], draw(limits)) for i in range(NUM_BROKERS)), named, draw(st.booleans())
        ),
        application=application,
        clients=tuple(draw(clients(f"c{i}")) for i in range(draw(st.integers(1, 4)))),
        duration_ms=DURATION_MS,
        start=draw(st.sampled_from(Start)),
    )
    if base.start is Start.RUNNING:
        base = draw(with_running_clients(base))
    events = draw(st.lists(disturbances(base), max_size=6))
    return dataclasses.replace(base, disturbances=tuple(events))


@st.composite
def restarted_static_members(draw: st.DrawFn) -> World:
    """Draw a disturbed world with a streams group, whose static members return without their disks."""
    base = draw(disturbed_worlds())
    configs = dataclasses.replace(
        base.application.assignment_configs, num_standby_replicas=draw(st.sampled_from((1, 1, 2)))
    )
    group = dataclasses.replace(base.application.group_configs, protocol=GroupProtocol.STREAMS)
    names = [client.name for client in base.clients]
    bounces = st.builds(
        RollingBounce,
        moments,
        st.lists(st.sampled_from(names), min_size=1, unique=True).map(tuple),
        st.sampled_from((1, 500, 5_000, 20_000)),
        st.sampled_from((0, 1_500, 40_000)),
        st.just(Disk.LOST),
        closing=st.just(Closing(leaves_group=False)),
    )
    threads = st.builds(
        StreamThreads, moments, st.lists(st.sampled_from(names), min_size=1, unique=True).map(tuple), st.integers(1, 4)
    )
    events = draw(st.lists(bounces | bounces | threads, min_size=1, max_size=4))
    return dataclasses.replace(
        base,
        application=dataclasses.replace(base.application, assignment_configs=configs, group_configs=group),
        clients=tuple(dataclasses.replace(client, is_static=True) for client in base.clients),
        disturbances=(*base.disturbances, *events),
    )
