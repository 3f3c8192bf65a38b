"""Autoscalers that undo their own changes over and over are said to thrash."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from reports.analysis.runs.scaling_history import describe_scaling, scaling_figures

MINUTE = 60_000
KEY = ("shop", "sticky")


def rows(*replicas: int, every_ms: int = MINUTE, seed: int = 1, workload: str = "app") -> list[dict[str, Any]]:
    """Return the rows of an autoscaler that sets these replicas one after another."""
    about = {"scenario": KEY[0], "assignor": KEY[1], "seed": seed, "workload": workload}
    return [
        {**about, "at_ms": number * every_ms, "replicas_before": before, "replicas": after}
        for number, (before, after) in enumerate(pairwise(replicas))
    ]


def test_four_changes_of_direction_within_an_hour_thrash() -> None:
    [figures] = scaling_figures(rows(2, 4, 2, 4, 2, 4))[KEY]
    assert (figures.changes, figures.reversals, figures.fewest, figures.most) == (5, 4, 2, 4)
    assert figures.thrashes
    text = "5 changes of the number of pods of app (2 to 4), 4 of direction: the autoscaler thrashes"
    assert describe_scaling([figures]) == text


def test_three_changes_of_direction_or_slow_ones_do_not() -> None:
    assert not scaling_figures(rows(2, 4, 2, 4, 2))[KEY][0].thrashes
    assert not scaling_figures(rows(2, 4, 2, 4, 2, 4, 2, 4, every_ms=20 * MINUTE))[KEY][0].thrashes


def test_steps_in_one_direction_and_repeated_decisions_do_not_count() -> None:
    [figures] = scaling_figures(rows(2, 4, 4, 4, 6, 8, 8))[KEY]
    assert (figures.changes, figures.reversals) == (3, 0)


def test_pods_that_never_change_are_said_to_stay() -> None:
    assert describe_scaling(scaling_figures(rows(3, 3, 3))[KEY]) == "the number of pods of app did not change"


def test_pods_that_are_all_removed_have_changed() -> None:
    text = "1 change of the number of pods of app (0 to 3), 0 of direction"
    assert describe_scaling(scaling_figures(rows(3, 0))[KEY]) == text


def test_medians_over_seeds_and_all_workloads_are_named() -> None:
    table = [*rows(1, 2), *rows(1, 2, 3, 4, seed=2), *rows(1, 2, 3, seed=3), *rows(5, 4, workload="other")]
    figures = scaling_figures(table)[KEY]
    assert [(figure.workload, figure.changes) for figure in figures] == [("app", 2), ("other", 1)]
    assert " and " in describe_scaling(figures)
