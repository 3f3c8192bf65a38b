"""Recorded steps lead to the assignment, on more random applications than in `tests/assignors/recording`."""

from __future__ import annotations

import pytest

from assignors.compilation import CHOICE, COMPILED, PLAIN, Kernels
from assignors.recording import RecordingTaskAssignor
from tests.assignors.recording.step_checks import ASSIGNORS, NAMES, check_steps

pytestmark = pytest.mark.answers


@pytest.mark.parametrize("kernels", [PLAIN, COMPILED], ids=["plain", "compiled"])
@pytest.mark.parametrize("assignor", ASSIGNORS, ids=NAMES)
def test_recorded_steps_lead_to_the_assignment_with_correct_numbers(
    assignor: RecordingTaskAssignor, kernels: Kernels
) -> None:
    with CHOICE.always(kernels):
        check_steps(assignor, range(8, 33))
