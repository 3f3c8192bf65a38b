"""The classic group's state machine: each transition, and each that cannot be."""

from __future__ import annotations

import pytest

from simulator.errors import IllegalTransitionError
from simulator.group.classic_group import (
    AssignmentReady,
    AwaitFirstMembers,
    AwaitMembers,
    CallMembers,
    ClassicGroupProtocolState,
    ComputeAssignment,
    FollowupDue,
    GroupEvent,
    InitialDelayOver,
    Instruction,
    Joined,
    Left,
    Member,
    Phase,
    RebalanceRequested,
    RebalanceTimedOut,
    Rejoined,
    ResendAssignment,
    SendAssignment,
)

A, B, C, D = (Member(name, 1) for name in "abcd")
A2, B2 = Member("a", 2), Member("b", 2)


def preparing_first(*members: Member, static: bool = False) -> ClassicGroupProtocolState:
    """A group that waits for its first members."""
    group = ClassicGroupProtocolState()
    for member in members:
        group.handle(Joined(member, static))
    return group


def stable(*members: Member, static: bool = False) -> ClassicGroupProtocolState:
    """A group in its first generation; the first member leads."""
    group = preparing_first(*members, static=static)
    while group.phase is Phase.PREPARING:
        group.handle(InitialDelayOver())
    group.handle(AssignmentReady(1))
    return group


def preparing(*members: Member, static: bool = False) -> ClassicGroupProtocolState:
    """A group whose members are called to its second rebalance, which the first has joined."""
    group = stable(*members, static=static)
    group.handle(RebalanceRequested([members[0]], "something"))
    return group


def completing(*members: Member, static: bool = False) -> ClassicGroupProtocolState:
    """A group whose leader computes its second generation."""
    group = stable(*members, static=static)
    group.handle(RebalanceRequested(members, "something"))
    return group


def computes(generation: int, *members: Member, leader: Member = A, reason: str) -> list[Instruction]:
    return [ComputeAssignment(generation, members, leader, reason)]


CALL_AGAIN: list[Instruction] = [CallMembers(2), AwaitMembers(2)]
CALL_ONCE_MORE: list[Instruction] = [CallMembers(3), AwaitMembers(3)]

GROUPS = {
    "empty": (ClassicGroupProtocolState, ()),
    "first": (preparing_first, (A, B)),
    "preparing": (preparing, (A, B)),
    "completing": (completing, (A, B)),
    "stable": (stable, (A, B)),
}

TRANSITIONS: list[tuple[str, GroupEvent, Phase, list[Instruction]]] = [
    ("empty", Joined(A), Phase.PREPARING, [AwaitFirstMembers()]),
    ("empty", Rejoined(0, [A]), Phase.EMPTY, []),
    ("empty", Rejoined(1, [A]), Phase.EMPTY, []),
    ("empty", RebalanceRequested([], "x"), Phase.EMPTY, []),
    ("empty", RebalanceRequested([A], "x"), Phase.EMPTY, []),
    ("empty", FollowupDue(0), Phase.EMPTY, []),
    ("empty", RebalanceTimedOut(0), Phase.EMPTY, []),
    ("first", Joined(C), Phase.PREPARING, []),
    ("first", Rejoined(1, [A, B]), Phase.PREPARING, []),
    ("first", RebalanceRequested([A], "x"), Phase.PREPARING, []),
    ("first", Left(B, "b left"), Phase.PREPARING, []),
    ("first", FollowupDue(0), Phase.PREPARING, []),
    ("first", InitialDelayOver(), Phase.PREPARING, [AwaitFirstMembers()]),
    ("first", RebalanceTimedOut(0), Phase.PREPARING, []),
    ("preparing", Joined(C), Phase.PREPARING, []),
    ("preparing", Rejoined(2, [B]), Phase.COMPLETING, computes(2, A, B, reason="something")),
    ("preparing", Rejoined(2, [A]), Phase.PREPARING, []),
    ("preparing", Rejoined(1, [B]), Phase.PREPARING, []),
    ("preparing", Rejoined(2, [B, D]), Phase.COMPLETING, computes(2, A, B, reason="something")),
    ("preparing", RebalanceRequested([A], "x"), Phase.PREPARING, []),
    ("preparing", RebalanceRequested([B], "x"), Phase.COMPLETING, computes(2, A, B, reason="something, x")),
    ("preparing", Left(B, "b left"), Phase.COMPLETING, computes(2, A, reason="something, b left")),
    ("preparing", Left(A, "a left"), Phase.PREPARING, []),
    ("preparing", FollowupDue(1), Phase.PREPARING, []),
    ("preparing", RebalanceTimedOut(2), Phase.COMPLETING, computes(2, A, reason="something")),
    ("preparing", RebalanceTimedOut(1), Phase.PREPARING, []),
    ("preparing", AssignmentReady(1), Phase.PREPARING, []),
    ("completing", Joined(C), Phase.PREPARING, CALL_ONCE_MORE),
    ("completing", Rejoined(2, [A]), Phase.COMPLETING, []),
    ("completing", RebalanceRequested([A], "x"), Phase.PREPARING, CALL_ONCE_MORE),
    ("completing", RebalanceRequested([A, B], "x"), Phase.COMPLETING, computes(3, A, B, reason="x")),
    ("completing", Left(B, "b left"), Phase.PREPARING, CALL_ONCE_MORE),
    ("completing", FollowupDue(2), Phase.COMPLETING, []),
    ("completing", FollowupDue(1), Phase.COMPLETING, []),
    ("completing", RebalanceTimedOut(2), Phase.COMPLETING, []),
    ("completing", AssignmentReady(2), Phase.STABLE, [SendAssignment(2)]),
    ("completing", AssignmentReady(1), Phase.COMPLETING, []),
    ("stable", Joined(C), Phase.PREPARING, CALL_AGAIN),
    ("stable", Rejoined(1, [A]), Phase.STABLE, []),
    ("stable", RebalanceRequested([B], "x"), Phase.PREPARING, CALL_AGAIN),
    ("stable", RebalanceRequested([A, B], "x"), Phase.COMPLETING, computes(2, A, B, reason="x")),
    ("stable", Left(B, "b left"), Phase.PREPARING, CALL_AGAIN),
    ("stable", FollowupDue(1), Phase.PREPARING, CALL_AGAIN),
    ("stable", FollowupDue(0), Phase.STABLE, []),
    ("stable", RebalanceTimedOut(1), Phase.STABLE, []),
    ("stable", AssignmentReady(0), Phase.STABLE, []),
]


@pytest.mark.parametrize(("where", "event", "phase", "instructions"), TRANSITIONS)
def test_an_event_leads_to_a_phase_and_to_instructions(
    where: str, event: GroupEvent, phase: Phase, instructions: list[Instruction]
) -> None:
    make, members = GROUPS[where]
    group = make(*members)
    assert group.handle(event) == instructions
    assert group.phase is phase


def test_the_table_of_transitions_has_every_event_in_every_phase() -> None:
    legal = {(where, type(event)) for where, event, _, _ in TRANSITIONS}
    illegal = {(where, type(event)) for where, event, _ in REFUSED}
    assert legal | illegal >= {(where, event) for where in GROUPS for event in GroupEvent.__args__}


REFUSED: list[tuple[str, GroupEvent, str]] = [
    ("empty", Left(A, "a left"), r"a cannot leave the group: it is not a member \(members: .*\)"),
    ("empty", InitialDelayOver(), r"a group that is empty does not wait for its first members"),
    ("empty", AssignmentReady(1), r"no assignment of generation 1 was requested"),
    ("first", Joined(A), r"a cannot join the group: it is already a member"),
    ("first", Left(C, "c left"), r"c cannot leave the group: it is not a member \(members: .*\)"),
    ("first", RebalanceRequested([C], "x"), r"c cannot request a rebalance: it is not in the group"),
    ("first", AssignmentReady(1), r"no assignment of generation 1 was requested"),
    ("preparing", Joined(B), r"b cannot join the group: it is already a member"),
    ("preparing", Left(A2, "a left"), r"a \(start 2\) cannot leave the group: it is not a member \(members: .*\)"),
    ("preparing", RebalanceRequested([A, C], "x"), r"c cannot request a rebalance: it is not in the group"),
    ("preparing", InitialDelayOver(), r"a group that is preparing a rebalance does not wait for its first members"),
    ("preparing", AssignmentReady(2), r"no assignment of generation 2 was requested"),
    ("completing", Joined(A), r"a cannot join the group: it is already a member"),
    ("completing", Left(C, "c left"), r"c cannot leave the group: it is not a member \(members: .*\)"),
    ("completing", RebalanceRequested([B2], "x"), r"b \(start 2\) cannot request a rebalance: it is not in the group"),
    ("completing", InitialDelayOver(), r"a group that is completing a rebalance does not wait for its first members"),
    ("completing", AssignmentReady(3), r"no assignment of generation 3 was requested"),
    ("stable", Joined(A), r"a cannot join the group: it is already a member"),
    ("stable", Left(C, "c left"), r"c cannot leave the group: it is not a member \(members: .*\)"),
    ("stable", RebalanceRequested([C], "x"), r"c cannot request a rebalance: it is not in the group"),
    ("stable", InitialDelayOver(), r"a group that is stable does not wait for its first members"),
    ("stable", AssignmentReady(1), r"no assignment of generation 1 was requested"),
    ("stable", AssignmentReady(2), r"no assignment of generation 2 was requested"),
]


@pytest.mark.parametrize(("where", "event", "words"), REFUSED)
def test_what_cannot_happen_in_a_phase_is_refused(where: str, event: GroupEvent, words: str) -> None:
    make, members = GROUPS[where]
    with pytest.raises(IllegalTransitionError, match=f"^{words}$"):
        make(*members).handle(event)


def test_an_empty_group_waits_as_long_as_more_members_come() -> None:
    group = preparing_first(A)
    group.handle(Joined(B))
    assert group.handle(InitialDelayOver()) == [AwaitFirstMembers()], "b came meanwhile"
    group.handle(Joined(C))
    assert group.handle(InitialDelayOver()) == [AwaitFirstMembers()], "c came meanwhile"
    assert group.handle(InitialDelayOver()) == computes(1, A, B, C, reason="a joined, b joined, c joined")


def test_members_that_leave_before_the_first_rebalance_take_no_part_in_it() -> None:
    group = preparing_first(A)
    group.handle(Left(A, "a left"))
    assert group.phase is Phase.PREPARING, "the delay is not over"
    group.handle(Joined(B))
    group.handle(InitialDelayOver())
    assert group.handle(InitialDelayOver()) == computes(1, B, leader=B, reason="a joined, a left, b joined")


def test_a_group_that_everybody_left_before_its_first_rebalance_is_empty() -> None:
    group = preparing_first(A)
    group.handle(Left(A, "a left"))
    assert group.handle(InitialDelayOver()) == []
    assert group.phase is Phase.EMPTY
    assert group.generation == 0


def test_members_join_with_their_heartbeat_and_the_last_one_completes() -> None:
    group = stable(A, B, C)
    assert group.handle(Joined(D)) == CALL_AGAIN
    assert group.handle(Rejoined(2, [A])) == []
    assert group.handle(Rejoined(2, [B, C])) == computes(2, A, B, C, D, reason="d joined")


def test_a_client_that_restarts_waits_until_its_old_self_is_missed() -> None:
    group = stable(A, B)
    assert group.handle(Joined(A2)) == CALL_AGAIN
    assert group.handle(Rejoined(2, [B])) == [], "nobody has heard of the old a"
    left = Left(A, "a: session timed out")
    assert group.handle(left) == computes(2, B, A2, leader=B, reason="a joined, a: session timed out")


def test_a_static_member_that_is_back_takes_its_place_without_a_rebalance() -> None:
    group = stable(A, B, static=True)
    assert group.handle(Joined(A2, is_static=True)) == [ResendAssignment(A2)]
    assert group.phase is Phase.STABLE
    assert list(group.members) == [A2, B]
    assert group.leader == A2
    assert group.generation == 1


def test_a_static_member_that_was_not_there_before_calls_for_a_rebalance() -> None:
    assert stable(A).handle(Joined(B, is_static=True)) == CALL_AGAIN


def test_a_dynamic_client_does_not_take_the_place_of_its_old_self() -> None:
    group = stable(A, B)
    assert group.handle(Joined(B2, is_static=True)) == CALL_AGAIN
    assert set(group.members) == {A, B, B2}


def test_a_static_member_that_is_back_joins_the_rebalance_that_is_being_prepared() -> None:
    group = preparing(A, B, static=True)
    assert group.handle(Joined(B2, is_static=True)) == computes(2, A, B2, reason="something, b is back")


def test_a_static_member_that_is_back_while_the_leader_computes_calls_for_another_rebalance() -> None:
    group = completing(A, B, static=True)
    assert group.handle(Joined(B2, is_static=True)) == CALL_ONCE_MORE
    assert group.handle(Rejoined(3, [A])) == computes(3, A, B2, reason="b is back")


def test_a_static_member_that_left_is_a_new_one_when_it_comes_back() -> None:
    group = stable(A, B, static=True)
    group.handle(Left(B, "b left"))
    assert group.handle(Rejoined(2, [A])) == computes(2, A, reason="b left")
    group.handle(AssignmentReady(2))
    assert group.handle(Joined(B2, is_static=True)) == CALL_ONCE_MORE


def test_the_leader_leads_as_long_as_it_is_there() -> None:
    group = stable(B, A)
    assert group.leader == B
    group.handle(RebalanceRequested([A], "x"))
    group.handle(Rejoined(2, [B]))
    assert group.leader == B


def test_after_the_leader_the_member_that_has_been_there_longest_leads() -> None:
    group = stable(C, A, B)
    group.handle(Left(C, "c left"))
    assert group.leader is None
    assert group.handle(Rejoined(2, [A, B])) == computes(2, A, B, leader=A, reason="c left")


def test_who_does_not_join_within_the_rebalance_timeout_is_no_member_any_more() -> None:
    group = preparing(A, B, C)
    group.handle(Rejoined(2, [C]))
    assert group.handle(RebalanceTimedOut(2)) == computes(2, A, C, reason="something")
    with pytest.raises(IllegalTransitionError, match=r"^b cannot leave"):
        group.handle(Left(B, "b: session timed out"))


def test_a_leader_that_does_not_join_does_not_lead_any_more() -> None:
    group = stable(A, B)
    group.handle(Joined(C))
    group.handle(Rejoined(2, [B]))
    assert group.handle(RebalanceTimedOut(2)) == computes(2, B, C, leader=B, reason="c joined")


def test_a_static_member_that_does_not_join_stays_a_member_until_its_session_times_out() -> None:
    group = stable(A, B, C, static=True)
    group.handle(Joined(D))
    group.handle(Rejoined(2, [B, C]))
    completed = group.handle(RebalanceTimedOut(2))
    assert completed == computes(2, A, B, C, D, leader=B, reason="d joined"), "but it cannot lead"
    group.handle(AssignmentReady(2))
    assert group.handle(Joined(A2, is_static=True)) == [ResendAssignment(A2)], "and finds its place when it is back"
    assert group.leader == B


def test_a_rebalance_that_no_member_joins_goes_on_until_one_does() -> None:
    group = stable(A, B, static=True)
    group.handle(Left(B, "b left"))
    assert group.handle(RebalanceTimedOut(2)) == [AwaitMembers(2)]
    assert group.phase is Phase.PREPARING
    assert group.handle(Joined(A2, is_static=True)) == computes(2, A2, leader=A2, reason="b left, a is back")


def test_an_assignment_is_dropped_when_somebody_joined_while_it_was_computed() -> None:
    group = completing(A, B)
    group.handle(Joined(C))
    assert group.handle(AssignmentReady(2)) == []
    assert group.handle(Rejoined(3, [A, B])) == computes(3, A, B, C, reason="c joined")
    assert group.handle(AssignmentReady(2)) == [], "it comes too late"
    assert group.handle(AssignmentReady(3)) == [SendAssignment(3)]


def test_a_follow_up_is_asked_for_by_the_leader_in_its_own_generation_only() -> None:
    group = completing(A, B)
    group.handle(AssignmentReady(2))
    assert group.handle(FollowupDue(1)) == []
    assert group.handle(FollowupDue(2)) == CALL_ONCE_MORE
    assert group.members == {A: True, B: False}
    assert group.handle(FollowupDue(2)) == [], "it is being prepared already"


def test_a_group_that_everybody_left_is_empty_and_starts_anew() -> None:
    group = stable(A)
    assert group.handle(Left(A, "a left")) == []
    assert group.phase is Phase.EMPTY
    assert group.leader is None
    assert group.handle(Joined(B)) == [AwaitFirstMembers()]
    assert group.handle(InitialDelayOver()) == computes(2, B, leader=B, reason="b joined")


def test_a_rebalance_is_told_by_all_its_reasons_each_once() -> None:
    group = stable(A, B, C)
    group.handle(RebalanceRequested([A], "configs changed"))
    group.handle(RebalanceRequested([A], "configs changed"))
    assert group.handle(Rejoined(2, [B, C])) == computes(2, A, B, C, reason="configs changed")
