"""The invariants of the copies of task state, which tests check after every change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from assignors.model.columns import BoolArray
from simulator.errors import InvalidStateError
from simulator.flows.assigned_copies import AssignedCopies
from simulator.world.layout import FloatArray

ROUNDING_BYTES: Final = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """The state of K assigned copies of T tasks on N clients.

    Attributes:
        copies: the assigned copies.
        expected: the copies of the current assignment.
        held_bytes: shape (T, N); how much of each changelog each client holds.
        end_bytes: shape (T,); the length of each changelog.
        rate: shape (K,); bytes per second that each copy reads, or writes if it runs.
        is_restoring: shape (K,); the active tasks that restore.
        cannot_read: shape (K,); the copies that wait, or whose changelogs have no leader.
    """

    copies: AssignedCopies
    expected: AssignedCopies
    held_bytes: FloatArray
    end_bytes: FloatArray
    rate: FloatArray
    is_restoring: BoolArray
    cannot_read: BoolArray


def validate_copies(state: Copies, running: BoolArray) -> None:
    """Check that the copies are those of the assignment, and that their positions and rates are possible.

    Args:
        state: the copies.
        running: shape (T,); whether the active task runs.

    Raises:
        InvalidStateError: an invariant is violated; the message says which.
    """
    copies, held, end, rate = state.copies, state.held_bytes, state.end_bytes, state.rate
    reads = ~(copies.active & running[copies.task])
    caught_up = end[copies.task] - held[copies.task, copies.client] <= ROUNDING_BYTES
    restores = np.isin(copies.client, copies.client[state.is_restoring])
    require(_listed(copies) == _listed(state.expected), "the assigned copies are not those of the assignment")
    require((held >= 0).all(), "a copy holds less than nothing")
    require((held <= end[:, None] + ROUNDING_BYTES).all(), "a copy is ahead of its changelog")
    require(caught_up[~reads].all(), "a running task lacks a part of its state")
    require(not rate[~copies.active & restores].any(), "a standby reads while its client restores active tasks")
    require(not rate[reads & state.cannot_read].any(), "a copy reads that waits or whose changelog has no leader")


def require(holds: bool | np.bool_, violation: str) -> None:
    """Raise an error unless an invariant holds."""
    if not holds:
        raise InvalidStateError(f"restoration: {violation}")


def _listed(copies: AssignedCopies) -> list[tuple[int, int, bool]]:
    return sorted(zip(copies.task.tolist(), copies.client.tolist(), copies.active.tolist(), strict=True))
