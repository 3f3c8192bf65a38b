"""Construction of an aggregated sweep from its tables."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from reports.analysis.sweeps.aggregated_sweep import level_text, read_sweep
from tests.reports.sample_sweep import aggregate


def test_rounding_errors_of_sums_are_zero() -> None:
    results = aggregate()
    differences = results.tables["differences"].to_pylist()
    [row] = [row for row in differences if (row["metric"], row["setting"]) == ("cross_rack_usd_per_day", 0)]
    row |= {"mean_difference": -2.9e-7, "difference_low": -3.5, "difference_high": 3.6}
    with_rounding = pa.Table.from_pylist(differences, schema=results.tables["differences"].schema)
    sample = read_sweep(replace(results, tables={**results.tables, "differences": with_rounding}))
    assert sample.differences["cross_rack_usd_per_day"][1].mean == 0


def test_values_are_assigned_to_their_bins() -> None:
    results = aggregate()
    levels = results.tables["levels"].to_pylist()
    for row in levels:
        if row["factor"] == "rate":
            row |= {"level": "0.5–1", "low": 0.5, "high": 1.0} if row["position"] == 0 else {"level": "2–5", "low": 2.0}
    binned = pa.Table.from_pylist(levels, schema=results.tables["levels"].schema)
    sample = read_sweep(replace(results, tables={**results.tables, "levels": binned}))
    assert sample.factors[0].levels == ("0.5–1", "2–5")
    assert [cell.levels[0] for cell in sample.cells] == [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize(("value", "text"), [(3.0, "3"), (0.5, "0.5"), (None, "null"), ("none", "none")])
def test_levels_are_written_as_in_scenarios(value: float | str | None, text: str) -> None:
    assert level_text(value) == text
