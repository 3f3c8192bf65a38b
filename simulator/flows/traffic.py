"""The network traffic of an application in bytes, by kind and by pair of racks.

Kafka's rack-aware cost counts partitions, and treats any replica in the client's rack as local. This module counts
bytes instead: a consumer reads from the leader unless brokers select the nearest replica (KIP-392), and the bytes that
tasks write to leaders, and leaders replicate to followers, count too.

The bytes of a kind are a matrix of shape (R + 1, R + 1): from rack, to rack; the last row and column are for no rack.
Matrix products are avoided, because their last bits differ between processors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray
from simulator.brokers.partition_locations import PartitionLocations
from simulator.world.changes import RackTransfer
from simulator.world.layout import FloatArray, Layout, row_of_values, sum_by_row


class TrafficKind(StrEnum):
    """The purpose of traffic.

    Attributes:
        SOURCE_READ: tasks read topics that other applications produce.
        REPARTITION_READ: tasks read topics that tasks of the application write.
        REPARTITION_WRITE: tasks write topics that tasks of the application read.
        RESULT_WRITE: tasks write topics that no task of the application reads.
        CHANGELOG_WRITE: tasks write to their changelogs.
        STANDBY_READ: a standby that has caught up reads what is written.
        WARMUP_READ: a standby that is behind catches up.
        RESTORE_READ: an active task restores its state.
        REPLICATION: followers fetch from the leader what tasks wrote.
        REASSIGNMENT: new replicas of a partition copy it from the leader.
        PRODUCE: other producers write to leaders.
        PRODUCE_REPLICATION: followers fetch from the leader what others than the application produced.
        OTHER_READ: other consumer groups read.
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
    PRODUCE = "produce"
    PRODUCE_REPLICATION = "produce_replication"
    OTHER_READ = "other_read"


_KINDS = tuple(TrafficKind)

TrafficBytes = Mapping[TrafficKind, FloatArray]
"""Bytes, or bytes per second, by kind; a missing kind has none."""


def cross_rack_bytes(traffic: TrafficBytes, kind: TrafficKind | None = None) -> float:
    """Return the bytes between different racks, of one kind or of all, without those from or to no rack."""
    chosen = traffic.values() if kind is None else [traffic[kind]] if kind in traffic else []
    known = [matrix[:-1, :-1] for matrix in chosen]
    return float(sum(matrix.sum() - matrix.trace() for matrix in known if np.count_nonzero(matrix)))


class TrafficTotals:
    """The bytes so far, by kind and pair of racks."""

    def __init__(self, num_racks: int) -> None:
        self._shape = (len(_KINDS), num_racks + 1, num_racks + 1)
        self._totals = self._zeros()

    def add(self, traffic: TrafficBytes) -> None:
        """Add bytes."""
        for kind, matrix in traffic.items():
            self._totals[kind] += matrix

    def take(self) -> TrafficBytes:
        """Return the bytes since the last call, and start again at 0."""
        taken, self._totals = self._totals, self._zeros()
        return taken

    def _zeros(self) -> dict[TrafficKind, FloatArray]:
        return dict(zip(_KINDS, np.zeros(self._shape, dtype=np.float64), strict=True))


class _RouteTable(NamedTuple):
    """The bytes of each task per unit of work by route and reader, shape (F, A or 1, T), without the rows of zeros."""

    num_routes: int
    route: IntArray
    """shape (E,); the route of each of E rows"""
    reader: IntArray | None
    """shape (E,); its reader; None if the reader does not matter"""
    rows: FloatArray
    """shape (E, T)"""

    @classmethod
    def of(cls, table: FloatArray) -> _RouteTable:
        """Return the rows of a table that have an entry."""
        route, reader = np.nonzero(table.any(axis=2))
        return cls(len(table), route, None if table.shape[1] == 1 else reader, table[route, reader])

    def by_route(self, amounts: FloatArray) -> FloatArray:
        """Multiply amounts, shape (A, T), by the table, and add up over tasks, shape (F, A)."""
        by_route = np.zeros((self.num_routes, len(amounts)), dtype=np.float64)
        if self.reader is None:
            by_route[self.route] = (self.rows[:, None] * amounts).sum(axis=2)
        else:
            by_route[self.route, self.reader] = (self.rows * amounts[self.reader]).sum(axis=1)
        return by_route


class Routes:
    """The pairs of racks between which the bytes of T tasks travel, with the leaders and replicas of one moment.

    Traffic is linear in the work of tasks. So the bytes of each task per unit of work are computed once, in tables of
    shape (F, A, T): by route (the rack of the broker, R + 1 of them for each kind), by reader, and by task. The A
    readers are the clients in each of R + 1 racks; if brokers select the nearest replica, also the clients in each rack
    that do not announce it and therefore read from leaders. Where the reader does not matter, A is 1. `layout`: the
    rows of tasks and partitions.

    Complexity: O(K + T·A·F) per call, for K copies.
    """

    def __init__(self, layout: Layout, locations: PartitionLocations, *, from_nearest: bool) -> None:
        """Compute the tables.

        `layout`: the rows of tasks and partitions; `locations`: the racks, leaders and in-sync replicas of the
        partitions; `from_nearest` says whether consumers read from a replica in the rack that they announce, if there
        is one.
        """
        self.layout = layout
        self._count = len(layout.racks) + 1
        self._num_readers = 2 * self._count if from_nearest else self._count
        self._leader: IntArray = locations.leader_rack % self._count
        served_from = self._served_from(locations) if from_nearest else self._leader[:, None]
        self._sources = _RouteTable.of(self._source_reads(served_from))
        self._followed = _RouteTable.of(self._changelog_reads(served_from, layout.changelogs.followed_share))
        self._restored = _RouteTable.of(self._changelog_reads(served_from, layout.changelogs.restored_share))
        self._writes = _RouteTable.of(self._write_table())
        self._replication = _RouteTable.of(self._replication_table(locations.followers))

    def processing(
        self, work: FloatArray, tasks: IntArray, racks: IntArray, announced: BoolArray | None = None
    ) -> TrafficBytes:
        """Return the bytes that tasks read and write to process their input.

        `work`, shape (K,): how much each task processes, in seconds of usual input. `tasks`, shape (K,): rows of the
        tasks. `racks`, shape (K,): the racks in which they run: columns of the layout's racks, NO_RACK if unknown.
        `announced`, shape (K,): whether the client announces its rack; None if all do. Returns SOURCE_READ,
        REPARTITION_READ, REPARTITION_WRITE, RESULT_WRITE, CHANGELOG_WRITE and REPLICATION.
        """
        by_rack = self._by_reader(work, tasks, racks % self._count, self._count)
        if self._num_readers == self._count:
            source_read, repartition_read = self._matrices(self._sources, by_rack)
        else:
            source_read, repartition_read = self._read(self._sources, work, tasks, racks, announced)
        to_leaders = self._writes.by_route(by_rack).reshape(3, self._count, self._count)
        repartition_write, result_write, changelog_write = to_leaders.transpose(0, 2, 1)
        replicated = self._replication.by_route(sum_by_row(tasks, work, len(self.layout.tasks))[None])
        return {
            TrafficKind.SOURCE_READ: source_read,
            TrafficKind.REPARTITION_READ: repartition_read,
            TrafficKind.REPARTITION_WRITE: repartition_write,
            TrafficKind.RESULT_WRITE: result_write,
            TrafficKind.CHANGELOG_WRITE: changelog_write,
            TrafficKind.REPLICATION: replicated.reshape(self._count, self._count),
        }

    def changelog_reads(
        self,
        kind: TrafficKind,
        read_bytes: FloatArray,
        tasks: IntArray,
        racks: IntArray,
        announced: BoolArray | None = None,
    ) -> TrafficBytes:
        """Return the bytes that copies read from changelogs.

        `kind`: STANDBY_READ, WARMUP_READ or RESTORE_READ. `read_bytes`, shape (K,): how much each copy reads. `tasks`,
        shape (K,): rows of the tasks. `racks`, shape (K,): the racks of the copies, NO_RACK if unknown. `announced`,
        shape (K,): whether the client announces its rack; None if all do. Returns the bytes of that kind.
        """
        shares = self._followed if kind is TrafficKind.STANDBY_READ else self._restored
        [matrix] = self._read(shares, read_bytes, tasks, racks, announced)
        return {kind: matrix}

    def _read(
        self, table: _RouteTable, amounts: FloatArray, tasks: IntArray, racks: IntArray, announced: BoolArray | None
    ) -> FloatArray:
        """Return a matrix for each kind in a table, shape (kinds, R + 1, R + 1)."""
        readers = racks % self._count
        if announced is not None and self._num_readers > self._count:
            readers = readers + self._count * ~announced
        return self._matrices(table, self._by_reader(amounts, tasks, readers, self._num_readers))

    def _matrices(self, table: _RouteTable, by_reader: FloatArray) -> FloatArray:
        """Return a matrix for each kind in a table, as `_read`, from the amounts by reader and task, shape (A, T)."""
        by_route = table.by_route(by_reader)
        by_kind = by_route.reshape(-1, self._count, self._num_readers // self._count, self._count)
        matrices: FloatArray = by_kind.sum(axis=2)
        return matrices

    def _by_reader(self, amounts: FloatArray, tasks: IntArray, readers: IntArray, num_readers: int) -> FloatArray:
        """Add up amounts by reader and task, shape (A, T)."""
        num_tasks = len(self.layout.tasks)
        return sum_by_row(readers * num_tasks + tasks, amounts, num_readers * num_tasks).reshape(num_readers, num_tasks)

    def _served_from(self, locations: PartitionLocations) -> IntArray:
        """Return the rack from which each reader gets each partition, shape (P, A)."""
        served_from = np.repeat(self._leader[:, None], self._num_readers, axis=1)
        partition, rack = np.nonzero(locations.served_in)
        served_from[partition, rack] = rack
        return served_from

    def _source_reads(self, served_from: IntArray) -> FloatArray:
        """Return bytes per second of usual input from sources and repartition topics, shape (2·(R + 1), A, T)."""
        layout = self.layout
        partition = layout.tasks.source.values
        routes = served_from[partition] + self._count * layout.is_repartition[partition, None]
        return self._route_table(
            routes, row_of_values(layout.tasks.source), layout.bytes_per_s[partition], 2 * self._count
        )

    def _changelog_reads(self, served_from: IntArray, shares: FloatArray) -> FloatArray:
        """Return the fraction of a changelog byte by rack, shape (R + 1, A, T); no rack for tasks without changelog."""
        changelogs = self.layout.changelogs
        table = self._route_table(served_from[changelogs.partition], changelogs.task, shares, self._count)
        table[-1, :, self.layout.tasks.changelog.counts() == 0] = 1.0
        return table

    def _route_table(self, routes: IntArray, tasks: IntArray, amounts: FloatArray, num_routes: int) -> FloatArray:
        """Return a table of shape (F, A, T) from the route of each entry by reader, shape (E, A)."""
        num_readers, num_tasks = routes.shape[1], len(self.layout.tasks)
        rows = routes * num_readers + np.arange(num_readers)
        table = _table(rows, tasks, amounts[:, None], (num_routes * num_readers, num_tasks))
        return table.reshape(num_routes, num_readers, num_tasks)

    def _write_table(self) -> FloatArray:
        """Return bytes per second of usual input to repartition, result and changelog topics: (3·(R + 1), 1, T)."""
        outputs, changelogs, count = self.layout.outputs, self.layout.changelogs, self._count
        leader = self._leader[outputs.partitions.values, None]
        shares, topics = outputs.partition_share[:, None], row_of_values(outputs.partitions)
        of_topic = _table(leader, topics, shares, (count, len(outputs.topics)))
        routes = np.where(outputs.is_repartition, 0, count)[outputs.topic, None] + np.arange(count)
        shape = (3 * count, len(self.layout.tasks))
        to_outputs = _table(routes, outputs.task, of_topic.T[outputs.topic] * outputs.bytes_per_s[:, None], shape)
        routes = 2 * count + self._leader[changelogs.partition, None]
        to_changelogs = _table(routes, changelogs.task, changelogs.written_bytes_per_s[:, None], shape)
        return (to_outputs + to_changelogs)[:, None]

    def _replication_table(self, followers: IntArray) -> FloatArray:
        """Return bytes per second of usual input from leaders to followers, shape ((R + 1)², 1, T)."""
        outputs, changelogs, count = self.layout.outputs, self.layout.changelogs, self._count
        pairs = self._leader[:, None] * count + np.arange(count)
        partition, topics = outputs.partitions.values, row_of_values(outputs.partitions)
        copies = outputs.partition_share[:, None] * followers[partition]
        of_topic = _table(pairs[partition], topics, copies, (count * count, len(outputs.topics)))
        shape, all_pairs = (count * count, len(self.layout.tasks)), np.arange(count * count)[None]
        to_outputs = _table(all_pairs, outputs.task, of_topic.T[outputs.topic] * outputs.bytes_per_s[:, None], shape)
        copies = changelogs.written_bytes_per_s[:, None] * followers[changelogs.partition]
        to_changelogs = _table(pairs[changelogs.partition], changelogs.task, copies, shape)
        return (to_outputs + to_changelogs)[:, None]


def steady_state_traffic(
    routes: Routes,
    active: IntArray,
    standbys: tuple[IntArray, IntArray],
    racks: IntArray,
    announced: BoolArray | None = None,
    factor: FloatArray | None = None,
) -> TrafficBytes:
    """Return bytes per second in the steady state: every task runs at the usual traffic and every standby keeps up.

    `active`: shape (T,), the client that runs each task, UNASSIGNED if none; `standbys`: tasks and clients of the
    standbys, two arrays of one shape; `racks`: shape (C,), the racks of the clients: columns of the layout's racks,
    NO_RACK if unknown; `announced`: shape (C,), whether they announce their racks, None if all do; `factor`: shape
    (T,), how many seconds of usual input arrive per second, None for one.
    """
    running = np.flatnonzero(active != UNASSIGNED)
    owners, (standby_of, standby_on) = active[running], standbys
    announces = np.ones(len(racks), dtype=np.bool_) if announced is None else announced
    read = routes.layout.state_bytes_per_s[standby_of]
    return {
        **routes.processing(
            np.ones(len(running)) if factor is None else factor[running], running, racks[owners], announces[owners]
        ),
        **routes.changelog_reads(TrafficKind.STANDBY_READ, read, standby_of, racks[standby_on], announces[standby_on]),
    }


def rack_matrix(racks: Sequence[str], transfers: Iterable[RackTransfer]) -> FloatArray:
    """Add up transfers by pair of racks, shape (R + 1, R + 1); the last row and column are of no rack."""
    places = [*racks, None]
    matrix = np.zeros((len(places), len(places)), dtype=np.float64)
    for transfer in transfers:
        matrix[places.index(transfer.from_rack), places.index(transfer.to_rack)] += transfer.amount
    return matrix


def _table(rows: IntArray, columns: IntArray, amounts: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """Add up amounts by row, shape (E, A), and column, shape (E,)."""
    cells = rows * shape[1] + columns[:, None]
    return sum_by_row(cells.ravel(), np.broadcast_to(amounts, cells.shape).ravel(), shape[0] * shape[1]).reshape(shape)
