"""Comparison of Kafka's answers with the reimplementation's, and its result."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assignors.java.hash_order import CollectionOrder
from scenarios.problems import read_problems
from tools.kafka_oracle.compare import (
    Tallies,
    by_assignor,
    compare,
    our_answer,
    recorded_answers,
    render,
    save,
    total,
)
from tools.kafka_oracle.generate import generate

Json = dict[str, Any]


class AgreeingOracle:
    """An oracle that agrees with the reimplementation, except for given problems."""

    def __init__(self, other: dict[str, Json] | None = None) -> None:
        self.other = other or {}

    def ask(self, problems: Iterable[Json]) -> Iterator[tuple[Json, Json]]:
        for problem in problems:
            ours = {str(order): our_answer(problem, order) for order in CollectionOrder}
            yield problem, self.other.get(problem["id"], ours)


@pytest.fixture(scope="module")
def problems() -> list[Json]:
    return list(generate(5, 40))


def swap_tasks(answered: Json) -> Json:
    """Return the answer with the tasks of two clients exchanged."""
    other = copy.deepcopy(answered)
    first, second = list(other["assignment"])[:2]
    tasks = other["assignment"]
    tasks[first], tasks[second] = tasks[second], tasks[first]
    assert other != answered
    return other


def problem_with_tasks(problems: list[Json]) -> Json:
    return next(p for p in problems if len(p["clients"]) > 1 and len(p["tasks"]) > 5 and p["assignor"] == "ha")


def test_identical_answers_all_agree(problems: list[Json]) -> None:
    tallies: Tallies = {}
    assert not list(compare(AgreeingOracle(), problems, our_answer, tallies))
    assert total(tallies).compared == len(problems)
    assert total(tallies).identical()


def test_a_different_answer_is_reported_and_counted_by_order(problems: list[Json]) -> None:
    problem = problem_with_tasks(problems)
    ours = our_answer(problem, CollectionOrder.SORTED)
    tallies: Tallies = {}
    oracle = AgreeingOracle({problem["id"]: {"sorted": ours, "production": swap_tasks(ours)}})
    [disagreement] = compare(oracle, problems, our_answer, tallies)
    assert disagreement.problem == problem
    assert [text.split(":")[0] for text in disagreement.differences] == ["production"]
    tally = tallies["ha", problem["configs"]["rack_aware_assignment_strategy"]]
    assert tally.agreed == {"sorted": tally.compared, "production": tally.compared - 1}
    assert tally.order_sensitive == 1
    assert not total(tallies).identical()


def test_exceptions_of_same_class_agree(problems: list[Json]) -> None:
    problem = copy.deepcopy(problems[0])
    problem["configs"]["max_warmup_replicas"] = 0
    ours = our_answer(problem, CollectionOrder.SORTED)
    same_class = {**ours, "error": "org.apache.kafka.common.config.ConfigException: in other words"}
    other_class = {**ours, "error": "java.lang.IllegalStateException: in other words"}
    for kafkas, agreed in ((same_class, True), (other_class, False)):
        tallies: Tallies = {}
        oracle = AgreeingOracle({problem["id"]: {"sorted": kafkas, "production": kafkas}})
        list(compare(oracle, [problem], our_answer, tallies))
        assert total(tallies).identical() == agreed
        assert total(tallies).refused == 1


def test_a_disagreement_is_saved_as_a_problem_with_kafkas_answers(problems: list[Json], tmp_path: Path) -> None:
    problem = problem_with_tasks(problems)
    expected = swap_tasks(our_answer(problem, CollectionOrder.SORTED))
    oracle = AgreeingOracle({problem["id"]: {"sorted": expected, "production": expected}})
    path = tmp_path / "3.9.1" / "disagreements.jsonl"
    assert save(compare(oracle, problems, our_answer, {}), path) == 1
    with path.open(encoding="utf-8") as source:
        [stored] = read_problems(source, str(path))
    assert stored.problem == problem
    assert stored.expected == expected
    assert stored.expected_hash_order == expected


def test_no_file_is_written_if_all_agree(problems: list[Json], tmp_path: Path) -> None:
    path = tmp_path / "disagreements.jsonl"
    path.write_text("of an earlier run")
    assert save(compare(AgreeingOracle(), problems[:3], our_answer, {}), path) == 0
    assert not path.exists()


def test_recorded_answers_are_compared_in_both_orders(problems: list[Json], tmp_path: Path) -> None:
    lines = [
        {
            "problem": problem,
            "expected": our_answer(problem, CollectionOrder.SORTED),
            "expected_hash_order": our_answer(problem, CollectionOrder.PRODUCTION),
        }
        for problem in problems[:10]
    ]
    lines.append({"problem": problems[10]})
    path = tmp_path / "recorded.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    with path.open(encoding="utf-8") as source:
        recorded = list(read_problems(source, str(path)))
    tallies: Tallies = {}
    asked: list[Any] = [problem.problem for problem in recorded]
    assert not list(compare(AgreeingOracle(), asked, recorded_answers(recorded), tallies))
    assert total(tallies).compared == 10


def test_strategies_of_an_assignor_are_summed(problems: list[Json]) -> None:
    tallies: Tallies = {}
    list(compare(AgreeingOracle(), problems, our_answer, tallies))
    by_name = by_assignor(tallies)
    assert sum(tally.compared for tally in by_name.values()) == len(problems)
    assert by_name["ha"].compared == sum(problem["assignor"] == "ha" for problem in problems)


def test_table_ends_with_total(problems: list[Json]) -> None:
    tallies: Tallies = {}
    list(compare(AgreeingOracle(), problems, our_answer, tallies))
    lines = render(tallies).splitlines()
    assert lines[0].split() == ["assignor", "strategy", "compared", "agreed", "sorted", "agreed", "production",
                                "refused", "order-sensitive"]  # fmt: skip
    assert lines[-1].split()[:4] == ["all", "40", "40", "40"]
    assert len(lines) == 2 + len(tallies)
