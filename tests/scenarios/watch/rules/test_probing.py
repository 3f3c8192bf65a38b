"""Warm-ups that catch up or do not, and rebalances that are overdue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scenarios.watch.prediction import ComparedPrediction, PredictionVerdict, predict_classic
from scenarios.watch.rules import Probing
from scenarios.watch.watch_events import EventKind, EventLevel, WatchEvent
from tests.scenarios.watch.watched_groups import PollSequence, recorded_group

INTERVAL_S = 600


def observe_lags(lags: Sequence[int]) -> tuple[Probing, list[list[WatchEvent]]]:
    """Return the events of probing rebalances in which the copies of the joining client have these lags."""
    application, snapshot = recorded_group("warming_up.jsonl", lag="100")
    rule, polls = Probing("shop"), PollSequence(application)
    events = []
    for number, lag in enumerate(lags):
        joining = next(member.process_id for member in snapshot.members if member.instance_id is not None)
        ends = snapshot.changelog_ends
        members = tuple(
            replace(member, offset_sums={task: max(0, ends[task] - lag) for task in member.offset_sums})
            if member.process_id == joining
            else member
            for member in snapshot.members
        )
        changed = replace(snapshot, members=members)
        predicted = predict_classic(application, changed, ends)
        poll = polls.poll(
            number * INTERVAL_S,
            ComparedPrediction(PredictionVerdict.MATCHED, predicted),
            members=members,
            next_rebalance_at_ms=(number + 1) * INTERVAL_S * 1_000,
        )
        events.append(list(rule.observe(poll)))
    return rule, events


def kinds(events: Sequence[WatchEvent]) -> list[tuple[EventKind, EventLevel]]:
    return [(event.kind, event.level) for event in events]


def test_warm_ups_that_catch_up_are_no_alarm() -> None:
    _, events = observe_lags([20_000, 15_000, 10_000, 5_000, 2_000, 500])
    assert [kinds(events_of_poll) for events_of_poll in events] == [[(EventKind.WARMUPS, EventLevel.INFO)]] * 6


def test_warm_ups_whose_lag_does_not_fall_are_an_alarm_after_three_more_rebalances() -> None:
    rule, events = observe_lags([20_000, 20_000, 20_500, 20_001, 20_000, 4_000])
    levels = [[level for kind, level in kinds(of_poll) if kind is EventKind.PROBING_STUCK] for of_poll in events]
    assert levels == [[], [], [], [EventLevel.ALARM], [], [EventLevel.RESOLVED]]
    [alarm] = [event for event in events[3] if event.kind is EventKind.PROBING_STUCK]
    assert alarm.details["rebalances"] == 4
    assert {warmup["lag"] for warmup in alarm.details["warmups"]} == {20_001}
    assert not rule.alarms[EventKind.PROBING_STUCK]


def test_lag_that_falls_from_time_to_time_is_no_alarm() -> None:
    _, events = observe_lags([20_000, 20_000, 20_000, 19_000, 19_000, 19_000, 18_000])
    assert EventKind.PROBING_STUCK not in {event.kind for of_poll in events for event in of_poll}


def test_warm_ups_have_their_lags_and_the_expected_end() -> None:
    rule, events = observe_lags([20_000])
    [event] = events[0]
    assert event.details["rebalances_left"] >= 1
    assert event.details["next_rebalance_at_ms"] == INTERVAL_S * 1_000
    left = event.details["rebalances_left"] - 1
    assert rule.expected_end_ms == event.details["expected_end_ms"] == (INTERVAL_S + left * 600) * 1_000
    assert {warmup["lag"] for warmup in event.details["warmups"]} == {20_000}
    assert len(rule.warmups) == len(event.details["warmups"])


def test_scheduled_rebalance_is_overdue_after_a_tolerance() -> None:
    """90 s: 15 % of the probing interval."""
    application, _ = recorded_group("warming_up.jsonl", lag="100")
    rule, polls = Probing("shop"), PollSequence(application)
    raised = []
    for at_s in range(0, 900, 30):
        poll = polls.poll(at_s, next_rebalance_at_ms=INTERVAL_S * 1_000)
        raised += [at_s for event in rule.observe(poll) if event.level is EventLevel.ALARM]
    assert raised == [750]
    later = polls.poll(930, ComparedPrediction(PredictionVerdict.UNKNOWN, None), next_rebalance_at_ms=None)
    assert kinds(list(rule.observe(later))) == [(EventKind.FOLLOWUP_OVERDUE, EventLevel.RESOLVED)]
