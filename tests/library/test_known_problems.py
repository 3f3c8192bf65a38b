"""Each scenario with a section `problem` shows the problem, and each fix that it simulates lowers a metric."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from assignor_sim.api.regression import stored_results_path
from assignor_sim.api.running import run
from reports.analysis.metrics import ALL_METRICS
from reports.analysis.stored.results import read_stored
from scenarios.load import load
from scenarios.resolution.expectations import Fix, KnownProblem
from scenarios.shipped import list_scenarios

pytestmark = pytest.mark.answers

FILES = {file.stem: file for file in list_scenarios() if load(file).problem is not None}


def problem_of(name: str) -> KnownProblem:
    problem = load(FILES[name]).problem
    assert problem is not None
    return problem


@cache
def stored_runs(file: Path) -> dict[str, dict[str, Any]]:
    results = read_stored(stored_results_path(file).read_text(encoding="utf-8"), file.name)
    first_runs: dict[str, dict[str, Any]] = {}
    for (assignor, _), stored in results.runs.items():
        first_runs.setdefault(assignor, dict(stored.figures))
    return first_runs


def run_after(name: str, fix: Fix) -> dict[str, Any]:
    """Return the first run of the assignor that has the problem, after the fix."""
    if fix.assignor is not None:
        return stored_runs(FILES[name])[fix.assignor]
    scenario = load(FILES[name], fix.overrides)
    result = run(scenario, [problem_of(name).shown_by], [scenario.seeds[0]], explain=False, ranges=False)
    row: dict[str, Any] = result.tables["runs"].to_pylist()[0]
    return row


SIMULATED = [
    pytest.param(name, number, id=f"{name}-{number}")
    for name in FILES
    for number, fix in enumerate(problem_of(name).fixes)
    if fix.overrides or fix.assignor
]


def test_known_problems_have_different_titles() -> None:
    assert len({problem_of(name).title for name in FILES}) == len(FILES) == 20


@pytest.mark.parametrize("name", FILES)
def test_metrics_of_a_problem_exist_and_one_fix_is_simulated(name: str) -> None:
    problem = problem_of(name)
    assert set(problem.metrics) <= set(ALL_METRICS)
    assert any(fix.overrides or fix.assignor for fix in problem.fixes)
    for ticket in problem.tickets:
        assert ticket.startswith(("KAFKA-", "KIP-"))


@pytest.mark.parametrize(("name", "number"), SIMULATED)
def test_fix_lowers_a_metric_of_the_problem(name: str, number: int) -> None:
    problem = problem_of(name)
    before, after = stored_runs(FILES[name])[problem.shown_by], run_after(name, problem.fixes[number])
    lowered = []
    for metric in (ALL_METRICS[key] for key in problem.metrics):
        old, new = metric.of(before), metric.of(after)
        if (old is None and new is not None) or (old is not None and new is not None and new < old):
            lowered.append(metric.name)
    assert lowered, f"{problem.fixes[number].change} lowers none of {problem.metrics}"
    if number == 0:
        assert lowered[0] == problem.metrics[0], "the recommended fix lowers the most important metric"
