"""An assignor in Java and its port to Python give the same answers to the same problems."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assignors import registry
from scenarios.problems import Problem, answer_differences, solve_problem
from tests.kafka_cluster.cluster import KAFKA_VERSION
from tools.artifacts import kafka_cluster
from tools.java import build_classpath
from tools.kafka_oracle.generate import generate
from tools.kafka_oracle.oracle import KafkaOracle

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

Json = dict[str, Any]

JAVA, PYTHON = "assignorsim.StayPut", "tests.real_kafka.stay_put:StayPut"
PROBLEMS, SEED = 500, 20


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaOracle]:
    classes = Path(build_classpath(kafka_cluster(KAFKA_VERSION)).split(os.pathsep)[0])
    with KafkaOracle(KAFKA_VERSION, classes=[classes]) as oracle:
        yield oracle


def problems() -> Iterator[Json]:
    """Yield random problems of all kinds, including anomalies."""
    return ({**problem, "assignor": JAVA} for problem in generate(SEED, PROBLEMS))


def test_java_and_python_give_same_answers(kafka: KafkaOracle) -> None:
    port = registry.load(PYTHON)
    differences, counts = [], Counter[str]()
    for problem, kafkas in kafka.ask(problems()):
        ours = solve_problem(Problem(0, problem), "generated", port)
        differences += [
            f"{problem['id']}: {text}" for order in kafkas for text in answer_differences(kafkas[order], ours)
        ]
        roles = {role for tasks in (ours["assignment"] or {}).values() for role, ids in tasks.items() if ids}
        counts.update({"problems", *roles})
    assert differences == []
    assert counts["problems"] == PROBLEMS
    assert min(counts["active"], counts["standby"]) > PROBLEMS / 3
