"""Worlds of applications that run at the same time on one cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scenarios.sampling.event_plans import BrokerUpgradePlan, PartitionsPlan, PlannedEvent, ReassignmentPlan
from simulator.world.disturbances import (
    BrokerBounce,
    BrokerLoss,
    BrokerUpgrade,
    Disturbance,
    RackOutage,
    Reassignment,
    ReplicaMove,
)
from simulator.world.world import Topic, World

_CLUSTER_EVENTS = (RackOutage, BrokerLoss, BrokerBounce, BrokerUpgrade, ReplicaMove, Reassignment)


def without_cluster_events(events: Sequence[PlannedEvent]) -> tuple[PlannedEvent, ...]:
    """Return the events that concern one application: all except those of brokers, racks and replicas."""
    kinds = (*_CLUSTER_EVENTS, BrokerUpgradePlan, PartitionsPlan, ReassignmentPlan)
    return tuple(event for event in events if not isinstance(event, kinds))


def neighbor_world(main: World, neighbor: World) -> World:
    """Return the world of a neighbor on the cluster of another world.

    The brokers, the replicas of topics that both have, the events of brokers and racks, and the duration are those of
    `main`. The clients, their events and the traffic of the application are the neighbor's; other traffic of the
    cluster counts for `main` only. `main`: the world of the application that defines the cluster; `neighbor`: the world
    of the other application, on the same brokers, `without_cluster_events`.
    """
    topics = {**main.cluster.topics, **neighbor.cluster.topics}
    for name in main.cluster.topics.keys() & neighbor.cluster.topics.keys():
        topics[name] = _with_replicas(neighbor.cluster.topics[name], main.cluster.topics[name])
    cluster_events = (_of_neighbor(event) for event in main.disturbances if isinstance(event, _CLUSTER_EVENTS))
    return replace(
        neighbor,
        cluster=replace(main.cluster, topics=topics),
        disturbances=(*neighbor.disturbances, *cluster_events),
        duration_ms=main.duration_ms,
        other_traffic=None,
    )


def _of_neighbor(event: Disturbance) -> Disturbance:
    """Return an event of the cluster for a neighbor, whose group keeps the release of its scenario."""
    if isinstance(event, BrokerUpgrade):
        return BrokerBounce(event.at_ms, event.brokers, event.down_ms, event.pause_ms)
    return event


def _with_replicas(topic: Topic, placed: Topic) -> Topic:
    """Return a topic with the replicas and configs of the same topic in another world."""
    return replace(
        topic,
        replicas=placed.replicas,
        leaders=placed.leaders,
        in_sync=placed.in_sync,
        min_insync_replicas=placed.min_insync_replicas,
        unclean_leader_election=placed.unclean_leader_election,
        retention=placed.retention,
    )
