"""Where partitions stand: on which brokers, in which racks, led by whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from assignors.model.columns import NO_RACK, BoolArray, IntArray, PartitionTable
from assignors.model.ids import TopicPartition
from simulator.brokers.replication_control import PartitionState
from simulator.world.layout import FloatArray, Layout, total
from simulator.world.world import World

_NOBODY = -1


@dataclass(frozen=True, slots=True, eq=False)
class PartitionLocations:
    """Where the partitions stand at one moment: P partitions, R racks, T tasks, B brokers.

    Attributes:
        table: the racks of the replicas of each partition that tasks read, as the group leader learns them.
        leader_rack: shape (P,); the rack of the leader, NO_RACK if there is none or it has no rack.
        served_in: shape (P, R); whether a live replica stands in the rack that is in sync.
        followers: shape (P, R + 1); how many live replicas in each rack follow the leader in sync; the last column:
            those without rack. Where there is no leader, nobody does.
        restore_share: shape (T, B); which part of what a task's changelogs hold is led by which broker, in the order of
            the cluster; what has no leader is in no part.
        has_leader: shape (P,); whether a live broker leads the partition; without one it cannot be read or written.
        takes_writes: shape (P,); whether it has a leader and `min.insync.replicas` in-sync replicas: whether writes
            with `acks=all` succeed.
    """

    table: PartitionTable
    leader_rack: IntArray
    served_in: BoolArray
    followers: IntArray
    restore_share: FloatArray
    has_leader: BoolArray
    takes_writes: BoolArray


class ClusterMetadata:
    """Which brokers are alive and which replicas every partition has, as a run changes them.

    Brokers are rows of the cluster's; one row more stands for brokers that the cluster does not have, and the last,
    `_NOBODY`, for none at all. Neither is ever alive.
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
        listed = [self._rows(topics[name.topic].replicas[name.partition]) for name in layout.partitions]
        width = max(map(len, listed), default=0)
        padded = [replicas + [_NOBODY] * (max(1, width) - len(replicas)) for replicas in listed]
        self._replicas: IntArray = np.array(padded, dtype=np.int64).reshape(len(listed), max(1, width))
        self._copying: BoolArray = np.zeros(self._replicas.shape, dtype=np.bool_)
        self._in_sync: BoolArray = np.asarray(self._replicas != _NOBODY)
        of_rows = [topics[name.topic] for name in layout.partitions]
        for row, (topic, name) in enumerate(zip(of_rows, layout.partitions, strict=True)):
            if topic.in_sync:
                self._in_sync[row] &= np.isin(self._replicas[row], self._rows(topic.in_sync[name.partition]))
        self._min_in_sync: IntArray = np.array([topic.min_insync_replicas for topic in of_rows], dtype=np.int64)
        self._unclean: BoolArray = np.array([topic.unclean_leader_election for topic in of_rows], dtype=np.bool_)
        leaders = [topics[name.topic].leaders[name.partition] for name in layout.partitions]
        self._leader: IntArray = np.array(
            [self._row_of_broker.get(leader, _NOBODY) for leader in leaders], dtype=np.int64
        )
        self._placing: PartitionLocations | None = None

    def lose(self, brokers: tuple[int, ...]) -> None:
        """Take brokers away; the first live in-sync replica takes over what they led.

        Their replicas leave the ISR, unless no other would be left in it.
        """
        lost = [self._row_of_broker[broker] for broker in brokers]
        self._alive[lost] = False
        remaining = self._in_sync & ~np.isin(self._replicas, lost)
        self._in_sync = np.where(remaining.any(axis=1, keepdims=True), remaining, self._in_sync)
        self._elect(np.isin(self._leader, lost))

    def regain(self, brokers: tuple[int, ...]) -> None:
        """Bring brokers back; the preferred replica of each partition leads again.

        Every live replica joins the ISR where one may lead: an in-sync one, or any one after an unclean election.
        """
        self._alive[[self._row_of_broker[broker] for broker in brokers]] = True
        every = np.ones(len(self._leader), dtype=np.bool_)
        self._elect(every)
        led = np.not_equal(self._leader, _NOBODY)[:, None]
        self._in_sync = np.where(led, self._alive[self._replicas] & ~self._copying, self._in_sync)
        self._elect(every)

    def set_replicas(self, partition: TopicPartition, replicas: tuple[int, ...]) -> None:
        """Give a partition other replicas; one that no task reads or writes does not matter."""
        row = self._row_of.get(partition)
        if row is not None:
            self._put(row, replicas)
            self._elect(np.arange(len(self._leader)) == row)

    def reassign(self, standings: Iterable[PartitionState]) -> list[TopicPartition]:
        """Let partitions stand as a reassignment has them; return those whose racks are others than before."""
        moved = []
        for partition, replicas, leader, copying, in_sync in standings:
            row = self._row_of.get(partition)
            if row is None:
                continue
            before = self._racks_of(row)
            self._put(row, replicas)
            self._copying[row, : len(replicas)] = [broker in copying for broker in replicas]
            self._in_sync[row, : len(replicas)] = [broker in in_sync for broker in replicas]
            self._leader[row] = self._row_of_broker.get(leader, _NOBODY)
            if before != self._racks_of(row):
                moved.append(partition)
        self._placing = None
        return moved

    def _racks_of(self, row: int) -> set[int]:
        listed = self._replicas[row]
        return set(self._rack[listed[listed != _NOBODY]].tolist())

    def _put(self, row: int, replicas: tuple[int, ...]) -> None:
        missing = len(replicas) - self._replicas.shape[1]
        if missing > 0:
            self._replicas = np.pad(self._replicas, ((0, 0), (0, missing)), constant_values=_NOBODY)
            self._copying = np.pad(self._copying, ((0, 0), (0, missing)), constant_values=False)
            self._in_sync = np.pad(self._in_sync, ((0, 0), (0, missing)), constant_values=False)
        self._replicas[row] = _NOBODY
        self._copying[row] = False
        self._replicas[row, : len(replicas)] = self._rows(replicas)
        live = self._alive[self._replicas[row]]
        self._in_sync[row] = live if live.any() else self._replicas[row] != _NOBODY

    def placing(self) -> PartitionLocations:
        """Where the partitions stand now; the same object as long as nothing changes.

        A replica on a lost broker has no rack in the metadata that clients get, so that partition is not located:
        Kafka's rack-aware assignment is off meanwhile. (Source: `MetadataResponse`, which stands in a node without
        rack for a broker that is gone.)
        """
        if self._placing is None:
            self._placing = self._find_out()
        return self._placing

    def _find_out(self) -> PartitionLocations:
        layout, replicas = self._layout, self._replicas
        num_racks, num_read = len(layout.racks), layout.num_read
        alive = self._alive[replicas]
        in_sync = alive & self._in_sync
        has_leader = self._leader != _NOBODY
        rack = np.where(alive, self._rack[replicas], NO_RACK)
        listed = replicas != _NOBODY
        located = listed.any(axis=1) & (~listed | (rack != NO_RACK)).all(axis=1)
        names = layout.partitions[:num_read]
        return PartitionLocations(
            table=PartitionTable(names, layout.racks, _in_racks(rack, num_racks)[:num_read], located[:num_read]),
            leader_rack=self._rack[self._leader],
            served_in=_in_racks(np.where(in_sync, rack, NO_RACK), num_racks),
            followers=self._followers(rack, in_sync, num_racks + 1),
            restore_share=self._restore_share(),
            has_leader=has_leader,
            takes_writes=has_leader & (np.count_nonzero(in_sync, axis=1) >= self._min_in_sync),
        )

    def _followers(self, rack: IntArray, in_sync: BoolArray, num_columns: int) -> IntArray:
        led = (self._leader != _NOBODY)[:, None]
        row, replica = np.nonzero(in_sync & led & (self._replicas != self._leader[:, None]))
        cells = row * num_columns + rack[row, replica] % num_columns
        return np.bincount(cells, minlength=len(rack) * num_columns).reshape(len(rack), num_columns)

    def _restore_share(self) -> FloatArray:
        changelogs = self._layout.changelogs
        num_tasks, num_columns = len(self._layout.tasks), len(self._alive)
        cells = changelogs.task * num_columns + self._leader[changelogs.partition] % num_columns
        shares = total(cells, changelogs.restored_share, num_tasks * num_columns)
        return shares.reshape(num_tasks, num_columns)[:, :-2]

    def _elect(self, rows: BoolArray) -> None:
        """Elect the first live in-sync replica of the given partitions, or an unclean leader where that is allowed."""
        live = self._alive[self._replicas] & ~self._copying
        unclean = rows & self._unclean & live.any(axis=1) & ~(live & self._in_sync).any(axis=1)
        self._in_sync = np.where(unclean[:, None], live, self._in_sync)
        eligible = live & self._in_sync
        first = self._replicas[np.arange(len(eligible)), eligible.argmax(axis=1)]
        elected = np.where(eligible.any(axis=1), first, _NOBODY)
        self._leader = np.where(rows, elected, self._leader)
        self._placing = None

    def _rows(self, brokers: Sequence[int]) -> list[int]:
        unknown = len(self._row_of_broker)
        return [self._row_of_broker.get(broker, unknown) for broker in brokers]


def _in_racks(rack: IntArray, num_racks: int) -> BoolArray:
    """Shape (P, R); in which racks there is one of a partition's replicas, from the racks of these."""
    found = np.zeros((len(rack), num_racks + 1), dtype=np.bool_)
    found[np.arange(len(rack))[:, None], rack] = True
    return found[:, :num_racks]
