"""Explanations of moves are correct for all assignors that record their steps, on random applications."""

from __future__ import annotations

from collections import Counter

import pytest

from assignors.recording import RecordingTaskAssignor, StepKind
from assignors.tasks.high_availability import HighAvailability
from simulator.assignment.explanation import MEMBER_LOST, RACK, SPREAD, ExplanationRequest
from tests.simulator.assignment.explanation_checks import check_break_evens, check_explanation, explained_decisions
from tests.simulator.assignment.test_explanation import ASSIGNORS, NAMES, STEPS_ONLY

pytestmark = pytest.mark.answers


@pytest.mark.parametrize("assignor", ASSIGNORS, ids=NAMES)
def test_explanations_match_the_recorded_steps(assignor: RecordingTaskAssignor) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(30):
        for decision in explained_decisions(assignor, seed, STEPS_ONLY):
            check_explanation(decision)
            kinds.update(str(step.kind) for move in decision.explanation.moves for step in move.steps)
    assert kinds[MEMBER_LOST] > 10
    if isinstance(assignor, HighAvailability):
        assert {RACK, SPREAD, *map(str, (StepKind.WAITS, StepKind.WARM_UP, StepKind.SWAPPED))} <= set(kinds)


@pytest.mark.parametrize("assignor", ASSIGNORS[:3], ids=NAMES[:3])
def test_break_even_is_the_closest_cost_at_which_the_task_stays(assignor: RecordingTaskAssignor) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(8):
        for decision in explained_decisions(assignor, seed, ExplanationRequest()):
            kinds += check_break_evens(decision)
    assert {"above", "any_cost", "no_racks", "new", "member_lost"} <= set(kinds)
    if isinstance(assignor, HighAvailability):
        assert kinds["above"] > 5
