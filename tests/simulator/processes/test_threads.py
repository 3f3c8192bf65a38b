"""Each stream thread is a member: it joins, falls silent and gets its tasks by itself."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors import registry
from assignors.model.assignment import UNASSIGNED
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from simulator.processes.run_options import RunOptions
from simulator.processes.simulation import simulate
from simulator.results.trace import Trace
from simulator.world.changes import Disk
from simulator.world.disturbances import Crash, Join, Leave, RollingBounce
from simulator.world.group_configs import GroupProtocol
from simulator.world.world import Start, World
from tests.simulator.invariants import InvariantChecker
from tests.simulator.random_worlds import disturbed_worlds
from tests.simulator.small_world_runs import SECOND, run, with_streams_protocol
from tests.simulator.world_builders import HOUR, MINUTE, with_clients, with_group, with_late_clients, world

HEARTBEAT_MS = 3 * SECOND


def crash_times(base: World, seed: int) -> list[int]:
    """Return when the rebalances after a crash at the hour took effect."""
    trace = run(dataclasses.replace(base, seed=seed), Crash(HOUR, ("c1",), disk=Disk.KEPT))
    return [round_.at_ms - HOUR for round_ in trace.rounds if round_.at_ms >= HOUR]


def test_crash_is_noticed_at_any_time_within_the_heartbeats_of_both_sides() -> None:
    first = [crash_times(with_clients(world(2), threads=1), seed)[0] for seed in range(20)]
    assert 42 * SECOND <= min(first) <= max(first) <= 48 * SECOND + 60
    assert max(first) - min(first) > 2 * SECOND, "the seed draws the phases"
    assert crash_times(world(2), 7) == crash_times(world(2), 7)


def test_threads_of_a_crashed_client_time_out_within_a_heartbeat_of_each_other() -> None:
    for seed in range(5):
        base = dataclasses.replace(with_clients(world(3), threads=4), seed=seed)
        trace = run(base, Crash(HOUR, ("c1",), disk=Disk.KEPT))
        [first, *_] = [round_ for round_ in trace.rounds if round_.at_ms >= HOUR]
        assert first.reason == "c1: session timed out"
        assert HOUR + 42 * SECOND <= first.requested_at_ms <= HOUR + 45 * SECOND
        assert first.at_ms - first.requested_at_ms <= HEARTBEAT_MS * 1.01
        assert 1 not in first.members, "the rebalance waits until the sessions of all its threads have ended"


def test_threads_of_a_streams_group_join_one_after_the_other() -> None:
    base = with_streams_protocol(with_clients(with_late_clients(world(3), "late"), threads=3))
    trace = run(base, Join(HOUR, ("late",)), assignor=StreamsGroupSticky())
    joins = [round_ for round_ in trace.rounds if round_.at_ms >= HOUR]
    assert [round_.reason for round_ in joins] == ["late joined", "late joined"]
    assert joins[0].at_ms == HOUR
    assert SECOND <= joins[1].at_ms - HOUR <= 3 * SECOND, "the assignment interval, then the next heartbeat"
    without_interval = with_group(base, streams_assignment_interval_ms=0)
    trace = run(without_interval, Join(HOUR, ("late",)), assignor=StreamsGroupSticky())
    assert [round_.at_ms - HOUR for round_ in trace.rounds if round_.at_ms >= HOUR] == [0, 10, 20]


def test_members_of_a_streams_group_keep_their_tasks() -> None:
    base = with_streams_protocol(with_clients(with_late_clients(world(3), "late"), threads=3))
    trace = run(base, Join(HOUR, ("late",)), Leave(2 * HOUR, ("late",)), assignor=StreamsGroupSticky())
    for before, after in pairwise(trace.rounds):
        stays = (before.owner == after.owner) & np.isin(before.owner, (0, 1, 2))
        assert (before.owner_thread == after.owner_thread)[stays].all(), "a task changes its member only to move away"
        assert after.thread_moves == 0


def test_dead_members_of_a_streams_group_keep_their_target_until_their_sessions_end() -> None:
    base = with_streams_protocol(with_clients(world(3), threads=2))
    trace = run(base, Crash(HOUR, ("c1",), 10 * SECOND, disk=Disk.KEPT), assignor=StreamsGroupSticky())
    rounds = [round_ for round_ in trace.rounds if round_.at_ms >= HOUR]
    assert rounds[0].at_ms == HOUR + 10 * SECOND
    assert rounds[0].reason == "c1 joined"
    dead = rounds[0].owner_thread[(rounds[0].owner == 1)] >= 2
    assert dead.any(), "the coordinator still counts on the members that crashed"
    ended = [round_.at_ms for round_ in rounds if "session timed out" in round_.reason]
    assert HOUR + 40 * SECOND <= min(ended) <= max(ended) <= HOUR + 52 * SECOND
    assert (rounds[-1].owner_thread < 2).all()
    assert trace.downtime_ms.max() >= 30 * SECOND


def owners_of_processes(trace: Trace) -> list[list[int]]:
    return [round_.owner.tolist() for round_ in trace.rounds]


@settings(max_examples=25)
@given(disturbed_worlds(), st.integers(0, 3))
def test_no_task_ever_runs_on_two_threads_or_on_one_that_ended(base: World, seed: int) -> None:
    name = "streams_group_sticky" if base.application.group_configs.protocol is GroupProtocol.STREAMS else None
    assignor = registry.make(registry.find(name or "high_availability"))
    disturbed = dataclasses.replace(base, seed=seed)
    trace = simulate(disturbed, assignor, options=RunOptions(observe=InvariantChecker(disturbed)))
    for round_ in trace.rounds:
        has_owner = round_.owner != UNASSIGNED
        assert np.isin(round_.owner[has_owner], round_.members).all()


@pytest.mark.parametrize("name", ["high_availability", "legacy_sticky", "sticky_task_assignor"])
@pytest.mark.parametrize("start", [Start.WARM, Start.COLD])
def test_heartbeats_do_not_change_who_gets_what(name: str, start: Start) -> None:
    assignor = registry.make(registry.find(name))
    base = dataclasses.replace(with_clients(with_late_clients(world(4), "late"), threads=1), start=start)
    events = Join(HOUR, ("late",)), RollingBounce(3 * HOUR, ("c0", "c1"), 2 * MINUTE, 10 * MINUTE)
    finals = []
    for seed in range(3):
        trace = run(dataclasses.replace(base, seed=seed), *events, assignor=assignor)
        finals.append((trace.rounds[-1].owner.tolist(), trace.rounds[-1].standby.tolist()))
    assert finals[0] == finals[1] == finals[2]
