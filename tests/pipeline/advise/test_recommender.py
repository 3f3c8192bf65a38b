"""Recommendations from synthetic runs, and how they are printed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline.advise.objective import parse_limits
from pipeline.advise.recommender import RecommendationRequest, recommend
from pipeline.advise.space import STANDBYS
from reports.analysis.recommendation import Recommendation, SettingChange
from reports.render.recommendation import render
from scenarios.load import loads
from tests.pipeline.advise.shop_space import SHOP, space_of
from tests.pipeline.advise.synthetic_runs import Formula, SyntheticRuns, evaluator_of, noise
from tests.pipeline.sweep.examples import SCENARIO

pytestmark = pytest.mark.spark


def recommend_for_shop(formula: Formula, **options: Any) -> tuple[Recommendation, SyntheticRuns]:
    shop_space = space_of(SHOP)
    evaluator = evaluator_of(formula, space=shop_space, **options)
    assert isinstance(evaluator.run_candidates, SyntheticRuns)
    request = RecommendationRequest(Path("shop.yaml"), SHOP, SHOP.assignors[0], shop_space, runs=300, seeds=9)
    return recommend(request, evaluator), evaluator.run_candidates


def with_standbys(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
    moves = 40 - 10 * min(values[STANDBYS], 1) + noise(seed)
    return {"active_moves": moves, "restored_bytes": 1e9 * values[STANDBYS], "cross_rack_usd_per_day": 3.0}


def test_recommendation_is_minimal_and_measured_with_fresh_seeds() -> None:
    recommendation, runs = recommend_for_shop(with_standbys)
    assert recommendation.verdict == "recommended"
    assert recommendation.changes == (SettingChange(STANDBYS, "0", "1"),)
    assert recommendation.gain is not None
    assert recommendation.gain.difference == pytest.approx(-10)
    assert recommendation.gain.direction == -1
    assert recommendation.gain.pairs == recommendation.seeds == 9
    candidates, seeds = runs.calls[-1]
    assert len(candidates) == 2
    assert not set(seeds) & {seed for _, search_seeds in runs.calls[:-1] for seed in search_seeds}
    differences = {figure.name: figure.difference for figure in recommendation.figures}
    assert differences == {"active_moves": pytest.approx(-10), "restored_bytes": 1e9, "cross_rack_usd_per_day": 0}


@pytest.mark.parametrize(("share", "verdict"), [(0.985, "recommended"), (0.995, "already_best")])
def test_gain_too_small_to_count_is_not_recommended(share: float, verdict: str) -> None:
    def hardly_cheaper(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        return {"cross_rack_usd_per_day": 80.0 * (share if values[STANDBYS] else 1.0), "active_moves": 40.0}

    recommendation, _ = recommend_for_shop(hardly_cheaper, objective="usd")
    assert recommendation.verdict == verdict


def test_gain_of_less_than_a_cent_is_not_recommended() -> None:
    def cheap(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        return {"cross_rack_usd_per_day": 1e-6 * (0.5 if values[STANDBYS] else 1.0)}

    recommendation, _ = recommend_for_shop(cheap, objective="usd")
    assert recommendation.verdict == "already_best"
    assert "not significantly better by a difference that counts" in str(recommendation.remarks)


def test_gain_not_confirmed_by_fresh_seeds_is_not_recommended() -> None:
    def better_before_last_seed(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        return {"active_moves": 40 - 10 * min(values[STANDBYS], 1) * (seed < first_fresh_seed)}

    first_fresh_seed = 10**6
    _, runs = recommend_for_shop(better_before_last_seed)
    first_fresh_seed = runs.calls[-1][1][0]
    recommendation, _ = recommend_for_shop(better_before_last_seed)
    assert (recommendation.verdict, recommendation.changes) == ("already_best", ())
    assert any(f"{STANDBYS}=1" in remark for remark in recommendation.remarks)


def test_current_setting_is_kept_without_improvement() -> None:
    recommendation, _ = recommend_for_shop(lambda values, seed: {"active_moves": 5 + noise(seed)})
    assert (recommendation.verdict, recommendation.changes, recommendation.gain) == ("already_best", (), None)
    assert "No better setting found" in " ".join(render(recommendation, color=False).split())


def test_infeasible_limits_are_explained() -> None:
    recommendation, _ = recommend_for_shop(with_standbys, limits=parse_limits(moves=12, downtime="1h"))
    assert recommendation.verdict == "none_feasible"
    text = render(recommendation, width=200, color=False)
    assert "at least one run exceeds --max-moves 12" in text
    assert "--max-downtime" not in text.split("Nearest to feasible", 1)[1]
    assert f"Nearest to feasible: {STANDBYS}=1" in text


def test_unconverged_current_setting_is_replaced_without_gain() -> None:
    def converging_with_standbys(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        return {"active_moves": 9, "verdict": "stable" if values[STANDBYS] else "cycling"}

    recommendation, _ = recommend_for_shop(converging_with_standbys)
    assert recommendation.verdict == "recommended"
    assert recommendation.changes == (SettingChange(STANDBYS, "0", "1"),)
    assert recommendation.remarks == ("Current setting: 9 of 9 runs: does not converge",)


def with_changes(changes: Sequence[SettingChange], scenario: str = "shop") -> Recommendation:
    recommendation, _ = recommend_for_shop(with_standbys)
    return Recommendation(
        **{name: getattr(recommendation, name) for name in Recommendation.__slots__}
        | {"scenario": scenario, "changes": changes}
    )


def test_properties_contain_only_keys_to_set() -> None:
    changes = (
        SettingChange("num.standby.replicas", "0", "1"),
        SettingChange("internal.task.assignor.class", "a.B", None),
        SettingChange("streams.num.standby.replicas", None, "1", ("kafka-configs.sh …",), is_property=False),
    )
    text = render(with_changes(changes, "shop\nevil.key=1"), "properties")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert lines == ["num.standby.replicas=1"]
    for line in ("# was: 0", "# internal.task.assignor.class: remove (was: a.B)", "# kafka-configs.sh …", "# gain: "):
        assert line in text


def test_table_shows_keys_gain_and_costs_with_escaped_name() -> None:
    text = render(with_changes((SettingChange(STANDBYS, "0", "1"),), "[red]shop\x1b[31m"), width=100, color=False)
    assert text.startswith("[red]shop\\x1b[31m")
    for part in (f"{STANDBYS}   0         1", "over 9 fresh seeds", "Restored state", f"{STANDBYS}=1"):
        assert part in text
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100


def conclusion(recommendation: Recommendation) -> str:
    """Return the end of the text for terminals, without line breaks."""
    return " ".join(render(recommendation, width=80, color=False).partition("Conclusion\n")[2].split())


def test_conclusion_names_what_to_set_and_what_changes_significantly() -> None:
    recommendation, _ = recommend_for_shop(with_standbys)
    assert recommendation.gain is not None
    assert recommendation.gain.after == pytest.approx(30, abs=1)
    before, after = (f"{value:.3g}" for value in (recommendation.gain.before, recommendation.gain.after))
    text = conclusion(recommendation)
    assert text.startswith(f"– Set {STANDBYS}=1: the objective is {after} instead of {before} (")
    assert "% less), over 9 fresh seeds. – Significantly lower: active task moves. –" in text
    assert "Significantly higher: restored state. Try next" in text
    assert text.endswith("--format properties -o streams.properties")


def test_conclusion_without_a_change_keeps_the_current_setting() -> None:
    recommendation, _ = recommend_for_shop(lambda values, seed: {"active_moves": 40.0})
    settings = recommendation.settings
    expected = (
        f"– Keep the current setting (high_availability): no better one found among {settings} evaluated settings."
    )
    assert conclusion(recommendation) == expected


def test_json_contains_changes_gain_and_steps() -> None:
    document = json.loads(render(recommend_for_shop(with_standbys)[0], "json"))
    assert document["changes"][0] == {
        "key": STANDBYS,
        "before": "0",
        "after": "1",
        "notes": [],
        "is_property": True,
    }
    assert document["gain"]["difference"] == pytest.approx(-10)
    assert document["gain"]["relative"] == pytest.approx(-0.25, rel=0.1)
    assert sum(step["settings"] * step["seeds"] for step in document["steps"]) < document["runs"] <= 330


def test_unknown_format_is_rejected() -> None:
    with pytest.raises(ValueError, match="table, json, csv, markdown"):
        render(recommend_for_shop(with_standbys)[0], "xml")


def dropping_standbys(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return a run: fewer standbys mean fewer moves, but tasks with a single copy."""
    without_standbys = values[STANDBYS] == 0
    unprotected = {
        "tasks_without_rack_redundancy": 6 if without_standbys else 2,
        "worst_client_loss": 3 if without_standbys else 0,
    }
    return {"active_moves": 40 + 10 * values[STANDBYS] + noise(seed), **unprotected}


PROTECTED = loads(SCENARIO.replace("  id: shop\n", "  id: shop\n  configs: {num.standby.replicas: 1}\n"), "shop")


def recommend_for_protected(formula: Formula, **options: Any) -> Recommendation:
    space = space_of(PROTECTED)
    evaluator = evaluator_of(formula, space=space, **options)
    return recommend(
        RecommendationRequest(Path("shop.yaml"), PROTECTED, PROTECTED.assignors[0], space, runs=300, seeds=9), evaluator
    )


def test_reduced_redundancy_is_recommended_with_a_warning() -> None:
    recommendation = recommend_for_protected(dropping_standbys)
    assert recommendation.changes == (SettingChange(STANDBYS, "1", "0"),)
    [warning] = recommendation.warnings
    assert "tasks without rack redundancy: 2 → 6, tasks lost if the worst client fails: 0 → 3" in warning
    assert "--max-unprotected-tasks N" in warning
    assert "WARNING: this setting reduces the redundancy" in conclusion(recommendation)
    assert "WARNING" in render(recommendation, "markdown")
    assert "# WARNING: this setting reduces the redundancy" in render(recommendation, "properties")
    assert json.loads(render(recommendation, "json"))["warnings"] == [warning]


def test_kept_or_gained_redundancy_has_no_warning() -> None:
    recommendation, _ = recommend_for_shop(
        lambda values, seed: {**with_standbys(values, seed), "tasks_without_rack_redundancy": 6 - values[STANDBYS]}
    )
    assert (recommendation.verdict, recommendation.warnings) == ("recommended", ())
    unknown, _ = recommend_for_shop(with_standbys)
    assert unknown.warnings == ()


@pytest.mark.parametrize(("maximum", "verdict"), [(6, "recommended"), (2, "already_best"), (1, "none_feasible")])
def test_limit_on_unprotected_tasks_covers_racks_and_clients(maximum: int, verdict: str) -> None:
    recommendation = recommend_for_protected(dropping_standbys, limits=parse_limits(unprotected=maximum))
    assert recommendation.verdict == verdict
    without_racks = recommend_for_protected(
        lambda values, seed: {**dropping_standbys(values, seed), "tasks_without_rack_redundancy": None},
        limits=parse_limits(unprotected=2),
    )
    assert without_racks.verdict == "already_best", "the worst client takes three tasks"
