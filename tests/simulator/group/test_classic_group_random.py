"""The state machine of a classic group keeps its invariants under any legal order of events."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

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
    Joined,
    Left,
    Member,
    RebalanceRequested,
    RebalanceTimedOut,
    Rejoined,
    SendAssignment,
)

NAMES = "abcde"
STATIC = "ab"


class ClassicGroupMachine(RuleBasedStateMachine):
    """Static and dynamic members join, leave, time out and request rebalances; delays end at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.group = ClassicGroupProtocolState()
        self.starts = dict.fromkeys(NAMES, 0)
        self.first_delays = 0
        self.computing: list[int] = []
        self.awaited: list[int] = []
        self.generation = 0
        self.sent_generation = 0

    def handle(self, event: GroupEvent) -> None:
        for instruction in self.group.handle(event):
            match instruction:
                case AwaitFirstMembers():
                    self.first_delays += 1
                case ComputeAssignment(generation=generation, members=members, leader=leader):
                    assert generation == self.generation + 1, "generations increase by one"
                    assert leader in members
                    assert self.group.members[leader], "the leader has joined"
                    assert list(members) == list(self.group.members)
                    self.generation = generation
                    self.computing.append(generation)
                case SendAssignment(generation=generation):
                    assert generation == self.generation, "only the last assignment is sent"
                    assert generation > self.sent_generation, "an assignment is sent once"
                    self.sent_generation = generation
                case CallMembers(rebalance=rebalance):
                    assert rebalance == self.group.rebalance
                    assert self.group.phase is Phase.PREPARING, "members are called while a rebalance is being prepared"
                case AwaitMembers(rebalance=rebalance):
                    self.awaited.append(rebalance)
        assert self.first_delays <= 1, "one delay at a time"

    @rule(name=st.sampled_from(NAMES))
    def start_client(self, name: str) -> None:
        self.starts[name] += 1
        self.handle(Joined(Member(name, self.starts[name]), name in STATIC))

    @precondition(lambda self: self.group.members)
    @rule(data=st.data())
    def remove_member(self, data: st.DataObject) -> None:
        member = data.draw(st.sampled_from(list(self.group.members)))
        self.handle(Left(member, f"{member.client} left"))

    @precondition(lambda self: self.group.members)
    @rule(data=st.data(), late=st.integers(0, 1))
    def rejoin(self, data: st.DataObject, late: int) -> None:
        members = data.draw(st.lists(st.sampled_from(list(self.group.members)), unique=True))
        self.handle(Rejoined(self.group.rebalance - late, members))

    @precondition(lambda self: self.group.members)
    @rule(data=st.data())
    def request_rebalance(self, data: st.DataObject) -> None:
        members = data.draw(st.lists(st.sampled_from(list(self.group.members)), min_size=1, unique=True))
        self.handle(RebalanceRequested(members, "configs changed"))

    @rule(late=st.integers(0, 2))
    def request_followup(self, late: int) -> None:
        self.handle(FollowupDue(self.generation - late))

    @precondition(lambda self: self.awaited)
    @rule(data=st.data())
    def time_out_rebalance(self, data: st.DataObject) -> None:
        rebalance = data.draw(st.sampled_from(self.awaited))
        self.awaited.remove(rebalance)
        self.handle(RebalanceTimedOut(rebalance))

    @precondition(lambda self: self.first_delays)
    @rule()
    def end_initial_delay(self) -> None:
        self.first_delays -= 1
        self.handle(InitialDelayOver())

    @precondition(lambda self: self.computing)
    @rule(data=st.data())
    def complete_assignment(self, data: st.DataObject) -> None:
        generation = data.draw(st.sampled_from(self.computing))
        self.computing.remove(generation)
        self.handle(AssignmentReady(generation))

    @invariant()
    def phase_matches_members(self) -> None:
        group = self.group
        if group.phase is Phase.EMPTY:
            assert not group.members
            assert group.leader is None
        if group.phase in (Phase.STABLE, Phase.COMPLETING):
            not_joined = [member for member, joined in group.members.items() if not joined]
            assert all(member.client in STATIC for member in not_joined), "all dynamic members have joined"
            assert any(group.members.values())
            assert group.leader in group.members
        if group.phase is Phase.PREPARING and not self.first_delays:
            assert not all(group.members.values()), "the rebalance completes when all members have joined"
        assert (group.phase is Phase.STABLE) <= (self.sent_generation == self.generation)
        assert group.generation == self.generation

    @invariant()
    def static_client_has_one_member(self) -> None:
        clients = [member.client for member in self.group.members if member.client in STATIC]
        assert len(clients) == len(set(clients))


TestClassicGroup = ClassicGroupMachine.TestCase
TestClassicGroup.settings = settings(max_examples=60, stateful_step_count=30)
