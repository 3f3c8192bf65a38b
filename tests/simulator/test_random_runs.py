"""Runs of random worlds keep the invariants, and their traces and tables are consistent."""

from __future__ import annotations

import dataclasses

from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.model.assignment import TaskAssignor
from simulator.world.world import ClientTimes, World
from tests.counts import few_or
from tests.simulator.random_worlds import assignors, disturbed_worlds, restarted_static_members
from tests.simulator.run_checks import check_run


@settings(max_examples=few_or(200, 25))
@given(disturbed_worlds(), assignors())
def test_random_runs_keep_the_invariants(world: World, assignor: TaskAssignor) -> None:
    check_run(world, assignor)


@settings(max_examples=few_or(200, 25))
@given(
    disturbed_worlds(),
    assignors(),
    st.builds(
        ClientTimes,
        start_ms=st.sampled_from((0, 700, 20_000)),
        open_store_ms=st.sampled_from((0, 60, 3_000)),
        restore_start_ms=st.sampled_from((0, 200, 9_000)),
        rejoin_ms=st.sampled_from((0, 60, 4_000)),
    ),
)
def test_random_runs_with_client_times_keep_the_invariants(
    world: World, assignor: TaskAssignor, times: ClientTimes
) -> None:
    application = dataclasses.replace(world.application, times=times)
    check_run(dataclasses.replace(world, application=application), assignor)


@settings(max_examples=few_or(200, 25))
@given(restarted_static_members(), assignors())
def test_random_runs_of_restarted_static_members_keep_the_invariants(world: World, assignor: TaskAssignor) -> None:
    check_run(world, assignor)
