"""Formatting of differences."""

from __future__ import annotations

from reports.analysis.metrics import METRIC
from reports.analysis.sweeps.aggregated_sweep import MeanEstimate
from reports.analysis.sweeps.grids import difference_interval, signed

USD = METRIC["cross_rack_usd_per_day"]


def test_differences_have_sign_and_interval() -> None:
    assert signed(USD, -2.0) == "−$2.00"
    assert signed(METRIC["active_moves"], 0.0) == "0"
    assert difference_interval(USD, MeanEstimate(1.0, -1.0, 3.0, 2)) == "−$1.00 to +$3.00"
    assert difference_interval(USD, MeanEstimate(1.0, 1.0, 1.0, 2)) == ""
