"""Changes without benefit are undone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pipeline.advise.objective import parse_limits
from pipeline.advise.recommender import simplify
from pipeline.advise.space import Candidate
from tests.pipeline.advise.synthetic_runs import SPACE, evaluator_of, noise

pytestmark = pytest.mark.spark

BEST = Candidate(("odd", 5, 3, 6))


def test_only_changes_without_effect_are_undone() -> None:
    def only_kind_and_depth(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        own_noise = noise(seed, str(values["width"]))
        return {"active_moves": 50 - 9 * (values["kind"] == "odd") - 4 * values["depth"] + own_noise}

    assert simplify(evaluator_of(only_kind_and_depth), BEST, 8) == Candidate(("odd", 1, 1, 6))


def test_significant_but_marginal_change_is_undone() -> None:
    def marginal(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        depth, height = values["depth"], values["height"]
        return {"active_moves": 600 - 100 * depth - 0.5 * values["width"] - 4 * height + noise(seed)}

    assert simplify(evaluator_of(marginal), Candidate(("plain", 6, 6, 6)), 4) == Candidate(("plain", 1, 6, 6))


def test_one_of_two_redundant_changes_is_kept() -> None:
    def redundant(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        return {"active_moves": 10 - 5 * (values["kind"] == "odd" or values["width"] == 5)}

    chosen = simplify(evaluator_of(redundant), Candidate(("odd", 5, 1, 1)), 4)
    assert len(SPACE.changed(chosen)) == 1
    assert redundant(SPACE.values(chosen), 0)["active_moves"] == 5


def test_change_needed_for_a_limit_is_kept() -> None:
    def limited_downtime(values: Mapping[str, Any], seed: int) -> dict[str, Any]:
        return {"active_moves": values["width"], "downtime_ms": 9_000 - 1_000 * values["width"]}

    evaluator = evaluator_of(limited_downtime, limits=parse_limits(downtime="4s"))
    assert simplify(evaluator, Candidate(("odd", 5, 1, 1)), 4) == Candidate(("plain", 5, 1, 1))


@pytest.mark.parametrize("best", [SPACE.today, Candidate(("odd", 6, 6, 6))])
def test_all_changes_without_effect_are_undone(best: Candidate) -> None:
    assert simplify(evaluator_of(lambda values, seed: {"active_moves": 1}), best, 4) == SPACE.today
