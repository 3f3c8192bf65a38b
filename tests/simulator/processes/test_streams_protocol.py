"""Whole runs of a small world whose group has the streams protocol."""

from __future__ import annotations

import numpy as np

from assignors.model.assignment import TaskAssignment
from assignors.model.state import ApplicationState
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from simulator.flows.task_states import TaskState
from simulator.results.convergence import Verdict, convergence
from simulator.world.disturbances import Crash, Join, Leave, RollingBounce
from tests.simulator.small_world_runs import SECOND, at, members, of_streams, ran_on, run
from tests.simulator.world_builders import HOUR, MINUTE, with_clients, with_group, with_late, world


def test_in_a_streams_group_nobody_probes_and_only_tasks_that_move_are_interrupted() -> None:
    base = of_streams(with_late(world(), "late"))
    trace = run(base, Join(HOUR + 1_000, ("late",)), assignor=StreamsGroupSticky())
    assert at(trace) == [3 * SECOND, HOUR + 1_000]
    assert all(each.followup_delay_ms is None for each in trace.rounds)
    moved = trace.rounds[0].owner != trace.rounds[1].owner
    assert moved.any()
    assert (trace.downtime_ms > 0).tolist() == moved.tolist()
    stateful = trace.layout.tasks.stateful
    assert (trace.downtime_ms[moved & ~stateful] <= 10 * SECOND).all(), "two heartbeats at most"
    assert convergence(trace).verdict is Verdict.STABLE


def test_in_a_streams_group_a_task_is_given_back_with_one_heartbeat_and_given_with_the_next() -> None:
    base = of_streams(with_late(world(), "late"))
    trace = run(base, Join(HOUR + 1_000, ("late",)), assignor=StreamsGroupSticky())
    task = int(np.flatnonzero(trace.rounds[0].owner != trace.rounds[1].owner)[0])
    told = [(steps.at_ms, steps.state) for steps in trace.task_states.transitions if task in steps.tasks]
    assert told[2][0] == HOUR + 5 * SECOND, "old members beat every five seconds from the start"
    assert told[2][1] is TaskState.REVOKED
    assert told[3][0] == HOUR + 6 * SECOND, "and the new one from when it joined"
    assert told[3][1] is TaskState.ASSIGNED


def test_in_a_streams_group_a_bounced_client_says_so_and_its_tasks_move() -> None:
    trace = run(of_streams(world()), RollingBounce(HOUR, ("c1",), MINUTE, 0), assignor=StreamsGroupSticky())
    assert [each.reason for each in trace.rounds[1:]] == ["c1 left", "c1 joined"]
    assert at(trace)[1:] == [HOUR, HOUR + MINUTE]


def test_in_a_streams_group_a_target_is_computed_with_the_next_heartbeat_of_whomever() -> None:
    trace = run(of_streams(world()), Leave(HOUR + 1_000, ("c1",)), assignor=StreamsGroupSticky())
    assert at(trace)[1:] == [HOUR + 5 * SECOND], "the others have beaten every five seconds from the start"
    assert trace.rounds[1].requested_at_ms == HOUR + 1_000
    base = of_streams(with_late(world(), "late"))
    joined = run(base, Leave(HOUR + 1_000, ("c1",)), Join(HOUR + 2_000, ("late",)), assignor=StreamsGroupSticky())
    assert [(each.at_ms, each.reason) for each in joined.rounds[1:]] == [(HOUR + 2_000, "c1 left, late joined")]


def test_in_a_streams_group_targets_keep_their_distance() -> None:
    base = of_streams(with_late(world(), "late", "later"))
    events = Join(HOUR + 1_000, ("late",)), Join(HOUR + 1_500, ("later",))
    assert at(run(base, *events, assignor=StreamsGroupSticky()))[1:] == [HOUR + 1_000, HOUR + 5_000]
    before = with_group(base, streams_assignment_interval_ms=0)
    assert at(run(before, *events, assignor=StreamsGroupSticky()))[1:] == [HOUR + 1_000, HOUR + 1_500]


def test_in_a_streams_group_nothing_is_computed_while_nobodys_heart_beats() -> None:
    back = Join(HOUR + 48 * SECOND, ("late",))
    events = Crash(HOUR + 1_000, ("c0",)), Crash(HOUR + 6_000, ("c1",)), back
    trace = run(of_streams(with_late(world(2), "late")), *events, assignor=StreamsGroupSticky())
    assert [(each.requested_at_ms, each.at_ms, each.reason) for each in trace.rounds[1:]] == [
        (HOUR + 45 * SECOND, HOUR + 48 * SECOND, "c0: session timed out, late joined"),
        (HOUR + 50 * SECOND, HOUR + 53 * SECOND, "c1: session timed out"),
    ]


def test_in_a_streams_group_a_client_that_is_back_before_anybodys_heartbeat_is_a_stranger() -> None:
    shown: list[ApplicationState] = []

    class Watched:
        def assign(self, state: ApplicationState) -> TaskAssignment:
            shown.append(state)
            return StreamsGroupSticky().assign(state)

    bounce = RollingBounce(HOUR + 1_000, ("c1",), 2 * SECOND, 0)
    trace = run(of_streams(world()), bounce, assignor=Watched())
    assert [(each.at_ms, each.reason) for each in trace.rounds[1:]] == [(HOUR + 3_000, "c1 left, c1 joined")]
    row = shown[-1].row_of_client[trace.world.clients[1].process_id]
    had = [bool(tasks) for tasks in shown[-1].previous_active]
    assert had == [each != row for each in range(len(had))]


def test_in_a_streams_group_nobody_is_static() -> None:
    bounce = RollingBounce(HOUR, ("c1",), 20 * SECOND, 0)
    dynamic, static = (
        run(of_streams(with_clients(world(), is_static=static)), bounce, assignor=StreamsGroupSticky())
        for static in (False, True)
    )
    assert at(static) == at(dynamic) == [3 * SECOND, HOUR, HOUR + 20 * SECOND]
    assert static.downtime_ms.tolist() == dynamic.downtime_ms.tolist()


def test_in_a_streams_group_a_crash_is_noticed_a_session_timeout_after_the_last_heartbeat() -> None:
    trace = run(of_streams(world()), Crash(HOUR + 1_000, ("c1",)), assignor=StreamsGroupSticky())
    assert at(trace)[1] == HOUR + 45 * SECOND


def test_in_a_streams_group_a_client_that_died_before_the_first_target_runs_nothing() -> None:
    trace = run(of_streams(world()), Crash(1_000, ("c1",)), assignor=StreamsGroupSticky())
    assert at(trace)[0] == 3 * SECOND
    assert members(trace)[0] == [0, 1, 2, 3], "nobody has missed it yet"
    assert members(trace)[1] == [0, 2, 3]
    assert (
        trace.task_states.describe(int(ran_on(trace, 1)[0]))[0].endswith("restoring on c0") or trace.downtime_ms.any()
    )


def test_in_a_streams_group_a_client_may_come_and_go_before_the_first_target() -> None:
    trace = run(of_streams(world(1)), Leave(1_000, ("c0",)), Join(2_000, ("c0",)), assignor=StreamsGroupSticky())
    assert at(trace) == [3 * SECOND]
    assert convergence(trace).verdict is Verdict.STABLE
