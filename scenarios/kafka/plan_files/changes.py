"""The replica changes of a plan, by partition and broker id."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from assignors.model.columns import IntArray
from assignors.model.ids import TopicPartition
from assignors.replicas.plan_evaluation import changed_rows
from assignors.replicas.state import NO_BROKER, ClusterState
from scenarios.kafka.formats.reassignment import ANY_LOG_DIR

LogDirs = Mapping[tuple[str, int], Mapping[int, str]]
"""Log directory of each replica: by topic and partition, then by broker."""


@dataclass(frozen=True, slots=True)
class ReplicaChange:
    """A partition whose replicas, or their order, change.

    Attributes:
        old: Current broker ids, the preferred leader first.
        new: Target broker ids, the preferred leader first.
        needs_election: Whether the current leader differs from the new preferred leader.
        size_bytes: Size of the partition; None if sizes are unknown.
        leader: Current leader, which sends what is copied.
        new_log_dirs: Log directory of each new replica, ANY_LOG_DIR if the broker chooses, unchanged for a replica that
            stays; empty if none is known.
        old_log_dirs: Log directory of each old replica; empty if none is known.
    """

    key: TopicPartition
    old: tuple[int, ...]
    new: tuple[int, ...]
    needs_election: bool
    size_bytes: int | None
    leader: int
    new_log_dirs: tuple[str, ...] = ()
    old_log_dirs: tuple[str, ...] = ()

    @property
    def receivers(self) -> tuple[int, ...]:
        """The brokers that copy the partition."""
        return tuple(broker for broker in self.new if broker not in self.old)

    @property
    def copied_bytes(self) -> int | None:
        """Bytes to copy; None if sizes are unknown."""
        if not self.receivers:
            return 0
        return None if self.size_bytes is None else self.size_bytes * len(self.receivers)


def replica_changes(
    state: ClusterState, replicas: IntArray, log_dirs: LogDirs | None = None
) -> tuple[ReplicaChange, ...]:
    """Return the changes of a plan, by topic and partition.

    `replicas`: target replicas, as `Plan.replicas`: shape (P, R), broker rows; `log_dirs`: known current log
    directories.
    """
    known_dirs = log_dirs or {}
    rows = changed_rows(state, replicas)
    changes = [
        ReplicaChange(
            key=state.partition_id(row),
            old=_broker_ids(state, state.replicas[row]),
            new=_broker_ids(state, replicas[row]),
            needs_election=bool(replicas[row, 0] != state.leader[row]),
            size_bytes=None if state.size_bytes is None else int(state.size_bytes[row]),
            leader=_leader_id(state, row),
            new_log_dirs=_log_dirs(known_dirs, state, row, replicas[row]),
            old_log_dirs=_log_dirs(known_dirs, state, row, state.replicas[row]),
        )
        for row in rows.tolist()
    ]
    return tuple(sorted(changes, key=lambda change: change.key))


def moves_log_dir(change: ReplicaChange) -> bool:
    """Return whether a replica that stays on its broker moves to another, specified log directory."""
    old_dirs = dict(zip(change.old, change.old_log_dirs, strict=False))
    new_dirs = dict(zip(change.new, change.new_log_dirs, strict=False))
    return any(
        log_dir not in (ANY_LOG_DIR, old_dirs.get(broker))
        for broker, log_dir in new_dirs.items()
        if broker in change.old
    )


def is_reversible(change: ReplicaChange) -> bool:
    """Return whether a rollback has an effect: the brokers change, or the old log directories are known."""
    return change.old != change.new or bool(change.old_log_dirs)


def reverse_change(change: ReplicaChange) -> ReplicaChange:
    """Return the change that restores the old replicas; removed replicas are copied back from the new leader."""
    stays = change.leader in change.new and not change.needs_election
    return ReplicaChange(
        change.key,
        change.new,
        change.old,
        change.needs_election,
        change.size_bytes,
        change.leader if stays else change.new[0],
        new_log_dirs=change.old_log_dirs,
        old_log_dirs=change.new_log_dirs,
    )


def partitions_to_elect(
    state: ClusterState, replicas: IntArray, topics: Collection[str] | None = None
) -> tuple[TopicPartition, ...]:
    """Return the unchanged partitions whose leader is not their preferred leader, sorted.

    `replicas`: target replicas, as `Plan.replicas`: shape (P, R), broker rows. `topics`: topics to consider; None for
    all.
    """
    has_other_leader = replicas[:, 0] != state.leader
    has_other_leader[changed_rows(state, replicas)] = False
    keys = [state.partition_id(row) for row in np.flatnonzero(has_other_leader).tolist()]
    return tuple(sorted(key for key in keys if topics is None or key.topic in topics))


def _log_dirs(known_dirs: LogDirs, state: ClusterState, row: int, broker_rows: IntArray) -> tuple[str, ...]:
    """Return the log directories of a partition's replicas; empty if none is known."""
    key = state.partition_id(row)
    dir_of = known_dirs.get((key.topic, key.partition), {})
    brokers = _broker_ids(state, broker_rows)
    return tuple(dir_of.get(broker, ANY_LOG_DIR) for broker in brokers) if dir_of.keys() & set(brokers) else ()


def _leader_id(state: ClusterState, row: int) -> int:
    """Return the leader of a partition, its preferred one if it has none."""
    leader = state.leader[row] if state.leader[row] != NO_BROKER else state.replicas[row, 0]
    return int(state.ids[leader])


def _broker_ids(state: ClusterState, broker_rows: IntArray) -> tuple[int, ...]:
    return tuple(state.ids[broker_rows[broker_rows != NO_BROKER]].tolist())
