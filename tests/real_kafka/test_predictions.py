"""What is predicted from an imported cluster, and what the real Kafka then does.

Every release lives through the steps of `tools.fidelity.steps` once; each test looks at what became of one application.
What was said and seen is kept in out/fidelity-VERSION.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import pairwise

import pytest

from tools.fidelity.experiment import Confirmation
from tools.fidelity.report import write_confirmations
from tools.fidelity.steps import WARMING_UP, applications_on, run_steps

RELEASES = ("4.3.1", "3.9.1")
WATCHED = [(version, each) for version in RELEASES for each in applications_on(version)]
PREDICTABLE = [(version, each.id) for version, each in WATCHED if not each.depends_on_timing]
HANGS_ON_TIMING = [(version, each.id) for version, each in WATCHED if each.depends_on_timing]
CLASSIC = [(version, each.id) for version, each in WATCHED if not each.uses_streams_groups]


@cache
def lived_through(version: str) -> Mapping[str, list[Confirmation]]:
    """What was confirmed on a release, by application; an error is met again by every test that asks."""
    confirmed = run_steps(version)
    write_confirmations(version, confirmed)
    by_application: dict[str, list[Confirmation]] = {}
    for each in confirmed:
        by_application.setdefault(each.application, []).append(each)
    return by_application


def wrong(confirmed: list[Confirmation]) -> dict[str, list[str]]:
    """What did not come as predicted, by step."""
    return {each.step: each.differences for each in confirmed if each.differences}


@pytest.mark.parametrize(("version", "application"), PREDICTABLE)
def test_the_real_assignment_is_the_predicted_one_task_for_task(version: str, application: str) -> None:
    confirmed = lived_through(version)[application]
    assert not wrong([each for each in confirmed if not each.took_another_course])
    assert sum(each.took_another_course for each in confirmed) <= 1


@pytest.mark.parametrize(("version", "application"), HANGS_ON_TIMING)
def test_an_assignor_that_asks_who_had_a_copy_is_mostly_predicted(version: str, application: str) -> None:
    confirmed = lived_through(version)[application]
    assert len(wrong(confirmed)) <= len(confirmed) // 3, wrong(confirmed)


@pytest.mark.parametrize(("version", "application"), CLASSIC)
def test_whatever_a_real_leader_was_shown_our_answer_is_its_answer(version: str, application: str) -> None:
    replayed = [differences for each in lived_through(version)[application] for differences in each.replayed]
    assert len(replayed) >= len(lived_through(version)[application])
    assert not [differences for differences in replayed if differences]


@pytest.mark.parametrize("version", RELEASES)
def test_there_are_enough_steps_and_each_of_them_moves_something(version: str) -> None:
    told = lived_through(version)
    assert len({each.step for confirmed in told.values() for each in confirmed}) >= 8
    for confirmed in told.values():
        shares = [each.observed.describe() for each in confirmed]
        assert all(one != other for one, other in pairwise(shares))


@pytest.mark.parametrize("version", RELEASES)
def test_a_group_mostly_needs_as_many_rebalances_as_predicted(version: str) -> None:
    compared = [
        each.rounds == each.predicted.rounds for confirmed in lived_through(version).values() for each in confirmed
    ]
    assert sum(compared) >= 0.8 * len(compared)


@pytest.mark.parametrize("version", RELEASES)
def test_a_group_that_warms_up_settles_after_as_many_probing_rebalances_as_predicted(version: str) -> None:
    for confirmation in lived_through(version)[WARMING_UP]:
        predicted = confirmation.predicted
        assert predicted.probing_rounds >= 1
        if confirmation.warmed_up_early:
            # A restoration that ended before a follow-up rebalance can only save probing rebalances.
            assert confirmation.probing_rounds <= predicted.probing_rounds
        else:
            assert confirmation.rounds == predicted.rounds > 2
            assert confirmation.probing_rounds == predicted.probing_rounds
