"""The monitor raises no alarm for simulated groups, which do what is predicted, and alarms for others."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from scenarios.kafka.observation.observation import GroupPhase
from scenarios.language.yaml_reader import read_yaml
from scenarios.shipped import find_scenario
from scenarios.watch.monitor import GroupMonitor
from scenarios.watch.prediction import PredictionVerdict
from scenarios.watch.watch_events import EventKind
from tests.counts import few_or
from tests.scenarios.watch.random_documents import random_document
from tests.scenarios.watch.simulated_polls import SimulatedWatch, simulate_document, watch_trace
from tests.scenarios.watch.test_prediction import exchange
from tests.scenarios.watch.watched_groups import recorded_group

INTERVALS_MS = (10_000, 30_000, 60_000)
CLASSIC_RUNS, STREAMS_RUNS = few_or(12, 4), few_or(8, 4)


@cache
def watch_random(seed: int, protocol: str) -> SimulatedWatch:
    return watch_trace(*simulate_document(random_document(seed, protocol)), INTERVALS_MS[seed % 3])


@pytest.mark.parametrize("seed", range(CLASSIC_RUNS))
def test_classic_group_that_does_what_is_simulated_raises_no_alarm(seed: int) -> None:
    watched = watch_random(seed, "classic")
    assert watched.alarms() == []
    verdicts = watched.monitor.status.verdicts
    assert set(verdicts) == {PredictionVerdict.MATCHED}
    assert verdicts[PredictionVerdict.MATCHED] >= 1


@pytest.mark.parametrize("seed", range(STREAMS_RUNS))
def test_streams_group_that_does_what_is_simulated_raises_no_alarm(seed: int) -> None:
    watched = watch_random(seed, "streams")
    assert watched.alarms() == []
    verdicts = watched.monitor.status.verdicts
    assert set(verdicts) <= {PredictionVerdict.MATCHED, PredictionVerdict.UNKNOWN}
    assert verdicts[PredictionVerdict.UNKNOWN] == 1  # The target before the first one was not seen.
    assert verdicts[PredictionVerdict.MATCHED] >= 1


def test_random_runs_cover_moves_warm_ups_and_downtimes() -> None:
    kinds: Counter[EventKind] = Counter()
    for seed in range(4):
        kinds.update(event.kind for event in watch_random(seed, "classic").events)
    assert kinds[EventKind.REBALANCE] > 8
    assert kinds[EventKind.WARMUPS] > 2
    assert kinds[EventKind.MEMBERS] > 2


def test_shipped_problem_without_end_of_probing_raises_the_alarm() -> None:
    document = read_yaml(find_scenario(Path("probing_never_ends")).read_text(encoding="utf-8")).value
    problem = document.pop("problem")
    watched = watch_trace(*simulate_document(document), 60_000)
    assert {event.kind for event in watched.events if event.level == "alarm"} == {EventKind.PROBING_STUCK}
    [alarm] = watched.of_kind(EventKind.PROBING_STUCK)
    assert alarm.details["rebalances"] == 4
    assert {warmup["process"] for warmup in alarm.details["warmups"]} == {"small-0", "small-1"}
    assert watched.monitor.status.alarms[EventKind.PROBING_STUCK]
    fixed = document
    for change in problem["fixes"][:1]:
        [(path, value)] = change["set"].items()
        assert path == "clients[1].restore"
        fixed["clients"][1]["restore"] = value
    assert watch_trace(*simulate_document(fixed), 60_000).alarms() == []


def test_expected_end_of_probing_comes_true() -> None:
    document = random_document(0)
    document["application"]["configs"] |= {"max.warmup.replicas": 1, "num.standby.replicas": 0}
    document["application"]["subtopologies"][0]["stores"][0]["size"] = "4 GB"
    document["events"] = [{"at": "20m", "join": {"clients": "new"}}]
    watched = watch_trace(*simulate_document(document), 30_000)
    warmups = watched.of_kind(EventKind.WARMUPS)
    expected = {event.details["expected_end_ms"] for event in warmups}
    last_ms = max(event.at_ms for event in watched.of_kind(EventKind.REBALANCE))
    assert len(warmups) >= 2
    assert max(expected) - min(expected) < 60_000
    assert 0 <= last_ms - min(expected) < 120_000


def test_task_on_another_process_is_an_alarm_until_an_assignment_is_as_predicted() -> None:
    application, snapshot = recorded_group()
    monitor = GroupMonitor("shop")
    wrong = replace(exchange(snapshot, "active"), at_ms=1_000)
    events = monitor.observe(wrong, application)
    assert [event.kind for event in events if event.level == "alarm"] == [EventKind.PREDICTION]
    assert monitor.status.alarms[EventKind.PREDICTION]
    assert monitor.status.tasks_elsewhere > 0
    rejoined = tuple(replace(member, joined=f"{member.joined}+") for member in snapshot.members)
    events = monitor.observe(replace(snapshot, at_ms=2_000, members=rejoined), application)
    assert [event.kind for event in events if event.level == "resolved"] == [EventKind.PREDICTION]
    assert not any(monitor.status.alarms.values())
    assert monitor.status.tasks_elsewhere == 0


def test_same_assignment_is_compared_once() -> None:
    application, snapshot = recorded_group()
    monitor = GroupMonitor("shop")
    assert monitor.observe(replace(snapshot, at_ms=1_000), application)
    assert monitor.observe(replace(snapshot, at_ms=2_000)) == []
    assert monitor.status.verdicts == {PredictionVerdict.MATCHED: 1}
    assert monitor.status.rebalances == 0


@pytest.mark.parametrize("is_before", [True, False])
def test_lags_at_the_assignment_are_between_those_of_the_polls(is_before: bool) -> None:
    """The leader saw end offsets of the poll before or after; either explains the assignment."""
    application, snapshot = recorded_group("warming_up.jsonl", lag="100")
    monitor = GroupMonitor("shop")
    true_ends = snapshot.changelog_ends
    caught_up = dict.fromkeys(true_ends, 0)
    ends = (true_ends, caught_up) if is_before else (caught_up, true_ends)
    rebalancing = replace(
        snapshot,
        at_ms=1_000,
        phase=GroupPhase.REBALANCING,
        state="PreparingRebalance",
        members=(),
        changelog_ends=ends[0],
    )
    monitor.observe(rebalancing)
    monitor.observe(replace(snapshot, at_ms=2_000, changelog_ends=ends[1]), application)
    assert monitor.status.verdicts == {PredictionVerdict.MATCHED: 1}


def test_assignment_is_not_compared_without_what_it_depends_on() -> None:
    application, snapshot = recorded_group()
    reasons = []
    for changes, known, problem in (
        ({}, None, ""),
        ({}, None, "a topic is unknown"),
        ({"changelog_ends": {}}, application, ""),
        ({"error_code": 1}, application, ""),
    ):
        monitor = GroupMonitor("shop")
        events = monitor.observe(replace(snapshot, at_ms=1_000, **changes), known, problem)  # type: ignore[arg-type]
        reasons += [event.message for event in events if event.kind is EventKind.PREDICTION]
        assert monitor.status.verdicts == {PredictionVerdict.UNKNOWN: 1}
    assert reasons == [
        "assignment not compared: the application is not known yet",
        "assignment not compared: a topic is unknown",
        "assignment not compared: the end offsets of the changelogs of 7 tasks are unknown",
        "assignment not compared: the leader sent an error code",
    ]


def test_targets_between_two_polls_of_a_streams_group_are_no_alarm() -> None:
    application, snapshot = recorded_group("streams.jsonl", "kiosk", "streams")
    assert snapshot.epoch is not None
    monitor = GroupMonitor("kiosk")
    monitor.observe(replace(snapshot, at_ms=1_000), application)
    for epochs, verdict in ((1, PredictionVerdict.DIFFERS), (2, PredictionVerdict.UNKNOWN)):
        other = replace(exchange(snapshot, "standby"), at_ms=2_000, epoch=snapshot.epoch + epochs)
        monitor = GroupMonitor("kiosk")
        monitor.observe(replace(snapshot, at_ms=1_000), application)
        monitor.observe(other)
        assert monitor.status.verdicts == {PredictionVerdict.UNKNOWN: 1} | (
            {PredictionVerdict.UNKNOWN: 2} if verdict is PredictionVerdict.UNKNOWN else {verdict: 1}
        )
        assert monitor.status.alarms[EventKind.PREDICTION] == (verdict is PredictionVerdict.DIFFERS)
