"""Tasks without progress: when they are reported, and when that is an alarm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from scenarios.kafka.observation.observation import GroupPhase, SnapshotMember
from scenarios.watch.rules import ProgressRule
from scenarios.watch.watch_events import EventLevel
from tests.scenarios.watch.watched_groups import PollSequence, progress, recorded_group

COMMIT_S, POLL_S, DOWN_S = 30, 10, 60
SLACK_S = 2 * (COMMIT_S + POLL_S)


@dataclass(frozen=True, slots=True)
class FixedDowntimes:
    """Known downtimes, in place of simulated ones."""

    known_ms: int | None = DOWN_S * 1_000
    together_ms: int = 0

    def down_ms(self, process: str, task: str) -> int | None:
        return self.known_ms

    def restore_ms(self, process: str, tasks: Sequence[str]) -> int:
        return self.together_ms * len(tasks)


def run(offsets: Sequence[tuple[int, int]], forecast: FixedDowntimes | None = None) -> dict[int, list[EventLevel]]:
    """Return the levels of the events by time in s, for polls with these committed and end offsets of task 0_0."""
    rule, polls = ProgressRule("shop"), PollSequence()
    levels = {}
    for number, (committed, end) in enumerate(offsets):
        poll = polls.poll(number * POLL_S, progress=progress(committed, end))
        events = list(rule.observe(poll, forecast or FixedDowntimes()))
        if events:
            levels[number * POLL_S] = [event.level for event in events]
    return levels


def test_task_that_commits_at_each_interval_is_not_reported() -> None:
    assert run([(30 * (second // 30), second) for second in range(0, 600, POLL_S)]) == {}


def test_task_without_new_records_is_not_reported() -> None:
    assert run([(5, 5)] * 60) == {}
    assert run([(5, 6)] * 60) == {}, "the marker of a transaction is no record"


def test_task_that_stops_is_reported_and_an_alarm_after_its_predicted_downtime() -> None:
    levels = run([(10, 10), *((10, 10 + second) for second in range(POLL_S, 300, POLL_S))])
    assert levels == {60: [EventLevel.INFO], 160: [EventLevel.ALARM]}
    assert 150 - POLL_S <= DOWN_S * 1.15 + SLACK_S < 160 - POLL_S


def test_alarm_is_resolved_by_the_next_commit() -> None:
    stopped = [(10, 10), *((10, 10 + second) for second in range(POLL_S, 200, POLL_S))]
    levels = run([*stopped, (300, 310), (320, 320)])
    assert levels[200] == [EventLevel.RESOLVED]


def test_downtime_as_predicted_is_no_alarm() -> None:
    stopped = [(10, 10), *((10, 10 + second) for second in range(POLL_S, 110, POLL_S))]
    levels = run([*stopped, *((second, second + 5) for second in range(200, 300, POLL_S))])
    assert [level for at_levels in levels.values() for level in at_levels] == [EventLevel.INFO, EventLevel.INFO]


@pytest.mark.parametrize(("known_ms", "expected_s"), [(None, 150), (0, 150), (400_000, None)])
def test_unknown_downtime_is_that_of_a_session(known_ms: int | None, expected_s: int | None) -> None:
    """The session of the recorded application times out after 45 s."""
    levels = run([(0, second) for second in range(0, 400, POLL_S)], FixedDowntimes(known_ms))
    assert next((at_s for at_s, raised in levels.items() if EventLevel.ALARM in raised), None) == expected_s


def test_tasks_that_moved_together_may_need_their_restoration() -> None:
    rule, polls = ProgressRule("shop"), PollSequence()
    first = polls.poll(0, progress=progress(0, 0, ("0_0", "0_1")))
    list(rule.observe(first, FixedDowntimes()))
    owners = first.snapshot.actives()
    receiver = min(set(owners.values()) - {owners["0_0"], owners["0_1"]})
    moved = tuple(_without_tasks(first.snapshot.members, receiver))
    alarms = []
    for number in range(1, 40):
        poll = polls.poll(number * POLL_S, members=moved, progress=progress(0, number, ("0_0", "0_1")))
        events = rule.observe(poll, FixedDowntimes(None, together_ms=50_000))
        alarms += [number * POLL_S for event in events if event.level is EventLevel.ALARM]
    # A session of 45 s and the restoration of two tasks, 100 s: the alarm is due after (145 s × 1.15) + 80 s.
    assert alarms == [260]


def recorded_members() -> tuple[SnapshotMember, ...]:
    return recorded_group()[1].members


def _without_tasks(members: Sequence[object], receiver: str) -> list[object]:
    from dataclasses import replace

    moved = []
    is_given = False
    for member in members:
        active = tuple(task for task in member.active if task not in ("0_0", "0_1"))  # type: ignore[attr-defined]
        if member.process_id == receiver and not is_given:  # type: ignore[attr-defined]
            active, is_given = (*active, "0_0", "0_1"), True
        moved.append(replace(member, active=active))  # type: ignore[type-var]
    return moved


def test_empty_group_is_not_reported_task_by_task() -> None:
    rule, polls = ProgressRule("shop"), PollSequence()
    for number in range(40):
        phase = GroupPhase.EMPTY if number > 3 else GroupPhase.STABLE
        poll = polls.poll(number * POLL_S, phase=phase, progress={} if number > 3 else progress(0, number))
        assert list(rule.observe(poll, FixedDowntimes())) == []
    assert rule.stalled_ms == {}


@pytest.mark.parametrize("committed", [None, 5])
def test_task_without_owner_is_an_alarm_after_the_predicted_downtime(committed: int | None) -> None:
    """Also without records and commits; the session of the recorded application times out after 45 s."""
    rule, polls = ProgressRule("shop"), PollSequence()
    offsets = {} if committed is None else progress(committed, committed, ("0_0", "0_1"))
    list(rule.observe(polls.poll(0, progress=offsets), FixedDowntimes()))
    members = tuple(_without_tasks(recorded_members(), ""))
    events = {
        at_s: list(rule.observe(polls.poll(at_s, members=members, progress=offsets), FixedDowntimes()))
        for at_s in range(POLL_S, 300, POLL_S)
    }
    raised = {at_s: [event.level for event in of_poll] for at_s, of_poll in events.items() if of_poll}
    limit_s = 45 if committed is None else DOWN_S
    first_s, alarm_s = sorted(raised)
    assert raised == {first_s: [EventLevel.INFO], alarm_s: [EventLevel.ALARM]}
    assert alarm_s - POLL_S - POLL_S < limit_s * 1.15 + SLACK_S <= alarm_s - POLL_S
    message = f"2 tasks without owner for {alarm_s - POLL_S} s (predicted: {limit_s} s): 0_0, 0_1"
    assert events[alarm_s][0].message.startswith(message[:40])
    assert events[alarm_s][0].details["tasks"][0]["process_id"] is None
    [resolved] = rule.observe(polls.poll(300, progress=offsets), FixedDowntimes())
    assert resolved.level is EventLevel.RESOLVED


def test_owners_of_a_rebalancing_classic_group_are_unknown() -> None:
    rule, polls = ProgressRule("shop"), PollSequence()
    for number in range(30):
        poll = polls.poll(number * POLL_S, members=(), phase=GroupPhase.REBALANCING, progress={})
        assert list(rule.observe(poll, FixedDowntimes())) == []
