"""Evaluation of candidates side by side with the same fresh seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeline.recommend.limits import ConstraintViolation, Limit, violations
from pipeline.recommend.objective import Objective
from pipeline.recommend.space import Candidate, SearchSpace
from reports.analysis.metrics import Run
from reports.analysis.statistics import Floats

RunCandidates = Callable[[Sequence[Candidate], Sequence[int]], Sequence[Sequence[Run]]]
"""Runs candidates: returns for each candidate, in order, one row of the table `runs` (with its `error`) per seed."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Runs of one candidate.

    Attributes:
        runs: one per seed.
        values: shape (runs,); the objective, NaN where unknown.
        violations: for each run, the reasons why it is infeasible.
    """

    candidate: Candidate
    runs: tuple[Run, ...]
    values: Floats
    violations: tuple[tuple[ConstraintViolation, ...], ...]

    @property
    def is_feasible(self) -> bool:
        """Return whether every run is feasible."""
        return not any(self.violations)

    @property
    def mean(self) -> float:
        """Return the mean objective of the runs where it is known; infinite if it is unknown for all."""
        known = self.values[~np.isnan(self.values)]
        return float(known.mean()) if len(known) else np.inf

    @property
    def causes(self) -> Counter[str]:
        """Return the number of runs per reason."""
        return Counter(violation.cause for run_violations in self.violations for violation in run_violations)

    @property
    def mean_violation(self) -> float:
        """Return the mean size of the violations; 0 if all runs are feasible."""
        total = sum(violation.size for run_violations in self.violations for violation in run_violations)
        return total / max(len(self.runs), 1)


@dataclass(slots=True, eq=False)
class Evaluator:
    """Evaluates candidates and records the results.

    Attributes:
        first_seed: the first seed to use.
        runs: number of runs so far.
        evaluations: the latest evaluation of each candidate.
    """

    space: SearchSpace
    objective: Objective
    limits: Sequence[Limit]
    run_candidates: RunCandidates
    first_seed: int = 1
    runs: int = 0
    evaluations: dict[Candidate, Evaluation] = field(default_factory=dict)
    _seed: int = 0

    def evaluate(self, candidates: Sequence[Candidate], seeds: int) -> list[Evaluation]:
        """Evaluate candidates with fresh seeds, the same for all.

        Returns one evaluation per candidate, in their order.
        """
        first = self.first_seed + self._seed
        self._seed += seeds
        self.runs += len(candidates) * seeds
        runs_by_candidate = self.run_candidates(candidates, range(first, first + seeds))
        evaluations = [
            self._evaluation(candidate, runs) for candidate, runs in zip(candidates, runs_by_candidate, strict=True)
        ]
        self.evaluations |= {evaluation.candidate: evaluation for evaluation in evaluations}
        return evaluations

    def rank(self, evaluations: Sequence[Evaluation]) -> list[Evaluation]:
        """Sort evaluations: feasible ones first, by objective; then by violations. Ties go to the fewest changes."""
        return sorted(
            evaluations,
            key=lambda evaluation: (
                evaluation.mean_violation,
                evaluation.mean,
                self.space.tie_breaker(evaluation.candidate),
            ),
        )

    def _evaluation(self, candidate: Candidate, runs: Sequence[Run]) -> Evaluation:
        known = [self.objective.of(run) if run["error"] is None else None for run in runs]
        values = np.array([np.nan if value is None else value for value in known])
        return Evaluation(
            candidate, tuple(runs), values, tuple(tuple(violations(run, self.objective, self.limits)) for run in runs)
        )
