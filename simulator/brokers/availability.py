"""Which tasks can work while partitions have no leader or too few in-sync replicas.

A partition without a live leader can be neither read nor written. One with fewer in-sync replicas than
`min.insync.replicas` can be read, and refuses writes with `acks=all`, as the producers of Kafka Streams make them.

A task stops as a whole: if it cannot read one of its sources, or cannot write to one of its changelogs or to any
partition of a topic that it writes. (Kafka Streams would go on with sources that it had read to their end before; see
`max.task.idle.ms`. A producer that cannot write blocks its thread at the next commit.)

Source: `PartitionGroup.readyToProcess`, `RecordCollectorImpl.flush`, `StoreChangelogReader.initializeChangelogs` (Kafka
Streams 4); `ReplicaManager.appendRecords` and `Partition.appendRecordsToLeader` (brokers).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from assignors.model.ids import TopicPartition
from simulator.brokers.partition_locations import PartitionLocations
from simulator.world.layout import Layout, row_of_values


class Unavailability(StrEnum):
    """Why a partition is unavailable, to all or to producers that write with `acks=all`."""

    NO_LEADER = "no_leader"
    TOO_FEW_IN_SYNC = "too_few_in_sync"


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which a partition that tasks read or write was unavailable."""

    partition: TopicPartition
    reason: Unavailability
    from_ms: int
    until_ms: int


class Availability:
    """What T tasks can do, as partitions stand at one moment.

    Attributes:
        can_process: shape (T,); whether all that a task reads and writes is available.
        can_restore: shape (T,); whether all changelogs of a task have a leader; true without changelogs.
        has_end_offsets: whether the end offsets of all changelogs can be fetched; of those that are sources, a group
            leader takes the committed offsets instead.
        unavailable: the partitions that tasks cannot read or cannot write, by their rows, and why.
    """

    def __init__(self, layout: Layout, placing: PartitionLocations, *, acks_all: bool) -> None:
        """Find out what tasks can do.

        Args:
            layout: the rows.
            placing: where the partitions stand.
            acks_all: whether the application's producers write with `acks=all`.
        """
        unreadable, unwritable = ~placing.has_leader, ~(placing.takes_writes if acks_all else placing.has_leader)
        tasks, written, changelogs = layout.tasks, layout.written, layout.changelogs
        topics = row_of_values(written.partitions)
        closed = _any(topics, unwritable[written.partitions.values], len(written.topics))
        logged = unwritable[changelogs.partition] & ~changelogs.is_source
        self.can_process: BoolArray = ~(
            _any(row_of_values(tasks.source), unreadable[tasks.source.values], len(tasks))
            | _any(changelogs.task, logged, len(tasks))
            | _any(written.task, closed[written.topic], len(tasks))
        )
        self.can_restore: BoolArray = ~_any(changelogs.task, unreadable[changelogs.partition], len(tasks))
        self.has_end_offsets = not unreadable[changelogs.partition[~changelogs.is_source]].any()
        is_written = np.zeros(len(layout.partitions), dtype=np.bool_)
        is_written[written.partitions.values] = True
        is_written[changelogs.partition[~changelogs.is_source]] = True
        self.unavailable = {
            row: Unavailability.NO_LEADER if unreadable[row] else Unavailability.TOO_FEW_IN_SYNC
            for row in np.flatnonzero(unreadable | (unwritable & is_written)).tolist()
        }


class OutageLog:
    """Writes down when partitions were unavailable."""

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
        """Return all outages up to the end, in order of their beginning and of partitions."""
        self.note({}, end_ms)
        return tuple(sorted(self._outages, key=lambda outage: (outage.from_ms, outage.partition)))

    def _add(self, row: int, reason: Unavailability, from_ms: int, until_ms: int) -> None:
        if until_ms > from_ms:
            self._outages.append(Outage(self._partitions[row], reason, from_ms, until_ms))


def _any(rows: IntArray, holds: BoolArray, num_rows: int) -> BoolArray:
    """Shape (num_rows,); whether something holds for any entry of a row."""
    found: BoolArray = np.bincount(rows[holds], minlength=num_rows) > 0
    return found
