"""`assignor-sim compare`: assignors over scenarios and seeds, with significance tests."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from assignor_sim.api.comparison import compare
from assignor_sim.api.running import run as simulate
from assignor_sim.cli import app
from reports.analysis.statistics import sign_flip_p
from scenarios.load import loads
from tests.assignor_sim.conftest import SMALL

SEEDED = SMALL.replace("duration: 6h", "duration: 2h")
BOTH = ("--assignor", "high_availability", "--assignor", "fallback_prior")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "small.yaml"
    file.write_text(SEEDED, encoding="utf-8")
    return file


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["compare", *map(str, arguments)], env={"COLUMNS": "160"})


def test_findings_equal_those_of_runs_paired_by_seed() -> None:
    scenario = loads(SEEDED)
    seeds = range(1, 6)
    names = ["high_availability", "sticky_task_assignor"]
    comparison = compare(scenario, names, seeds, metrics=["cross_rack_bytes", "active_moves"]).paired
    rows = simulate(scenario, names, seeds).tables["runs"].to_pylist()
    for metric in ("cross_rack_bytes", "active_moves"):
        baseline, values = ([row[metric] for row in rows if row["assignor"] == name] for name in names)
        [finding] = [finding for finding in comparison.findings if finding.metric == metric]
        assert finding.difference == pytest.approx(np.mean(np.array(values) - baseline))
        assert finding.pairs == 5
        p = sign_flip_p((np.array(values, dtype=float) - baseline).tolist())
        assert p <= finding.p <= min(1.0, 2 * p) + 1e-12


def test_significantly_worse_assignor_exits_with_1(file: Path) -> None:
    result = run(file, *BOTH, "--seeds", "8", "--metric", "subtopology_skew", "--fail-if-worse", "subtopology_skew")
    assert result.exit_code == 1, result.output
    assert "small: fallback_prior is significantly worse in subtopology_skew" in result.stderr
    allowed = run(file, *BOTH, "--seeds", "8", "--metric", "subtopology_skew", "--fail-if-worse", "subtopology_skew=1")
    assert allowed.exit_code == 0
    assert "worse" in allowed.stdout


def test_alias_of_the_same_assignor_is_equal(file: Path) -> None:
    result = run(file, "--assignor", "high_availability", "--assignor", "ha", "--seeds", "2", "--format", "json",
                "--fail-if-worse", "downtime_ms")  # fmt: skip
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert {finding["verdict"] for finding in data["findings"]} <= {"equal", "unknown"}
    assert (data["baseline"], data["assignors"], data["seeds"]) == ("high_availability", ["ha"], 2)


def test_too_few_seeds_are_rejected_with_fail_if_worse(file: Path) -> None:
    assert run(file, *BOTH, "--seeds", "2").exit_code == 0
    result = run(file, *BOTH, "--seeds", "2", "--fail-if-worse", "load_skew")
    assert result.exit_code == 2
    assert "2 seeds are too few for a significant difference" in result.stderr


def test_directory_of_scenarios_and_custom_assignor_are_compared(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file.parent / "other.yaml").write_text(SEEDED.replace("name: small", "name: other"), encoding="utf-8")
    code = "from assignors.tasks.legacy_sticky import LegacySticky\n\n\nclass Own(LegacySticky):\n    '''Custom.'''\n"
    (file.parent / "compared_assignor.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(file.parent)
    result = run(file.parent, "--assignor", "sticky", "--assignor", "compared_assignor:Own", "--seeds", "1")
    assert result.exit_code == 0, result.output
    assert "compared_assignor:Own vs. sticky: 2 scenarios, 1 seed each" in result.stdout


def test_failed_run_is_reported_and_exits_with_3(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = (
        "import assignor_sim as sim\n\n\nclass Broken:\n    '''Assigns no task.'''\n\n"
        "    def assign(self, state):\n        return sim.TaskAssignment(())\n"
    )
    (file.parent / "broken_assignor.py").write_text(broken, encoding="utf-8")
    monkeypatch.syspath_prepend(file.parent)
    result = run(file, "--assignor", "sticky", "--assignor", "broken_assignor:Broken", "--seeds", "1")
    assert result.exit_code == 3
    assert "small, broken_assignor:Broken, seed 1: " in result.stdout
    assert "1 run failed" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--assignor", "sticky"], "name two or more"),
        (["--assignor", "sticky", "--assignor", "sticky"], "name two or more"),
        ([*BOTH, "--metric", "speed"], "'speed' is not a metric"),
        ([*BOTH, "--fail-if-worse", "rebalances"], "'rebalances' is not a metric"),
        ([*BOTH, "--fail-if-worse", "downtime_ms=x"], "expected METRIC=5% or METRIC=3"),
        (["--assignor", "sticky", "--assignor", "unknown"], "unknown assignor 'unknown'"),
    ],
)
def test_invalid_options_are_rejected(file: Path, arguments: list[str], message: str) -> None:
    result = run(file, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
