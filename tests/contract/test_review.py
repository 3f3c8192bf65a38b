"""Reviews of whole runs: equal assignors are equal, mistakes are found and shrunk, and workers change no byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import assignor_sim as sim
from scenarios.suite.standard import own_cases
from tests.assignor_sim.conftest import SMALL
from tests.contract import broken_assignors

pytestmark = pytest.mark.answers

MISTAKES = {
    "DropsTask": "complete",
    "Oscillates": "no_oscillation",
    "DependsOnOrder": "order_independent",
    "ChangesState": "pure",
    "KeepsState": "deterministic",
    "Raises": "valid",
}
CASES = [
    pytest.param(name, invariant, marks=[pytest.mark.slow] if name != "DependsOnOrder" else [])
    for name, invariant in MISTAKES.items()
]


@pytest.mark.parametrize(("name", "invariant"), CASES)
def test_a_mistake_is_found_and_shrunk_and_can_be_seen_again(name: str, invariant: str, tmp_path: Path) -> None:
    head = f"{broken_assignors.__name__}:{name}"
    families = ["join", "placements"] if name == "DropsTask" else ["join"]
    reviewed = sim.review(head, quick=True, families=families, metrics=["active_moves"], workers=2)
    counts = {count.invariant: count for count in reviewed.report.invariants}
    assert counts[invariant].head > 0
    assert all(count.base == 0 for count in counts.values())
    [small] = [shrunk for shrunk in reviewed.report.shrunk if shrunk.invariant == invariant]
    assert small.clients <= (4 if name == "Raises" else 3)
    file = tmp_path / "again.yaml"
    file.write_text(small.text, encoding="utf-8")
    again = sim.review(head, scenarios=[file], metrics=["active_moves"], workers=1).report
    assert {count.invariant: count for count in again.invariants}[invariant].head == 1


@pytest.mark.slow
def test_an_assignor_that_kills_its_process_fails_in_its_cases_only() -> None:
    head = f"{broken_assignors.__name__}:KillsItsProcess"
    report = sim.review(head, quick=True, families=["leave"], metrics=["active_moves"], workers=1).report
    [valid] = [count for count in report.invariants if count.invariant == "valid"]
    assert 0 < valid.head < report.cases
    assert "SIGKILL" in valid.example


@pytest.mark.slow
def test_an_assignor_is_equal_to_itself_and_the_results_do_not_depend_on_workers(tmp_path: Path) -> None:
    for workers in (1, 3):
        reviewed = sim.review("high_availability", quick=True, families=["scale", "racks"], workers=workers)
        reviewed.save(tmp_path / str(workers))
        assert all(finding.wins == finding.losses == 0 for finding in reviewed.report.findings)
        assert not any(count.head for count in reviewed.report.invariants)
    for name in ("review.json", "review.md", "review.html", "review.xml", "manifest.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "3" / name).read_bytes()


@pytest.mark.slow
def test_configs_make_two_assignors_of_one() -> None:
    reviewed = sim.review(
        "high_availability",
        quick=True,
        families=["tags", "uniform"],
        metrics=["cross_rack_source_partitions"],
        head_configs={"rack.aware.assignment.strategy": "min_traffic"},
    )
    assert reviewed.report.head == "high_availability (rack.aware.assignment.strategy=min_traffic)"
    finding = reviewed.report.findings[-1]
    assert finding.wins > finding.losses
    assert json.loads(json.dumps(reviewed.summary().to_dict("records")))[0]["family"] == "uniform"


def test_misspelled_scenario_is_refused_with_the_closest_name() -> None:
    with pytest.raises(
        ValueError, match=r"^cold_strat: no such file, and no shipped scenario \(did you mean 'cold_start'\?\)$"
    ):
        own_cases(["cold_strat"])


def test_texts_of_a_scenario_may_have_any_characters(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(SMALL.replace("duration: 6h", "duration: 1h\ndescription: 🚀 to the moon"), encoding="utf-8")
    reviewed = sim.review("sticky", scenarios=[file], metrics=["active_moves"], workers=1)
    assert not [outcome.skipped for outcome in reviewed.outcomes if outcome.skipped]
