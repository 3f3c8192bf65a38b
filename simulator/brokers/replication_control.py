"""Who holds and who leads the partitions that are reassigned, by the rules of Kafka's controller.

A replica leaves the in-sync replicas (ISR) when its broker goes, unless that would leave none: the last ones stay, and
only they may lead again, or any live replica if the topic allows an unclean election. A replica whose broker is back
joins the ISR at once if the partition has a leader; the time that it takes to catch up is not modeled.

Source: `ReplicationControlManager.handleBrokerFenced`, `PartitionReassignmentReplicas`,
`PartitionChangeBuilder.electLeader`, Kafka 4, without eligible leader replicas (KIP-966).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from assignors.model.ids import TopicPartition
from simulator.brokers.replication import NO_BROKER
from simulator.world.world import NO_LEADER, World


class PartitionState(NamedTuple):
    """A partition: its brokers in replica order, its leader, the replicas that still copy, and its ISR."""

    partition: TopicPartition
    replicas: tuple[int, ...]
    leader: int
    copying: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(slots=True, eq=False)
class ControlledPartition:
    """A partition at some moment.

    Attributes:
        row: its row in arrays of partitions.
        replicas: broker ids in replica order; of the target first, then those that will go.
        leader: NO_LEADER if there is none.
        unclean: whether a replica out of sync may lead if no in-sync replica is alive.
        in_sync: the in-sync replicas (ISR); without a leader, those that were the last ones.
        added: the brokers that are new in what goes on.
        copying: those of them that are not in sync.
        target: what it is to have in the end; None if it has it.
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
    def standing(self) -> PartitionState:
        """As it is told to the cluster."""
        copying = tuple(broker for broker in self.replicas if broker in self.copying)
        in_sync = tuple(broker for broker in self.replicas if broker in self.in_sync)
        return PartitionState(self.name, self.replicas, self.leader, copying, in_sync)

    def lose(self, alive: Collection[int], lost: Collection[int]) -> None:
        """Take away brokers; the first in-sync replica that is alive takes over what they led."""
        self.in_sync = self.in_sync.difference(lost) or self.in_sync
        if self.leader in lost:
            self.elect(alive)

    def regain(self, alive: Collection[int]) -> None:
        """Let every live replica that holds the partition join the ISR, if one of them may lead; the first one does."""
        self.elect(alive)
        if self.leader != NO_LEADER:
            self.in_sync = {broker for broker in self.replicas if broker in alive and broker not in self.copying}
            self.elect(alive)

    def elect(self, alive: Collection[int]) -> None:
        """Let the first live in-sync replica lead; if there is none and the topic allows it, the first live one."""
        live = [broker for broker in self.replicas if broker in alive and broker not in self.copying]
        eligible = [broker for broker in live if broker in self.in_sync]
        if not eligible and live and self.unclean:
            eligible = live
            self.in_sync = set(live)
        self.leader = eligible[0] if eligible else NO_LEADER


class ReplicationControl:
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
        self.leader: IntArray = np.full(count, NO_BROKER, dtype=np.int64)
        self.followers: IntArray = np.zeros(count, dtype=np.int64)
        self.astray: dict[TopicPartition, ControlledPartition] = {}
        self._found: dict[TopicPartition, ControlledPartition] = {}
        self._by_row: list[ControlledPartition] = []
        self._history: list[tuple[frozenset[int], tuple[int, ...]]] = []
        self._told: dict[TopicPartition, PartitionState] = {}
        self._touched: dict[TopicPartition, None] = {}

    def __iter__(self) -> Iterator[ControlledPartition]:
        """Those that anything was asked about."""
        return iter(self._by_row)

    def at(self, row: int) -> ControlledPartition:
        """The partition of a row."""
        return self._by_row[row]

    def find(self, name: TopicPartition) -> ControlledPartition:
        """A partition, as it stands now."""
        if name not in self._found:
            found = self._at_the_start(name)
            for alive, lost in self._history:
                if lost:
                    found.lose(alive, lost)
                else:
                    found.regain(alive)
            self._found[name] = found
            self._by_row.append(found)
            self._told[name] = found.standing
            self.touch(found)
        return self._found[name]

    def rows_of(self, brokers: Iterable[int]) -> list[int]:
        """The rows of brokers that the cluster has."""
        return [self._row_of_broker[broker] for broker in brokers]

    def is_in_sync(self, partition: ControlledPartition, broker: int) -> bool:
        """Whether a broker is alive and an in-sync replica of a partition."""
        row = self._row_of_broker.get(broker)
        return row is not None and bool(self.alive[row]) and broker in partition.in_sync

    def lose(self, brokers: Sequence[int]) -> None:
        """Take brokers away."""
        self.alive[self.rows_of(brokers)] = False
        alive, lost = self._alive_ids(), tuple(brokers)
        self._history.append((alive, lost))
        for partition in self:
            partition.lose(alive, lost)
            self.touch(partition)

    def regain(self, brokers: Sequence[int]) -> None:
        """Bring brokers back."""
        self.alive[self.rows_of(brokers)] = True
        alive = self._alive_ids()
        self._history.append((alive, ()))
        for partition in self:
            partition.regain(alive)
            self.touch(partition)

    def put(self, partition: ControlledPartition, replicas: tuple[int, ...]) -> None:
        """Give a partition replicas at once, whatever goes on with it; those that are alive are in sync."""
        self._rest(partition, replicas)
        alive = self._alive_ids()
        partition.in_sync = set(replicas).intersection(alive) or set(replicas)
        partition.elect(alive)
        self.touch(partition)

    def aim(self, partition: ControlledPartition, target: tuple[int, ...]) -> list[int]:
        """Give a partition a target; return the brokers that are to copy it."""
        new = [broker for broker in target if broker not in partition.replicas]
        leaving = sorted(broker for broker in partition.replicas if broker not in target)
        partition.replicas = (*target, *leaving)
        partition.target = target
        partition.added.update(new)
        partition.copying.update(new)
        self.touch(partition)
        return new

    def reach(self, partition: ControlledPartition) -> bool:
        """Give a partition its target alone, if all of that is in sync; tell whether it was."""
        target = partition.target
        if target is None or not all(self.is_in_sync(partition, broker) for broker in target):
            return False
        self._rest(partition, target)
        partition.in_sync.intersection_update(target)
        if partition.leader not in target:
            partition.elect(self._alive_ids())
        self.touch(partition)
        return True

    def elect_preferred(self, partition: ControlledPartition) -> bool:
        """Let the first replica lead if it is in sync; tell whether that is new."""
        if partition.name not in self.astray:
            return False
        partition.leader = partition.replicas[0]
        self.touch(partition)
        return True

    def come_in_sync(self, partition: ControlledPartition, row: int) -> None:
        """Let the broker of a row, which has all of a partition now, join its ISR."""
        arrived = {broker for broker in partition.copying if self._row_of_broker[broker] == row}
        partition.copying -= arrived
        partition.in_sync |= arrived
        self.touch(partition)

    def touch(self, partition: ControlledPartition) -> None:
        """Take in that something about a partition has changed."""
        self._touched[partition.name] = None
        first = partition.replicas[0]
        if partition.leader != first and self.is_in_sync(partition, first):
            self.astray[partition.name] = partition
        else:
            self.astray.pop(partition.name, None)
        self.leader[partition.row] = self._row_of_broker.get(partition.leader, NO_BROKER)
        followers = [
            broker
            for broker in partition.replicas
            if broker != partition.leader and broker not in partition.added and self.is_in_sync(partition, broker)
        ]
        self.followers[partition.row] = 0 if partition.target is None else len(followers)

    def take_changed(self) -> tuple[PartitionState, ...]:
        """The partitions that stand otherwise than when this was last asked."""
        standings = [self._found[name].standing for name in self._touched]
        self._touched.clear()
        changed = tuple(each for each in standings if self._told[each.partition] != each)
        self._told.update({each.partition: each for each in changed})
        return changed

    def _rest(self, partition: ControlledPartition, replicas: tuple[int, ...]) -> None:
        partition.replicas, partition.target = replicas, None
        partition.added.clear()
        partition.copying.clear()

    def _at_the_start(self, name: TopicPartition) -> ControlledPartition:
        topic, number = self._topics[name.topic], name.partition
        replicas = topic.replicas[number]
        in_sync = topic.in_sync[number] if topic.in_sync else replicas
        row, leader = len(self._by_row), topic.leaders[number]
        return ControlledPartition(name, row, replicas, leader, topic.unclean_leader_election, set(in_sync))

    def _alive_ids(self) -> frozenset[int]:
        return frozenset(broker for broker, row in self._row_of_broker.items() if self.alive[row])
