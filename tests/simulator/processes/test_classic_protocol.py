"""Runs of a small world with a group of the classic protocol."""

from __future__ import annotations

import dataclasses
import gc

import numpy as np
import pytest

from assignors.model.configs import AssignmentConfigs
from assignors.tasks.high_availability import HighAvailability
from simulator.assignment.leader import Decision
from simulator.flows.task_states import TaskState
from simulator.group.rebalance_causes import START
from simulator.processes.rejoining import THREAD_START_MS
from simulator.processes.run_options import RunOptions
from simulator.processes.simulation import simulate
from simulator.results.convergence import Verdict, convergence
from simulator.world.changes import Disk
from simulator.world.disturbances import ConfigChange, Crash, Join, Leave, RollingBounce
from simulator.world.layout import lay_out
from simulator.world.pod_events import Closing
from simulator.world.world import Start, World
from tests.simulator.small_world_runs import (
    SECOND,
    TOTAL_STATE_BYTES,
    downtime_s,
    members,
    round_times,
    run,
    tasks_on,
    with_in_memory_store,
    with_rack_awareness,
)
from tests.simulator.world_builders import HOUR, MINUTE, with_clients, with_group, with_late_clients, world

pytestmark = pytest.mark.usefixtures("equal_phases")


def count_decisions(base: World, max_rebalances: int) -> list[int]:
    """Return how many more decisions exist at each rebalance of a run than before it."""
    before, kept = [0], []

    def count(_: int = 0) -> None:
        kept.append(sum(type(item) is Decision for item in gc.get_objects()) - before[0])

    count()
    before = kept[:]
    simulate(base, HighAvailability(), options=RunOptions(max_rebalances=max_rebalances, on_rebalance=count))
    assert len(kept) > max_rebalances
    return kept[1:]


def test_initial_delay_is_extended_while_members_join() -> None:
    single = with_clients(world(1), threads=1)
    assert round_times(run(single)) == [3 * SECOND]
    assert round_times(run(world(1))) == [6 * SECOND], "the second thread is a new member, too"
    assert round_times(run(world())) == [6 * SECOND]
    late = with_late_clients(single, "late", "later")
    assert round_times(run(late, Join(2 * SECOND, ("late",)), Join(5 * SECOND, ("later",)))) == [9 * SECOND]


def test_warm_start_is_stable_immediately() -> None:
    trace = run(world())
    assert trace.rounds[0].restoring == 0
    assert trace.final_totals.restored_bytes == 0
    assert not trace.downtime_ms.any()
    verdict = convergence(trace)
    assert (verdict.verdict, verdict.round, verdict.time_to_converge_ms) == (Verdict.STABLE, 1, 0)
    [start] = verdict.events
    assert (start.event, start.rebalances, start.time_to_converge_ms) == (START, 1, 6 * SECOND)


def test_cold_start_restores_all_state() -> None:
    trace = run(dataclasses.replace(world(), start=Start.COLD))
    assert trace.rounds[0].restoring == 6
    assert trace.final_totals.restored_bytes == pytest.approx(TOTAL_STATE_BYTES)
    stateful = trace.layout.tasks.stateful
    assert set(trace.downtime_ms[~stateful].tolist()) == {0}
    assert set(trace.downtime_ms[stateful].tolist()) == {60 * SECOND, 120 * SECOND}, (
        "one or two tasks on each client, at 10 MB/s"
    )


def test_crash_is_detected_session_timeout_after_last_heartbeat() -> None:
    trace = run(world(), Crash(HOUR + 1_000, ("c1",), disk=Disk.KEPT))
    second = trace.rounds[1]
    assert second.requested_at_ms == HOUR + 45 * SECOND, (
        "heartbeats are sent every three seconds, the last one at the hour"
    )
    assert second.at_ms == HOUR + 45 * SECOND, "the other members rejoin with their heartbeats of that moment"
    assert members(trace)[1] == [0, 2, 3]
    assert trace.task_states.describe(int(tasks_on(trace, 1)[0]))[:2] == ["6 s: running on c1", "3601 s: unassigned"]


def test_short_bounce_waits_for_session_timeout_of_the_old_member() -> None:
    trace = run(world(), RollingBounce(HOUR, ("c0", "c1"), down_ms=20 * SECOND, pause_ms=MINUTE))
    requested_at_ms, at_ms = HOUR + 20 * SECOND, HOUR + 45 * SECOND
    assert (trace.rounds[1].requested_at_ms, trace.rounds[1].at_ms) == (requested_at_ms, at_ms)
    assert len(trace.rounds) == 3, "one rebalance for each bounced client"
    assert members(trace)[-1] == [0, 1, 2, 3]
    assert set(trace.downtime_ms[tasks_on(trace, 0)].tolist()) == {45 * SECOND}
    assert trace.final_totals.restored_bytes == 0, "its disk survives"


def test_bounce_with_leave_group_needs_no_session_timeout() -> None:
    trace = run(with_group(world(), leave_group_on_close=True), RollingBounce(HOUR, ("c1",), 60 * SECOND, 0))
    assert [round_.requested_at_ms for round_ in trace.rounds[1:3]] == [HOUR, HOUR + 3 * SECOND]
    assert members(trace)[1] == [0, 2, 3]


def test_bounce_of_static_members_needs_no_rebalance() -> None:
    base = with_clients(world(), is_static=True)
    trace = run(base, RollingBounce(HOUR, ("c0", "c1"), down_ms=20 * SECOND, pause_ms=MINUTE))
    assert round_times(trace) == [6 * SECOND]
    bounced = np.isin(trace.rounds[0].owner, (0, 1))
    assert set(trace.downtime_ms[bounced].tolist()) == {20 * SECOND, 20 * SECOND + THREAD_START_MS}
    assert not trace.downtime_ms[~bounced].any()
    verdict = convergence(trace)
    assert (verdict.verdict, verdict.rebalances, verdict.time_to_converge_ms) == (Verdict.STABLE, 0, 0)


def test_static_member_times_out_after_a_long_absence() -> None:
    base = with_clients(world(), is_static=True)
    trace = run(base, RollingBounce(HOUR, ("c0",), down_ms=MINUTE, pause_ms=0))
    assert trace.rounds[1].requested_at_ms == HOUR + 45 * SECOND
    assert members(trace)[-1] == [0, 1, 2, 3]


def test_static_member_gets_its_tasks_if_it_was_down_during_the_assignment() -> None:
    slow = with_group(with_rack_awareness(with_clients(world(), is_static=True)), leader_speed=1e-5)
    undisturbed = run(slow)
    assert round_times(undisturbed) == [6 * SECOND + round(undisturbed.rounds[0].leader_compute_ms)]
    trace = run(slow, Crash(10 * SECOND, ("c1",), 20 * SECOND, disk=Disk.KEPT))
    assert round_times(trace) == round_times(undisturbed), "the crash causes no rebalance"
    own_tasks = tasks_on(trace, 1)
    assert (trace.task_states.state[own_tasks] == TaskState.RUNNING).all()
    assert trace.downtime_ms[own_tasks].min() == 30 * SECOND - round_times(trace)[0]


def test_assignment_is_lost_if_the_leader_crashes_while_computing() -> None:
    slow = with_group(with_rack_awareness(world()), leader_speed=1e-5)
    trace = run(slow, Crash(10 * SECOND, ("c0",), disk=Disk.KEPT))
    assert [round_.number for round_ in trace.rounds] == [2], "the first assignment was never sent"
    assert trace.rounds[0].requested_at_ms >= 51 * SECOND
    assert members(trace) == [[1, 2, 3]]


def test_leaving_client_causes_immediate_rebalance() -> None:
    trace = run(world(), Leave(HOUR, ("c1",), closing=Closing(leaves_group=True)))
    assert (trace.rounds[1].requested_at_ms, trace.rounds[1].at_ms) == (HOUR, HOUR + 3 * SECOND)
    assert trace.rounds[1].reason == "c1 left"


def test_simultaneous_leaves_cause_one_rebalance() -> None:
    trace = run(world(), Leave(HOUR, ("c1", "c2"), closing=Closing(leaves_group=True)))
    assert members(trace)[1] == [0, 3]
    assert trace.rounds[1].reason == "c1 left, c2 left"


def test_assignment_is_discarded_if_a_member_joins_while_the_leader_computes() -> None:
    slow = with_group(with_late_clients(with_rack_awareness(world()), "late"), leader_speed=1e-5)
    trace = run(slow, Join(10 * SECOND, ("late",)))
    assert [round_.number for round_ in trace.rounds] == [2]
    assert members(trace) == [[0, 1, 2, 3, 4]]
    assert trace.rounds[0].requested_at_ms == 10 * SECOND
    assert trace.rounds[0].restoring == 0, "the start is still warm"


def test_leader_requests_another_rebalance_for_a_change_while_it_computes() -> None:
    slow = with_group(with_rack_awareness(world()), leader_speed=1e-5)
    computes_ms = round(run(slow).rounds[0].leader_compute_ms)
    trace = run(slow, ConfigChange(6 * SECOND + computes_ms // 2, AssignmentConfigs()))
    first, second = trace.rounds[:2]
    assert first.at_ms == second.requested_at_ms == 6 * SECOND + computes_ms
    assert second.reason == "configs changed"
    assert {cause.event for cause in first.causes} == {START}
    assert [cause.at_ms for cause in second.causes] == [6 * SECOND + computes_ms // 2]


def test_never_converges_if_the_leader_exceeds_max_poll_interval() -> None:
    slow = with_group(with_rack_awareness(world()), leader_speed=1e-9)
    trace = run(slow)
    assert trace.rounds == ()
    verdict = convergence(trace)
    assert verdict.verdict is Verdict.NEVER
    assert verdict.cause is not None
    assert "removed from the group after 300 s (max.poll.interval.ms)" in verdict.cause


def test_decisions_that_are_never_sent_are_not_kept() -> None:
    """A leader that never finishes computes again and again; each decision has arrays of tasks x clients."""
    kept = count_decisions(with_group(with_rack_awareness(world()), leader_speed=1e-9), 8)
    assert max(kept) <= 1


def test_superseded_decisions_are_not_kept() -> None:
    """A rolling restart supersedes each decision of a leader that computes for longer than a client takes."""
    slow = with_group(with_rack_awareness(world()), leader_speed=1e-6)
    computes_ms = run(slow).rounds[0].leader_compute_ms
    assert MINUTE < computes_ms < 2 * MINUTE
    bounces = [RollingBounce(number * 3 * MINUTE, ("c1", "c2", "c3"), 20 * SECOND, 40 * SECOND) for number in range(9)]
    kept = count_decisions(dataclasses.replace(slow, disturbances=tuple(bounces)), 20)
    assert max(kept) <= 3


def test_leader_that_exceeded_max_poll_interval_once_is_no_cause_of_never() -> None:
    slow = with_group(with_rack_awareness(world()), leader_speed=1e-7)
    verdict = convergence(run(slow, ConfigChange(HOUR, AssignmentConfigs())))
    assert verdict.verdict is Verdict.STABLE


def test_moved_task_is_revoked_in_one_round_and_assigned_in_the_next() -> None:
    trace = run(world(), Leave(HOUR, ("c1",), closing=Closing(leaves_group=True)))
    second, third = trace.rounds[1:3]
    assert len(second.withheld)
    assert second.reconciled_at_ms is None
    assert third.reason == "follow-up rebalance: revoked tasks can be assigned"
    assert len(third.withheld) == 0
    assert third.reconciled_at_ms == third.at_ms
    steps = [(step.at_ms, step.state) for step in trace.task_states.transitions if second.withheld[0] in step.tasks]
    assert steps[:4] == [
        (6 * SECOND, TaskState.ASSIGNED),
        (6 * SECOND, TaskState.RUNNING),
        (second.at_ms, TaskState.REVOKED),
        (third.at_ms, TaskState.ASSIGNED),
    ]


def test_old_and_new_owners_rejoin_immediately_and_others_with_their_next_heartbeat() -> None:
    trace = run(with_late_clients(world(), "late"), Join(HOUR, ("late",)))
    [*_, previous, last] = trace.rounds
    owners = {*trace.rounds[-3].owner[previous.withheld], *previous.owner[previous.withheld]}
    assert owners < set(last.members.tolist()), "some members own no moved task"
    assert (last.requested_at_ms, last.at_ms) == (previous.at_ms, previous.at_ms + 3 * SECOND)
    assert downtime_s(trace)[int(previous.withheld[0])] >= 3


def test_scaling_out_moves_state_only_when_the_new_client_has_caught_up() -> None:
    trace = run(with_late_clients(world(), "late"), Join(HOUR, ("late",)))
    stateful = trace.layout.tasks.stateful
    second = trace.rounds[1]
    assert (second.owner[stateful] != 4).all(), "no stateful task runs on the new client without state"
    assert second.standbys(5)[:, 4].any(), "copies warm up on the new client"
    assert (trace.rounds[-1].owner[stateful] == 4).any(), "the new client runs stateful tasks in the end"
    requested = [round_.requested_at_ms for round_ in trace.rounds if round_.reason == "follow-up"]
    reconciled = [
        round_.reconciled_at_ms for round_ in trace.rounds if round_.followup_delay_ms and round_.reconciled_at_ms
    ]
    assert requested == [at_ms + 10 * MINUTE for at_ms in reconciled], (
        "probing rebalances continue while copies warm up"
    )
    assert convergence(trace).verdict is Verdict.STABLE
    assert not trace.downtime_ms[stateful & (trace.rounds[0].owner == trace.rounds[-1].owner)].any()


def test_followup_waits_for_the_leader_to_return() -> None:
    base = with_group(with_late_clients(with_clients(world(), is_static=True), "late"), session_timeout_ms=HOUR)
    trace = run(base, Join(HOUR, ("late",)), Crash(HOUR + 9 * MINUTE, ("c0",), 5 * MINUTE, disk=Disk.KEPT))
    followups = [round_.requested_at_ms for round_ in trace.rounds if round_.reason == "follow-up, c0 is back"]
    assert followups == [HOUR + 14 * MINUTE], "its first thread leads, and its second one starts later"
    assert convergence(trace).verdict is Verdict.STABLE


def test_in_memory_state_is_restored_again_on_another_thread() -> None:
    base = with_group(with_clients(world(2), threads=3), state_cleanup_delay_ms=24 * HOUR)
    join_and_leave = Join(HOUR, ("late",)), Leave(4 * HOUR, ("late",))
    persistent = run(with_late_clients(base, "late"), *join_and_leave)
    trace = run(with_late_clients(with_in_memory_store(base), "late"), *join_and_leave)
    assert sum(round_.thread_moves for round_ in trace.rounds) >= 1
    assert trace.final_totals.restored_again_bytes > 0
    assert persistent.final_totals.restored_again_bytes == 0, "persistent state stays on disk"


def test_client_rejoins_immediately_only_if_all_its_threads_move_tasks() -> None:
    base = with_late_clients(world(2), "late")
    few = dataclasses.replace(base, clients=tuple(dataclasses.replace(client, threads=1) for client in base.clients))
    many = dataclasses.replace(base, clients=tuple(dataclasses.replace(client, threads=12) for client in base.clients))
    gaps_ms = []
    for variant in (few, many):
        rounds = [round_ for round_ in run(variant, Join(HOUR, ("late",))).rounds if round_.at_ms >= HOUR][:2]
        assert len(rounds[0].withheld)
        gaps_ms.append(rounds[1].at_ms - rounds[0].at_ms)
    assert gaps_ms == [0, 3 * SECOND]


def test_subtopologies_are_in_java_hash_map_order() -> None:
    layout = lay_out(world())
    listed = [layout.tasks.ids[row].subtopology for row in layout.task_insertion_order.tolist()]
    assert listed == [1] * 6 + [0] * 12, "in a table of 16 buckets, 31·31 + 31·0 comes after 31·31 + 31·1"
