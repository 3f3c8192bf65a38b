"""Runs computed by a formula instead of simulated on Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.advise.objective import parse_objective
from pipeline.advise.recommender import MetricEvaluator
from pipeline.advise.space import Candidate, Dimension, SearchSpace
from reports.analysis.metrics import Run
from simulator.random_streams import random_stream
from simulator.results.tables import RUNS

Formula = Callable[[Mapping[str, Any], int], Mapping[str, Any]]
"""Returns columns of a run for its configs and seed."""

UNKNOWN: Run = dict.fromkeys(RUNS.names) | {"error": None, "verdict": "stable"}
KINDS = Dimension("kind", ("kind",), ("plain", "fancy", "odd"), is_ordered=False)
SPACE = SearchSpace(
    (KINDS, *(Dimension(name, (name,), tuple(range(7))) for name in ("width", "height", "depth"))),
    Candidate(("plain", 1, 1, 1)),
    lambda dimension, levels: True,
)


def row(**columns: Any) -> Run:
    """Return a run that converged; other columns are unknown."""
    return {**UNKNOWN, **columns}


def noise(seed: int, *names: str) -> float:
    return float(random_stream(seed, *names).normal())


@dataclass
class SyntheticRuns:
    """Computes runs by a formula, and records its calls."""

    formula: Formula
    space: SearchSpace = SPACE
    calls: list[tuple[tuple[Candidate, ...], tuple[int, ...]]] = field(default_factory=list)

    def __call__(self, candidates: Sequence[Candidate], seeds: Sequence[int]) -> list[list[Run]]:
        self.calls.append((tuple(candidates), tuple(seeds)))
        return [[row(**self.formula(self.space.values(candidate), seed)) for seed in seeds] for candidate in candidates]


def evaluator_of(formula: Formula, objective: str = "moves", **options: Any) -> MetricEvaluator:
    space = options.pop("space", SPACE)
    return MetricEvaluator(
        space, parse_objective(objective), options.pop("limits", ()), SyntheticRuns(formula, space), **options
    )
