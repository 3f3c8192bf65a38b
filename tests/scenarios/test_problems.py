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

from scenarios.problems import Problem, ProblemError, parse_problem, problem_document, read_problems, solve_problem

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


def test_malformed_problem_is_answered_or_rejected(small_problems: list[dict[str, Any]]) -> None:
    rng = random.Random(7)
    num_rejected = 0
    for _ in range(1500):
        problem = copy.deepcopy(rng.choice(small_problems))
        *parent_path, last = rng.choice([path for path in places(problem) if path])
        parent: Any = problem
        for key in parent_path:
            parent = parent[key]
        if rng.random() < 0.3:
            del parent[last]
        else:
            parent[last] = rng.choice(JUNK)
        mistake = find_mistake(problem)
        assert mistake is None or mistake.startswith("problems:1: ")
        num_rejected += mistake is not None
    assert num_rejected > 300


def find_mistake(problem: dict[str, Any]) -> str | None:
    try:
        for parsed in read_problems(io.StringIO(json.dumps(problem)), "problems"):
            solve_problem(parsed, "problems")
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
def test_invalid_problem_is_rejected_with_its_path(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_problem({"assignor": "ha", "tasks": [], "clients": [], **change})


def test_a_release_that_is_no_text_is_rejected(small_problems: list[dict[str, Any]]) -> None:
    mistake = find_mistake({**small_problems[0], "kafka": 4})
    assert mistake == "problems:1: kafka: input should be a valid string"


def test_duplicate_client_is_rejected() -> None:
    twice = [{"process_id": "00000000-0000-0000-0000-000000000001"}] * 2
    with pytest.raises(ValueError, match="duplicate client 00000000-0000-0000-0000-000000000001"):
        parse_problem({"assignor": "ha", "tasks": [], "clients": twice})


def client_ids(problem: dict[str, Any]) -> list[str]:
    return [client["process_id"] for client in problem["clients"]]


def test_the_document_of_a_state_is_its_problem(small_problems: list[dict[str, Any]]) -> None:
    for problem in small_problems[::4]:
        document = problem_document(parse_problem(problem), str(problem["id"]), problem["assignor"])
        assert [task["id"] for task in document["tasks"]] == [task["id"] for task in problem["tasks"]]
        assert client_ids(document) == client_ids(problem)
        assert problem_document(parse_problem(document), document["id"], document["assignor"]) == document
        for assignor in (problem["assignor"], "streams_group_sticky"):
            answers = [
                solve_problem(Problem(1, {**content, "assignor": assignor}), "x") for content in (problem, document)
            ]
            assert {**answers[0], "nanos": 0} == {**answers[1], "nanos": 0}


def test_the_document_has_racks_offsets_and_configs() -> None:
    task = {"id": "0_0", "stateful": True, "source_partitions": ["in-0"], "changelog_partitions": ["log-0"]}
    client = {
        "process_id": "00000000-0000-0000-0000-000000000001",
        "rack": None,
        "threads": 2,
        "tags": {"zone": "z1"},
        "previous_active": [],
        "previous_standby": ["0_0"],
        "task_lags": {"0_0": 5},
        "task_offsets": {"0_0": 4},
        "task_end_offsets": {"0_0": 9},
        "instance_id": "static",
    }
    configs = {
        "acceptable_recovery_lag": 1,
        "max_warmup_replicas": 3,
        "num_standby_replicas": 1,
        "probing_rebalance_interval_ms": 60_000,
        "rack_aware_assignment_tags": ["zone"],
        "rack_aware_traffic_cost": 3,
        "rack_aware_non_overlap_cost": None,
        "rack_aware_assignment_strategy": "min_traffic",
    }
    racks = {"in-0": ["az1", "az2"], "log-0": ["az1"]}
    problem = {"id": "x", "assignor": "ha", "configs": configs, "tasks": [task], "partition_racks": racks}
    problem["clients"] = [client]
    assert problem_document(parse_problem(problem), "x", "ha") == problem


def test_a_client_has_not_more_previous_threads_than_threads() -> None:
    process = "00000000-0000-0000-0000-000000000001"
    client = {"process_id": process, "threads": 1, "previous_threads": [["0_0"], ["9_9"]]}
    problem = {"assignor": "streams_group_sticky", "tasks": [{"id": "0_0", "stateful": True}], "clients": [client]}
    with pytest.raises(ProblemError, match=f"client {process} has 1 thread, but previous_threads has 2"):
        solve_problem(Problem(0, problem), "file")
    state = parse_problem({**problem, "clients": [{**client, "threads": 2}]})
    assert state.previous_thread is not None
    assert state.previous_thread.tolist() == [[0]]
