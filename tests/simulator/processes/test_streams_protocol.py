"""Runs of a small world with a group of the streams protocol (KIP-1071)."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from assignors.model.assignment import TaskAssignment
from assignors.model.state import ApplicationState
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from scenarios.load import loads
from scenarios.run import run as run_scenario
from simulator.flows.task_states import TaskState
from simulator.group.heartbeats import Heartbeats
from simulator.results.convergence import Verdict, convergence
from simulator.world.changes import Disk
from simulator.world.disturbances import Crash, Join, Leave, RollingBounce
from simulator.world.pod_events import Closing
from simulator.world.world import ClientTimes, World
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


def test_session_of_a_warm_start_counts_from_a_heartbeat_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Heartbeats, "draw", lambda *_: 0.9)
    base = with_streams_protocol(world(), initial_rebalance_delay_ms=0)
    trace = run(base, Crash(1, ("c0",), disk=Disk.KEPT), assignor=StreamsGroupSticky())
    assert [(round_.requested_at_ms, round_.reason) for round_ in trace.rounds[1:]] == [
        (45 * SECOND - 4_500, "c0: session timed out")
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

    bounce = RollingBounce(HOUR + 1_000, ("c1",), 2 * SECOND, 0)
    trace = run(with_streams_protocol(world()), bounce, assignor=RecordingAssignor(states))
    assert [(round_.at_ms, round_.reason) for round_ in trace.rounds[1:]] == [(HOUR + 3_000, "c1 left, c1 joined")]
    row = states[-1].row_of_client[trace.world.clients[1].process_id]
    has_previous_tasks = [bool(tasks) for tasks in states[-1].previous_active]
    assert has_previous_tasks == [other_row != row for other_row in range(len(has_previous_tasks))]


def static_world(**configs: object) -> World:
    return with_streams_protocol(with_clients(world(), is_static=True), **configs)


def test_static_member_that_returns_within_its_session_causes_no_target() -> None:
    bounce = RollingBounce(HOUR, ("c1",), 20 * SECOND, 0)
    trace = run(static_world(), bounce, assignor=StreamsGroupSticky())
    assert round_times(trace) == [3 * SECOND]
    down = trace.downtime_ms > 0
    assert down.tolist() == (trace.rounds[0].owner == 1).tolist(), "its own tasks, and no other"
    assert (trace.downtime_ms[down] >= 20 * SECOND).all()
    states = [trace.task_states.describe(int(task))[-1] for task in np.flatnonzero(down)]
    assert all("on c1" in state for state in states)


def test_static_member_that_closes_is_removed_after_its_session() -> None:
    trace = run(static_world(), Leave(HOUR + 1_000, ("c1",)), assignor=StreamsGroupSticky())
    assert [(round_.at_ms, round_.reason) for round_ in trace.rounds[1:]] == [
        (HOUR + 45 * SECOND, "c1: session timed out")
    ], "45 s after its last heartbeat, with the next heartbeat of another member"


def test_static_member_that_leaves_the_group_is_removed_at_once() -> None:
    leave = Leave(HOUR + 1_000, ("c1",), closing=Closing(leaves_group=True))
    dynamic, static = (
        run(base, leave, assignor=StreamsGroupSticky()) for base in (with_streams_protocol(world()), static_world())
    )
    assert [(round_.at_ms, round_.reason) for round_ in static.rounds] == [
        (round_.at_ms, round_.reason) for round_ in dynamic.rounds
    ]


def test_static_member_with_another_process_id_causes_a_target() -> None:
    """A process without its disk draws a new process id, which the coordinator compares."""
    bounce = RollingBounce(HOUR, ("c1",), 20 * SECOND, 0, disk=Disk.LOST)
    trace = run(static_world(), bounce, assignor=StreamsGroupSticky())
    assert [(round_.at_ms, round_.reason) for round_ in trace.rounds[1:]] == [
        (HOUR + 20 * SECOND, "c1 is back as another process")
    ]


def test_static_member_with_another_process_id_has_the_tasks_of_its_predecessor() -> None:
    """As a real coordinator of Kafka 4.4 passes them to the assignor: a lost disk does not move standbys."""
    states: list[ApplicationState] = []
    bounce = RollingBounce(HOUR, ("c1",), 20 * SECOND, 0, disk=Disk.LOST)
    base = static_world()
    run(base, bounce, assignor=RecordingAssignor(states))
    _, moved = states
    [returned] = set(moved.clients.ids) - {client.process_id for client in base.clients}
    row = moved.row_of_client[returned]
    others = {task for other, tasks in enumerate(moved.previous_active) for task in tasks if other != row}
    assert set(moved.previous_active[row]) == set(moved.tasks.ids) - others != set()


def test_killed_static_member_is_refused_until_its_session_has_timed_out() -> None:
    crash = Crash(HOUR + 1_000, ("c1",), 10 * SECOND, disk=Disk.KEPT)
    trace = run(static_world(), crash, assignor=StreamsGroupSticky())
    assert [(round_.at_ms, round_.reason) for round_ in trace.rounds[1:]] == [
        (HOUR + 45 * SECOND, "c1: session timed out, c1 joined")
    ]
    assert convergence(trace).verdict is Verdict.STABLE


def test_tasks_of_an_absent_static_member_are_not_given_to_others() -> None:
    """Another member joins during the absence; the coordinator withholds the tasks that it gets from the absent one."""
    base = with_streams_protocol(with_clients(with_late_clients(world(), "late"), is_static=True))
    close, join = Leave(HOUR + 1_000, ("c1",)), Join(HOUR + 2_000, ("late",))
    trace = run(base, close, join, assignor=StreamsGroupSticky())
    joined = trace.rounds[1]
    assert joined.at_ms == HOUR + 2_000
    withheld = (trace.rounds[0].owner == 1) & (joined.owner == base.clients.index(base.clients[-1]))
    assert withheld.any()
    for task in np.flatnonzero(withheld):
        starts = [
            transition.at_ms
            for transition in trace.task_states.transitions
            if task in transition.tasks and transition.state is TaskState.ASSIGNED and transition.at_ms > HOUR
        ]
        assert starts
        assert min(starts) >= HOUR + 45 * SECOND


def test_previous_tasks_are_those_that_members_own_or_the_last_target() -> None:
    """While members reconcile, both differ: Kafka 4.4 passes what members own, earlier releases the target."""
    states: dict[bool, list[ApplicationState]] = {True: [], False: []}
    base = with_streams_protocol(with_late_clients(world(), "late", "later"))
    events = Join(HOUR + 1_000, ("late",)), Join(HOUR + 2_500, ("later",))
    for owned, seen in states.items():
        assignor = RecordingAssignor(seen)
        run(with_group(base, broker_release=(4, 4) if owned else (4, 3)), *events, assignor=assignor)
    owned_states, target_states = states[True], states[False]
    late = {state: state.row_of_client[base.clients[-2].process_id] for state in (owned_states[2], target_states[2])}
    assert not owned_states[2].previous_active[late[owned_states[2]]], "it has received nothing yet"
    assert target_states[2].previous_active[late[target_states[2]]]


class RecordingAssignor:
    """Assigns as the coordinator, and collects the states."""

    def __init__(self, states: list[ApplicationState]) -> None:
        self._states = states

    def assign(self, state: ApplicationState) -> TaskAssignment:
        self._states.append(state)
        return StreamsGroupSticky().assign(state)


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


def test_member_that_revokes_too_slowly_is_removed_and_joins_anew() -> None:
    base = with_streams_protocol(with_late_clients(world(1), "late"), max_poll_interval_ms=6_000)
    application = replace(base.application, times=ClientTimes(rejoin_ms=9_000))
    trace = run(replace(base, application=application), Join(HOUR, ("late",)), assignor=StreamsGroupSticky())
    assert [round_.reason for round_ in trace.rounds[1:]] == ["late joined", "c0: rebalance timed out, c0 joined"]
    timed_out = trace.rounds[2]
    assert timed_out.at_ms - timed_out.requested_at_ms == 3 * SECOND, "its poll came 9 s after the heartbeat, not 6 s"
    assert convergence(trace).verdict is Verdict.STABLE


def test_group_has_not_converged_while_a_member_waits_for_its_heartbeat() -> None:
    """Members without tasks have their target at once, when the initial delay ends; the task runs a heartbeat later."""
    document = {
        "name": "idle",
        "cluster": {"brokers": {"count": 1}, "topics": [{"name": "orders", "partitions": 1}]},
        "application": {
            "id": "shop",
            "starts": "cold",
            "configs": {"group.protocol": "streams"},
            "subtopologies": [{"sources": ["orders"]}],
        },
        "clients": [{"name": "app", "count": 5}],
        "duration": "10m",
    }
    for seed in range(8):
        scenario = loads(json.dumps(document))
        trace = run_scenario(scenario, scenario.assignors[0], seed=seed)
        [running] = [t for t in trace.task_states.transitions if t.state is TaskState.RUNNING]
        assert trace.rounds[-1].reconciled_at_ms >= running.at_ms
