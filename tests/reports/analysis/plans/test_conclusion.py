"""The conclusion of a comparison of plans holds against every plan of random comparisons."""

from __future__ import annotations

import random
from dataclasses import replace
from math import inf

import pytest

from reports.analysis.plans.conclusion import conclude_plans
from reports.analysis.plans.results import TODAY, PlanResults, PlanRow
from tests.reports.sample_plans import results

KEYS = ("replicas_range", "leaders_range", "bytes_moved", "broken_rack", "replicas_moved", "leaders_changed_by_copy")


def random_plans(seed: int) -> PlanResults:
    """Return a comparison of up to eight plans with small random figures, so that ties are frequent."""
    draw = random.Random(seed)
    rows = []
    for number in range(draw.randint(1, 9)):
        figures: dict[str, float | None] = {key: draw.randint(0, 4) for key in KEYS}
        figures["leaders_changed_by_order"] = 0
        if draw.random() < 0.2:
            figures["bytes_moved"] = None
        rows.append(PlanRow(TODAY if number == 0 else f"plan{number}", figures=figures))
    return replace(results(), rows=tuple(rows))


def figure(row: PlanRow, key: str) -> float:
    value = row.figures.get(key)
    return inf if value is None else value


@pytest.mark.parametrize("seed", range(60))
def test_no_plan_is_better_than_the_recommended_one(seed: int) -> None:
    compared = random_plans(seed)
    conclusion = conclude_plans(compared)
    today, *plans = compared.rows
    key = (
        "replicas_range"
        if any(figure(row, "replicas_range") < figure(today, "replicas_range") for row in plans)
        else "leaders_range"
    )
    if not conclusion.chosen:
        fewest = min((figure(row, "broken_rack") for row in plans), default=0)
        lawful = [row for row in plans if figure(row, "broken_rack") == fewest]
        assert all(figure(row, key) >= figure(today, key) for row in lawful)
        return
    [chosen] = [row for row in plans if row.strategy == conclusion.chosen]
    assert figure(chosen, key) < figure(today, key)
    for row in plans:
        rank = (figure(row, "broken_rack"), figure(row, key))
        assert rank >= (figure(chosen, "broken_rack"), figure(chosen, key))
    assert chosen.strategy in conclusion.sentences[0]


@pytest.mark.parametrize("seed", range(60))
def test_hidden_plans_are_dominated_by_a_shown_one(seed: int) -> None:
    compared = random_plans(seed)
    conclusion = conclude_plans(compared)
    by_name = {row.strategy: row for row in compared.rows}
    shown = [row.strategy for row in conclusion.rows]
    assert sorted([*shown, *conclusion.dominated]) == sorted(by_name)
    keys = ["broken_rack", "replicas_range", "leaders_range", "bytes_moved"]
    if all(row.figures["bytes_moved"] is None for row in compared.rows[1:]):
        keys[-1] = "replicas_moved"
    vectors = {name: [figure(row, key) for key in keys] for name, row in by_name.items()}
    for name in conclusion.dominated:
        assert any(
            all(a <= b for a, b in zip(vectors[other], vectors[name], strict=True)) and vectors[other] != vectors[name]
            for other in shown[1:]
        )


def test_sentences_have_the_figures_of_the_plan() -> None:
    conclusion = conclude_plans(results())
    assert conclusion.chosen == "even"
    first, second, third = conclusion.sentences
    assert first.startswith("even lowers the difference between brokers from 4 to 0 replicas, and violates")
    assert second == "It copies 4 replicas (11 GB)."
    assert third == "Without a throttle (--throttle), the time to copy is unknown."
    assert "No plan: greedy and more; the comparison has the reasons." in conclusion.findings


def test_plan_that_changes_nothing_is_not_recommended() -> None:
    unchanged = results(plans={"still": [(1, 2), (1, 3), (2, 3), (2, 3), (3, 1), (1, 2)]})
    conclusion = conclude_plans(
        replace(unchanged, rows=(unchanged.rows[0], replace(unchanged.rows[0], strategy="still")))
    )
    assert conclusion.chosen == ""
    assert conclusion.sentences[0].startswith("No plan makes the cluster more even")
