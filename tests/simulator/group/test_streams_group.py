"""The legal and illegal transitions of the state machine of a streams group."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from simulator.errors import IllegalTransitionError
from simulator.group.classic_group import AwaitFirstMembers, ComputeAssignment, Member
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
