"""What a setting has to hold to be recommended at all, in every single run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pipeline.recommend.errors import RecommendError
from pipeline.recommend.objective import Objective
from reports.analysis.metric import Run
from reports.analysis.metrics import METRIC
from scenarios.language.units import parse_duration_ms

DOES_NOT_CONVERGE = "does not come to rest"
"""What is wrong with a run at whose end tasks still move, or would at the next rebalance."""

REDUNDANCY_METRICS: Final = ("tasks_without_rack_redundancy", "worst_client_loss")
"""Metrics of the stateful tasks that lose all copies if one rack fails, or one client; racks may be unknown."""

_NOTHING_MADE = 100.0
"""How far off a run is that fails, in multiples of a limit: further than any that ends, whatever it moves."""
_NO_REST = 10.0
_CONVERGENCE = {"time_to_converge_ms", "rebalances_to_converge"}
"""What is not known of a run whose assignment is final while tasks or standbys still restore."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The most of a metric that a run may have.

    Attributes:
        option: how it was asked for, such as `--max-moves`.
        metric: its name.
        most: in the metric's unit.
        also: other metrics of the same unit that must not exceed it either.
    """

    option: str
    metric: str
    most: float
    also: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.option} {METRIC[self.metric].write(self.most)}"

    def of(self, run: Run) -> float | None:
        """Return the largest of the limited metrics of a run; None if none of them is known."""
        values = [METRIC[name].of(run) for name in (self.metric, *self.also)]
        return max((value for value in values if value is not None), default=None)

    def excess(self, run: Run) -> float:
        """By what share of the limit a run is above it; 0 if it is not, or if it is not known how much it has."""
        value = self.of(run)
        return 0.0 if value is None or value <= self.most else (value - self.most) / max(self.most, 1.0)


@dataclass(frozen=True, slots=True)
class Violation:
    """Why a run is not acceptable.

    Attributes:
        cause: in words, the same for all runs with this flaw.
        size: how bad it is, over 0; a run just over a limit has little.
    """

    cause: str
    size: float


def parse_limits(
    moves: float | None = None,
    downtime: str | None = None,
    convergence: str | None = None,
    unprotected: int | None = None,
) -> list[Limit]:
    """Read the limits that were asked for.

    Args:
        moves: most tasks that move.
        downtime: most downtime, all tasks together, such as `20s`.
        convergence: most time from any event until the group has converged, such as `30m`.
        unprotected: most stateful tasks that one rack, or one client, takes all copies of.

    Raises:
        RecommendError: a time that is none.
    """
    asked = [] if moves is None else [Limit("--max-moves", "active_moves", moves)]
    for option, metric, text in (
        ("--max-downtime", "downtime_ms", downtime),
        ("--max-convergence", "time_to_converge_ms", convergence),
    ):
        if text is not None:
            try:
                asked.append(Limit(option, metric, parse_duration_ms(text)))
            except ValueError as error:
                raise RecommendError(f"{option}: {error}") from None
    if unprotected is not None:
        asked.append(Limit("--max-unprotected-tasks", REDUNDANCY_METRICS[0], unprotected, REDUNDANCY_METRICS[1:]))
    return asked


def violations(run: Run, objective: Objective, within: Sequence[Limit]) -> list[Violation]:
    """All that is wrong with a run; nothing if it is acceptable.

    Args:
        run: a row of the table `runs`, with its `error`.
        objective: has to be known.
        within: what it has to hold.
    """
    if run["error"] is not None:
        return [Violation(f"comes to an error ({run['error']})", _NOTHING_MADE)]
    if run["verdict"] in ("failed", "empty"):
        return [Violation(f"comes to no assignment ({run['cause'] or run['verdict']})", _NOTHING_MADE)]
    found = [Violation(f"breaks {limit}", excess) for limit in within if (excess := limit.excess(run))]
    looks_at = {*objective.metrics, *(limit.metric for limit in within)}
    if run["verdict"] not in ("stable", "restoring") or (run["verdict"] == "restoring" and looks_at & _CONVERGENCE):
        found.append(Violation(DOES_NOT_CONVERGE, _NO_REST))
    elif objective.of(run) is None:
        found.append(Violation(f"has no {objective.text}: a figure in it is not known", _NO_REST))
    return found
