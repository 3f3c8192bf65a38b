"""The classic group's state machine under events in any order that can be."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

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
    Joined,
    Left,
    Member,
    Phase,
    RebalanceRequested,
    RebalanceTimedOut,
    Rejoined,
    SendAssignment,
)
from tests.conftest import PROFILE

EXAMPLES = {"ci": 300, "nightly": 5_000}.get(PROFILE, 60)
NAMES = "abcde"
STATIC = "ab"


class GroupLife(RuleBasedStateMachine):
    """Members of which some are static come, go, fall silent and ask; delays pass whenever they like."""

    def __init__(self) -> None:
        super().__init__()
        self.group = ClassicGroupProtocolState()
        self.starts = dict.fromkeys(NAMES, 0)
        self.first_delays = 0
        self.computing: list[int] = []
        self.awaited: list[int] = []
        self.generation = 0
        self.handed_out = 0

    def tell(self, event: GroupEvent) -> None:
        for instruction in self.group.handle(event):
            match instruction:
                case AwaitFirstMembers():
                    self.first_delays += 1
                case ComputeAssignment(generation=generation, members=members, leader=leader):
                    assert generation == self.generation + 1, "generations are counted one by one"
                    assert leader in members
                    assert self.group.members[leader], "the leader has joined"
                    assert list(members) == list(self.group.members)
                    self.generation = generation
                    self.computing.append(generation)
                case SendAssignment(generation=generation):
                    assert generation == self.generation, "only the last assignment is handed out"
                    assert generation > self.handed_out, "and only once"
                    self.handed_out = generation
                case CallMembers(rebalance=rebalance):
                    assert rebalance == self.group.rebalance
                    assert self.group.phase is Phase.PREPARING, "members are called to something"
                case AwaitMembers(rebalance=rebalance):
                    self.awaited.append(rebalance)
        assert self.first_delays <= 1, "one delay at a time"

    @rule(name=st.sampled_from(NAMES))
    def a_client_starts(self, name: str) -> None:
        self.starts[name] += 1
        self.tell(Joined(Member(name, self.starts[name]), name in STATIC))

    @precondition(lambda self: self.group.members)
    @rule(data=st.data())
    def somebody_leaves(self, data: st.DataObject) -> None:
        member = data.draw(st.sampled_from(list(self.group.members)))
        self.tell(Left(member, f"{member.client} left"))

    @precondition(lambda self: self.group.members)
    @rule(data=st.data(), late=st.integers(0, 1))
    def some_hear_of_the_rebalance(self, data: st.DataObject, late: int) -> None:
        members = data.draw(st.lists(st.sampled_from(list(self.group.members)), unique=True))
        self.tell(Rejoined(self.group.rebalance - late, members))

    @precondition(lambda self: self.group.members)
    @rule(data=st.data())
    def some_ask(self, data: st.DataObject) -> None:
        members = data.draw(st.lists(st.sampled_from(list(self.group.members)), min_size=1, unique=True))
        self.tell(RebalanceRequested(members, "something"))

    @rule(late=st.integers(0, 2))
    def a_follow_up_is_due(self, late: int) -> None:
        self.tell(FollowupDue(self.generation - late))

    @precondition(lambda self: self.awaited)
    @rule(data=st.data())
    def members_have_had_their_time(self, data: st.DataObject) -> None:
        rebalance = data.draw(st.sampled_from(self.awaited))
        self.awaited.remove(rebalance)
        self.tell(RebalanceTimedOut(rebalance))

    @precondition(lambda self: self.first_delays)
    @rule()
    def the_initial_delay_passes(self) -> None:
        self.first_delays -= 1
        self.tell(InitialDelayOver())

    @precondition(lambda self: self.computing)
    @rule(data=st.data())
    def a_leader_has_computed(self, data: st.DataObject) -> None:
        generation = data.draw(st.sampled_from(self.computing))
        self.computing.remove(generation)
        self.tell(AssignmentReady(generation))

    @invariant()
    def phases_are_what_they_say(self) -> None:
        group = self.group
        if group.phase is Phase.EMPTY:
            assert not group.members
            assert group.leader is None
        if group.phase in (Phase.STABLE, Phase.COMPLETING):
            silent = [member for member, joined in group.members.items() if not joined]
            assert all(member.client in STATIC for member in silent), "all dynamic members have joined"
            assert any(group.members.values())
            assert group.leader in group.members
        if group.phase is Phase.PREPARING and not self.first_delays:
            assert not all(group.members.values()), "nobody waits when all are there"
        assert (group.phase is Phase.STABLE) <= (self.handed_out == self.generation)
        assert group.generation == self.generation

    @invariant()
    def a_static_client_is_in_the_group_once(self) -> None:
        clients = [member.client for member in self.group.members if member.client in STATIC]
        assert len(clients) == len(set(clients))


TestGroupLife = GroupLife.TestCase
TestGroupLife.settings = settings(max_examples=EXAMPLES, stateful_step_count=30)
