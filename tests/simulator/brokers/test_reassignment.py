"""Reassignments are limited by throttles and follow the steps of Kafka's controller."""

from __future__ import annotations

import dataclasses

import pytest

from assignors.model.ids import TopicPartition
from simulator.brokers.replication_control import PartitionState
from simulator.timeline import replicas_at, timeline
from simulator.world.changes import Disturbance, RackTransfer, ReplicationStep
from simulator.world.disturbances import (
    BrokerLoss,
    LeaderElection,
    Reassignment,
    ReassignmentTarget,
    ReplicaMove,
    TrafficChange,
)
from simulator.world.world import Broker, Controller, Topic, World
from tests.simulator.brokers.replica_states import partition_states as partition_states_of
from tests.simulator.world_builders import HOUR, RACKS, world

MB = 1_000_000
P0, P1 = TopicPartition("views", 0), TopicPartition("views", 1)
AT_END, AUTO, NEVER = LeaderElection
SECOND = 1_000


def world_with_views(*disturbances: Disturbance, rate: int = 0, size: int = 600 * MB, hourly: bool = False) -> World:
    """Return a world with views-0 on brokers 0 and 1, and views-1 on 3 and 4; broker i is in rack i mod 3."""
    replicas = ((0, 1), (3, 4))
    by_hour = tuple((rate * (hour == 1),) * 2 for hour in range(24)) if hourly else ()
    views = Topic("views", replicas, (0, 3), (rate,) * 2, (size,) * 2, hourly_bytes_per_s=by_hour)
    base = world()
    brokers = tuple(Broker(i, RACKS[i % 3]) for i in range(6))
    cluster = dataclasses.replace(base.cluster, brokers=brokers, topics={**base.cluster.topics, "views": views})
    return dataclasses.replace(base, cluster=cluster, disturbances=disturbances)


def targets(**brokers: tuple[int, ...]) -> tuple[ReassignmentTarget, ...]:
    return tuple(
        ReassignmentTarget(TopicPartition("views", int(name[1:])), replicas) for name, replicas in brokers.items()
    )


def steps(built: World) -> list[tuple[int, ReplicationStep]]:
    """Return the reassignment steps with their times in seconds after the first hour."""
    changes = [(timed.at_ms, timed.change) for timed in timeline(built)]
    return [((at_ms - HOUR) // 1000, change) for at_ms, change in changes if isinstance(change, ReplicationStep)]


def descriptions(built: World) -> list[tuple[int, str]]:
    return [(at_s, str(step)) for at_s, step in steps(built) if str(step)]


def partition_states(built: World) -> list[tuple[int, tuple[PartitionState, ...]]]:
    changes = [(at_s, partition_states_of(built, step.states)) for at_s, step in steps(built)]
    of_views = [
        (at_s, tuple(state for state in states if state.partition.topic == "views")) for at_s, states in changes
    ]
    return [(at_s, states) for at_s, states in of_views if states]


def test_partition_keeps_old_replicas_until_new_ones_are_in_sync() -> None:
    built = world_with_views(Reassignment(HOUR, targets(p0=(2, 0)), 10 * MB, election=NEVER))
    assert partition_states(built) == [
        (0, (PartitionState(P0, (2, 0, 1), 0, (2,), (0, 1)),)),
        (60, (PartitionState(P0, (2, 0), 0, (), (2, 0)),)),
    ]
    assert [text for _, text in descriptions(built)] == [
        "reassignment of 1 partition begins",
        "views-0 has its new replicas; reassignment is done",
    ]


def test_new_replica_copies_from_the_rack_of_the_leader() -> None:
    (_, first), (_, last) = steps(world_with_views(Reassignment(HOUR, targets(p0=(2, 0)), 10 * MB, election=NEVER)))
    assert first.copying == (RackTransfer("az1", "az3", 10 * MB),)
    assert last.copying == ()


def test_first_target_replica_succeeds_a_removed_leader() -> None:
    built = world_with_views(Reassignment(HOUR, targets(p0=(2, 5)), 10 * MB, election=NEVER))
    assert partition_states(built)[-1] == (120, (PartitionState(P0, (2, 5), 2, (), (2, 5)),)), (
        "broker 0 sends both copies"
    )


def test_reordered_replicas_are_reassigned_immediately_without_copies() -> None:
    built = world_with_views(Reassignment(HOUR, targets(p0=(1, 0)), 10 * MB, election=NEVER))
    assert partition_states(built) == [(0, (PartitionState(P0, (1, 0), 0, (), (1, 0)),))]
    assert all(not step.copying for _, step in steps(built))


@pytest.mark.parametrize(("election", "led_at"), [(AT_END, 60), (NEVER, None)])
def test_preferred_leader_is_elected_at_the_configured_time(election: LeaderElection, led_at: int | None) -> None:
    built = world_with_views(Reassignment(HOUR, targets(p0=(2, 0)), 10 * MB, election=election))
    times = [at_s for at_s, partitions in partition_states(built) if partitions[0].leader == 2]
    assert times == ([] if led_at is None else [led_at])


def test_preferred_leader_is_elected_at_a_check_of_the_controller() -> None:
    built = world_with_views(Reassignment(HOUR, targets(p0=(2, 0)), 10 * MB, election=AUTO))
    led_at = [partition_states(dataclasses.replace(built, seed=seed))[-1] for seed in range(20)]
    assert all(60 <= at_s <= 360 and partition.leader == 2 for at_s, (partition,) in led_at)
    assert len({at_s for at_s, _ in led_at}) > 10, "when checks fall is random"
    controller = Controller(check_interval_ms=None)
    unchecked = dataclasses.replace(built, cluster=dataclasses.replace(built.cluster, controller=controller))
    assert partition_states(unchecked)[-1][1][0].leader == 0


def test_before_kafka_4_a_check_is_due_an_interval_after_leaders_got_imbalanced() -> None:
    built = world_with_views(Reassignment(HOUR, targets(p0=(2, 0)), 10 * MB, election=AUTO))
    controller = Controller(checks_periodically=False)
    built = dataclasses.replace(built, cluster=dataclasses.replace(built.cluster, controller=controller))
    assert partition_states(built)[-1] == (300, (PartitionState(P0, (2, 0), 2, (), (2, 0)),)), "2 is first from 0 s on"


def test_controller_elects_an_existing_preferred_leader_during_copies() -> None:
    built = world_with_views(Reassignment(HOUR, targets(p0=(1, 2)), 1 * MB, election=AUTO))
    at_s, states = partition_states(built)[1]
    assert 0 < at_s <= 300
    assert states == (PartitionState(P0, (1, 2, 0), 1, (2,), (1, 0)),)


def test_copies_share_the_throttles_of_senders_and_receivers() -> None:
    two_senders = world_with_views(Reassignment(HOUR, targets(p0=(0, 2), p1=(3, 2)), 10 * MB, election=NEVER))
    assert partition_states(two_senders)[-1][0] == 120, "broker 2 receives both copies"
    two_receivers = world_with_views(Reassignment(HOUR, targets(p0=(0, 2), p1=(3, 5)), 10 * MB, election=NEVER))
    assert partition_states(two_receivers)[-1][0] == 60


def test_batches_are_processed_in_sequence() -> None:
    built = world_with_views(Reassignment(HOUR, targets(p0=(0, 2), p1=(3, 5)), 10 * MB, batch=1, election=NEVER))
    assert [at_s for at_s, _ in partition_states(built)] == [0, 60, 120]
    assert [len(partitions) for _, partitions in partition_states(built)] == [1, 2, 1], (
        "the first ends when the second begins"
    )


def test_unthrottled_copies_take_no_time_and_their_bytes_count() -> None:
    built = world_with_views(Reassignment(HOUR, targets(p0=(2, 0)), election=NEVER))
    [(at_s, step)] = steps(built)
    assert (at_s, step.copied, step.copying) == (0, (RackTransfer("az1", "az3", 600 * MB),), ())
    assert partition_states_of(built, step.states) == (PartitionState(P0, (2, 0), 0, (), (2, 0)),)


def test_copy_includes_bytes_produced_during_the_copy() -> None:
    built = world_with_views(Reassignment(HOUR, targets(p0=(0, 1, 2)), 10 * MB, election=NEVER), rate=MB)
    size_bytes = 600 * MB + 3600 * MB
    # Broker 1 follows in sync; its fetches count against the throttle of the leader.
    assert partition_states(built)[-1][0] == size_bytes // (10 * MB - MB - MB)


def test_reassignment_never_ends_if_the_partition_grows_as_fast_as_the_throttle() -> None:
    built = world_with_views(Reassignment(HOUR, targets(p0=(0, 2)), 2 * MB, election=NEVER), rate=MB)
    assert [text for _, text in descriptions(built)] == ["reassignment of 1 partition begins"]
    at_end = replicas_at(built, built.duration_ms)
    assert at_end.falling_behind() == [P0]
    assert [left for _, left in at_end.unfinished()] == [1]


def test_copies_catch_up_when_traffic_decreases() -> None:
    less = TrafficChange(HOUR + 60 * SECOND, 0.0)
    built = world_with_views(Reassignment(HOUR, targets(p0=(0, 2)), 2 * MB, election=NEVER), less, rate=MB)
    produced = 3660 * MB
    assert partition_states(built)[-1][0] == 60 + (600 * MB + produced - 60 * MB) // (2 * MB)


def test_partitions_grow_at_hourly_rates() -> None:
    quiet, loud = TrafficChange(0, 1.0, hour=0), TrafficChange(HOUR, 1.0, hour=1)
    built = world_with_views(
        quiet, loud, Reassignment(HOUR, targets(p0=(0, 1, 2)), 10 * MB, election=NEVER), rate=MB, hourly=True
    )
    assert partition_states(built)[-1][0] == 600 // 8


def test_copy_pauses_while_its_broker_is_down() -> None:
    lost = BrokerLoss(HOUR + 30 * SECOND, (2,), 60 * SECOND)
    built = world_with_views(Reassignment(HOUR, targets(p0=(0, 2)), 10 * MB, election=NEVER), lost)
    assert partition_states(built)[-1][0] == 120


@pytest.mark.parametrize("waits", [True, False])
def test_copy_continues_from_the_new_leader(*, waits: bool) -> None:
    """The ISR is 1 and 2, and 0 belongs to the target; as `PartitionReassignmentReplicas`, Kafka 4.2.2 and 4.4.0."""
    lost = BrokerLoss(HOUR + 30 * SECOND, (0,), None)
    built = world_with_views(Reassignment(HOUR, targets(p0=(0, 2)), 10 * MB, election=NEVER), lost)
    controller = dataclasses.replace(built.cluster.controller, waits_for_kept_replicas=waits)
    built = dataclasses.replace(built, cluster=dataclasses.replace(built.cluster, controller=controller))
    (_, first), (at_s, second), *_ = steps(built)
    assert (at_s, first.copying, second.copying) == (
        30,
        (RackTransfer("az1", "az3", 10 * MB),),
        (RackTransfer("az2", "az3", 10 * MB),),
    )
    waiting, ended = PartitionState(P0, (0, 2, 1), 1, (), (2, 1)), PartitionState(P0, (0, 2), 2, (), (2,))
    assert partition_states(built)[-1][1] == (waiting if waits else ended,)


def test_new_target_replaces_the_earlier_one() -> None:
    first = Reassignment(HOUR, targets(p0=(0, 2)), 10 * MB, election=NEVER)
    second = Reassignment(HOUR + 30 * SECOND, targets(p0=(0, 2, 5)), election=NEVER)
    built = world_with_views(first, second)
    assert partition_states(built)[-1] == (120, (PartitionState(P0, (0, 2, 5), 0, (), (0, 2, 5)),)), (
        "broker 2 has already copied half of it"
    )
    assert [text for _, text in descriptions(built)][1] == "reassignment of 1 partition begins; reassignment is done"


def test_immediate_replica_move_ends_the_reassignment() -> None:
    built = world_with_views(
        Reassignment(HOUR, targets(p0=(0, 2)), 10 * MB), ReplicaMove(HOUR + 30 * SECOND, "views", 0, (5, 4))
    )
    assert replicas_at(built, 2 * HOUR).unfinished() == []
    assert replicas_at(built, 2 * HOUR).replicas.state(P0).replicas == (5, 4)


def test_replicas_at_returns_the_state_during_a_reassignment() -> None:
    built = world_with_views(Reassignment(HOUR, targets(p0=(0, 2)), 10 * MB), BrokerLoss(HOUR, (1,)), rate=MB // 10)
    progress = replicas_at(built, HOUR + 30 * SECOND)
    assert progress.replicas.state(P0).target == (0, 2)
    assert progress.replicas.live_brokers().tolist() == [True, False, True, True, True, True]
    assert progress.held_bytes(P1) == 600 * MB + 3630 * MB // 10


def test_several_partitions_that_reach_their_targets_together_are_listed() -> None:
    built = world_with_views(Reassignment(HOUR, targets(p0=(1, 0), p1=(4, 3)), 10 * MB, election=NEVER))
    assert descriptions(built) == [
        (0, "reassignment of 2 partitions begins; views-0, views-1 have their new replicas; reassignment is done")
    ]
