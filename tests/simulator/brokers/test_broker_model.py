"""Brokers, leaders and in-sync replicas on random schedules, second by second, compared with a slow model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.model.ids import TopicPartition
from simulator.brokers.coordinator import OFFSETS_TOPIC
from simulator.brokers.safe_restarts import UnsafeRestart, unsafe_restarts
from simulator.timeline import timeline
from simulator.world.changes import BrokersDown, BrokersUp, Disturbance, ReplicasSet, ReplicationStep
from simulator.world.disturbances import (
    BrokerBounce,
    BrokerLoss,
    LeaderElection,
    RackOutage,
    Reassignment,
    ReassignmentTarget,
    TrafficChange,
)
from simulator.world.world import Application, Broker, Cluster, Controller, Subtopology, Topic, World
from tests.counts import PROFILE
from tests.relations.relation import WORLDS
from tests.simulator.brokers.broker_model import BrokerModel
from tests.simulator.brokers.replica_states import partition_states
from tests.simulator.world_builders import RACKS, client, world

pytestmark = pytest.mark.answers

SECOND = 1_000
DURATION_S = 900
RATES = (0, 7_919, 104_729, 611_953)
"""Bytes per second that are produced: primes, so that nothing ends at a full second by chance."""
HOURS = 3
"""How many hours differ in the measured rates of a topic."""

HOUR_MS = 3_600 * SECOND
KINDS = ("bounce", "bounce", "loss", "outage", "reassignment", "traffic", "traffic")

seconds = st.integers(1, 600)
downs = st.sampled_from((1, 20, 90, 300))


@st.composite
def broker_worlds(draw: st.DrawFn, kinds: Sequence[str] = KINDS) -> World:
    """Draw a cluster with up to five brokers and nine partitions, and up to five events of some kinds that may overlap.

    Tasks write views; all other topics have producers for which followers may lag, at some hours or always.
    """
    count = draw(st.integers(1, 5))
    rates = st.sampled_from((300_007, 700_001, 2_000_003, 50_000_017))
    is_mixed, usual = draw(st.booleans()), draw(rates)
    brokers = tuple(
        Broker(i, RACKS[i % 3], replication_bytes_per_s=draw(rates) if is_mixed else usual) for i in range(count)
    )
    topics = {name: draw(_topics(name, count)) for name in ("clicks", "views", OFFSETS_TOPIC)}
    flags = draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    controller = Controller(draw(st.sampled_from((None, 60_000, 300_000))), *flags)
    lag_ms = draw(st.sampled_from((30_000, 7_001, 120_000)))
    cluster = Cluster(brokers, topics, controller=controller, replica_lag_time_max_ms=lag_ms)
    base = dataclasses.replace(
        world(),
        cluster=cluster,
        application=Application(
            "app", (Subtopology(0, ("clicks",), written_topics=("views",)),), acks_all=draw(st.booleans())
        ),
        clients=(client("c", None),),
        duration_ms=DURATION_S * SECOND,
        seed=draw(st.integers(0, 9)),
    )
    events = draw(st.lists(_events(count, topics, kinds), min_size=1, max_size=5))
    return dataclasses.replace(base, disturbances=tuple(events))


@st.composite
def _topics(draw: st.DrawFn, name: str, brokers: int) -> Topic:
    order = st.permutations(range(brokers))
    replicas = tuple(tuple(draw(order)[: draw(st.integers(1, 3))]) for _ in range(draw(st.integers(1, 3))))
    leaders = tuple(draw(st.sampled_from(row)) for row in replicas)
    rates, *hourly = (tuple(draw(st.sampled_from(RATES)) for _ in replicas) for _ in range(HOURS + 1))
    return Topic(
        name,
        replicas,
        leaders,
        rates,
        (0,) * len(replicas),
        hourly_bytes_per_s=draw(st.sampled_from(((), tuple(hourly) * (24 // HOURS)))),
        min_insync_replicas=draw(st.sampled_from((1, 2))),
        unclean_leader_election=draw(st.booleans()),
    )


@st.composite
def _events(draw: st.DrawFn, brokers: int, topics: dict[str, Topic], kinds: Sequence[str]) -> Disturbance:
    at_ms = draw(seconds) * SECOND
    some = tuple(draw(st.lists(st.integers(0, brokers - 1), unique=True, min_size=1, max_size=3)))
    down_ms = draw(downs) * SECOND
    kind = draw(st.sampled_from(kinds))
    if kind == "bounce":
        return BrokerBounce(at_ms, some, down_ms, draw(st.sampled_from((0, 1, 45))) * SECOND)
    if kind == "loss":
        return BrokerLoss(at_ms, some, draw(st.sampled_from((down_ms, down_ms, None))))
    if kind == "outage":
        return RackOutage(at_ms, RACKS[some[0] % 3], draw(st.sampled_from((down_ms, down_ms, None))))
    if kind == "traffic":
        return TrafficChange(
            at_ms, draw(st.sampled_from((0.0, 0.5, 1.0, 4.0))), draw(st.sampled_from((None, *range(HOURS))))
        )
    topic = topics[draw(st.sampled_from(sorted(topics)))]
    partition = draw(st.integers(0, topic.num_partitions - 1))
    target = ReassignmentTarget(TopicPartition(topic.name, partition), some)
    return Reassignment(at_ms, (target,), election=draw(st.sampled_from(LeaderElection)))


@settings(max_examples=WORLDS, derandomize=PROFILE not in ("certify", "nightly"), database=None, deadline=None)
@given(broker_worlds())
def test_brokers_leaders_and_in_sync_replicas_equal_a_slow_model(built: World) -> None:
    """Which brokers are up, and the leader and ISR of each partition, are those of a model that goes event by event."""
    model = BrokerModel(built)
    up = {broker.id for broker in built.cluster.brokers}
    now = {p.name: (p.replicas, p.leader, p.isr) for p in model.partitions}
    now = {name: (list(replicas), leader, set(isr)) for name, (replicas, leader, isr) in now.items()}
    changes = timeline(built)
    at_ms = SECOND // 2
    while at_ms < DURATION_S * SECOND:
        model.run(at_ms)
        while changes and changes[0].at_ms <= at_ms:
            change = changes.pop(0).change
            match change:
                case BrokersDown(brokers=brokers):
                    up -= set(brokers)
                case BrokersUp(brokers=brokers):
                    up |= set(brokers)
            if isinstance(change, BrokersDown | BrokersUp | ReplicasSet | ReplicationStep):
                for state in partition_states(built, change.states):
                    leader = None if state.leader < 0 else state.leader
                    now[state.partition] = list(state.replicas), leader, set(state.in_sync)
        assert up == model.up, at_ms
        for p in model.partitions:
            assert now[p.name] == (p.replicas, p.leader, p.isr), (at_ms, p.name)
        # Until the next change of either, every second is like this one.
        next_ms = min(changes[0].at_ms if changes else DURATION_S * SECOND, model.next_due_ms())
        at_ms = int(
            max(at_ms + SECOND, -(-(min(next_ms, DURATION_S * SECOND) - SECOND // 2) // SECOND) * SECOND + SECOND // 2)
        )


def is_safe(built: World, bounces: Sequence[BrokerBounce]) -> bool:
    """Return whether, in a slow model, brokers stop only while all others are up and in sync; the first may stop."""
    traffic = [event for event in built.disturbances if isinstance(event, TrafficChange)]
    model = BrokerModel(dataclasses.replace(built, disturbances=(*traffic, *bounces)))
    replicated = {broker for p in model.partitions if len(p.replicas) > 1 for broker in p.replicas}
    stops = sorted(model.stays, key=lambda stay: stay.from_ms)
    for at_ms, simultaneous in groupby(stops, key=lambda stay: stay.from_ms):
        model.run(at_ms - 1)
        down = set(model.rate) - model.up
        lags = any(p.leader is not None and p.following - p.isr for p in model.partitions)
        for stay in simultaneous:
            is_first = at_ms == stops[0].from_ms and not down
            if stay.broker not in down and not is_first and (lags or down & replicated):
                return False
            down.add(stay.broker)
    return True


@settings(max_examples=WORLDS, derandomize=PROFILE not in ("certify", "nightly"), database=None, deadline=None)
@given(broker_worlds(("bounce", "bounce", "traffic")))
def test_restarts_are_unsafe_if_a_slow_model_is_not_in_sync(built: World) -> None:
    """The times and pauses that make them safe do so in the model; a second less does not, if it is the only one."""
    bounces = [event for event in built.disturbances if isinstance(event, BrokerBounce)]
    traffic = sorted(
        (event for event in built.disturbances if isinstance(event, TrafficChange)), key=lambda event: event.at_ms
    )
    unsafe = unsafe_restarts(dataclasses.replace(built, disturbances=()), bounces, lambda: iter(traffic))
    assert bool(unsafe) != is_safe(built, bounces)
    if any(restart.safe_ms is None or restart.safe_ms > HOUR_MS for restart in unsafe):
        return
    safe = list(bounces)
    for restart in unsafe:
        key = "pause_ms" if restart.place else "at_ms"
        assert restart.safe_ms > getattr(bounces[restart.number], key)
        safe[restart.number] = dataclasses.replace(safe[restart.number], **{key: restart.safe_ms})
    assert is_safe(built, safe)
    if len(unsafe) == 1:
        safe[restart.number] = dataclasses.replace(safe[restart.number], **{key: restart.safe_ms - SECOND})
        assert not is_safe(built, safe)


def test_partitions_with_the_same_replicas_and_other_hours_are_in_sync_at_other_times() -> None:
    """While broker 0 is down, partition 2 takes no writes, but lacks what was written before; 1 lacks nothing."""
    rates, hourly = (0, 0, 0), ((0, 0, 0), (0, 0, 104_729), (0, 104_729, 0))
    topics = {
        "views": _topic("views", (0, 611_953, 0)),
        OFFSETS_TOPIC: dataclasses.replace(
            _topic(OFFSETS_TOPIC, rates), hourly_bytes_per_s=hourly * 8, min_insync_replicas=2
        ),
    }
    brokers = tuple(Broker(i, RACKS[i], replication_bytes_per_s=700_001) for i in range(2))
    cluster = Cluster(brokers, topics, controller=Controller(None, keeps_eligible_replicas=False))
    built = dataclasses.replace(world(), cluster=cluster, application=Application("app", ()))
    bounces = [BrokerBounce(2 * SECOND, (0,), 20 * SECOND, 0), BrokerBounce(2 * SECOND, (1,), SECOND, 0)]
    traffic = [TrafficChange(SECOND, 1.0, 1), TrafficChange(2 * SECOND, 0.5, 2)]
    assert unsafe_restarts(built, bounces, lambda: iter(traffic)) == [UnsafeRestart(1, 0, 0, 40 * SECOND)]
    [in_sync_ms] = [
        timed.at_ms
        for timed in timeline(dataclasses.replace(built, disturbances=(*traffic, bounces[0])))
        if "in sync" in str(timed.change) and timed.at_ms > 22 * SECOND
    ]
    assert 39 * SECOND < in_sync_ms < 40 * SECOND


def _topic(name: str, rates: tuple[int, int, int]) -> Topic:
    return Topic(name, ((0,), (0, 1), (0, 1)), (0, 1, 1), rates, (0, 0, 0), min_insync_replicas=1)
