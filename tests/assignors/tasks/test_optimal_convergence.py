"""How an application lives with the cheapest assignment: it warms up, comes to rest, and copes with odd input."""

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
from assignors.optimum.costs import Priority
from assignors.optimum.warmup import needs_warmup
from assignors.tasks.optimal import Optimal, Separation, SolutionStatus
from tests.assignors.tasks.exhaustive import grown
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
def test_with_any_parameters_the_group_comes_to_rest(assignor: Optimal) -> None:
    for seed in range(12):
        life = RandomApplication.from_seed(seed)
        for _ in range(2):
            life.apply_random_event()
            assert rebalance_until_stable(life, assignor, 60) is not None, (seed, life.history)


def test_at_rest_the_answer_is_the_target_and_asked_again_nothing_moves() -> None:
    for seed in range(15):
        life = RandomApplication.from_seed(seed)
        life.apply_random_event()
        rebalance_until_stable(life, Optimal(), 60)
        state = life.state()
        answer = Optimal().solve(state)
        assert answer.assignment.followup_rebalance_delay_ms is None, seed
        ran = [set(client.previous_active_tasks) for client in state.kafka_streams_states.values()]
        target = [{state.tasks.ids[row] for row in np.flatnonzero(answer.target.active == c)} for c in range(len(ran))]
        assert target == ran, seed


def test_tasks_stay_with_who_is_caught_up_while_no_more_than_the_allowed_warm_up() -> None:
    waited = 0
    for seed in range(40):
        state = grown(seed)
        answer = Optimal().solve(state)
        now = AssignmentColumns.of(state, answer.assignment)
        behind = needs_warmup(state)
        rows = np.flatnonzero(state.tasks.stateful)
        assert not behind[np.arange(len(rows)), now.active[rows]].any(), seed
        target_waits = behind[np.arange(len(rows)), answer.target.active[rows]].any()
        assert not target_waits or answer.assignment.followup_rebalance_delay_ms is not None, seed
        copies = min(state.assignment_configs.num_standby_replicas, len(state.clients) - 1)
        added = int((now.standby.sum(axis=1)[rows] - copies).clip(min=0).sum())
        assert added <= state.assignment_configs.max_warmup_replicas, seed
        waited += bool(target_waits)
    assert waited > 5


def test_standbys_of_a_client_with_most_threads_go_elsewhere_and_to_the_others_by_their_threads() -> None:
    shares = standby_shares(12, 1, np.array([6, 1, 2]))
    assert shares == [4, Fraction(8, 3), Fraction(16, 3)]
    for seed in range(50):
        chance = np.random.default_rng(seed)
        threads = chance.integers(1, 9, size=int(chance.integers(2, 7)))
        copies = int(chance.integers(1, len(threads)))
        shares = standby_shares(7, copies, threads)
        most = [7 - share for share in active_shares(7, threads)]
        assert sum(shares) == 7 * copies
        free = {share / int(each) for share, each, top in zip(shares, threads, most, strict=True) if share < top}
        assert len(free) <= 1
        assert all(share <= top for share, top in zip(shares, most, strict=True))


def test_where_racks_are_not_known_only_movement_counts() -> None:
    state = grown(7)
    unknown = dataclasses.replace(
        state, clients=dataclasses.replace(state.clients, rack=np.full(len(state.clients), NO_RACK))
    )
    answer = Optimal(apart=Separation.CLIENTS, non_overlap_cost=1).solve(unknown)
    assert answer.status is SolutionStatus.OPTIMAL
    assert answer.cost <= int(state.tasks.stateful.sum()) * (1 + state.assignment_configs.num_standby_replicas)
    assert validate_assignment(unknown, answer.assignment) == []


def test_without_clients_or_tasks_there_is_nothing_to_do() -> None:
    nobody = ApplicationState.of([TaskInfo(TaskId(0, 0), True), TaskInfo(TaskId(1, 0), False)], [])
    assert Optimal().solve(nobody).target.active.tolist() == [UNASSIGNED, UNASSIGNED]
    assert Optimal().assign(nobody).assignment == ()
    state = grown(1)
    idle = ApplicationState.of([], state.kafka_streams_states.values(), state.assignment_configs)
    assert Optimal().solve(idle).cost == 0


def test_a_stateful_task_without_lags_is_refused_as_by_kafka() -> None:
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
def test_a_parameter_that_makes_no_sense_is_named(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(UnknownAssignorError, match=message):
        registry.make(registry.find("optimal"), parameters)


def test_parameters_may_be_given_as_text_as_scenarios_do() -> None:
    state = grown(5)
    for text, value in (("traffic_first", Priority.TRAFFIC_FIRST), ("moves_first", Priority.MOVES_FIRST)):
        made = registry.make(registry.find("optimal"), {"priority": text, "apart": "clients"})
        assert made.assign(state) == Optimal(priority=value, apart=Separation.CLIENTS).assign(state)


def two_tasks(lags: list[tuple[int, int]], held: tuple[TaskId, ...] = ()) -> ApplicationState:
    """Two tasks and three clients in one rack; the first two lag so far behind, the third by everything."""
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
def test_of_answers_that_cost_the_same_that_is_taken_for_which_nobody_waits(
    lags: list[tuple[int, int]], owners: list[int]
) -> None:
    answer = Optimal().solve(two_tasks(lags))
    assert answer.target.active.tolist() == owners
    assert answer.assignment.followup_rebalance_delay_ms is None


@pytest.mark.parametrize("task", [0, 1])
def test_of_answers_for_which_somebody_waits_that_is_taken_which_warms_up_already(task: int) -> None:
    ids = (TaskId(0, 0), TaskId(0, 1))
    answer = Optimal().solve(two_tasks([(0, 0), (50_000, 50_000)], (ids[task],)))
    assert answer.target.active.tolist() == [int(task == 0), int(task == 1)]
    assert answer.assignment.followup_rebalance_delay_ms is not None
