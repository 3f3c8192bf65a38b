"""`assignor-sim compare`: one's own assignor against Kafka's, over scenarios and seeds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from assignor_sim.api.comparison import compare_over_seeds
from assignor_sim.api.results import run_scenario
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


def test_findings_are_those_of_the_runs_paired_by_seed() -> None:
    scenario = loads(SEEDED)
    seeds = range(1, 6)
    names = ["high_availability", "sticky_task_assignor"]
    outcome, _ = compare_over_seeds([scenario], names, seeds, ["cross_rack_bytes", "active_moves"])
    rows = run_scenario(scenario, names, seeds).tables["runs"].to_pylist()
    for metric in ("cross_rack_bytes", "active_moves"):
        ours, mine = ([row[metric] for row in rows if row["assignor"] == name] for name in names)
        [finding] = [each for each in outcome.findings if each.metric == metric]
        assert finding.difference == pytest.approx(np.mean(np.array(mine) - ours))
        assert finding.pairs == 5
        p = sign_flip_p((np.array(mine, dtype=float) - ours).tolist())
        assert p <= finding.p <= min(1.0, 2 * p) + 1e-12


def test_an_assignor_that_is_worse_by_more_than_chance_ends_with_1(file: Path) -> None:
    ended = run(file, *BOTH, "--seeds", "8", "--metric", "subtopology_skew", "--fail-if-worse", "subtopology_skew")
    assert ended.exit_code == 1, ended.output
    assert "small: fallback_prior is worse in subtopology_skew, by more than chance" in ended.stderr
    allowed = run(file, *BOTH, "--seeds", "8", "--metric", "subtopology_skew", "--fail-if-worse", "subtopology_skew=1")
    assert allowed.exit_code == 0
    assert "worse" in allowed.stdout


def test_the_same_assignor_under_another_name_differs_in_nothing(file: Path) -> None:
    ended = run(file, "--assignor", "high_availability", "--assignor", "ha", "--seeds", "2", "--format", "json",
                "--fail-if-worse", "downtime_ms")  # fmt: skip
    assert ended.exit_code == 0, ended.output
    data = json.loads(ended.stdout)
    assert {each["verdict"] for each in data["findings"]} <= {"equal", "unknown"}
    assert (data["baseline"], data["assignors"], data["seeds"]) == ("high_availability", ["ha"], 2)


def test_seeds_too_few_to_tell_are_bad_input_where_something_hangs_on_it(file: Path) -> None:
    assert run(file, *BOTH, "--seeds", "2").exit_code == 0
    ended = run(file, *BOTH, "--seeds", "2", "--fail-if-worse", "load_skew")
    assert ended.exit_code == 2
    assert "2 seeds are too few to tell" in ended.stderr


def test_all_scenarios_of_a_directory_take_part_and_ones_own_assignor_is_found(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file.parent / "other.yaml").write_text(SEEDED.replace("name: small", "name: other"), encoding="utf-8")
    own = "from assignors.tasks.legacy_sticky import LegacySticky\n\n\nclass Own(LegacySticky):\n    '''Own.'''\n"
    (file.parent / "compared_assignor.py").write_text(own, encoding="utf-8")
    monkeypatch.syspath_prepend(file.parent)
    ended = run(file.parent, "--assignor", "sticky", "--assignor", "compared_assignor:Own", "--seeds", "1")
    assert ended.exit_code == 0, ended.output
    assert "compared_assignor:Own vs. sticky: 2 scenarios, 1 seed each" in ended.stdout


def test_a_run_that_fails_is_named_and_ends_with_2(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = (
        "import assignor_sim as sim\n\n\nclass Broken:\n    '''Gives nothing.'''\n\n"
        "    def assign(self, state):\n        return sim.TaskAssignment(())\n"
    )
    (file.parent / "broken_assignor.py").write_text(broken, encoding="utf-8")
    monkeypatch.syspath_prepend(file.parent)
    ended = run(file, "--assignor", "sticky", "--assignor", "broken_assignor:Broken", "--seeds", "1")
    assert ended.exit_code == 2
    assert "small, broken_assignor:Broken, seed 1: " in ended.stdout
    assert "1 runs came to no result" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--assignor", "sticky"], "name two or more"),
        (["--assignor", "sticky", "--assignor", "sticky"], "name two or more"),
        ([*BOTH, "--metric", "speed"], "'speed' is not a metric"),
        ([*BOTH, "--fail-if-worse", "rebalances"], "'rebalances' is not a metric"),
        ([*BOTH, "--fail-if-worse", "downtime_ms=x"], "expected METRIC=5% or METRIC=3"),
        (["--assignor", "sticky", "--assignor", "nobody"], "'nobody' is not"),
    ],
)
def test_mistakes_are_bad_input(file: Path, arguments: list[str], said: str) -> None:
    ended = run(file, *arguments)
    assert ended.exit_code == 2
    assert said in ended.stderr
