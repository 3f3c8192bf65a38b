"""States of the group and its members."""

from __future__ import annotations

import pytest

from scenarios.kafka.observation.observation import GroupPhase
from scenarios.watch.rules import GroupStates
from scenarios.watch.watch_events import EventKind, EventLevel
from tests.scenarios.watch.watched_groups import PollSequence, recorded_group

REBALANCING = {"phase": GroupPhase.REBALANCING, "state": "PreparingRebalance", "members": ()}


def test_change_of_the_state_is_reported_once() -> None:
    rule, polls = GroupStates("shop"), PollSequence()
    messages = [
        [event.message for event in rule.observe(polls.poll(at_s, **changes))]  # type: ignore[arg-type]
        for at_s, changes in ((0, {}), (30, {}), (60, REBALANCING), (90, REBALANCING), (120, {}))
    ]
    assert messages == [
        ["shop: Stable, 6 members"],
        [],
        ["shop: Stable -> PreparingRebalance, 6 members"],
        [],
        ["shop: PreparingRebalance -> Stable, 6 members"],
    ]


@pytest.mark.parametrize(
    ("phase", "kind"), [(GroupPhase.EMPTY, EventKind.GROUP_EMPTY), (GroupPhase.GONE, EventKind.GROUP_GONE)]
)
def test_group_without_members_is_an_alarm_until_it_has_some(phase: GroupPhase, kind: EventKind) -> None:
    rule, polls = GroupStates("shop"), PollSequence()
    changes = {"phase": phase, "state": "Empty", "members": (), "member_ids": ()}
    events = [*rule.observe(polls.poll(0)), *rule.observe(polls.poll(30, **changes))]  # type: ignore[arg-type]
    assert [event.kind for event in events if event.level is EventLevel.ALARM] == [kind]
    assert rule.alarms[kind]
    assert list(rule.observe(polls.poll(60, **changes))) == []  # type: ignore[arg-type]
    assert [event.kind for event in rule.observe(polls.poll(90)) if event.level is EventLevel.RESOLVED] == [kind]


def test_rebalance_is_an_alarm_when_members_have_no_time_left_to_join() -> None:
    """`max.poll.interval.ms` is 5 minutes by default."""
    rule, polls = GroupStates("shop"), PollSequence()
    raised = [
        at_s
        for at_s in range(0, 600, 30)
        for event in rule.observe(polls.poll(at_s, **REBALANCING))  # type: ignore[arg-type]
        if event.level is EventLevel.ALARM
    ]
    assert raised == [330]
    assert [event.level for event in rule.observe(polls.poll(600))] == [EventLevel.INFO, EventLevel.RESOLVED]


def test_error_code_is_an_alarm() -> None:
    rule, polls = GroupStates("shop"), PollSequence()
    events = list(rule.observe(polls.poll(0, error_code=1)))
    assert [event.kind for event in events if event.level is EventLevel.ALARM] == [EventKind.ASSIGNMENT_ERROR]
    assert "error 1" in events[-1].message


def test_processes_that_join_and_leave_are_named() -> None:
    rule, polls = GroupStates("shop"), PollSequence()
    members = recorded_group()[1].members
    first = members[0].process_id
    without = tuple(member for member in members if member.process_id != first)
    list(rule.observe(polls.poll(0)))
    [left] = rule.observe(polls.poll(30, members=without))
    [joined] = rule.observe(polls.poll(60, members=members))
    name = members[0].client_id[:13]
    assert (left.message, joined.message) == (f"left: {name} (2 processes)", f"joined: {name} (3 processes)")
    assert left.details == {"joined": [], "left": [name], "processes": 2}


def test_members_of_a_rebalancing_classic_group_are_unknown_and_did_not_leave() -> None:
    rule, polls = GroupStates("shop"), PollSequence()
    list(rule.observe(polls.poll(0)))
    events = [*rule.observe(polls.poll(30, **REBALANCING)), *rule.observe(polls.poll(60))]  # type: ignore[arg-type]
    assert EventKind.MEMBERS not in {event.kind for event in events}
