"""Who holds and who leads the partitions that are reassigned, by the rules of Kafka's controller.

A replica is in sync if its broker is there and it does not copy. Only such a one leads.

Source: `PartitionReassignmentReplicas`, `PartitionChangeBuilder.electLeader`, Kafka 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from assignors.columns import BoolArray, IntArray
from assignors.ids import TopicPartition
from simulator.replication import NOBODY
from simulator.world import NO_LEADER, World


class PartitionStanding(NamedTuple):
    """Where a partition stands: its brokers in replica order, who leads, and which of them still copy."""

    partition: TopicPartition
    replicas: tuple[int, ...]
    leader: int
    copying: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Partition:
    """A partition at some moment.

    Attributes:
        row: its row in arrays of partitions.
        replicas: broker ids in replica order; of the target first, then those that will go.
        leader: NO_LEADER if there is none.
        added: the brokers that are new in what goes on.
        copying: those of them that are not in sync.
        target: what it is to have in the end; None if it has it.
    """

    name: TopicPartition
    row: int
    replicas: tuple[int, ...]
    leader: int
    added: set[int] = field(default_factory=set)
    copying: set[int] = field(default_factory=set)
    target: tuple[int, ...] | None = None

    @property
    def standing(self) -> PartitionStanding:
        """As it is told to the cluster."""
        copying = tuple(broker for broker in self.replicas if broker in self.copying)
        return PartitionStanding(self.name, self.replicas, self.leader, copying)


class Replicas:
    """The partitions of a world that anything was asked about, and its brokers.

    Attributes:
        alive: shape (B,); which brokers are there.
        leader: shape (P,); the row of the broker that leads, NOBODY if none does; P partitions of all topics.
        followers: shape (P,); of partitions that are reassigned, how many replicas that are not new fetch in sync.
        astray: those whose first replica could lead and does not.
    """

    def __init__(self, world: World) -> None:
        self._topics = world.cluster.topics
        self._row_of_broker = {broker.id: row for row, broker in enumerate(world.cluster.brokers)}
        count = sum(topic.num_partitions for topic in self._topics.values())
        self.alive: BoolArray = np.ones(len(world.cluster.brokers), dtype=np.bool_)
        self.leader: IntArray = np.full(count, NOBODY, dtype=np.int64)
        self.followers: IntArray = np.zeros(count, dtype=np.int64)
        self.astray: dict[TopicPartition, Partition] = {}
        self._found: dict[TopicPartition, Partition] = {}
        self._by_row: list[Partition] = []
        self._were_back = False
        self._told: dict[TopicPartition, PartitionStanding] = {}
        self._touched: dict[TopicPartition, None] = {}

    def __iter__(self) -> Iterator[Partition]:
        """Those that anything was asked about."""
        return iter(self._by_row)

    def at(self, row: int) -> Partition:
        """The partition of a row."""
        return self._by_row[row]

    def find(self, name: TopicPartition) -> Partition:
        """A partition, as it stands now."""
        if name not in self._found:
            topic = self._topics[name.topic]
            replicas, leader = topic.replicas[name.partition], topic.leaders[name.partition]
            found = Partition(name, len(self._by_row), replicas, leader)
            if self._were_back or not self.is_in_sync(found, leader):
                found.leader = self._first_in_sync(found)
            self._found[name] = found
            self._by_row.append(found)
            self._told[name] = found.standing
            self.touch(found)
        return self._found[name]

    def rows_of(self, brokers: Iterable[int]) -> list[int]:
        """The rows of brokers that the cluster has."""
        return [self._row_of_broker[broker] for broker in brokers]

    def is_in_sync(self, partition: Partition, broker: int) -> bool:
        """Whether a broker has all of a partition, as far as it is a replica."""
        row = self._row_of_broker.get(broker)
        return row is not None and bool(self.alive[row]) and broker not in partition.copying

    def lose(self, brokers: Sequence[int]) -> None:
        """Take brokers away; the first replica in sync takes over what they led."""
        self.alive[self.rows_of(brokers)] = False
        for partition in self:
            if partition.leader in brokers:
                partition.leader = self._first_in_sync(partition)
            self.touch(partition)

    def regain(self, brokers: Sequence[int]) -> None:
        """Bring brokers back; the first replica in sync of each partition leads."""
        self.alive[self.rows_of(brokers)] = True
        self._were_back = True
        for partition in self:
            partition.leader = self._first_in_sync(partition)
            self.touch(partition)

    def put(self, partition: Partition, replicas: tuple[int, ...]) -> None:
        """Give a partition replicas at once, whatever goes on with it."""
        self._rest(partition, replicas)
        partition.leader = self._first_in_sync(partition)
        self.touch(partition)

    def aim(self, partition: Partition, target: tuple[int, ...]) -> list[int]:
        """Give a partition a target; return the brokers that are to copy it."""
        new = [broker for broker in target if broker not in partition.replicas]
        leaving = sorted(broker for broker in partition.replicas if broker not in target)
        partition.replicas = (*target, *leaving)
        partition.target = target
        partition.added.update(new)
        partition.copying.update(new)
        self.touch(partition)
        return new

    def reach(self, partition: Partition) -> bool:
        """Give a partition its target alone, if all of that is in sync; tell whether it was."""
        target = partition.target
        if target is None or not all(self.is_in_sync(partition, broker) for broker in target):
            return False
        self._rest(partition, target)
        if partition.leader not in target:
            partition.leader = self._first_in_sync(partition)
        self.touch(partition)
        return True

    def elect_preferred(self, partition: Partition) -> bool:
        """Let the first replica lead if it is in sync; tell whether that is new."""
        if partition.name not in self.astray:
            return False
        partition.leader = partition.replicas[0]
        self.touch(partition)
        return True

    def come_in_sync(self, partition: Partition, row: int) -> None:
        """The broker of a row has all of a partition now."""
        partition.copying -= {broker for broker in partition.copying if self._row_of_broker[broker] == row}
        self.touch(partition)

    def touch(self, partition: Partition) -> None:
        """Take in that something about a partition has changed."""
        self._touched[partition.name] = None
        first = partition.replicas[0]
        if partition.leader != first and self.is_in_sync(partition, first):
            self.astray[partition.name] = partition
        else:
            self.astray.pop(partition.name, None)
        self.leader[partition.row] = self._row_of_broker.get(partition.leader, NOBODY)
        followers = [
            broker
            for broker in partition.replicas
            if broker != partition.leader and broker not in partition.added and self.is_in_sync(partition, broker)
        ]
        self.followers[partition.row] = 0 if partition.target is None else len(followers)

    def take_changed(self) -> tuple[PartitionStanding, ...]:
        """The partitions that stand otherwise than when this was last asked."""
        standings = [self._found[name].standing for name in self._touched]
        self._touched.clear()
        changed = tuple(each for each in standings if self._told[each.partition] != each)
        self._told.update({each.partition: each for each in changed})
        return changed

    def _rest(self, partition: Partition, replicas: tuple[int, ...]) -> None:
        partition.replicas, partition.target = replicas, None
        partition.added.clear()
        partition.copying.clear()

    def _first_in_sync(self, partition: Partition) -> int:
        return next((broker for broker in partition.replicas if self.is_in_sync(partition, broker)), NO_LEADER)
