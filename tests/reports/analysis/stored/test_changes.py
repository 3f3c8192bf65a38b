"""What has changed since results were stored: planted changes are found and named."""

from __future__ import annotations

import copy
import dataclasses

import pytest

from reports.analysis.stored.changes import causes, changes
from reports.analysis.stored.results import StoredResults
from reports.analysis.stored.tolerance import ToleranceError, parse_tolerances
from tests.reports.sample_stored_results import ORIGIN, planted, results, rounds

STAY = {"0_0": "a b", "0_1": "b"}
MOVED = {"0_0": "b a", "0_1": "b"}


def said(before: StoredResults, now: StoredResults, *allowed: str, metrics_only: bool = False) -> list[str]:
    return list(map(str, changes(before, now, parse_tolerances(allowed), metrics_only=metrics_only)))


def test_nothing_is_said_where_nothing_has_changed() -> None:
    assert not said(results(STAY, MOVED), results(STAY, MOVED))


def test_a_change_of_one_task_in_one_round_is_found_and_both_are_named() -> None:
    now = results(STAY, MOVED, MOVED)
    before = planted(now, 2, **{"0_1": ["c"]})
    [change] = changes(before, now)
    assert (change.kind, change.round, change.name) == ("task", 2, "0_1")
    assert str(change) == "round 2: task 0_1 was on c, now on b"


def test_a_task_is_named_again_only_where_its_difference_is_another() -> None:
    before = results(STAY, STAY, STAY, STAY)
    now = results(STAY, MOVED, MOVED, {"0_0": "c", "0_1": "b"})
    assert said(before, now) == [
        "round 2: task 0_0 was on a, standby on b, now on b, standby on a",
        "round 4: task 0_0 was on a, standby on b, now on c",
    ]


def test_a_difference_that_ends_and_comes_back_is_named_again() -> None:
    lines = said(results(STAY, STAY, STAY, STAY), results(STAY, MOVED, STAY, MOVED))
    assert [line.partition(":")[0] for line in lines] == ["round 2", "round 4"]


def test_a_task_that_nobody_has_or_runs_is_said_to_be_nowhere() -> None:
    assert said(results({"0_0": "a"}), results({"0_0": "- a", "0_1": "a"})) == [
        "round 1: task 0_0 was on a, now run by nobody, standby on a",
        "round 1: task 0_1 was nowhere, now on a",
    ]


def test_of_a_large_run_the_round_is_named() -> None:
    before, now = results(STAY, STAY), results(STAY, MOVED)
    for each in (before, now):
        for run in each.runs.values():
            for round_ in run.rounds:
                round_["changes"] = None  # type: ignore[index]
    [line] = said(before, now)
    assert line.startswith("round 2: digest ")


def test_a_digest_that_somebody_changed_by_hand_is_found() -> None:
    now = results(STAY, MOVED)
    before = copy.deepcopy(now)
    before.runs["ha", 1].rounds[1]["digest"] = "0"  # type: ignore[index]
    [line] = said(before, now)
    assert line.startswith("round 2: digest 0 was stored, now ")


def test_rounds_that_came_or_went_are_named() -> None:
    short, long = results(STAY), results(STAY, MOVED)
    assert said(short, long) == ["round 2: was not stored"]
    assert said(long, short) == ["round 2: does not come any more"]


def test_runs_that_came_or_went_are_named() -> None:
    one, other = results(STAY, seed=1), results(STAY, seed=2)
    [came, went] = changes(one, other)
    assert (came.seed, str(came)) == (2, "was not stored")
    assert (went.seed, str(went)) == (1, "is not run any more")


def test_what_is_stored_of_a_round_is_compared_too() -> None:
    now = results(STAY)
    before = copy.deepcopy(now)
    before.runs["ha", 1] = dataclasses.replace(now.runs["ha", 1], rounds=rounds(STAY, figures={"withheld_tasks": 2}))  # type: ignore[index]
    assert said(before, now) == ["round 1: withheld_tasks 2 was stored, now 0"]


@pytest.mark.parametrize(
    ("figures", "line"),
    [
        ({"active_moves": 5}, "active_moves: 4 was stored, now 5 (+25 %, worse)"),
        ({"downtime_ms": 4_500}, "downtime_ms: 9 s was stored, now 4.5 s (-50 %, better)"),
        ({"downtime_ms": 9_001}, "downtime_ms: 9,000 was stored, now 9,001 (+0.0111 %, worse)"),
        ({"active_cost": 3}, "active_cost: 0 was stored, now 3"),
        ({"verdict": "never"}, "verdict: stable was stored, now never"),
        ({"cause": "\x1b[31m"}, "cause: null was stored, now \\x1b[31m"),
        ({"cross_rack_usd": 1.25}, "cross_rack_usd: null was stored, now 1.25"),
        ({"novel": 1}, "novel: null was stored, now 1"),
    ],
)
def test_a_changed_figure_is_said_with_how_much_and_whether_that_is_worse(
    figures: dict[str, object], line: str
) -> None:
    assert said(results(STAY), results(STAY, **figures)) == [line]


def test_the_last_digit_of_a_sum_of_floats_does_not_matter_and_that_of_a_count_does() -> None:
    assert not said(results(STAY, cross_rack_bytes=1.00000001e9), results(STAY, cross_rack_bytes=1.00000002e9))
    assert said(results(STAY, cross_rack_bytes=1.0000001e9), results(STAY, cross_rack_bytes=1.0000002e9))
    assert said(results(STAY, downtime_ms=10**9), results(STAY, downtime_ms=10**9 + 1))


def test_a_tolerance_holds_for_its_metric_up_to_its_size() -> None:
    before = results(STAY, downtime_ms=1000, active_moves=10)
    now = results(STAY, downtime_ms=1050, active_moves=12)
    assert not said(before, now, "downtime_ms=5%", "active_moves=2")
    assert len(said(before, now, "downtime_ms=4.9%", "active_moves=2")) == 1
    assert len(said(before, now, "downtime_ms=5%", "active_moves=1")) == 1
    assert len(said(before, now, "downtime_ms=5%")) == 1


def test_no_tolerance_makes_a_figure_of_none() -> None:
    assert said(results(STAY, downtime_ms=None), results(STAY, downtime_ms=0), "downtime_ms=1000%")


def test_metrics_alone_are_compared_if_that_is_wanted() -> None:
    before, now = results(STAY, STAY), results(STAY, MOVED, active_moves=5)
    assert said(before, now, metrics_only=True) == ["active_moves: 4 was stored, now 5 (+25 %, worse)"]


@pytest.mark.parametrize(
    "text",
    ["", "downtime_ms", "downtime_ms=", "downtime_ms=x", "downtime_ms=-1", "downtime_ms=nan", "downtime_ms=inf%"],
)
def test_a_tolerance_without_a_size_is_refused(text: str) -> None:
    with pytest.raises(ToleranceError, match=f"^--tolerance {text}: "):
        parse_tolerances([text])


@pytest.mark.parametrize("name", ["speed", "verdict", "seed", "scenario"])
def test_a_tolerance_for_what_is_not_a_metric_is_refused(name: str) -> None:
    with pytest.raises(ToleranceError, match=r"is not a metric \(metrics: .*downtime_ms.*\)"):
        parse_tolerances([f"{name}=5%"])


def test_a_change_of_the_scenario_is_told_from_one_of_the_model_and_from_any_other() -> None:
    now = ORIGIN
    text = dataclasses.replace(now, scenario="00" * 32)
    imported = dataclasses.replace(now, imports={"topics.txt": "00" * 32, "new.txt": "11" * 32})
    model = dataclasses.replace(now, model=2)
    version = dataclasses.replace(now, versions={**now.versions, "numpy": "2.0.0"})
    both = dataclasses.replace(text, model=2)
    kinds = [causes(then, now).kind for then in (text, imported, model, both, version, now)]
    assert kinds == ["scenario", "scenario", "model", "both", "other", "other"]
    assert str(causes(imported, now)) == "the scenario has changed since (new.txt, topics.txt)"
    assert str(causes(model, now)) == "assignor-sim's model has changed since (2 then, 3 now)"
    assert str(causes(now, now)) == "neither the scenario nor the model has changed, nor any version"
    assert str(causes(version, now)).endswith("; versions: numpy 2.0.0 then, 2.4.6 now")
