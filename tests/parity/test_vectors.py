"""The reimplementation gives the answers that a real Kafka recorded, task for task.

`data/` contains 1,500 random problems, 208 with anomalies or errors and 61 with rare tie-breaks, with the answers of
Kafka's own classes; and 200 of `sticky_task_assignor` with those of Kafka 4.4.0, the first release to answer otherwise.
"""

from __future__ import annotations

import pytest

from assignors import registry
from assignors.java.hash_order import CollectionOrder
from scenarios.problems import answer_differences, solve_problem
from tests.parity.recorded_problems import vectors

pytestmark = pytest.mark.answers

COUNTS = {"public": 1500, "extras": 208, "rare": 61, "sticky_task_assignor_4_4": 200}
CASES = sorted({(name, *problem.kind) for name in COUNTS for problem in vectors(name)})


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
    assert {name: len(vectors(name)) for name in COUNTS} == COUNTS


@pytest.mark.parametrize(("name", "release"), [("public", "4.4"), ("sticky_task_assignor_4_4", "4.3")])
def test_answers_of_another_release_differ(name: str, release: str) -> None:
    """The recorded problems distinguish the releases, so their answers cannot be those of any release."""
    info = registry.find(f"sticky_task_assignor@{release}")
    problems = [problem for problem in vectors(name) if problem.kind[0] == "sticky_public"]
    wrong = [
        problem.id
        for problem in problems
        if answer_differences(
            problem.expected_answer(CollectionOrder.PRODUCTION) or {}, solve_problem(problem, name, info)
        )
    ]
    assert len(problems) / 10 < len(wrong) < len(problems) * 0.9


def test_wrong_assignment_is_detected() -> None:
    problem = next(p for p in vectors("public") if p.kind == ("ha", "none") and p.expected)
    right = solve_problem(problem, "public")
    assert not answer_differences(problem.expected or {}, right)
    first, second = list(right["assignment"])[:2]
    moved = right["assignment"][first]["active"].pop()
    right["assignment"][second]["active"].append(moved)
    assert answer_differences(problem.expected or {}, right)
