from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline.recommend.config_changes import config_changes
from pipeline.recommend.errors import RecommendError
from pipeline.recommend.limits import parse_limits
from pipeline.recommend.objective import parse_objective
from pipeline.recommend.recommender import recommend
from pipeline.recommend.request import RecommendationRequest, check_price, current_assignor
from pipeline.recommend.space import STANDBYS, STRATEGY, Candidate, SearchSpace, search_space
from reports.analysis.recommendation import Recommendation, SettingChange
from reports.render.terminal.recommendation import render
from scenarios.load import Scenario, loads
from tests.pipeline.recommend.synthetic_runs import Formula, SyntheticRuns, evaluator_of, noise
from tests.pipeline.sweep.examples import SCENARIO

SHOP = loads(SCENARIO, "shop")
STREAMS = SCENARIO.replace(
    "[high_availability, legacy_sticky]",
    "[{label: old, assignor: streams_group_sticky, configs: {group.protocol: streams, num.standby.replicas: 1}}]",
)


def space(scenario: Scenario = SHOP, label: str | None = None, **more: Any) -> SearchSpace:
    return search_space(scenario, current_assignor(scenario, label), **more)


def having(space: SearchSpace, **levels: Any) -> Candidate:
    """Today's candidate with other levels, by the ends of the dimensions' names."""
    named = [each.name.rpartition(".")[2] for each in space.dimensions]
    return space.normalize([levels.get(name, of) for name, of in zip(named, space.today.levels, strict=True)])


def answered(formula: Formula, **more: Any) -> tuple[Recommendation, SyntheticRuns]:
    of_shop = space(SHOP)
    where = evaluator_of(formula, space=of_shop, **more)
    assert isinstance(where.run_candidates, SyntheticRuns)
    question = RecommendationRequest(Path("shop.yaml"), SHOP, SHOP.assignors[0], of_shop, runs=300, seeds=9)
    return recommend(question, where), where.run_candidates


def with_standbys(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
    moves = 40 - 10 * min(values[STANDBYS], 1) + noise(seed)
    return {"active_moves": moves, "restored_bytes": 1e9 * values[STANDBYS], "cross_rack_usd": 3.0}


def test_only_what_matters_is_recommended_and_measured_with_seeds_that_had_no_part_in_choosing() -> None:
    found, made = answered(with_standbys)
    assert found.verdict == "recommended"
    assert found.changes == (SettingChange(STANDBYS, "0", "1"),)
    assert found.gain is not None
    assert found.gain.difference == pytest.approx(-10)
    assert found.gain.direction == -1
    assert found.gain.pairs == found.seeds == 9
    candidates, seeds = made.asked[-1]
    assert len(candidates) == 2
    assert not set(seeds) & {seed for _, others in made.asked[:-1] for seed in others}
    costs = {figure.name: figure.difference for figure in found.figures}
    assert costs == {"active_moves": pytest.approx(-10), "restored_bytes": 1e9, "cross_rack_usd": 0}


def test_a_gain_of_the_search_that_fresh_seeds_do_not_confirm_is_not_recommended() -> None:
    def lucky(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        return {"active_moves": 40 - 10 * min(values[STANDBYS], 1) * (seed < last)}

    last = 10**6
    _, made = answered(lucky)
    last = made.asked[-1][1][0]
    found, _ = answered(lucky)
    assert (found.verdict, found.changes) == ("already_best", ())
    assert any(f"{STANDBYS}=1" in remark for remark in found.remarks)


def test_where_nothing_is_better_todays_settings_are_the_best() -> None:
    found, _ = answered(lambda values, seed: {"active_moves": 5 + noise(seed)})
    assert (found.verdict, found.changes, found.gain) == ("already_best", (), None)
    assert "No better setting found" in " ".join(render(found, color=False).split())


def test_where_no_setting_holds_a_limit_it_is_said_which_and_how_near_the_best_came() -> None:
    found, _ = answered(with_standbys, limits=parse_limits(moves=12, downtime="1h"))
    assert found.verdict == "none_feasible"
    text = render(found, width=200, color=False)
    assert "at least one run exceeds --max-moves 12" in text
    assert "--max-downtime" not in text.split("Nearest to feasible", 1)[1]
    assert f"Nearest to feasible: {STANDBYS}=1" in text


def test_todays_setting_that_does_not_come_to_rest_is_replaced_even_if_that_gains_nothing() -> None:
    def restless(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        return {"active_moves": 9, "verdict": "stable" if values[STANDBYS] else "cycling"}

    found, _ = answered(restless)
    assert found.verdict == "recommended"
    assert found.changes == (SettingChange(STANDBYS, "0", "1"),)
    assert found.remarks == ("Current setting: 9 of 9 runs: does not converge",)


def test_money_without_a_price_is_refused_with_what_to_do() -> None:
    free = loads(SCENARIO.replace("price: aws", ""), "shop")
    with pytest.raises(RecommendError, match="--set price=aws"):
        check_price(free, parse_objective("moves + 2*usd"))
    check_price(free, parse_objective("moves"))
    check_price(SHOP, parse_objective("usd"))


def test_a_label_or_key_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(RecommendError, match=r"--today nobody: .*labels: high_availability, legacy_sticky"):
        current_assignor(SHOP, "nobody")
    with pytest.raises(RecommendError, match=r"--keep num\.standbys: .*did you mean 'num\.standby\.replicas'"):
        space(keep=["num.standbys"])


def test_what_is_kept_is_not_searched() -> None:
    kept = space(keep=[STANDBYS, "assignor"])
    assert {(values["assignor"], values[STANDBYS]) for values in map(kept.values, kept.sample(200))} == {
        ("high_availability", 0)
    }


def test_settings_that_kafka_does_not_look_at_stand_at_todays_level() -> None:
    of_shop = space(assignors=["streams_group_sticky", "legacy_sticky"])
    assert having(of_shop, costs=(1, 1)) == of_shop.today
    assert having(of_shop, assignor="legacy_sticky", replicas=1) == having(
        of_shop, assignor="legacy_sticky", replicas=1, ms=60_000, lag=1_000
    )
    only_standbys = having(of_shop, assignor="streams_group_sticky", strategy="min_traffic", ms=60_000)
    assert of_shop.changed(only_standbys) == [0]


def keys(space: SearchSpace, candidate: Candidate) -> list[tuple[str, str | None, str | None]]:
    return [(each.key, each.before, each.after) for each in config_changes(space, candidate, "shop")]


def test_an_assignor_is_written_as_kafka_is_told_of_it() -> None:
    internal, public = "internal.task.assignor.class", "task.assignor.class"
    legacy = "org.apache.kafka.streams.processor.internals.assignment.LegacyStickyTaskAssignor"
    sticky = "org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor"
    from_default, from_legacy = space(), space(label="legacy_sticky")
    assert keys(from_default, having(from_default, assignor="sticky_task_assignor")) == [(public, None, sticky)]
    assert keys(from_legacy, having(from_legacy, assignor="high_availability")) == [(internal, legacy, None)]
    assert keys(from_legacy, having(from_legacy, assignor="sticky_task_assignor")) == [
        (public, None, sticky),
        (internal, legacy, None),
    ]


def test_costs_are_written_with_the_strategy_that_looks_at_them() -> None:
    of_shop = space()
    weighted = having(of_shop, strategy="min_traffic", costs=(1, 10))
    assert [key for key, _, _ in keys(of_shop, weighted)] == [
        STRATEGY,
        "rack.aware.assignment.traffic_cost",
        "rack.aware.assignment.non_overlap_cost",
    ]
    assert "client.rack" in config_changes(of_shop, weighted, "shop")[0].notes[0]


def test_standbys_of_a_streams_group_are_set_at_the_group_and_not_in_properties() -> None:
    group = space(loads(STREAMS, "shop"), assignors=["high_availability"])
    assert [each.levels for each in group.dimensions if each.name == "assignor"] == [
        ("streams_group_sticky", "high_availability")
    ]
    [change] = config_changes(group, having(group, **{"replicas": 2}), "shop")
    assert (change.key, change.before, change.after) == ("streams.num.standby.replicas", "1", "2")
    assert not change.is_property
    assert "--entity-name shop --add-config streams.num.standby.replicas=2" in change.notes[0]
    assert keys(group, having(group, assignor="high_availability")) == [
        (STANDBYS, None, "1"),
        ("group.protocol", "streams", None),
        ("streams.num.standby.replicas", "1", None),
    ]


def test_a_streams_group_is_not_advised_to_leave_unless_that_is_asked_for() -> None:
    assert space(loads(STREAMS, "shop")).dimensions[0].levels == ("streams_group_sticky",)


def recommended(changes: Sequence[SettingChange], scenario: str = "shop") -> Recommendation:
    found, _ = answered(with_standbys)
    return Recommendation(
        **{name: getattr(found, name) for name in Recommendation.__slots__} | {"scenario": scenario, "changes": changes}
    )


def test_the_fragment_of_properties_has_the_keys_to_set_and_all_else_in_comments() -> None:
    changes = (
        SettingChange("num.standby.replicas", "0", "1"),
        SettingChange("internal.task.assignor.class", "a.B", None),
        SettingChange("streams.num.standby.replicas", None, "1", ("kafka-configs.sh …",), is_property=False),
    )
    text = render(recommended(changes, "shop\nevil.key=1"), "properties")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert lines == ["num.standby.replicas=1"]
    for said in ("# was: 0", "# internal.task.assignor.class: remove (was: a.B)", "# kafka-configs.sh …", "# gain: "):
        assert said in text


def test_the_table_names_keys_gain_and_costs_whatever_the_scenario_is_called() -> None:
    text = render(recommended((SettingChange(STANDBYS, "0", "1"),), "[red]shop\x1b[31m"), width=100, color=False)
    assert text.startswith("[red]shop\\x1b[31m")
    for said in (f"{STANDBYS}   0         1", "over 9 fresh seeds", "Restored state", f"{STANDBYS}=1"):
        assert said in text
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100


def test_scripts_get_all_that_is_known() -> None:
    told = json.loads(render(answered(with_standbys)[0], "json"))
    assert told["changes"][0] == {
        "key": STANDBYS,
        "before": "0",
        "after": "1",
        "notes": [],
        "is_property": True,
    }
    assert told["gain"]["difference"] == pytest.approx(-10)
    assert told["gain"]["relative"] == pytest.approx(-0.25, rel=0.1)
    assert sum(step["settings"] * step["seeds"] for step in told["steps"]) < told["runs"] <= 330


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="table, json, properties"):
        render(answered(with_standbys)[0], "xml")


def dropping_standbys(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Fewer standbys move less, and leave tasks with one copy."""
    few = values[STANDBYS] == 0
    unprotected = {"tasks_without_rack_redundancy": 6 if few else 2, "worst_client_loss": 3 if few else 0}
    return {"active_moves": 40 + 10 * values[STANDBYS] + noise(seed), **unprotected}


PROTECTED = loads(SCENARIO.replace("  id: shop\n", "  id: shop\n  configs: {num.standby.replicas: 1}\n"), "shop")


def asked_of_protected(formula: Formula, **more: Any) -> Recommendation:
    where = evaluator_of(formula, space=space(PROTECTED), **more)
    return recommend(
        RecommendationRequest(Path("shop.yaml"), PROTECTED, PROTECTED.assignors[0], space(PROTECTED), 300, 9), where
    )


def test_a_setting_that_gives_up_redundancy_is_recommended_with_a_warning() -> None:
    found = asked_of_protected(dropping_standbys)
    assert found.changes == (SettingChange(STANDBYS, "1", "0"),)
    [warning] = found.warnings
    assert "tasks without rack redundancy: 2 → 6, tasks lost if the worst client fails: 0 → 3" in warning
    assert "--max-unprotected-tasks N" in warning
    assert "WARNING: this setting reduces the redundancy" in render(found, width=300, color=False)
    assert "# WARNING: this setting reduces the redundancy" in render(found, "properties")
    assert json.loads(render(found, "json"))["warnings"] == [warning]


def test_redundancy_that_is_gained_or_kept_is_not_warned_of() -> None:
    found, _ = answered(
        lambda values, seed: {**with_standbys(values, seed), "tasks_without_rack_redundancy": 6 - values[STANDBYS]}
    )
    assert (found.verdict, found.warnings) == ("recommended", ())
    unknown, _ = answered(with_standbys)
    assert unknown.warnings == ()


@pytest.mark.parametrize(("most", "verdict"), [(6, "recommended"), (2, "already_best"), (1, "none_feasible")])
def test_a_limit_on_unprotected_tasks_holds_for_racks_and_for_clients(most: int, verdict: str) -> None:
    found = asked_of_protected(dropping_standbys, limits=parse_limits(unprotected=most))
    assert found.verdict == verdict
    without_racks = asked_of_protected(
        lambda values, seed: {**dropping_standbys(values, seed), "tasks_without_rack_redundancy": None},
        limits=parse_limits(unprotected=2),
    )
    assert without_racks.verdict == "already_best", "a client takes three"
