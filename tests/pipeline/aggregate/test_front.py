"""The Pareto front and the cells that dominate others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pipeline.aggregate.aggregation import CELL_STATISTICS
from pipeline.aggregate.summary import pareto_front, scenario_front
from reports.analysis.pareto import NOT_DOMINATED, dominators
from reports.analysis.sweeps.tables import OBJECTIVES

pytestmark = pytest.mark.spark

INF = float("inf")
Row = dict[str, Any]


def cell(
    setting: int, assignor: str = "ha", *, runs: int = 2, errors: int = 0, failed: int = 0, **means: Any
) -> list[Row]:
    """Return the statistics of a cell for every objective; means that are not given are unknown."""
    key = {"scenario": "s", "sweep": "w", "setting": setting, "label": f"n={setting}", "assignor": assignor}
    key |= {"runs": runs, "errors": errors, "failed": failed, "stable": 1.0}
    return [
        key | {"metric": name, "known": runs if name in means else 0, "mean": means.get(name)} for name in OBJECTIVES
    ]


def statistics(*cells: list[Row]) -> list[Row]:
    empty = dict.fromkeys(field.name for field in CELL_STATISTICS)
    return [empty | row for rows in cells for row in rows]


def on_front(*cells: list[Row]) -> list[int]:
    return [row["setting"] for row in pareto_front(statistics(*cells))[0] if row["on_front"]]


def test_dominated_rows_are_worse_in_every_objective() -> None:
    values = np.array([[1.0, 9.0], [2.0, 8.0], [3.0, 8.0], [9.0, 1.0], [9.0, 9.0]])
    assert dominators(values).tolist() == [NOT_DOMINATED, NOT_DOMINATED, 1, NOT_DOMINATED, 0]


def test_equal_rows_do_not_dominate_each_other() -> None:
    assert dominators(np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 2.0]])).tolist() == [NOT_DOMINATED, NOT_DOMINATED, 0]


def test_infinity_is_worse_than_any_number() -> None:
    assert dominators(np.array([[INF, 1.0], [INF, 2.0], [5.0, 3.0], [5.0, INF]])).tolist() == [
        NOT_DOMINATED,
        0,
        NOT_DOMINATED,
        2,
    ]


@pytest.mark.parametrize("seed", range(5))
def test_front_equals_brute_force(seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 5, size=(60, 3)).astype(float)
    dominates = (values[:, None] <= values[None]).all(axis=2) & (values[:, None] < values[None]).any(axis=2)
    dominator = dominators(values)
    assert ((dominator == NOT_DOMINATED) == ~dominates.any(axis=0)).all()
    for row, by in enumerate(dominator):
        if by != NOT_DOMINATED:
            assert dominates[by, row]
            assert dominator[by] == NOT_DOMINATED


def test_cost_is_an_objective_only_if_known_for_every_cell() -> None:
    expensive = cell(0, cross_rack_usd_per_day=2.0, cross_rack_bytes_per_s=1.0, active_moves=1)
    cheap = cell(1, cross_rack_usd_per_day=1.0, cross_rack_bytes_per_s=2.0, active_moves=1)
    assert on_front(expensive, cheap) == [1]
    assert on_front(expensive, cheap, cell(2, cross_rack_bytes_per_s=3.0, active_moves=1)) == [0]


def test_unknown_metric_is_no_objective() -> None:
    assert pareto_front(statistics(cell(0, active_moves=1), cell(1, active_moves=2)))[1] == ("active_moves",)


def test_cell_that_did_not_converge_is_last_in_time_to_converge_only() -> None:
    unconverged = cell(0, active_moves=1, downtime_ms=0)
    for row in unconverged:
        if row["metric"] == "time_to_converge_ms":
            row |= {"known": 1, "mean": 1.0}
    converged, dominated = (
        cell(1, active_moves=2, downtime_ms=0, time_to_converge_ms=900),
        cell(2, active_moves=3, downtime_ms=0),
    )
    rows, _ = pareto_front(statistics(unconverged, converged, dominated))
    assert [row["on_front"] for row in rows] == [True, True, False]
    assert rows[0]["time_to_converge_ms"] is None
    assert [row["best_of"] for row in rows] == [["active_moves", "downtime_ms"], ["time_to_converge_ms"], []]


def test_failed_cells_are_not_compared() -> None:
    rows, _ = pareto_front(
        statistics(cell(0, errors=1, active_moves=0), cell(1, failed=2, active_moves=0), cell(2, active_moves=5))
    )
    assert [row["on_front"] for row in rows] == [False, False, True]
    assert [row["left_out"] for row in rows] == [
        "1 of 2 runs raised an error",
        "2 of 2 runs ended without an assignment",
        None,
    ]


def test_dominated_cell_names_dominator() -> None:
    rows, _ = pareto_front(
        statistics(cell(4, "sticky", active_moves=1, downtime_ms=1), cell(3, active_moves=1, downtime_ms=2))
    )
    assert [rows[0][f"dominated_by_{name}"] for name in ("sweep", "setting", "assignor")] == ["w", 4, "sticky"]
    assert (rows[1]["dominated_by_setting"], rows[1]["place"], rows[0]["place"]) == (None, 1, None)


def test_tie_for_lowest_value_goes_to_front_cell() -> None:
    rows, _ = pareto_front(statistics(cell(0, active_moves=1, downtime_ms=9), cell(1, active_moves=1, downtime_ms=3)))
    assert [row["best_of"] for row in rows] == [[], ["active_moves", "downtime_ms"]]


def test_scenario_without_assignments_has_no_front() -> None:
    table = scenario_front(pa.Table.from_pylist(statistics(cell(0, errors=2)), schema=pa.schema(CELL_STATISTICS)))
    assert table.column("on_front").to_pylist() == [False]
    assert '"front": []' in table.column("facts")[0].as_py()


def test_front_does_not_depend_on_row_order() -> None:
    rows = statistics(cell(0, active_moves=1), cell(1, "sticky", active_moves=2), cell(1, active_moves=2))
    assert pareto_front(rows) == pareto_front(rows[::-1])
