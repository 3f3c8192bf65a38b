"""The cheapest assignment is reached with minimum restoration."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from assignors import registry
from assignors.model.assignment import AssignmentColumns, TaskAssignor
from assignors.model.columns import BoolArray
from assignors.model.configs import AssignmentConfigs, RackAwareStrategy
from assignors.model.ids import ProcessId, TaskId, TopicPartition
from assignors.model.lags import best_available, caught_up, records_to_restore
from assignors.model.state import LATEST_OFFSET, ApplicationState, KafkaStreamsState, TaskInfo, TaskTopicPartition
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.incremental import Incremental, cheapest_target
from tests.contract.random_applications import RandomApplication

AT_MOST = 60
"""Rounds."""


def states_after_events(number: int, at_most: int = 1_000, **changed: object) -> list[ApplicationState]:
    """Return states of running groups with up to a number of stateful tasks, after a client joined or left."""
    states = []
    for seed in range(number):
        application = RandomApplication.from_seed(seed)
        application.configs = replace(application.configs, **changed)  # type: ignore[arg-type]
        if sum(task.is_stateful for task in application.tasks) > at_most:
            continue
        for _ in range(3):
            application.apply(registry.make(registry.find("legacy_sticky")).assign(application.state()))
            application.apply_random_event()
        states.append(application.state())
    return states


def is_balanced(state: ApplicationState, owner: tuple[int, ...]) -> bool:
    threads = state.clients.threads
    counts, shares = np.bincount(owner, minlength=len(threads)), len(owner) * threads
    total = int(threads.sum())
    return bool(((counts >= shares // total) & (counts <= -(-shares // total))).all())


def test_target_is_the_cheapest_balanced_assignment_with_fewest_restored_records() -> None:
    tried, ties_decided_by_records = 0, 0
    for state in states_after_events(500, 6, rack_aware_traffic_cost=10, rack_aware_non_overlap_cost=1):
        rows = np.flatnonzero(state.tasks.stateful)
        if not len(rows) or len(state.clients) > 3:
            continue
        tried += 1
        cost = 10 * state.remote_partitions(state.tasks.source)[rows] + ~best_available(state)[rows]
        records, places = records_to_restore(state)[rows], np.arange(len(rows))

        def worth(
            owner: tuple[int, ...], cost: np.ndarray = cost, records: np.ndarray = records, places: np.ndarray = places
        ) -> tuple[int, int]:
            return int(cost[places, list(owner)].sum()), int(records[places, list(owner)].sum())

        choices = itertools.product(range(len(state.clients)), repeat=len(rows))
        possible = sorted({worth(owner) for owner in choices if is_balanced(state, owner)})
        target = tuple(cheapest_target(state, 1).owners()[rows].tolist())
        assert is_balanced(state, target)
        assert worth(target) == possible[0]
        ties_decided_by_records += len(possible) > 1 and possible[1][0] == possible[0][0]
    assert tried > 15
    assert ties_decided_by_records >= 3


@pytest.mark.parametrize("replicas", [0, 1, 2])
def test_plan_restores_only_missing_copies_of_its_target(replicas: int) -> None:
    restored, in_vain = 0, 0
    for state in states_after_events(30, num_standby_replicas=replicas):
        if not caught_up(state).any(axis=1).all():
            continue
        lacking = assigned(cheapest_target(state, 1).columns(None)) & ~caught_up(state)
        plan = Incremental().plan(state)
        copies = [copy for planned in plan for copy in planned.warm_ups]
        assert len(copies) == len(set(copies))
        if replicas == 0:
            assert sum(planned.records for planned in plan) == records_to_restore(state)[lacking].sum()
        restored += len(copies)
        in_vain += len(set(copies) - converged_columns(state))
    assert restored > 50
    assert in_vain * 200 <= (restored if replicas else 0)


def test_lagging_client_never_runs_a_task_that_another_client_is_caught_up_on() -> None:
    waited = 0
    for seed in range(20):
        application = RandomApplication.from_seed(seed)
        for _ in range(12):
            application.apply_random_event()
            state = application.state()
            assignment = Incremental().assign(state)
            active, ready = AssignmentColumns.of(state, assignment).active, caught_up(state)
            assert (ready[np.arange(len(active)), active] | ~ready.any(axis=1)).all()
            waited += assignment.followup_rebalance_delay_ms is not None
            application.apply(assignment)
    assert waited > 10


def test_warm_ups_per_rebalance_are_limited() -> None:
    full = 0
    for state in states_after_events(80, num_standby_replicas=0, max_warmup_replicas=2):
        for planned in Incremental().plan(state):
            if caught_up(state).any(axis=1).all():
                assert len(planned.warm_ups) <= 2
                full += len(planned.warm_ups) == 2
    assert full > 10


def assigned(columns: AssignmentColumns) -> BoolArray:
    holds = columns.standby.copy()
    holds[np.arange(len(columns.active)), columns.active] = True
    return holds


def restored(state: ApplicationState, columns: AssignmentColumns) -> ApplicationState:
    """Return the state after all assigned copies have caught up."""
    ids, holds = state.tasks.ids, assigned(columns) & state.tasks.stateful[:, None]
    return replace(
        state,
        lags=np.where(holds, np.where(columns.standby, 0, LATEST_OFFSET), state.lags),
        previous_active=[tuple(ids[t] for t in np.flatnonzero(columns.active == c)) for c in range(len(state.clients))],
        previous_standby=[tuple(ids[t] for t in np.flatnonzero(held)) for held in columns.standby.T],
    )


def rounds(state: ApplicationState, assignor: TaskAssignor) -> Iterator[tuple[ApplicationState, AssignmentColumns]]:
    """Yield rebalances until none is requested; assigned copies are caught up a round later; nothing else changes."""
    for _ in range(AT_MOST):
        columns = AssignmentColumns.of(state, assignor.assign(state))
        yield state, columns
        if columns.followup_rebalance_delay_ms is None:
            return
        state = restored(state, columns)
    raise AssertionError("it does not reach rest")


@pytest.mark.parametrize("replicas", [1, 2])
def test_lags_of_caught_up_copies_move_nothing_in_a_converged_group(replicas: int) -> None:
    """A standby that runs reports older offsets than a copy that was closed after it."""
    random = np.random.default_rng(7)
    closed = 0
    for state in states_after_events(60, num_standby_replicas=replicas):
        *_, (last, columns) = rounds(state, Incremental())
        converged = restored(last, columns)
        lags, acceptable = converged.lags, converged.assignment_configs.acceptable_recovery_lag
        is_reported = (lags >= 0) & (lags <= acceptable)
        closed += int((is_reported & ~assigned(columns)).sum())
        for _ in range(3):
            drawn = np.where(is_reported, random.integers(0, acceptable, lags.shape, endpoint=True), lags)
            later = replace(converged, lags=drawn)
            again = AssignmentColumns.of(later, Incremental().assign(later))
            assert again.followup_rebalance_delay_ms is None
            assert (again.active == columns.active).all()
            assert (again.standby == columns.standby).all()
    assert closed > 30


def converged_columns(state: ApplicationState) -> set[tuple[TaskId, ProcessId]]:
    *_, (_, columns) = rounds(state, Incremental())
    return {(state.tasks.ids[t], state.clients.ids[c]) for t, c in np.argwhere(assigned(columns)).tolist()}


def records_restored(state: ApplicationState, assignor: TaskAssignor) -> int:
    done = rounds(state, assignor)
    return sum(int(records_to_restore(now)[assigned(columns) & ~caught_up(now)].sum()) for now, columns in done)


def test_high_availability_restores_more_for_the_same_changes() -> None:
    incremental, high_availability = 0, 0
    for state in states_after_events(
        60, num_standby_replicas=0, rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC
    ):
        incremental += records_restored(state, Incremental())
        high_availability += records_restored(state, HighAvailability())
    assert 0 < incremental < high_availability / 2


def moving(lags: dict[int, int], *, begun: int | None = None) -> ApplicationState:
    """Return four tasks on a client far from all their partitions; n + 1 partitions of task n are near another client.

    The other client lacks the records of `lags`, may warm up one task at a time, and has begun with one.
    """
    ids = [TaskId(0, number) for number in range(4)]
    tasks = [
        TaskInfo(
            task,
            True,
            tuple(
                TaskTopicPartition(TopicPartition(f"in{number}", task.partition), True, False, ("east",))
                for number in range(n + 1)
            ),
        )
        for n, task in enumerate(ids)
    ]
    near = [
        KafkaStreamsState(
            ProcessId(0, 1), 1, "west", previous_active_tasks=tuple(ids), task_lags=dict.fromkeys(ids, LATEST_OFFSET)
        )
    ]
    far = KafkaStreamsState(
        ProcessId(0, 2),
        3,
        "east",
        previous_standby_tasks=() if begun is None else (ids[begun],),
        task_lags={task: lags[task.partition] for task in ids},
    )
    return ApplicationState.of(tasks, [*near, far], AssignmentConfigs(acceptable_recovery_lag=0, max_warmup_replicas=1))


def order(state: ApplicationState) -> list[int]:
    return [task.partition for planned in Incremental().plan(state) for task, _ in planned.warm_ups]


def test_moves_that_save_most_per_record_warm_up_first() -> None:
    assert order(moving(dict.fromkeys(range(4), 1_000))) == [3, 2, 1]
    assert order(moving({0: 1_000, 1: 100, 2: 1_000, 3: 1_000})) == [1, 3, 2]


def test_started_warm_up_is_finished_first() -> None:
    assert order(moving(dict.fromkeys(range(4), 1_000), begun=1)) == [1, 3, 2]


def test_plan_lists_moves_and_cross_rack_partitions_per_rebalance() -> None:
    plan = Incremental().plan(moving(dict.fromkeys(range(4), 1_000)))
    assert [[move.task.partition for move in planned.moves] for planned in plan] == [[], [3], [2], [1]]
    assert [planned.remote_partitions for planned in plan] == [10, 6, 3, 1]
    assert [planned.records for planned in plan] == [1_000, 1_000, 1_000, 0]


def test_closest_client_runs_a_task_if_no_client_is_caught_up() -> None:
    state = moving({0: 5, 1: 5, 2: 5, 3: 5})
    lags = state.lags.copy()
    lags[:, 0] = 9
    assert set(AssignmentColumns.of(state, Incremental().assign(replace(state, lags=lags))).active.tolist()) == {1}


def test_standby_is_in_another_rack_than_its_active_task_by_default() -> None:
    near = {0: 0, 1: 0}
    for state in states_after_events(20, num_standby_replicas=1, rack_aware_assignment_tags=()):
        racks = state.clients.rack
        for reliable in near:
            *_, (_, columns) = rounds(state, Incremental(reliable_standbys=reliable))
            same = racks[columns.active][:, None] == racks
            near[reliable] += int((columns.standby & same).sum()) if len(set(racks.tolist())) > 1 else 0
    assert near[1] == 0
    assert near[0] > 30


def test_invalid_number_of_standbys_is_rejected() -> None:
    with pytest.raises(ValueError, match="reliable_standbys must be a whole number, 0 or more, not -1"):
        Incremental(reliable_standbys=-1)
