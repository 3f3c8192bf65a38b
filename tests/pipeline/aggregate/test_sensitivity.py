"""Levels, pairs and shares of variance, from cells, against the same worked out from runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pipeline.aggregate.cell_statistics import cell_statistics_schema
from pipeline.aggregate.sensitivity import Level, Moments, effects, explained_share, group_levels
from pipeline.aggregate.stored_sweeps import StoredFactor, StoredSweep

Row = dict[str, Any]


def sweep_of(*factors: str) -> StoredSweep:
    every = tuple(StoredFactor(name, (name,), name != "mode") for name in factors)
    return StoredSweep("w", "s", "file:/w", every, ("ha", "sticky"), 2, "ha", 8)


def rows_of(sweep: StoredSweep, cells: list[tuple[tuple[Any, ...], str, list[float]]]) -> list[Row]:
    """The effects of cells that are given as values of the factors, assignor, and what their runs have."""
    made = []
    for setting, (values, assignor, runs) in enumerate(cells):
        row = dict.fromkeys(cell_statistics_schema(sweep).names) | dict(zip(sweep.columns, values, strict=True))
        row |= {"setting": setting, "assignor": assignor, "metric": "active_moves", "known": len(runs)}
        row |= {"mean": np.mean(runs) if runs else None, "sd": np.std(runs, ddof=1) if len(runs) > 1 else None}
        made.append(row)
    return effects(sweep, pa.Table.from_pylist(made, schema=cell_statistics_schema(sweep))).to_pylist()


def table(rows: list[Row], name: str) -> list[Row]:
    return [row for row in rows if row["table"] == name]


def test_a_factor_explains_what_epsilon_squared_of_the_runs_says() -> None:
    runs = {1.0: [1.0, 2.0, 4.0, 5.0], 2.0: [3.0, 7.0, 8.0, 10.0]}
    rows = rows_of(sweep_of("n"), [((n,), a, runs[n][i : i + 2]) for n in runs for a, i in (("ha", 0), ("sticky", 2))])
    shares = {row["factor"]: row["share"] for row in table(rows, "sensitivity")}
    # Means 3 and 7, of all 5: squares between 8 · 2² = 32, within 10 + 26 = 36.
    assert shares["n"] == pytest.approx(1 - 36 / 68 * 7 / 6)
    # Means 3.25 and 6.75: squares between 8 · 1.75² = 24.5.
    assert shares["assignor"] == pytest.approx(1 - 43.5 / 68 * 7 / 6)
    assert [row["factor"] for row in table(rows, "sensitivity")] == ["n", "assignor"]
    assert [row["rank"] for row in table(rows, "sensitivity")] == [1, 2]


def test_levels_have_the_means_and_spreads_of_their_runs() -> None:
    rows = rows_of(sweep_of("n"), [((2.0,), "ha", [1.0, 2.0, 9.0]), ((1.0,), "ha", [4.0]), ((2.0,), "sticky", [0.0])])
    levels = [row for row in table(rows, "levels") if row["factor"] == "n"]
    assert [(row["position"], row["level"], row["low"], row["runs"], row["mean"]) for row in levels] == [
        (0, "1", 1.0, 1, 4.0),
        (1, "2", 2.0, 4, 3.0),
    ]
    assert levels[1]["sd"] == pytest.approx(np.std([1, 2, 9, 0], ddof=1))
    assert levels[0]["sd"] is None


def test_pairs_have_the_means_of_what_occurs_together() -> None:
    cells = [((1.0, "a"), "ha", [2.0]), ((1.0, "b"), "ha", [4.0, 6.0]), ((2.0, "b"), "ha", [])]
    rows = [row for row in table(rows_of(sweep_of("n", "mode"), cells), "pairs") if row["other"] == "mode"]
    assert [(row["level"], row["other_level"], row["runs"], row["mean"]) for row in rows] == [
        ("1", "a", 1, 2.0),
        ("1", "b", 2, 5.0),
        ("2", "b", 0, None),
    ]


def test_a_factor_that_does_nothing_explains_nothing_rather_than_what_chance_does() -> None:
    chance = np.random.default_rng(1)
    shares = []
    for _ in range(200):
        groups = chance.normal(size=(5, 4))
        squares = ((groups - groups.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        share, _ = explained_share(Moments(np.full(5, 4.0), groups.mean(axis=1), squares))
        assert share is not None
        shares.append(share)
    assert np.median(shares) < 0.02
    assert min(shares) == 0.0


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        ([[], []], "no run has the metric"),
        ([[3.0, 3.0], [3.0]], "all runs have the same value"),
        ([[1.0], [2.0]], "not more runs than levels"),
    ],
)
def test_where_there_is_no_share_a_reason_stands(runs: list[list[float]], why: str) -> None:
    rows = rows_of(sweep_of("n"), [((1.0,), "ha", runs[0]), ((2.0,), "ha", runs[1])])
    [row] = table(rows, "sensitivity")
    assert (row["share"], row["unknown"]) == (None, why)


def test_a_factor_with_one_level_has_a_mean_but_no_place_in_the_ranking() -> None:
    rows = rows_of(sweep_of("n"), [((1.0,), "ha", [1.0, 2.0]), ((1.0,), "sticky", [5.0])])
    assert [row["factor"] for row in table(rows, "sensitivity")] == ["assignor"]
    assert [row["level"] for row in table(rows, "levels")] == ["1", "ha", "sticky"]


def test_ten_numbers_are_ten_levels() -> None:
    graded = group_levels("n", [float(value) for value in (*range(10), 3)])
    assert [level.text for level in graded.levels] == [str(value) for value in range(10)]


def test_more_numbers_are_bins_of_about_as_many_cells_each() -> None:
    values = [float(value) for value in range(1, 101)]
    graded = group_levels("n", values)
    assert graded.levels[0] == Level("1 to 10", 1.0, 10.0)
    assert graded.levels[-1] == Level("91 to 100", 91.0, 100.0)
    assert np.bincount(graded.of_cell).tolist() == [10] * 10


def test_bins_hold_every_value_even_where_most_are_the_same() -> None:
    values = [0.0] * 90 + [float(value) for value in range(1, 13)]
    graded = group_levels("n", values)
    for value, place in zip(values, graded.of_cell.tolist(), strict=True):
        low, high = graded.levels[place].low, graded.levels[place].high
        assert low is not None
        assert high is not None
        assert low <= value <= high
    assert set(graded.of_cell.tolist()) == set(range(len(graded.levels)))


def test_null_is_a_level_of_its_own_and_the_last_one() -> None:
    assert [level.text for level in group_levels("n", [None, 2.0, 1.5]).levels] == ["1.5", "2", "null"]
    assert group_levels("n", [None, 2.0, 1.5]).of_cell.tolist() == [2, 1, 0]
    assert [level.text for level in group_levels("mode", ["b", None, "a"]).levels] == ["a", "b", "null"]


def test_many_texts_are_not_binned() -> None:
    assert len(group_levels("mode", [f"m{value}" for value in range(30)]).levels) == 30
