"""The cluster metadata of a run: live brokers, replicas, leaders and ISRs, and the racks that follow from them.

They decide which tasks can work. A partition without a live leader can be neither read nor written. A partition with
fewer in-sync replicas than `min.insync.replicas` can be read, and rejects writes with `acks=all`, which the producers
of Kafka Streams use.

A task stops as a whole if it cannot read one of its sources, or cannot write to one of its changelogs or to any
partition of a topic that it writes. (Kafka Streams would continue with sources that it had read to the end before; see
`max.task.idle.ms`. A producer that cannot write blocks its thread at the next commit.)

Source: `PartitionGroup.readyToProcess`, `RecordCollectorImpl.flush`, `StoreChangelogReader.initializeChangelogs` (Kafka
Streams 4); `ReplicaManager.appendRecords` and `Partition.appendRecordsToLeader` (brokers).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from assignors.model.columns import NO_RACK, BoolArray, IntArray, PartitionTable
from assignors.model.ids import TopicPartition
from simulator.world.changes import ReplicaStates
from simulator.world.layout import NO_BROKER, FloatArray, Layout, row_of_values, sum_by_row
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


class MovedPartitions(NamedTuple):
    """The partitions with other replicas.

    Attributes:
        to_other_racks: those whose racks change.
        any_replica: whether any partition has other replicas, or another order of them.
    """

    to_other_racks: list[TopicPartition]
    any_replica: bool


class ClusterMetadata:
    """The live brokers and the replicas of every partition, as the changes of a run set them.

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
        offsets = world.cluster.partition_offsets
        self._view_of: IntArray = np.full(sum(t.num_partitions for t in topics.values()) + 1, -1, dtype=np.int64)
        self._view_of[[offsets[name.topic] + name.partition for name in layout.partitions]] = np.arange(
            len(layout.partitions)
        )
        replica_rows = [self._rows(topics[name.topic].replicas[name.partition]) for name in layout.partitions]
        width = max(map(len, replica_rows), default=0)
        padded = [replicas + [NO_BROKER] * (max(1, width) - len(replicas)) for replicas in replica_rows]
        self._replicas: IntArray = np.array(padded, dtype=np.int64).reshape(len(replica_rows), max(1, width))
        self._copying: BoolArray = np.zeros(self._replicas.shape, dtype=np.bool_)
        self._in_sync: BoolArray = np.asarray(self._replicas != NO_BROKER)
        topic_of_row = [topics[name.topic] for name in layout.partitions]
        for row, (topic, name) in enumerate(zip(topic_of_row, layout.partitions, strict=True)):
            if topic.in_sync and not set(topic.replicas[name.partition]).issubset(topic.in_sync[name.partition]):
                self._in_sync[row] &= np.isin(self._replicas[row], self._rows(topic.in_sync[name.partition]))
        self._min_in_sync: IntArray = np.array([topic.min_insync_replicas for topic in topic_of_row], dtype=np.int64)
        leaders = [topics[name.topic].leaders[name.partition] for name in layout.partitions]
        self._leader: IntArray = np.array(
            [self._row_of_broker.get(leader, NO_BROKER) for leader in leaders], dtype=np.int64
        )
        self._locations: PartitionLocations | None = None
        self._topic_ids = {topic.name: topic.topic_id for topic in topic_of_row if topic.topic_id is not None}

    def stop_brokers(self, brokers: tuple[int, ...]) -> None:
        """Note that brokers are down."""
        self._set_alive(brokers, is_alive=False)

    def start_brokers(self, brokers: tuple[int, ...]) -> None:
        """Note that brokers are up again."""
        self._set_alive(brokers, is_alive=True)

    def apply(self, states: ReplicaStates | None) -> MovedPartitions:
        """Set partitions to new states; those that no task reads or writes are ignored."""
        if states is None:
            return MovedPartitions([], any_replica=False)
        rows = self._view_of[states.partitions]
        known = np.flatnonzero(rows >= 0)
        rows, width = rows[known], states.replicas.shape[1]
        self._widen(width - self._replicas.shape[1])
        replicas = np.full((len(rows), self._replicas.shape[1]), NO_BROKER, dtype=np.int64)
        replicas[:, :width] = np.minimum(states.replicas[known], states.num_brokers)
        before = self._replicas[rows]
        changed = np.flatnonzero((replicas != before).any(axis=1))
        moved = [
            self._layout.partitions[rows[i]]
            for i in changed
            if self._racks_of(before[i]) != self._racks_of(replicas[i])
        ]
        self._replicas[rows] = replicas
        for flag, values in ((self._copying, states.copying), (self._in_sync, states.in_sync)):
            flag[rows] = False
            flag[rows, :width] = values[known]
        self._leader[rows] = np.minimum(states.leader[known], states.num_brokers)
        self._locations = None
        return MovedPartitions(moved, any_replica=bool(len(changed)))

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

    def _racks_of(self, replicas: IntArray) -> set[int]:
        return set(self._rack[replicas[replicas != NO_BROKER]].tolist())

    def _set_alive(self, brokers: tuple[int, ...], *, is_alive: bool) -> None:
        self._alive[[self._row_of_broker[broker] for broker in brokers]] = is_alive
        self._locations = None

    def _widen(self, missing: int) -> None:
        if missing > 0:
            pad = ((0, 0), (0, missing))
            self._replicas = np.pad(self._replicas, pad, constant_values=NO_BROKER)
            self._copying = np.pad(self._copying, pad)
            self._in_sync = np.pad(self._in_sync, pad)

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

    def _rows(self, brokers: Sequence[int]) -> list[int]:
        unknown = len(self._row_of_broker)
        return [self._row_of_broker.get(broker, unknown) for broker in brokers]


def _in_racks(rack: IntArray, num_racks: int) -> BoolArray:
    """Return which racks have a replica of each partition, shape (P, R), from the racks of its replicas."""
    has_replica = np.zeros((len(rack), num_racks + 1), dtype=np.bool_)
    has_replica[np.arange(len(rack))[:, None], rack] = True
    return has_replica[:, :num_racks]


class Unavailability(StrEnum):
    """Why a partition is unavailable, to all or to producers that write with `acks=all`."""

    NO_LEADER = "no_leader"
    TOO_FEW_IN_SYNC = "too_few_in_sync"


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which a partition that tasks read or write was unavailable. `reason`: why it was unavailable."""

    partition: TopicPartition
    reason: Unavailability
    from_ms: int
    until_ms: int


class Availability:
    """Which of T tasks can be processed and restored with the leaders and in-sync replicas of one moment.

    Attributes:
        can_process: shape (T,); whether all partitions that a task reads and writes are available.
        can_restore: shape (T,); whether all changelogs of a task have a leader; true without changelogs.
        has_end_offsets: whether the end offsets of all changelogs can be fetched; for changelogs that are sources, a
            group leader uses the committed offsets instead.
        unavailable: the partitions that tasks cannot read or cannot write, by row, and why.
    """

    def __init__(self, layout: Layout, locations: PartitionLocations, *, acks_all: bool) -> None:
        """Compute the availability.

        `layout`: the rows of tasks and partitions; `locations`: the leaders and in-sync replicas; `acks_all` says
        whether the application's producers write with `acks=all`.
        """
        unreadable, unwritable = ~locations.has_leader, ~(locations.takes_writes if acks_all else locations.has_leader)
        tasks, outputs, changelogs = layout.tasks, layout.outputs, layout.changelogs
        topics = row_of_values(outputs.partitions)
        rejects_writes = _any_by_row(topics, unwritable[outputs.partitions.values], len(outputs.topics))
        is_unwritable_log = unwritable[changelogs.partition] & ~changelogs.is_source
        self.can_process: BoolArray = ~(
            _any_by_row(row_of_values(tasks.source), unreadable[tasks.source.values], len(tasks))
            | _any_by_row(changelogs.task, is_unwritable_log, len(tasks))
            | _any_by_row(outputs.task, rejects_writes[outputs.topic], len(tasks))
        )
        self.can_restore: BoolArray = ~_any_by_row(changelogs.task, unreadable[changelogs.partition], len(tasks))
        self.has_end_offsets = not unreadable[changelogs.partition[~changelogs.is_source]].any()
        is_written = np.zeros(len(layout.partitions), dtype=np.bool_)
        is_written[outputs.partitions.values] = True
        is_written[changelogs.partition[~changelogs.is_source]] = True
        self.unavailable = {
            row: Unavailability.NO_LEADER if unreadable[row] else Unavailability.TOO_FEW_IN_SYNC
            for row in np.flatnonzero(unreadable | (unwritable & is_written)).tolist()
        }


class OutageLog:
    """The outages of partitions, from observations in order of time."""

    def __init__(self, layout: Layout) -> None:
        self._partitions = layout.partitions
        self._open: dict[int, tuple[Unavailability, int]] = {}
        self._outages: list[Outage] = []

    def note(self, unavailable: Mapping[int, Unavailability], now_ms: int) -> None:
        """Note which partitions (rows) are unavailable from now on, and why."""
        for row, (reason, from_ms) in list(self._open.items()):
            if unavailable.get(row) != reason:
                del self._open[row]
                self._add(row, reason, from_ms, now_ms)
        for row, reason in unavailable.items():
            self._open.setdefault(row, (reason, now_ms))

    def until(self, end_ms: int) -> tuple[Outage, ...]:
        """Return all outages up to the end, by start and partition."""
        ongoing = [
            Outage(self._partitions[row], reason, from_ms, end_ms)
            for row, (reason, from_ms) in self._open.items()
            if end_ms > from_ms
        ]
        return tuple(sorted((*self._outages, *ongoing), key=lambda outage: (outage.from_ms, outage.partition)))

    def _add(self, row: int, reason: Unavailability, from_ms: int, until_ms: int) -> None:
        if until_ms > from_ms:
            self._outages.append(Outage(self._partitions[row], reason, from_ms, until_ms))


def _any_by_row(rows: IntArray, holds: BoolArray, num_rows: int) -> BoolArray:
    """Return whether a condition holds for any entry of each row, shape (num_rows,)."""
    any_holds: BoolArray = np.bincount(rows[holds], minlength=num_rows) > 0
    return any_holds
