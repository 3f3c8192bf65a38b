"""An application with the optimal assignor warms up, converges, and handles unusual input."""

from __future__ import annotations

import dataclasses
import uuid
from fractions import Fraction

import numpy as np
import pytest

from assignors import registry
from assignors.errors import IllegalStateError, UnknownAssignorError
from assignors.model.assignment import UNASSIGNED, AssignmentColumns, validate_assignment
from assignors.model.columns import NO_RACK
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId, TaskId
from assignors.model.state import ApplicationState, KafkaStreamsState, TaskInfo
from assignors.optimum.capacity_bounds import active_shares, standby_shares
from assignors.optimum.costs import Priority, needs_warmup
from assignors.tasks.optimal import Optimal, Separation, SolutionStatus
from tests.assignors.tasks.exhaustive import state_after_event
from tests.contract.random_applications import RandomApplication, rebalance_until_stable


@pytest.mark.parametrize(
    "assignor",
    [
        Optimal(apart=Separation.CLIENTS),
        Optimal(apart=Separation.TAGS, subtopology_slack=0),
        Optimal(priority=Priority.TRAFFIC_FIRST, slack=1),
        Optimal(priority=Priority.MOVES_FIRST),
        Optimal(traffic_cost=0, non_overlap_cost=0),
        Optimal(downtime_cost=5),
    ],
    ids=lambda assignor: f"{assignor.priority}, {assignor.apart}, {assignor.downtime_cost}",
)
def test_group_converges_with_any_parameters(assignor: Optimal) -> None:
    for seed in range(12):
        application = RandomApplication.from_seed(seed)
        for _ in range(2):
            application.apply_random_event()
            assert rebalance_until_stable(application, assignor, 60) is not None, (seed, application.history)


def test_converged_assignment_is_the_target_and_stable() -> None:
    for seed in range(15):
        application = RandomApplication.from_seed(seed)
        application.apply_random_event()
        rebalance_until_stable(application, Optimal(), 60)
        state = application.state()
        solution = Optimal().solve(state)
        assert solution.assignment.followup_rebalance_delay_ms is None, seed
        ran = [set(client.previous_active_tasks) for client in state.kafka_streams_states.values()]
        target = [
            {state.tasks.ids[row] for row in np.flatnonzero(solution.target.active == c)} for c in range(len(ran))
        ]
        assert target == ran, seed


def test_caught_up_clients_keep_tasks_and_warm_ups_are_limited() -> None:
    waited = 0
    for seed in range(40):
        state = state_after_event(seed)
        solution = Optimal().solve(state)
        now = AssignmentColumns.of(state, solution.assignment)
        behind = needs_warmup(state)
        rows = np.flatnonzero(state.tasks.stateful)
        assert not behind[np.arange(len(rows)), now.active[rows]].any(), seed
        target_waits = behind[np.arange(len(rows)), solution.target.active[rows]].any()
        assert not target_waits or solution.assignment.followup_rebalance_delay_ms is not None, seed
        copies = min(state.assignment_configs.num_standby_replicas, len(state.clients) - 1)
        added = int((now.standby.sum(axis=1)[rows] - copies).clip(min=0).sum())
        assert added <= state.assignment_configs.max_warmup_replicas, seed
        waited += bool(target_waits)
    assert waited > 5


def test_standby_shares_follow_the_threads_of_clients() -> None:
    shares = standby_shares(12, 1, np.array([6, 1, 2]))
    assert shares == [4, Fraction(8, 3), Fraction(16, 3)]
    for seed in range(50):
        rng = np.random.default_rng(seed)
        threads = rng.integers(1, 9, size=int(rng.integers(2, 7)))
        copies = int(rng.integers(1, len(threads)))
        shares = standby_shares(7, copies, threads)
        most = [7 - share for share in active_shares(7, threads)]
        assert sum(shares) == 7 * copies
        free = {
            share / int(num_threads)
            for share, num_threads, top in zip(shares, threads, most, strict=True)
            if share < top
        }
        assert len(free) <= 1
        assert all(share <= top for share, top in zip(shares, most, strict=True))


def test_unknown_racks_leave_only_movement_to_minimize() -> None:
    state = state_after_event(7)
    unknown = dataclasses.replace(
        state, clients=dataclasses.replace(state.clients, rack=np.full(len(state.clients), NO_RACK))
    )
    solution = Optimal(apart=Separation.CLIENTS, non_overlap_cost=1).solve(unknown)
    assert solution.status is SolutionStatus.OPTIMAL
    assert solution.cost <= int(state.tasks.stateful.sum()) * (1 + state.assignment_configs.num_standby_replicas)
    assert validate_assignment(unknown, solution.assignment) == []


def test_no_clients_or_no_tasks_give_an_empty_assignment() -> None:
    without_clients = ApplicationState.of([TaskInfo(TaskId(0, 0), True), TaskInfo(TaskId(1, 0), False)], [])
    assert Optimal().solve(without_clients).target.active.tolist() == [UNASSIGNED, UNASSIGNED]
    assert Optimal().assign(without_clients).assignment == ()
    state = state_after_event(1)
    idle = ApplicationState.of([], state.kafka_streams_states.values(), state.assignment_configs)
    assert Optimal().solve(idle).cost == 0


def test_stateful_task_without_lags_is_rejected_as_in_kafka() -> None:
    client = KafkaStreamsState(ProcessId.of(uuid.UUID(int=1)))
    state = ApplicationState.of([TaskInfo(TaskId(0, 0), True)], [client])
    with pytest.raises(IllegalStateError, match="Tried to lookup lag for unknown task 0_0"):
        Optimal().assign(state)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"slack": -1}, "slack must be 0 or more, not -1"),
        ({"downtime_cost": -2}, "downtime_cost must be 0 or more, not -2"),
        ({"priority": "speed"}, "priority must be one of weighted, traffic_first, moves_first, not 'speed'"),
        ({"apart": "far"}, "apart must be one of places, tags, clients, not 'far'"),
        ({"time_limit_s": 0}, "time_limit_s must be more than 0, not 0"),
    ],
)
def test_invalid_parameter_is_rejected_by_name(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(UnknownAssignorError, match=message):
        registry.make(registry.find("optimal"), parameters)


def test_parameters_are_accepted_as_text() -> None:
    state = state_after_event(5)
    for text, value in (("traffic_first", Priority.TRAFFIC_FIRST), ("moves_first", Priority.MOVES_FIRST)):
        made = registry.make(registry.find("optimal"), {"priority": text, "apart": "clients"})
        assert made.assign(state) == Optimal(priority=value, apart=Separation.CLIENTS).assign(state)


def two_tasks(lags: list[tuple[int, int]], held: tuple[TaskId, ...] = ()) -> ApplicationState:
    """Return two tasks and three clients in one rack: two with the given lags, one without copies."""
    ids = (TaskId(0, 0), TaskId(0, 1))
    clients = [
        KafkaStreamsState(
            ProcessId.of(uuid.UUID(int=number + 1)),
            rack_id="rack-a",
            previous_standby_tasks=held if number == 1 else (),
            task_lags=dict(zip(ids, lags_of, strict=True)),
        )
        for number, lags_of in enumerate([*lags, (90_000, 90_000)])
    ]
    configs = AssignmentConfigs(rack_aware_non_overlap_cost=1)
    return ApplicationState.of([TaskInfo(task, True) for task in ids], clients, configs)


@pytest.mark.parametrize(
    ("lags", "owners"), [([(0, 90_000), (90_000, 0)], [0, 1]), ([(90_000, 0), (0, 90_000)], [1, 0])]
)
def test_ties_go_to_caught_up_clients(lags: list[tuple[int, int]], owners: list[int]) -> None:
    solution = Optimal().solve(two_tasks(lags))
    assert solution.target.active.tolist() == owners
    assert solution.assignment.followup_rebalance_delay_ms is None


@pytest.mark.parametrize("task", [0, 1])
def test_ties_go_to_clients_that_are_warming_up(task: int) -> None:
    ids = (TaskId(0, 0), TaskId(0, 1))
    solution = Optimal().solve(two_tasks([(0, 0), (50_000, 50_000)], (ids[task],)))
    assert solution.target.active.tolist() == [int(task == 0), int(task == 1)]
    assert solution.assignment.followup_rebalance_delay_ms is not None
