"""The files of a plan: what is to be carried out, in batches if asked, each with what undoes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assignors.ids import TopicPartition
from scenarios.exporters.batches import Limits, batches
from scenarios.exporters.changes import Change, can_undo, undo
from scenarios.exporters.election import election_text
from scenarios.exporters.reassignment import reassignment_text
from scenarios.exporters.scripts import script_text

REASSIGNMENT, ELECTION, ROLLBACK = "reassignment.json", "election.json", "rollback.json"
EXECUTE_SCRIPT, ROLLBACK_SCRIPT = "execute.sh", "rollback.sh"


def plan_files(
    changes: Sequence[Change], led_by_others: Sequence[TopicPartition] = (), limits: Limits | None = None
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
    bounds = limits or Limits()
    cut: list[list[Change]] = batches(changes, bounds) or [[]]
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
    batch: Sequence[Change], texts: Mapping[str, str], named: str, throttle_bytes_per_s: int
) -> Iterator[tuple[str, str]]:
    election = ELECTION if ELECTION in texts else ""
    if texts:
        reassignment = REASSIGNMENT if REASSIGNMENT in texts else ""
        about = f"Carry out {named}"
        yield EXECUTE_SCRIPT, script_text(EXECUTE_SCRIPT, about, batch, reassignment, election, throttle_bytes_per_s)
    if ROLLBACK in texts:
        undone = [undo(change) for change in batch if can_undo(change)]
        about = f"Undo {named}"
        yield ROLLBACK_SCRIPT, script_text(ROLLBACK_SCRIPT, about, undone, ROLLBACK, election, throttle_bytes_per_s)


def _batch_files(batch: Sequence[Change], others: Sequence[TopicPartition]) -> Iterator[tuple[str, str]]:
    if batch:
        log_dirs = {change.key: change.new_log_dirs for change in batch}
        yield REASSIGNMENT, reassignment_text(((change.key, change.new) for change in batch), log_dirs)
    elected = sorted([change.key for change in batch if change.needs_election] + list(others))
    if elected:
        yield ELECTION, election_text(elected)
    undone = [change for change in batch if can_undo(change)]
    if undone:
        log_dirs = {change.key: change.old_log_dirs for change in undone}
        yield ROLLBACK, reassignment_text(((change.key, change.old) for change in undone), log_dirs)
