"""Prices by pair of racks: `price.pairs`."""

from __future__ import annotations

import pytest

from scenarios.load import ScenarioError
from simulator.world.world import PairPrice, Price
from tests.scenarios.scenario_texts import SMALL, load_text

MINE = "price: {provider: mine, usd_per_gb: 0.02, received_usd_per_gb: 0.01, pairs: [%s]}\n"


def price_of(pairs: str, text: str = MINE) -> Price:
    price = load_text(SMALL + text % pairs).world(1).price
    assert price is not None
    return price


def mistakes_in(pairs: str) -> list[str]:
    with pytest.raises(ScenarioError) as error:
        load_text(SMALL + MINE % pairs)
    return [f"{mistake.path}: {mistake.message}" for mistake in error.value.mistakes]


def test_listed_pairs_have_their_price_and_others_the_usual_one() -> None:
    price = price_of("{from: az1, to: az2, usd_per_gb: 0.05, received_usd_per_gb: 0}")
    assert price.between("az1", "az2") == PairPrice(0.05, 0.0)
    assert price.between("az2", "az1") == price.between("az1", "az3") == PairPrice(0.02, 0.01)


def test_lists_of_racks_and_both_ways_are_all_pairs() -> None:
    price = price_of("{from: [az1, az2], to: [az2, az3], both_ways: true, usd_per_gb: 0.08}")
    assert set(price.pairs) == {
        (source, target) for source in ("az1", "az2", "az3") for target in ("az1", "az2", "az3") if source != target
    }


def test_receiver_pays_the_same_fraction_by_default() -> None:
    assert price_of("{from: az1, to: az2, usd_per_gb: 0.05}").between("az1", "az2") == PairPrice(0.05, 0.025)


def test_built_in_price_is_that_of_the_other_pairs() -> None:
    price = price_of("{from: az1, to: az2, usd_per_gb: 0.05}", "price: {provider: aws, pairs: [%s]}\n")
    assert price.between("az2", "az1") == PairPrice(0.02, 0.01)


def test_racks_of_other_traffic_are_known() -> None:
    text = "other_traffic: {groups: [{name: remote, topics: [orders], racks: [eu1]}]}\n"
    pairs = "{from: [az1, az2, az3], to: eu1, usd_per_gb: 0.02, received_usd_per_gb: 0}"
    assert price_of(pairs, text + MINE).between("az3", "eu1") == PairPrice(0.02, 0.0)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ("{from: az1, to: az9, usd_per_gb: 1}", "price.pairs[0].to: unknown rack 'az9' (racks: az1, az2, az3)"),
        ("{from: az1, to: az2, usd_per_gb: -1}", "price.pairs[0].usd_per_gb: -1 is too small"),
        ("{from: az1, to: az2}", "price.pairs[0].usd_per_gb: missing"),
        ("{from: az1, usd_per_gb: 1}", "price.pairs[0].to: missing"),
        ("{from: az1, to: az1, usd_per_gb: 1}", "price.pairs[0]: from and to are the same rack"),
        (
            "{from: az1, to: az2, usd_per_gb: 1}, {from: [az2, az3], to: az1, both_ways: true, usd_per_gb: 1}",
            "price.pairs[1]: az1 → az2 has a price in pairs[0] already; list it once",
        ),
        (
            "{from: az1, to: az2, usd_per_gb: 1, received_usd_per_gb: 2}",
            "price.pairs[0].received_usd_per_gb: 2 is more than usd_per_gb: 1",
        ),
    ],
)
def test_mistakes_say_where_and_what(pairs: str, expected: str) -> None:
    [mistake] = mistakes_in(pairs)
    assert mistake.startswith(expected)


def test_provider_without_a_price_needs_one_for_the_other_pairs() -> None:
    with pytest.raises(ScenarioError, match="no built-in price of 'mine'"):
        price_of("{from: az1, to: az2, usd_per_gb: 1}", "price: {provider: mine, pairs: [%s]}\n")


def test_assignor_that_minimizes_dollars_is_warned_about() -> None:
    optimal = SMALL.replace("[high_availability]", "[{assignor: optimal, parameters: {minimizes: dollars}}]")
    warnings = load_text(optimal + MINE % "{from: az1, to: az2, usd_per_gb: 1}").warnings
    assert any("minimizes dollars at $0.02 per GB between all racks, without pairs" in warning for warning in warnings)
