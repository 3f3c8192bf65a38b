"""The group's state machine: each transition, and each that cannot be."""

from __future__ import annotations

import pytest

from simulator.errors import IllegalTransitionError
from simulator.group import (
    Assigned,
    AwaitMembers,
    ComputeAssignment,
    FollowupDue,
    Group,
    InputChanged,
    JoinDelayOver,
    MemberGone,
    MemberJoined,
    Phase,
    ScheduleFollowup,
)


def stable(*members: str, followup_ms: int | None = None) -> Group:
    group = Group(initial_delay_ms=3000)
    for member in members:
        group.handle(MemberJoined(member))
    if len(members) > 1:
        group.handle(JoinDelayOver())
    group.handle(JoinDelayOver())
    group.handle(Assigned(followup_ms))
    return group


def test_an_empty_group_waits_for_more_members_before_its_first_assignment() -> None:
    group = Group(initial_delay_ms=3000)
    assert group.handle(MemberJoined("a")) == [AwaitMembers(3000)]
    assert group.handle(MemberJoined("b")) == []
    assert group.handle(JoinDelayOver()) == [AwaitMembers(3000)], "somebody joined meanwhile, so it waits once more"
    assert group.handle(JoinDelayOver()) == [ComputeAssignment(1, ("a", "b"), "a joined, b joined")]
    assert group.handle(Assigned(None)) == []
    assert group.phase is Phase.STABLE


def test_a_stable_group_rebalances_at_once_when_a_member_joins() -> None:
    group = stable("a")
    assert group.handle(MemberJoined("b")) == [AwaitMembers(0)]
    assert group.handle(JoinDelayOver()) == [ComputeAssignment(2, ("a", "b"), "b joined")]


def test_a_member_that_restarts_is_not_counted_twice() -> None:
    group = stable("a", "b")
    group.handle(MemberJoined("a"))
    assert group.handle(JoinDelayOver()) == [ComputeAssignment(2, ("a", "b"), "a joined")]


def test_a_follow_up_prepares_a_rebalance_only_in_its_own_generation() -> None:
    group = stable("a")
    group.handle(MemberJoined("b"))
    group.handle(JoinDelayOver())
    assert group.handle(Assigned(600_000)) == [ScheduleFollowup(2, 600_000)]
    assert group.handle(FollowupDue(1)) == []
    assert group.handle(FollowupDue(2)) == [AwaitMembers(0)]
    assert group.handle(FollowupDue(2)) == [], "it is preparing already"


def test_what_happens_while_the_leader_computes_prepares_the_next_rebalance() -> None:
    group = stable("a")
    group.handle(InputChanged("configs changed"))
    group.handle(JoinDelayOver())
    assert group.phase is Phase.ASSIGNING
    assert group.handle(MemberJoined("b")) == []
    assert group.handle(Assigned(600_000)) == [AwaitMembers(0)]
    assert group.handle(JoinDelayOver()) == [ComputeAssignment(3, ("a", "b"), "b joined")]


def test_a_group_that_everybody_left_is_empty() -> None:
    group = stable("a")
    group.handle(MemberGone("a"))
    assert group.handle(JoinDelayOver()) == []
    assert group.phase is Phase.EMPTY
    assert group.handle(InputChanged("configs changed")) == []
    assert group.handle(MemberJoined("b")) == [AwaitMembers(3000)]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (MemberGone("z"), "z cannot leave the group: its members are a"),
        (JoinDelayOver(), "a group that is stable is not waiting for members"),
        (Assigned(None), "a group that is stable is not waiting for an assignment"),
    ],
)
def test_what_cannot_happen_to_a_stable_group_is_refused(event: object, message: str) -> None:
    with pytest.raises(IllegalTransitionError, match=message):
        stable("a").handle(event)  # type: ignore[arg-type]
