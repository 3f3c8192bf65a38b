"""The bytes that an application makes the network carry, by kind and by pair of racks.

Unlike Kafka's rack-aware cost, which counts partitions and takes any replica in the client's rack as local, this counts
bytes: a consumer reads from the leader unless brokers choose the nearest replica (KIP-392), and what tasks write, which
goes to the leader and from there to every follower, counts too.

Bytes of a kind are a matrix of shape (R + 1, R + 1): from rack, to rack; the last row and column stand for no rack.
None of it is a product of matrices, whose last bits differ from one kind of processor to another.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray
from simulator.brokers.partition_locations import PartitionLocations
from simulator.world.layout import FloatArray, Layout, row_of_values, total


class TrafficKind(StrEnum):
    """Why bytes travel.

    Attributes:
        SOURCE_READ: tasks read what others produced.
        REPARTITION_READ: tasks read what tasks of the application wrote.
        REPARTITION_WRITE: tasks write what tasks of the application read.
        RESULT_WRITE: tasks write what no task of the application reads.
        CHANGELOG_WRITE: tasks write to their changelogs.
        STANDBY_READ: a standby that is level reads what is written.
        WARMUP_READ: a standby that is behind catches up.
        RESTORE_READ: an active task restores its state.
        REPLICATION: followers fetch from the leader what tasks wrote.
        REASSIGNMENT: replicas that are new to a partition copy it from the leader.
    """

    SOURCE_READ = "source_read"
    REPARTITION_READ = "repartition_read"
    REPARTITION_WRITE = "repartition_write"
    RESULT_WRITE = "result_write"
    CHANGELOG_WRITE = "changelog_write"
    STANDBY_READ = "standby_read"
    WARMUP_READ = "warmup_read"
    RESTORE_READ = "restore_read"
    REPLICATION = "replication"
    REASSIGNMENT = "reassignment"


TrafficBytes = Mapping[TrafficKind, FloatArray]
"""Bytes, or bytes per second, of some kinds; a kind that is not there carries nothing."""


def cross_rack_bytes(carried: TrafficBytes, kind: TrafficKind | None = None) -> float:
    """What goes between different racks, of one kind or of all; what has no rack is not counted."""
    chosen = carried.values() if kind is None else [carried[kind]] if kind in carried else []
    known = [matrix[:-1, :-1] for matrix in chosen]
    return float(sum(matrix.sum() - np.trace(matrix) for matrix in known))


class TrafficTotals:
    """Adds bytes up."""

    def __init__(self, num_racks: int) -> None:
        self._shape = (num_racks + 1, num_racks + 1)
        self._totals = self._nothing()

    def add(self, carried: TrafficBytes) -> None:
        """Add what was carried."""
        for kind, matrix in carried.items():
            self._totals[kind] += matrix

    def take(self) -> TrafficBytes:
        """All of every kind since this was last asked; it begins anew."""
        taken, self._totals = self._totals, self._nothing()
        return taken

    def _nothing(self) -> dict[TrafficKind, FloatArray]:
        return {kind: np.zeros(self._shape, dtype=np.float64) for kind in TrafficKind}


class Routes:
    """Between which racks the bytes of T tasks travel, as partitions stand at one moment.

    Everything is linear in what tasks do. So what each reads and writes for one unit of work is laid out once, in
    tables of shape (F, A, T): by way, which is the rack on the brokers' side, R + 1 of them for each kind; by reader;
    and by task. The A readers are the clients in each of R + 1 racks; then, if brokers choose the nearest replica, the
    clients in each that do not announce their rack and are served by leaders all the same. Where it does not matter who
    reads, A is 1.

    Complexity: O(K + T·A·F) a call, for K copies.
    """

    def __init__(self, layout: Layout, placing: PartitionLocations, *, from_nearest: bool) -> None:
        """Lay the ways out.

        Args:
            layout: the rows.
            placing: where the partitions stand.
            from_nearest: whether consumers are served by a replica in the rack they announce if there is one.
        """
        self.layout = layout
        self._count = len(layout.racks) + 1
        self._num_readers = 2 * self._count if from_nearest else self._count
        self._leader: IntArray = placing.leader_rack % self._count
        served_from = self._served_from(placing) if from_nearest else self._leader[:, None]
        self._sources = self._source_reads(served_from)
        self._followed = self._changelog_reads(served_from, layout.changelogs.followed_share)
        self._restored = self._changelog_reads(served_from, layout.changelogs.restored_share)
        self._writes = self._written()
        self._replication = self._replicated(placing.followers)

    def processed(
        self, work: FloatArray, tasks: IntArray, racks: IntArray, announced: BoolArray | None = None
    ) -> TrafficBytes:
        """What tasks read and write to process their input.

        Args:
            work: shape (K,); how much each processes, in seconds of usual input.
            tasks: shape (K,); the tasks.
            racks: shape (K,); where they run: columns of the layout's racks, NO_RACK if that is not known.
            announced: shape (K,); whether the client says where that is; None if all do.

        Returns:
            SOURCE_READ, REPARTITION_READ, REPARTITION_WRITE, RESULT_WRITE, CHANGELOG_WRITE and REPLICATION.
        """
        source_read, repartition_read = self._read(self._sources, work, tasks, racks, announced)
        by_rack = self._by_reader(work, tasks, racks % self._count, self._count)
        to_leaders = _carried(self._writes, by_rack).reshape(3, self._count, self._count)
        repartition_write, result_write, changelog_write = to_leaders.transpose(0, 2, 1)
        replicated = _carried(self._replication, total(tasks, work, len(self.layout.tasks))[None])
        return {
            TrafficKind.SOURCE_READ: source_read,
            TrafficKind.REPARTITION_READ: repartition_read,
            TrafficKind.REPARTITION_WRITE: repartition_write,
            TrafficKind.RESULT_WRITE: result_write,
            TrafficKind.CHANGELOG_WRITE: changelog_write,
            TrafficKind.REPLICATION: replicated.reshape(self._count, self._count),
        }

    def copied(
        self,
        kind: TrafficKind,
        read_bytes: FloatArray,
        tasks: IntArray,
        racks: IntArray,
        announced: BoolArray | None = None,
    ) -> TrafficBytes:
        """What copies read from changelogs.

        Args:
            kind: STANDBY_READ, WARMUP_READ or RESTORE_READ.
            read_bytes: shape (K,); how much each copy reads.
            tasks: shape (K,); the tasks.
            racks: shape (K,); where the copies are.
            announced: shape (K,); whether the client says where that is; None if all do.

        Returns:
            The bytes of that kind.
        """
        shares = self._followed if kind is TrafficKind.STANDBY_READ else self._restored
        [matrix] = self._read(shares, read_bytes, tasks, racks, announced)
        return {kind: matrix}

    def _read(
        self, table: FloatArray, amounts: FloatArray, tasks: IntArray, racks: IntArray, announced: BoolArray | None
    ) -> FloatArray:
        """A matrix for each kind in the table, shape (kinds, R + 1, R + 1)."""
        readers = racks % self._count
        if announced is not None and self._num_readers > self._count:
            readers = readers + self._count * ~announced
        carried = _carried(table, self._by_reader(amounts, tasks, readers, self._num_readers))
        by_kind = carried.reshape(-1, self._count, self._num_readers // self._count, self._count)
        matrices: FloatArray = by_kind.sum(axis=2)
        return matrices

    def _by_reader(self, amounts: FloatArray, tasks: IntArray, readers: IntArray, num_readers: int) -> FloatArray:
        """Shape (A, T)."""
        num_tasks = len(self.layout.tasks)
        return total(readers * num_tasks + tasks, amounts, num_readers * num_tasks).reshape(num_readers, num_tasks)

    def _served_from(self, placing: PartitionLocations) -> IntArray:
        """Shape (P, A); the rack that each partition comes from, by reader."""
        served_from = np.repeat(self._leader[:, None], self._num_readers, axis=1)
        partition, rack = np.nonzero(placing.served_in)
        served_from[partition, rack] = rack
        return served_from

    def _source_reads(self, served_from: IntArray) -> FloatArray:
        """Shape (2·(R + 1), A, T): bytes for a second of usual input, of sources and of repartition topics."""
        layout = self.layout
        partition = layout.tasks.source.values
        ways = served_from[partition] + self._count * layout.is_repartition[partition, None]
        return self._by_way(ways, row_of_values(layout.tasks.source), layout.bytes_per_s[partition], 2 * self._count)

    def _changelog_reads(self, served_from: IntArray, shares: FloatArray) -> FloatArray:
        """Shape (R + 1, A, T): parts of a byte. What a task without changelog reads comes from no rack."""
        changelogs = self.layout.changelogs
        table = self._by_way(served_from[changelogs.partition], changelogs.task, shares, self._count)
        table[-1, :, self.layout.tasks.changelog.counts() == 0] = 1.0
        return table

    def _by_way(self, ways: IntArray, tasks: IntArray, amounts: FloatArray, num_ways: int) -> FloatArray:
        """Shape (F, A, T) from the way of each entry, by reader, shape (E, A)."""
        num_readers, num_tasks = ways.shape[1], len(self.layout.tasks)
        rows = ways * num_readers + np.arange(num_readers)
        table = _table(rows, tasks, amounts[:, None], (num_ways * num_readers, num_tasks))
        return table.reshape(num_ways, num_readers, num_tasks)

    def _written(self) -> FloatArray:
        """Shape (3·(R + 1), 1, T): bytes for a second of usual input, to repartition topics, results and changelogs."""
        written, changelogs, count = self.layout.written, self.layout.changelogs, self._count
        leader = self._leader[written.partitions.values, None]
        shares, topics = written.partition_share[:, None], row_of_values(written.partitions)
        of_topic = _table(leader, topics, shares, (count, len(written.topics)))
        ways = np.where(written.is_repartition, 0, count)[written.topic, None] + np.arange(count)
        shape = (3 * count, len(self.layout.tasks))
        besides = _table(ways, written.task, of_topic.T[written.topic] * written.bytes_per_s[:, None], shape)
        ways = 2 * count + self._leader[changelogs.partition, None]
        logged = _table(ways, changelogs.task, changelogs.written_bytes_per_s[:, None], shape)
        return (besides + logged)[:, None]

    def _replicated(self, followers: IntArray) -> FloatArray:
        """Shape ((R + 1)², 1, T): bytes for a second of usual input, from leaders to followers."""
        written, changelogs, count = self.layout.written, self.layout.changelogs, self._count
        pairs = self._leader[:, None] * count + np.arange(count)
        partition, topics = written.partitions.values, row_of_values(written.partitions)
        copies = written.partition_share[:, None] * followers[partition]
        of_topic = _table(pairs[partition], topics, copies, (count * count, len(written.topics)))
        shape, every = (count * count, len(self.layout.tasks)), np.arange(count * count)[None]
        besides = _table(every, written.task, of_topic.T[written.topic] * written.bytes_per_s[:, None], shape)
        copies = changelogs.written_bytes_per_s[:, None] * followers[changelogs.partition]
        logged = _table(pairs[changelogs.partition], changelogs.task, copies, shape)
        return (besides + logged)[:, None]


def steady(
    routes: Routes,
    active: IntArray,
    standbys: tuple[IntArray, IntArray],
    racks: IntArray,
    announced: BoolArray | None = None,
) -> TrafficBytes:
    """Bytes per second at rest: every task runs at the usual traffic and every standby keeps up.

    Args:
        routes: the ways they take.
        active: shape (T,); the client that runs each task, UNASSIGNED if none.
        standbys: tasks and clients of the standbys, two arrays of one shape.
        racks: shape (C,); where the clients are: columns of the layout's racks, NO_RACK if that is not known.
        announced: shape (C,); whether they say where that is; None if all do.
    """
    running = np.flatnonzero(active != UNASSIGNED)
    owners, (followed, followers) = active[running], standbys
    says = np.ones(len(racks), dtype=np.bool_) if announced is None else announced
    read = routes.layout.state_bytes_per_s[followed]
    return {
        **routes.processed(np.ones(len(running)), running, racks[owners], says[owners]),
        **routes.copied(TrafficKind.STANDBY_READ, read, followed, racks[followers], says[followers]),
    }


def _table(rows: IntArray, columns: IntArray, amounts: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """Add amounts up by row, shape (E, A), and column, shape (E,)."""
    cells = rows * shape[1] + columns[:, None]
    return total(cells.ravel(), np.broadcast_to(amounts, cells.shape).ravel(), shape[0] * shape[1]).reshape(shape)


def _carried(table: FloatArray, amounts: FloatArray) -> FloatArray:
    """Add up over tasks what amounts, shape (A, T), make of a table, shape (F, A or 1, T); shape (F, A)."""
    carried: FloatArray = (table * amounts).sum(axis=2)
    return carried
