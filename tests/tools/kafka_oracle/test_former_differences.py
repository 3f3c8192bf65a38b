"""Problems whose answers once differed from Kafka's, with Kafka's answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from assignors.java.hash_order import CollectionOrder
from scenarios.problems import Problem, answer_differences, read_problems, solve_problem

DATA = Path(__file__).parent / "data" / "former_differences.jsonl"


def former_differences() -> list[Problem]:
    with DATA.open(encoding="utf-8") as source:
        return list(read_problems(source, DATA.name))


@pytest.mark.parametrize("order", list(CollectionOrder))
@pytest.mark.parametrize("problem", former_differences(), ids=lambda problem: problem.id)
def test_former_differences_are_resolved(problem: Problem, order: CollectionOrder) -> None:
    assert not answer_differences(problem.expected_answer(order) or {}, solve_problem(problem, DATA.name, order=order))
