"""Runs of random worlds keep the invariants, and their traces and tables are consistent."""

from __future__ import annotations

from hypothesis import given, settings

from assignors.model.assignment import TaskAssignor
from simulator.world.world import World
from tests.simulator.random_worlds import assignors, disturbed_worlds
from tests.simulator.run_checks import check_run


@settings(max_examples=40)
@given(disturbed_worlds(), assignors())
def test_random_runs_keep_the_invariants(world: World, assignor: TaskAssignor) -> None:
    check_run(world, assignor)
