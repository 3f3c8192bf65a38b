"""Every run ends: a group that never stops rebalancing is stopped at its budget."""

from __future__ import annotations

import pytest

import assignor_sim as sim
from assignors.model.assignment import KafkaStreamsAssignment, TaskAssignment
from assignors.model.state import ApplicationState
from scenarios.load import loads
from simulator.errors import BudgetExceededError
from simulator.processes.run_budget import RunBudget
from simulator.results.verdict import Verdict
from tests.assignor_sim.conftest import SMALL


def never_satisfied(state: ApplicationState) -> TaskAssignment:
    """Assign nothing, and request the next rebalance at once."""
    return TaskAssignment([KafkaStreamsAssignment(client, {}, 0) for client in state.clients.ids])


class ReturnsNone:
    """An assignor without a result."""

    def assign(self, state: ApplicationState) -> None:
        """Return no assignment."""


@pytest.mark.parametrize("limit", [1, 25])
def test_endless_run_is_stopped_after_the_given_rebalances(limit: int) -> None:
    result = sim.run(loads(SMALL), never_satisfied, max_rebalances=limit)
    [row] = result.tables["runs"].to_pylist()
    assert (row["verdict"], row["cause"], row["rebalances"]) == (
        Verdict.STOPPED,
        f"stopped after {limit} rebalances",
        limit,
    )
    assert result.trace.end_ms < result.trace.world.duration_ms
    assert f"stopped after {limit} rebalances" in str(result)


def test_limit_above_the_rebalances_of_a_run_changes_nothing() -> None:
    free = sim.run(loads(SMALL), "legacy_sticky")
    [row] = free.tables["runs"].to_pylist()
    exact = sim.run(loads(SMALL), "legacy_sticky", max_rebalances=row["rebalances"])
    assert exact.tables == free.tables
    stopped = sim.run(loads(SMALL), "legacy_sticky", max_rebalances=row["rebalances"] - 1)
    assert stopped.tables["runs"]["verdict"].to_pylist() == [Verdict.STOPPED]


def test_limit_of_events_stops_a_run() -> None:
    budget = RunBudget(max_events=2)
    budget.count_rebalance()
    budget.count_event()
    budget.count_event()
    with pytest.raises(BudgetExceededError, match="stopped after 2 events and 1 rebalances"):
        budget.count_event()


def test_assignor_without_an_assignment_is_named_with_its_round() -> None:
    result = sim.run(loads(SMALL), ReturnsNone())  # type: ignore[arg-type]
    [row] = result.tables["runs"].to_pylist()
    assert row["verdict"] == Verdict.FAILED
    assert row["cause"] == "round 1: ReturnsNone: returned None, expected a TaskAssignment"
