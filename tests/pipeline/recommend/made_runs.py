"""Runs that come from a formula, in place of those that Spark makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.recommend.objective import understand
from pipeline.recommend.space import Candidate, Dimension, Space
from pipeline.recommend.trial import Bench
from reports.metric import Run
from simulator.seeds import stream
from simulator.tables import RUNS

Formula = Callable[[Mapping[str, Any], int], Mapping[str, Any]]
"""Columns of a run, from its settings and its seed."""

NOTHING: Run = dict.fromkeys(RUNS.names) | {"error": None, "verdict": "stable"}
KINDS = Dimension("kind", ("kind",), ("plain", "fancy", "odd"), is_ordered=False)
SPACE = Space(
    (KINDS, *(Dimension(name, (name,), tuple(range(7))) for name in ("width", "height", "depth"))),
    Candidate(("plain", 1, 1, 1)),
    lambda dimension, here: True,
)


def row(**columns: Any) -> Run:
    """A run that came to rest, of which nothing else is known."""
    return {**NOTHING, **columns}


def noise(seed: int, *names: str) -> float:
    return float(stream(seed, *names).normal())


@dataclass
class Made:
    """Makes runs by a formula, and remembers what was asked for."""

    formula: Formula
    space: Space = SPACE
    asked: list[tuple[tuple[Candidate, ...], tuple[int, ...]]] = field(default_factory=list)

    def __call__(self, candidates: Sequence[Candidate], seeds: Sequence[int]) -> list[list[Run]]:
        self.asked.append((tuple(candidates), tuple(seeds)))
        return [[row(**self.formula(self.space.values(each), seed)) for seed in seeds] for each in candidates]


def bench(formula: Formula, objective: str = "moves", **more: Any) -> Bench:
    space = more.pop("space", SPACE)
    return Bench(space, understand(objective), more.pop("limits", ()), Made(formula, space), **more)
