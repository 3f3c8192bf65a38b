"""The cheapest assignment is what trying everything finds, and the group comes to rest with it."""

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
from assignors.objective.cost import Weights, compute_cost_and_bound
from assignors.optimum import balanced_placement, placement_program, stateful_placement
from assignors.optimum.capacity_bounds import CapacityBounds, active_shares, compute_capacity_bounds, standby_shares
from assignors.optimum.costs import Priority
from assignors.optimum.failure_domains import count_colocations, failure_domains
from assignors.tasks.optimal import Optimal, OptimalSolution, Separation, SolutionStatus
from tests.assignors.tasks.exhaustive import Rules, grown, in_another_order, least_cost, tiny_state


def colocations_of(state: ApplicationState, columns: AssignmentColumns) -> int:
    """How many copies are in one place with another one of their task."""
    held = columns.standby.copy()
    held[np.arange(len(held)), columns.active] = True
    return count_colocations(failure_domains(state), held[state.tasks.stateful])


def assert_is_best(state: ApplicationState, assignor: Optimal, seed: int) -> OptimalSolution:
    """It is what trying everything finds."""
    answer = assignor.solve(state)
    rules = Rules(answer.weights, assignor.slack, assignor.subtopology_slack, assignor.downtime_cost or 0)
    assert (answer.slack, colocations_of(state, answer.target), answer.cost) == least_cost(state, rules), seed
    assert answer.status is SolutionStatus.OPTIMAL, seed
    assert answer.bound == answer.cost, seed
    assert validate_assignment(state, answer.assignment) == [], seed
    return answer


@pytest.mark.parametrize("standbys", [0, 1, 2])
def test_nothing_that_can_be_tried_is_better(standbys: int) -> None:
    for seed in range(50):
        assert_is_best(tiny_state(seed, standbys), Optimal(), seed)


def test_nothing_is_better_with_slack_and_even_subtopologies() -> None:
    for seed in range(100, 125):
        assert_is_best(tiny_state(seed), Optimal(subtopology_slack=0), seed)
        assert_is_best(tiny_state(seed), Optimal(slack=1, subtopology_slack=1), seed)


@pytest.mark.parametrize("downtime_cost", [0, 3, 100])
def test_nothing_is_better_where_downtime_has_a_price_and_nobody_waits(downtime_cost: int) -> None:
    for seed in range(200, 225):
        state = tiny_state(seed)
        answer = assert_is_best(state, Optimal(downtime_cost=downtime_cost), seed)
        assert AssignmentColumns.of(state, answer.assignment) is answer.target


@pytest.mark.parametrize("priority", list(Priority))
def test_what_has_priority_is_least_and_then_the_other(priority: Priority) -> None:
    for seed in range(300, 320):
        state = tiny_state(seed)
        state = dataclasses.replace(
            state, assignment_configs=dataclasses.replace(state.assignment_configs, rack_aware_traffic_cost=2)
        )
        answer = assert_is_best(state, Optimal(priority=priority), seed)
        alone = {Priority.TRAFFIC_FIRST: (1, 0), Priority.MOVES_FIRST: (0, 1)}.get(priority)
        if alone is not None:
            _, _, least = least_cost(state, Rules(Weights(*alone)))
            found = compute_cost_and_bound(state, answer.target, Weights(*alone))
            assert found is not None
            assert found.cost == least, seed


def test_the_cost_is_what_is_appraised_and_never_below_what_cannot_be_undercut() -> None:
    above = 0
    for seed in range(40):
        state = grown(seed)
        answer = Optimal().solve(state)
        found = compute_cost_and_bound(state, answer.target, answer.weights)
        assert found is not None
        assert found.bound <= answer.bound == answer.cost == found.cost, seed
        above += found.bound < found.cost
    assert above > 0


def slack_of(state: ApplicationState, columns: AssignmentColumns, copies: int) -> int:
    """By how many tasks clients have more or fewer than their shares."""
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
def test_no_assignor_is_cheaper_than_this_one_with_the_slack_that_it_takes(name: str) -> None:
    compared = 0
    for seed in range(25):
        state = grown(seed)
        copies = min(state.assignment_configs.num_standby_replicas, len(state.clients) - 1)
        theirs = AssignmentColumns.of(state, registry.make(registry.find(name)).assign(state))
        if (theirs.standby.sum(axis=1)[state.tasks.stateful] == copies).all():
            answer = Optimal(apart=Separation.CLIENTS, slack=slack_of(state, theirs, copies)).solve(state)
            found = compute_cost_and_bound(state, theirs, answer.weights)
            assert found is not None
            assert found.cost >= answer.cost, seed
            compared += 1
    assert compared > 5


@pytest.mark.parametrize("apart", list(Separation))
def test_copies_are_kept_apart_as_far_as_slacks(apart: Separation) -> None:
    for seed in range(25):
        state = grown(seed)
        target = Optimal(apart=apart).solve(state).target
        assert not target.standby[np.arange(len(target.active)), target.active].any(), seed
        if apart is Separation.PLACES:
            assert colocations_of(state, target) <= colocations_of(
                state, Optimal(apart=Separation.CLIENTS).solve(state).target
            ), seed


def test_the_less_is_slacks_the_less_it_costs() -> None:
    for seed in range(25):
        state = grown(seed)
        costs = [
            Optimal(apart=Separation.PLACES, subtopology_slack=0).solve(state),
            Optimal(apart=Separation.PLACES).solve(state),
        ]
        assert colocations_of(state, costs[0].target) >= colocations_of(state, costs[1].target), seed
        loose = Optimal(apart=Separation.CLIENTS).solve(state).cost
        assert loose <= costs[1].cost, seed
        assert Optimal(apart=Separation.CLIENTS, slack=2).solve(state).cost <= loose, seed


def test_the_order_in_which_things_are_told_changes_nothing() -> None:
    for seed in range(25):
        state = grown(seed)
        assert Optimal().assign(in_another_order(state, seed)) == Optimal().assign(state), seed


def clients_of_whom_any_two_share_a_tag(per_kind: int) -> ApplicationState:
    """Clients of four kinds; on average half a task would fit on each kind. Those of one kind had tasks together."""
    tasks = [info for info in grown(3).all_tasks.values() if info.is_stateful]
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
def test_copies_meet_no_more_often_than_whole_tasks_must_where_parts_of_them_would_not(per_kind: int) -> None:
    state = clients_of_whom_any_two_share_a_tag(per_kind)
    answer = Optimal().solve(state)
    assert answer.status is SolutionStatus.OPTIMAL
    assert colocations_of(state, answer.target) == state.tasks.stateful.sum() > 1
    assert answer.slack == 0


def test_a_programme_that_is_too_large_is_answered_by_flows_with_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    gaps = 0
    for seed in range(30):
        state = grown(seed)
        proven = Optimal().solve(state)
        with monkeypatch.context() as patched:
            patched.setattr(placement_program, "MAX_VARIABLES", 0)
            answer = Optimal().solve(state)
        assert validate_assignment(state, answer.assignment) == []
        assert answer.bound <= proven.bound, seed
        assert answer.bound <= answer.cost
        assert (answer.status is SolutionStatus.OPTIMAL) == (answer.bound == answer.cost)
        assert not answer.target.standby[np.arange(len(state.tasks)), answer.target.active].any()
        gaps += answer.status is SolutionStatus.FEASIBLE
    assert gaps > 5


@pytest.mark.parametrize(
    ("proven", "status"),
    [
        ((True, True), SolutionStatus.OPTIMAL),
        ((False, True), SolutionStatus.FEASIBLE),
        ((True, False), SolutionStatus.FEASIBLE),
    ],
)
def test_where_standbys_cannot_have_their_shares_the_slack_grows_and_is_optimal_if_it_is_proven_to_be_needed(
    proven: tuple[bool, ...], status: SolutionStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, slacks = stateful_placement.find_cheapest_placement, []

    def reluctant(
        problem: placement_program.PlacementProblem, time_limit_s: float
    ) -> tuple[placement_program.PlacementSolution | None, bool]:
        slacks.append(int((problem.standby_bounds.max_copies - problem.standby_bounds.min_copies).max()))
        return place(problem, time_limit_s) if len(slacks) > 2 else (None, proven[len(slacks) - 1])

    monkeypatch.setattr(balanced_placement, "find_cheapest_placement", reluctant)
    states = (tiny_state(seed, 1) for seed in range(100))
    state = next(one for one in states if len(one.clients) == 3 and one.tasks.stateful.sum() > 2)
    answer = Optimal().solve(state)
    assert answer.slack == 2
    assert answer.bound == answer.cost
    assert answer.status is status
    assert slacks == sorted(set(slacks))


def test_standbys_that_found_no_room_in_time_are_not_said_to_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap_at_home = np.array([[0, 5], [5, 0]])
    each_in_its_own_group = CapacityBounds(
        min_copies=np.array([1, 1]),
        max_copies=np.array([1, 1]),
        group=np.array([0, 1]),
        group_min_copies=np.array([[0, 0], [0, 0]]),
        group_max_copies=np.array([[1, 1], [1, 1]]),
    )
    standbys_at_home = dataclasses.replace(each_in_its_own_group, group_max_copies=np.array([[1, 0], [0, 1]]))
    problem = placement_program.PlacementProblem(
        cheap_at_home, 0 * cheap_at_home, 1, each_in_its_own_group, standbys_at_home, np.zeros((0, 2), dtype=np.int64)
    )
    found, is_impossible = stateful_placement.find_cheapest_placement(problem, 1.0)
    assert found is not None
    assert (found.bound, is_impossible) == (10, False)
    monkeypatch.setattr(placement_program, "MAX_VARIABLES", 0)
    assert stateful_placement.find_cheapest_placement(problem, 1.0) == (None, False)


def test_a_client_that_must_both_run_and_stand_by_a_task_is_found_impossible() -> None:
    nothing = np.zeros((1, 2), dtype=np.int64)
    only_first = CapacityBounds(
        min_copies=np.array([1, 0]),
        max_copies=np.array([1, 0]),
        group=np.array([0]),
        group_min_copies=np.array([[1, 0]]),
        group_max_copies=np.array([[1, 0]]),
    )
    for where in (np.zeros((0, 2), dtype=np.int64), np.array([[0, 1]])):
        assert stateful_placement.find_cheapest_placement(
            placement_program.PlacementProblem(nothing, nothing, 1, only_first, only_first, where), 1.0
        ) == (None, True)
    three = np.zeros((3, 2), dtype=np.int64)
    full = compute_capacity_bounds(active_shares(3, np.array([1, 1])), 0, np.zeros(3, dtype=np.int64), None)
    nobody = dataclasses.replace(full, max_copies=np.array([1, 1]))
    assert stateful_placement.find_cheapest_placement(
        placement_program.PlacementProblem(three, three, 1, nobody, full, where), 1.0
    ) == (
        None,
        True,
    )


def test_clients_taken_as_one_cost_what_they_cost_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pooled = 0
    for seed in range(30):
        state = grown(seed)
        together = Optimal().solve(state)
        with monkeypatch.context() as patched:
            patched.setattr(placement_program, "group_by_domains", lambda domains: np.arange(domains.shape[1]))
            assert Optimal().solve(state).cost == together.cost, seed
        copies = state.assignment_configs.num_standby_replicas
        pooled += copies > 0 and len(state.clients) > 3 and colocations_of(state, together.target) == 0
    assert pooled > 3
