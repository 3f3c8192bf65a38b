"""The streams group's state machine: each call where it can be, and where it cannot."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from simulator.errors import IllegalTransitionError
from simulator.group.classic_group import AwaitFirstMembers, ComputeAssignment, Member
from simulator.group.streams_group import ComputeTarget, Instruction, StreamsGroupProtocolState
from tests.conftest import PROFILE

EXAMPLES = {"ci": 300, "nightly": 5_000}.get(PROFILE, 60)
NAMES = "abcd"

A, B, C = (Member(name, 1) for name in "abc")
A2 = Member("a", 2)


def waiting(*members: Member) -> StreamsGroupProtocolState:
    """A group that waits for its first members."""
    group = StreamsGroupProtocolState()
    for member in members:
        group.join(member)
    return group


def settled(*members: Member) -> StreamsGroupProtocolState:
    """A group that has its first target."""
    group = waiting(*members)
    group.end_initial_delay()
    group.take_target()
    return group


def test_the_first_member_makes_the_group_wait_for_others() -> None:
    group = StreamsGroupProtocolState()
    assert group.join(A) == [AwaitFirstMembers()]
    assert group.join(B) == [], "they wait together"
    assert group.is_waiting
    assert group.take_target() is None
    assert group.end_initial_delay() == [ComputeTarget(awaits_heartbeat=False)]
    assert group.take_target() == ComputeAssignment(1, (A, B), A, "a joined, b joined")
    assert not group.is_waiting


def test_members_that_leave_while_the_first_are_awaited_take_no_part() -> None:
    group = waiting(A, B)
    assert group.leave(A, "a left") == []
    group.end_initial_delay()
    assert group.take_target() == ComputeAssignment(1, (B,), B, "a joined, b joined, a left")


def test_a_group_that_everybody_left_while_it_waited_waits_on() -> None:
    group = waiting(A)
    group.leave(A, "a left")
    assert group.join(B) == [], "the delay is running already"
    assert group.end_initial_delay() == [ComputeTarget(awaits_heartbeat=False)]
    assert group.take_target() == ComputeAssignment(1, (B,), B, "a joined, a left, b joined")


def test_a_group_that_nobody_is_left_in_has_no_target() -> None:
    group = waiting(A)
    group.leave(A, "a left")
    group.end_initial_delay()
    assert group.take_target() is None
    assert group.epoch == 0
    assert not group.is_waiting


def test_a_group_that_has_become_empty_waits_for_first_members_again() -> None:
    group = settled(A)
    group.leave(A, "a left")
    group.take_target()
    assert group.join(B) == [AwaitFirstMembers()]
    group.end_initial_delay()
    assert group.take_target() == ComputeAssignment(2, (B,), B, "b joined")


def test_whoever_joins_or_leaves_calls_for_a_target() -> None:
    group = settled(A)
    assert group.join(B) == [ComputeTarget()]
    assert group.take_target() == ComputeAssignment(2, (A, B), A, "b joined")
    assert group.leave(A, "a left") == [ComputeTarget()]
    assert group.take_target() == ComputeAssignment(3, (B,), B, "a left")


def test_what_happens_at_one_moment_comes_to_one_target() -> None:
    group = settled(A)
    group.join(B)
    group.join(C)
    group.leave(B, "b left")
    assert group.take_target() == ComputeAssignment(2, (A, C), A, "b joined, c joined, b left")
    assert group.take_target() is None, "that is all that was due"


def test_a_client_that_restarts_is_another_member() -> None:
    group = settled(A, B)
    assert group.join(A2) == [ComputeTarget()]
    assert group.members == [A, B, A2]


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(IllegalTransitionError, match=r"^a cannot join the group: it is already a member$"):
        settled(A).join(A)
    with pytest.raises(IllegalTransitionError, match=r"^b cannot leave the group: it is not a member$"):
        settled(A).leave(B, "b left")
    with pytest.raises(IllegalTransitionError, match=r"^a group that has a target does not wait for its first"):
        settled(A).end_initial_delay()
    with pytest.raises(IllegalTransitionError, match=r"does not wait for its first members$"):
        StreamsGroupProtocolState().end_initial_delay()


class StreamsGroupLife(RuleBasedStateMachine):
    """Members come and go; whatever the group asks for is done some time."""

    def __init__(self) -> None:
        super().__init__()
        self.group = StreamsGroupProtocolState()
        self.starts = dict.fromkeys(NAMES, 0)
        self.first_delays = 0
        self.due = 0
        self.epoch = 0
        self.known: list[Member] = []

    def do(self, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            if instruction == AwaitFirstMembers():
                self.first_delays += 1
            else:
                self.due += 1
        assert self.first_delays <= 1, "one delay at a time"

    @rule(name=st.sampled_from(NAMES))
    def a_client_starts(self, name: str) -> None:
        self.starts[name] += 1
        self.do(self.group.join(Member(name, self.starts[name])))

    @precondition(lambda self: self.group.members)
    @rule(data=st.data())
    def somebody_leaves(self, data: st.DataObject) -> None:
        self.do(self.group.leave(data.draw(st.sampled_from(self.group.members)), "gone"))

    @precondition(lambda self: self.first_delays)
    @rule()
    def the_initial_delay_passes(self) -> None:
        self.first_delays -= 1
        self.do(self.group.end_initial_delay())

    @precondition(lambda self: self.due)
    @rule()
    def a_target_is_computed(self) -> None:
        self.due -= 1
        wanted = self.group.take_target()
        if wanted is not None:
            assert wanted.generation == self.epoch + 1
            assert wanted.leader in wanted.members
            self.epoch = wanted.generation
            self.known = [*wanted.members]

    @invariant()
    def nothing_is_forgotten(self) -> None:
        assert self.group.epoch == self.epoch
        assert self.group.is_waiting <= bool(self.due or self.first_delays), "what is waited for will come"
        if not self.group.is_waiting and self.group.members:
            assert {member.client for member in self.group.members} == {member.client for member in self.known}


TestStreamsGroupLife = StreamsGroupLife.TestCase
TestStreamsGroupLife.settings = settings(max_examples=EXAMPLES, stateful_step_count=30)
