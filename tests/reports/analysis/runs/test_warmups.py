"""A copy that comes to warm up is a warm-up until it is the standby."""

from __future__ import annotations

from reports.analysis.runs.warmups import Copy, warm_ups

STANDBY, WARM, OTHER = (0, 1), (0, 2), (0, 3)


def marks(*rounds: tuple[set[Copy], set[Copy]]) -> list[set[Copy]]:
    return list(warm_ups([present for present, _ in rounds], [new for _, new in rounds]))


def test_a_warm_up_stays_one_while_its_task_has_a_copy_beyond_its_standby() -> None:
    assert marks(({STANDBY}, set()), ({STANDBY, WARM}, {WARM}), ({STANDBY, WARM}, set())) == [set(), {WARM}, {WARM}]


def test_a_warm_up_that_is_left_alone_is_the_standby() -> None:
    assert marks(({STANDBY, WARM}, {WARM}), ({WARM}, set())) == [{WARM}, set()]


def test_without_standbys_a_warm_up_is_one_to_the_end() -> None:
    assert marks(({WARM}, {WARM}), ({WARM}, set()), (set(), set())) == [{WARM}, {WARM}, set()]


def test_of_several_the_last_to_come_stays_the_warm_up() -> None:
    rounds = (({STANDBY, WARM}, {WARM}), ({STANDBY, WARM, OTHER}, {OTHER}), ({WARM, OTHER}, set()))
    assert marks(*rounds) == [{WARM}, {WARM, OTHER}, {OTHER}]


def test_copies_of_other_tasks_do_not_count() -> None:
    assert marks(({STANDBY, WARM, (1, 1)}, {WARM}), ({WARM, (1, 1), (1, 2)}, set())) == [{WARM}, set()]


def test_a_warm_up_that_goes_and_comes_back_as_a_standby_is_one_no_more() -> None:
    assert marks(({STANDBY, WARM}, {WARM}), ({STANDBY}, set()), ({STANDBY, WARM}, set())) == [{WARM}, set(), set()]
