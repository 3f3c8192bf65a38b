"""Tolerances of stored metrics."""

from __future__ import annotations

import pytest

from reports.analysis.stored.verification import ToleranceError, parse_tolerances
from tests.reports.sample_stored_results import change_lines, results

STAY = {"0_0": "a b", "0_1": "b"}


def test_float_rounding_is_ignored_but_count_differences_are_not() -> None:
    assert not change_lines(results(STAY, cross_rack_bytes=1.00000001e9), results(STAY, cross_rack_bytes=1.00000002e9))
    assert change_lines(results(STAY, cross_rack_bytes=1.0000001e9), results(STAY, cross_rack_bytes=1.0000002e9))
    assert change_lines(results(STAY, downtime_ms=10**9), results(STAY, downtime_ms=10**9 + 1))


def test_tolerance_applies_to_its_metric_up_to_its_size() -> None:
    before = results(STAY, downtime_ms=1000, active_moves=10)
    now = results(STAY, downtime_ms=1050, active_moves=12)
    assert not change_lines(before, now, "downtime_ms=5%", "active_moves=2")
    assert len(change_lines(before, now, "downtime_ms=4.9%", "active_moves=2")) == 1
    assert len(change_lines(before, now, "downtime_ms=5%", "active_moves=1")) == 1
    assert len(change_lines(before, now, "downtime_ms=5%")) == 1


def test_unknown_metric_is_never_within_tolerance() -> None:
    assert change_lines(results(STAY, downtime_ms=None), results(STAY, downtime_ms=0), "downtime_ms=1000%")


@pytest.mark.parametrize(
    "text",
    ["", "downtime_ms", "downtime_ms=", "downtime_ms=x", "downtime_ms=-1", "downtime_ms=nan", "downtime_ms=inf%"],
)
def test_tolerance_without_valid_size_is_rejected(text: str) -> None:
    with pytest.raises(ToleranceError, match=f"^--tolerance {text}: "):
        parse_tolerances([text])


@pytest.mark.parametrize("name", ["speed", "verdict", "seed", "scenario"])
def test_tolerance_for_unknown_metric_is_rejected(name: str) -> None:
    with pytest.raises(ToleranceError, match=r"is not a metric \((metrics: .*downtime_ms|did you mean 'verdict_)"):
        parse_tolerances([f"{name}=5%"])
