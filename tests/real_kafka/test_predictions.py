"""What is predicted from an imported cluster, and what the real Kafka then does.

Every release lives through the steps of `tools.fidelity.story` once; each test looks at what became of one application.
What was said and seen is kept in out/fidelity-VERSION.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest

from tools.fidelity.play import Confirmation
from tools.fidelity.report import write_confirmations
from tools.fidelity.story import applications_on, perform

RELEASES = ("4.3.1", "3.9.1")
PAIRS = [(version, each.id) for version in RELEASES for each in applications_on(version)]


@cache
def lived_through(version: str) -> Mapping[str, list[Confirmation]]:
    """What was confirmed on a release, by application; an error is met again by every test that asks."""
    confirmed = perform(version)
    write_confirmations(version, confirmed)
    by_application: dict[str, list[Confirmation]] = {}
    for each in confirmed:
        by_application.setdefault(each.application, []).append(each)
    return by_application


@pytest.mark.parametrize(("version", "application"), PAIRS)
def test_the_real_assignment_is_the_predicted_one_task_for_task(version: str, application: str) -> None:
    confirmed = lived_through(version)[application]
    wrong = {each.step: each.differences for each in confirmed if each.differences}
    assert not wrong
    assert all(each.observed.active for each in confirmed)


@pytest.mark.parametrize("version", RELEASES)
def test_there_were_enough_steps_and_they_changed_something(version: str) -> None:
    confirmed = lived_through(version)
    steps = {each.step for told in confirmed.values() for each in told}
    assert len(steps) >= 7
    for told in confirmed.values():
        shares = [each.observed.describe() for each in told]
        assert all(one != other for one, other in zip(shares, shares[1:], strict=False))


@pytest.mark.parametrize("version", RELEASES)
def test_the_group_needs_as_many_rebalances_as_predicted(version: str) -> None:
    wrong = [
        f"{each.application}, {each.step}: {each.predicted.rounds} predicted, {each.rounds} seen"
        for told in lived_through(version).values()
        for each in told
        if each.rounds is not None and each.rounds != each.predicted.rounds
    ]
    assert not wrong
