"""Differences between stored and current results."""

from __future__ import annotations

import copy
import dataclasses

import pytest

from reports.analysis.stored.verification import compare_origins, compare_results
from tests.reports.sample_stored_results import ORIGIN, change_lines, results, rounds, with_changes

STAY = {"0_0": "a b", "0_1": "b"}
MOVED = {"0_0": "b a", "0_1": "b"}


def test_equal_results_have_no_changes() -> None:
    assert not change_lines(results(STAY, MOVED), results(STAY, MOVED))


def test_changed_task_is_reported_with_round_and_both_clients() -> None:
    now = results(STAY, MOVED, MOVED)
    before = with_changes(now, 2, **{"0_1": ["c"]})
    [change] = compare_results(before, now)
    assert (change.kind, change.round, change.name) == ("task", 2, "0_1")
    assert str(change) == "round 2: task 0_1: stored on c, now on b"


def test_persisting_difference_is_reported_once() -> None:
    before = results(STAY, STAY, STAY, STAY)
    now = results(STAY, MOVED, MOVED, {"0_0": "c", "0_1": "b"})
    assert change_lines(before, now) == [
        "round 2: task 0_0: stored on a, standby on b, now on b, standby on a",
        "round 4: task 0_0: stored on a, standby on b, now on c",
    ]


def test_recurring_difference_is_reported_again() -> None:
    lines = change_lines(results(STAY, STAY, STAY, STAY), results(STAY, MOVED, STAY, MOVED))
    assert [line.partition(":")[0] for line in lines] == ["round 2", "round 4"]


def test_unassigned_and_stopped_tasks_are_described() -> None:
    assert change_lines(results({"0_0": "a"}), results({"0_0": "- a", "0_1": "a"})) == [
        "round 1: task 0_0: stored on a, now not running, standby on a",
        "round 1: task 0_1: stored not assigned, now on a",
    ]


def test_change_without_stored_placements_names_the_round() -> None:
    before, now = results(STAY, STAY), results(STAY, MOVED)
    for compared in (before, now):
        for run in compared.runs.values():
            for round_ in run.rounds:
                round_["changes"] = None  # type: ignore[index]
    [line] = change_lines(before, now)
    assert line.startswith("round 2: digest: ")


def test_edited_digest_is_reported() -> None:
    now = results(STAY, MOVED)
    before = copy.deepcopy(now)
    before.runs["ha", 1].rounds[1]["digest"] = "0"  # type: ignore[index]
    [line] = change_lines(before, now)
    assert line.startswith("round 2: digest: stored 0, now ")


def test_added_and_removed_rounds_are_reported() -> None:
    short, long = results(STAY), results(STAY, MOVED)
    assert change_lines(short, long) == ["round 2: not stored"]
    assert change_lines(long, short) == ["round 2: stored, but no longer happens"]


def test_added_and_removed_runs_are_reported() -> None:
    stored, current = results(STAY, seed=1), results(STAY, seed=2)
    [added, removed] = compare_results(stored, current)
    assert (added.seed, str(added)) == (2, "not stored")
    assert (removed.seed, str(removed)) == (1, "stored, but no longer run")


def test_changed_round_key_is_reported() -> None:
    now = results(STAY)
    before = copy.deepcopy(now)
    before.runs["ha", 1] = dataclasses.replace(now.runs["ha", 1], rounds=rounds(STAY, figures={"withheld_tasks": 2}))  # type: ignore[index]
    assert change_lines(before, now) == ["round 1: withheld_tasks: stored 2, now 0"]


@pytest.mark.parametrize(
    ("figures", "line"),
    [
        ({"active_moves": 5}, "active_moves: stored 4, now 5 (+25 %, worse)"),
        ({"downtime_ms": 4_500}, "downtime_ms: stored 9 s, now 4.5 s (-50 %, better)"),
        ({"downtime_ms": 9_001}, "downtime_ms: stored 9,000, now 9,001 (+0.0111 %, worse)"),
        ({"stateful_cost": 3}, "stateful_cost: stored 0, now 3"),
        ({"verdict": "never"}, "verdict: stored stable, now never"),
        ({"cause": "\x1b[31m"}, "cause: stored null, now \\x1b[31m"),
        ({"cross_rack_usd_per_day": 1.25}, "cross_rack_usd_per_day: stored null, now 1.25"),
    ],
)
def test_changed_metric_is_reported_with_percentage_and_direction(figures: dict[str, object], line: str) -> None:
    assert change_lines(results(STAY), results(STAY, **figures)) == [line]


def test_only_stored_metrics_are_compared() -> None:
    assert change_lines(results(STAY), results(STAY, added_later=1)) == []
    assert change_lines(results(STAY, removed=1), results(STAY)) == [
        "removed: stored 1; this version has no such metric, record again"
    ]


def test_metrics_only_ignores_rounds() -> None:
    before, now = results(STAY, STAY), results(STAY, MOVED, active_moves=5)
    assert change_lines(before, now, metrics_only=True) == ["active_moves: stored 4, now 5 (+25 %, worse)"]


def test_origin_changes_are_classified() -> None:
    now = ORIGIN
    text = dataclasses.replace(now, scenario="00" * 32)
    imported = dataclasses.replace(now, imports={"topics.txt": "00" * 32, "new.txt": "11" * 32})
    model = dataclasses.replace(now, model=2)
    version = dataclasses.replace(now, versions={**now.versions, "numpy": "2.0.0"})
    both = dataclasses.replace(text, model=2)
    kinds = [compare_origins(before, now).kind for before in (text, imported, model, both, version, now)]
    assert kinds == ["scenario", "scenario", "model", "both", "other", "other"]
    assert str(compare_origins(imported, now)) == "the scenario has changed since (new.txt, topics.txt)"
    assert str(compare_origins(model, now)) == "the model of assignor-sim has changed since (2 then, 3 now)"
    assert str(compare_origins(now, now)) == "neither the scenario nor the model has changed, nor any version"
    assert str(compare_origins(version, now)).endswith("; versions: numpy 2.0.0 then, 2.4.6 now")
