"""An assignor is a value: a name, a label, an instance, a class or a callable, for every function of the API."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

import assignor_sim as sim
from pipeline.sweep.job import SweepJob
from scenarios.language.errors import SweepError
from tests.assignor_sim.conftest import SMALL
from tests.pipeline.sweep.examples import write_sweep

SCENARIO = sim.loads(SMALL)


@dataclass(frozen=True)
class Delegate:
    """Returns the assignment of Kafka's default."""

    slack: int = 0

    def assign(self, state: sim.ApplicationState) -> sim.TaskAssignment:
        return sim.HighAvailability().assign(state)


def delegate(state: sim.ApplicationState) -> sim.TaskAssignment:
    return sim.HighAvailability().assign(state)


EQUIVALENTS = [
    "high_availability",
    "ha",
    "assignors.tasks.high_availability:HighAvailability",
    sim.HighAvailability(),
    sim.HighAvailability,
    Delegate(),
    Delegate,
    delegate,
    lambda state: sim.HighAvailability().assign(state),
]


@pytest.fixture(scope="module")
def expected() -> list[object]:
    return sim.run(SCENARIO, "high_availability").to_pandas("assignments")["client"].tolist()


@pytest.mark.parametrize(
    "assignor", EQUIVALENTS, ids=lambda assignor: getattr(assignor, "__name__", str(assignor)).strip("<>")
)
def test_every_form_of_an_assignor_is_accepted(assignor: object, expected: list[object]) -> None:
    result = sim.run(SCENARIO, assignor)  # type: ignore[arg-type]
    assert result.to_pandas("assignments")["client"].tolist() == expected
    assert result.to_pandas("runs")["verdict"].tolist() == ["stable"]


def test_label_of_the_scenario_selects_its_assignor() -> None:
    assert sim.run(SCENARIO, "sticky").manifest["assignors"][0]["assignor"] == "legacy_sticky"


def test_several_assignors_have_unique_labels() -> None:
    result = sim.run(SCENARIO, [sim.Optimal(slack=1), sim.Optimal(slack=1), Delegate, Delegate(slack=2)])
    assert len(set(result.labels)) == 4
    assert "slack=1" in result.labels[0]
    assert "slack=2" in result.labels[3]


def test_assignors_are_compared_over_seeds() -> None:
    comparison = sim.compare(SCENARIO, [sim.HighAvailability(), delegate, "sticky"], seeds=2)
    assert comparison.paired.seeds == 2
    equivalent, _ = comparison.paired.assignors
    assert {finding.verdict for finding in comparison.findings if finding.assignor == equivalent} <= {
        "equal",
        "unknown",
    }
    assert len(comparison.summary()) == len(comparison.findings)


def test_invalid_assignor_is_rejected() -> None:
    with pytest.raises(sim.AssignorError):
        sim.run(SCENARIO, 7)  # type: ignore[arg-type]
    with pytest.raises(sim.AssignorError, match="unknown"):
        sim.run(SCENARIO, "unknown_assignor")
    with pytest.raises(ValueError, match="two or more"):
        sim.compare(SCENARIO, ["high_availability"])


def test_invalid_assignment_or_exception_ends_the_run() -> None:
    invalid = sim.run(SCENARIO, lambda state: sim.TaskAssignment(()))
    assert "MISSING_PROCESS_ID" in str(invalid.trace.failure)

    def divide(state: sim.ApplicationState) -> sim.TaskAssignment:
        raise ZeroDivisionError

    failed = sim.run(SCENARIO, ["high_availability", divide])
    assert failed.to_pandas("runs")["verdict"].tolist() == ["stable", "failed"]
    assert "ZeroDivisionError" in str(failed.traces["divide", 1].failure)


def test_sweep_accepts_importable_assignors_only(tmp_path: Path) -> None:
    from assignor_sim.api.sweeps import prepare

    prepared = prepare(write_sweep(tmp_path), [sim.Optimal(slack=1), delegate, "high_availability"])
    assert len(SweepJob.of(prepared).sweep_inputs.assignors) == 2
    unpicklable = prepare(write_sweep(tmp_path / "other"), [lambda state: delegate(state)])
    with pytest.raises(SweepError, match="define it in a module"):
        SweepJob.of(unpicklable)
