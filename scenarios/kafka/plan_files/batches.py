"""Division of a plan into batches that are executed one after another.

Guarantees: each change is in exactly one batch, in the order of topic and partition. Each batch respects the limits,
except that a partition that exceeds them alone forms its own batch. Partitions are never split: between batches,
a partition has either its old or its new replicas.
Complexity: O(changes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scenarios.kafka.plan_files.changes import ReplicaChange


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
