"""StickyTaskAssignor of streams groups equals the broker's assignor, task for task.

`streams_group.jsonl.gz` contains 300 random problems, 75 groups of four rounds each, with the assignments of Kafka
4.3.1; `streams_group_4_2_2.jsonl.gz` those of 4.2.2; `streams_group_4_4.jsonl.gz` those of 4.4.0, whose members also
report offsets.
"""

from __future__ import annotations

from functools import cache

import pytest

from assignors import registry
from assignors.java.hash_order import CollectionOrder
from reports.analysis.release_differences import measured_differences
from scenarios.problems import answer_differences, solve_problem
from tests.parity.recorded_problems import vectors

pytestmark = pytest.mark.answers

RECORDED = {"streams_group": ("4.2.1", "4.3"), "streams_group_4_2_2": ("4.2",), "streams_group_4_4": ("4.4",)}


@cache
def differences(name: str, release: str, order: CollectionOrder) -> dict[str, list[str]]:
    info = registry.find(f"streams_group_sticky@{release}")
    differences_by_problem = {
        problem.id: answer_differences(
            problem.expected_answer(order) or {}, solve_problem(problem, name, info, order=order)
        )
        for problem in vectors(name)
    }
    assert len(differences_by_problem) == 300
    return {problem: of_problem for problem, of_problem in differences_by_problem.items() if of_problem}


@pytest.mark.parametrize("order", list(CollectionOrder))
@pytest.mark.parametrize(
    ("name", "release"), [(name, release) for name, releases in RECORDED.items() for release in releases]
)
def test_recorded_assignments_match_kafka(name: str, release: str, order: CollectionOrder) -> None:
    assert not differences(name, release, order)


@pytest.mark.parametrize(
    ("name", "release", "at_least"),
    [
        ("streams_group", "4.4", 60),
        ("streams_group_4_4", "4.3", 60),
        ("streams_group_4_2_2", "4.2.1", 30),
    ],
)
def test_releases_differ(name: str, release: str, at_least: int) -> None:
    assert at_least < len(differences(name, release, CollectionOrder.PRODUCTION)) < 240


def test_measured_share_of_different_answers_is_that_of_the_recorded_problems() -> None:
    measured = measured_differences().assignors["streams_group_sticky"].between("4.2.1", "4.2")
    share = len(differences("streams_group_4_2_2", "4.2.1", CollectionOrder.PRODUCTION)) / 300
    assert share == pytest.approx(measured.in_production / measured.problems, abs=0.07)


def test_fix_in_a_patch_changes_only_standbys_of_groups_with_standbys_and_previous_tasks() -> None:
    by_id = {problem.id: problem.problem for problem in vectors("streams_group_4_2_2")}
    different = differences("streams_group_4_2_2", "4.2.1", CollectionOrder.PRODUCTION)
    for name in different:
        assert by_id[name]["configs"]["num_standby_replicas"] > 0
        assert any(client["previous_standby"] for client in by_id[name]["clients"])


def test_recorded_problems_name_their_release() -> None:
    for name, releases in RECORDED.items():
        assert {problem.problem["assignor"] for problem in vectors(name)} == {f"streams_group_sticky@{releases[-1]}"}
    assert any(client.get("task_offsets") for p in vectors("streams_group_4_4") for client in p.problem["clients"])


def test_recorded_problems_cover_all_kinds() -> None:
    problems = vectors("streams_group")
    assert any(problem.expected_hash_order for problem in problems)
    assert any((problem.expected or {})["error"] for problem in problems)
    assert {problem.problem["configs"]["num_standby_replicas"] for problem in problems} == {0, 1, 2, 3}
    assert any(client["threads"] > 1 for problem in problems for client in problem.problem["clients"])
