"""The recommended cell of a sweep: on the front, and with the lowest maximum regret."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from reports.analysis.metrics import METRIC, least_relevant
from reports.analysis.sweeps.aggregated_sweep import AggregatedSweep, MeanEstimate
from reports.analysis.sweeps.grids import (
    differences_sentence,
    front_sentence,
    heat_map,
    heat_sentence,
    most_balanced,
    recommended_cell,
    sensitivity_sentence,
)
from tests.reports.sample_sweep import sweep


def random_sweep(seed: int) -> AggregatedSweep:
    """Return the sample with random means, front and stability."""
    random = Random(seed)
    sample = sweep()
    means = {
        metric.name: {
            index: MeanEstimate(random.choice((1.0, 2.0, random.uniform(0, 9))), None, None, 3)
            for index in range(len(sample.cells))
            if random.random() < 0.9
        }
        for metric in sample.objectives
    }
    cells = tuple(
        replace(cell, row={**cell.row, "on_front": random.random() < 0.6, "stable": random.choice((1.0, 0.5))})
        for cell in sample.cells
    )
    return replace(sample, means=means, cells=cells)


@pytest.mark.parametrize("seed", range(200))
def test_no_other_considered_cell_has_a_lower_maximum_regret(seed: int) -> None:
    sample = random_sweep(seed)
    chosen = recommended_cell(sample)
    front = [
        index
        for index, cell in enumerate(sample.cells)
        if cell.row["on_front"] and all(index in sample.means[metric.name] for metric in sample.objectives)
    ]
    considered = [index for index in front if sample.cells[index].row["stable"] == 1] or front
    if chosen is None:
        assert not front
        return

    def regret(index: int) -> float:
        worst = 0.0
        for metric in sample.objectives:
            values = [sample.means[metric.name][other].mean for other in front]
            if max(values) - min(values) >= max(least_relevant(metric.name), min(values) / 100):
                mean = sample.means[metric.name][index].mean
                worst = max(worst, (mean - min(values)) / (max(values) - min(values)))
        return worst

    index = sample.cells.index(chosen.cell)
    assert index in considered
    assert regret(index) == min(map(regret, considered))


def test_differences_that_are_not_relevant_decide_nothing() -> None:
    """The first combination costs most by $0.004 per day, and has the shortest downtime by 15 s."""
    means, are_stable = [[0.086, 94_700.0], [0.082, 144_700.0], [0.083, 109_700.0]], [True] * 3
    assert most_balanced(means, are_stable, [0.01, 1_000.0]) == 0
    assert most_balanced(means, are_stable, [0.001, 1_000.0]) == 2


def test_recommendation_says_one_thing_and_its_figures_follow() -> None:
    chosen = recommended_cell(sweep())
    assert chosen is not None
    assert chosen.choice == "Start with steady (the baseline) and rate=1, standbys=0."
    assert chosen.titles == (
        "Cross-rack cost per day",
        "Active task moves",
        "Time to converge (worst event)",
    )
    assert [row.title for row in chosen.rows] == ["Recommended", "Lowest on the front"]
    assert [(cell.text, best) for cell, best in chosen.rows[0].cells] == [
        ("$10.00", False), ("4", False), ("1 s", True),
    ]  # fmt: skip
    assert [(cell.text, best) for cell, best in chosen.rows[1].cells] == [
        ("$8.00", False), ("1", False), ("1 s", False),
    ]  # fmt: skip
    assert chosen.command.startswith("assignor-sim run orders.yaml --assignor steady")


def test_other_assignor_is_compared_with_baseline() -> None:
    sample = sweep()
    cells = tuple(
        replace(cell, row={**cell.row, "on_front": cell.assignor == "rival" and cell.row["on_front"]})
        for cell in sample.cells
    )
    chosen = recommended_cell(replace(sample, cells=cells))
    assert chosen is not None
    assert chosen.cell.assignor == "rival"
    assert "baseline" not in chosen.choice
    assert chosen.rows[-1].title == "Difference from the baseline steady"
    index = sample.cells.index(chosen.cell)
    for metric, (cell, best) in zip(sample.objectives, chosen.rows[-1].cells, strict=True):
        difference = sample.differences[metric.name][index].mean
        assert cell.value == difference
        assert (cell.text == "no difference") == (abs(difference) < least_relevant(metric.name))
        assert not best


def test_every_part_has_a_sentence_from_its_figures() -> None:
    sample = sweep()
    heat = heat_map(sample)
    assert heat is not None
    assert front_sentence(sample) == (
        "On the front: Cross-rack cost per day from $8.00 (rival with rate=1, standbys=0) to $22.00; "
        "Active task moves from 1 (steady with rate=5, standbys=1) to 6."
    )
    assert sensitivity_sentence(sample) == (
        "Cross-rack cost per day depends most on rate (60 % of the variance); "
        "Active task moves depends most on assignor (70 % of the variance)."
    )
    assert heat_sentence(sample, heat).startswith("Cross-rack cost per day: lowest ")
    assert differences_sentence(sample, METRIC["cross_rack_usd_per_day"]) == (
        "Cross-rack cost per day, 4 cells compared with the baseline steady: "
        "significantly lower in 3, higher in 1, not significant in 0."
    )
