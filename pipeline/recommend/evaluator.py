"""Candidates tried side by side: the same seeds for all of them, drawn for this trial alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeline.recommend.limits import Limit, Violation, violations
from pipeline.recommend.objective import Objective
from pipeline.recommend.space import Candidate, SearchSpace
from reports.analysis.metric import Run
from reports.analysis.statistics import Floats

RunCandidates = Callable[[Sequence[Candidate], Sequence[int]], Sequence[Sequence[Run]]]
"""Makes the runs: for each candidate, in order, one row of the table `runs` (with its `error`) for each seed."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """What a candidate came to in a trial.

    Attributes:
        candidate: who.
        runs: one a seed.
        values: the objective of each run, NaN where it is not known.
        flaws: of each run.
    """

    candidate: Candidate
    runs: tuple[Run, ...]
    values: Floats
    violations: tuple[tuple[Violation, ...], ...]

    @property
    def is_feasible(self) -> bool:
        """Whether every run is acceptable."""
        return not any(self.violations)

    @property
    def mean(self) -> float:
        """The mean objective of the runs in which it is known; infinite if it is in none."""
        known = self.values[~np.isnan(self.values)]
        return float(known.mean()) if len(known) else np.inf

    @property
    def causes(self) -> Counter[str]:
        """What is wrong, with the number of runs."""
        return Counter(flaw.cause for of_run in self.violations for flaw in of_run)

    @property
    def badness(self) -> float:
        """How far off the runs are on average; 0 if all are acceptable."""
        return sum(flaw.size for of_run in self.violations for flaw in of_run) / max(len(self.runs), 1)


@dataclass(slots=True, eq=False)
class Evaluator:
    """Where candidates are tried, and the book of what was.

    Attributes:
        space: what they are of.
        objective: what they are judged by.
        limits: what they have to hold.
        evaluate: makes the runs.
        first_seed: of the first trial; each takes those that come next.
        runs: how many were made.
        tried: every candidate with what it came to when it was tried last.
    """

    space: SearchSpace
    objective: Objective
    limits: Sequence[Limit]
    evaluate: RunCandidates
    first_seed: int = 1
    runs: int = 0
    tried: dict[Candidate, Evaluation] = field(default_factory=dict)
    _seed: int = 0

    def attempt(self, candidates: Sequence[Candidate], seeds: int) -> list[Evaluation]:
        """Try candidates with so many seeds that nobody has met before.

        Returns:
            What each came to, in their order.
        """
        first = self.first_seed + self._seed
        self._seed += seeds
        self.runs += len(candidates) * seeds
        made = self.evaluate(candidates, range(first, first + seeds))
        found = [self._judged(candidate, runs) for candidate, runs in zip(candidates, made, strict=True)]
        self.tried |= {each.candidate: each for each in found}
        return found

    def ranked(self, found: Sequence[Evaluation]) -> list[Evaluation]:
        """The acceptable ones first, by the objective; then by how far off they are. Of equal ones, those that change
        least."""
        return sorted(found, key=lambda each: (each.badness, each.mean, self.space.order(each.candidate)))

    def _judged(self, candidate: Candidate, runs: Sequence[Run]) -> Evaluation:
        known = [self.objective.of(run) if run["error"] is None else None for run in runs]
        values = np.array([np.nan if value is None else value for value in known])
        return Evaluation(
            candidate, tuple(runs), values, tuple(tuple(violations(run, self.objective, self.limits)) for run in runs)
        )
