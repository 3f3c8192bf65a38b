"""Properties of the simulator on random worlds with random disturbances, and of its group state machines."""

from __future__ import annotations

import dataclasses
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.model.assignment import TaskAssignor
from simulator.processes.simulation import simulate
from simulator.results.convergence import convergence
from simulator.results.tabulation import tabulate
from simulator.timeline import timeline
from simulator.world.changes import Disk
from simulator.world.disturbances import Crash, Leave, TrafficChange
from simulator.world.group_configs import GroupProtocol
from simulator.world.world import World
from tests.simulator.group.test_classic_coordinator import Requests
from tests.simulator.random_worlds import DURATION_MS, assignors, disturbed_worlds
from tests.simulator.run_checks import check_run
from tests.simulator.world_builders import HOUR, with_group

pytestmark = pytest.mark.answers

EXAMPLES = int(os.environ.get("CONTRACT_WORLDS", "50")) * 3 // 10
"""Number of random worlds, and of random histories of a group."""


@settings(max_examples=EXAMPLES)
@given(disturbed_worlds(), assignors())
def test_random_runs_keep_the_invariants(world: World, assignor: TaskAssignor) -> None:
    check_run(world, assignor)


@settings(max_examples=EXAMPLES)
@given(disturbed_worlds(), assignors(), st.lists(st.integers(0, DURATION_MS - 1), min_size=1, max_size=4))
def test_traffic_changes_without_effect_do_not_change_convergence(
    base: World, assignor: TaskAssignor, moments: list[int]
) -> None:
    without_traffic = tuple(event for event in base.disturbances if not isinstance(event, TrafficChange))
    expected = convergence(simulate(dataclasses.replace(base, disturbances=without_traffic), assignor))
    with_traffic = (*(TrafficChange(at_ms, 1.0) for at_ms in moments), *without_traffic)
    actual = convergence(simulate(dataclasses.replace(base, disturbances=with_traffic), assignor))
    assert actual.verdict is expected.verdict
    assert len(actual.events) == len(expected.events)
    for expected_event, actual_event in zip(expected.events, actual.events, strict=True):
        # Floats are summed in other steps, so the time at which a copy has caught up may be rounded differently.
        assert actual_event.observed_ms == pytest.approx(expected_event.observed_ms, abs=2)
        assert dataclasses.replace(actual_event, observed_ms=0, time_to_converge_ms=None) == dataclasses.replace(
            expected_event, observed_ms=0, time_to_converge_ms=None
        )
        assert (actual_event.time_to_converge_ms is None) == (expected_event.time_to_converge_ms is None)


LABELS = ("event", "slowest_event")
"""Columns that describe events."""


@settings(max_examples=EXAMPLES)
@given(disturbed_worlds(), assignors(), st.data())
def test_close_without_leave_group_equals_a_crash(base: World, assignor: TaskAssignor, data: st.DataObject) -> None:
    base = with_group(base, protocol=GroupProtocol.CLASSIC, leave_group_on_close=False)
    changes = {max(timed.at_ms, 1) for timed in timeline(base)}
    near_a_change = [at_ms + offset for at_ms in sorted(changes) for offset in (0, 1)]
    at_ms = data.draw(st.one_of(st.integers(1, HOUR), st.sampled_from(near_a_change or [1])))
    names = st.lists(st.sampled_from([client.name for client in base.clients]), min_size=1, unique=True).map(tuple)
    clients = data.draw(names)
    tables = [
        tabulate(simulate(dataclasses.replace(base, disturbances=(*base.disturbances, event)), assignor), "assignor", 1)
        for event in (Leave(at_ms, clients), Crash(at_ms, clients, disk=Disk.KEPT))
    ]
    assert tables[0].keys() == tables[1].keys()
    for name in tables[0].keys() - {"events"}:
        left, crashed = (
            table[name].select([c for c in table[name].column_names if c not in LABELS]) for table in tables
        )
        assert left.equals(crashed), name


class ManyRequests(Requests):
    """The same rules with more examples."""


TestManyRequests = ManyRequests.TestCase
TestManyRequests.settings = settings(max_examples=EXAMPLES, stateful_step_count=30)
