"""How long an assignment takes, on the shapes on which real Kafka was timed: `make bench`.

`problems/` holds the problems, and Kafka's answers where it came to one. NAME is scale-ASSIGNOR-SHAPE-ROUND, the shapes
of Kafka's own StreamsAssignmentScaleTest, or rack-STRATEGY-TASKSxCLIENTS-RACKS-CASE. `nanos` in an answer is what Kafka
took on another day and machine: a hint, not a comparison.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from assignors import registry
from assignors.java_order import CollectionOrder
from scenarios.problems import Problem, answer, differences, parse_state

PROBLEMS = Path(__file__).parent / "problems"
NAMES = sorted(path.name.split(".")[0] for path in PROBLEMS.glob("*.json.gz") if ".expected" not in path.name)


def read(path: Path) -> Any:
    with gzip.open(path, "rt", encoding="utf-8") as source:
        return json.load(source)


@pytest.mark.parametrize("name", NAMES)
def test_an_assignment(benchmark: BenchmarkFixture, name: str) -> None:
    problem = read(PROBLEMS / f"{name}.json.gz")
    info = registry.find(problem["assignor"])
    parameters = {} if problem["assignor"] == "ha" else {"order": CollectionOrder.SORTED}
    assignor, state = registry.make(info, parameters), parse_state(problem)
    benchmark.pedantic(assignor.assign, args=(state,), rounds=3, warmup_rounds=1)
    for expected in PROBLEMS.glob(f"{name}.expected*.json.gz"):
        recorded = read(expected)
        given = answer(Problem(1, problem), name, order=CollectionOrder.SORTED)
        assert not differences(recorded, given)
        benchmark.extra_info["kafka_ms_once"] = recorded["nanos"] / 1e6
