"""The section `expect` of scenarios: how it is read, and mistakes in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.language.outcome_entries import parse_condition
from simulator.results.run_metrics import COMPARISONS, MetricUnit
from tests.scenarios.scenario_texts import SMALL, load_text, mistakes_in

EXPECT = """
expect:
  against: sticky
  worst_downtime_ms: "< 60s"
  restored_bytes: [ ">= 1 GB", "<= +5%" ]
"""
TWO = SMALL.replace("[high_availability]", "[high_availability, {assignor: legacy_sticky, label: sticky, expect: {}}]")


def test_conditions_have_units_places_and_a_reference() -> None:
    downtime, at_least, relative = load_text(TWO + EXPECT).expectations
    assert (downtime.metric, downtime.condition.comparison, downtime.condition.limit) == (
        "worst_downtime_ms",
        "<",
        60_000,
    )
    assert downtime.place == "s.yaml:26: expect.worst_downtime_ms"
    assert (at_least.condition.comparison, at_least.condition.limit) == (">=", 10**9)
    assert relative.condition.is_relative
    assert relative.against == "sticky"
    assert relative.condition.limit_for(100) == pytest.approx(105)
    assert relative.applies_to("high_availability")
    assert not relative.applies_to("sticky")


def test_conditions_of_an_assignor_replace_those_of_the_scenario_for_the_same_metric() -> None:
    text = (TWO + EXPECT).replace("expect: {}", "expect: {worst_downtime_ms: '< 2h'}")
    by_label = {
        label: [e.condition.text for e in load_text(text).expectations if e.applies_to(label)]
        for label in ("high_availability", "sticky", "other")
    }
    assert by_label["high_availability"] == by_label["other"] == ["< 60s", ">= 1 GB", "<= +5%"]
    assert by_label["sticky"] == [">= 1 GB", "< 2h"]


def test_the_first_assignor_is_the_default_reference() -> None:
    (expectation,) = load_text(TWO + "expect: {active_moves: '<= -10%'}\n").expectations
    assert expectation.against == "high_availability"


def test_override_sets_a_condition_and_is_its_place() -> None:
    (expectation,) = load_text(SMALL, ("expect.active_moves", "<= 7")).expectations
    assert expectation.place == "--set expect.active_moves=<= 7: expect.active_moves"


@pytest.mark.parametrize(
    ("expect", "mistake"),
    [
        ("worst_downtim_ms: '< 1s'", "expect.worst_downtim_ms: unknown metric (did you mean 'worst_downtime_ms'?)"),
        ("worst_down_ms: '< 1s'", "expect.worst_down_ms: unknown metric (did you mean 'worst_downtime_ms'?)"),
        ("worst_downtime_ms: 60s", "expect.worst_downtime_ms: '60s' has no comparison (as in '< 60s'; comparisons: "),
        ("active_moves: 3", "expect.active_moves: 3 has no comparison (as in '<= 3')"),
        ("active_moves: true", "expect.active_moves: expected a condition such as '<= 5', found true"),
        ("active_moves: {below: 3}", "expect.active_moves: expected a condition such as '<= 5', found a mapping"),
        ("active_moves: []", "expect.active_moves: has 0 conditions (1 to 10)"),
        ("active_moves: '<= 5 GB'", "expect.active_moves: '5 GB' is not a number (as in '<= 12')"),
        ("restored_bytes: '<= 5s'", "expect.restored_bytes: '5s' is not a size (as in '<= 5 GB')"),
        (
            "restored_bytes: '<= 5%'",
            "expect.restored_bytes: '5%' is not a size (a share of another assignor's value has",
        ),
        ("cross_rack_usd: '<= $5'", "expect.cross_rack_usd: unknown without a price (as in price: aws)"),
        ("against: stiky", "expect.against: 'stiky' is not the label of an assignor (did you mean 'sticky'?)"),
        ("active_moves: '< -101%'", "expect.active_moves: '-101%' is below -100%"),
    ],
)
def test_mistake_is_located(expect: str, mistake: str) -> None:
    (line,) = mistakes_in(TWO + f"expect:\n  {expect}\n")
    assert line.startswith(f"s.yaml:24: {mistake}")


def test_an_assignor_is_not_compared_with_itself() -> None:
    (line,) = mistakes_in(TWO.replace("expect: {}", "expect: {against: sticky, active_moves: '<= +1%'}"))
    assert "compares sticky with itself" in line


def test_unknown_assignor_is_the_only_mistake_of_a_scenario_whose_expectations_name_its_label() -> None:
    (line,) = mistakes_in(TWO.replace("legacy_sticky", "legacy_stiky") + EXPECT)
    assert "unknown assignor 'legacy_stiky'" in line


@pytest.mark.parametrize(
    ("unit", "text", "limit"),
    [
        (MetricUnit.MS, "<60000", 60_000),
        (MetricUnit.MS, "<= 1h30m", 5_400_000),
        (MetricUnit.BYTES, ">= 1 GiB", 2**30),
        (MetricUnit.BYTES_PER_S, "< 40 MB/s", 40_000_000),
        (MetricUnit.USD, "< $12.50", 12.5),
        (MetricUnit.USD, "< 12.50", 12.5),
        (MetricUnit.PERCENT, "<= 5 %", 5),
        (MetricUnit.NUMBER, "== 0.5", 0.5),
    ],
)
def test_values_have_the_units_of_the_language(unit: MetricUnit, text: str, limit: float) -> None:
    condition = parse_condition(text, unit)
    assert condition.limit == limit
    assert not condition.is_relative


@given(st.sampled_from(sorted(COMPARISONS)), st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_condition_and_its_negation_exclude_each_other(comparison: str, value: int, limit: int) -> None:
    negation = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}.get(comparison)
    condition = parse_condition(f"{comparison} {limit}", MetricUnit.COUNT)
    assert not condition.is_met(None, limit)
    assert not condition.is_met(value, None)
    if negation is not None:
        negated = parse_condition(f"{negation} {limit}", MetricUnit.COUNT)
        assert condition.is_met(value, limit) != negated.is_met(value, limit)
