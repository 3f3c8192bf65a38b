"""What a plan changes, partition by partition, by names and ids."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from assignors.model.columns import IntArray
from assignors.model.ids import TopicPartition
from assignors.replicas.broker_loads import added_replicas
from assignors.replicas.plan_evaluation import changed_rows
from assignors.replicas.state import NO_BROKER, ClusterState
from scenarios.kafka.formats.reassignment import ANY_LOG_DIR

LogDirs = Mapping[tuple[str, int], Mapping[int, str]]
"""The log directories of replicas, by topic and partition, then by broker."""


@dataclass(frozen=True, slots=True)
class ReplicaChange:
    """A partition whose replicas, or their order, change.

    Attributes:
        old: broker ids today, the preferred leader first.
        new: those it shall have.
        needs_election: whether somebody else leads than its new preferred leader.
        copied_bytes: what has to be copied for it; None where sizes are not known.
        new_log_dirs: the log directory of each new replica, ANY for any, as today where one stays; empty if none is
            known.
        old_log_dirs: the same of the old replicas.
    """

    key: TopicPartition
    old: tuple[int, ...]
    new: tuple[int, ...]
    needs_election: bool
    copied_bytes: int | None
    new_log_dirs: tuple[str, ...] = ()
    old_log_dirs: tuple[str, ...] = ()


def changes(state: ClusterState, replicas: IntArray, log_dirs: LogDirs | None = None) -> tuple[ReplicaChange, ...]:
    """What a plan changes, sorted by topic and partition.

    Args:
        state: the cluster.
        replicas: as `Plan.replicas`.
        log_dirs: the log directories that are known today.
    """
    known = log_dirs or {}
    rows = changed_rows(state, replicas)
    copies = added_replicas(state.replicas[rows], replicas[rows]).sum(axis=1)
    found = [
        ReplicaChange(
            key=state.partition_id(row),
            old=_ids(state, state.replicas[row]),
            new=_ids(state, replicas[row]),
            needs_election=bool(replicas[row, 0] != state.leader[row]),
            copied_bytes=None if state.size_bytes is None else int(state.size_bytes[row]) * int(num_copies),
            new_log_dirs=_dirs(known, state, row, replicas[row]),
            old_log_dirs=_dirs(known, state, row, state.replicas[row]),
        )
        for row, num_copies in zip(rows.tolist(), copies.tolist(), strict=True)
    ]
    return tuple(sorted(found, key=lambda change: change.key))


def moves_log_dir(change: ReplicaChange) -> bool:
    """Return whether a replica that stays on its broker goes to another known log directory."""
    before = dict(zip(change.old, change.old_log_dirs, strict=False))
    named = dict(zip(change.new, change.new_log_dirs, strict=False))
    return any(name not in (ANY_LOG_DIR, before.get(broker)) for broker, name in named.items() if broker in change.old)


def is_reversible(change: ReplicaChange) -> bool:
    """Return whether there is anything to undo that is known: other brokers, or the log directories of before."""
    return change.old != change.new or bool(change.old_log_dirs)


def reverse_change(change: ReplicaChange) -> ReplicaChange:
    """Return the change that restores the old replicas: what has left is copied back."""
    gained, lost = (len(set(one) - set(other)) for one, other in ((change.new, change.old), (change.old, change.new)))
    if change.copied_bytes is None or (lost and not gained):
        back = None
    else:
        back = change.copied_bytes // gained * lost if gained else 0
    dirs = change.old_log_dirs, change.new_log_dirs
    return ReplicaChange(change.key, change.new, change.old, change.needs_election, back, *dirs)


def led_by_others(
    state: ClusterState, replicas: IntArray, topics: Collection[str] | None = None
) -> tuple[TopicPartition, ...]:
    """Partitions of these topics that a plan leaves alone and that their preferred leader does not lead, sorted."""
    is_led_by_other = replicas[:, 0] != state.leader
    is_led_by_other[changed_rows(state, replicas)] = False
    keys = [state.partition_id(row) for row in np.flatnonzero(is_led_by_other).tolist()]
    return tuple(sorted(key for key in keys if topics is None or key.topic in topics))


def _dirs(known: LogDirs, state: ClusterState, row: int, rows: IntArray) -> tuple[str, ...]:
    """Return the log directories of a partition's replicas; empty if none of them is known."""
    key = state.partition_id(row)
    of_brokers = known.get((key.topic, key.partition), {})
    brokers = _ids(state, rows)
    return tuple(of_brokers.get(broker, ANY_LOG_DIR) for broker in brokers) if of_brokers.keys() & set(brokers) else ()


def _ids(state: ClusterState, rows: IntArray) -> tuple[int, ...]:
    return tuple(state.ids[rows[rows != NO_BROKER]].tolist())
