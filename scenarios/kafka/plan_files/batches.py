"""A plan in steps small enough to be carried out one after the other.

Guarantees: every change is in one batch, in the order of topic and partition. Each batch keeps to the limits, but a
partition too large for any of them has one alone. A partition moves whole, so that between batches it has its replicas
of before or those of after, never a mixture.
Complexity: O(changes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scenarios.kafka.plan_files.changes import ReplicaChange


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """What a batch may come to, and how fast it may be copied; None for as much as there is.

    Attributes:
        partitions: how many change, at least 1.
        bytes: what has to be copied.
        throttle_bytes_per_s: what a broker may receive and send for it.
    """

    partitions: int | None = None
    bytes: int | None = None
    throttle_bytes_per_s: int | None = None

    @property
    def any(self) -> bool:
        """Whether the plan is cut into batches."""
        return self.partitions is not None or self.bytes is not None


def split_into_batches(changes: Sequence[ReplicaChange], limits: BatchLimits) -> list[list[ReplicaChange]]:
    """Cut a plan into batches, in the order of its changes.

    Raises:
        ValueError: bytes are limited, and sizes are not known.
    """
    cut: list[list[ReplicaChange]] = []
    held = 0
    for change in changes:
        amount = _amount(change, limits)
        if not cut or not _fits(len(cut[-1]) + 1, held + amount, limits):
            cut.append([])
            held = 0
        cut[-1].append(change)
        held += amount
    return cut


def _amount(change: ReplicaChange, limits: BatchLimits) -> int:
    if limits.bytes is None:
        return 0
    if change.copied_bytes is None:
        raise ValueError(f"the size of {change.key} is not known")
    return change.copied_bytes


def _fits(partitions: int, copied_bytes: int, limits: BatchLimits) -> bool:
    if limits.partitions is not None and partitions > limits.partitions:
        return False
    return limits.bytes is None or copied_bytes <= limits.bytes
