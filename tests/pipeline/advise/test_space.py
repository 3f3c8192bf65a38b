"""The configs that are searched, and their levels."""

from __future__ import annotations

import pytest

from pipeline.advise.space import STANDBYS
from scenarios.load import loads
from tests.pipeline.advise.shop_space import STREAMS, space_of, with_levels
from tests.pipeline.sweep.examples import SCENARIO

pytestmark = pytest.mark.spark


def test_kept_configs_are_not_searched() -> None:
    kept = space_of(keep=[STANDBYS, "assignor"])
    assert {(values["assignor"], values[STANDBYS]) for values in map(kept.values, kept.sample(200))} == {
        ("high_availability", 0)
    }


def test_configs_without_effect_keep_current_level() -> None:
    shop_space = space_of(assignors=["streams_group_sticky", "legacy_sticky"])
    assert with_levels(shop_space, costs=(1, 1)) == shop_space.today
    assert with_levels(shop_space, assignor="legacy_sticky", replicas=1) == with_levels(
        shop_space, assignor="legacy_sticky", replicas=1, ms=60_000, lag=1_000
    )
    only_standbys = with_levels(shop_space, assignor="streams_group_sticky", strategy="min_traffic", ms=60_000)
    assert shop_space.changed(only_standbys) == [0]


def test_same_assignor_is_not_searched_under_two_names() -> None:
    scenario = loads(SCENARIO.replace("[high_availability, legacy_sticky]", "[high_availability@4.1]"), "shop")
    named = space_of(scenario)
    assert named.dimensions[0].levels == ("high_availability@4.1", "sticky_task_assignor")
    assert with_levels(named, ms=60_000) != named.today, "warm-up configs have an effect"


def test_streams_group_keeps_its_protocol_by_default() -> None:
    assert space_of(loads(STREAMS, "shop")).dimensions[0].levels == ("streams_group_sticky",)
