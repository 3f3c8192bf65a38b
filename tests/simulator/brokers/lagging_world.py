"""A world with one partition whose follower may lag, and the changes of its ISR."""

from __future__ import annotations

import dataclasses

from assignors.model.ids import TopicPartition
from simulator.timeline import timeline
from simulator.world.changes import BrokersDown, BrokersUp, Disturbance, ReplicasSet, ReplicationStep
from simulator.world.world import Application, Broker, Cluster, Subtopology, Topic, World
from tests.simulator.brokers.replica_states import partition_states
from tests.simulator.world_builders import client, world

SECOND = 1_000
NAME = TopicPartition("clicks", 0)


def clicks(
    *events: Disturbance,
    duration_s: int,
    replicas: tuple[int, ...] = (0, 1),
    rate: int = 1_500_000,
    replication: tuple[int, ...] = (500_000, 500_000, 500_000),
    lag_s: int = 10,
    min_in_sync: int = 1,
    hourly: tuple[int, ...] = (),
    is_written: bool = False,
) -> World:
    """Return a world in which partition 0 of clicks is on brokers that replicate up to some bytes per second."""
    topics = {
        name: Topic(
            name,
            (brokers,),
            brokers[:1],
            (bytes_per_s,),
            (0,),
            hourly_bytes_per_s=tuple((value,) for value in hours),
            min_insync_replicas=min_in_sync,
        )
        for name, brokers, bytes_per_s, hours in (("clicks", replicas, rate, hourly), ("views", (0,), 0, ()))
    }
    brokers = tuple(Broker(i, None, replication_bytes_per_s=rate) for i, rate in enumerate(replication))
    source, written = ("views", "clicks") if is_written else ("clicks", "views")
    return dataclasses.replace(
        world(),
        cluster=Cluster(brokers, topics, replica_lag_time_max_ms=lag_s * SECOND),
        application=Application("app", (Subtopology(0, (source,), written_topics=(written,)),)),
        clients=(client("c", None),),
        disturbances=events,
        duration_ms=duration_s * SECOND,
    )


def isr_changes(built: World) -> list[tuple[float, tuple[int, ...]]]:
    """Return the times in seconds at which the ISR of the partition changes, each with the new one."""
    isrs = [(0.0, built.cluster.topics["clicks"].replicas[0])]
    for timed in timeline(built):
        if isinstance(timed.change, BrokersDown | BrokersUp | ReplicasSet | ReplicationStep):
            for state in partition_states(built, timed.change.states):
                if state.partition == NAME and state.in_sync != isrs[-1][1]:
                    isrs.append((timed.at_ms / SECOND, state.in_sync))
    return isrs[1:]
