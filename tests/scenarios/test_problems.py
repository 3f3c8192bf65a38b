"""Every problem file yields answers or a located error, never another exception."""

from __future__ import annotations

import copy
import gzip
import io
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scenarios.problems import ProblemError, parse_problem, read_problems, solve_problem

VECTORS = Path(__file__).parents[1] / "parity" / "data" / "public.jsonl.gz"
JUNK = [None, -1, 0, "x", [], {}, 3.5, True, 10**30, [None], "0_0", {"a": 1}, "\u202e", -(10**30)]


@pytest.fixture(scope="module")
def small_problems() -> list[dict[str, Any]]:
    with gzip.open(VECTORS, "rt", encoding="utf-8") as source:
        problems = [json.loads(line)["problem"] for line in source]
    return [p for p in problems if len(p["tasks"]) < 15 and len(p["clients"]) < 6]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def test_a_spoiled_problem_is_answered_or_named(small_problems: list[dict[str, Any]]) -> None:
    chance = random.Random(7)
    refused = 0
    for _ in range(1500):
        problem = copy.deepcopy(chance.choice(small_problems))
        *way, last = chance.choice([path for path in places(problem) if path])
        parent: Any = problem
        for key in way:
            parent = parent[key]
        if chance.random() < 0.3:
            del parent[last]
        else:
            parent[last] = chance.choice(JUNK)
        mistake = find_mistake(problem)
        assert mistake is None or mistake.startswith("spoiled:1: ")
        refused += mistake is not None
    assert refused > 300


def find_mistake(problem: dict[str, Any]) -> str | None:
    try:
        for found in read_problems(io.StringIO(json.dumps(problem)), "spoiled"):
            solve_problem(found, "spoiled")
    except ProblemError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tasks": [{"id": "0_0"}]}, "tasks[0].stateful: field required"),
        ({"tasks": [{"id": "0_0", "stateful": 1}]}, "tasks[0].stateful: input should be a valid boolean"),
        ({"clients": [{"process_id": "1-1-1-1-1", "threads": 0}]}, "clients[0].threads"),
        ({"configs": {"warmups": 1}}, "configs.warmups"),
        ({"tasks": [{"id": "0_0", "stateful": False}] * 2}, "duplicate task 0_0"),
    ],
)
def test_a_mistake_is_told_with_its_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_problem({"assignor": "ha", "tasks": [], "clients": [], **change})


def test_a_client_that_is_given_twice_is_named() -> None:
    twice = [{"process_id": "00000000-0000-0000-0000-000000000001"}] * 2
    with pytest.raises(ValueError, match="duplicate client 00000000-0000-0000-0000-000000000001"):
        parse_problem({"assignor": "ha", "tasks": [], "clients": twice})
