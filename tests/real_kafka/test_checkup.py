"""Checkups of weak applications on a real cluster, and what happens before and after their advice is rolled out.

docs/explanation/advice-on-a-cluster.md has the results. The limits here allow for a busy machine, which delays
applications by seconds, and may divide the join of a host's threads into two rebalances.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tests.fidelity.advice import WEAK_APPLICATIONS, RolledOutAdvice, WeakApplication, misses, roll_out_advice
from tests.fidelity.confirmation import Confirmation

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

MAX_LINES = 60
MAX_MORE_REBALANCES = 2
MAX_MISSES = 3
"""Steps of an application that may differ, of ten."""
TOLERANCE = 0.15

EACH = pytest.mark.parametrize("weak", WEAK_APPLICATIONS, ids=[weak.application.id for weak in WEAK_APPLICATIONS])


@pytest.fixture(scope="module")
def advice(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, RolledOutAdvice]:
    return {result.weak.application.id: result for result in roll_out_advice(tmp_path_factory.mktemp("advice"))}


@EACH
def test_checkup_names_the_weakness_and_fits_a_screen(
    weak: WeakApplication, advice: Mapping[str, RolledOutAdvice]
) -> None:
    report, screen = (advice[weak.application.id].report, advice[weak.application.id].screen)
    grades = [
        {area["area"]: area["grade"] for area in report[setting]["areas"]}[weak.area]
        for setting in ("today", "recommended")
    ]
    assert grades == ["D", "A"]
    assert report["verdict"] == "recommended"
    assert len(screen.splitlines()) <= MAX_LINES
    assert max(map(len, screen.splitlines())) <= 80


@EACH
def test_rollout_is_as_promised(weak: WeakApplication, advice: Mapping[str, RolledOutAdvice]) -> None:
    result = advice[weak.application.id]
    ranges = result.report["rollout"]["ranges"]
    low, high = ranges["rebalances"]
    assert low - 1 <= result.rebalances <= high + MAX_MORE_REBALANCES
    low, high = ranges["active_moves"]
    assert (1 - TOLERANCE) * low <= result.active_moves <= (1 + TOLERANCE) * high
    low, high = ranges["cross_rack_source_partitions"]
    assert low <= result.cross_rack_partitions[1] <= high


@EACH
def test_situations_are_as_predicted_before_and_after(
    weak: WeakApplication, advice: Mapping[str, RolledOutAdvice]
) -> None:
    result = advice[weak.application.id]
    missed = [f"{step.step}: {'; '.join(misses(step))}" for step in (*result.before, *result.after) if misses(step)]
    assert len(missed) <= MAX_MISSES, missed
    for step in (*result.before, *result.after):
        assert step.outcome.cross_rack_partitions == step.predicted_outcome.cross_rack_partitions, step.step


def test_weaknesses_are_gone_afterwards(advice: Mapping[str, RolledOutAdvice]) -> None:
    assert advice["orders"].cross_rack_partitions[0] > advice["orders"].cross_rack_partitions[1] == 0
    crashes = [next(step for step in steps if step.step.endswith("crashes")) for steps in _phases(advice["stock"])]
    before, after = (step.outcome for step in crashes)
    assert min(before.active_moves, after.active_moves) > 0
    assert before.restored_bytes > 10 * after.restored_bytes
    assert before.converged_ms is not None
    assert after.converged_ms is not None
    assert after.converged_ms < before.converged_ms / 2


def _phases(advice: RolledOutAdvice) -> tuple[Sequence[Confirmation], Sequence[Confirmation]]:
    return advice.before, advice.after
