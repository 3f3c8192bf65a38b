"""What an assignment makes the network carry, by kind and by pair of racks.

Unlike Kafka's rack-aware cost, which counts partitions and takes any replica in the client's rack as local, this counts
bytes: a consumer reads from the leader unless brokers choose the nearest replica (KIP-392), and changelog writes, which
go to the leader, count too.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from assignors.assignment import UNASSIGNED
from assignors.columns import NO_RACK, IntArray, Ragged
from simulator.layout import FloatArray, Layout, Placing
from simulator.rebalance import Rebalance


class TrafficKind(StrEnum):
    """Why bytes travel."""

    SOURCE_READ = "source_read"
    CHANGELOG_WRITE = "changelog_write"
    STANDBY_READ = "standby_read"


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """Bytes per second, shape (R + 1, R + 1) for each kind: from rack, to rack; the last row and column: no rack."""

    bytes_per_s: dict[TrafficKind, FloatArray]

    def cross_rack(self, kind: TrafficKind | None = None) -> float:
        """Bytes per second between different racks, of one kind or of all; what has no rack is not counted."""
        kinds = [kind] if kind else list(self.bytes_per_s)
        total = 0.0
        for each in kinds:
            known = self.bytes_per_s[each][:-1, :-1]
            total += float(known.sum() - np.trace(known))
        return total


def traffic(layout: Layout, placing: Placing, decided: Rebalance, *, from_nearest: bool) -> Traffic:
    """The steady traffic of an assignment: every task runs and every standby keeps up.

    Args:
        layout: rows and rates.
        placing: where the partitions stand now.
        decided: the assignment.
        from_nearest: whether consumers are served by a replica in their own rack if there is one.
    """
    tasks, columns = layout.tasks, decided.columns
    racks = decided.state.clients.rack
    running = np.flatnonzero(columns.active != UNASSIGNED)
    run_in = racks[columns.active[running]]
    standby_of, standby_on = np.nonzero(columns.standby)
    source_partition, source_rack = _pairs(tasks.source, running, run_in)
    written, writer_rack = _pairs(tasks.changelog, running, run_in)
    followed, follower_rack = _pairs(tasks.changelog, standby_of, racks[standby_on])
    count = len(layout.racks) + 1

    def read(partitions: IntArray, to_rack: IntArray) -> FloatArray:
        from_rack = placing.leader_rack[partitions]
        if from_nearest and layout.racks:
            near = placing.served_in[partitions, to_rack] & (to_rack != NO_RACK)
            from_rack = np.where(near, to_rack, from_rack)
        return _matrix(from_rack, to_rack, layout.bytes_per_s[partitions], count)

    return Traffic(
        {
            TrafficKind.SOURCE_READ: read(source_partition, source_rack),
            TrafficKind.CHANGELOG_WRITE: _matrix(
                writer_rack, placing.leader_rack[written], layout.bytes_per_s[written], count
            ),
            TrafficKind.STANDBY_READ: read(followed, follower_rack),
        }
    )


def _pairs(partitions: Ragged, tasks: IntArray, racks: IntArray) -> tuple[IntArray, IntArray]:
    """Each partition of each task, next to the rack of the client that has the task."""
    counts = partitions.counts()[tasks]
    starts = np.repeat(partitions.offsets[tasks] - (np.cumsum(counts) - counts), counts)
    listed = partitions.values[starts + np.arange(int(counts.sum()))]
    return listed, np.repeat(racks, counts)


def _matrix(from_rack: IntArray, to_rack: IntArray, rate: FloatArray, count: int) -> FloatArray:
    cell = (from_rack % count) * count + to_rack % count
    summed: FloatArray = np.bincount(cell, weights=rate, minlength=count * count).astype(np.float64)
    return summed.reshape(count, count)
