"""The rates of other producers and consumer groups, with the leaders and ISRs of one moment."""

from __future__ import annotations

import dataclasses

import pytest

from simulator.flows.other_history import OtherTrafficHistory
from simulator.flows.traffic import TrafficBytes, TrafficKind
from simulator.timeline import timeline
from simulator.world.disturbances import BrokerLoss
from simulator.world.layout import lay_out
from simulator.world.world import Cluster, OtherGroup, OtherProducer, OtherTraffic, RackShare, World
from tests.simulator.world_builders import MINUTE, topic, world

RATE = 1_000
EVEN = tuple(RackShare(rack, 1 / 3) for rack in ("az1", "az2", "az3"))
IN_AZ1 = (RackShare("az1", 1.0),)
Pairs = dict[tuple[str, str], float]


def busy_world(other: OtherTraffic, *, nearest: bool = False, replicas: int = 3) -> World:
    """Return a world whose topic clicks has 6 partitions of 1 kB/s each, led in turn in az1, az2 and az3."""
    base = world()
    topics = {
        name: dataclasses.replace(idle, bytes_per_s=(0,) * idle.num_partitions)
        for name, idle in base.cluster.topics.items()
    }
    topics["clicks"] = topic("clicks", 6, replicas, rate=RATE)
    return dataclasses.replace(base, cluster=Cluster(base.cluster.brokers, topics, nearest), other_traffic=other)


def history(built: World) -> OtherTrafficHistory:
    assert built.other_traffic is not None
    return OtherTrafficHistory(built, built.other_traffic, lay_out(built), timeline(built))


def rates(built: World, kind: TrafficKind, at_ms: int = 0) -> Pairs:
    """Return bytes per second by pair of racks."""
    return pairs(built, history(built).steady_state(at_ms), kind)


def pairs(built: World, traffic: TrafficBytes, kind: TrafficKind) -> Pairs:
    racks = (*lay_out(built).racks, "none")
    matrix = traffic[kind]
    return {
        (racks[a], racks[b]): float(matrix[a, b]) for a in range(len(racks)) for b in range(len(racks)) if matrix[a, b]
    }


def producer(**changes: object) -> OtherTraffic:
    return OtherTraffic((dataclasses.replace(OtherProducer("web", {"clicks": 1.0}, IN_AZ1), **changes),))  # type: ignore[arg-type]


def group(**changes: object) -> OtherTraffic:
    return OtherTraffic((), (dataclasses.replace(OtherGroup("search", ("clicks",), EVEN), **changes),))  # type: ignore[arg-type]


def test_producers_write_to_leaders_in_all_racks() -> None:
    expected = {("az1", rack): 2 * RATE for rack in ("az1", "az2", "az3")}
    assert rates(busy_world(producer()), TrafficKind.PRODUCE) == pytest.approx(expected)


def test_rack_aware_producers_write_to_leaders_in_their_rack() -> None:
    aware = busy_world(producer(is_rack_aware=True, racks=EVEN))
    assert rates(aware, TrafficKind.PRODUCE) == pytest.approx({(r, r): 2 * RATE for r in ("az1", "az2", "az3")})


def test_rack_aware_producers_in_one_rack_also_move_replication_there() -> None:
    copies = rates(busy_world(producer(is_rack_aware=True)), TrafficKind.PRODUCE_REPLICATION)
    assert copies == pytest.approx({("az1", "az2"): 6 * RATE, ("az1", "az3"): 6 * RATE})


def test_rack_aware_producers_without_a_leader_in_their_rack_write_everywhere() -> None:
    far = (RackShare("az4", 1.0),)
    expected = {("az4", rack): 2 * RATE for rack in ("az1", "az2", "az3")}
    assert rates(busy_world(producer(is_rack_aware=True, racks=far)), TrafficKind.PRODUCE) == pytest.approx(expected)


def test_share_of_a_rack_aware_producer_moves_only_its_own_bytes() -> None:
    shared = OtherTraffic(
        (
            OtherProducer("keyed", {"clicks": 0.5}, IN_AZ1),
            OtherProducer("unkeyed", {"clicks": 0.5}, IN_AZ1, is_rack_aware=True),
        )
    )
    copies = rates(busy_world(shared), TrafficKind.PRODUCE_REPLICATION)
    assert copies["az1", "az2"] == pytest.approx(RATE + 3 * RATE)
    assert copies["az2", "az1"] == pytest.approx(RATE)


def test_followers_fetch_from_leaders() -> None:
    copies = rates(busy_world(OtherTraffic()), TrafficKind.PRODUCE_REPLICATION)
    assert copies == pytest.approx(
        {(a, b): 2 * RATE for a in ("az1", "az2", "az3") for b in ("az1", "az2", "az3") if a != b}
    )


def test_topics_that_the_application_writes_are_not_replicated_twice() -> None:
    built = busy_world(OtherTraffic())
    log = topic("app-counts-changelog", 6, 3, rate=RATE)
    topics = {**built.cluster.topics, log.name: log}
    logged = dataclasses.replace(built, cluster=dataclasses.replace(built.cluster, topics=topics))
    assert rates(logged, TrafficKind.PRODUCE_REPLICATION) == rates(built, TrafficKind.PRODUCE_REPLICATION)


def test_groups_read_from_leaders_in_proportion_to_their_members() -> None:
    uneven = (RackShare("az1", 0.75), RackShare("az2", 0.25))
    read = rates(busy_world(group(racks=uneven)), TrafficKind.OTHER_READ)
    assert read == pytest.approx(
        {(leader, reader): 2 * RATE * share for leader in ("az1", "az2", "az3") for reader, share in uneven}
    )


def test_groups_read_from_the_nearest_replica_if_they_announce_their_racks() -> None:
    near = {(rack, rack): 2 * RATE for rack in ("az1", "az2", "az3")}
    assert rates(busy_world(group(), nearest=True), TrafficKind.OTHER_READ) == pytest.approx(near)
    hidden = busy_world(group(announces_rack=False), nearest=True)
    assert rates(hidden, TrafficKind.OTHER_READ) == rates(busy_world(group()), TrafficKind.OTHER_READ)


def test_groups_read_from_the_leader_without_a_replica_in_their_rack() -> None:
    read = rates(busy_world(group(racks=IN_AZ1), nearest=True, replicas=2), TrafficKind.OTHER_READ)
    assert read == pytest.approx({("az1", "az1"): 4 * RATE, ("az2", "az1"): 2 * RATE})


def test_groups_may_read_more_or_less_than_is_produced() -> None:
    usual, twice = (rates(busy_world(group(read_share=share)), TrafficKind.OTHER_READ) for share in (1.0, 2.0))
    assert twice == pytest.approx({pair: 2 * amount for pair, amount in usual.items()})


def test_recompressed_topics_receive_what_producers_send() -> None:
    ratios = {"zstd": 4.0, "gzip": 2.0}
    other = producer(codec="gzip")
    stored_as_sent = busy_world(other)
    recompressed = dataclasses.replace(other, topic_codecs={"clicks": "zstd"}, compression_ratios=ratios)
    sent, usual = (rates(built, TrafficKind.PRODUCE) for built in (busy_world(recompressed), stored_as_sent))
    assert sent == pytest.approx({pair: 2 * amount for pair, amount in usual.items()})


def test_leaders_that_take_over_receive_and_send() -> None:
    lost = dataclasses.replace(busy_world(producer()), disturbances=(BrokerLoss(MINUTE, (1, 4)),))
    assert rates(lost, TrafficKind.PRODUCE, 2 * MINUTE) == pytest.approx(
        {("az1", "az1"): 2 * RATE, ("az1", "az3"): 4 * RATE}
    )


def test_partitions_without_a_leader_are_neither_written_nor_read() -> None:
    single = busy_world(dataclasses.replace(producer(), groups=group().groups), replicas=1)
    lost = dataclasses.replace(single, disturbances=(BrokerLoss(MINUTE, (1, 4)),))
    for kind in (TrafficKind.PRODUCE, TrafficKind.OTHER_READ):
        assert sum(rates(lost, kind, 2 * MINUTE).values()) == pytest.approx(4 * RATE)


def test_partitions_with_too_few_in_sync_replicas_are_not_written() -> None:
    built = busy_world(dataclasses.replace(producer(), groups=group().groups), replicas=2)
    strict = dataclasses.replace(built.cluster.topics["clicks"], min_insync_replicas=2)
    topics = {**built.cluster.topics, "clicks": strict}
    lost = dataclasses.replace(
        built,
        cluster=dataclasses.replace(built.cluster, topics=topics),
        disturbances=(BrokerLoss(MINUTE, (1,)),),
    )
    for kind in (TrafficKind.PRODUCE, TrafficKind.OTHER_READ):
        assert sum(rates(lost, kind, 2 * MINUTE).values()) == pytest.approx(4 * RATE)
