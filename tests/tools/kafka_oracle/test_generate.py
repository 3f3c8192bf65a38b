"""Random problems for comparisons with Kafka."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from assignors.errors import ConfigError
from scenarios.problems import Problem, parse_problem, solve_problem
from tools.kafka_oracle.generate import (
    ANOMALIES,
    ASSIGNORS,
    RUNNING,
    SIZES,
    STRATEGIES,
    UNKNOWN,
    generate,
    make_family,
    random_process_ids,
)

ROOT = Path(__file__).resolve().parents[3]
SEED = 11


@pytest.fixture(scope="module")
def problems() -> list[dict[str, Any]]:
    return list(generate(SEED, 600))


def fingerprint(problems: Iterator[dict[str, Any]]) -> str:
    return hashlib.sha256(json.dumps(list(problems)).encode()).hexdigest()


@pytest.mark.parametrize("hash_seed", ["0", "4711"])
def test_problems_of_a_seed_are_reproducible_across_processes(hash_seed: str) -> None:
    command = [sys.executable, "-m", "tools.kafka_oracle", "generate", "--seed", str(SEED), "--problems", "60"]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    printed = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True, timeout=60).stdout
    lines = [json.loads(line) for line in printed.splitlines()]
    assert fingerprint(iter(lines)) == fingerprint(generate(SEED, 60))


def test_other_seed_gives_other_problems() -> None:
    assert fingerprint(generate(SEED, 5)) != fingerprint(generate(SEED + 1, 5))


def test_a_longer_run_begins_with_the_same_problems(problems: list[dict[str, Any]]) -> None:
    assert list(generate(SEED, 25)) == problems[:25]


def test_every_problem_has_a_unique_id(problems: list[dict[str, Any]]) -> None:
    assert len({problem["id"] for problem in problems}) == len(problems)


def test_every_assignor_occurs_with_every_strategy_and_size(problems: list[dict[str, Any]]) -> None:
    kinds = {Problem(0, problem).kind for problem in problems}
    assert kinds == {(assignor, strategy) for assignor in ASSIGNORS for strategy in STRATEGIES}
    for size in SIZES:
        assert {p["assignor"] for p in problems if f"-{size.name}" in p["id"]} == set(ASSIGNORS)


def test_every_problem_is_valid(problems: list[dict[str, Any]]) -> None:
    for problem in problems:
        try:
            state = parse_problem(problem)
        except ConfigError:
            assert problem["configs"]["max_warmup_replicas"] == 0
            continue
        assert len(state.tasks) == len(problem["tasks"])
        assert len(state.clients) == len(problem["clients"])


def test_every_lag_is_possible_in_kafka(problems: list[dict[str, Any]]) -> None:
    lags = [lag for p in problems for client in p["clients"] for lag in client["task_lags"].values()]
    assert {RUNNING, UNKNOWN, 0, 2**63 - 1} <= set(lags)
    assert all(lag in (RUNNING, UNKNOWN) or 0 <= lag < 2**63 for lag in lags)


def test_no_client_has_a_task_as_active_and_standby(problems: list[dict[str, Any]]) -> None:
    for problem in problems:
        for client in problem["clients"]:
            assert not set(client["previous_active"]) & set(client["previous_standby"]), problem["id"]


def test_a_round_starts_with_the_previous_assignment() -> None:
    families = [list(make_family(SEED, family)) for family in range(150)]
    sequences = [family for family in families if len(family) > 1]
    assert len(sequences) > 3
    stayed = 0
    for earlier, later in (pair for sequence in sequences for pair in pairwise(sequence)):
        assignment = solve_problem(Problem(0, earlier), "a sequence")["assignment"]
        for client in later["clients"]:
            if client["process_id"] in assignment:
                stayed += 1
                assert client["previous_active"] == assignment[client["process_id"]]["active"]
                assert client["previous_standby"] == assignment[client["process_id"]]["standby"]
    assert stayed > 20


def test_clients_join_and_leave_in_a_sequence() -> None:
    members = [
        [{client["process_id"] for client in problem["clients"]} for problem in make_family(SEED, family)]
        for family in range(150)
    ]
    changes = [(before, after) for rounds in members for before, after in pairwise(rounds)]
    assert any(after - before for before, after in changes)
    assert any(before - after for before, after in changes)


@pytest.mark.parametrize("name", list(ANOMALIES))
def test_an_anomaly_changes_the_problem(name: str, problems: list[dict[str, Any]]) -> None:
    problem = next(p for p in problems if "small-settled" in p["id"] and any(t["stateful"] for t in p["tasks"]))
    changed = copy.deepcopy(problem)
    ANOMALIES[name](random.Random(1), changed)
    assert changed != problem


@pytest.mark.parametrize("seed", range(12))
def test_process_ids_are_all_different(seed: int) -> None:
    assert len(set(random_process_ids(random.Random(seed), 50))) == 50
