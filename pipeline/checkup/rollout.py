"""What the rollouts of all programs share: seeds, ranges of figures, and how to verify the grades afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.checkup.runs import SituationRequest
from reports.analysis.checkup.report import ReportCard, Rollout
from reports.analysis.metrics import METRIC
from scenarios.checkup.base import Document
from scenarios.load import Scenario

SEEDS: Final = 10
"""Minimum number of seeds of a rollout: which member leads is random, and matters while configs are mixed."""

HOURS: Final = 24
"""Duration of a simulated rollout, in hours."""

START: Final = "10m"
"""When a simulated rollout begins."""

RolloutValues = Mapping[str, Sequence[float]]
"""The metrics of a rollout by key, with a value for each seed."""


def rollout_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """Return the seeds of a rollout: those of the comparison, and further ones up to `SEEDS`."""
    return tuple(range(seeds[0], seeds[0] + max(SEEDS, len(seeds))))


def rollout_request(scenario: Scenario, document: Document, seeds: Sequence[int]) -> SituationRequest:
    """Return the runs of a rollout.

    `document`: the scenario in which clients restart.
    """
    folder: Path | None = None if scenario.path is None else scenario.path.parent
    return SituationRequest("rollout", document, scenario.name, folder, HOURS * 3_600_000, tuple(seeds))


def known_values(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[float]]]:
    """Yield the metrics that all runs have, with a value for each run."""
    for name in names:
        values = [METRIC[name].of(row) for row in rows]
        known = [float(value) for value in values if value is not None]
        if known and len(known) == len(values):
            yield name, known


def build_rollout(note: str, steps: Iterator[str], checks: Iterator[str], values: RolloutValues) -> Rollout:
    """Return a rollout with the mean and the range of each metric."""
    metrics = {name: float(np.mean(known)) for name, known in values.items()}
    ranges = {name: (min(known), max(known)) for name, known in values.items()}
    return Rollout(note, tuple(steps), tuple(checks), metrics, ranges)


def format_range(values: Sequence[float], format_value: Callable[[float], str]) -> str:
    """Return the lowest and the highest of some values, or the only one."""
    lowest, highest = format_value(min(values)), format_value(max(values))
    return lowest if lowest == highest else f"{lowest} to {highest}"


def grade_checks(before: ReportCard, after: ReportCard, subject: str) -> Iterator[str]:
    """Yield which grades another checkup of the subject should find after a rollout, if any is another one."""
    better = [
        (old, new)
        for old, new in zip(before.areas, after.areas, strict=True)
        if old.grade is not None and new.grade is not None and old.grade != new.grade
    ]
    if better:
        grades = ", ".join(f"{old.definition.title} {old.grade} → {new.grade}" for old, new in better)
        yield f"Import the {subject} again and repeat the checkup: {grades}."
