"""Relations of the traffic of other producers and consumer groups."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.tasks.high_availability import HighAvailability
from simulator.flows.traffic import TrafficKind
from simulator.processes.simulation import simulate
from simulator.results.tabulation import tabulate
from simulator.results.trace import Trace
from simulator.world.disturbances import BrokerBounce, BrokerLoss, RackOutage, Reassignment, ReplicaMove, TrafficChange
from simulator.world.layout import FloatArray
from simulator.world.world import Broker, OtherGroup, OtherProducer, OtherTraffic, RackShare, World
from tests.relations.relation import relation
from tests.relations.worlds import BROKER_EVENTS, OTHER_EVENTS, WorldLimits, worlds
from tests.simulator.world_builders import RACKS

pytestmark = pytest.mark.answers

KINDS = (TrafficKind.PRODUCE, TrafficKind.PRODUCE_REPLICATION, TrafficKind.OTHER_READ)
LIMITS = WorldLimits(events=(*BROKER_EVENTS, *OTHER_EVENTS))
CALM = WorldLimits(events=())
BROKERS_STOP = (BrokerLoss, BrokerBounce, RackOutage)


@st.composite
def places(draw: st.DrawFn) -> tuple[RackShare, ...]:
    """Draw the racks of a producer or group; one of them may have no broker."""
    racks = draw(st.lists(st.sampled_from((*RACKS, "az4")), min_size=1, max_size=4, unique=True))
    weights = [draw(st.integers(1, 5)) for _ in racks]
    return tuple(RackShare(rack, weight / sum(weights)) for rack, weight in zip(racks, weights, strict=True))


@st.composite
def busy_worlds(draw: st.DrawFn, limits: WorldLimits = LIMITS) -> World:
    """Draw a world with producers and groups of all its topics."""
    base = draw(worlds(limits))
    own = {topic for part in base.application.subtopologies for topic in part.written_topics}
    logs = {store.changelog for part in base.application.subtopologies for store in part.stores}
    free = [name for name in base.cluster.topics if name not in own and name not in logs]
    shares = st.sampled_from((0.25, 0.5))
    producers = tuple(
        OtherProducer(f"p{i}", dict.fromkeys(free, draw(shares)), draw(places()), draw(st.booleans()))
        for i in range(draw(st.integers(0, 2)) if free else 0)
    )
    listed = st.lists(st.sampled_from(sorted(base.cluster.topics)), min_size=1, max_size=3, unique=True).map(tuple)
    groups = tuple(
        OtherGroup(f"g{i}", draw(listed), draw(places()), draw(st.booleans()), draw(st.sampled_from((0.5, 1.0, 3.0))))
        for i in range(draw(st.integers(0, 2)))
    )
    return dataclasses.replace(base, other_traffic=OtherTraffic(producers, groups))


def close_to(expected: Any) -> Any:
    """Compare bytes: numbers or matrices."""
    return pytest.approx(expected, rel=1e-9, abs=1e-3)


def traced(world: World) -> Trace:
    return simulate(world, HighAvailability())


def other_of(world: World) -> OtherTraffic:
    assert world.other_traffic is not None
    return world.other_traffic


def flow_bytes(trace: Trace, kind: TrafficKind | None = None) -> FloatArray:
    """Return the bytes of the other traffic by pair of racks, from the flows."""
    other = trace.other_traffic
    assert other is not None
    chosen = [matrix for flow, matrix in zip(other.flows, other.matrices, strict=True) if kind in (None, flow.kind)]
    return np.sum(chosen, axis=0) if chosen else np.zeros(other.matrices.shape[1:])


def crossing(matrix: FloatArray) -> float:
    known = matrix[:-1, :-1]
    return float(known.sum() - np.trace(known))


def intervals(trace: Trace) -> Iterator[tuple[float, float, int | None]]:
    """Yield seconds, factor and hour of each time with constant traffic."""
    events = [event for event in trace.world.disturbances if isinstance(event, TrafficChange)]
    changes = [(event.at_ms, event.factor, event.hour) for event in sorted(events, key=lambda event: event.at_ms)]
    changes = [(0, 1.0, None), *changes]
    ends = [*(change[0] for change in changes[1:]), trace.end_ms]
    for (at_ms, factor, hour), end_ms in zip(changes, ends, strict=True):
        yield max(0, min(end_ms, trace.end_ms) - at_ms) / 1000, factor, hour


@relation(25)
@given(world=busy_worlds())
def test_traffic_of_flows_is_that_of_rounds_and_tables(world: World) -> None:
    """The other traffic by producer, group and topic adds up to that by kind and pair of racks."""
    trace = traced(world)
    tables = tabulate(trace, "ha", 1)
    rows = tables["other_traffic"].to_pylist()
    for kind in KINDS:
        by_flow = flow_bytes(trace, kind)
        assert math.fsum(row["bytes"] for row in rows if row["kind"] == kind) == close_to(by_flow.sum())
        if trace.rounds:
            in_rounds = np.sum([round_.traffic[kind] for round_ in trace.rounds], axis=0)
            assert in_rounds == close_to(by_flow)


@relation(25)
@given(world=busy_worlds(WorldLimits(events=(TrafficChange,))))
def test_other_traffic_is_what_the_rates_say(world: World) -> None:
    """Without events of brokers, producers send, groups read and followers fetch what the topics' rates say."""
    trace, other, topics = traced(world), other_of(world), world.cluster.topics
    stored = {
        name: sum(
            seconds
            * factor
            * sum(topic.bytes_per_s if hour is None or not topic.hourly_bytes_per_s else topic.hourly_bytes_per_s[hour])
            for seconds, factor, hour in intervals(trace)
        )
        for name, topic in topics.items()
    }
    if any(topic.min_insync_replicas > len(topic.replicas[0]) for topic in topics.values()):
        return  # Writes with acks=all fail.
    produced = sum(share * stored[name] for user in other.producers for name, share in user.share_of.items())
    read = sum(user.read_share * stored[name] for user in other.groups for name in user.topics)
    assert flow_bytes(trace, TrafficKind.PRODUCE).sum() == close_to(produced)
    assert flow_bytes(trace, TrafficKind.OTHER_READ).sum() == close_to(read)
    own = {topic for part in world.application.subtopologies for topic in part.written_topics}
    sources = {topic for part in world.application.subtopologies for topic in part.source_topics}
    logs = {store.changelog for part in world.application.subtopologies for store in part.stores} - sources
    copied = sum(
        (len(topic.replicas[0]) - 1) * stored[name] for name, topic in topics.items() if name not in own | logs
    )
    assert flow_bytes(trace, TrafficKind.PRODUCE_REPLICATION).sum() == close_to(copied)


@relation(25)
@given(world=busy_worlds(WorldLimits(events=(*BROKERS_STOP, Reassignment, ReplicaMove), hides_racks=False)))
def test_follower_fetching_never_makes_other_groups_read_more_across_racks(world: World) -> None:
    """Serving the nearest replica never increases what other groups read across racks."""
    leaders_only = dataclasses.replace(
        world, cluster=dataclasses.replace(world.cluster, reads_from_nearest_replica=False)
    )
    nearest = dataclasses.replace(world, cluster=dataclasses.replace(world.cluster, reads_from_nearest_replica=True))
    before, after = (flow_bytes(traced(built), TrafficKind.OTHER_READ) for built in (leaders_only, nearest))
    assert after.sum() == close_to(before.sum())
    assert crossing(after) <= crossing(before) * (1 + 1e-9) + 1e-3


@relation(15)
@given(world=busy_worlds())
def test_nothing_crosses_racks_in_a_single_rack(world: World) -> None:
    """If all brokers, producers and groups are in one rack, no other traffic crosses racks."""
    other = other_of(world)
    here = (RackShare("az1", 1.0),)
    cluster = dataclasses.replace(
        world.cluster, brokers=tuple(Broker(broker.id, "az1") for broker in world.cluster.brokers)
    )
    outages = tuple(event for event in world.disturbances if not isinstance(event, RackOutage))
    single = dataclasses.replace(
        world,
        cluster=cluster,
        disturbances=outages,
        other_traffic=OtherTraffic(
            tuple(dataclasses.replace(user, racks=here) for user in other.producers),
            tuple(dataclasses.replace(user, racks=here) for user in other.groups),
        ),
    )
    assert crossing(flow_bytes(traced(single))) == 0


@relation(20)
@given(world=busy_worlds())
def test_twice_the_rates_are_twice_the_other_traffic(world: World) -> None:
    """Twice the rates of all topics are twice the other traffic; reassignments that copy do not change with it."""
    calm = tuple(event for event in world.disturbances if not isinstance(event, Reassignment))
    world = dataclasses.replace(world, disturbances=calm)
    topics = {
        name: dataclasses.replace(
            topic,
            bytes_per_s=tuple(2 * rate for rate in topic.bytes_per_s),
            hourly_bytes_per_s=tuple(tuple(2 * rate for rate in hour) for hour in topic.hourly_bytes_per_s),
        )
        for name, topic in world.cluster.topics.items()
    }
    # Else replicas would be in sync later, and lead later.
    brokers = tuple(
        dataclasses.replace(broker, replication_bytes_per_s=2 * broker.replication_bytes_per_s)
        for broker in world.cluster.brokers
    )
    doubled = dataclasses.replace(world, cluster=dataclasses.replace(world.cluster, topics=topics, brokers=brokers))
    assert flow_bytes(traced(doubled)) == close_to(2 * flow_bytes(traced(world)))


@relation(15)
@given(world=busy_worlds(CALM))
def test_one_replica_is_not_replicated(world: World) -> None:
    """With a replication factor of 1, nothing is replicated."""
    topics = {
        name: dataclasses.replace(topic, replicas=tuple((leader,) for leader in topic.leaders))
        for name, topic in world.cluster.topics.items()
    }
    single = dataclasses.replace(world, cluster=dataclasses.replace(world.cluster, topics=topics))
    assert flow_bytes(traced(single), TrafficKind.PRODUCE_REPLICATION).sum() == 0


@relation(15)
@given(world=busy_worlds())
def test_other_traffic_does_not_depend_on_the_application_or_its_assignor(world: World) -> None:
    """The other traffic is the same without any client of the application."""
    alone = dataclasses.replace(
        world, clients=tuple(dataclasses.replace(client, starts=False) for client in world.clients)
    )
    first, second = traced(world), traced(alone)
    if first.end_ms == second.end_ms:
        assert flow_bytes(first) == pytest.approx(flow_bytes(second), rel=1e-12, abs=1e-6)


@relation(20)
@given(world=busy_worlds(), cut=st.floats(0.05, 0.95))
def test_without_other_traffic_the_application_is_the_same(world: World, cut: float) -> None:
    """Other traffic changes no figure of the application's own traffic."""
    plain = dataclasses.replace(world, other_traffic=None)
    for ours, other in zip(traced(plain).rounds, traced(world).rounds, strict=True):
        racks = len(ours.traffic[TrafficKind.SOURCE_READ]) - 1
        for kind, matrix in ours.traffic.items():
            if kind not in KINDS:
                assert math.isclose(matrix.sum(), other.traffic[kind].sum(), rel_tol=1e-12, abs_tol=1e-6), (kind, racks)


@relation(20)
@given(world=busy_worlds(CALM))
def test_followers_fetch_what_they_missed_when_their_brokers_return(world: World) -> None:
    """When a stopped broker is back, its followers fetch what they missed, in the end as much as without the stop."""
    first = world.cluster.brokers[0].id
    topics = {name: dataclasses.replace(topic, min_insync_replicas=1) for name, topic in world.cluster.topics.items()}
    usual = dataclasses.replace(world, cluster=dataclasses.replace(world.cluster, topics=topics))
    bounced = dataclasses.replace(usual, disturbances=(BrokerBounce(world.duration_ms // 3, (first,), 90_000, 0),))
    if any((first,) in topic.replicas for topic in topics.values()):
        return  # Nothing is produced to a partition without a leader.
    before, after = (flow_bytes(traced(built), TrafficKind.PRODUCE_REPLICATION) for built in (usual, bounced))
    assert after.sum() == close_to(before.sum())
