"""The legal and illegal transitions of the state machine of a streams group."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from simulator.errors import IllegalTransitionError
from simulator.group.group_events import AwaitFirstMembers, ComputeAssignment, Member
from simulator.group.streams_group import ComputeTarget, Instruction, StreamsGroupProtocolState

NAMES = "abcd"

A, B, C = (Member(name, 1) for name in "abc")
A2 = Member("a", 2)


def waiting_group(*members: Member) -> StreamsGroupProtocolState:
    """Return a group that waits for its first members."""
    group = StreamsGroupProtocolState()
    for member in members:
        group.join(member)
    return group


def group_with_target(*members: Member) -> StreamsGroupProtocolState:
    """Return a group that has its first target."""
    group = waiting_group(*members)
    group.end_initial_delay()
    group.take_target()
    return group


def test_first_member_starts_the_initial_delay() -> None:
    group = StreamsGroupProtocolState()
    assert group.join(A) == [AwaitFirstMembers()]
    assert group.join(B) == [], "the initial delay has already begun"
    assert group.is_waiting
    assert group.take_target() is None
    assert group.end_initial_delay() == [ComputeTarget(awaits_heartbeat=False)]
    assert group.take_target() == ComputeAssignment(1, (A, B), A, "a joined, b joined")
    assert not group.is_waiting


def test_member_that_left_during_initial_delay_is_not_assigned() -> None:
    group = waiting_group(A, B)
    assert group.leave(A, "a left") == []
    group.end_initial_delay()
    assert group.take_target() == ComputeAssignment(1, (B,), B, "a joined, b joined, a left")


def test_initial_delay_continues_if_all_members_left() -> None:
    group = waiting_group(A)
    group.leave(A, "a left")
    assert group.join(B) == [], "the initial delay has already begun"
    assert group.end_initial_delay() == [ComputeTarget(awaits_heartbeat=False)]
    assert group.take_target() == ComputeAssignment(1, (B,), B, "a joined, a left, b joined")


def test_group_without_members_has_no_target() -> None:
    group = waiting_group(A)
    group.leave(A, "a left")
    group.end_initial_delay()
    assert group.take_target() is None
    assert group.epoch == 0
    assert not group.is_waiting


def test_group_without_members_restarts_with_initial_delay() -> None:
    group = group_with_target(A)
    group.leave(A, "a left")
    group.take_target()
    assert group.join(B) == [AwaitFirstMembers()]
    group.end_initial_delay()
    assert group.take_target() == ComputeAssignment(2, (B,), B, "b joined")


def test_join_and_leave_request_a_target() -> None:
    group = group_with_target(A)
    assert group.join(B) == [ComputeTarget()]
    assert group.take_target() == ComputeAssignment(2, (A, B), A, "b joined")
    assert group.leave(A, "a left") == [ComputeTarget()]
    assert group.take_target() == ComputeAssignment(3, (B,), B, "a left")


def test_simultaneous_changes_share_one_target() -> None:
    group = group_with_target(A)
    group.join(B)
    group.join(C)
    group.leave(B, "b left")
    assert group.take_target() == ComputeAssignment(2, (A, C), A, "b joined, c joined, b left")
    assert group.take_target() is None, "no further target was requested"


def test_restarted_client_is_a_new_member() -> None:
    group = group_with_target(A, B)
    assert group.join(A2) == [ComputeTarget()]
    assert group.members == [A, B, A2]


def static_group() -> StreamsGroupProtocolState:
    """Return a group of two static members that has its first target."""
    group = StreamsGroupProtocolState()
    for member in (A, B):
        group.join(member, is_static=True)
    group.end_initial_delay()
    group.take_target()
    return group


def test_static_member_replaces_the_released_one_without_a_target() -> None:
    group = static_group()
    group.release(A)
    assert group.members == [A, B], "it stays a member"
    assert (group.predecessor(A2), group.is_released(A)) == (A, True)
    assert group.join(A2, is_static=True) == []
    assert group.members == [A2, B]
    assert not group.is_waiting


def test_static_member_of_another_process_requests_a_target() -> None:
    group = static_group()
    group.release(A)
    assert group.join(A2, is_static=True, is_changed=True) == [ComputeTarget()]
    assert group.take_target() == ComputeAssignment(2, (A2, B), A2, "a is back as another process")


def test_static_member_that_timed_out_is_replaced_by_a_new_member() -> None:
    group = static_group()
    group.release(A)
    assert group.leave(A, "a: session timed out") == [ComputeTarget()]
    assert group.predecessor(A2) is None
    assert group.join(A2, is_static=True) == [ComputeTarget()]
    assert group.take_target() == ComputeAssignment(2, (B, A2), B, "a: session timed out, a joined")


def test_instance_id_of_a_member_that_has_not_closed_is_refused() -> None:
    with pytest.raises(IllegalTransitionError, match=r"^a cannot join the group: its instance id is in use$"):
        static_group().join(A2, is_static=True)
    with pytest.raises(IllegalTransitionError, match=r"^a cannot leave temporarily: it is not a static member$"):
        group_with_target(A).release(A)


def test_illegal_transition_is_rejected() -> None:
    with pytest.raises(IllegalTransitionError, match=r"^a cannot join the group: it is already a member$"):
        group_with_target(A).join(A)
    with pytest.raises(IllegalTransitionError, match=r"^b cannot leave the group: it is not a member$"):
        group_with_target(A).leave(B, "b left")
    with pytest.raises(IllegalTransitionError, match=r"^a group that has a target does not wait for its first"):
        group_with_target(A).end_initial_delay()
    with pytest.raises(IllegalTransitionError, match=r"does not wait for its first members$"):
        StreamsGroupProtocolState().end_initial_delay()


class StreamsGroupMachine(RuleBasedStateMachine):
    """Members join and leave; requested delays and targets end at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.group = StreamsGroupProtocolState()
        self.starts = dict.fromkeys(NAMES, 0)
        self.first_delays = 0
        self.pending_targets = 0
        self.epoch = 0
        self.assigned: list[Member] = []

    def execute(self, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            if instruction == AwaitFirstMembers():
                self.first_delays += 1
            else:
                self.pending_targets += 1
        assert self.first_delays <= 1, "one delay at a time"

    @rule(name=st.sampled_from(NAMES))
    def start_client(self, name: str) -> None:
        self.starts[name] += 1
        self.execute(self.group.join(Member(name, self.starts[name])))

    @precondition(lambda self: self.group.members)
    @rule(data=st.data())
    def remove_member(self, data: st.DataObject) -> None:
        self.execute(self.group.leave(data.draw(st.sampled_from(self.group.members)), "left"))

    @precondition(lambda self: self.first_delays)
    @rule()
    def end_initial_delay(self) -> None:
        self.first_delays -= 1
        self.execute(self.group.end_initial_delay())

    @precondition(lambda self: self.pending_targets)
    @rule()
    def take_target(self) -> None:
        self.pending_targets -= 1
        instruction = self.group.take_target()
        if instruction is not None:
            assert instruction.generation == self.epoch + 1
            assert instruction.leader in instruction.members
            self.epoch = instruction.generation
            self.assigned = [*instruction.members]

    @invariant()
    def every_change_leads_to_a_target(self) -> None:
        assert self.group.epoch == self.epoch
        assert self.group.is_waiting <= bool(self.pending_targets or self.first_delays), (
            "a group that waits has a delay or a target pending"
        )
        if not self.group.is_waiting and self.group.members:
            assert {member.client for member in self.group.members} == {member.client for member in self.assigned}


TestStreamsGroup = StreamsGroupMachine.TestCase
TestStreamsGroup.settings = settings(max_examples=60, stateful_step_count=30)


def converted_group(*members: Member, static: bool = False) -> StreamsGroupProtocolState:
    """Return a group that was converted in generation 5, whose members have the classic protocol."""
    return StreamsGroupProtocolState.running(dict.fromkeys(members, static), epoch=5, classic=members)


def test_members_of_the_classic_protocol_rejoin_for_each_target() -> None:
    group = converted_group(A, B)
    assert not group.is_outdated(A)
    assert group.join(C) == [ComputeTarget()]
    assert group.take_target() == ComputeAssignment(6, (A, B, C), A, "c joined")
    assert [group.is_outdated(member) for member in (A, B, C)] == [True, True, False]
    group.rejoin(A)
    assert [group.is_outdated(member) for member in (A, B)] == [False, True]
    group.rejoin_all()
    assert not group.is_outdated(B)
    with pytest.raises(IllegalTransitionError, match="not a member of the classic protocol"):
        group.rejoin(C)


def test_member_of_the_classic_protocol_joins_with_the_next_target() -> None:
    group = converted_group(A)
    group.join(B)
    group.take_target()
    assert group.join(C, is_classic=True) == [ComputeTarget()]
    assert group.is_outdated(C)
    group.rejoin(C)
    assert not group.is_outdated(C)


def test_static_member_of_the_classic_protocol_can_be_replaced_at_any_time() -> None:
    group = converted_group(A, B, static=True)
    assert group.is_released(A)
    assert group.join(A2, is_static=True) == []
    assert group.members == [A2, B]
    assert list(group.classic) == [B]
    assert not group.is_released(A2)
    with pytest.raises(IllegalTransitionError, match="its instance id is in use"):
        group.join(Member("a", 3), is_static=True)
    assert group.join(Member("a", 4), is_static=True, is_classic=True) == [], "it is replaced by the other protocol"
    assert list(group.classic) == [B, Member("a", 4)]


def test_departure_that_leaves_only_members_of_the_classic_protocol() -> None:
    group = converted_group(A, B)
    group.join(C)
    assert group.is_classic_without(C)
    assert not group.is_classic_without(A)
    group.leave(A, "a left")
    group.leave(B, "b left")
    assert not group.is_classic_without(C), "no member remains"
    assert not group.classic


def test_static_member_that_replaces_the_last_one_of_the_other_protocol() -> None:
    group = converted_group(A, B, static=True)
    group.join(A2, is_static=True)
    assert group.is_classic_with([Member("a", 3)])
    assert not group.is_classic_with([C])
    assert StreamsGroupProtocolState().is_classic_with([C]), "an empty group has any protocol"
