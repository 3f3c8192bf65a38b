"""The files of a plan: reassignment, leader election and rollback, optionally in batches and with scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.reassignment import election_json, reassignment_json
from scenarios.kafka.plan_files.batches import BatchLimits, split_into_batches
from scenarios.kafka.plan_files.changes import ReplicaChange, is_reversible, reverse_change
from scenarios.kafka.plan_files.scripts import script_text

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
