"""The monitor raises no alarm for simulated consumer groups, which do what is predicted, and alarms for others."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from scenarios.kafka.observation.observation import GroupPhase
from scenarios.watch.monitor import GroupMonitor
from scenarios.watch.prediction import PredictionVerdict
from scenarios.watch.watch_events import EventKind, EventLevel
from tests.counts import few_or
from tests.scenarios.watch.simulated_consumers import CLASSIC, COORDINATED, random_consumers, watch_consumers
from tests.scenarios.watch.simulated_polls import SimulatedWatch
from tests.scenarios.watch.test_prediction import exchange
from tests.scenarios.watch.watched_groups import progress, recorded_consumers, recorded_group

INTERVALS_MS = (10_000, 30_000, 60_000)
CLASSIC_RUNS, COORDINATED_RUNS = few_or(12, 4), few_or(8, 4)


@cache
def watch_random(seed: int, protocol: str) -> SimulatedWatch:
    assignors = CLASSIC if protocol == "classic" else COORDINATED
    document = random_consumers(seed, assignors[seed % len(assignors)], protocol)
    return watch_consumers(document, INTERVALS_MS[seed % 3])


@pytest.mark.parametrize("seed", range(CLASSIC_RUNS))
def test_classic_group_that_does_what_is_simulated_raises_no_alarm(seed: int) -> None:
    watched = watch_random(seed, "classic")
    assert watched.alarms() == []
    assert set(watched.monitor.status.verdicts) == {PredictionVerdict.MATCHED}


@pytest.mark.parametrize("seed", range(COORDINATED_RUNS))
def test_group_of_the_coordinator_that_does_what_is_simulated_raises_no_alarm(seed: int) -> None:
    watched = watch_random(seed, "consumer")
    assert watched.alarms() == []
    verdicts = watched.monitor.status.verdicts
    assert set(verdicts) == {PredictionVerdict.MATCHED, PredictionVerdict.UNKNOWN}
    assert verdicts[PredictionVerdict.UNKNOWN] == 1  # The target before the first one was not seen.


def test_random_runs_cover_joins_departures_and_crashes() -> None:
    causes: Counter[str] = Counter()
    down = 0
    for seed in range(CLASSIC_RUNS):
        watched = watch_random(seed, "classic")
        causes.update(event.details["cause"] for event in watched.of_kind(EventKind.REBALANCE))
        down += len(watched.of_kind(EventKind.TASK_DOWN))
    assert causes["1 member joined"] > 5
    assert causes["1 member left"] > 5
    assert down > 2


@pytest.mark.parametrize("group", ["billing", "audit"])
def test_partitions_on_other_members_are_an_alarm(group: str) -> None:
    watched, snapshot = recorded_consumers(group)
    monitor = GroupMonitor(group)
    monitor.observe(replace(snapshot, at_ms=1_000), watched)
    assert snapshot.epoch is not None
    wrong = exchange(replace(snapshot, at_ms=2_000, epoch=snapshot.epoch + 1), "active")
    [alarm] = [event for event in monitor.observe(wrong, watched) if event.level is EventLevel.ALARM]
    assert alarm.kind is EventKind.PREDICTION
    assert " of 17 partitions not as predicted" in alarm.message
    assert monitor.status.tasks_elsewhere == len(alarm.details["differences"])


@pytest.mark.parametrize(
    ("state", "phase", "kind"),
    [("Empty", GroupPhase.EMPTY, EventKind.GROUP_EMPTY), ("Dead", GroupPhase.GONE, EventKind.GROUP_GONE)],
)
def test_group_without_consumers_is_an_alarm(state: str, phase: GroupPhase, kind: EventKind) -> None:
    watched, snapshot = recorded_consumers("audit")
    monitor = GroupMonitor("audit")
    monitor.observe(replace(snapshot, at_ms=1_000), watched)
    ended = replace(snapshot, at_ms=2_000, state=state, phase=phase, members=(), member_ids=())
    assert [event.kind for event in monitor.observe(ended) if event.level is EventLevel.ALARM] == [kind]


def test_partition_that_no_member_has_is_an_alarm_after_its_predicted_downtime() -> None:
    """The target has the partition, but its new owner never gets it."""
    watched, snapshot = recorded_consumers("audit")
    monitor = GroupMonitor("audit")
    members = tuple(
        replace(member, active=tuple(name for name in member.active if name != "orders-6"))
        for member in snapshot.members
    )
    events = []
    for at_s in range(0, 200, 10):
        poll = replace(snapshot, at_ms=at_s * 1_000, members=members, state="Reconciling", phase=GroupPhase.REBALANCING)
        events += monitor.observe(poll, watched if at_s == 0 else None)
    [alarm] = [event for event in events if event.level is EventLevel.ALARM]
    assert alarm.kind is EventKind.TASK_DOWN
    assert alarm.message == "1 partition without owner for 90 s (predicted: 45 s)"
    assert alarm.details["tasks"] == [
        {"task": "orders-6", "member": None, "stalled_ms": 90_000, "predicted_ms": 45_000}
    ]
    assert monitor.status.unassigned == 1


def test_partitions_to_which_no_member_subscribes_any_more_are_not_down() -> None:
    watched, snapshot = recorded_consumers("audit")
    monitor = GroupMonitor("audit")
    monitor.observe(replace(snapshot, at_ms=0, progress=progress(0, 0, ("payments-0",))), watched)
    orders = tuple(name for name in watched.task_names if name.startswith("orders"))
    fewer = replace(watched, task_names=orders)
    members = tuple(
        replace(member, topics=("orders",), active=held, target_active=held)
        for member in snapshot.members
        for held in [tuple(name for name in member.active if name in orders)]
    )
    after = replace(snapshot, epoch=6, members=members, state="Reconciling", phase=GroupPhase.REBALANCING)
    monitor.observe(replace(after, at_ms=10_000, progress=progress(0, 9, ("payments-0",))))
    for at_s in range(20, 300, 10):
        stable = replace(after, at_ms=at_s * 1_000, state="Stable", phase=GroupPhase.STABLE)
        monitor.observe(stable, fewer if at_s == 20 else None)
    assert not monitor.status.alarms[EventKind.TASK_DOWN]
    assert monitor.status.stalled_tasks == 0


def test_group_id_of_an_application_may_pass_to_consumers() -> None:
    """What was known of the application says nothing on them."""
    application, snapshot = recorded_group()
    _, consumers = recorded_consumers("billing")
    monitor = GroupMonitor("shop")
    monitor.observe(replace(snapshot, at_ms=1_000), application)
    events = monitor.observe(replace(consumers, at_ms=2_000))
    [prediction] = [event for event in events if event.kind is EventKind.PREDICTION]
    assert prediction.message == "assignment not compared: the consumer group is not known yet"
