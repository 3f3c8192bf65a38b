"""Replicas and leaders of the partitions that are reassigned, by the rules of Kafka's controller.

A replica leaves the in-sync replicas (ISR) when its broker stops, unless that would leave none: the last ones stay, and
only they may lead again, or any live replica if the topic allows an unclean election. A replica whose broker is back
joins the ISR immediately if the partition has a leader; the time that it takes to catch up is not modeled.

Source: `ReplicationControlManager.handleBrokerFenced`, `PartitionReassignmentReplicas`,
`PartitionChangeBuilder.electLeader`, Kafka 4, without eligible leader replicas (KIP-966).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from assignors.model.ids import TopicPartition
from simulator.world.changes import PartitionState
from simulator.world.sentinels import NO_BROKER
from simulator.world.world import NO_LEADER, World


@dataclass(slots=True, eq=False)
class ControlledPartition:
    """The controller's current state of a partition.

    Attributes:
        name: its topic and number.
        row: its row in arrays of partitions.
        replicas: broker ids in replica order; those of the target first, then those that will be removed.
        leader: broker id, NO_LEADER if none.
        unclean: whether a replica out of sync may lead if no in-sync replica is alive.
        in_sync: the in-sync replicas (ISR); without a leader, the last ones.
        added: the brokers that are new in the current reassignment.
        copying: the new brokers that are not in sync.
        target: the replicas at the end of the current reassignment; None if there is none.
    """

    name: TopicPartition
    row: int
    replicas: tuple[int, ...]
    leader: int
    unclean: bool
    in_sync: set[int]
    added: set[int] = field(default_factory=set)
    copying: set[int] = field(default_factory=set)
    target: tuple[int, ...] | None = None

    @property
    def state(self) -> PartitionState:
        """Return the replicas, leader and ISR, without the progress of a reassignment."""
        copying = tuple(broker for broker in self.replicas if broker in self.copying)
        in_sync = tuple(broker for broker in self.replicas if broker in self.in_sync)
        return PartitionState(self.name, self.replicas, self.leader, copying, in_sync)

    def stop_brokers(self, alive: Collection[int], stopped: Collection[int]) -> None:
        """Remove stopped brokers from the ISR; the first live in-sync replica takes over from a stopped leader."""
        self.in_sync = self.in_sync.difference(stopped) or self.in_sync
        if self.leader in stopped:
            self.elect(alive)

    def start_brokers(self, alive: Collection[int]) -> None:
        """Elect the first eligible replica; if there is one, every live replica with all data joins the ISR."""
        self.elect(alive)
        if self.leader != NO_LEADER:
            self.in_sync = {broker for broker in self.replicas if broker in alive and broker not in self.copying}
            self.elect(alive)

    def elect(self, alive: Collection[int]) -> None:
        """Elect the first live in-sync replica; if there is none and the topic allows it, the first live one."""
        live = [broker for broker in self.replicas if broker in alive and broker not in self.copying]
        eligible = [broker for broker in live if broker in self.in_sync]
        if not eligible and live and self.unclean:
            eligible = live
            self.in_sync = set(live)
        self.leader = eligible[0] if eligible else NO_LEADER


class ReplicationControl:
    """The brokers of a world, and the partitions that were looked up so far.

    Attributes:
        alive: shape (B,); which brokers are alive.
        leader: shape (P,); row of the leading broker, NO_BROKER if none; P partitions of all topics.
        followers: shape (P,); of partitions that are reassigned, how many replicas that are not new fetch in sync.
        without_preferred_leader: the partitions whose first replica is in sync and does not lead.
    """

    def __init__(self, world: World) -> None:
        self._topics = world.cluster.topics
        self._row_of_broker = {broker.id: row for row, broker in enumerate(world.cluster.brokers)}
        count = sum(topic.num_partitions for topic in self._topics.values())
        self.alive: BoolArray = np.ones(len(world.cluster.brokers), dtype=np.bool_)
        self.leader: IntArray = np.full(count, NO_BROKER, dtype=np.int64)
        self.followers: IntArray = np.zeros(count, dtype=np.int64)
        self.without_preferred_leader: dict[TopicPartition, ControlledPartition] = {}
        self._by_name: dict[TopicPartition, ControlledPartition] = {}
        self._by_row: list[ControlledPartition] = []
        self._broker_history: list[tuple[frozenset[int], tuple[int, ...]]] = []
        self._last_states: dict[TopicPartition, PartitionState] = {}
        self._updated: dict[TopicPartition, None] = {}

    def __iter__(self) -> Iterator[ControlledPartition]:
        """Iterate over the partitions that were looked up so far."""
        return iter(self._by_row)

    def at(self, row: int) -> ControlledPartition:
        """Return the partition of a row."""
        return self._by_row[row]

    def find(self, name: TopicPartition) -> ControlledPartition:
        """Return the current state of a partition."""
        if name not in self._by_name:
            partition = self._initial_partition(name)
            for alive, stopped in self._broker_history:
                if stopped:
                    partition.stop_brokers(alive, stopped)
                else:
                    partition.start_brokers(alive)
            self._by_name[name] = partition
            self._by_row.append(partition)
            self._last_states[name] = partition.state
            self.update(partition)
        return self._by_name[name]

    def rows_of(self, brokers: Iterable[int]) -> list[int]:
        """Return the rows of brokers of the cluster."""
        return [self._row_of_broker[broker] for broker in brokers]

    def is_in_sync(self, partition: ControlledPartition, broker: int) -> bool:
        """Return whether a broker is alive and an in-sync replica of a partition."""
        row = self._row_of_broker.get(broker)
        return row is not None and bool(self.alive[row]) and broker in partition.in_sync

    def stop_brokers(self, brokers: Sequence[int]) -> None:
        """Stop brokers."""
        self.alive[self.rows_of(brokers)] = False
        alive, stopped = self._alive_ids(), tuple(brokers)
        self._broker_history.append((alive, stopped))
        for partition in self:
            partition.stop_brokers(alive, stopped)
            self.update(partition)

    def start_brokers(self, brokers: Sequence[int]) -> None:
        """Start brokers again."""
        self.alive[self.rows_of(brokers)] = True
        alive = self._alive_ids()
        self._broker_history.append((alive, ()))
        for partition in self:
            partition.start_brokers(alive)
            self.update(partition)

    def set_replicas(self, partition: ControlledPartition, replicas: tuple[int, ...]) -> None:
        """Set the replicas of a partition immediately, ending its reassignment; live ones are in sync."""
        self._end_reassignment(partition, replicas)
        alive = self._alive_ids()
        partition.in_sync = set(replicas).intersection(alive) or set(replicas)
        partition.elect(alive)
        self.update(partition)

    def begin_reassignment(self, partition: ControlledPartition, target: tuple[int, ...]) -> list[int]:
        """Set the target of a partition, and return the brokers that must copy it."""
        new = [broker for broker in target if broker not in partition.replicas]
        removed = sorted(broker for broker in partition.replicas if broker not in target)
        partition.replicas = (*target, *removed)
        partition.target = target
        partition.added.update(new)
        partition.copying.update(new)
        self.update(partition)
        return new

    def complete_reassignment(self, partition: ControlledPartition) -> bool:
        """Reduce the replicas of a partition to its target if all of it is in sync, and return whether it is."""
        target = partition.target
        if target is None or not all(self.is_in_sync(partition, broker) for broker in target):
            return False
        self._end_reassignment(partition, target)
        partition.in_sync.intersection_update(target)
        if partition.leader not in target:
            partition.elect(self._alive_ids())
        self.update(partition)
        return True

    def elect_preferred(self, partition: ControlledPartition) -> bool:
        """Let the first replica lead if it is in sync, and return whether it did not lead before."""
        if partition.name not in self.without_preferred_leader:
            return False
        partition.leader = partition.replicas[0]
        self.update(partition)
        return True

    def add_to_isr(self, partition: ControlledPartition, row: int) -> None:
        """Add the broker of a row, which has copied all of a partition, to its ISR."""
        arrived = {broker for broker in partition.copying if self._row_of_broker[broker] == row}
        partition.copying -= arrived
        partition.in_sync |= arrived
        self.update(partition)

    def update(self, partition: ControlledPartition) -> None:
        """Update the arrays and `without_preferred_leader` after a change of a partition."""
        self._updated[partition.name] = None
        first = partition.replicas[0]
        if partition.leader != first and self.is_in_sync(partition, first):
            self.without_preferred_leader[partition.name] = partition
        else:
            self.without_preferred_leader.pop(partition.name, None)
        self.leader[partition.row] = self._row_of_broker.get(partition.leader, NO_BROKER)
        followers = [
            broker
            for broker in partition.replicas
            if broker != partition.leader and broker not in partition.added and self.is_in_sync(partition, broker)
        ]
        self.followers[partition.row] = 0 if partition.target is None else len(followers)

    def take_changed(self) -> tuple[PartitionState, ...]:
        """Return the partitions that changed since the last call."""
        states = [self._by_name[name].state for name in self._updated]
        self._updated.clear()
        changed = tuple(state for state in states if self._last_states[state.partition] != state)
        self._last_states.update({state.partition: state for state in changed})
        return changed

    def _end_reassignment(self, partition: ControlledPartition, replicas: tuple[int, ...]) -> None:
        partition.replicas, partition.target = replicas, None
        partition.added.clear()
        partition.copying.clear()

    def _initial_partition(self, name: TopicPartition) -> ControlledPartition:
        topic, number = self._topics[name.topic], name.partition
        replicas = topic.replicas[number]
        in_sync = topic.in_sync[number] if topic.in_sync else replicas
        row, leader = len(self._by_row), topic.leaders[number]
        return ControlledPartition(name, row, replicas, leader, topic.unclean_leader_election, set(in_sync))

    def _alive_ids(self) -> frozenset[int]:
        return frozenset(broker for broker, row in self._row_of_broker.items() if self.alive[row])
