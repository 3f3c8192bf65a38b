"""Candidates tried side by side: the same seeds for all of them, drawn for this trial alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeline.recommend.limits import Flaw, Limit, flaws
from pipeline.recommend.objective import Objective
from pipeline.recommend.space import Candidate, Space
from pipeline.statistics import Floats
from reports.metric import Run

Evaluate = Callable[[Sequence[Candidate], Sequence[int]], Sequence[Sequence[Run]]]
"""Makes the runs: for each candidate, in order, one row of the table `runs` (with its `error`) for each seed."""


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
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
    flaws: tuple[tuple[Flaw, ...], ...]

    @property
    def is_feasible(self) -> bool:
        """Whether every run is acceptable."""
        return not any(self.flaws)

    @property
    def mean(self) -> float:
        """The mean objective of the runs in which it is known; infinite if it is in none."""
        known = self.values[~np.isnan(self.values)]
        return float(known.mean()) if len(known) else np.inf

    @property
    def causes(self) -> Counter[str]:
        """What is wrong, with the number of runs."""
        return Counter(flaw.cause for of_run in self.flaws for flaw in of_run)

    @property
    def badness(self) -> float:
        """How far off the runs are on average; 0 if all are acceptable."""
        return sum(flaw.size for of_run in self.flaws for flaw in of_run) / max(len(self.runs), 1)


@dataclass(slots=True, eq=False)
class Bench:
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

    space: Space
    objective: Objective
    limits: Sequence[Limit]
    evaluate: Evaluate
    first_seed: int = 1
    runs: int = 0
    tried: dict[Candidate, Tried] = field(default_factory=dict)
    _seed: int = 0

    def attempt(self, candidates: Sequence[Candidate], seeds: int) -> list[Tried]:
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

    def ranked(self, found: Sequence[Tried]) -> list[Tried]:
        """The acceptable ones first, by the objective; then by how far off they are. Of equal ones, those that change
        least."""
        return sorted(found, key=lambda each: (each.badness, each.mean, self.space.order(each.candidate)))

    def _judged(self, candidate: Candidate, runs: Sequence[Run]) -> Tried:
        known = [self.objective.of(run) if run["error"] is None else None for run in runs]
        values = np.array([np.nan if value is None else value for value in known])
        return Tried(
            candidate, tuple(runs), values, tuple(tuple(flaws(run, self.objective, self.limits)) for run in runs)
        )
