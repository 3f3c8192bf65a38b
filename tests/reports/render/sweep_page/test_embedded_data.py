"""Embedded data of a sweep."""

from __future__ import annotations

import pytest

from reports.analysis.metrics import METRICS
from reports.render.sweep_page import KINDS, embedded_data
from tests.reports.sample_sweep import sweep

pytestmark = pytest.mark.answers


def test_embedded_data_has_values_of_tables() -> None:
    data, *left_out = embedded_data(sweep())
    assert left_out == [[], []]
    assert data["cells"]["setting"] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert data["cells"]["place"] == [3, 1, 0, 2, 4, 0, 5, 0]
    assert data["cells"]["by"] == [-1, -1, 0, -1, -1, 3, -1, -1]
    assert data["cells"]["out"] == [-1] * 7 + [0]
    assert [data["metrics"][number]["name"] for number in data["objectives"]] == [
        "cross_rack_usd_per_day",
        "active_moves",
        "time_to_converge_ms",
    ]
    assert data["figures"]["0"]["mean"] == [10, 8, 12, 9, 20, 15, 22, 30]
    assert data["figures"]["2"]["mean"][5] is None
    assert data["compared"] == [1, 3, 5, 7]
    assert data["differences"]["0"]["mean"] == [-2, -3, -5, 8]
    skew = [number for number, metric in enumerate(data["metrics"]) if metric["name"] == "load_skew"]
    assert data["figures"][str(skew[0])]["mean"] == 1


def test_metrics_beyond_size_limit_are_left_out() -> None:
    data, without_means, without_differences = embedded_data(sweep(), 1)
    assert sorted(data["figures"]) == sorted(data["differences"]) == ["0", "1", "2"]
    assert [metric.name for metric in without_means] == [metric.name for metric in without_differences] == ["load_skew"]


def test_scripts_can_format_every_metric() -> None:
    assert {metric.write for metric in METRICS} <= set(KINDS)
