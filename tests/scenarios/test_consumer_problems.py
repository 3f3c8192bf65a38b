"""Problems of consumer groups as JSON."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from scenarios.problems import (
    ProblemError,
    consumer_problem_document,
    parse_consumer_problem,
    read_problems,
    solve_problem,
)
from tools.kafka_consumer_oracle.lives import RandomConsumerGroup

PROBLEM: dict[str, Any] = {
    "id": "payments/1",
    "assignor": "cooperative-sticky",
    "members": [
        {"id": "a", "topics": ["payments"], "owned": ["payments-0", "payments-1"], "generation": 7},
        {"id": "b", "topics": ["payments"], "instance": "x", "rack": "az1"},
    ],
    "topics": [{"name": "payments", "partitions": 2}],
}


def solve(problem: Any) -> dict[str, Any]:
    [parsed] = read_problems(io.StringIO(json.dumps(problem)), "problems.jsonl")
    return solve_problem(parsed, "problems.jsonl")


def test_states_survive_the_round_trip() -> None:
    for seed in range(40):
        state = RandomConsumerGroup.from_seed(seed, is_classic=seed % 2 == 0).state()
        document = json.loads(json.dumps(consumer_problem_document(state, "x", "range", "classic")))
        assert parse_consumer_problem(document) == state


def test_withheld_partitions_are_named_with_their_next_owner() -> None:
    answer = solve(PROBLEM)
    assert (answer["assignment"], answer["withheld"]) == ({"a": ["payments-0"], "b": []}, {"payments-1": "b"})
    assert answer["error"] is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"assignor": "range"}, "problems.jsonl:1: two consumer assignors are named 'range': add the protocol"),
        ({"assignor": "stiky"}, "problems.jsonl:1: unknown consumer assignor 'stiky' (did you mean 'sticky'?)"),
        ({"protocol": "streams"}, "problems.jsonl:1: protocol: "),
        ({"topics": [{"name": "payments", "partitions": -1}]}, "problems.jsonl:1: topics.0.partitions"),
        ({"topics": [{"name": "payments", "partitions": 10**9}]}, "problems.jsonl:1: topics.0.partitions"),
        ({"topics": [{"name": "t", "partitions": 1, "id": "?"}]}, "problems.jsonl:1: '?' is not a topic id"),
        ({"members": [{"id": "a"}, {"id": "a"}]}, "problems.jsonl:1: member 'a' is listed twice"),
        ({"members": [{"id": "a", "owned": ["payments"]}]}, "problems.jsonl:1: 'payments' is not a topic partition"),
        ({"members": [{"id": 3}]}, "problems.jsonl:1: members.0.id"),
        ({"members": "a"}, "problems.jsonl:1: members: "),
    ],
)
def test_invalid_problem_is_rejected_with_its_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError) as error:
        solve({**PROBLEM, **changes})
    assert str(error.value).replace("[", ".").replace("]", "").startswith(message.replace("[", ".").replace("]", ""))


def test_problem_without_topics_is_rejected() -> None:
    with pytest.raises(ProblemError, match=r"problems\.jsonl:1: the problem has no topics"):
        solve({"assignor": "sticky", "members": []})
