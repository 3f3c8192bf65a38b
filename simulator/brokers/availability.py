"""Which tasks can work while partitions have no leader or too few in-sync replicas.

A partition without a live leader can be neither read nor written. A partition with fewer in-sync replicas than
`min.insync.replicas` can be read, and rejects writes with `acks=all`, which the producers of Kafka Streams use.

A task stops as a whole if it cannot read one of its sources, or cannot write to one of its changelogs or to any
partition of a topic that it writes. (Kafka Streams would continue with sources that it had read to the end before; see
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
    """A time in which a partition that tasks read or write was unavailable.

    Attributes:
        reason: why it was unavailable.
        from_ms: the start.
        until_ms: the end.
    """

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
