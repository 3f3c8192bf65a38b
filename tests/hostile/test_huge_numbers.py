"""The time of an assignor does not depend on the size of the numbers in a problem."""

from __future__ import annotations

import pytest

from assignors import registry
from tests.hostile.problems import cpu_seconds, huge_problems

pytestmark = pytest.mark.answers

HUGE = (1_000_000, 2**31 - 1, 2**63 - 1)
LIMIT_S = 2.0


@pytest.mark.parametrize("assignor", [info.name for info in registry.built_in()])
def test_huge_numbers_are_solved_or_refused_in_time(assignor: str) -> None:
    slow = {text[-300:]: seconds for text in huge_problems(assignor, HUGE) if (seconds := cpu_seconds(text)) > LIMIT_S}
    assert slow == {}
