"""The configs that are searched, their levels, and candidates as changes of Kafka configs."""

from __future__ import annotations

import pytest

from pipeline.advise.objective import RecommendError
from pipeline.advise.space import STANDBYS, STRATEGY, Candidate, SearchSpace, config_changes, current_assignor
from scenarios.load import loads
from tests.pipeline.advise.shop_space import SHOP, STREAMS, space_of, with_levels
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


def test_unknown_label_or_key_is_rejected() -> None:
    with pytest.raises(RecommendError, match=r"--today no_label: .*labels: high_availability, legacy_sticky"):
        current_assignor(SHOP, "no_label")
    with pytest.raises(RecommendError, match=r"--keep num\.standbys: .*did you mean 'num\.standby\.replicas'"):
        space_of(keep=["num.standbys"])


def change_keys(space: SearchSpace, candidate: Candidate) -> list[tuple[str, str | None, str | None]]:
    return [(change.key, change.before, change.after) for change in config_changes(space, candidate, "shop")]


def test_assignor_is_written_as_kafka_config() -> None:
    internal, public = "internal.task.assignor.class", "task.assignor.class"
    legacy = "org.apache.kafka.streams.processor.internals.assignment.LegacyStickyTaskAssignor"
    sticky = "org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor"
    from_default, from_legacy = space_of(), space_of(label="legacy_sticky")
    assert change_keys(from_default, with_levels(from_default, assignor="sticky_task_assignor")) == [
        (public, None, sticky)
    ]
    assert change_keys(from_legacy, with_levels(from_legacy, assignor="high_availability")) == [
        (internal, legacy, None)
    ]
    assert change_keys(from_legacy, with_levels(from_legacy, assignor="sticky_task_assignor")) == [
        (public, None, sticky),
        (internal, legacy, None),
    ]


def test_assignor_of_a_release_is_written_as_that_of_any_release() -> None:
    text = SCENARIO.replace("[high_availability, legacy_sticky]", "[legacy_sticky@4.1]")
    named, plain = space_of(loads(text, "shop")), space_of(label="legacy_sticky")
    assert named.dimensions[0].levels[0] == "legacy_sticky@4.1"
    changes = [change_keys(space, with_levels(space, assignor="high_availability")) for space in (named, plain)]
    assert changes[0] == changes[1] != []


def test_costs_are_written_with_their_strategy() -> None:
    shop_space = space_of()
    weighted = with_levels(shop_space, strategy="min_traffic", costs=(1, 10))
    assert [key for key, _, _ in change_keys(shop_space, weighted)] == [
        STRATEGY,
        "rack.aware.assignment.traffic_cost",
        "rack.aware.assignment.non_overlap_cost",
    ]
    assert "client.rack" in config_changes(shop_space, weighted, "shop")[0].notes[0]


def test_streams_group_standbys_are_a_group_config() -> None:
    group = space_of(loads(STREAMS, "shop"), assignors=["high_availability"])
    assert [dimension.levels for dimension in group.dimensions if dimension.name == "assignor"] == [
        ("streams_group_sticky", "high_availability")
    ]
    [change] = config_changes(group, with_levels(group, **{"replicas": 2}), "shop")
    assert (change.key, change.before, change.after) == ("streams.num.standby.replicas", "1", "2")
    assert not change.is_property
    assert "--entity-name shop --add-config streams.num.standby.replicas=2" in change.notes[0]
    assert change_keys(group, with_levels(group, assignor="high_availability")) == [
        (STANDBYS, None, "1"),
        ("group.protocol", "streams", None),
        ("streams.num.standby.replicas", "1", None),
    ]
