"""Levels, pairs and shares of variance from cell statistics, compared with those computed from runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pipeline.aggregate.aggregation import (
    Level,
    Moments,
    cell_statistics_schema,
    effects,
    explained_share,
    group_levels,
)
from pipeline.aggregate.stored_sweeps import StoredFactor, StoredSweep

pytestmark = pytest.mark.spark

Row = dict[str, Any]


def sweep_of(*factors: str) -> StoredSweep:
    stored_factors = tuple(StoredFactor(name, (name,), name != "mode") for name in factors)
    return StoredSweep("w", "s", "file:/w", stored_factors, ("ha", "sticky"), 2, "ha", 8)


def effect_rows(sweep: StoredSweep, cells: list[tuple[tuple[Any, ...], str, list[float]]]) -> list[Row]:
    """Return the effects of cells, given as factor values, assignor, and the values of their runs."""
    statistics = []
    for setting, (values, assignor, runs) in enumerate(cells):
        row = dict.fromkeys(cell_statistics_schema(sweep).names) | dict(zip(sweep.columns, values, strict=True))
        row |= {"setting": setting, "assignor": assignor, "metric": "active_moves", "known": len(runs)}
        row |= {"mean": np.mean(runs) if runs else None, "sd": np.std(runs, ddof=1) if len(runs) > 1 else None}
        statistics.append(row)
    return effects(sweep, pa.Table.from_pylist(statistics, schema=cell_statistics_schema(sweep))).to_pylist()


def rows_of_table(rows: list[Row], name: str) -> list[Row]:
    return [row for row in rows if row["table"] == name]


def test_share_equals_epsilon_squared() -> None:
    runs = {1.0: [1.0, 2.0, 4.0, 5.0], 2.0: [3.0, 7.0, 8.0, 10.0]}
    rows = effect_rows(
        sweep_of("n"), [((n,), a, runs[n][i : i + 2]) for n in runs for a, i in (("ha", 0), ("sticky", 2))]
    )
    shares = {row["factor"]: row["share"] for row in rows_of_table(rows, "sensitivity")}
    # Means 3 and 7, overall 5: sum of squares 8 · 2² = 32 between levels, 10 + 26 = 36 within.
    assert shares["n"] == pytest.approx(1 - 36 / 68 * 7 / 6)
    # Means 3.25 and 6.75: sum of squares 8 · 1.75² = 24.5 between levels.
    assert shares["assignor"] == pytest.approx(1 - 43.5 / 68 * 7 / 6)
    assert [row["factor"] for row in rows_of_table(rows, "sensitivity")] == ["n", "assignor"]
    assert [row["rank"] for row in rows_of_table(rows, "sensitivity")] == [1, 2]


def test_levels_have_mean_and_standard_deviation() -> None:
    rows = effect_rows(
        sweep_of("n"), [((2.0,), "ha", [1.0, 2.0, 9.0]), ((1.0,), "ha", [4.0]), ((2.0,), "sticky", [0.0])]
    )
    levels = [row for row in rows_of_table(rows, "levels") if row["factor"] == "n"]
    assert [(row["position"], row["level"], row["low"], row["runs"], row["mean"]) for row in levels] == [
        (0, "1", 1.0, 1, 4.0),
        (1, "2", 2.0, 4, 3.0),
    ]
    assert levels[1]["sd"] == pytest.approx(np.std([1, 2, 9, 0], ddof=1))
    assert levels[0]["sd"] is None


def test_pairs_have_means_of_joint_levels() -> None:
    cells = [((1.0, "a"), "ha", [2.0]), ((1.0, "b"), "ha", [4.0, 6.0]), ((2.0, "b"), "ha", [])]
    rows = [row for row in rows_of_table(effect_rows(sweep_of("n", "mode"), cells), "pairs") if row["other"] == "mode"]
    assert [(row["level"], row["other_level"], row["runs"], row["mean"]) for row in rows] == [
        ("1", "a", 1, 2.0),
        ("1", "b", 2, 5.0),
        ("2", "b", 0, None),
    ]


def test_factor_without_effect_has_share_near_zero() -> None:
    rng = np.random.default_rng(1)
    shares = []
    for _ in range(200):
        groups = rng.normal(size=(5, 4))
        squares = ((groups - groups.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        share, _ = explained_share(Moments(np.full(5, 4.0), groups.mean(axis=1), squares))
        assert share is not None
        shares.append(share)
    assert np.median(shares) < 0.02
    assert min(shares) == 0.0


@pytest.mark.parametrize(
    ("runs", "reason"),
    [
        ([[], []], "no run has the metric"),
        ([[3.0, 3.0], [3.0]], "all runs have the same value"),
        ([[1.0], [2.0]], "not more runs than levels"),
    ],
)
def test_missing_share_has_a_reason(runs: list[list[float]], reason: str) -> None:
    rows = effect_rows(sweep_of("n"), [((1.0,), "ha", runs[0]), ((2.0,), "ha", runs[1])])
    [row] = rows_of_table(rows, "sensitivity")
    assert (row["share"], row["unknown"]) == (None, reason)


def test_factor_with_one_level_is_not_ranked() -> None:
    rows = effect_rows(sweep_of("n"), [((1.0,), "ha", [1.0, 2.0]), ((1.0,), "sticky", [5.0])])
    assert [row["factor"] for row in rows_of_table(rows, "sensitivity")] == ["assignor"]
    assert [row["level"] for row in rows_of_table(rows, "levels")] == ["1", "ha", "sticky"]


def test_ten_distinct_numbers_are_not_binned() -> None:
    leveled = group_levels("n", [float(value) for value in (*range(10), 3)])
    assert [level.text for level in leveled.levels] == [str(value) for value in range(10)]


def test_many_numbers_are_binned_by_quantiles() -> None:
    values = [float(value) for value in range(1, 101)]
    leveled = group_levels("n", values)
    assert leveled.levels[0] == Level("1 to 10", 1.0, 10.0)
    assert leveled.levels[-1] == Level("91 to 100", 91.0, 100.0)
    assert np.bincount(leveled.of_cell).tolist() == [10] * 10


def test_bins_contain_every_value_despite_ties() -> None:
    values = [0.0] * 90 + [float(value) for value in range(1, 13)]
    leveled = group_levels("n", values)
    for value, place in zip(values, leveled.of_cell.tolist(), strict=True):
        low, high = leveled.levels[place].low, leveled.levels[place].high
        assert low is not None
        assert high is not None
        assert low <= value <= high
    assert set(leveled.of_cell.tolist()) == set(range(len(leveled.levels)))


def test_null_is_the_last_level() -> None:
    assert [level.text for level in group_levels("n", [None, 2.0, 1.5]).levels] == ["1.5", "2", "null"]
    assert group_levels("n", [None, 2.0, 1.5]).of_cell.tolist() == [2, 1, 0]
    assert [level.text for level in group_levels("mode", ["b", None, "a"]).levels] == ["a", "b", "null"]


def test_many_texts_are_not_binned() -> None:
    assert len(group_levels("mode", [f"m{value}" for value in range(30)]).levels) == 30
