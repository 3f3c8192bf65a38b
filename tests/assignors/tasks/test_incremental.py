"""The cheapest assignment, reached with no more restored than it takes."""

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
from assignors.tasks.cheapest_target import cheapest_target
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.incremental import Incremental
from tests.contract.random_applications import RandomApplication

AT_MOST = 60
"""Rounds."""


def lives(number: int, at_most: int = 1_000, **changed: object) -> list[ApplicationState]:
    """States of running groups of so many stateful tasks at most, which somebody has just joined or left."""
    states = []
    for seed in range(number):
        life = RandomApplication.from_seed(seed)
        life.configs = replace(life.configs, **changed)  # type: ignore[arg-type]
        if sum(task.is_stateful for task in life.tasks) > at_most:
            continue
        for _ in range(3):
            life.apply(registry.make(registry.find("legacy_sticky")).assign(life.state()))
            life.apply_random_event()
        states.append(life.state())
    return states


def is_balanced(state: ApplicationState, owner: tuple[int, ...]) -> bool:
    threads = state.clients.threads
    counts, shares = np.bincount(owner, minlength=len(threads)), len(owner) * threads
    total = int(threads.sum())
    return bool(((counts >= shares // total) & (counts <= -(-shares // total))).all())


def test_no_balanced_assignment_is_cheaper_than_the_target_nor_as_cheap_with_fewer_records_to_restore() -> None:
    tried, told_by_records = 0, 0
    for state in lives(500, 6, rack_aware_traffic_cost=10, rack_aware_non_overlap_cost=1):
        rows = np.flatnonzero(state.tasks.stateful)
        if not len(rows) or len(state.clients) > 3:
            continue
        tried += 1
        cost = 10 * state.remote_partitions(state.tasks.source)[rows] + ~best_available(state)[rows]
        records, each = records_to_restore(state)[rows], np.arange(len(rows))

        def worth(
            owner: tuple[int, ...], cost: np.ndarray = cost, records: np.ndarray = records, each: np.ndarray = each
        ) -> tuple[int, int]:
            return int(cost[each, list(owner)].sum()), int(records[each, list(owner)].sum())

        choices = itertools.product(range(len(state.clients)), repeat=len(rows))
        possible = sorted({worth(owner) for owner in choices if is_balanced(state, owner)})
        target = tuple(cheapest_target(state, 1).owners()[rows].tolist())
        assert is_balanced(state, target)
        assert worth(target) == possible[0]
        told_by_records += len(possible) > 1 and possible[1][0] == possible[0][0]
    assert tried > 15
    assert told_by_records >= 3


@pytest.mark.parametrize("replicas", [0, 1, 2])
def test_a_plan_restores_just_what_its_target_lacks_and_hardly_a_standby_in_vain(replicas: int) -> None:
    restored, in_vain = 0, 0
    for state in lives(30, num_standby_replicas=replicas):
        if not caught_up(state).any(axis=1).all():
            continue
        lacking = assigned(cheapest_target(state, 1).columns(None)) & ~caught_up(state)
        plan = Incremental().plan(state)
        copies = [copy for planned in plan for copy in planned.warm_ups]
        assert len(copies) == len(set(copies))
        if replicas == 0:
            assert sum(planned.records for planned in plan) == records_to_restore(state)[lacking].sum()
        restored += len(copies)
        in_vain += len(set(copies) - kept_in_the_end(state))
    assert restored > 50
    assert in_vain * 200 <= (restored if replicas else 0)


def test_a_task_never_goes_to_a_client_that_is_not_caught_up_while_another_one_is() -> None:
    waited = 0
    for seed in range(20):
        life = RandomApplication.from_seed(seed)
        for _ in range(12):
            life.apply_random_event()
            state = life.state()
            answer = Incremental().assign(state)
            active, ready = AssignmentColumns.of(state, answer).active, caught_up(state)
            assert (ready[np.arange(len(active)), active] | ~ready.any(axis=1)).all()
            waited += answer.followup_rebalance_delay_ms is not None
            life.apply(answer)
    assert waited > 10


def test_a_round_warms_up_no_more_than_it_may_besides_copies_that_are_needed() -> None:
    full = 0
    for state in lives(80, num_standby_replicas=0, max_warmup_replicas=2):
        for planned in Incremental().plan(state):
            if caught_up(state).any(axis=1).all():
                assert len(planned.warm_ups) <= 2
                full += len(planned.warm_ups) == 2
    assert full > 10


def assigned(columns: AssignmentColumns) -> BoolArray:
    holds = columns.standby.copy()
    holds[np.arange(len(columns.active)), columns.active] = True
    return holds


def rounds(state: ApplicationState, assignor: TaskAssignor) -> Iterator[tuple[ApplicationState, AssignmentColumns]]:
    """Until nothing more is asked for; what is assigned is caught up a round later, and nothing else changes."""
    for _ in range(AT_MOST):
        columns = AssignmentColumns.of(state, assignor.assign(state))
        yield state, columns
        if columns.followup_rebalance_delay_ms is None:
            return
        ids, holds = state.tasks.ids, assigned(columns) & state.tasks.stateful[:, None]
        state = replace(
            state,
            lags=np.where(holds, np.where(columns.standby, 0, LATEST_OFFSET), state.lags),
            previous_active=[
                tuple(ids[t] for t in np.flatnonzero(columns.active == c)) for c in range(len(state.clients))
            ],
            previous_standby=[tuple(ids[t] for t in np.flatnonzero(held)) for held in columns.standby.T],
        )
    raise AssertionError("it does not come to rest")


def kept_in_the_end(state: ApplicationState) -> set[tuple[TaskId, ProcessId]]:
    *_, (_, columns) = rounds(state, Incremental())
    return {(state.tasks.ids[t], state.clients.ids[c]) for t, c in np.argwhere(assigned(columns)).tolist()}


def records_restored(state: ApplicationState, assignor: TaskAssignor) -> int:
    done = rounds(state, assignor)
    return sum(int(records_to_restore(now)[assigned(columns) & ~caught_up(now)].sum()) for now, columns in done)


def test_high_availability_restores_more_for_the_same_changes() -> None:
    ours, theirs = 0, 0
    for state in lives(60, num_standby_replicas=0, rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC):
        ours += records_restored(state, Incremental())
        theirs += records_restored(state, HighAvailability())
    assert 0 < ours < theirs / 2


def moving(lags: dict[int, int], *, begun: int | None = None) -> ApplicationState:
    """Four tasks run on a client far from all their partitions; of task n, n + 1 partitions are near another client.

    The other client lacks what `lags` says, and may warm up one task at a time; it has begun with one.
    """
    ids = [TaskId(0, number) for number in range(4)]
    tasks = [
        TaskInfo(
            each,
            True,
            tuple(
                TaskTopicPartition(TopicPartition(f"in{number}", each.partition), True, False, ("east",))
                for number in range(n + 1)
            ),
        )
        for n, each in enumerate(ids)
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
        task_lags={each: lags[each.partition] for each in ids},
    )
    return ApplicationState.of(tasks, [*near, far], AssignmentConfigs(acceptable_recovery_lag=0, max_warmup_replicas=1))


def order(state: ApplicationState) -> list[int]:
    return [task.partition for planned in Incremental().plan(state) for task, _ in planned.warm_ups]


def test_the_moves_that_save_most_for_each_record_get_the_warm_ups_first() -> None:
    assert order(moving(dict.fromkeys(range(4), 1_000))) == [3, 2, 1]
    assert order(moving({0: 1_000, 1: 100, 2: 1_000, 3: 1_000})) == [1, 3, 2]


def test_a_warm_up_that_was_begun_is_finished_first() -> None:
    assert order(moving(dict.fromkeys(range(4), 1_000), begun=1)) == [1, 3, 2]


def test_a_plan_tells_who_moves_when_and_what_is_read_across_racks_then() -> None:
    plan = Incremental().plan(moving(dict.fromkeys(range(4), 1_000)))
    assert [[move.task.partition for move in planned.moves] for planned in plan] == [[], [3], [2], [1]]
    assert [planned.remote_partitions for planned in plan] == [10, 6, 3, 1]
    assert [planned.records for planned in plan] == [1_000, 1_000, 1_000, 0]


def test_where_nobody_is_caught_up_the_closest_client_runs_a_task() -> None:
    state = moving({0: 5, 1: 5, 2: 5, 3: 5})
    lags = state.lags.copy()
    lags[:, 0] = 9
    assert set(AssignmentColumns.of(state, Incremental().assign(replace(state, lags=lags))).active.tolist()) == {1}


def test_a_standby_is_kept_out_of_the_rack_of_its_active_unless_that_is_not_asked_for() -> None:
    near = {0: 0, 1: 0}
    for state in lives(20, num_standby_replicas=1, rack_aware_assignment_tags=()):
        racks = state.clients.rack
        for reliable in near:
            *_, (_, columns) = rounds(state, Incremental(reliable_standbys=reliable))
            same = racks[columns.active][:, None] == racks
            near[reliable] += int((columns.standby & same).sum()) if len(set(racks.tolist())) > 1 else 0
    assert near[1] == 0
    assert near[0] > 30


def test_a_number_of_standbys_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="reliable_standbys must be a whole number, 0 or more, not -1"):
        Incremental(reliable_standbys=-1)
