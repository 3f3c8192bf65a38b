"""Runs of the same world with other client times."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assignors.model.assignment import TaskAssignor
from simulator.flows.task_states import TaskState
from simulator.results.trace import Trace
from simulator.world.world import ClientTimes, Start, World
from tests.relations.figures import check_same, figures, figures_of, run
from tests.relations.relation import relation
from tests.relations.worlds import ANY, WorldLimits, assignors, worlds

pytestmark = pytest.mark.answers

QUIET_START = WorldLimits(events=(), starts=(Start.COLD,), grows=False, is_limited=False, has_hours=False)
HUNDREDS = (0, 60, 900)
client_times = st.builds(ClientTimes, st.sampled_from((0, 20_000)), *(st.sampled_from(HUNDREDS) for _ in range(3)))


def with_times(world: World, times: ClientTimes) -> World:
    return dataclasses.replace(world, application=dataclasses.replace(world.application, times=times))


@relation(20)
@given(worlds(dataclasses.replace(ANY, has_state=False)), assignors(), st.sampled_from(HUNDREDS))
def test_times_of_stores_do_not_matter_without_stores(world: World, assignor: TaskAssignor, times_ms: int) -> None:
    """Without state, the times of opening stores and beginning to restore change no figure."""
    times = ClientTimes(open_store_ms=times_ms, restore_start_ms=times_ms)
    check_same(figures(with_times(world, times), assignor), figures(world, assignor))


@relation(20)
@given(worlds(QUIET_START), assignors(), client_times)
def test_longer_times_never_start_a_task_earlier(world: World, assignor: TaskAssignor, times: ClientTimes) -> None:
    """After a cold start without limits or events, twice the client times with equal owners start no task earlier."""
    # The second rebalance may find fewer tasks opened, and leave with a client what it moves otherwise.
    traces = [run(with_times(world, times.scaled(factor)), assignor) for factor in (1, 2)]
    assume(len({tuple(round_.owner.tobytes() for round_ in trace.rounds) for trace in traces}) == 1)
    fast, slow = map(first_starts, traces)
    assert fast.keys() == slow.keys()
    assert all(slow[task] >= fast[task] for task in fast)


@relation(10)
@given(worlds(), assignors(), client_times)
def test_runs_with_client_times_are_deterministic(world: World, assignor: TaskAssignor, times: ClientTimes) -> None:
    """Two runs with the same client times have the same figures."""
    first, second = (figures_of(run(with_times(world, times), assignor)) for _ in range(2))
    assert first == second


def first_starts(trace: Trace) -> dict[int, int]:
    """Return when each task ran for the first time."""
    starts: dict[int, int] = {}
    for transition in trace.task_states.transitions:
        if transition.state is TaskState.RUNNING:
            for task in transition.tasks.tolist():
                starts.setdefault(task, transition.at_ms)
    return starts
