"""The optimal assignment equals the result of exhaustive search, and the group converges with it."""

from __future__ import annotations

import dataclasses
import math
import uuid

import numpy as np
import pytest

from assignors import registry
from assignors.model.assignment import AssignmentColumns, validate_assignment
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId
from assignors.model.state import ApplicationState, KafkaStreamsState
from assignors.objective import Weights, compute_cost_and_bound
from assignors.optimum.balanced_placement import Slack, find_cheapest_placement, place_stateful_tasks
from assignors.optimum.capacity_bounds import CapacityBounds, active_shares, compute_capacity_bounds, standby_shares
from assignors.optimum.costs import CopyPrices, Priority, compute_prices, partition_costs, total_price
from assignors.optimum.task_placement_program import (
    PlacementProblem,
    PlacementSolution,
    count_colocations,
    failure_domains,
    solve_placement,
)
from assignors.tasks.optimal import Optimal, OptimalSolution, Separation, SolutionStatus
from tests.assignors.tasks.exhaustive import Rules, min_cost, state_after_event, tiny_state, with_shuffled_listing


def prices_of(state: ApplicationState) -> CopyPrices:
    """Return the prices of `Optimal()` with its default parameters."""
    copies = min(state.assignment_configs.num_standby_replicas, len(state.clients) - 1)
    weights = Optimal.default_weights.configured(state.assignment_configs)
    return compute_prices(state, copies, partition_costs(state, copies, Priority.WEIGHTED, weights), 0)


def price_of(problem: PlacementProblem, solution: PlacementSolution) -> int:
    return total_price(problem.active, solution.active) + total_price(problem.standby, solution.standby)


def colocations_of(state: ApplicationState, columns: AssignmentColumns) -> int:
    """Return how many copies share a failure domain with another copy of their task."""
    held = columns.standby.copy()
    held[np.arange(len(held)), columns.active] = True
    return count_colocations(failure_domains(state), held[state.tasks.stateful])


def assert_matches_exhaustive_search(state: ApplicationState, assignor: Optimal, seed: int) -> OptimalSolution:
    """Check that the assignment equals the result of exhaustive search."""
    solution = assignor.solve(state)
    rules = Rules(solution.weights, assignor.slack, assignor.subtopology_slack, assignor.downtime_cost or 0)
    assert (solution.slack, colocations_of(state, solution.target), solution.cost) == min_cost(state, rules), seed
    assert solution.status is SolutionStatus.OPTIMAL, seed
    assert solution.bound == solution.cost, seed
    assert validate_assignment(state, solution.assignment) == [], seed
    return solution


@pytest.mark.parametrize("standbys", [0, 1, 2])
def test_cost_matches_exhaustive_search(standbys: int) -> None:
    for seed in range(50):
        assert_matches_exhaustive_search(tiny_state(seed, standbys), Optimal(), seed)


def test_cost_with_slack_and_even_subtopologies_matches_exhaustive_search() -> None:
    for seed in range(100, 125):
        assert_matches_exhaustive_search(tiny_state(seed), Optimal(subtopology_slack=0), seed)
        assert_matches_exhaustive_search(tiny_state(seed), Optimal(slack=1, subtopology_slack=1), seed)


@pytest.mark.parametrize("downtime_cost", [0, 3, 100])
def test_cost_with_downtime_price_matches_exhaustive_search(downtime_cost: int) -> None:
    for seed in range(200, 225):
        state = tiny_state(seed)
        solution = assert_matches_exhaustive_search(state, Optimal(downtime_cost=downtime_cost), seed)
        assert AssignmentColumns.of(state, solution.assignment) is solution.target


@pytest.mark.parametrize("priority", list(Priority))
def test_priority_is_minimized_first(priority: Priority) -> None:
    for seed in range(300, 320):
        state = tiny_state(seed)
        state = dataclasses.replace(
            state, assignment_configs=dataclasses.replace(state.assignment_configs, rack_aware_traffic_cost=2)
        )
        solution = assert_matches_exhaustive_search(state, Optimal(priority=priority), seed)
        alone = {Priority.TRAFFIC_FIRST: (1, 0), Priority.MOVES_FIRST: (0, 1)}.get(priority)
        if alone is not None:
            _, _, least = min_cost(state, Rules(Weights(*alone)))
            cost_and_bound = compute_cost_and_bound(state, solution.target, Weights(*alone))
            assert cost_and_bound is not None
            assert cost_and_bound.cost == least, seed


def test_cost_equals_its_appraisal_and_respects_the_bound() -> None:
    above = 0
    for seed in range(40):
        state = state_after_event(seed)
        solution = Optimal().solve(state)
        cost_and_bound = compute_cost_and_bound(state, solution.target, solution.weights)
        assert cost_and_bound is not None
        assert cost_and_bound.bound <= solution.bound == solution.cost == cost_and_bound.cost, seed
        above += cost_and_bound.bound < cost_and_bound.cost
    assert above > 0


def slack_of(state: ApplicationState, columns: AssignmentColumns, copies: int) -> int:
    """Return the maximum number of tasks by which clients exceed or miss their shares."""
    threads, stateful = state.clients.threads, state.tasks.stateful
    clients = len(threads)
    kinds = [
        (
            np.bincount(columns.active[stateful], minlength=clients),
            active_shares(int(stateful.sum()), threads),
        ),
        (
            np.bincount(columns.active[~stateful], minlength=clients),
            active_shares(int((~stateful).sum()), threads),
        ),
    ]
    if copies:
        kinds.append((columns.standby.sum(axis=0), standby_shares(int(stateful.sum()), copies, threads)))
    slacks: list[int] = [
        max(math.floor(share) - load, load - math.ceil(share), 0)
        for loads, shares in kinds
        for load, share in zip(loads.tolist(), shares, strict=True)
    ]
    return max(slacks)


@pytest.mark.parametrize("name", ["high_availability", "legacy_sticky", "streams_group_sticky"])
def test_no_assignor_is_cheaper_at_equal_slack(name: str) -> None:
    compared = 0
    for seed in range(25):
        state = state_after_event(seed)
        copies = min(state.assignment_configs.num_standby_replicas, len(state.clients) - 1)
        other = AssignmentColumns.of(state, registry.make(registry.find(name)).assign(state))
        if (other.standby.sum(axis=1)[state.tasks.stateful] == copies).all():
            solution = Optimal(apart=Separation.CLIENTS, slack=slack_of(state, other, copies)).solve(state)
            cost_and_bound = compute_cost_and_bound(state, other, solution.weights)
            assert cost_and_bound is not None
            assert cost_and_bound.cost >= solution.cost, seed
            compared += 1
    assert compared > 5


@pytest.mark.parametrize("apart", list(Separation))
def test_copies_are_separated_as_configured(apart: Separation) -> None:
    for seed in range(25):
        state = state_after_event(seed)
        target = Optimal(apart=apart).solve(state).target
        assert not target.standby[np.arange(len(target.active)), target.active].any(), seed
        if apart is Separation.PLACES:
            assert colocations_of(state, target) <= colocations_of(
                state, Optimal(apart=Separation.CLIENTS).solve(state).target
            ), seed


def test_weaker_constraints_never_cost_more() -> None:
    for seed in range(25):
        state = state_after_event(seed)
        costs = [
            Optimal(apart=Separation.PLACES, subtopology_slack=0).solve(state),
            Optimal(apart=Separation.PLACES).solve(state),
        ]
        assert colocations_of(state, costs[0].target) >= colocations_of(state, costs[1].target), seed
        loose = Optimal(apart=Separation.CLIENTS).solve(state).cost
        assert loose <= costs[1].cost, seed
        assert Optimal(apart=Separation.CLIENTS, slack=2).solve(state).cost <= loose, seed


def test_input_order_does_not_matter() -> None:
    for seed in range(25):
        state = state_after_event(seed)
        assert Optimal().assign(with_shuffled_listing(state, seed)) == Optimal().assign(state), seed


def clients_with_pairwise_shared_tags(per_kind: int) -> ApplicationState:
    """Return clients of four kinds; half a task fits on each kind on average. Those of one kind held tasks together."""
    tasks = [info for info in state_after_event(3).all_tasks.values() if info.is_stateful]
    clients = []
    for number in range(4 * per_kind):
        kind, place = divmod(number, per_kind)
        had = tuple(info.id for info in tasks[kind::4])
        clients.append(
            KafkaStreamsState(
                ProcessId.of(uuid.UUID(int=number + 1)),
                rack_id="rack-a",
                client_tags=dict(zip("xyz", ("000", "011", "101", "110")[kind], strict=True)),
                previous_active_tasks=had if place == 0 else (),
                previous_standby_tasks=had if place == 1 else (),
                task_lags={info.id: 0 for info in tasks},
            )
        )
    configs = AssignmentConfigs(num_standby_replicas=1, rack_aware_assignment_tags=("x", "y", "z"))
    return ApplicationState.of(tasks, clients, configs)


@pytest.mark.parametrize("per_kind", [1, 4])
def test_colocations_are_minimal_for_whole_tasks(per_kind: int) -> None:
    state = clients_with_pairwise_shared_tags(per_kind)
    solution = Optimal().solve(state)
    assert solution.status is SolutionStatus.OPTIMAL
    assert colocations_of(state, solution.target) == state.tasks.stateful.sum() > 1
    assert solution.slack == 0


def test_flows_with_a_bound_replace_a_program_above_max_variables() -> None:
    gaps = 0
    for seed in range(30):
        state = state_after_event(seed)
        proven = Optimal().solve(state)
        solution = Optimal(max_variables=0).solve(state)
        assert validate_assignment(state, solution.assignment) == []
        assert solution.bound <= proven.bound, seed
        assert solution.bound <= solution.cost
        assert (solution.status is SolutionStatus.OPTIMAL) == (solution.bound == solution.cost)
        assert not solution.target.standby[np.arange(len(state.tasks)), solution.target.active].any()
        gaps += solution.status is SolutionStatus.FEASIBLE
    assert gaps > 5


@pytest.mark.parametrize(
    ("infeasible", "is_slack_minimal"), [((True, True), True), ((False, True), False), ((True, False), False)]
)
def test_slack_grows_until_standbys_fit_and_is_minimal_if_smaller_slacks_are_infeasible(
    infeasible: tuple[bool, bool], is_slack_minimal: bool
) -> None:
    ranges: list[int] = []

    def reject_first_two(problem: PlacementProblem, time_limit_s: float) -> tuple[PlacementSolution | None, bool]:
        ranges.append(int((problem.standby_bounds.max_copies - problem.standby_bounds.min_copies).max()))
        attempt = len(ranges)
        return (None, infeasible[attempt - 1]) if attempt <= 2 else find_cheapest_placement(problem, time_limit_s)

    states = (tiny_state(seed, 1) for seed in range(100))
    state = next(state for state in states if len(state.clients) == 3 and state.tasks.stateful.sum() > 2)
    placed = place_stateful_tasks(
        state, prices_of(state), 1, failure_domains(state), Slack(0, None), 60.0, reject_first_two
    )
    assert placed.slack == 2
    assert placed.is_slack_minimal is is_slack_minimal
    assert ranges == sorted(set(ranges))


def test_optimal_status_requires_minimal_slack() -> None:
    statuses = set()
    for seed in range(30):
        solution = Optimal(max_variables=0).solve(state_after_event(seed))
        if solution.slack:
            statuses.add(solution.status)
    assert SolutionStatus.OPTIMAL not in statuses


def test_unsolved_program_is_not_reported_as_infeasible() -> None:
    cheap_on_own_client = np.array([[0, 5], [5, 0]])
    one_task_per_group = CapacityBounds(
        min_copies=np.array([1, 1]),
        max_copies=np.array([1, 1]),
        group=np.array([0, 1]),
        group_min_copies=np.array([[0, 0], [0, 0]]),
        group_max_copies=np.array([[1, 1], [1, 1]]),
    )
    standbys_on_own_client = dataclasses.replace(one_task_per_group, group_max_copies=np.array([[1, 0], [0, 1]]))
    problem = PlacementProblem(
        cheap_on_own_client,
        0 * cheap_on_own_client,
        1,
        one_task_per_group,
        standbys_on_own_client,
        np.zeros((0, 2), dtype=np.int64),
    )
    placement, is_infeasible = find_cheapest_placement(problem, 1.0)
    assert placement is not None
    assert (placement.bound, is_infeasible) == (10, False)
    assert find_cheapest_placement(problem, 1.0, max_variables=0) == (None, False)


def test_client_forced_to_hold_both_copies_of_a_task_is_infeasible() -> None:
    no_prices = np.zeros((1, 2), dtype=np.int64)
    only_first = CapacityBounds(
        min_copies=np.array([1, 0]),
        max_copies=np.array([1, 0]),
        group=np.array([0]),
        group_min_copies=np.array([[1, 0]]),
        group_max_copies=np.array([[1, 0]]),
    )
    for where in (np.zeros((0, 2), dtype=np.int64), np.array([[0, 1]])):
        assert find_cheapest_placement(
            PlacementProblem(no_prices, no_prices, 1, only_first, only_first, where), 1.0
        ) == (
            None,
            True,
        )
    prices_of_three = np.zeros((3, 2), dtype=np.int64)
    full = compute_capacity_bounds(active_shares(3, np.array([1, 1])), 0, np.zeros(3, dtype=np.int64), None)
    too_few = dataclasses.replace(full, max_copies=np.array([1, 1]))
    assert find_cheapest_placement(
        PlacementProblem(prices_of_three, prices_of_three, 1, too_few, full, where), 1.0
    ) == (
        None,
        True,
    )


def test_aggregating_clients_does_not_change_the_cost() -> None:
    compared = 0
    for seed in range(30):
        state = state_after_event(seed)
        copies = min(state.assignment_configs.num_standby_replicas, len(state.clients) - 1)
        if not copies or len(state.clients) <= 3:
            continue
        prices, num_tasks = prices_of(state), int(state.tasks.stateful.sum())
        subtopology = state.tasks.subtopology[state.tasks.stateful]
        active, standby = (
            compute_capacity_bounds(shares, 0, subtopology, None)
            for shares in (
                active_shares(num_tasks, state.clients.threads),
                standby_shares(num_tasks, copies, state.clients.threads),
            )
        )
        problem = PlacementProblem(prices.active, prices.standby, copies, active, standby, failure_domains(state))
        aggregated, is_infeasible = solve_placement(problem, 0, 60.0)
        single, is_single_infeasible = solve_placement(problem, 0, 60.0, aggregates=False)
        assert is_infeasible == is_single_infeasible, seed
        if aggregated is not None:
            assert single is not None, seed
            assert price_of(problem, aggregated) == price_of(problem, single) == aggregated.bound == single.bound, seed
            compared += 1
    assert compared > 3
