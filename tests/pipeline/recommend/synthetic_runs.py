"""Runs that come from a formula, in place of those that Spark makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.recommend.evaluator import Evaluator
from pipeline.recommend.objective import parse_objective
from pipeline.recommend.space import Candidate, Dimension, SearchSpace
from reports.analysis.metric import Run
from simulator.random_streams import random_stream
from simulator.results.tables import RUNS

Formula = Callable[[Mapping[str, Any], int], Mapping[str, Any]]
"""Columns of a run, from its settings and its seed."""

NOTHING: Run = dict.fromkeys(RUNS.names) | {"error": None, "verdict": "stable"}
KINDS = Dimension("kind", ("kind",), ("plain", "fancy", "odd"), is_ordered=False)
SPACE = SearchSpace(
    (KINDS, *(Dimension(name, (name,), tuple(range(7))) for name in ("width", "height", "depth"))),
    Candidate(("plain", 1, 1, 1)),
    lambda dimension, here: True,
)


def row(**columns: Any) -> Run:
    """A run that came to rest, of which nothing else is known."""
    return {**NOTHING, **columns}


def noise(seed: int, *names: str) -> float:
    return float(random_stream(seed, *names).normal())


@dataclass
class SyntheticRuns:
    """Makes runs by a formula, and remembers what was asked for."""

    formula: Formula
    space: SearchSpace = SPACE
    asked: list[tuple[tuple[Candidate, ...], tuple[int, ...]]] = field(default_factory=list)

    def __call__(self, candidates: Sequence[Candidate], seeds: Sequence[int]) -> list[list[Run]]:
        self.asked.append((tuple(candidates), tuple(seeds)))
        return [[row(**self.formula(self.space.values(each), seed)) for seed in seeds] for each in candidates]


def evaluator_of(formula: Formula, objective: str = "moves", **more: Any) -> Evaluator:
    space = more.pop("space", SPACE)
    return Evaluator(space, parse_objective(objective), more.pop("limits", ()), SyntheticRuns(formula, space), **more)
