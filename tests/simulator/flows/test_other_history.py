"""The traffic of other producers and consumer groups over a run."""

from __future__ import annotations

import dataclasses

import pytest

from assignors.model.ids import TopicPartition
from assignors.tasks.high_availability import HighAvailability
from simulator.flows.traffic import TrafficKind
from simulator.processes.simulation import simulate
from simulator.world.changes import Disturbance
from simulator.world.disturbances import BrokerLoss, Reassignment, ReassignmentTarget, ReplicaMove, TrafficChange
from simulator.world.world import OtherTraffic, World
from tests.simulator.flows.test_other_rates import RATE, busy_world, group, history, pairs, producer
from tests.simulator.world_builders import HOUR, MINUTE

SECOND = 1_000

REPLICATION = TrafficKind.PRODUCE_REPLICATION


def disturbed(*events: Disturbance, other: OtherTraffic | None = None, replicas: int = 3) -> World:
    return dataclasses.replace(busy_world(other or OtherTraffic(), replicas=replicas), disturbances=events)


def total(built: World, kind: TrafficKind, from_ms: int, until_ms: int) -> float:
    return float(history(built).between(from_ms, until_ms)[kind].sum())


def test_bytes_are_rate_times_time() -> None:
    assert total(disturbed(), REPLICATION, 0, HOUR) == pytest.approx(12 * RATE * 3_600)
    assert total(disturbed(), REPLICATION, MINUTE, 2 * MINUTE) == pytest.approx(12 * RATE * 60)


def test_followers_out_of_sync_fetch_nothing_and_catch_up_when_their_broker_is_back() -> None:
    bounced = disturbed(BrokerLoss(10 * MINUTE, (5,), down_ms=5 * MINUTE))
    missed = 3 * RATE * 5 * 60  # Broker 5 has a replica of three of the six partitions; one of them it leads.
    assert total(bounced, REPLICATION, 10 * MINUTE, 15 * MINUTE) == pytest.approx(12 * RATE * 5 * 60 - missed)
    at_return = history(bounced).between(15 * MINUTE, 15 * MINUTE + SECOND)[REPLICATION]
    assert at_return.sum() == pytest.approx(missed + 12 * RATE)
    assert total(bounced, REPLICATION, 0, HOUR) == pytest.approx(12 * RATE * 3_600)
    assert history(bounced).flow_bytes(HOUR).sum() == pytest.approx(12 * RATE * 3_600)
    assert history(bounced).flow_bytes(15 * MINUTE).sum() == pytest.approx(12 * RATE * 900 - missed)


def test_missed_bytes_come_from_the_current_leader() -> None:
    # Partition 0 of clicks has replicas on brokers 0, 1 and 2; broker 0 leads.
    bounced = disturbed(BrokerLoss(10 * MINUTE, (2,), down_ms=5 * MINUTE))
    fetched = history(bounced).between(15 * MINUTE, 15 * MINUTE + SECOND)
    into_az3 = {pair[0]: amount for pair, amount in pairs(bounced, fetched, REPLICATION).items() if pair[1] == "az3"}
    # Broker 3 in az1 leads partition 2 since broker 2 stopped, and goes on to lead it until a check of the controller.
    assert into_az3["az1"] == pytest.approx(2 * RATE * 300, rel=0.02)
    assert into_az3["az2"] == pytest.approx(RATE * 300, rel=0.02)


def test_replica_that_moved_away_does_not_catch_up() -> None:
    lost = BrokerLoss(10 * MINUTE, (2,), down_ms=5 * MINUTE)
    moved = disturbed(lost, ReplicaMove(12 * MINUTE, "clicks", 0, (0, 1, 5)))
    kept = disturbed(lost)
    at_return = [
        history(built).between(15 * MINUTE, 15 * MINUTE + SECOND)[REPLICATION].sum() for built in (kept, moved)
    ]
    assert at_return[0] - at_return[1] == pytest.approx(300 * RATE, rel=0.01)
    assert total(moved, REPLICATION, 0, HOUR) == pytest.approx(12 * RATE * 3_600 - 120 * RATE)


def test_reassigned_replicas_are_replicated_when_they_are_in_sync() -> None:
    target = ReassignmentTarget(TopicPartition("clicks", 0), (0, 1, 2, 5))
    built = disturbed(Reassignment(10 * MINUTE, (target,)))
    assert total(built, REPLICATION, 20 * MINUTE, 21 * MINUTE) == pytest.approx(13 * RATE * 60)


def test_traffic_events_scale_everything() -> None:
    other = dataclasses.replace(producer(), groups=group().groups)
    built = disturbed(TrafficChange(10 * MINUTE, 3.0), other=other)
    for kind in (TrafficKind.PRODUCE, REPLICATION, TrafficKind.OTHER_READ):
        usual = total(built, kind, 0, MINUTE)
        assert usual > 0
        assert total(built, kind, 10 * MINUTE, 11 * MINUTE) == pytest.approx(3 * usual)


def test_measured_hours_have_their_rates() -> None:
    built = disturbed(TrafficChange(0, 1.0, hour=7), TrafficChange(HOUR, 1.0, hour=8), other=producer())
    clicks = built.cluster.topics["clicks"]
    hourly = tuple((hour * 10,) * 6 for hour in range(24))
    topics = {**built.cluster.topics, "clicks": dataclasses.replace(clicks, hourly_bytes_per_s=hourly)}
    built = dataclasses.replace(built, cluster=dataclasses.replace(built.cluster, topics=topics))
    assert total(built, TrafficKind.PRODUCE, 0, HOUR) == pytest.approx(6 * 70 * 3_600)
    assert total(built, TrafficKind.PRODUCE, HOUR, 2 * HOUR) == pytest.approx(6 * 80 * 3_600)


def test_first_round_has_what_was_sent_since_the_start() -> None:
    trace = simulate(disturbed(other=producer()), HighAvailability())
    assert trace.rounds[0].at_ms > 0
    sent = sum(float(round_.traffic[TrafficKind.PRODUCE].sum()) for round_ in trace.rounds)
    assert sent == pytest.approx(6 * RATE * trace.end_ms / 1000)
    assert trace.other_traffic is not None
    assert trace.other_traffic.matrices.sum() == pytest.approx(18 * RATE * trace.end_ms / 1000)


def test_rounds_have_the_steady_state_of_their_time() -> None:
    built = disturbed(BrokerLoss(6 * HOUR, (1, 4)), other=producer())
    trace = simulate(built, HighAvailability())
    at_end = pairs(built, trace.rounds[-1].steady_state, TrafficKind.PRODUCE)
    assert at_end == pytest.approx({("az1", "az1"): 2 * RATE, ("az1", "az3"): 4 * RATE})
