"""What a metric hangs on: the means of each factor's levels, and how much of the variance these explain.

Everything follows from the counts, means and standard deviations of the cells, so that no run is looked at again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.aggregate.stored_sweeps import ASSIGNOR, StoredSweep, Value, level_text
from pipeline.aggregate.tables import LEVELS, PAIRS, SENSITIVITY
from reports.analysis.statistics import Floats

MAX_LEVELS = 10
"""Numbers with more different values than this are cut into so many bins, or fewer if quantiles coincide."""

_TABLES = {"sensitivity": SENSITIVITY, "levels": LEVELS, "pairs": PAIRS}
_FIELDS = {field.name: pa.field(field.name, field.type) for schema in _TABLES.values() for field in schema}

EFFECTS = pa.schema([pa.field("table", pa.string()), *_FIELDS.values()])
"""The rows of the three tables one below the other; `table` says of which."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Level:
    """A value of a factor, or a bin of several."""

    text: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class LeveledFactor:
    """A factor whose values have been sorted into levels.

    Attributes:
        name: of the factor.
        levels: numbers ascending, texts by alphabet, null last.
        of_cell: for each cell its level's place among these.
    """

    name: str
    levels: tuple[Level, ...]
    of_cell: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Moments:
    """Of some groups of runs: how many, their mean, and the sum of squares around that; mean 0 of none."""

    count: Floats
    mean: Floats
    squares: Floats

    def merged(self, group: NDArray[np.int64], groups: int) -> Moments:
        """The same of larger groups.

        Args:
            group: for each group here, the larger one that it is part of.
            groups: how many of these there are.
        """
        count = _sums(group, self.count, groups)
        # Around the first mean, so that equal means stay exactly equal.
        first = self.mean[np.argmax(self.count > 0)] if self.count.any() else 0.0
        total = _sums(group, self.count * (self.mean - first), groups)
        mean = np.where(count > 0, first + total / np.maximum(count, 1), 0.0)
        within = self.squares + self.count * (self.mean - mean[group]) ** 2
        return Moments(count, mean, _sums(group, within, groups))


def effects(sweep: StoredSweep, figures: pa.Table) -> pa.Table:
    """How one metric hangs on the factors of a sweep.

    Args:
        sweep: whose factors they are.
        figures: of all cells of the sweep and this metric, in any order: the columns of `figures_schema`.

    Returns:
        Rows of `EFFECTS`.
    """
    figures = figures.sort_by([("setting", "ascending"), (ASSIGNOR, "ascending")])
    moments = _moments(figures)
    columns = zip((*(factor.name for factor in sweep.factors), ASSIGNOR), (*sweep.columns, ASSIGNOR), strict=True)
    graded = [group_levels(name, figures.column(column).to_pylist()) for name, column in columns]
    key = {"scenario": sweep.scenario, "sweep": sweep.name, "metric": figures.column("metric")[0].as_py()}
    rows = [*_sensitivity(graded, moments), *_levels(graded, moments), *_pairs(graded, moments)]
    return pa.Table.from_pylist([key | row for row in rows], schema=EFFECTS)


def group_levels(name: str, values: Sequence[Value]) -> LeveledFactor:
    """Sort the values of a factor into levels, numbers with many different ones into bins.

    Args:
        name: of the factor.
        values: one a cell.
    """
    known = [value for value in values if value is not None]
    levels, place = _bins(known) if _is_many_numbers(known) else _each(known)
    if len(known) < len(values):
        levels = [*levels, Level(level_text(None))]
    places = [len(levels) - 1 if value is None else place[value] for value in values]
    return LeveledFactor(name, tuple(levels), np.array(places, dtype=np.int64))


def explained_share(moments: Moments) -> tuple[float | None, str | None]:
    """The share of the variance of runs that lies between groups of them, or why that is not known.

    Corrected for chance, by which groups differ even where nothing hangs on them: T. L. Kelley's epsilon² (1935),
    1 - (1 - eta²)(runs - 1)/(runs - groups), which is then at least 0.

    Args:
        moments: of the groups.
    """
    groups, runs = int(np.count_nonzero(moments.count)), float(moments.count.sum())
    if not runs:
        return None, "no run has the metric"
    whole = moments.merged(np.zeros(len(moments.count), dtype=np.int64), 1)
    if whole.squares[0] <= 1e-24 * runs * whole.mean[0] ** 2:
        return None, "all runs are equal in it"
    if runs <= groups:
        return None, "no more runs than levels"
    within = float(moments.squares.sum() / whole.squares[0])
    return max(0.0, 1.0 - within * (runs - 1) / (runs - groups)), None


def _sums(group: NDArray[np.int64], values: Floats, groups: int) -> Floats:
    return np.bincount(group, values, groups).astype(np.float64)


def _moments(figures: pa.Table) -> Moments:
    count, mean, sd = (np.array(figures.column(name).to_pylist(), dtype=np.float64) for name in ("known", "mean", "sd"))
    return Moments(count, np.nan_to_num(mean), np.nan_to_num(sd) ** 2 * np.maximum(count - 1, 0))


def _is_many_numbers(values: Sequence[Value]) -> bool:
    return all(isinstance(value, float) for value in values) and len(set(values)) > MAX_LEVELS


def _each(values: Sequence[Any]) -> tuple[list[Level], dict[Value, int]]:
    ordered = sorted(set(values))
    return [_level(value) for value in ordered], {value: place for place, value in enumerate(ordered)}


def _level(value: Value) -> Level:
    number = value if isinstance(value, float) else None
    return Level(level_text(value), number, number)


def _bins(values: Sequence[Any]) -> tuple[list[Level], dict[Value, int]]:
    different = np.unique(np.array(values, dtype=np.float64))
    edges = np.unique(np.quantile(values, np.linspace(0, 1, MAX_LEVELS + 1)[1:-1]))
    _, bins = np.unique(np.searchsorted(edges, different, side="left"), return_inverse=True)
    levels = []
    for number in range(int(bins.max()) + 1):
        inside = different[bins == number].tolist()
        low, high = inside[0], inside[-1]
        text = level_text(low) if low == high else f"{level_text(low)} to {level_text(high)}"
        levels.append(Level(text, low, high))
    return levels, dict(zip(different.tolist(), bins.tolist(), strict=True))


def _sensitivity(graded: Sequence[LeveledFactor], moments: Moments) -> Iterator[Row]:
    rows: list[Row] = []
    for factor in graded:
        if len(factor.levels) > 1:
            share, unknown = explained_share(moments.merged(factor.of_cell, len(factor.levels)))
            row = {"factor": factor.name, "levels": len(factor.levels), "runs": int(moments.count.sum())}
            rows.append(row | {"share": share, "unknown": unknown})
    ranked = sorted(rows, key=lambda row: -(-1.0 if row["share"] is None else row["share"]))
    for rank, row in enumerate(ranked, start=1):
        yield {"table": "sensitivity", "rank": rank} | row


def _levels(graded: Sequence[LeveledFactor], moments: Moments) -> Iterator[Row]:
    for factor in graded:
        of_levels = moments.merged(factor.of_cell, len(factor.levels))
        for position, level in enumerate(factor.levels):
            row = {"factor": factor.name, "position": position, "level": level.text}
            yield {"table": "levels"} | row | {"low": level.low, "high": level.high} | _told(of_levels, position)


def _pairs(graded: Sequence[LeveledFactor], moments: Moments) -> Iterator[Row]:
    for one, other in combinations(graded, 2):
        width = len(other.levels)
        both = one.of_cell * width + other.of_cell
        merged = moments.merged(both, len(one.levels) * width)
        for group in np.unique(both).tolist():
            position, other_position = divmod(group, width)
            row = {"factor": one.name, "other": other.name, "level": one.levels[position].text}
            row |= {"position": position, "other_position": other_position}
            yield {"table": "pairs"} | row | {"other_level": other.levels[other_position].text} | _told(merged, group)


def _told(moments: Moments, group: int) -> Row:
    count = int(moments.count[group])
    sd = float(np.sqrt(moments.squares[group] / (count - 1))) if count > 1 else None
    return {"runs": count, "mean": float(moments.mean[group]) if count else None, "sd": sd}
