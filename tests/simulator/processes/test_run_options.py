"""Every run ends: a group that never stops rebalancing is stopped at its budget."""

from __future__ import annotations

import pytest

import assignor_sim as sim
from assignors.model.assignment import KafkaStreamsAssignment, TaskAssignment
from assignors.model.state import ApplicationState
from scenarios.load import loads
from scenarios.run import run
from simulator.errors import BudgetExceededError
from simulator.processes.run_options import RunBudget, RunOptions
from simulator.results.tabulation import tabulate_run
from simulator.results.verdict import Verdict
from tests.assignor_sim.conftest import SMALL


def never_satisfied(state: ApplicationState) -> TaskAssignment:
    """Assign nothing, and request the next rebalance at once."""
    return TaskAssignment([KafkaStreamsAssignment(client, {}, 0) for client in state.clients.ids])


class ReturnsNone:
    """An assignor without a result."""

    def assign(self, state: ApplicationState) -> None:
        """Return no assignment."""


@pytest.mark.parametrize(("limit", "count"), [(1, "1 rebalance"), (25, "25 rebalances")])
def test_endless_run_is_stopped_after_the_given_rebalances(limit: int, count: str) -> None:
    result = sim.run(loads(SMALL), never_satisfied, max_rebalances=limit)
    [row] = result.tables["runs"].to_pylist()
    assert (row["verdict"], row["cause"], row["rebalances"]) == (
        Verdict.STOPPED,
        f"stopped after {count}",
        limit,
    )
    assert result.trace.end_ms < result.trace.world.duration_ms
    assert f"stopped after {count}" in str(result)


def test_limit_above_the_rebalances_of_a_run_changes_nothing() -> None:
    free = sim.run(loads(SMALL), "legacy_sticky")
    [row] = free.tables["runs"].to_pylist()
    exact = sim.run(loads(SMALL), "legacy_sticky", max_rebalances=row["rebalances"])
    assert exact.tables == free.tables
    stopped = sim.run(loads(SMALL), "legacy_sticky", max_rebalances=row["rebalances"] - 1)
    assert stopped.tables["runs"]["verdict"].to_pylist() == [Verdict.STOPPED]


def test_limit_of_events_stops_a_run() -> None:
    budget = RunBudget(RunOptions(max_events=2))
    budget.count_rebalance()
    budget.count_event()
    budget.count_event()
    with pytest.raises(BudgetExceededError, match="stopped after 2 events and 1 rebalance"):
        budget.count_event()


def test_endless_run_is_stopped_after_the_given_time_with_its_figures() -> None:
    steps: list[str] = []
    result = sim.run(loads(SMALL), never_satisfied, max_seconds=1e-9, on_progress=steps.append)
    [row] = result.tables["runs"].to_pylist()
    assert (row["verdict"], row["cause"]) == (Verdict.STOPPED, "stopped after 0 rebalances: more than 1e-09 s")
    result = sim.run(loads(SMALL), never_satisfied, max_rebalances=3, max_seconds=1e9, on_progress=steps.append)
    assert result.tables["runs"]["cause"].to_pylist() == ["stopped after 3 rebalances"]
    assert [step.rpartition(": ")[2] for step in steps[-3:]] == ["rebalance 1", "rebalance 2", "rebalance 3"]


def test_time_limit_that_is_not_reached_changes_nothing() -> None:
    free, limited = sim.run(loads(SMALL)), sim.run(loads(SMALL), max_seconds=1e9)
    assert limited.tables == free.tables


def test_run_without_appraisal_loses_the_costs_of_assignments_only() -> None:
    scenario = loads(SMALL)
    spec = scenario.assignors[0]
    whole, without = (
        tabulate_run(run(scenario, spec, options=RunOptions(appraise=appraise)), spec.label, 1)
        for appraise in (True, False)
    )
    costs = {key for key, value in whole.items() if without.get(key) != value}
    assert costs == {key for key in whole if "total_cost" in key or key == "worst_cost_round"}
    assert not any(without.get(key) for key in costs)


def test_assignor_without_an_assignment_is_named_with_its_round() -> None:
    result = sim.run(loads(SMALL), ReturnsNone())  # type: ignore[arg-type]
    [row] = result.tables["runs"].to_pylist()
    assert row["verdict"] == Verdict.FAILED
    assert row["cause"] == "round 1: ReturnsNone: returned None, expected a TaskAssignment"
