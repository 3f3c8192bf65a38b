"""The time to converge after each event, also if events overlap."""

from __future__ import annotations

import dataclasses

import pytest

from assignors.model.configs import AssignmentConfigs
from assignors.tasks.sticky import Sticky
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from simulator.group.rebalance_causes import START
from simulator.results.convergence import EventConvergence, Verdict, convergence
from simulator.results.trace import Trace
from simulator.world.changes import Disk, Disturbance
from simulator.world.disturbances import BrokerBounce, ConfigChange, Crash, Join, Leave, RollingBounce, TrafficChange
from simulator.world.group_configs import GroupProtocol
from simulator.world.world import Start, World
from tests.simulator.small_world_runs import SECOND, run, with_client, with_streams_protocol
from tests.simulator.world_builders import (
    HOUR,
    MINUTE,
    with_clients,
    with_configs,
    with_group,
    with_late_clients,
    world,
)

pytestmark = pytest.mark.usefixtures("equal_phases")

SCALE_OUT = Join(HOUR, ("late",))


def event_convergence(trace: Trace) -> dict[int, EventConvergence]:
    """Return the convergence after each event by its number, without the start."""
    return {event.event: event for event in convergence(trace).events if event.event != START}


def headline(trace: Trace) -> tuple[Verdict, int | None, int | None]:
    result = convergence(trace)
    return result.verdict, result.rebalances, result.time_to_converge_ms


def scaled_out(*others: Disturbance, base: World | None = None) -> Trace:
    return run(with_late_clients(base or world(), "late"), SCALE_OUT, *others)


INERT = {
    "traffic every hour": [TrafficChange(hour * HOUR, 1.0 + hour % 2 / 1e6) for hour in range(12)],
    "traffic before and during convergence": [TrafficChange(at_ms, 1.0) for at_ms in (HOUR // 2, HOUR + 7 * MINUTE)],
    "a broker bounce during convergence": [BrokerBounce(HOUR + 5 * MINUTE, (0, 1), MINUTE, MINUTE)],
    "a broker bounce after convergence": [BrokerBounce(9 * HOUR, (0, 1), MINUTE, MINUTE)],
}


@pytest.mark.parametrize("others", INERT.values(), ids=INERT)
def test_events_without_rebalance_do_not_change_convergence(others: list[Disturbance]) -> None:
    alone = scaled_out()
    verdict, rebalances, time_ms = headline(alone)
    assert verdict is Verdict.STABLE
    assert (rebalances or 0) > 3
    assert (time_ms or 0) > 20 * MINUTE, "warm-ups become active at probing rebalances, every 10 minutes"
    trace = scaled_out(*others)
    assert headline(trace) == (verdict, rebalances, time_ms)
    [only] = event_convergence(trace).values()
    assert (only.at_ms, only.time_to_converge_ms, only.cut_short_by) == (HOUR, time_ms, None)


def test_convergence_after_crash_starts_at_the_crash() -> None:
    alone = run(world(), Crash(HOUR, ("c1",), disk=Disk.KEPT))
    [crash] = event_convergence(alone).values()
    assert (crash.event, crash.at_ms) == (1, HOUR)
    assert (crash.time_to_converge_ms or 0) > 45 * SECOND, "session.timeout.ms"
    inert = (TrafficChange(HOUR + 20 * SECOND, 1.0), BrokerBounce(HOUR + 10 * SECOND, (4,), 2 * SECOND, 0))
    [with_inert_events] = event_convergence(run(world(), Crash(HOUR, ("c1",), disk=Disk.KEPT), *inert)).values()
    assert with_inert_events == crash


@pytest.mark.parametrize("protocol", GroupProtocol)
def test_convergence_after_short_crash_includes_the_session_timeout(protocol: GroupProtocol) -> None:
    base = with_group(world(), protocol=protocol)
    trace = run(base, Crash(HOUR, ("c1",), 20 * SECOND, disk=Disk.KEPT), assignor=StreamsGroupSticky())
    [crash] = event_convergence(trace).values()
    assert crash.at_ms == HOUR
    assert (crash.time_to_converge_ms or 0) >= 45 * SECOND, "the session of the old member times out only then"


def test_static_member_that_returns_in_time_needs_no_convergence() -> None:
    base = with_clients(world(), is_static=True)
    trace = run(base, RollingBounce(HOUR, ("c0", "c1"), down_ms=20 * SECOND, pause_ms=MINUTE))
    assert event_convergence(trace) == {}
    assert headline(trace) == (Verdict.STABLE, 0, 0)
    late = run(base, RollingBounce(HOUR, ("c0", "c1"), down_ms=MINUTE, pause_ms=MINUTE))
    assert list(event_convergence(late)) == [1]


def test_rolling_bounce_is_one_event_with_all_rebalances_and_the_longest_time() -> None:
    traces = [run(world(), RollingBounce(HOUR, (name,), 20 * SECOND, 0)) for name in ("c0", "c1", "c2")]
    single_bounces = [event_convergence(trace)[1] for trace in traces]
    bounce = event_convergence(run(world(), RollingBounce(HOUR, ("c0", "c1", "c2"), 20 * SECOND, 30 * MINUTE)))[1]
    assert bounce.at_ms == HOUR
    assert bounce.time_to_converge_ms == max(single.time_to_converge_ms or 0 for single in single_bounces)
    assert bounce.rebalances == sum(single.rebalances for single in single_bounces)
    quick = event_convergence(run(world(), RollingBounce(HOUR, ("c0", "c1", "c2"), 20 * SECOND, 10 * SECOND)))[1]
    assert (quick.time_to_converge_ms or 0) > 60 * SECOND, "the group does not converge in between"
    assert (bounce.cut_short_by, quick.cut_short_by) == (None, None)


def test_event_that_is_cut_short_converges_with_the_later_event() -> None:
    undisturbed = event_convergence(scaled_out())[1]
    standbys = AssignmentConfigs(max_warmup_replicas=1, num_standby_replicas=1)
    both = scaled_out(ConfigChange(HOUR + 15 * MINUTE, standbys))
    first, second = event_convergence(both).values()
    assert (first.event, first.cut_short_by) == (1, 2)
    assert (second.event, second.cut_short_by, second.at_ms) == (2, None, HOUR + 15 * MINUTE)
    assert first.time_to_converge_ms == (second.time_to_converge_ms or 0) + 15 * MINUTE
    assert headline(both)[2] == first.time_to_converge_ms, "the first event takes longest"
    assert first.rebalances > second.rebalances
    assert (first.time_to_converge_ms or 0) > (undisturbed.time_to_converge_ms or 0)


def test_separate_events_are_measured_separately_and_the_longest_time_counts() -> None:
    trace = scaled_out(ConfigChange(8 * HOUR, AssignmentConfigs(num_standby_replicas=1)))
    first, second = event_convergence(trace).values()
    assert first.time_to_converge_ms == event_convergence(scaled_out())[1].time_to_converge_ms
    assert (first.cut_short_by, second.at_ms) == (None, 8 * HOUR)
    times = [first.time_to_converge_ms or 0, second.time_to_converge_ms or 0]
    assert min(times) > 0
    assert times[0] != times[1]
    assert headline(trace)[1:] == (max(first.rebalances, second.rebalances), max(times))
    assert convergence(trace).slowest_event == 1 + times.index(max(times))


def test_convergence_includes_restoration_after_the_last_rebalance() -> None:
    trace = run(world(), Crash(HOUR, ("c1",), disk=Disk.KEPT), assignor=Sticky())
    reconciled_at_ms = max(round_.reconciled_at_ms or 0 for round_ in trace.rounds)
    running_at_ms = max(transition.at_ms for transition in trace.task_states.transitions)
    assert running_at_ms > reconciled_at_ms + 50 * SECOND, "600 MB at 10 MB/s"
    assert event_convergence(trace)[1].time_to_converge_ms == running_at_ms - HOUR


def test_convergence_includes_new_standbys_that_catch_up() -> None:
    configs = AssignmentConfigs(num_standby_replicas=1)
    trace = run(world(), ConfigChange(HOUR, configs), assignor=Sticky())
    standbys = event_convergence(trace)[1]
    assert max(round_.at_ms for round_ in trace.rounds) < HOUR + 10 * SECOND
    assert MINUTE < (standbys.time_to_converge_ms or 0) < 10 * MINUTE
    short = dataclasses.replace(world(), duration_ms=HOUR + MINUTE)
    short_trace = run(short, ConfigChange(HOUR, configs), assignor=Sticky())
    assert headline(short_trace) == (Verdict.RESTORING, None, None)
    [unfinished] = event_convergence(short_trace).values()
    assert (unfinished.time_to_converge_ms, unfinished.observed_ms, unfinished.verdict) == (
        None,
        MINUTE,
        Verdict.RESTORING,
    )


def test_standby_that_falls_behind_at_peak_traffic_does_not_delay_convergence() -> None:
    slow = with_configs(with_client(world(), 0, restore_bytes_per_s=1_000_000), num_standby_replicas=1)
    config_change = ConfigChange(6 * HOUR, slow.application.assignment_configs)
    calm = run(slow, config_change, assignor=Sticky())
    peak = run(slow, TrafficChange(2 * HOUR, 40.0), config_change, assignor=Sticky())
    assert peak.rounds[-1].warming_up > 0, "some standbys are behind"
    assert headline(peak) == headline(calm) == (Verdict.STABLE, 1, 3 * SECOND)


@pytest.mark.parametrize("end_ms", [11 * MINUTE, 25 * MINUTE])
def test_unfinished_convergence_has_only_an_observed_time(end_ms: int) -> None:
    slow = dataclasses.replace(world(), duration_ms=HOUR + end_ms)
    trace = scaled_out(base=with_configs(slow, max_warmup_replicas=1, num_standby_replicas=1))
    assert headline(trace) == (Verdict.PROBING, None, None)
    [only] = event_convergence(trace).values()
    assert (only.time_to_converge_ms, only.observed_ms, only.verdict) == (None, end_ms, Verdict.PROBING)
    assert only.rebalances >= 2


@pytest.mark.parametrize("protocol", GroupProtocol)
def test_crash_just_before_the_end_has_not_converged(protocol: GroupProtocol) -> None:
    base = dataclasses.replace(with_group(world(), protocol=protocol), duration_ms=HOUR + 30 * SECOND)
    trace = run(base, Crash(HOUR, ("c1",), disk=Disk.KEPT), assignor=StreamsGroupSticky())
    [crash] = event_convergence(trace).values()
    assert (crash.rebalances, crash.time_to_converge_ms, crash.observed_ms) == (0, None, 30 * SECOND)
    assert headline(trace) == (Verdict.REBALANCING, None, None)


def test_config_change_is_no_event_for_a_streams_group() -> None:
    leave = Leave(HOUR, ("c1",))
    trace = run(
        with_streams_protocol(world()),
        leave,
        ConfigChange(5 * HOUR, AssignmentConfigs()),
        assignor=StreamsGroupSticky(),
    )
    [only] = event_convergence(trace).values()
    assert (only.event, only.verdict) == (1, Verdict.STABLE)
    assert (only.time_to_converge_ms or 0) >= 60 * SECOND, "the new owners restore the state"


def test_start_is_measured_only_if_cold() -> None:
    cold = run(dataclasses.replace(world(), start=Start.COLD), Leave(5 * HOUR, ("c1",)))
    warm = run(world(), Leave(5 * HOUR, ("c1",)))
    start, leave = convergence(cold).events
    assert (start.event, start.at_ms, start.rebalances) == (START, 0, 1)
    assert start.time_to_converge_ms == pytest.approx(126 * SECOND, abs=2), "6 s to the first round, 120 s to restore"
    assert headline(cold)[2] == max(start.time_to_converge_ms or 0, leave.time_to_converge_ms or 0)
    assert headline(warm)[2] == leave.time_to_converge_ms == event_convergence(warm)[1].time_to_converge_ms


def test_staggered_join_is_one_event() -> None:
    base = with_late_clients(world(), "late", "later", "latest")
    staggered = event_convergence(run(base, Join(HOUR, ("late", "later", "latest"), 2 * MINUTE)))
    assert list(staggered) == [1]
    assert staggered[1].cut_short_by is None
    separate = run(base, *(Join(HOUR + 2 * i * MINUTE, (name,)) for i, name in enumerate(("late", "later", "latest"))))
    assert [event.cut_short_by for event in event_convergence(separate).values()] == [2, 3, None]
    assert event_convergence(separate)[1].time_to_converge_ms == staggered[1].time_to_converge_ms


def test_group_without_members_does_not_converge() -> None:
    trace = run(world(), Leave(HOUR, ("c0", "c1", "c2", "c3")))
    assert event_convergence(trace) == {}
    restarted = run(world(), Crash(HOUR, ("c0", "c1", "c2", "c3"), 15 * MINUTE, disk=Disk.KEPT))
    [crash] = event_convergence(restarted).values()
    assert crash.at_ms == HOUR
    assert (crash.time_to_converge_ms or 0) > 15 * MINUTE


def test_leave_during_restoration_cuts_the_earlier_event_short() -> None:
    trace = run(world(), Leave(HOUR, ("c1",)), Leave(HOUR + 30 * SECOND, ("c2",)), assignor=Sticky())
    first, second = event_convergence(trace).values()
    assert first.cut_short_by == second.event == 2
    assert first.time_to_converge_ms == (second.time_to_converge_ms or 0) + 30 * SECOND
