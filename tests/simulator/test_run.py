"""Whole runs of a small world: how a classic group gets its assignments, and its members their tasks."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from assignors.model.configs import AssignmentConfigs
from simulator.flows.task_states import TaskState
from simulator.group.rebalance_causes import START
from simulator.results.convergence import Verdict, convergence
from simulator.world.disturbances import ConfigChange, Crash, Join, Leave, RollingBounce
from simulator.world.layout import lay_out
from simulator.world.world import Start
from tests.simulator.small_world_runs import GIGABYTES, SECOND, at, down_s, in_memory, members, rack_aware, ran_on, run
from tests.simulator.world_builders import HOUR, MINUTE, with_clients, with_group, with_late, world


def test_a_group_starts_after_the_initial_delay_which_is_longer_while_members_come() -> None:
    assert at(run(world(1))) == [3 * SECOND]
    assert at(run(world())) == [6 * SECOND]
    late = with_late(world(1), "late", "later")
    assert at(run(late, Join(2 * SECOND, ("late",)), Join(5 * SECOND, ("later",)))) == [9 * SECOND]


def test_a_warm_start_is_stable_at_once() -> None:
    trace = run(world())
    assert trace.rounds[0].restoring == 0
    assert trace.final_totals.restored_bytes == 0
    assert not trace.downtime_ms.any()
    verdict = convergence(trace)
    assert (verdict.verdict, verdict.round, verdict.time_to_converge_ms) == (Verdict.STABLE, 1, 0)
    [start] = verdict.events
    assert (start.event, start.rebalances, start.time_to_converge_ms) == (START, 1, 6 * SECOND)


def test_a_cold_start_restores_everything_first() -> None:
    trace = run(dataclasses.replace(world(), start=Start.COLD))
    assert trace.rounds[0].restoring == 6
    assert trace.final_totals.restored_bytes == pytest.approx(GIGABYTES)
    stateful = trace.layout.tasks.stateful
    assert set(trace.downtime_ms[~stateful].tolist()) == {0}
    assert set(trace.downtime_ms[stateful].tolist()) == {60 * SECOND, 120 * SECOND}, "one or two a client, at 10 MB/s"


def test_a_crash_is_noticed_a_session_timeout_after_the_last_heartbeat() -> None:
    trace = run(world(), Crash(HOUR + 1_000, ("c1",)))
    second = trace.rounds[1]
    assert second.requested_at_ms == HOUR + 45 * SECOND, "hearts beat every three seconds, last at the hour"
    assert second.at_ms == HOUR + 48 * SECOND, "the others learn of it with their next heartbeat"
    assert members(trace)[1] == [0, 2, 3]
    assert trace.task_states.describe(int(ran_on(trace, 1)[0]))[:2] == ["6 s: running on c1", "3601 s: unassigned"]


def test_a_bounce_shorter_than_the_session_timeout_waits_for_the_old_member_to_be_missed() -> None:
    trace = run(world(), RollingBounce(HOUR, ("c0", "c1"), down_ms=20 * SECOND, pause_ms=MINUTE))
    asked, after = HOUR + 20 * SECOND, HOUR + 45 * SECOND
    assert (trace.rounds[1].requested_at_ms, trace.rounds[1].at_ms) == (asked, after)
    assert len(trace.rounds) == 3, "one rebalance a client"
    assert members(trace)[-1] == [0, 1, 2, 3]
    assert set(trace.downtime_ms[ran_on(trace, 0)].tolist()) == {45 * SECOND}
    assert trace.final_totals.restored_bytes == 0, "its disk is there"


def test_a_bounce_of_clients_that_say_that_they_leave_waits_for_nobody() -> None:
    trace = run(with_group(world(), leave_group_on_close=True), RollingBounce(HOUR, ("c1",), 60 * SECOND, 0))
    assert [each.requested_at_ms for each in trace.rounds[1:3]] == [HOUR, HOUR + 3 * SECOND]
    assert members(trace)[1] == [0, 2, 3]


def test_a_bounce_of_static_members_costs_no_rebalance() -> None:
    base = with_clients(world(), is_static=True)
    trace = run(base, RollingBounce(HOUR, ("c0", "c1"), down_ms=20 * SECOND, pause_ms=MINUTE))
    assert at(trace) == [6 * SECOND]
    bounced = np.isin(trace.rounds[0].owner, (0, 1))
    assert set(trace.downtime_ms[bounced].tolist()) == {20 * SECOND}
    assert not trace.downtime_ms[~bounced].any()
    verdict = convergence(trace)
    assert (verdict.verdict, verdict.rebalances, verdict.time_to_converge_ms) == (Verdict.STABLE, 0, 0)


def test_a_static_member_that_is_away_too_long_is_missed_like_any_other() -> None:
    base = with_clients(world(), is_static=True)
    trace = run(base, RollingBounce(HOUR, ("c0",), down_ms=MINUTE, pause_ms=0))
    assert trace.rounds[1].requested_at_ms == HOUR + 45 * SECOND
    assert members(trace)[-1] == [0, 1, 2, 3]


def test_a_static_member_that_was_down_when_tasks_were_handed_out_gets_its_own_when_it_is_back() -> None:
    slow = with_group(rack_aware(with_clients(world(), is_static=True)), leader_speed=1e-5)
    free = run(slow)
    assert at(free) == [6 * SECOND + round(free.rounds[0].leader_compute_ms)]
    trace = run(slow, Crash(10 * SECOND, ("c1",), 20 * SECOND))
    assert at(trace) == at(free), "nobody noticed"
    own = ran_on(trace, 1)
    assert (trace.task_states.state[own] == TaskState.RUNNING).all()
    assert trace.downtime_ms[own].min() == 30 * SECOND - at(trace)[0]


def test_a_leader_that_dies_while_it_computes_assigns_nothing() -> None:
    slow = with_group(rack_aware(world()), leader_speed=1e-5)
    trace = run(slow, Crash(10 * SECOND, ("c0",)))
    assert [each.number for each in trace.rounds] == [2], "the first assignment was never handed out"
    assert trace.rounds[0].requested_at_ms >= 51 * SECOND
    assert members(trace) == [[1, 2, 3]]


def test_a_client_that_leaves_says_so() -> None:
    trace = run(world(), Leave(HOUR, ("c1",), leaves_group=True))
    assert (trace.rounds[1].requested_at_ms, trace.rounds[1].at_ms) == (HOUR, HOUR + 3 * SECOND)
    assert trace.rounds[1].reason == "c1 left"


def test_what_happens_at_one_moment_is_one_rebalance() -> None:
    trace = run(world(), Leave(HOUR, ("c1", "c2"), leaves_group=True))
    assert members(trace)[1] == [0, 3]
    assert trace.rounds[1].reason == "c1 left, c2 left"


def test_an_assignment_is_dropped_when_somebody_joins_while_the_leader_computes() -> None:
    slow = with_group(with_late(rack_aware(world()), "late"), leader_speed=1e-5)
    trace = run(slow, Join(10 * SECOND, ("late",)))
    assert [each.number for each in trace.rounds] == [2]
    assert members(trace) == [[0, 1, 2, 3, 4]]
    assert trace.rounds[0].requested_at_ms == 10 * SECOND
    assert trace.rounds[0].restoring == 0, "it is a warm start all the same"


def test_a_leader_that_computes_for_too_long_is_put_out_and_the_run_never_comes_to_rest() -> None:
    slow = with_group(rack_aware(world()), leader_speed=1e-9)
    trace = run(slow)
    assert trace.rounds == ()
    verdict = convergence(trace)
    assert verdict.verdict is Verdict.NEVER
    assert verdict.cause is not None
    assert "removed from the group after 300 s (max.poll.interval.ms)" in verdict.cause


def test_a_leader_that_was_too_slow_once_does_not_matter_when_it_is_fast_in_the_end() -> None:
    slow = with_group(rack_aware(world()), leader_speed=1e-7)
    verdict = convergence(run(slow, ConfigChange(HOUR, AssignmentConfigs())))
    assert verdict.verdict is Verdict.STABLE


def test_a_task_that_moves_is_given_back_in_one_round_and_given_in_the_next() -> None:
    trace = run(world(), Leave(HOUR, ("c1",), leaves_group=True))
    second, third = trace.rounds[1:3]
    assert len(second.withheld)
    assert second.reconciled_at_ms is None
    assert third.reason == "follow-up rebalance: revoked tasks can be assigned"
    assert len(third.withheld) == 0
    assert third.reconciled_at_ms == third.at_ms
    steps = [(steps.at_ms, steps.state) for steps in trace.task_states.transitions if second.withheld[0] in steps.tasks]
    assert steps[:4] == [
        (6 * SECOND, TaskState.ASSIGNED),
        (6 * SECOND, TaskState.RUNNING),
        (second.at_ms, TaskState.REVOKED),
        (third.at_ms, TaskState.ASSIGNED),
    ]


def test_who_gave_back_and_who_waits_join_at_once_and_others_with_their_next_heartbeat() -> None:
    trace = run(with_late(world(), "late"), Join(HOUR, ("late",)))
    [*_, last_but_one, last] = trace.rounds
    concerned = {*trace.rounds[-3].owner[last_but_one.withheld], *last_but_one.owner[last_but_one.withheld]}
    assert concerned < set(last.members.tolist()), "not all of them"
    assert (last.requested_at_ms, last.at_ms) == (last_but_one.at_ms, last_but_one.at_ms + 3 * SECOND)
    assert (down_s(trace))[int(last_but_one.withheld[0])] >= 3


def test_scaling_out_moves_state_only_when_the_new_client_has_caught_up() -> None:
    trace = run(with_late(world(), "late"), Join(HOUR, ("late",)))
    stateful = trace.layout.tasks.stateful
    second = trace.rounds[1]
    assert (second.owner[stateful] != 4).all(), "nothing with state runs on a client that has none yet"
    assert second.standbys(5)[:, 4].any(), "but it warms up"
    assert (trace.rounds[-1].owner[stateful] == 4).any(), "and gets its share in the end"
    asked = [each.requested_at_ms for each in trace.rounds if each.reason == "follow-up"]
    settled = [each.reconciled_at_ms for each in trace.rounds if each.followup_delay_ms and each.reconciled_at_ms]
    assert asked == [at_ms + 10 * MINUTE for at_ms in settled], "it probes as long as something warms up"
    assert convergence(trace).verdict is Verdict.STABLE
    assert not trace.downtime_ms[stateful & (trace.rounds[0].owner == trace.rounds[-1].owner)].any()


def test_a_follow_up_whose_leader_is_down_waits_for_it() -> None:
    base = with_group(with_late(with_clients(world(), is_static=True), "late"), session_timeout_ms=HOUR)
    trace = run(base, Join(HOUR, ("late",)), Crash(HOUR + 9 * MINUTE, ("c0",), 5 * MINUTE))
    followups = [each.requested_at_ms for each in trace.rounds if each.reason == "follow-up"]
    assert followups[0] == HOUR + 14 * MINUTE
    assert convergence(trace).verdict is Verdict.STABLE


def test_a_task_in_memory_that_goes_to_another_thread_is_restored_again() -> None:
    base = with_group(with_clients(world(2), threads=3), state_cleanup_delay_ms=24 * HOUR)
    comes_and_goes = Join(HOUR, ("late",)), Leave(4 * HOUR, ("late",))
    kept = run(with_late(base, "late"), *comes_and_goes)
    trace = run(with_late(in_memory(base), "late"), *comes_and_goes)
    assert sum(each.thread_moves for each in trace.rounds) >= 1
    assert trace.final_totals.restored_again_bytes > 0
    assert kept.final_totals.restored_again_bytes == 0, "what is on disk stays there"


def test_a_client_is_there_at_once_only_if_every_thread_gives_back_or_waits() -> None:
    base = with_late(world(2), "late")
    few = dataclasses.replace(base, clients=tuple(dataclasses.replace(one, threads=1) for one in base.clients))
    many = dataclasses.replace(base, clients=tuple(dataclasses.replace(one, threads=12) for one in base.clients))
    gaps = []
    for one in (few, many):
        handed_over = [each for each in run(one, Join(HOUR, ("late",))).rounds if each.at_ms >= HOUR][:2]
        assert len(handed_over[0].withheld)
        gaps.append(handed_over[1].at_ms - handed_over[0].at_ms)
    assert gaps == [0, 3 * SECOND]


def test_the_leader_lists_subtopologies_as_a_hash_map_does() -> None:
    layout = lay_out(world())
    listed = [layout.tasks.ids[row].subtopology for row in layout.task_insertion_order.tolist()]
    assert listed == [1] * 6 + [0] * 12, "31·31 + 31·0 falls behind 31·31 + 31·1 in a table of 16"
