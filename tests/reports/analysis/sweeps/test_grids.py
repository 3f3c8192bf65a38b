"""Tables and heat map of a sweep."""

from __future__ import annotations

from dataclasses import replace

from reports.analysis.metrics import METRIC
from reports.analysis.sweeps.aggregated_sweep import MeanEstimate
from reports.analysis.sweeps.grids import heat_map, largest_differences
from tests.reports.sample_sweep import sweep

USD = METRIC["cross_rack_usd_per_day"]


def test_heat_map_has_the_two_most_influential_factors() -> None:
    heat = heat_map(sweep())
    assert heat is not None
    assert (heat.metric, heat.factors, heat.rows, heat.columns) == (USD, (0, 1), ("1", "5"), ("0", "1"))
    assert [[cell.text for cell in row] for row in heat.cells] == [["$9.00", "$10.50"], ["$17.50", "$26.00"]]
    assert heat.heat == ((0, 1), (5, 10))


def test_significant_differences_precede_large_ones() -> None:
    sample = sweep()
    known = {
        1: MeanEstimate(-9.0, -19.0, 1.0, 3),
        3: MeanEstimate(2.0, 1.0, 3.0, 3),
        5: MeanEstimate(0.5, None, None, 1),
    }
    mixed = replace(sample, differences={"cross_rack_usd_per_day": known})
    assert [index for index, _ in largest_differences(mixed, USD, 1)] == [3]
    assert [index for index, _ in largest_differences(mixed, USD, 2)] == [1, 3]
