"""Time of an assignment, here and in a released Kafka: `make bench`.

`problems/` contains the problems, and Kafka's assignments where it computed one. NAME is scale-ASSIGNOR-SHAPE-ROUND,
with the shapes of Kafka's own StreamsAssignmentScaleTest, or rack-STRATEGY-TASKSxCLIENTS-RACKS-CASE.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from assignors import registry
from assignors.java.hash_order import CollectionOrder
from assignors.model.assignment import KafkaStreamsAssignment, TaskAssignor
from assignors.model.columns import PartitionTable
from assignors.model.state import ApplicationState
from scenarios.problems import Problem, answer_differences, parse_problem, solve_problem
from tests.benchmarks.conftest import AskKafka, Measure
from tests.benchmarks.efforts import efforts_of, prediction

pytestmark = pytest.mark.bench

PROBLEMS = Path(__file__).parent / "problems"
NAMES = sorted(path.name.split(".")[0] for path in PROBLEMS.glob("*.json.gz") if ".expected" not in path.name)


def read(path: Path) -> Any:
    with gzip.open(path, "rt", encoding="utf-8") as source:
        return json.load(source)


def assign_from_nothing(assignor: TaskAssignor, state: ApplicationState) -> tuple[KafkaStreamsAssignment, ...]:
    """Assign without cached counts of partitions, and build the tasks of each client."""
    known = state.partitions
    partitions = PartitionTable(known.names, known.racks, known.in_rack, known.racks_known)
    return assignor.assign(dataclasses.replace(state, partitions=partitions)).assignment


@pytest.mark.parametrize("name", NAMES)
def test_an_assignment(benchmark: BenchmarkFixture, measure: Measure, ask_kafka: AskKafka, name: str) -> None:
    problem = read(PROBLEMS / f"{name}.json.gz")
    info = registry.find(problem["assignor"])
    parameters = {} if problem["assignor"] == "ha" else {"order": CollectionOrder.SORTED}
    assignor, state = registry.make(info, parameters), parse_problem(problem)
    measure(assign_from_nothing, assignor, state)
    compared = sorted(PROBLEMS.glob(f"{name}.expected*.json.gz"))
    for expected in compared:
        assignment = solve_problem(Problem(1, problem), name, order=CollectionOrder.SORTED)
        assert not answer_differences(read(expected), assignment)
    benchmark.extra_info["compared"] = bool(compared)
    efforts = efforts_of(assignor, parse_problem(problem))
    if efforts:
        benchmark.extra_info.update(prediction(efforts))
    ask_kafka(problem)
