"""Replicas, leaders and ISRs with the ids and names of a world, from the arrays of a timeline."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from assignors.model.ids import TopicPartition
from simulator.brokers.partition_locations import ClusterMetadata, PartitionLocations
from simulator.brokers.replication_control import PartitionState, ReplicationControl
from simulator.world.changes import ReplicaStates
from simulator.world.layout import NO_BROKER, lay_out
from simulator.world.world import NO_LEADER, World


def partition_names(world: World) -> list[TopicPartition]:
    """Return the partitions of a cluster in the order of their rows."""
    topics = world.cluster.topics.values()
    return [TopicPartition(topic.name, number) for topic in topics for number in range(topic.num_partitions)]


def partition_states(world: World, states: ReplicaStates | None) -> tuple[PartitionState, ...]:
    """Return the new states of the partitions of all topics; unknown brokers are not allowed."""
    if states is None:
        return ()
    ids, names = [broker.id for broker in world.cluster.brokers], partition_names(world)

    def named(rows: Iterable[int]) -> tuple[int, ...]:
        return tuple(ids[row] for row in rows if row != NO_BROKER)

    return tuple(
        PartitionState(
            names[row],
            named(states.replicas[i].tolist()),
            NO_LEADER if states.leader[i] == NO_BROKER else ids[states.leader[i]],
            named(states.replicas[i][states.copying[i]].tolist()),
            named(states.replicas[i][states.in_sync[i]].tolist()),
        )
        for i, row in enumerate(states.partitions.tolist())
        if row < len(names)
    )


def replica_states(world: World, *partitions: PartitionState) -> ReplicaStates:
    """Return states as arrays; all partitions have the same number of replicas."""
    row_of = {broker.id: row for row, broker in enumerate(world.cluster.brokers)} | {NO_LEADER: NO_BROKER}
    names = partition_names(world)
    return ReplicaStates(
        np.array([names.index(state.partition) for state in partitions], dtype=np.int64),
        np.array([[row_of[broker] for broker in state.replicas] for state in partitions], dtype=np.int64),
        np.array([row_of[state.leader] for state in partitions], dtype=np.int64),
        np.array([[broker in state.copying for broker in state.replicas] for state in partitions], dtype=np.bool_),
        np.array([[broker in state.in_sync for broker in state.replicas] for state in partitions], dtype=np.bool_),
        len(row_of) - 1,
    )


class ControlledMetadata:
    """The metadata of a cluster, as the controller changes it; replicas catch up at once."""

    def __init__(self, world: World) -> None:
        self.layout = lay_out(world)
        self.control = ReplicationControl(world)
        self.metadata = ClusterMetadata(world, self.layout)

    def locations(self) -> PartitionLocations:
        return self.metadata.locations()

    def stop_brokers(self, brokers: tuple[int, ...]) -> None:
        self.control.stop_brokers(brokers, crash=False)
        self.metadata.stop_brokers(brokers)
        self.metadata.apply(self.control.take_changed())

    def start_brokers(self, brokers: tuple[int, ...]) -> None:
        self.control.start_brokers(brokers)
        self.control.join_isr(*self.control.catching_up())
        self.metadata.start_brokers(brokers)
        self.metadata.apply(self.control.take_changed())

    def set_replicas(self, partition: TopicPartition, replicas: tuple[int, ...]) -> None:
        self.control.set_replicas(self.control.row(partition), replicas)
        self.metadata.apply(self.control.take_changed())

    def elect_preferred(self) -> None:
        self.control.elect_preferred(np.ones(len(self.control.leader), dtype=np.bool_))
        self.metadata.apply(self.control.take_changed())
