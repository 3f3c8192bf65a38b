"""How much of what was predicted came true, by dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.fidelity.stored_confirmation import StoredConfirmation

_Count = Callable[[StoredConfirmation], int]


@dataclass(frozen=True, slots=True)
class Share:
    """How many of what was compared were as predicted.

    Attributes:
        correct: Number as predicted.
        total: Number compared.
    """

    correct: int
    total: int

    @property
    def ratio(self) -> float:
        """Share between 0 and 1; 1 if nothing was compared."""
        return self.correct / self.total if self.total else 1.0

    def __str__(self) -> str:
        return f"{self.correct:,} of {self.total:,}"

    @property
    def percent(self) -> str:
        """Share in percent, or a dash if nothing was compared."""
        return f"{100 * self.ratio:.0f} %" if self.total else "–"


@dataclass(frozen=True, slots=True)
class ComparedDimension:
    """A dimension of comparison.

    Attributes:
        title: Title in tables.
        unit: What is counted.
        correct: Number as predicted in one confirmation.
        total: Number compared in one confirmation.
        target: The share that the simulator should reach; None if none is set.
    """

    title: str
    unit: str
    correct: _Count
    total: _Count
    target: float | None = None

    def share(self, confirmations: Sequence[StoredConfirmation]) -> Share:
        """Return the share over confirmations."""
        return Share(sum(map(self.correct, confirmations)), sum(map(self.total, confirmations)))


def _one(_: StoredConfirmation) -> int:
    return 1


TASKS = ComparedDimension("tasks by process", "steps", lambda stored: not stored.differences, _one)
THREADS = ComparedDimension(
    "tasks by thread",
    "active tasks",
    lambda stored: stored.tasks_on_predicted_thread if stored.threads else 0,
    lambda stored: stored.active_tasks if stored.threads else 0,
)
REBALANCES = ComparedDimension("number of rebalances", "steps", lambda stored: stored.has_predicted_count, _one, 0.95)
TIMES = ComparedDimension(
    "time of each rebalance", "rebalances", lambda stored: stored.close_times, lambda stored: stored.times, 0.9
)
CONVERGENCE = ComparedDimension("time to converge", "steps", lambda stored: stored.converges_as_predicted, _one)
RESTORED = ComparedDimension("restored bytes", "steps", lambda stored: stored.restores_as_predicted, _one)
REPLAYED = ComparedDimension(
    "leader decisions replayed", "decisions", lambda stored: stored.replayed_alike, lambda stored: stored.replayed
)
DIMENSIONS = (TASKS, THREADS, REBALANCES, TIMES, CONVERGENCE, RESTORED, REPLAYED)
