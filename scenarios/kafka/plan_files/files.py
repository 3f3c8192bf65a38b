"""The files of a plan: what is to be carried out, in batches if asked, each with what undoes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.leader_election import election_json
from scenarios.kafka.formats.reassignment_writer import reassignment_json
from scenarios.kafka.plan_files.batches import BatchLimits, split_into_batches
from scenarios.kafka.plan_files.changes import ReplicaChange, is_reversible, reverse_change
from scenarios.kafka.plan_files.scripts import script_text

REASSIGNMENT, ELECTION, ROLLBACK = "reassignment.json", "election.json", "rollback.json"
EXECUTE_SCRIPT, ROLLBACK_SCRIPT = "execute.sh", "rollback.sh"


def plan_files(
    changes: Sequence[ReplicaChange], led_by_others: Sequence[TopicPartition] = (), limits: BatchLimits | None = None
) -> dict[str, bytes]:
    """Write a plan.

    Args:
        changes: what it changes.
        led_by_others: further partitions for an election, which go into the last batch.
        limits: of a batch; without any the plan is one, and in no folder of its own.

    Returns:
        Content by relative path: `reassignment.json`, `election.json` and `rollback.json`, in `batch-001/` and so on.
        A file of which no partition is left out; the election also elects after a rollback. With a throttle,
        `execute.sh` and `rollback.sh` carry each batch out and undo it.

    Raises:
        ValueError: as in `batches`.
    """
    bounds = limits or BatchLimits()
    cut: list[list[ReplicaChange]] = split_into_batches(changes, bounds) or [[]]
    digits = max(3, len(str(len(cut))))
    written: dict[str, bytes] = {}
    for number, batch in enumerate(cut, start=1):
        folder = f"batch-{number:0{digits}}/" if bounds.any else ""
        others = led_by_others if number == len(cut) else ()
        texts = dict(_batch_files(batch, others))
        if bounds.throttle_bytes_per_s is not None:
            named = f"batch {number} of {len(cut)}" if bounds.any else "the plan"
            texts |= dict(_scripts(batch, texts, named, bounds.throttle_bytes_per_s))
        written |= {f"{folder}{name}": text.encode() for name, text in texts.items()}
    return written


def _scripts(
    batch: Sequence[ReplicaChange], texts: Mapping[str, str], named: str, throttle_bytes_per_s: int
) -> Iterator[tuple[str, str]]:
    election = ELECTION if ELECTION in texts else ""
    if texts:
        reassignment = REASSIGNMENT if REASSIGNMENT in texts else ""
        about = f"Carry out {named}"
        yield EXECUTE_SCRIPT, script_text(EXECUTE_SCRIPT, about, batch, reassignment, election, throttle_bytes_per_s)
    if ROLLBACK in texts:
        undone = [reverse_change(change) for change in batch if is_reversible(change)]
        about = f"Undo {named}"
        yield ROLLBACK_SCRIPT, script_text(ROLLBACK_SCRIPT, about, undone, ROLLBACK, election, throttle_bytes_per_s)


def _batch_files(batch: Sequence[ReplicaChange], others: Sequence[TopicPartition]) -> Iterator[tuple[str, str]]:
    if batch:
        log_dirs = {change.key: change.new_log_dirs for change in batch}
        yield REASSIGNMENT, reassignment_json(((change.key, change.new) for change in batch), log_dirs)
    elected = sorted([change.key for change in batch if change.needs_election] + list(others))
    if elected:
        yield ELECTION, election_json(elected)
    undone = [change for change in batch if is_reversible(change)]
    if undone:
        log_dirs = {change.key: change.old_log_dirs for change in undone}
        yield ROLLBACK, reassignment_json(((change.key, change.old) for change in undone), log_dirs)
