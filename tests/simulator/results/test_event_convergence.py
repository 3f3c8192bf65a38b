"""How long a group takes to converge after each event, also when events overlap."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.model.assignment import TaskAssignor
from assignors.model.configs import AssignmentConfigs
from assignors.tasks.sticky import Sticky
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from simulator.group.rebalance_causes import START
from simulator.results.convergence import EventConvergence, Verdict, convergence
from simulator.results.trace import Trace
from simulator.run import simulate
from simulator.world.disturbances import (
    BrokerBounce,
    ConfigChange,
    Crash,
    Disturbance,
    Join,
    Leave,
    RollingBounce,
    TrafficChange,
)
from simulator.world.world import GroupProtocol, Start, World
from tests.conftest import PROFILE
from tests.simulator.random_worlds import DURATION_MS, assignors, disturbed_worlds
from tests.simulator.small_world_runs import SECOND, of_streams, run, with_client
from tests.simulator.world_builders import HOUR, MINUTE, with_clients, with_configs, with_group, with_late, world

EXAMPLES = {"ci": 300, "nightly": 10_000}.get(PROFILE, 60)
SCALE_OUT = Join(HOUR, ("late",))


def measured(trace: Trace) -> dict[int, EventConvergence]:
    """What was measured of each event, by its number, without the start."""
    return {each.event: each for each in convergence(trace).events if each.event != START}


def headline(trace: Trace) -> tuple[Verdict, int | None, int | None]:
    found = convergence(trace)
    return found.verdict, found.rebalances, found.time_to_converge_ms


def scaled_out(*others: Disturbance, base: World | None = None) -> Trace:
    return run(with_late(base or world(), "late"), SCALE_OUT, *others)


INERT = {
    "traffic every hour": [TrafficChange(hour * HOUR, 1.0 + hour % 2 / 1e6) for hour in range(12)],
    "traffic before, meanwhile and after": [TrafficChange(at_ms, 1.0) for at_ms in (HOUR // 2, HOUR + 7 * MINUTE)],
    "a broker bounce": [BrokerBounce(HOUR + 5 * MINUTE, (0, 1), MINUTE, MINUTE)],
    "a broker bounce afterwards": [BrokerBounce(9 * HOUR, (0, 1), MINUTE, MINUTE)],
}


@pytest.mark.parametrize("others", INERT.values(), ids=INERT)
def test_events_that_lead_to_no_rebalance_change_nothing(others: list[Disturbance]) -> None:
    alone = scaled_out()
    verdict, rebalances, time_ms = headline(alone)
    assert verdict is Verdict.STABLE
    assert (rebalances or 0) > 3
    assert (time_ms or 0) > 20 * MINUTE, "warm-ups move at probing rebalances, every 10 minutes"
    trace = scaled_out(*others)
    assert headline(trace) == (verdict, rebalances, time_ms)
    [only] = measured(trace).values()
    assert (only.at_ms, only.time_to_converge_ms, only.cut_short_by) == (HOUR, time_ms, None)


def test_a_crash_that_is_noticed_later_counts_from_when_it_happened() -> None:
    alone = run(world(), Crash(HOUR, ("c1",)))
    [crash] = measured(alone).values()
    assert (crash.event, crash.at_ms) == (1, HOUR)
    assert (crash.time_to_converge_ms or 0) > 45 * SECOND, "session.timeout.ms"
    inert = (TrafficChange(HOUR + 20 * SECOND, 1.0), BrokerBounce(HOUR + 10 * SECOND, (4,), 2 * SECOND, 0))
    [same] = measured(run(world(), Crash(HOUR, ("c1",)), *inert)).values()
    assert same == crash


@pytest.mark.parametrize("protocol", GroupProtocol)
def test_a_client_that_is_back_before_it_was_missed_was_still_away(protocol: GroupProtocol) -> None:
    base = with_group(world(), protocol=protocol)
    trace = run(base, Crash(HOUR, ("c1",), 20 * SECOND), assignor=StreamsGroupSticky())
    [crash] = measured(trace).values()
    assert crash.at_ms == HOUR
    assert (crash.time_to_converge_ms or 0) >= 45 * SECOND, "the dead member is missed only then"


def test_a_static_member_that_is_back_in_time_is_no_event_for_the_group() -> None:
    base = with_clients(world(), is_static=True)
    trace = run(base, RollingBounce(HOUR, ("c0", "c1"), down_ms=20 * SECOND, pause_ms=MINUTE))
    assert measured(trace) == {}
    assert headline(trace) == (Verdict.STABLE, 0, 0)
    late = run(base, RollingBounce(HOUR, ("c0", "c1"), down_ms=MINUTE, pause_ms=MINUTE))
    assert list(measured(late)) == [1]


def test_a_rolling_bounce_is_one_event_that_has_all_its_rebalances_and_its_longest_time() -> None:
    steps = [run(world(), RollingBounce(HOUR, (name,), 20 * SECOND, 0)) for name in ("c0", "c1", "c2")]
    each = [measured(trace)[1] for trace in steps]
    bounce = measured(run(world(), RollingBounce(HOUR, ("c0", "c1", "c2"), 20 * SECOND, 30 * MINUTE)))[1]
    assert bounce.at_ms == HOUR
    assert bounce.time_to_converge_ms == max(step.time_to_converge_ms or 0 for step in each)
    assert bounce.rebalances == sum(step.rebalances for step in each)
    quick = measured(run(world(), RollingBounce(HOUR, ("c0", "c1", "c2"), 20 * SECOND, 10 * SECOND)))[1]
    assert (quick.time_to_converge_ms or 0) > 60 * SECOND, "it does not converge in between"
    assert (bounce.cut_short_by, quick.cut_short_by) == (None, None)


def test_an_event_that_another_one_cuts_short_ends_with_it() -> None:
    first = measured(scaled_out())[1]
    standbys = AssignmentConfigs(max_warmup_replicas=1, num_standby_replicas=1)
    both = scaled_out(ConfigChange(HOUR + 15 * MINUTE, standbys))
    one, two = measured(both).values()
    assert (one.event, one.cut_short_by) == (1, 2)
    assert (two.event, two.cut_short_by, two.at_ms) == (2, None, HOUR + 15 * MINUTE)
    assert one.time_to_converge_ms == (two.time_to_converge_ms or 0) + 15 * MINUTE
    assert headline(both)[2] == one.time_to_converge_ms, "the worst is not that of the last event"
    assert one.rebalances > two.rebalances
    assert (one.time_to_converge_ms or 0) > (first.time_to_converge_ms or 0)


def test_events_after_one_another_are_measured_each_by_itself_and_the_worst_counts() -> None:
    trace = scaled_out(ConfigChange(8 * HOUR, AssignmentConfigs(num_standby_replicas=1)))
    one, two = measured(trace).values()
    assert one.time_to_converge_ms == measured(scaled_out())[1].time_to_converge_ms
    assert (one.cut_short_by, two.at_ms) == (None, 8 * HOUR)
    assert 0 < (two.time_to_converge_ms or 0) < (one.time_to_converge_ms or 0)
    assert headline(trace)[1:] == (one.rebalances, one.time_to_converge_ms)
    assert convergence(trace).slowest_event == 1


def test_state_that_is_restored_after_the_last_rebalance_counts() -> None:
    trace = run(world(), Crash(HOUR, ("c1",)), assignor=Sticky())
    settled_ms = max(each.reconciled_at_ms or 0 for each in trace.rounds)
    running_ms = max(step.at_ms for step in trace.task_states.transitions)
    assert running_ms > settled_ms + 50 * SECOND, "600 MB at 10 MB/s"
    assert measured(trace)[1].time_to_converge_ms == running_ms - HOUR


def test_standbys_that_catch_up_after_the_last_rebalance_count_and_the_run_says_if_they_have_not() -> None:
    configs = AssignmentConfigs(num_standby_replicas=1)
    trace = run(world(), ConfigChange(HOUR, configs), assignor=Sticky())
    standbys = measured(trace)[1]
    assert max(each.at_ms for each in trace.rounds) < HOUR + 10 * SECOND
    assert MINUTE < (standbys.time_to_converge_ms or 0) < 10 * MINUTE
    short = dataclasses.replace(world(), duration_ms=HOUR + MINUTE)
    cut = run(short, ConfigChange(HOUR, configs), assignor=Sticky())
    assert headline(cut) == (Verdict.RESTORING, None, None)
    [still] = measured(cut).values()
    assert (still.time_to_converge_ms, still.observed_ms, still.verdict) == (None, MINUTE, Verdict.RESTORING)


def test_a_standby_that_falls_behind_at_a_peak_of_traffic_is_no_convergence() -> None:
    slow = with_configs(with_client(world(), 0, restore_bytes_per_s=1_000_000), num_standby_replicas=1)
    again = ConfigChange(6 * HOUR, slow.application.assignment_configs)
    calm = run(slow, again, assignor=Sticky())
    peak = run(slow, TrafficChange(2 * HOUR, 40.0), again, assignor=Sticky())
    assert peak.rounds[-1].warming_up > 0, "there are standbys that are behind"
    assert headline(peak) == headline(calm) == (Verdict.STABLE, 1, 3 * SECOND)


@pytest.mark.parametrize("end_ms", [11 * MINUTE, 25 * MINUTE])
def test_an_event_that_the_run_is_too_short_for_is_unknown_but_how_long_it_took_at_least(end_ms: int) -> None:
    slow = dataclasses.replace(world(), duration_ms=HOUR + end_ms)
    trace = scaled_out(base=with_configs(slow, max_warmup_replicas=1, num_standby_replicas=1))
    assert headline(trace) == (Verdict.PROBING, None, None)
    [only] = measured(trace).values()
    assert (only.time_to_converge_ms, only.observed_ms, only.verdict) == (None, end_ms, Verdict.PROBING)
    assert only.rebalances >= 2


@pytest.mark.parametrize("protocol", GroupProtocol)
def test_a_crash_just_before_the_end_has_not_converged(protocol: GroupProtocol) -> None:
    base = dataclasses.replace(with_group(world(), protocol=protocol), duration_ms=HOUR + 30 * SECOND)
    trace = run(base, Crash(HOUR, ("c1",)), assignor=StreamsGroupSticky())
    [crash] = measured(trace).values()
    assert (crash.rebalances, crash.time_to_converge_ms, crash.observed_ms) == (0, None, 30 * SECOND)
    assert headline(trace) == (Verdict.REBALANCING, None, None)


def test_a_streams_group_is_measured_alike_and_does_not_mind_configs() -> None:
    away = Leave(HOUR, ("c1",))
    trace = run(of_streams(world()), away, ConfigChange(5 * HOUR, AssignmentConfigs()), assignor=StreamsGroupSticky())
    [only] = measured(trace).values()
    assert (only.event, only.verdict) == (1, Verdict.STABLE)
    assert (only.time_to_converge_ms or 0) >= 60 * SECOND, "it restores what it was given"


def test_the_start_counts_if_it_is_cold() -> None:
    cold = run(dataclasses.replace(world(), start=Start.COLD), Leave(5 * HOUR, ("c1",)))
    warm = run(world(), Leave(5 * HOUR, ("c1",)))
    start, left = convergence(cold).events
    assert (start.event, start.at_ms, start.rebalances) == (START, 0, 1)
    assert start.time_to_converge_ms == pytest.approx(126 * SECOND, abs=2), "6 s to the first round, 120 s to restore"
    assert headline(cold)[2] == max(start.time_to_converge_ms or 0, left.time_to_converge_ms or 0)
    assert headline(warm)[2] == left.time_to_converge_ms == measured(warm)[1].time_to_converge_ms


def test_clients_that_come_one_after_the_other_are_one_event() -> None:
    base = with_late(world(), "late", "later", "latest")
    together = measured(run(base, Join(HOUR, ("late", "later", "latest"), 2 * MINUTE)))
    assert list(together) == [1]
    assert together[1].cut_short_by is None
    apart = run(base, *(Join(HOUR + 2 * i * MINUTE, (name,)) for i, name in enumerate(("late", "later", "latest"))))
    assert [each.cut_short_by for each in measured(apart).values()] == [2, 3, None]
    assert measured(apart)[1].time_to_converge_ms == together[1].time_to_converge_ms


def test_a_group_of_which_nobody_is_left_has_nothing_to_converge_to() -> None:
    trace = run(world(), Leave(HOUR, ("c0", "c1", "c2", "c3")))
    assert measured(trace) == {}
    back = run(world(), Crash(HOUR, ("c0", "c1", "c2", "c3"), 15 * MINUTE))
    [crash] = measured(back).values()
    assert crash.at_ms == HOUR
    assert (crash.time_to_converge_ms or 0) > 15 * MINUTE


def test_a_client_that_leaves_while_others_restore_cuts_that_short() -> None:
    trace = run(world(), Leave(HOUR, ("c1",)), Leave(HOUR + 30 * SECOND, ("c2",)), assignor=Sticky())
    one, two = measured(trace).values()
    assert one.cut_short_by == two.event == 2
    assert one.time_to_converge_ms == (two.time_to_converge_ms or 0) + 30 * SECOND


@settings(max_examples=EXAMPLES)
@given(disturbed_worlds(), assignors(), st.lists(st.integers(0, DURATION_MS - 1), min_size=1, max_size=4))
def test_traffic_that_stays_the_same_changes_no_convergence(
    base: World, assignor: TaskAssignor, moments: list[int]
) -> None:
    steady_state = tuple(each for each in base.disturbances if not isinstance(each, TrafficChange))
    alone = convergence(simulate(dataclasses.replace(base, disturbances=steady_state), assignor))
    hourly = (*(TrafficChange(at_ms, 1.0) for at_ms in moments), *steady_state)
    other = convergence(simulate(dataclasses.replace(base, disturbances=hourly), assignor))
    assert other.verdict is alone.verdict
    assert len(other.events) == len(alone.events)
    for one, same in zip(alone.events, other.events, strict=True):
        # Sums of floats in other steps: the moment at which a copy has caught up may be rounded otherwise.
        assert same.observed_ms == pytest.approx(one.observed_ms, abs=2)
        assert dataclasses.replace(same, observed_ms=0, time_to_converge_ms=None) == dataclasses.replace(
            one, observed_ms=0, time_to_converge_ms=None
        )
        assert (same.time_to_converge_ms is None) == (one.time_to_converge_ms is None)
