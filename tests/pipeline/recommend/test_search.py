from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from pipeline.recommend.limits import parse_limits
from pipeline.recommend.search import MAX_SEEDS, search
from pipeline.recommend.simplify import simplify
from pipeline.recommend.space import Candidate
from tests.pipeline.recommend.synthetic_runs import SPACE, SyntheticRuns, evaluator_of, noise

BEST = Candidate(("odd", 5, 3, 6))


def bowl(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Least at BEST and nowhere else; what differs from seed to seed is the same for all."""
    far = sum(abs(values[name] - best) for name, best in (("width", 5), ("height", 3), ("depth", 6)))
    return {"active_moves": 100 + 3 * far + 8 * (values["kind"] != "odd") + 5 * noise(seed)}


def test_the_search_finds_the_best_of_a_thousand_settings_with_a_fraction_of_the_runs() -> None:
    rounds = search(evaluator_of(bowl), 700)
    assert rounds[-1].ranked[0].candidate == BEST
    assert rounds[-1].seeds == MAX_SEEDS


def test_the_search_finds_the_best_where_runs_scatter_on_their_own() -> None:
    def scattered(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        own = noise(seed, *map(str, values.values()))
        return {"active_moves": bowl(values, seed)["active_moves"] + own}

    found = search(evaluator_of(scattered), 1_500)[-1].ranked[0].candidate
    assert bowl(SPACE.values(found), 0)["active_moves"] - bowl(SPACE.values(BEST), 0)["active_moves"] <= 3


def test_a_search_keeps_to_its_budget_and_meets_every_seed_once() -> None:
    for budget in (14, 50, 200):
        where = evaluator_of(bowl)
        search(where, budget)
        assert isinstance(where.run_candidates, SyntheticRuns)
        asked = where.run_candidates.asked
        seeds = list(itertools.chain.from_iterable(seeds for _, seeds in asked))
        assert seeds == list(range(1, len(seeds) + 1))
        assert where.runs == sum(len(candidates) * len(seeds) for candidates, seeds in asked) <= budget
        assert all(SPACE.today in candidates for candidates, _ in asked)


def test_of_settings_that_are_equally_good_the_search_ends_with_the_one_that_changes_least() -> None:
    rounds = search(evaluator_of(lambda values, seed: {"active_moves": 7}), 300)
    assert rounds[-1].ranked[0].candidate == SPACE.today

    rounds = search(evaluator_of(lambda values, seed: {"active_moves": int(values["kind"] == "plain")}), 300)
    assert rounds[-1].ranked[0].candidate == Candidate(("fancy", 1, 1, 1))


def test_a_setting_one_run_of_which_is_not_acceptable_is_never_ahead_of_one_that_is() -> None:
    def restless_at_the_best(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        is_best = SPACE.normalize(tuple(values.values())) == BEST
        return bowl(values, seed) | {"verdict": "cycling" if is_best and seed % 2 else "stable"}

    first = search(evaluator_of(restless_at_the_best), 700)[-1].ranked[0]
    assert first.is_feasible
    assert bowl(SPACE.values(first.candidate), 0)["active_moves"] == bowl(SPACE.values(BEST), 0)["active_moves"] + 3


def test_the_search_finds_its_way_to_where_a_limit_holds() -> None:
    def steep(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        height = values["width"] + values["height"] + values["depth"]
        return {"active_moves": height, "downtime_ms": 1_000 * (18 - height)}

    ranked = search(evaluator_of(steep, limits=parse_limits(downtime="2s")), 400)[-1].ranked
    assert ranked[0].is_feasible
    assert ranked[0].mean == 16


def test_the_same_search_comes_to_the_same_rounds() -> None:
    first, second = (
        [[(each.candidate, each.mean) for each in of_round.ranked] for of_round in search(evaluator_of(bowl), 300)]
        for _ in range(2)
    )
    assert first == second


def test_a_small_space_is_tried_as_a_whole() -> None:
    assert len(SPACE.sample(3 * 7**3)) == 3 * 7**3
    assert len(set(SPACE.sample(60))) == len(SPACE.sample(60)) > 50


def test_a_change_that_makes_no_difference_is_undone_and_one_that_does_stays() -> None:
    def only_kind_and_depth(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        own = noise(seed, str(values["width"]))
        return {"active_moves": 50 - 9 * (values["kind"] == "odd") - 4 * values["depth"] + own}

    assert simplify(evaluator_of(only_kind_and_depth), BEST, 8) == Candidate(("odd", 1, 1, 6))


def test_a_change_that_surely_gains_next_to_nothing_is_undone() -> None:
    def finely(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        depth, height = values["depth"], values["height"]
        return {"active_moves": 600 - 100 * depth - 0.5 * values["width"] - 4 * height + noise(seed)}

    assert simplify(evaluator_of(finely), Candidate(("plain", 6, 6, 6)), 4) == Candidate(("plain", 1, 6, 6))


def test_of_two_changes_that_make_up_for_each_other_one_stays() -> None:
    def either(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        return {"active_moves": 10 - 5 * (values["kind"] == "odd" or values["width"] == 5)}

    chosen = simplify(evaluator_of(either), Candidate(("odd", 5, 1, 1)), 4)
    assert len(SPACE.changed(chosen)) == 1
    assert either(SPACE.values(chosen), 0)["active_moves"] == 5


def test_a_change_that_a_limit_needs_stays() -> None:
    def costly(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        return {"active_moves": values["width"], "downtime_ms": 9_000 - 1_000 * values["width"]}

    where = evaluator_of(costly, limits=parse_limits(downtime="4s"))
    assert simplify(where, Candidate(("odd", 5, 1, 1)), 4) == Candidate(("plain", 5, 1, 1))


@pytest.mark.parametrize("best", [SPACE.today, Candidate(("odd", 6, 6, 6))])
def test_where_nothing_matters_todays_is_left(best: Candidate) -> None:
    assert simplify(evaluator_of(lambda values, seed: {"active_moves": 1}), best, 4) == SPACE.today
