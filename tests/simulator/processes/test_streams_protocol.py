"""Runs of a small world with a group of the streams protocol (KIP-1071)."""

from __future__ import annotations

import numpy as np
import pytest

from assignors.model.assignment import TaskAssignment
from assignors.model.state import ApplicationState
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from simulator.flows.task_states import TaskState
from simulator.results.convergence import Verdict, convergence
from simulator.world.disturbances import Crash, Disk, Join, Leave, RollingBounce
from simulator.world.world import World
from tests.simulator import small_world_runs
from tests.simulator.small_world_runs import SECOND, members, round_times, run, tasks_on
from tests.simulator.world_builders import HOUR, MINUTE, with_clients, with_group, with_late_clients, world

pytestmark = pytest.mark.usefixtures("equal_phases")


def with_streams_protocol(base: World, **configs: object) -> World:
    """Return the world with a streams group of clients with one thread, which join at once."""
    return with_clients(small_world_runs.with_streams_protocol(base, **configs), threads=1)


def test_no_probing_and_only_moved_tasks_are_interrupted() -> None:
    base = with_streams_protocol(with_late_clients(world(), "late"))
    trace = run(base, Join(HOUR + 1_000, ("late",)), assignor=StreamsGroupSticky())
    assert round_times(trace) == [3 * SECOND, HOUR + 1_000]
    assert all(round_.followup_delay_ms is None for round_ in trace.rounds)
    moved = trace.rounds[0].owner != trace.rounds[1].owner
    assert moved.any()
    assert (trace.downtime_ms > 0).tolist() == moved.tolist()
    stateful = trace.layout.tasks.stateful
    assert (trace.downtime_ms[moved & ~stateful] <= 10 * SECOND).all(), "at most two heartbeats"
    assert convergence(trace).verdict is Verdict.STABLE


def test_task_is_revoked_and_assigned_with_heartbeats_of_its_owners() -> None:
    base = with_streams_protocol(with_late_clients(world(), "late"))
    trace = run(base, Join(HOUR + 1_000, ("late",)), assignor=StreamsGroupSticky())
    task = int(np.flatnonzero(trace.rounds[0].owner != trace.rounds[1].owner)[0])
    transitions = [
        (transition.at_ms, transition.state) for transition in trace.task_states.transitions if task in transition.tasks
    ]
    assert transitions[2][0] == HOUR + 5 * SECOND, "old members send heartbeats every five seconds from the start"
    assert transitions[2][1] is TaskState.REVOKED
    assert transitions[3][0] == HOUR + 6 * SECOND, "the new member sends them from its join"
    assert transitions[3][1] is TaskState.ASSIGNED


def test_bounced_client_leaves_and_joins() -> None:
    trace = run(with_streams_protocol(world()), RollingBounce(HOUR, ("c1",), MINUTE, 0), assignor=StreamsGroupSticky())
    assert [round_.reason for round_ in trace.rounds[1:]] == ["c1 left", "c1 joined"]
    assert round_times(trace)[1:] == [HOUR, HOUR + MINUTE]


def test_target_is_computed_with_the_next_heartbeat_of_any_member() -> None:
    trace = run(with_streams_protocol(world()), Leave(HOUR + 1_000, ("c1",)), assignor=StreamsGroupSticky())
    assert round_times(trace)[1:] == [HOUR + 5 * SECOND], (
        "the other members send heartbeats every five seconds from the start"
    )
    assert trace.rounds[1].requested_at_ms == HOUR + 1_000
    base = with_streams_protocol(with_late_clients(world(), "late"))
    joined = run(base, Leave(HOUR + 1_000, ("c1",)), Join(HOUR + 2_000, ("late",)), assignor=StreamsGroupSticky())
    assert [(round_.at_ms, round_.reason) for round_ in joined.rounds[1:]] == [(HOUR + 2_000, "c1 left, late joined")]


def test_targets_respect_the_assignment_interval() -> None:
    base = with_streams_protocol(with_late_clients(world(), "late", "later"))
    events = Join(HOUR + 1_000, ("late",)), Join(HOUR + 1_500, ("later",))
    assert round_times(run(base, *events, assignor=StreamsGroupSticky()))[1:] == [HOUR + 1_000, HOUR + 5_000]
    without_interval = with_group(base, streams_assignment_interval_ms=0)
    assert round_times(run(without_interval, *events, assignor=StreamsGroupSticky()))[1:] == [
        HOUR + 1_000,
        HOUR + 1_500,
    ]


def test_no_target_is_computed_while_all_members_are_down() -> None:
    join = Join(HOUR + 48 * SECOND, ("late",))
    events = Crash(HOUR + 1_000, ("c0",), disk=Disk.KEPT), Crash(HOUR + 6_000, ("c1",), disk=Disk.KEPT), join
    trace = run(with_streams_protocol(with_late_clients(world(2), "late")), *events, assignor=StreamsGroupSticky())
    assert [(round_.requested_at_ms, round_.at_ms, round_.reason) for round_ in trace.rounds[1:]] == [
        (HOUR + 45 * SECOND, HOUR + 48 * SECOND, "c0: session timed out, late joined"),
        (HOUR + 50 * SECOND, HOUR + 53 * SECOND, "c1: session timed out"),
    ]


def test_client_that_restarts_before_the_next_target_has_no_previous_tasks() -> None:
    states: list[ApplicationState] = []

    class RecordingAssignor:
        def assign(self, state: ApplicationState) -> TaskAssignment:
            states.append(state)
            return StreamsGroupSticky().assign(state)

    bounce = RollingBounce(HOUR + 1_000, ("c1",), 2 * SECOND, 0)
    trace = run(with_streams_protocol(world()), bounce, assignor=RecordingAssignor())
    assert [(round_.at_ms, round_.reason) for round_ in trace.rounds[1:]] == [(HOUR + 3_000, "c1 left, c1 joined")]
    row = states[-1].row_of_client[trace.world.clients[1].process_id]
    has_previous_tasks = [bool(tasks) for tasks in states[-1].previous_active]
    assert has_previous_tasks == [other_row != row for other_row in range(len(has_previous_tasks))]


def test_static_membership_is_ignored() -> None:
    bounce = RollingBounce(HOUR, ("c1",), 20 * SECOND, 0)
    dynamic, static = (
        run(with_streams_protocol(with_clients(world(), is_static=static)), bounce, assignor=StreamsGroupSticky())
        for static in (False, True)
    )
    assert round_times(static) == round_times(dynamic) == [3 * SECOND, HOUR, HOUR + 20 * SECOND]
    assert static.downtime_ms.tolist() == dynamic.downtime_ms.tolist()


def test_crash_is_detected_session_timeout_after_last_heartbeat() -> None:
    trace = run(
        with_streams_protocol(world()), Crash(HOUR + 1_000, ("c1",), disk=Disk.KEPT), assignor=StreamsGroupSticky()
    )
    assert round_times(trace)[1] == HOUR + 45 * SECOND


def test_client_that_crashed_before_the_first_target_runs_nothing() -> None:
    trace = run(with_streams_protocol(world()), Crash(1_000, ("c1",), disk=Disk.KEPT), assignor=StreamsGroupSticky())
    assert round_times(trace)[0] == 3 * SECOND
    assert members(trace)[0] == [0, 1, 2, 3], "its session has not timed out"
    assert members(trace)[1] == [0, 2, 3]
    assert (
        trace.task_states.describe(int(tasks_on(trace, 1)[0]))[0].endswith("restoring on c0") or trace.downtime_ms.any()
    )


def test_client_may_leave_and_join_before_the_first_target() -> None:
    trace = run(
        with_streams_protocol(world(1)), Leave(1_000, ("c0",)), Join(2_000, ("c0",)), assignor=StreamsGroupSticky()
    )
    assert round_times(trace) == [3 * SECOND]
    assert convergence(trace).verdict is Verdict.STABLE
