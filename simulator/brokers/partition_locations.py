"""The cluster metadata of a run: live brokers, replicas, leaders and ISRs, and the racks that follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from assignors.model.columns import NO_RACK, BoolArray, IntArray, PartitionTable
from assignors.model.ids import TopicPartition
from simulator.world.changes import PartitionState
from simulator.world.layout import FloatArray, Layout, sum_by_row
from simulator.world.sentinels import NO_BROKER
from simulator.world.world import World


@dataclass(frozen=True, slots=True, eq=False)
class PartitionLocations:
    """Racks, leaders and in-sync replicas of partitions at one moment: P partitions, R racks, T tasks, B brokers.

    Attributes:
        table: the racks of the replicas of each partition that tasks read, as the group leader sees them.
        leader_rack: shape (P,); the rack of the leader, NO_RACK if there is no leader or it has no rack.
        served_in: shape (P, R); whether the rack has a live in-sync replica.
        followers: shape (P, R + 1); the number of live in-sync followers in each rack, without rack in the last column;
            0 for a partition without a leader.
        restore_share: shape (T, B); the fraction of a task's changelogs that each broker leads, in the cluster's order;
            changelogs without a leader are in no fraction.
        has_leader: shape (P,); whether a live broker leads the partition; without one it cannot be read or written.
        takes_writes: shape (P,); whether writes with `acks=all` succeed: the partition has a leader and
            `min.insync.replicas` in-sync replicas.
    """

    table: PartitionTable
    leader_rack: IntArray
    served_in: BoolArray
    followers: IntArray
    restore_share: FloatArray
    has_leader: BoolArray
    takes_writes: BoolArray


class ClusterMetadata:
    """The live brokers and the replicas of every partition, as a run changes them.

    Rows of brokers are those of the cluster. One more row is for brokers that the cluster does not have, and the
    last one, `NO_BROKER`, for none. Neither is ever alive.
    """

    def __init__(self, world: World, layout: Layout) -> None:
        self._layout = layout
        column_of = {rack: column for column, rack in enumerate(layout.racks)}
        brokers, topics = world.cluster.brokers, world.cluster.topics
        self._row_of_broker = {broker.id: row for row, broker in enumerate(brokers)}
        self._rack: IntArray = np.array(
            [NO_RACK if broker.rack is None else column_of[broker.rack] for broker in brokers] + [NO_RACK] * 2,
            dtype=np.int64,
        )
        self._alive: BoolArray = np.array([True for _ in brokers] + [False] * 2, dtype=np.bool_)
        self._row_of = {name: row for row, name in enumerate(layout.partitions)}
        replica_rows = [self._rows(topics[name.topic].replicas[name.partition]) for name in layout.partitions]
        width = max(map(len, replica_rows), default=0)
        padded = [replicas + [NO_BROKER] * (max(1, width) - len(replicas)) for replicas in replica_rows]
        self._replicas: IntArray = np.array(padded, dtype=np.int64).reshape(len(replica_rows), max(1, width))
        self._copying: BoolArray = np.zeros(self._replicas.shape, dtype=np.bool_)
        self._in_sync: BoolArray = np.asarray(self._replicas != NO_BROKER)
        topic_of_row = [topics[name.topic] for name in layout.partitions]
        for row, (topic, name) in enumerate(zip(topic_of_row, layout.partitions, strict=True)):
            if topic.in_sync:
                self._in_sync[row] &= np.isin(self._replicas[row], self._rows(topic.in_sync[name.partition]))
        self._min_in_sync: IntArray = np.array([topic.min_insync_replicas for topic in topic_of_row], dtype=np.int64)
        self._unclean: BoolArray = np.array([topic.unclean_leader_election for topic in topic_of_row], dtype=np.bool_)
        leaders = [topics[name.topic].leaders[name.partition] for name in layout.partitions]
        self._leader: IntArray = np.array(
            [self._row_of_broker.get(leader, NO_BROKER) for leader in leaders], dtype=np.int64
        )
        self._locations: PartitionLocations | None = None
        self._topic_ids = {topic.name: topic.topic_id for topic in topic_of_row if topic.topic_id is not None}

    def stop_brokers(self, brokers: tuple[int, ...]) -> None:
        """Stop brokers; the first live in-sync replica of each partition that they led becomes the leader.

        Their replicas leave the ISR, unless that would leave none.
        """
        stopped = [self._row_of_broker[broker] for broker in brokers]
        self._alive[stopped] = False
        remaining = self._in_sync & ~np.isin(self._replicas, stopped)
        self._in_sync = np.where(remaining.any(axis=1, keepdims=True), remaining, self._in_sync)
        self._elect(np.isin(self._leader, stopped))

    def start_brokers(self, brokers: tuple[int, ...]) -> None:
        """Start brokers again; the preferred replica of each partition leads again.

        Where a replica can lead (an in-sync one, or any after an unclean election), every live replica joins the ISR.
        """
        self._alive[[self._row_of_broker[broker] for broker in brokers]] = True
        all_rows = np.ones(len(self._leader), dtype=np.bool_)
        self._elect(all_rows)
        led = np.not_equal(self._leader, NO_BROKER)[:, None]
        self._in_sync = np.where(led, self._alive[self._replicas] & ~self._copying, self._in_sync)
        self._elect(all_rows)

    def set_replicas(self, partition: TopicPartition, replicas: tuple[int, ...]) -> None:
        """Give a partition other replicas; a partition that no task reads or writes is ignored."""
        row = self._row_of.get(partition)
        if row is not None:
            self._set_row(row, replicas)
            self._elect(np.arange(len(self._leader)) == row)

    def apply_reassignment(self, states: Iterable[PartitionState]) -> list[TopicPartition]:
        """Set partitions to their states in a reassignment.

        Returns:
            The partitions whose racks change.
        """
        moved = []
        for partition, replicas, leader, copying, in_sync in states:
            row = self._row_of.get(partition)
            if row is None:
                continue
            before = self._racks_of(row)
            self._set_row(row, replicas)
            self._copying[row, : len(replicas)] = [broker in copying for broker in replicas]
            self._in_sync[row, : len(replicas)] = [broker in in_sync for broker in replicas]
            self._leader[row] = self._row_of_broker.get(leader, NO_BROKER)
            if before != self._racks_of(row):
                moved.append(partition)
        self._locations = None
        return moved

    def lagging_replicas(self) -> tuple[IntArray, IntArray]:
        """Return partition and broker rows of the replicas that fetch nothing because their brokers are out of sync.

        New replicas of a reassignment, which copy the partition, are not among them.
        """
        lags = (self._replicas != NO_BROKER) & ~(self._alive[self._replicas] & self._in_sync) & ~self._copying
        rows, places = np.nonzero(lags)
        return rows, self._replicas[rows, places]

    def holds(self, rows: IntArray, brokers: IntArray) -> BoolArray:
        """Return whether brokers have a live replica of partitions, given by the rows of both."""
        held: BoolArray = (self._replicas[rows] == brokers[:, None]).any(axis=1) & self._alive[brokers]
        return held

    def racks_of(self, brokers: IntArray) -> IntArray:
        """Return the racks of brokers, given by their rows; NO_RACK if they have none."""
        racks: IntArray = self._rack[brokers]
        return racks

    def _racks_of(self, row: int) -> set[int]:
        replicas = self._replicas[row]
        return set(self._rack[replicas[replicas != NO_BROKER]].tolist())

    def _set_row(self, row: int, replicas: tuple[int, ...]) -> None:
        missing = len(replicas) - self._replicas.shape[1]
        if missing > 0:
            self._replicas = np.pad(self._replicas, ((0, 0), (0, missing)), constant_values=NO_BROKER)
            self._copying = np.pad(self._copying, ((0, 0), (0, missing)), constant_values=False)
            self._in_sync = np.pad(self._in_sync, ((0, 0), (0, missing)), constant_values=False)
        self._replicas[row] = NO_BROKER
        self._copying[row] = False
        self._replicas[row, : len(replicas)] = self._rows(replicas)
        live = self._alive[self._replicas[row]]
        self._in_sync[row] = live if live.any() else self._replicas[row] != NO_BROKER

    def locations(self) -> PartitionLocations:
        """Return the current locations; the same object as long as nothing changes.

        A replica on a stopped broker has no rack in the metadata that clients receive. So the racks of its partition
        are unknown, and Kafka's rack-aware assignment is off. (Source: `MetadataResponse`, which replaces
        an unavailable broker by a node without rack.)
        """
        if self._locations is None:
            self._locations = self._compute_locations()
        return self._locations

    def _compute_locations(self) -> PartitionLocations:
        layout, replicas = self._layout, self._replicas
        num_racks, num_read = len(layout.racks), layout.num_read
        alive = self._alive[replicas]
        in_sync = alive & self._in_sync
        has_leader = self._leader != NO_BROKER
        rack = np.where(alive, self._rack[replicas], NO_RACK)
        is_replica = replicas != NO_BROKER
        has_known_racks = is_replica.any(axis=1) & (~is_replica | (rack != NO_RACK)).all(axis=1)
        names = layout.partitions[:num_read]
        return PartitionLocations(
            table=PartitionTable(
                names, layout.racks, _in_racks(rack, num_racks)[:num_read], has_known_racks[:num_read], self._topic_ids
            ),
            leader_rack=self._rack[self._leader],
            served_in=_in_racks(np.where(in_sync, rack, NO_RACK), num_racks),
            followers=self._followers(rack, in_sync, num_racks + 1),
            restore_share=self._restore_share(),
            has_leader=has_leader,
            takes_writes=has_leader & (np.count_nonzero(in_sync, axis=1) >= self._min_in_sync),
        )

    def _followers(self, rack: IntArray, in_sync: BoolArray, num_columns: int) -> IntArray:
        led = (self._leader != NO_BROKER)[:, None]
        row, replica = np.nonzero(in_sync & led & (self._replicas != self._leader[:, None]))
        cells = row * num_columns + rack[row, replica] % num_columns
        return np.bincount(cells, minlength=len(rack) * num_columns).reshape(len(rack), num_columns)

    def _restore_share(self) -> FloatArray:
        changelogs = self._layout.changelogs
        num_tasks, num_columns = len(self._layout.tasks), len(self._alive)
        cells = changelogs.task * num_columns + self._leader[changelogs.partition] % num_columns
        shares = sum_by_row(cells, changelogs.restored_share, num_tasks * num_columns)
        return shares.reshape(num_tasks, num_columns)[:, :-2]

    def _elect(self, rows: BoolArray) -> None:
        """Elect the first live in-sync replica of the given partitions, or an unclean leader where that is allowed."""
        live = self._alive[self._replicas] & ~self._copying
        unclean = rows & self._unclean & live.any(axis=1) & ~(live & self._in_sync).any(axis=1)
        self._in_sync = np.where(unclean[:, None], live, self._in_sync)
        eligible = live & self._in_sync
        first = self._replicas[np.arange(len(eligible)), eligible.argmax(axis=1)]
        elected = np.where(eligible.any(axis=1), first, NO_BROKER)
        self._leader = np.where(rows, elected, self._leader)
        self._locations = None

    def _rows(self, brokers: Sequence[int]) -> list[int]:
        unknown = len(self._row_of_broker)
        return [self._row_of_broker.get(broker, unknown) for broker in brokers]


def _in_racks(rack: IntArray, num_racks: int) -> BoolArray:
    """Return which racks have a replica of each partition, shape (P, R), from the racks of its replicas."""
    has_replica = np.zeros((len(rack), num_racks + 1), dtype=np.bool_)
    has_replica[np.arange(len(rack))[:, None], rack] = True
    return has_replica[:, :num_racks]
