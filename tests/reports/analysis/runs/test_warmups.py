"""Warm-ups of each round, distinguished from standbys."""

from __future__ import annotations

from reports.analysis.runs.warmups import Copy, warm_ups

STANDBY, WARM, OTHER = (0, 1), (0, 2), (0, 3)


def warm_ups_by_round(*rounds: tuple[set[Copy], set[Copy]]) -> list[set[Copy]]:
    return list(warm_ups([present for present, _ in rounds], [new for _, new in rounds]))


def test_warm_up_remains_while_task_has_more_copies_than_standbys() -> None:
    assert warm_ups_by_round(({STANDBY}, set()), ({STANDBY, WARM}, {WARM}), ({STANDBY, WARM}, set())) == [
        set(),
        {WARM},
        {WARM},
    ]


def test_last_remaining_warm_up_becomes_standby() -> None:
    assert warm_ups_by_round(({STANDBY, WARM}, {WARM}), ({WARM}, set())) == [{WARM}, set()]


def test_warm_up_without_standbys_remains_warm_up() -> None:
    assert warm_ups_by_round(({WARM}, {WARM}), ({WARM}, set()), (set(), set())) == [{WARM}, {WARM}, set()]


def test_latest_warm_up_remains_when_a_standby_is_removed() -> None:
    rounds = (({STANDBY, WARM}, {WARM}), ({STANDBY, WARM, OTHER}, {OTHER}), ({WARM, OTHER}, set()))
    assert warm_ups_by_round(*rounds) == [{WARM}, {WARM, OTHER}, {OTHER}]


def test_copies_of_other_tasks_are_ignored() -> None:
    assert warm_ups_by_round(({STANDBY, WARM, (1, 1)}, {WARM}), ({WARM, (1, 1), (1, 2)}, set())) == [{WARM}, set()]


def test_removed_warm_up_returns_as_standby() -> None:
    assert warm_ups_by_round(({STANDBY, WARM}, {WARM}), ({STANDBY}, set()), ({STANDBY, WARM}, set())) == [
        {WARM},
        set(),
        set(),
    ]
