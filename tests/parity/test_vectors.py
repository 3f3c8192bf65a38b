"""The reimplementation gives the answers that a real Kafka recorded, task for task.

`data/` contains 1,500 random problems, 208 with anomalies or errors and 61 with rare tie-breaks, with the answers of
Kafka's own classes.
"""

from __future__ import annotations

import pytest

from assignors.java.hash_order import CollectionOrder
from scenarios.problems import answer_differences, solve_problem
from tests.parity.recorded_problems import vectors

CASES = sorted({(name, *problem.kind) for name in ("public", "extras", "rare") for problem in vectors(name)})


@pytest.mark.parametrize("order", list(CollectionOrder))
@pytest.mark.parametrize(("name", "assignor", "strategy"), CASES)
def test_assignments_equal_those_of_kafka(name: str, assignor: str, strategy: str, order: CollectionOrder) -> None:
    problems = [problem for problem in vectors(name) if problem.kind == (assignor, strategy)]
    differences_by_problem = {
        problem.id: differences
        for problem in problems
        if (
            differences := answer_differences(
                problem.expected_answer(order) or {}, solve_problem(problem, name, order=order)
            )
        )
    }
    assert problems
    assert not differences_by_problem


def test_all_vectors_are_present() -> None:
    assert {name: len(vectors(name)) for name in ("public", "extras", "rare")} == {
        "public": 1500,
        "extras": 208,
        "rare": 61,
    }


def test_wrong_assignment_is_detected() -> None:
    problem = next(p for p in vectors("public") if p.kind == ("ha", "none") and p.expected)
    right = solve_problem(problem, "public")
    assert not answer_differences(problem.expected or {}, right)
    first, second = list(right["assignment"])[:2]
    moved = right["assignment"][first]["active"].pop()
    right["assignment"][second]["active"].append(moved)
    assert answer_differences(problem.expected or {}, right)
