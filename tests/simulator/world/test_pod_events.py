"""When platforms stop and start processes: order, budgets, surge, outages of zones."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.timeline import startable_ms, timeline
from simulator.world.changes import ClientDown, ClientUp, Disk
from simulator.world.disturbances import Crash, Join, Leave, RackOutage
from simulator.world.pod_events import (
    Closing,
    DeploymentUpdate,
    NodeDrain,
    PodEvent,
    PodStart,
    PodStop,
    SpotInterruption,
    StatefulSetUpdate,
    Volume,
    always,
)
from tests.simulator.world_builders import HOUR, MINUTE, with_late_clients, world

SECOND = 1_000
PODS = ("c0", "c1", "c2", "c3")
NEW = ("n0", "n1", "n2", "n3")
CLOSING = Closing(leaves_group=True, close_ms=3 * SECOND, pre_stop_ms=5 * SECOND, grace_ms=30 * SECOND)
TIMES = {"start_ms": 10 * SECOND, "ready_ms": 20 * SECOND}


def steps(event: PodEvent, *disturbances: RackOutage) -> list[tuple[str, str, float]]:
    """Return stops and starts in order of time, in seconds from the event."""
    startable = startable_ms(world(disturbances=disturbances)) if disturbances else always
    schedule = sorted(event.schedule(startable), key=lambda step: step.at_ms)
    return [
        ("stop" if isinstance(step, PodStop) else "start", step.client, (step.at_ms - event.at_ms) / SECOND)
        for step in schedule
    ]


def changes(event: PodEvent, *others: Leave | Crash | Join | RackOutage) -> list[tuple[int, ClientDown | ClientUp]]:
    base = with_late_clients(world(), *NEW)
    schedule = timeline(dataclasses.replace(base, disturbances=(event, *others)))
    return [(t.at_ms - HOUR, t.change) for t in schedule if isinstance(t.change, ClientDown | ClientUp)]


def test_stateful_set_is_updated_from_the_last_pod_to_the_first() -> None:
    event = StatefulSetUpdate(HOUR, PODS[:3], CLOSING, Volume.ZONAL, **TIMES)
    assert steps(event) == [
        ("stop", "c2", 0),
        ("start", "c2", 18),
        ("stop", "c1", 38),
        ("start", "c1", 56),
        ("stop", "c0", 76),
        ("start", "c0", 94),
    ]
    down = ClientDown("c2", leaves_group=True, disk=Disk.KEPT, closes_in_ms=3 * SECOND)
    assert changes(event)[:2] == [(5 * SECOND, down), (18 * SECOND, ClientUp("c2"))]
    assert str(down) == "c2 closes for 3 s, then leaves"
    assert str(event) == "rolling update of 3 clients (c0, c1, c2)"


@pytest.mark.parametrize(("volume", "disk"), [(Volume.ZONAL, Disk.KEPT), (Volume.NONE, Disk.LOST)])
def test_volume_decides_what_is_left(volume: Volume, disk: Disk) -> None:
    event = StatefulSetUpdate(HOUR, ("c0",), CLOSING, volume, **TIMES)
    assert changes(event)[0][1].disk is disk
    slow = dataclasses.replace(event, closing=dataclasses.replace(CLOSING, close_ms=MINUTE))
    [(at_ms, killed), (back_ms, _)] = changes(slow)
    assert killed == ClientDown(
        "c0",
        leaves_group=False,
        disk=Disk.UNFLUSHED_LOST if disk is Disk.KEPT else Disk.LOST,
        closes_in_ms=25 * SECOND,
        is_killed=True,
    )
    assert (at_ms, back_ms) == (5 * SECOND, 40 * SECOND)
    assert str(killed).startswith("c0 is killed after closing for 25 s")


def test_update_waits_for_a_pod_whose_zone_is_out() -> None:
    event = StatefulSetUpdate(HOUR, PODS[:2], CLOSING, Volume.ZONAL, **TIMES)
    outage = RackOutage(HOUR - MINUTE, "az2", 3 * MINUTE)
    assert steps(event, outage) == [("stop", "c1", 0), ("start", "c1", 120), ("stop", "c0", 140), ("start", "c0", 158)]
    assert steps(event, dataclasses.replace(outage, down_ms=None)) == [("stop", "c1", 0)]
    assert [str(change) for _, change in changes(event, outage)][:2] == ["c1 goes down", "c1 starts"]


def test_deployment_surges_before_it_stops_pods() -> None:
    event = DeploymentUpdate(HOUR, PODS, CLOSING, successors=NEW, **TIMES, max_surge=1, max_unavailable=0)
    assert steps(event)[:6] == [
        ("start", "n0", 10),
        ("stop", "c3", 30),
        ("start", "n1", 40),
        ("stop", "c2", 60),
        ("start", "n2", 70),
        ("stop", "c1", 90),
    ]
    assert {change.disk for _, change in changes(event) if isinstance(change, ClientDown)} == {Disk.LOST}


def test_deployment_with_both_limits_stops_and_creates_at_once() -> None:
    event = DeploymentUpdate(HOUR, PODS, CLOSING, successors=NEW, **TIMES, max_surge=1, max_unavailable=1)
    # The controller creates a pod, stops one, and creates another in its place.
    assert steps(event)[:3] == [("stop", "c3", 0), ("start", "n0", 10), ("start", "n1", 10)]


def test_deployment_without_surge_reuses_names_after_their_processes_ended() -> None:
    event = DeploymentUpdate(HOUR, PODS[:2], CLOSING, start_ms=SECOND, ready_ms=0, max_surge=0, max_unavailable=1)
    assert steps(event) == [("stop", "c1", 0), ("start", "c1", 8), ("stop", "c0", 8), ("start", "c0", 16)]


def test_drain_evicts_all_at_once_or_within_the_budget() -> None:
    event = NodeDrain(HOUR, PODS[:3], CLOSING, Volume.ZONAL, **TIMES)
    assert [step for step in steps(event) if step[0] == "stop"] == [("stop", name, 0) for name in PODS[:3]]
    limited = dataclasses.replace(event, max_unavailable=1)
    assert [step for step in steps(limited) if step[0] == "stop"] == [("stop", f"c{i}", 38 * i) for i in range(3)]


@pytest.mark.parametrize("volume", [Volume.LOCAL, Volume.ZONAL])
@pytest.mark.parametrize("drains_zone", [True, False])
def test_volumes_bind_pods_to_nodes_and_zones(volume: Volume, drains_zone: bool) -> None:
    event = NodeDrain(HOUR, ("c0",), CLOSING, volume, **TIMES, nodes_back_ms=5 * MINUTE, drains_zone=drains_zone)
    is_bound = volume is Volume.LOCAL or drains_zone
    assert steps(event)[1] == ("start", "c0", 300 if is_bound else 18)
    forever = dataclasses.replace(event, nodes_back_ms=None)
    assert len(steps(forever)) == (1 if is_bound else 2)
    assert forever.is_permanent is is_bound


def test_spot_interruption_closes_at_the_notice_or_kills_at_its_end() -> None:
    event = SpotInterruption(HOUR, ("c0",), CLOSING, notice_ms=2 * MINUTE, replace_ms=3 * MINUTE)
    lost = ClientDown("c0", leaves_group=True, disk=Disk.LOST, closes_in_ms=3 * SECOND)
    assert changes(event) == [(5 * SECOND, lost), (3 * MINUTE, ClientUp("c0"))]
    killed = ClientDown("c0", leaves_group=False, disk=Disk.LOST, crashes=True)
    deaf = dataclasses.replace(event, reacts=False, successors=("n0",), replace_ms=MINUTE)
    assert changes(deaf) == [(MINUTE, ClientUp("n0")), (2 * MINUTE, killed)]
    assert changes(dataclasses.replace(event, replace_ms=None)) == [(5 * SECOND, lost)]
    assert str(event) == "spot interruption of client c0"


def test_end_of_the_notice_limits_the_grace_period() -> None:
    slow = Closing(close_ms=10 * MINUTE, grace_ms=5 * MINUTE)
    event = SpotInterruption(HOUR, ("c0",), slow, notice_ms=30 * SECOND)
    [(at_ms, killed)] = changes(event)
    assert (at_ms, killed.closes_in_ms, killed.is_killed) == (0, 30 * SECOND, True)


def test_absent_pods_stay_absent() -> None:
    event = StatefulSetUpdate(HOUR, PODS[:1], CLOSING, Volume.ZONAL, **TIMES)
    assert changes(event, Crash(MINUTE, ("c0",)))[1:] == []


def most_at_once(intervals: Sequence[tuple[int, float]]) -> int:
    """Return the maximum number of intervals that overlap; an interval does not include its end."""
    bounds = [(begin, 1) for begin, end in intervals if begin < end] + [
        (end, -1) for begin, end in intervals if begin < end
    ]
    most = count = 0
    for _, step in sorted(bounds):
        count += step
        most = max(most, count)
    return most


durations = st.sampled_from((0, 1, 7 * SECOND, MINUTE))
closings = st.builds(Closing, close_ms=durations, pre_stop_ms=durations, grace_ms=st.none() | durations)


@given(st.integers(1, 9), st.integers(1, 9), closings, durations, durations)
def test_drain_never_exceeds_its_budget(pods: int, budget: int, closing: Closing, start_ms: int, ready_ms: int) -> None:
    names = tuple(f"c{i}" for i in range(pods))
    event = NodeDrain(HOUR, names, closing, Volume.ZONAL, start_ms=start_ms, ready_ms=ready_ms, max_unavailable=budget)
    schedule = list(event.schedule(always))
    stops = {step.client: step.at_ms for step in schedule if isinstance(step, PodStop)}
    ready = {step.client: step.at_ms + ready_ms for step in schedule if isinstance(step, PodStart)}
    assert set(stops) == set(ready) == set(names)
    assert most_at_once([(stops[name], ready[name]) for name in names]) <= budget
    if budget >= pods:
        assert set(stops.values()) == {HOUR}


@given(st.integers(1, 9), st.integers(0, 9), st.integers(0, 9), closings, durations, durations)
def test_deployment_never_exceeds_its_limits(
    pods: int, surge: int, missing: int, closing: Closing, start_ms: int, ready_ms: int
) -> None:
    if surge == missing == 0:
        missing = 1
    missing = min(missing, pods)
    old, new = tuple(f"c{i}" for i in range(pods)), tuple(f"n{i}" for i in range(pods))
    event = DeploymentUpdate(
        HOUR,
        old,
        closing,
        successors=new,
        start_ms=start_ms,
        ready_ms=ready_ms,
        max_surge=surge,
        max_unavailable=missing,
    )
    schedule = list(event.schedule(always))
    stops = [(HOUR - 1, step.at_ms) for step in schedule if isinstance(step, PodStop)]
    starts = [step.at_ms for step in schedule if isinstance(step, PodStart)]
    assert len(stops) == len(starts) == pods, "every pod is replaced"
    end = float("inf")
    assert most_at_once([*stops, *((at_ms - start_ms, end) for at_ms in starts)]) <= pods + surge
    # A pod is missing from the stop of an old one until a new one is ready.
    ready = sorted(at_ms + ready_ms for at_ms in starts)
    stopped = sorted(at_ms for _, at_ms in stops)
    for i, at_ms in enumerate(stopped):
        assert i + 1 - sum(ready_ <= at_ms for ready_ in ready) <= missing
