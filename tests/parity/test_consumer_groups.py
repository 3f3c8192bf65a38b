"""Consumer assignors equal Kafka's, partition for partition and in Kafka's order.

`consumer_groups.jsonl.gz` contains 400 random problems for each assignor, 80 groups of five rebalances each, with the
answers of the clients and brokers of Kafka 4.3.1; `consumer_groups_4_0_0.jsonl.gz` 200 problems with the answers of the
uniform assignor of 4.0.0, the only release whose answers differ.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from assignors.consumers import registry
from assignors.consumers.registry import ConsumerProtocol
from assignors.errors import KafkaError
from scenarios.problems import answer_differences, consumer_answer, parse_consumer_problem, solve_problem
from tests.parity.recorded_problems import vectors

pytestmark = pytest.mark.answers

RECORDED = {"consumer_groups": 2400, "consumer_groups_4_0_0": 200}


@cache
def differences(name: str) -> dict[str, list[str]]:
    by_problem = {
        f"{problem.problem['assignor']} {problem.kind[1]} {problem.id}": answer_differences(
            problem.expected or {}, solve_problem(problem, name)
        )
        for problem in vectors(name)
    }
    assert len(by_problem) == RECORDED[name]
    return {problem: of_problem for problem, of_problem in by_problem.items() if of_problem}


@pytest.mark.parametrize("name", list(RECORDED))
def test_recorded_assignments_match_kafka(name: str) -> None:
    assert not differences(name)


def test_recorded_problems_cover_all_assignors() -> None:
    counted = Counter(problem.kind for problem in vectors("consumer_groups"))
    assert counted == {(f"{info.name}@4.3", str(info.protocol)): 400 for info in registry.built_in()}
    assert {problem.kind[0] for problem in vectors("consumer_groups_4_0_0")} == {"uniform@4.0.0"}


def test_recorded_problems_cover_all_kinds() -> None:
    problems = [problem.problem for problem in vectors("consumer_groups")]
    members = [member for problem in problems for member in problem["members"]]
    topics = [topic for problem in problems for topic in problem["topics"]]
    assert {problem["subscription_type"] for problem in problems} == {"homogeneous", "heterogeneous"}
    assert any(not member["topics"] for member in members)
    assert any("instance" in member and "rack" in member and member.get("owned") for member in members)
    assert any(member.get("user_data_generation", -1) > member.get("generation", -1) for member in members), (
        "no member lost its generation"
    )
    assert any(topic["partitions"] == 0 for topic in topics)
    assert any(None in racks for topic in topics for racks in topic.get("racks", []))
    assert any((problem.expected or {})["error"] for problem in vectors("consumer_groups"))
    assert any(len(p["members"]) > sum(topic["partitions"] for topic in p["topics"]) for p in problems)


def test_only_the_uniform_assignor_of_the_first_release_differs() -> None:
    first, newest = (registry.find(f"uniform@{release}", "consumer").make() for release in ("4.0.0", "4.4"))
    different = total = 0
    for problem in vectors("consumer_groups_4_0_0"):
        state = parse_consumer_problem(problem.problem)
        total += 1
        different += first.assign(state) != newest.assign(state)
    assert 10 < different < total / 2


def test_releases_without_differences_give_the_same_answers() -> None:
    problems = [problem for problem in vectors("consumer_groups") if problem.kind == ("sticky@4.3", "classic")][:50]
    for problem in problems:
        state = parse_consumer_problem(problem.problem)
        for release in ("3.8", "4.0"):
            try:
                answer = consumer_answer(state, registry.find(f"sticky@{release}").make().assign(state))
            except KafkaError:
                continue
            assert answer == (problem.expected or {})["assignment"]


def test_protocols_have_different_ranges() -> None:
    different = 0
    for problem in vectors("consumer_groups"):
        if problem.kind == ("range@4.3", "classic"):
            state = parse_consumer_problem(problem.problem)
            answers = [
                {
                    member: set(partitions)
                    for member, partitions in consumer_answer(state, info.make().assign(state)).items()
                }
                for info in (registry.find("range", protocol) for protocol in ConsumerProtocol)
            ]
            different += answers[0] != answers[1]
    assert different > 20
