"""The instances of the benchmark: single assignment problems as JSON, by seed, with digests.

An instance of a scenario is the state of the second assignment of its run with Kafka's default assignor, which the
first event of the scenario causes; of the only one, if no event follows. The others are the large assignments of the
standard suite.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from assignors.containment.limits import DEFAULT_LIMITS
from assignors.model.configs import RackAwareStrategy
from pipeline.review.case_runs import MAX_REBALANCES, load_case
from pipeline.review.reviewed import Reviewed
from scenarios.problems import problem_document
from scenarios.run import run
from scenarios.suite.benchmark import benchmark_cases
from scenarios.suite.scale_shapes import SHAPES, ScaleShape, scale_state
from scenarios.suite.standard import SCALE, SuiteCase
from simulator.processes.run_budget import RunLimits

ASSIGNOR = "high_availability"
STORED_SHAPES = ("200x20",)
"""Large assignments that are stored; the others are generated, since their JSON has up to 90 MB."""

SCALE_SEED = 1

Problem = dict[str, Any]


def instance_of(case: SuiteCase) -> Problem:
    """Return the instance of a scenario."""
    reviewed = Reviewed.of(ASSIGNOR, {}, DEFAULT_LIMITS)
    scenario = load_case(case, reviewed)
    trace = run(scenario, reviewed.spec(scenario), case.seed, capture=True, limits=RunLimits(MAX_REBALANCES))
    captured = trace.captured_rounds[min(1, len(trace.captured_rounds) - 1)]
    problem = problem_document(captured.state, f"{case.family}/{case.name.partition(',')[0]}", ASSIGNOR)
    # The rack-aware strategy belongs to the entry, not to the instance.
    problem["configs"]["rack_aware_assignment_strategy"] = str(RackAwareStrategy.NONE)
    return _with_offsets(problem)


def _with_offsets(problem: Problem) -> Problem:
    """Add the changelog offsets that members of a streams group report, from Kafka 4.4 on: of copies that do not run.

    The simulated classic group reports lags only. The end offset of a changelog is the largest lag of any client, which
    has none of it; a copy has the offset that its lag leaves.
    """
    ends: dict[str, int] = {}
    for client in problem["clients"]:
        for task, lag in client["task_lags"].items():
            ends[task] = max(lag, ends.get(task, 0))
    for client in problem["clients"]:
        held = {task: ends[task] - lag for task, lag in client["task_lags"].items() if 0 <= lag < ends[task]}
        client["task_offsets"] = held
        client["task_end_offsets"] = {task: ends[task] for task in held}
    return problem


def large_instance(shape: ScaleShape) -> Problem:
    """Return a large assignment of a new group."""
    return problem_document(scale_state(shape, SCALE_SEED), f"{SCALE}/{shape.name}", ASSIGNOR)


def stored_instances(cases: Iterable[SuiteCase] | None = None) -> Iterator[Problem]:
    """Yield the stored instances, in the order of the benchmark."""
    for case in benchmark_cases() if cases is None else cases:
        yield instance_of(case)
    if cases is None:
        yield from (large_instance(shape) for shape in SHAPES if shape.name in STORED_SHAPES)


def generated_instances() -> Iterator[Problem]:
    """Yield the large instances that are not stored."""
    yield from (large_instance(shape) for shape in SHAPES if shape.name not in STORED_SHAPES)


def json_line(content: Mapping[str, Any]) -> bytes:
    """Return content as one line of JSON; the same content always gives the same bytes."""
    return (json.dumps(content, separators=(",", ":"), ensure_ascii=False) + "\n").encode()


def digest(line: bytes) -> str:
    """Return the SHA-256 of a line, without its newline."""
    return hashlib.sha256(line.rstrip(b"\n")).hexdigest()


def compress(data: bytes) -> bytes:
    """Return data for a .gz file without name and time."""
    return gzip.compress(data, compresslevel=9, mtime=0)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a .jsonl.gz file."""
    with gzip.open(path, "rt", encoding="utf-8") as source:
        return [json.loads(line) for line in source]
