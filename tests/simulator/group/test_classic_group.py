"""The legal and illegal transitions of the state machine of a classic group."""

from __future__ import annotations

import pytest

from simulator.errors import IllegalTransitionError
from simulator.group.classic_group import ClassicGroupProtocolState, Phase
from simulator.group.group_events import (
    AssignmentReady,
    AwaitFirstMembers,
    AwaitMembers,
    CallMembers,
    ComputeAssignment,
    FollowupDue,
    GroupEvent,
    InitialDelayOver,
    Instruction,
    Joined,
    Left,
    Member,
    RebalanceRequested,
    RebalanceTimedOut,
    Rejoined,
    ResendAssignment,
    SendAssignment,
)

A, B, C, D = (Member(name, 1) for name in "abcd")
A2, B2 = Member("a", 2), Member("b", 2)


def waiting_for_first_members(*members: Member, static: bool = False) -> ClassicGroupProtocolState:
    """Return a group that waits for its first members."""
    group = ClassicGroupProtocolState()
    for member in members:
        group.handle(Joined(member, static))
    return group


def stable_group(*members: Member, static: bool = False) -> ClassicGroupProtocolState:
    """Return a stable group in its first generation; the first member leads."""
    group = waiting_for_first_members(*members, static=static)
    while group.phase is Phase.PREPARING:
        group.handle(InitialDelayOver())
    group.handle(AssignmentReady(1))
    return group


def preparing_group(*members: Member, static: bool = False) -> ClassicGroupProtocolState:
    """Return a group that prepares its second rebalance, which the first member has joined."""
    group = stable_group(*members, static=static)
    group.handle(RebalanceRequested([members[0]], "configs changed"))
    return group


def completing_group(*members: Member, static: bool = False) -> ClassicGroupProtocolState:
    """Return a group whose leader computes the assignment of its second generation."""
    group = stable_group(*members, static=static)
    group.handle(RebalanceRequested(members, "configs changed"))
    return group


def computes(generation: int, *members: Member, leader: Member = A, reason: str) -> list[Instruction]:
    return [ComputeAssignment(generation, members, leader, reason)]


BEGIN_SECOND_REBALANCE: list[Instruction] = [CallMembers(2), AwaitMembers(2)]
BEGIN_THIRD_REBALANCE: list[Instruction] = [CallMembers(3), AwaitMembers(3)]

GROUPS = {
    "empty": (ClassicGroupProtocolState, ()),
    "first": (waiting_for_first_members, (A, B)),
    "preparing": (preparing_group, (A, B)),
    "completing": (completing_group, (A, B)),
    "stable": (stable_group, (A, B)),
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
    ("preparing", Rejoined(2, [B]), Phase.COMPLETING, computes(2, A, B, reason="configs changed")),
    ("preparing", Rejoined(2, [A]), Phase.PREPARING, []),
    ("preparing", Rejoined(1, [B]), Phase.PREPARING, []),
    ("preparing", Rejoined(2, [B, D]), Phase.COMPLETING, computes(2, A, B, reason="configs changed")),
    ("preparing", RebalanceRequested([A], "x"), Phase.PREPARING, []),
    ("preparing", RebalanceRequested([B], "x"), Phase.COMPLETING, computes(2, A, B, reason="configs changed, x")),
    ("preparing", Left(B, "b left"), Phase.COMPLETING, computes(2, A, reason="configs changed, b left")),
    ("preparing", Left(A, "a left"), Phase.PREPARING, []),
    ("preparing", FollowupDue(1), Phase.PREPARING, []),
    ("preparing", RebalanceTimedOut(2), Phase.COMPLETING, computes(2, A, reason="configs changed")),
    ("preparing", RebalanceTimedOut(1), Phase.PREPARING, []),
    ("preparing", AssignmentReady(1), Phase.PREPARING, []),
    ("completing", Joined(C), Phase.PREPARING, BEGIN_THIRD_REBALANCE),
    ("completing", Rejoined(2, [A]), Phase.COMPLETING, []),
    ("completing", RebalanceRequested([A], "x"), Phase.PREPARING, BEGIN_THIRD_REBALANCE),
    ("completing", RebalanceRequested([A, B], "x"), Phase.COMPLETING, computes(3, A, B, reason="x")),
    ("completing", Left(B, "b left"), Phase.PREPARING, BEGIN_THIRD_REBALANCE),
    ("completing", FollowupDue(2), Phase.COMPLETING, []),
    ("completing", FollowupDue(1), Phase.COMPLETING, []),
    ("completing", RebalanceTimedOut(2), Phase.COMPLETING, []),
    ("completing", AssignmentReady(2), Phase.STABLE, [SendAssignment(2)]),
    ("completing", AssignmentReady(1), Phase.COMPLETING, []),
    ("stable", Joined(C), Phase.PREPARING, BEGIN_SECOND_REBALANCE),
    ("stable", Rejoined(1, [A]), Phase.STABLE, []),
    ("stable", RebalanceRequested([B], "x"), Phase.PREPARING, BEGIN_SECOND_REBALANCE),
    ("stable", RebalanceRequested([A, B], "x"), Phase.COMPLETING, computes(2, A, B, reason="x")),
    ("stable", Left(B, "b left"), Phase.PREPARING, BEGIN_SECOND_REBALANCE),
    ("stable", FollowupDue(1), Phase.PREPARING, BEGIN_SECOND_REBALANCE),
    ("stable", FollowupDue(0), Phase.STABLE, []),
    ("stable", RebalanceTimedOut(1), Phase.STABLE, []),
    ("stable", AssignmentReady(0), Phase.STABLE, []),
]


@pytest.mark.parametrize(("state", "event", "phase", "instructions"), TRANSITIONS)
def test_transition(state: str, event: GroupEvent, phase: Phase, instructions: list[Instruction]) -> None:
    make_group, members = GROUPS[state]
    group = make_group(*members)
    assert group.handle(event) == instructions
    assert group.phase is phase


def test_every_event_is_tested_in_every_phase() -> None:
    legal = {(state, type(event)) for state, event, _, _ in TRANSITIONS}
    illegal = {(state, type(event)) for state, event, _ in ILLEGAL_TRANSITIONS}
    assert legal | illegal >= {(state, event) for state in GROUPS for event in GroupEvent.__args__}


ILLEGAL_TRANSITIONS: list[tuple[str, GroupEvent, str]] = [
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


@pytest.mark.parametrize(("state", "event", "message"), ILLEGAL_TRANSITIONS)
def test_illegal_transition_is_rejected(state: str, event: GroupEvent, message: str) -> None:
    make_group, members = GROUPS[state]
    with pytest.raises(IllegalTransitionError, match=f"^{message}$"):
        make_group(*members).handle(event)


def test_initial_delay_is_extended_while_members_join() -> None:
    group = waiting_for_first_members(A)
    group.handle(Joined(B))
    assert group.handle(InitialDelayOver()) == [AwaitFirstMembers()], "b joined during the delay"
    group.handle(Joined(C))
    assert group.handle(InitialDelayOver()) == [AwaitFirstMembers()], "c joined during the delay"
    assert group.handle(InitialDelayOver()) == computes(1, A, B, C, reason="a joined, b joined, c joined")


def test_member_that_left_during_initial_delay_is_not_assigned() -> None:
    group = waiting_for_first_members(A)
    group.handle(Left(A, "a left"))
    assert group.phase is Phase.PREPARING, "the delay is not over"
    group.handle(Joined(B))
    group.handle(InitialDelayOver())
    assert group.handle(InitialDelayOver()) == computes(1, B, leader=B, reason="a joined, a left, b joined")


def test_group_is_empty_if_all_members_left_during_initial_delay() -> None:
    group = waiting_for_first_members(A)
    group.handle(Left(A, "a left"))
    assert group.handle(InitialDelayOver()) == []
    assert group.phase is Phase.EMPTY
    assert group.generation == 0


def test_rebalance_completes_when_last_member_rejoins() -> None:
    group = stable_group(A, B, C)
    assert group.handle(Joined(D)) == BEGIN_SECOND_REBALANCE
    assert group.handle(Rejoined(2, [A])) == []
    assert group.handle(Rejoined(2, [B, C])) == computes(2, A, B, C, D, reason="d joined")


def test_restarted_dynamic_client_waits_for_session_timeout_of_old_member() -> None:
    group = stable_group(A, B)
    assert group.handle(Joined(A2)) == BEGIN_SECOND_REBALANCE
    assert group.handle(Rejoined(2, [B])) == [], "the old member a has not rejoined"
    left = Left(A, "a: session timed out")
    assert group.handle(left) == computes(2, B, A2, leader=B, reason="a joined, a: session timed out")


def test_returning_static_member_gets_its_assignment_without_rebalance() -> None:
    group = stable_group(A, B, static=True)
    assert group.handle(Joined(A2, is_static=True)) == [ResendAssignment(A2)]
    assert group.phase is Phase.STABLE
    assert list(group.members) == [A2, B]
    assert group.leader == A2
    assert group.generation == 1


def test_new_static_member_starts_a_rebalance() -> None:
    assert stable_group(A).handle(Joined(B, is_static=True)) == BEGIN_SECOND_REBALANCE


def test_restarted_client_does_not_replace_its_dynamic_member() -> None:
    group = stable_group(A, B)
    assert group.handle(Joined(B2, is_static=True)) == BEGIN_SECOND_REBALANCE
    assert set(group.members) == {A, B, B2}


def test_returning_static_member_joins_rebalance_in_preparation() -> None:
    group = preparing_group(A, B, static=True)
    assert group.handle(Joined(B2, is_static=True)) == computes(2, A, B2, reason="configs changed, b is back")


def test_returning_static_member_starts_new_rebalance_while_leader_computes() -> None:
    group = completing_group(A, B, static=True)
    assert group.handle(Joined(B2, is_static=True)) == BEGIN_THIRD_REBALANCE
    assert group.handle(Rejoined(3, [A])) == computes(3, A, B2, reason="b is back")


def test_static_member_that_left_returns_as_new_member() -> None:
    group = stable_group(A, B, static=True)
    group.handle(Left(B, "b left"))
    assert group.handle(Rejoined(2, [A])) == computes(2, A, reason="b left")
    group.handle(AssignmentReady(2))
    assert group.handle(Joined(B2, is_static=True)) == BEGIN_THIRD_REBALANCE


def test_leader_stays_while_it_is_a_member() -> None:
    group = stable_group(B, A)
    assert group.leader == B
    group.handle(RebalanceRequested([A], "x"))
    group.handle(Rejoined(2, [B]))
    assert group.leader == B


def test_first_in_the_hash_table_succeeds_leader_that_left() -> None:
    group = stable_group(C, A, B)
    group.hash_order = {A: 2, B: 1, C: 0}.__getitem__
    group.handle(Left(C, "c left"))
    assert group.leader == B
    assert group.handle(Rejoined(2, [A, B])) == computes(2, A, B, leader=B, reason="c left")


def test_first_that_has_joined_succeeds_leader_that_does_not_join() -> None:
    group = preparing_group(A, B, C, D)
    group.hash_order = {A: 1, B: 0, C: 3, D: 2}.__getitem__
    group.handle(Left(A, "a left"))
    assert group.leader == B
    group.handle(Rejoined(2, [C, D]))
    assert group.handle(RebalanceTimedOut(2)) == computes(2, C, D, leader=D, reason="configs changed, a left")


def test_any_member_leads_a_running_group() -> None:
    order = {A: 1, B: 0, C: 2}.__getitem__
    group = ClassicGroupProtocolState.running(dict.fromkeys((A, B, C), False), hash_order=order)
    assert group.leader == B


def test_dynamic_member_that_misses_the_rebalance_timeout_is_removed() -> None:
    group = preparing_group(A, B, C)
    group.handle(Rejoined(2, [C]))
    assert group.handle(RebalanceTimedOut(2)) == computes(2, A, C, reason="configs changed")
    with pytest.raises(IllegalTransitionError, match=r"^b cannot leave"):
        group.handle(Left(B, "b: session timed out"))


def test_leader_that_misses_the_rebalance_timeout_is_replaced() -> None:
    group = stable_group(A, B)
    group.handle(Joined(C))
    group.handle(Rejoined(2, [B]))
    assert group.handle(RebalanceTimedOut(2)) == computes(2, B, C, leader=B, reason="c joined")


def test_static_member_that_misses_the_rebalance_timeout_stays_a_member() -> None:
    group = stable_group(A, B, C, static=True)
    group.handle(Joined(D))
    group.handle(Rejoined(2, [B, C]))
    completed = group.handle(RebalanceTimedOut(2))
    assert completed == computes(2, A, B, C, D, leader=B, reason="d joined"), "a member that has not joined cannot lead"
    group.handle(AssignmentReady(2))
    assert group.handle(Joined(A2, is_static=True)) == [ResendAssignment(A2)], "it keeps its assignment when it returns"
    assert group.leader == B


def test_rebalance_without_joined_members_is_extended() -> None:
    group = stable_group(A, B, static=True)
    group.handle(Left(B, "b left"))
    assert group.handle(RebalanceTimedOut(2)) == [AwaitMembers(2)]
    assert group.phase is Phase.PREPARING
    assert group.handle(Joined(A2, is_static=True)) == computes(2, A2, leader=A2, reason="b left, a is back")


def test_assignment_is_discarded_if_a_member_joined_during_its_computation() -> None:
    group = completing_group(A, B)
    group.handle(Joined(C))
    assert group.handle(AssignmentReady(2)) == []
    assert group.handle(Rejoined(3, [A, B])) == computes(3, A, B, C, reason="c joined")
    assert group.handle(AssignmentReady(2)) == [], "the generation is outdated"
    assert group.handle(AssignmentReady(3)) == [SendAssignment(3)]


def test_followup_of_an_earlier_generation_is_ignored() -> None:
    group = completing_group(A, B)
    group.handle(AssignmentReady(2))
    assert group.handle(FollowupDue(1)) == []
    assert group.handle(FollowupDue(2)) == BEGIN_THIRD_REBALANCE
    assert group.members == {A: True, B: False}
    assert group.handle(FollowupDue(2)) == [], "the rebalance is already in preparation"


def test_group_without_members_restarts_with_initial_delay() -> None:
    group = stable_group(A)
    assert group.handle(Left(A, "a left")) == []
    assert group.phase is Phase.EMPTY
    assert group.leader is None
    assert group.handle(Joined(B)) == [AwaitFirstMembers()]
    assert group.handle(InitialDelayOver()) == computes(2, B, leader=B, reason="b joined")


def test_reason_of_rebalance_lists_each_reason_once() -> None:
    group = stable_group(A, B, C)
    group.handle(RebalanceRequested([A], "configs changed"))
    group.handle(RebalanceRequested([A], "configs changed"))
    assert group.handle(Rejoined(2, [B, C])) == computes(2, A, B, C, reason="configs changed")
