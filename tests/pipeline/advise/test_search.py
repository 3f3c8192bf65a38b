from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from pipeline.advise.objective import parse_limits
from pipeline.advise.recommender import MAX_SEEDS, search
from pipeline.advise.space import Candidate
from tests.pipeline.advise.synthetic_runs import SPACE, SyntheticRuns, evaluator_of, noise

pytestmark = pytest.mark.spark

BEST = Candidate(("odd", 5, 3, 6))


def distance_from_best(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return a run whose objective is lowest at BEST only; noise is common to all candidates of a seed."""
    distance = sum(abs(values[name] - best) for name, best in (("width", 5), ("height", 3), ("depth", 6)))
    return {"active_moves": 100 + 3 * distance + 8 * (values["kind"] != "odd") + 5 * noise(seed)}


def test_search_finds_best_of_a_thousand_settings_with_few_runs() -> None:
    rounds = search(evaluator_of(distance_from_best), 700)
    assert rounds[-1].ranked[0].candidate == BEST
    assert rounds[-1].seeds == MAX_SEEDS


def test_search_finds_best_despite_independent_noise() -> None:
    def scattered(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        own_noise = noise(seed, *map(str, values.values()))
        return {"active_moves": distance_from_best(values, seed)["active_moves"] + own_noise}

    best = search(evaluator_of(scattered), 1_500)[-1].ranked[0].candidate
    assert (
        distance_from_best(SPACE.values(best), 0)["active_moves"]
        - distance_from_best(SPACE.values(BEST), 0)["active_moves"]
        <= 3
    )


def test_search_respects_budget_and_uses_fresh_seeds() -> None:
    for budget in (14, 50, 200):
        evaluator = evaluator_of(distance_from_best)
        search(evaluator, budget)
        assert isinstance(evaluator.run_candidates, SyntheticRuns)
        calls = evaluator.run_candidates.calls
        seeds = list(itertools.chain.from_iterable(seeds for _, seeds in calls))
        assert seeds == list(range(1, len(seeds) + 1))
        assert evaluator.runs == sum(len(candidates) * len(seeds) for candidates, seeds in calls) <= budget
        assert all(SPACE.today in candidates for candidates, _ in calls)


def test_tie_goes_to_fewest_changes() -> None:
    rounds = search(evaluator_of(lambda values, seed: {"active_moves": 7}), 300)
    assert rounds[-1].ranked[0].candidate == SPACE.today

    rounds = search(evaluator_of(lambda values, seed: {"active_moves": int(values["kind"] == "plain")}), 300)
    assert rounds[-1].ranked[0].candidate == Candidate(("fancy", 1, 1, 1))


def test_feasible_setting_ranks_before_infeasible_one() -> None:
    def unconverged_at_best(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        is_best = SPACE.normalize(tuple(values.values())) == BEST
        return distance_from_best(values, seed) | {"verdict": "cycling" if is_best and seed % 2 else "stable"}

    first = search(evaluator_of(unconverged_at_best), 700)[-1].ranked[0]
    assert first.is_feasible
    assert (
        distance_from_best(SPACE.values(first.candidate), 0)["active_moves"]
        == distance_from_best(SPACE.values(BEST), 0)["active_moves"] + 3
    )


def test_search_reaches_feasible_region() -> None:
    def downtime_falls_with_moves(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        height = values["width"] + values["height"] + values["depth"]
        return {"active_moves": height, "downtime_ms": 1_000 * (18 - height)}

    ranked = search(evaluator_of(downtime_falls_with_moves, limits=parse_limits(downtime="2s")), 400)[-1].ranked
    assert ranked[0].is_feasible
    assert ranked[0].mean == 16


def test_search_is_deterministic() -> None:
    first, second = (
        [
            [(evaluation.candidate, evaluation.mean) for evaluation in stage.ranked]
            for stage in search(evaluator_of(distance_from_best), 300)
        ]
        for _ in range(2)
    )
    assert first == second


def test_small_space_is_sampled_completely() -> None:
    assert len(SPACE.sample(3 * 7**3)) == 3 * 7**3
    assert len(set(SPACE.sample(60))) == len(SPACE.sample(60)) > 50
