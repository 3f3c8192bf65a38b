"""Which replica leads when in-sync replicas stop and return, with and without eligible leader replicas."""

from __future__ import annotations

import dataclasses

import pytest

from assignors.model.ids import TopicPartition
from simulator.brokers.replication_control import ReplicationControl
from simulator.world.world import NO_LEADER, Controller
from tests.simulator.world_builders import topic, world

NAME = TopicPartition("orders", 0)
ALL = (0, 1, 2)


def control(min_in_sync: int = 2, *, eligible: bool, unclean: bool = False) -> ReplicationControl:
    """Return the controller of a cluster in which partition 0 of orders is on brokers 0, 1 and 2."""
    orders = dataclasses.replace(
        topic("orders", 1, 3), min_insync_replicas=min_in_sync, unclean_leader_election=unclean
    )
    base = world()
    topics = {**base.cluster.topics, "orders": orders}
    cluster = dataclasses.replace(base.cluster, topics=topics, controller=Controller(keeps_eligible_replicas=eligible))
    return ReplicationControl(dataclasses.replace(base, cluster=cluster))


def leader_and_isr(replicas: ReplicationControl) -> tuple[int, tuple[int, ...]]:
    state = replicas.state(NAME)
    return state.leader, state.in_sync


def test_last_of_replicas_that_stop_at_once_stays_in_the_isr() -> None:
    """Before Kafka 4.1; the controller fences brokers one after the other."""
    replicas = control(eligible=False)
    replicas.stop_brokers(ALL, crash=True)
    assert leader_and_isr(replicas) == (NO_LEADER, (2,))
    replicas.start_brokers((0, 1))
    assert leader_and_isr(replicas) == (NO_LEADER, (2,))
    replicas.start_brokers((2,))
    assert leader_and_isr(replicas) == (2, (2,))


def test_replica_that_left_below_the_minimum_isr_may_lead() -> None:
    """Broker 1 left an ISR of two, so it lacks no record that was written with acks=all; broker 0 may lack some."""
    replicas = control(eligible=True)
    for broker in ALL:
        replicas.stop_brokers((broker,), crash=False)
    assert leader_and_isr(replicas) == (NO_LEADER, ())
    replicas.start_brokers((0,))
    assert leader_and_isr(replicas) == (NO_LEADER, ())
    replicas.start_brokers((1,))
    assert leader_and_isr(replicas) == (1, (1,))


@pytest.mark.parametrize(("returns", "leader"), [(1, NO_LEADER), (2, 2)])
def test_only_the_last_leader_may_lead_after_crashes(returns: int, leader: int) -> None:
    replicas = control(eligible=True)
    replicas.stop_brokers(ALL, crash=True)
    replicas.start_brokers(tuple(broker for broker in ALL if broker != returns and broker != 2))
    assert leader_and_isr(replicas)[0] == NO_LEADER
    replicas.start_brokers((returns,))
    assert leader_and_isr(replicas)[0] == leader


def test_unclean_leader_is_the_only_in_sync_replica() -> None:
    replicas = control(eligible=False, unclean=True)
    replicas.stop_brokers((0,), crash=True)
    replicas.stop_brokers((1, 2), crash=True)
    replicas.start_brokers((1,))
    assert leader_and_isr(replicas) == (1, (1,))


def test_unclean_election_ends_eligibility() -> None:
    """`PartitionChangeBuilder.maybeUpdateRecordElr`, Kafka 4.4.0: nothing written before it protects a replica."""
    replicas = control(eligible=True, unclean=True)
    for broker in ALL:
        replicas.stop_brokers((broker,), crash=broker != 2)
    replicas.start_brokers((0,))
    assert leader_and_isr(replicas) == (0, (0,))
    replicas.start_brokers((1, 2))
    replicas.stop_brokers((0,), crash=False)
    assert leader_and_isr(replicas) == (1, (1,))


def test_returning_replica_catches_up_and_takes_no_lead() -> None:
    replicas = control(eligible=True)
    replicas.stop_brokers((0,), crash=False)
    replicas.start_brokers((0,))
    assert leader_and_isr(replicas) == (1, (1, 2))
    replicas.join_isr(*replicas.catching_up())
    assert leader_and_isr(replicas) == (1, ALL)
    assert replicas.electable().any()
