"""Requests that are rejected."""

from __future__ import annotations

import pytest

from pipeline.advise.objective import RecommendError, check_price, parse_objective
from pipeline.advise.space import current_assignor
from scenarios.load import loads
from tests.pipeline.advise.shop_space import SHOP, space_of
from tests.pipeline.sweep.examples import SCENARIO

pytestmark = pytest.mark.spark


def test_cost_objective_without_price_is_rejected() -> None:
    unpriced = loads(SCENARIO.replace("price: aws", ""), "shop")
    with pytest.raises(RecommendError, match="--set price=aws"):
        check_price(unpriced, parse_objective("moves + 2*usd"))
    check_price(unpriced, parse_objective("moves"))
    check_price(SHOP, parse_objective("usd"))


def test_unknown_label_or_key_is_rejected() -> None:
    with pytest.raises(RecommendError, match=r"--today no_label: .*labels: high_availability, legacy_sticky"):
        current_assignor(SHOP, "no_label")
    with pytest.raises(RecommendError, match=r"--keep num\.standbys: .*did you mean 'num\.standby\.replicas'"):
        space_of(keep=["num.standbys"])
