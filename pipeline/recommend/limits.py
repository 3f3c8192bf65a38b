"""Limits that every run of a recommended setting must meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pipeline.recommend.errors import RecommendError
from pipeline.recommend.objective import Objective
from reports.analysis.metrics import METRIC, Run
from scenarios.language.units import parse_duration_ms
from simulator.results.verdict import INCOMPARABLE, Verdict

DOES_NOT_CONVERGE = "does not converge"
"""Reason for a run that has not converged at its end."""

REDUNDANCY_METRICS: Final = ("tasks_without_rack_redundancy", "worst_client_loss")
"""Metrics of stateful tasks that lose all copies if one rack or one client fails; racks may be unknown."""

_FAILED_SIZE = 100.0
"""Size of the violation of a failed run, in multiples of a limit: larger than any that a completed run has."""
_NOT_CONVERGED_SIZE = 10.0
_CONVERGENCE = {"time_to_converge_ms", "rebalances_to_converge"}
"""Metrics that are unknown for a run whose assignment is final while copies still restore."""


@dataclass(frozen=True, slots=True)
class Limit:
    """An upper limit of a metric per run.

    Attributes:
        option: the command line option, such as `--max-moves`.
        metric: name of the metric.
        maximum: the limit, in the unit of the metric.
        other_metrics: other metrics of the same unit with the same limit.
    """

    option: str
    metric: str
    maximum: float
    other_metrics: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.option} {METRIC[self.metric].write(self.maximum)}"

    def of(self, run: Run) -> float | None:
        """Return the largest of the limited metrics of a run; None if all are unknown."""
        values = [METRIC[name].of(run) for name in (self.metric, *self.other_metrics)]
        return max((value for value in values if value is not None), default=None)

    def excess(self, run: Run) -> float:
        """Return the excess of a run over the limit as a share of the limit; 0 if within the limit or unknown."""
        value = self.of(run)
        return 0.0 if value is None or value <= self.maximum else (value - self.maximum) / max(self.maximum, 1.0)


@dataclass(frozen=True, slots=True)
class ConstraintViolation:
    """A reason why a run is infeasible.

    Attributes:
        cause: the reason as text, equal for all runs with this reason.
        size: size of the violation, positive.
    """

    cause: str
    size: float


def parse_limits(
    moves: float | None = None,
    downtime: str | None = None,
    convergence: str | None = None,
    unprotected: int | None = None,
) -> list[Limit]:
    """Parse the limits of the command line.

    `moves`: maximum number of task moves; `downtime`: maximum total downtime of all tasks, such as `20s`;
    `convergence`: maximum time from any event until the group has converged, such as `30m`; `unprotected`: maximum
    number of stateful tasks with all copies in one rack or on one client. Returns the limits that are set. Raises
    RecommendError if a duration is invalid.
    """
    parsed = [] if moves is None else [Limit("--max-moves", "active_moves", moves)]
    for option, metric, text in (
        ("--max-downtime", "downtime_ms", downtime),
        ("--max-convergence", "time_to_converge_ms", convergence),
    ):
        if text is not None:
            try:
                parsed.append(Limit(option, metric, parse_duration_ms(text)))
            except ValueError as error:
                raise RecommendError(f"{option}: {error}") from None
    if unprotected is not None:
        parsed.append(Limit("--max-unprotected-tasks", REDUNDANCY_METRICS[0], unprotected, REDUNDANCY_METRICS[1:]))
    return parsed


def violations(run: Run, objective: Objective, limits: Sequence[Limit]) -> list[ConstraintViolation]:
    """Return the reasons why a run is infeasible; empty if it is feasible.

    `run`: a row of the table `runs`, with its `error`; `objective`: the objective, which must be known for the run.
    """
    if run["error"] is not None:
        return [ConstraintViolation(f"raises an error ({run['error']})", _FAILED_SIZE)]
    if run["verdict"] in INCOMPARABLE:
        return [ConstraintViolation(f"ends without an assignment ({run['cause'] or run['verdict']})", _FAILED_SIZE)]
    reasons = [ConstraintViolation(f"exceeds {limit}", excess) for limit in limits if (excess := limit.excess(run))]
    used_metrics = {*objective.metrics, *(limit.metric for limit in limits)}
    if run["verdict"] not in (Verdict.STABLE, Verdict.RESTORING) or (
        run["verdict"] == Verdict.RESTORING and used_metrics & _CONVERGENCE
    ):
        reasons.append(ConstraintViolation(DOES_NOT_CONVERGE, _NOT_CONVERGED_SIZE))
    elif objective.of(run) is None:
        reasons.append(
            ConstraintViolation(f"has no {objective.text}: one of its metrics is unknown", _NOT_CONVERGED_SIZE)
        )
    return reasons
