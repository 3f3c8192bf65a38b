"""Families of problems, and kinds of differences between the answers of two releases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reports.analysis.release_differences import ALL
from tests.parity.recorded_problems import vectors
from tools.kafka_oracle.generate import generate
from tools.releases.measure import FEATURES, Answered, differs_in_production, families, history, kind_of_difference

Json = dict[str, Any]


def answer(active: str, standby: str = "", error: str | None = None) -> Json:
    """Return an answer: tasks of the clients a, b, …, separated by `|`."""
    actives, standbys = (text.split("|") for text in (active, standby or "|" * active.count("|")))
    held = {
        name: {"active": tasks.split(), "standby": copies.split()}
        for name, tasks, copies in zip("abcdef", actives, standbys, strict=False)
    }
    return {"assignment": None if error else held, "probing_rebalance": False, "error": error}


def both(in_order: Json, in_production: Json | None = None) -> Json:
    return {"sorted": in_order, "production": in_production or in_order}


HERE, THERE = answer("0_0 | 0_1"), answer("0_1 | 0_0")
COPY_HERE, COPY_THERE = answer("0_0 | 0_1 |", "| | 0_0"), answer("0_0 | 0_1 |", "| 0_0 |")
OLD_ERROR = answer("", error="a.b.TaskAssignorException: no process")
NEW_ERROR = answer("", error="a.api.TaskAssignorException: none")


@pytest.mark.parametrize(
    ("old", "new", "kind", "in_production"),
    [
        (both(HERE), both(HERE), None, False),
        (both(HERE), both(THERE), "actives", True),
        (both(COPY_HERE), both(COPY_THERE), "standbys", True),
        (both(HERE), both(HERE, THERE), "order_only", True),
        (both(HERE), both(THERE, HERE), "order_only", False),
        (both(OLD_ERROR), both(NEW_ERROR), None, False),
        (both(HERE), both(NEW_ERROR), "other", True),
        (both(HERE), both({**HERE, "probing_rebalance": True}), "other", True),
    ],
)
def test_kind_of_difference(old: Json, new: Json, kind: str | None, in_production: bool) -> None:
    assert kind_of_difference(old, new) == kind_of_difference(new, old) == kind
    assert differs_in_production(old, new) is in_production


def test_families_are_the_features_that_a_problem_has() -> None:
    for problem in generate(3, 60):
        names = set(families(problem))
        assert ALL in names
        assert ("standbys asked for" in names) == (problem["configs"]["num_standby_replicas"] > 0)
        assert f"rack-aware: {problem['configs']['rack_aware_assignment_strategy']}" in names
        assert not names & {"offsets reported", "no offsets"}
    for problem in (dict(vector.problem) for vector in vectors("streams_group_4_4")):
        names = set(families(problem))
        reported = any(client.get("task_offsets") for client in problem["clients"])
        assert ("offsets reported" in names, "no offsets" in names) == (reported, not reported)


def test_a_removed_feature_is_gone_and_nothing_else_changes() -> None:
    problem = next(
        dict(vector.problem)
        for vector in vectors("streams_group_4_4")
        if {"standbys asked for", "previous tasks", "offsets reported"} <= set(families(dict(vector.problem)))
    )
    for feature, family in {
        "standbys": "no standbys",
        "previous tasks": "no previous tasks",
        "offsets": "no offsets",
    }.items():
        reduced = FEATURES[feature](problem)
        assert set(families(reduced)) - set(families(problem)) == {family}
    without = FEATURES["racks"](problem)
    assert not any(client["rack"] or client["tags"] for client in without["clients"])
    assert [client["previous_active"] for client in without["clients"]] == [
        client["previous_active"] for client in problem["clients"]
    ]


def test_history_counts_every_different_problem_once_and_asks_again_without_each_feature() -> None:
    problems = [dict(vector.problem) for vector in vectors("streams_group_4_4")][:40]
    old = [both(HERE)] * 40
    new = [both(HERE)] * 30 + [both(THERE)] * 6 + [both(HERE, THERE)] * 4
    asked: list[tuple[str, int]] = []

    def ask(patch: str, reduced: Any) -> list[Json]:
        asked.append((patch, len(reduced)))
        return [both(HERE)] * 7 + [both(HERE if patch == "1.0" else THERE)] * 3

    answered = Answered(problems, {"1": old, "2": new, "3": new}, ask, {"1": "1.0", "2": "2.0", "3": "3.0"})
    record = history(answered)
    assert record["problems"][ALL] == 40
    assert [(pair["from"], pair["to"]) for pair in record["differences"]] == [("1", "2"), ("1", "3")]
    pair = record["differences"][0]
    assert pair["families"][ALL] == {"actives": 6, "order_only": 4, "in_production": 10}
    assert pair["equal_without"] == dict.fromkeys(FEATURES, 7)
    assert asked[:2] == [("1.0", 10), ("2.0", 10)]
    assert history(replace(answered, answers={"1": old, "2": old}))["differences"] == []
