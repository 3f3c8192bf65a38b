"""Sensitivity of a metric to the factors of a sweep: mean per level and share of the variance explained.

Computed from the counts, means and standard deviations of the cells; the runs are not read again.
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
from reports.analysis.statistics import Floats
from reports.analysis.sweeps.tables import LEVELS, PAIRS, SENSITIVITY

MAX_LEVELS = 10
"""Numeric factors with more distinct values are binned into this many bins, or fewer if quantiles coincide."""

_TABLES = {"sensitivity": SENSITIVITY, "levels": LEVELS, "pairs": PAIRS}
_FIELDS = {field.name: pa.field(field.name, field.type) for schema in _TABLES.values() for field in schema}

EFFECTS = pa.schema([pa.field("table", pa.string()), *_FIELDS.values()])
"""The rows of all three tables in one schema; column `table` names the table."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Level:
    """A value of a factor, or a bin of several values.

    Attributes:
        text: the value or the range of the bin, for display.
        low: smallest value; None unless numeric.
        high: largest value; None unless numeric.
    """

    text: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class LeveledFactor:
    """A factor with its values grouped into levels.

    Attributes:
        name: name of the factor.
        levels: numbers ascending, then texts alphabetically; null last.
        of_cell: shape (cells,); index of the level of each cell.
    """

    name: str
    levels: tuple[Level, ...]
    of_cell: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Moments:
    """Count, mean and sum of squared deviations of groups of runs; the mean of an empty group is 0.

    Attributes:
        count: shape (groups,); number of runs.
        mean: shape (groups,).
        squares: shape (groups,); sum of squared deviations from the mean.
    """

    count: Floats
    mean: Floats
    squares: Floats

    def merged(self, group: NDArray[np.int64], groups: int) -> Moments:
        """Merge groups into larger ones.

        `group`, shape (groups,): index of the larger group that each group belongs to.
        """
        count = _sums(group, self.count, groups)
        # Deviations from the first mean, so that equal means stay exactly equal.
        first = self.mean[np.argmax(self.count > 0)] if self.count.any() else 0.0
        total = _sums(group, self.count * (self.mean - first), groups)
        mean = np.where(count > 0, first + total / np.maximum(count, 1), 0.0)
        within = self.squares + self.count * (self.mean - mean[group]) ** 2
        return Moments(count, mean, _sums(group, within, groups))


def effects(sweep: StoredSweep, statistics: pa.Table) -> pa.Table:
    """Compute how one metric depends on the factors of a sweep.

    `statistics`: statistics of all cells for this metric, in any order, with the columns of `cell_statistics_schema`.
    Returns rows of `EFFECTS`.
    """
    statistics = statistics.sort_by([("setting", "ascending"), (ASSIGNOR, "ascending")])
    moments = _moments(statistics)
    columns = zip((*(factor.name for factor in sweep.factors), ASSIGNOR), (*sweep.columns, ASSIGNOR), strict=True)
    leveled = [group_levels(name, statistics.column(column).to_pylist()) for name, column in columns]
    key = {"scenario": sweep.scenario, "sweep": sweep.name, "metric": statistics.column("metric")[0].as_py()}
    rows = [*_sensitivity(leveled, moments), *_levels(leveled, moments), *_pairs(leveled, moments)]
    return pa.Table.from_pylist([key | row for row in rows], schema=EFFECTS)


def group_levels(name: str, values: Sequence[Value]) -> LeveledFactor:
    """Group the values of a factor into levels, and numbers with many distinct values into bins.

    `values`: one per cell. Returns the levels and the level of each cell.
    """
    known = [value for value in values if value is not None]
    levels, place = _bins(known) if _is_many_numbers(known) else _distinct_levels(known)
    if len(known) < len(values):
        levels = [*levels, Level(level_text(None))]
    places = [len(levels) - 1 if value is None else place[value] for value in values]
    return LeveledFactor(name, tuple(levels), np.array(places, dtype=np.int64))


def explained_share(moments: Moments) -> tuple[float | None, str | None]:
    """Return the share of the variance that lies between groups of runs, or the reason why it is unknown.

    The share is corrected for chance differences between groups: T. L. Kelley's epsilon² (1935), 1 - (1 - eta²)(runs -
    1)/(runs - groups), at least 0. Returns the share and None, or None and the reason.
    """
    groups, runs = int(np.count_nonzero(moments.count)), float(moments.count.sum())
    if not runs:
        return None, "no run has the metric"
    whole = moments.merged(np.zeros(len(moments.count), dtype=np.int64), 1)
    if whole.squares[0] <= 1e-24 * runs * whole.mean[0] ** 2:
        return None, "all runs have the same value"
    if runs <= groups:
        return None, "not more runs than levels"
    within = float(moments.squares.sum() / whole.squares[0])
    return max(0.0, 1.0 - within * (runs - 1) / (runs - groups)), None


def _sums(group: NDArray[np.int64], values: Floats, groups: int) -> Floats:
    return np.bincount(group, values, groups).astype(np.float64)


def _moments(statistics: pa.Table) -> Moments:
    count, mean, sd = (
        np.array(statistics.column(name).to_pylist(), dtype=np.float64) for name in ("known", "mean", "sd")
    )
    return Moments(count, np.nan_to_num(mean), np.nan_to_num(sd) ** 2 * np.maximum(count - 1, 0))


def _is_many_numbers(values: Sequence[Value]) -> bool:
    return all(isinstance(value, float) for value in values) and len(set(values)) > MAX_LEVELS


def _distinct_levels(values: Sequence[Any]) -> tuple[list[Level], dict[Value, int]]:
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


def _sensitivity(leveled: Sequence[LeveledFactor], moments: Moments) -> Iterator[Row]:
    rows: list[Row] = []
    for factor in leveled:
        if len(factor.levels) > 1:
            share, unknown = explained_share(moments.merged(factor.of_cell, len(factor.levels)))
            row = {"factor": factor.name, "levels": len(factor.levels), "runs": int(moments.count.sum())}
            rows.append(row | {"share": share, "unknown": unknown})
    ranked = sorted(rows, key=lambda row: -(-1.0 if row["share"] is None else row["share"]))
    for rank, row in enumerate(ranked, start=1):
        yield {"table": "sensitivity", "rank": rank} | row


def _levels(leveled: Sequence[LeveledFactor], moments: Moments) -> Iterator[Row]:
    for factor in leveled:
        of_levels = moments.merged(factor.of_cell, len(factor.levels))
        for position, level in enumerate(factor.levels):
            row = {"factor": factor.name, "position": position, "level": level.text}
            yield {"table": "levels"} | row | {"low": level.low, "high": level.high} | _statistics(of_levels, position)


def _pairs(leveled: Sequence[LeveledFactor], moments: Moments) -> Iterator[Row]:
    for first, second in combinations(leveled, 2):
        width = len(second.levels)
        joint = first.of_cell * width + second.of_cell
        merged = moments.merged(joint, len(first.levels) * width)
        for group in np.unique(joint).tolist():
            position, other_position = divmod(group, width)
            row = {"factor": first.name, "other": second.name, "level": first.levels[position].text}
            row |= {"position": position, "other_position": other_position}
            yield (
                {"table": "pairs"}
                | row
                | {"other_level": second.levels[other_position].text}
                | _statistics(merged, group)
            )


def _statistics(moments: Moments, group: int) -> Row:
    count = int(moments.count[group])
    sd = float(np.sqrt(moments.squares[group] / (count - 1))) if count > 1 else None
    return {"runs": count, "mean": float(moments.mean[group]) if count else None, "sd": sd}
