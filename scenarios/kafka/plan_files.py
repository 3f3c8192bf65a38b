"""A replica plan as files and scripts for Kafka's own tools, optionally in batches that are executed one after another.

Each change is in exactly one batch, in the order of topic and partition. Each batch respects the limits, except that a
partition that exceeds them alone forms its own batch. Partitions are never split: between batches, a partition has
either its old or its new replicas. Complexity: O(changes).

Source: `org.apache.kafka.tools.reassign.ReassignPartitionsCommand` (`executeAssignment` sets the throttle on brokers
and topics; `verifyAssignment` prints the state of each partition and removes the throttle once all are complete) and
`org.apache.kafka.tools.LeaderElectionCommand`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assignors.model.columns import IntArray
from assignors.model.ids import TopicPartition
from assignors.replicas.plan_evaluation import changed_rows
from assignors.replicas.state import NO_BROKER, ClusterState
from scenarios.kafka.formats.broker_list import ListedBroker, broker_csv
from scenarios.kafka.formats.reassignment import ANY_LOG_DIR, election_json, reassignment_json
from scenarios.kafka.formats.topics import log_dirs_json
from scenarios.language.units import format_duration
from simulator.plurals import counted

ASSIGNMENT, BROKERS, LOG_DIRS = "assignment.json", "brokers.csv", "log_dirs.json"
_LOG_DIR = "/var/lib/kafka"


def cluster_files(state: ClusterState) -> dict[str, bytes]:
    """Describe a cluster as files.

    Returns content by file name: the assignment of replicas, the brokers that are alive and, if known, the replica
    sizes.
    """
    assignment = (
        (state.partition_id(row), tuple(state.ids[brokers[brokers != NO_BROKER]].tolist()))
        for row, brokers in enumerate(state.replicas)
    )
    alive = (
        ListedBroker(broker.id, broker.rack, broker.capacity_bytes, broker.capacity_bytes_per_s)
        for broker in state.brokers
        if broker.is_alive
    )
    texts = {ASSIGNMENT: reassignment_json(assignment), BROKERS: broker_csv(alive)}
    if state.size_bytes is not None:
        sizes = state.size_bytes.tolist()
        replicas = (
            (int(state.ids[broker]), state.partition_id(row), sizes[row])
            for row, brokers in enumerate(state.replicas.tolist())
            for broker in brokers
            if broker != NO_BROKER
        )
        texts[LOG_DIRS] = log_dirs_json(replicas, _LOG_DIR)
    return {name: text.encode() for name, text in texts.items()}


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


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Limits of a batch; None for unlimited.

    Attributes:
        partitions: Maximum number of changed partitions, at least 1.
        bytes: Maximum number of bytes to copy.
        throttle_bytes_per_s: Replication throttle of each broker, in and out.
    """

    partitions: int | None = None
    bytes: int | None = None
    throttle_bytes_per_s: int | None = None

    @property
    def splits_plan(self) -> bool:
        """Whether the limits divide a plan into batches."""
        return self.partitions is not None or self.bytes is not None


def split_into_batches(changes: Sequence[ReplicaChange], limits: BatchLimits) -> list[list[ReplicaChange]]:
    """Divide changes into batches, keeping their order; raise ValueError if bytes are limited but sizes are unknown."""
    batches: list[list[ReplicaChange]] = []
    batch_bytes = 0
    for change in changes:
        copied_bytes = _limited_bytes(change, limits)
        if not batches or not _fits(len(batches[-1]) + 1, batch_bytes + copied_bytes, limits):
            batches.append([])
            batch_bytes = 0
        batches[-1].append(change)
        batch_bytes += copied_bytes
    return batches


def _limited_bytes(change: ReplicaChange, limits: BatchLimits) -> int:
    """Return the bytes of a change that count towards the limit; 0 if bytes are unlimited.

    Raises ValueError if bytes are limited but the size is unknown.
    """
    if limits.bytes is None:
        return 0
    if change.copied_bytes is None:
        raise ValueError(f"unknown size of {change.key}")
    return change.copied_bytes


def _fits(partitions: int, copied_bytes: int, limits: BatchLimits) -> bool:
    if limits.partitions is not None and partitions > limits.partitions:
        return False
    return limits.bytes is None or copied_bytes <= limits.bytes


REASSIGNMENT, ELECTION, ROLLBACK = "reassignment.json", "election.json", "rollback.json"
EXECUTE_SCRIPT, ROLLBACK_SCRIPT = "execute.sh", "rollback.sh"


def plan_files(
    changes: Sequence[ReplicaChange],
    further_elections: Sequence[TopicPartition] = (),
    limits: BatchLimits | None = None,
) -> dict[str, bytes]:
    """Write a plan as files for Kafka's tools.

    `further_elections`: unchanged partitions that need a leader election; part of the last batch. `limits`: limits of a
    batch; by default the plan is one batch without a folder. Returns content by relative path: `reassignment.json`,
    `election.json` and `rollback.json`, in `batch-001/` and so on. Files without partitions are omitted.
    `election.json` serves the rollback, too. With a throttle, `execute.sh` and `rollback.sh` execute each batch and
    roll it back.
    """
    limits = limits or BatchLimits()
    batches: list[list[ReplicaChange]] = split_into_batches(changes, limits) or [[]]
    digits = max(3, len(str(len(batches))))
    files: dict[str, bytes] = {}
    for number, batch in enumerate(batches, start=1):
        folder = f"batch-{number:0{digits}}/" if limits.splits_plan else ""
        elections = further_elections if number == len(batches) else ()
        texts = dict(_batch_files(batch, elections))
        if limits.throttle_bytes_per_s is not None:
            title = f"batch {number} of {len(batches)}" if limits.splits_plan else "the plan"
            texts |= dict(_scripts(batch, texts, title, limits.throttle_bytes_per_s))
        files |= {f"{folder}{name}": text.encode() for name, text in texts.items()}
    return files


def _scripts(
    batch: Sequence[ReplicaChange], texts: Mapping[str, str], title: str, throttle_bytes_per_s: int
) -> Iterator[tuple[str, str]]:
    election = ELECTION if ELECTION in texts else ""
    if texts:
        reassignment = REASSIGNMENT if REASSIGNMENT in texts else ""
        action = f"Execute {title}"
        yield EXECUTE_SCRIPT, script_text(EXECUTE_SCRIPT, action, batch, reassignment, election, throttle_bytes_per_s)
    if ROLLBACK in texts:
        reversed_changes = [reverse_change(change) for change in batch if is_reversible(change)]
        action = f"Roll back {title}"
        yield (
            ROLLBACK_SCRIPT,
            script_text(ROLLBACK_SCRIPT, action, reversed_changes, ROLLBACK, election, throttle_bytes_per_s),
        )


def _batch_files(
    batch: Sequence[ReplicaChange], further_elections: Sequence[TopicPartition]
) -> Iterator[tuple[str, str]]:
    if batch:
        log_dirs = {change.key: change.new_log_dirs for change in batch}
        yield REASSIGNMENT, reassignment_json(((change.key, change.new) for change in batch), log_dirs)
    elections = sorted([change.key for change in batch if change.needs_election] + list(further_elections))
    if elections:
        yield ELECTION, election_json(elections)
    reversible = [change for change in batch if is_reversible(change)]
    if reversible:
        log_dirs = {change.key: change.old_log_dirs for change in reversible}
        yield ROLLBACK, reassignment_json(((change.key, change.old) for change in reversible), log_dirs)


_PREAMBLE = """\
#!/bin/sh
# {about}
# Usage: BOOTSTRAP=host:9092 sh {name}
# Optional: COMMAND_CONFIG=client.properties (TLS, SASL), KAFKA_BIN=/opt/kafka/bin, INTERVAL=30 (seconds).
set -eu
: "${{BOOTSTRAP:?set it to host:port of a broker}}"
here=$(dirname "$0")

run() {{
  tool=${{KAFKA_BIN:+$KAFKA_BIN/}}$1 config=$2
  shift 2
  "$tool" --bootstrap-server "$BOOTSTRAP" ${{COMMAND_CONFIG:+"$config" "$COMMAND_CONFIG"}} "$@"
}}
"""

_REASSIGN = """
reassign() {{
  run kafka-reassign-partitions.sh --command-config --reassignment-json-file "$here/{file}" "$@"
}}

# Continue a reassignment that was interrupted.
case $(reassign --verify) in
  *"is still in progress"*) ;;
  *) reassign --execute{throttles} ;;
esac
while :; do
  state=$(reassign --verify)
  case $state in *"is still in progress"*) sleep "${{INTERVAL:-30}}" ;; *) break ;; esac
done
printf '%s\\n' "$state"
case $state in
  *"rather than"* | *"not found"* | *"cannot be found"* | *"being moved"*) exit 1 ;;
esac
"""

_ELECT = """
run kafka-leader-election.sh --admin.config --election-type preferred --path-to-json-file "$here/{file}"
"""


def script_text(
    name: str,
    action: str,
    changes: Sequence[ReplicaChange],
    reassignment: str,
    election: str,
    throttle_bytes_per_s: int,
) -> str:
    """Return a shell script.

    `action`: what the script does, such as `Execute batch 1 of 4`. `reassignment`: name of the reassignment file in the
    same folder; empty if there is none. `election`: name of the election file in the same folder; empty if there is
    none.
    """
    throttles = f" --throttle {throttle_bytes_per_s}"
    if any(moves_log_dir(change) for change in changes):
        throttles += f" --replica-alter-log-dirs-throttle {throttle_bytes_per_s}"
    text = _PREAMBLE.format(about=_summary(action, changes, throttle_bytes_per_s), name=name)
    if reassignment:
        text += _REASSIGN.format(file=reassignment, throttles=throttles)
    if election:
        text += _ELECT.format(file=election)
    return text


def min_duration_ms(changes: Sequence[ReplicaChange], throttle_bytes_per_s: int) -> int | None:
    """Return a lower bound of the time to copy changes, from what each broker sends and receives; None if unknown.

    Leaders send, and stay until all is copied.
    """
    sent, received = Counter[int](), Counter[int]()
    for change in changes:
        if change.copied_bytes is None:
            return None
        sent[change.leader] += change.copied_bytes
        received.update(dict.fromkeys(change.receivers, change.size_bytes or 0))
    return -(-max((*sent.values(), *received.values()), default=0) * 1000 // throttle_bytes_per_s)


def _summary(action: str, changes: Sequence[ReplicaChange], throttle_bytes_per_s: int) -> str:
    partitions = counted(len(changes), "partition")
    bound_ms = min_duration_ms(changes, throttle_bytes_per_s)
    if bound_ms is None:
        return f"{action}: {partitions}, {throttle_bytes_per_s:,} bytes/s per broker."
    copied_bytes = sum(change.copied_bytes or 0 for change in changes)
    duration = format_duration(max(1000, round(bound_ms, -3)))
    return (
        f"{action}: {partitions}, {copied_bytes:,} bytes to copy; at least {duration} at {throttle_bytes_per_s:,} "
        "bytes/s per broker."
    )
