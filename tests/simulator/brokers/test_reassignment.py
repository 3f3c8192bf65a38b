"""Reassignments take as long as the throttles make them, and go the way that Kafka's controller has them go."""

from __future__ import annotations

import dataclasses

import pytest

from assignors.model.ids import TopicPartition
from simulator.brokers.reassignment import CHECK_INTERVAL_MS
from simulator.timeline import replicas_at, timeline
from simulator.world.changes import PartitionState, RackTransfer, ReassignmentStep
from simulator.world.disturbances import (
    BrokerLoss,
    Disturbance,
    LeaderElection,
    Reassignment,
    ReassignmentTarget,
    ReplicaMove,
    TrafficChange,
)
from simulator.world.world import Broker, Topic, World
from tests.simulator.world_builders import HOUR, RACKS, world

MB = 1_000_000
P0, P1 = TopicPartition("views", 0), TopicPartition("views", 1)
AT_END, AUTO, NEVER = LeaderElection
SECOND = 1_000


def cluster(*disturbances: Disturbance, rate: int = 0, size: int = 600 * MB, hourly: bool = False) -> World:
    """Partitions 0 and 1 of views stand on brokers 0 and 1, and 3 and 4; broker i stands in rack i mod 3."""
    replicas = ((0, 1), (3, 4))
    by_hour = tuple((rate * (hour == 1),) * 2 for hour in range(24)) if hourly else ()
    views = Topic("views", replicas, (0, 3), (rate,) * 2, (size,) * 2, hourly_bytes_per_s=by_hour)
    base = world()
    brokers = tuple(Broker(i, RACKS[i % 3]) for i in range(6))
    changed = dataclasses.replace(base.cluster, brokers=brokers, topics={**base.cluster.topics, "views": views})
    return dataclasses.replace(base, cluster=changed, disturbances=disturbances)


def targets(**brokers: tuple[int, ...]) -> tuple[ReassignmentTarget, ...]:
    return tuple(
        ReassignmentTarget(TopicPartition("views", int(name[1:])), replicas) for name, replicas in brokers.items()
    )


def steps(built: World) -> list[tuple[int, ReassignmentStep]]:
    """The steps and when they come, in seconds after the first hour."""
    found = [(timed.at_ms, timed.change) for timed in timeline(built)]
    return [((at_ms - HOUR) // 1000, change) for at_ms, change in found if isinstance(change, ReassignmentStep)]


def told(built: World) -> list[tuple[int, str]]:
    return [(at_s, str(step)) for at_s, step in steps(built) if str(step)]


def standings(built: World) -> list[tuple[int, tuple[PartitionState, ...]]]:
    return [(at_s, step.partitions) for at_s, step in steps(built) if step.partitions]


def test_a_partition_has_old_and_new_replicas_until_the_new_one_is_in_sync() -> None:
    built = cluster(Reassignment(HOUR, targets(p0=(2, 0)), 10 * MB, election=NEVER))
    assert standings(built) == [
        (0, (PartitionState(P0, (2, 0, 1), 0, (2,), (0, 1)),)),
        (60, (PartitionState(P0, (2, 0), 0, (), (2, 0)),)),
    ]
    assert [text for _, text in told(built)] == [
        "reassignment of 1 partition begins",
        "views-0 has its new replicas; reassignment is done",
    ]


def test_what_is_copied_goes_from_the_rack_of_the_leader_to_that_of_the_new_replica() -> None:
    (_, first), (_, last) = steps(cluster(Reassignment(HOUR, targets(p0=(2, 0)), 10 * MB, election=NEVER)))
    assert first.copying == (RackTransfer("az1", "az3", 10 * MB),)
    assert last.copying == ()


def test_a_leader_that_goes_makes_way_for_the_first_of_the_target() -> None:
    built = cluster(Reassignment(HOUR, targets(p0=(2, 5)), 10 * MB, election=NEVER))
    assert standings(built)[-1] == (120, (PartitionState(P0, (2, 5), 2, (), (2, 5)),)), "0 sends to both, in turn"


def test_a_change_of_the_order_alone_copies_nothing_and_is_done_at_once() -> None:
    built = cluster(Reassignment(HOUR, targets(p0=(1, 0)), 10 * MB, election=NEVER))
    assert standings(built) == [(0, (PartitionState(P0, (1, 0), 0, (), (1, 0)),))]
    assert all(not step.copying for _, step in steps(built))


@pytest.mark.parametrize(("election", "led_at"), [(AT_END, 60), (AUTO, 300), (NEVER, None)])
def test_the_first_replica_comes_to_lead_when_it_is_elected(election: LeaderElection, led_at: int | None) -> None:
    built = cluster(Reassignment(HOUR, targets(p0=(2, 0)), 10 * MB, election=election))
    led = [at_s for at_s, partitions in standings(built) if partitions[0].leader == 2]
    assert led == ([] if led_at is None else [led_at])
    assert CHECK_INTERVAL_MS == 300 * SECOND


def test_the_controller_lets_a_first_replica_lead_that_was_there_before_all_is_copied() -> None:
    built = cluster(Reassignment(HOUR, targets(p0=(1, 2)), 1 * MB, election=AUTO))
    assert standings(built)[1] == (300, (PartitionState(P0, (1, 2, 0), 1, (2,), (1, 0)),))


def test_brokers_share_what_they_may_send_and_what_they_may_receive() -> None:
    two_senders = cluster(Reassignment(HOUR, targets(p0=(0, 2), p1=(3, 2)), 10 * MB, election=NEVER))
    assert standings(two_senders)[-1][0] == 120, "broker 2 receives both"
    apart = cluster(Reassignment(HOUR, targets(p0=(0, 2), p1=(3, 5)), 10 * MB, election=NEVER))
    assert standings(apart)[-1][0] == 60


def test_batches_come_one_after_the_other() -> None:
    built = cluster(Reassignment(HOUR, targets(p0=(0, 2), p1=(3, 5)), 10 * MB, batch=1, election=NEVER))
    assert [at_s for at_s, _ in standings(built)] == [0, 60, 120]
    assert [len(partitions) for _, partitions in standings(built)] == [1, 2, 1], "one ends as the next begins"


def test_without_a_throttle_copies_take_no_time_and_their_bytes_count() -> None:
    [(at_s, step)] = steps(cluster(Reassignment(HOUR, targets(p0=(2, 0)), election=NEVER)))
    assert (at_s, step.copied, step.copying) == (0, (RackTransfer("az1", "az3", 600 * MB),), ())
    assert step.partitions == (PartitionState(P0, (2, 0), 0, (), (2, 0)),)


def test_a_copy_takes_what_was_produced_before_and_meanwhile_as_well() -> None:
    built = cluster(Reassignment(HOUR, targets(p0=(0, 1, 2)), 10 * MB, election=NEVER), rate=MB)
    held = 600 * MB + 3600 * MB
    # Broker 1 follows in sync; what it fetches counts against what the leader may send.
    assert standings(built)[-1][0] == held // (10 * MB - MB - MB)


def test_a_partition_that_grows_as_fast_as_its_throttle_is_never_done() -> None:
    built = cluster(Reassignment(HOUR, targets(p0=(0, 2)), 2 * MB, election=NEVER), rate=MB)
    assert [text for _, text in told(built)] == ["reassignment of 1 partition begins"]
    at_end = replicas_at(built, built.duration_ms)
    assert at_end.falling_behind() == [P0]
    assert [left for _, left in at_end.unfinished()] == [1]


def test_traffic_that_goes_down_lets_copies_catch_up() -> None:
    less = TrafficChange(HOUR + 60 * SECOND, 0.0)
    built = cluster(Reassignment(HOUR, targets(p0=(0, 2)), 2 * MB, election=NEVER), less, rate=MB)
    produced = 3660 * MB
    assert standings(built)[-1][0] == 60 + (600 * MB + produced - 60 * MB) // (2 * MB)


def test_rates_of_an_hour_of_the_day_are_those_that_were_measured() -> None:
    quiet, loud = TrafficChange(0, 1.0, hour=0), TrafficChange(HOUR, 1.0, hour=1)
    built = cluster(
        quiet, loud, Reassignment(HOUR, targets(p0=(0, 1, 2)), 10 * MB, election=NEVER), rate=MB, hourly=True
    )
    assert standings(built)[-1][0] == 600 // 8


def test_a_copy_waits_for_its_broker_and_goes_on_where_it_was() -> None:
    lost = BrokerLoss(HOUR + 30 * SECOND, (2,), 60 * SECOND)
    built = cluster(Reassignment(HOUR, targets(p0=(0, 2)), 10 * MB, election=NEVER), lost)
    assert standings(built)[-1][0] == 120


def test_another_replica_leads_and_sends_while_the_leader_is_gone() -> None:
    lost = BrokerLoss(HOUR + 30 * SECOND, (0,), None)
    built = cluster(Reassignment(HOUR, targets(p0=(0, 2)), 10 * MB, election=NEVER), lost)
    (_, first), (at_s, then), *_ = steps(built)
    assert (at_s, first.copying, then.copying) == (
        30,
        (RackTransfer("az1", "az3", 10 * MB),),
        (RackTransfer("az2", "az3", 10 * MB),),
    )
    assert standings(built)[-1][1] == (PartitionState(P0, (0, 2, 1), 1, (), (2, 1)),), (
        "0 is of the target, and not there"
    )


def test_another_target_takes_the_place_of_the_one_before() -> None:
    first = Reassignment(HOUR, targets(p0=(0, 2)), 10 * MB, election=NEVER)
    second = Reassignment(HOUR + 30 * SECOND, targets(p0=(0, 2, 5)), election=NEVER)
    built = cluster(first, second)
    assert standings(built)[-1] == (120, (PartitionState(P0, (0, 2, 5), 0, (), (0, 2, 5)),)), "2 has half of it already"
    assert [text for _, text in told(built)][1] == "reassignment of 1 partition begins; reassignment is done"


def test_a_move_at_once_ends_what_goes_on_with_a_partition() -> None:
    built = cluster(
        Reassignment(HOUR, targets(p0=(0, 2)), 10 * MB), ReplicaMove(HOUR + 30 * SECOND, "views", 0, (5, 4))
    )
    assert replicas_at(built, 2 * HOUR).unfinished() == []
    assert replicas_at(built, 2 * HOUR).replicas.find(P0).replicas == (5, 4)


def test_a_world_can_be_looked_at_in_the_midst_of_a_reassignment() -> None:
    built = cluster(Reassignment(HOUR, targets(p0=(0, 2)), 10 * MB), BrokerLoss(HOUR, (1,)), rate=MB // 10)
    then = replicas_at(built, HOUR + 30 * SECOND)
    assert then.replicas.find(P0).target == (0, 2)
    assert then.replicas.alive.tolist() == [True, False, True, True, True, True]
    assert then.held_bytes(P1) == 600 * MB + 3630 * MB // 10
