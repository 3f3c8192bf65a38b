"""Time of the optimal assignment with its proof: `make bench`."""

from __future__ import annotations

import pytest

from assignors.model.state import ApplicationState
from assignors.tasks.optimal import Optimal, OptimalSolution, Separation, SolutionStatus
from scenarios.problems import parse_problem
from tests.benchmarks.conftest import Measure
from tests.benchmarks.shapes import rack_problem
from tests.benchmarks.shrunken_group import shrunken_group

pytestmark = pytest.mark.bench


def proven(state: ApplicationState, assignor: Optimal) -> OptimalSolution:
    solution = assignor.solve(state)
    assert solution.status is SolutionStatus.OPTIMAL
    assert solution.bound == solution.cost
    return solution


@pytest.mark.parametrize(
    ("tasks", "clients", "standbys", "apart", "goal_ms"),
    [
        (200, 20, 1, Separation.PLACES, 60_000),
        (200, 20, 1, Separation.CLIENTS, 60_000),
        (200, 20, 2, Separation.PLACES, 60_000),
        (1_000, 100, 0, Separation.PLACES, 1_000),
        (1_000, 100, 1, Separation.PLACES, 60_000),
    ],
)
def test_the_cheapest_assignment(
    measure: Measure, tasks: int, clients: int, standbys: int, apart: Separation, goal_ms: int
) -> None:
    state = parse_problem(rack_problem("min_traffic", tasks, clients, standbys=standbys))
    where = "racks" if apart is Separation.PLACES else "clients"
    kept = f", {standbys} standbys on other {where}" if standbys else ", no standbys"
    what = f"`optimal`, {tasks:,} × {clients:,}{kept}"
    measure(proven, state, Optimal(apart=apart), rounds=3, what=what, goal_ms=goal_ms)


@pytest.mark.parametrize("standbys", [1, 2])
def test_the_cheapest_assignment_of_uneven_clients_by_two_tags(measure: Measure, standbys: int) -> None:
    what = f"`optimal`, 200 × 19 after one left, {standbys} standbys apart by two tags"
    measure(proven, shrunken_group(standbys), Optimal(), rounds=3, what=what, goal_ms=60_000)
