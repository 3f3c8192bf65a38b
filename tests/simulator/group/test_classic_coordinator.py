"""The coordinator of a classic group keeps its invariants under any order of requests and timers.

What it does in given situations is recorded: `tests/group_histories`.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from simulator.group.classic_coordinator import Answer, ClassicCoordinator, ClassicMember, Error, RebalancePhase
from simulator.group.member import Member

NAMES = "abcde"
STATIC = "ab"
DELAY_MS, SESSION_MS, REBALANCE_MS = 3_000, 45_000, 300_000
A, B, C = (Member(name, 1) for name in "abc")
A2 = Member("a", 2)


def announced(member: Member, joins: int = 0, *, is_static: bool = False) -> ClassicMember:
    """Return what a member announces with one of its JoinGroup requests."""
    instance = member.client if is_static else None
    return ClassicMember((member, joins), instance, SESSION_MS, REBALANCE_MS)


def answers(group: ClassicCoordinator[Member]) -> list[Answer]:
    """Return the answers since the last call."""
    taken, group.answers = group.answers, []
    return taken


class Requests(RuleBasedStateMachine):
    """Static and dynamic members join, send SyncGroup requests, leave and time out; timers end at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.group: ClassicCoordinator[Member] = ClassicCoordinator(DELAY_MS)
        self.starts = dict.fromkeys(NAMES, 0)
        self.joins = 0
        self.now_ms = 0
        self.timers: dict[Any, int] = {}
        self.generation = 0
        self.leaders: dict[int, list[Member]] = {}

    def look(self) -> None:
        for timer in self.group.timers:
            self.timers.pop(timer.key, None)
            if timer.at_ms is not None:
                assert timer.at_ms >= self.now_ms
                self.timers[timer.key] = timer.at_ms
        self.group.timers.clear()
        for answer in answers(self.group):
            if answer.is_join and answer.error is Error.NONE:
                assert answer.generation == self.group.generation
                if answer.leads and not answer.skips_assignment:
                    self.leaders.setdefault(answer.generation, []).append(answer.member)  # type: ignore[arg-type]
                    assert answer.member in answer.members
        assert self.group.generation - self.generation in (0, 1), "generations increase by one"
        self.generation = self.group.generation

    @rule(name=st.sampled_from(NAMES))
    def start(self, name: str) -> None:
        self.starts[name] += 1
        member = Member(name, self.starts[name])
        self.group.join(member, announced(member, is_static=name in STATIC), self.now_ms)
        self.look()

    @precondition(lambda self: self.group.members)
    @rule(data=st.data())
    def join_again(self, data: st.DataObject) -> None:
        member = data.draw(st.sampled_from(list(self.group.members)))
        self.joins += 1
        self.group.join(member, announced(member, self.joins, is_static=member.client in STATIC), self.now_ms)
        self.look()

    @precondition(lambda self: self.group.members)
    @rule(data=st.data(), late=st.integers(0, 1))
    def sync(self, data: st.DataObject, late: int) -> None:
        member = data.draw(st.sampled_from(list(self.group.members)))
        was = self.group.phase
        self.group.sync(member, self.group.generation - late, self.now_ms, {member: "all"})
        if was is RebalancePhase.COMPLETING and self.group.phase is RebalancePhase.STABLE:
            assert member == self.group.leader
        self.look()

    @precondition(lambda self: self.group.members)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        self.group.leave(data.draw(st.sampled_from(list(self.group.members))), self.now_ms)
        self.look()

    @precondition(lambda self: self.timers)
    @rule(data=st.data())
    def end_timer(self, data: st.DataObject) -> None:
        key = kind, member = data.draw(st.sampled_from(list(self.timers)))
        self.now_ms = max(self.now_ms, self.timers.pop(key))
        if kind == "session":
            self.group.expire(member, self.now_ms)
        else:
            {"join": self.group.end_join, "sync": self.group.end_sync}[kind](self.now_ms)
        self.look()

    @invariant()
    def phase_matches_members(self) -> None:
        group = self.group
        waiting = [member for member, known in group.members.items() if known.awaits_join]
        if not group.members:
            assert group.phase in (RebalancePhase.EMPTY, RebalancePhase.PREPARING), "the initial delay goes on"
        assert not (group.members and group.phase is RebalancePhase.EMPTY)
        assert group.leader in group.members if group.members else group.leader is None
        if group.phase is RebalancePhase.PREPARING:
            assert ("join", None) in self.timers, "it does not wait forever"
        else:
            assert not waiting, "JoinGroup requests are answered when the rebalance has its members"
        if group.phase is RebalancePhase.STABLE:
            assert not any(known.awaits_sync for known in group.members.values())
        assert all(len(leaders) == 1 for leaders in self.leaders.values()), "each generation has one leader"

    @invariant()
    def instance_has_one_member(self) -> None:
        instances = [known.instance for known in self.group.members.values() if known.instance is not None]
        assert len(instances) == len(set(instances))
        assert all(self.group.member_with(instance) in self.group.members for instance in instances)


TestRequests = Requests.TestCase
TestRequests.settings = settings(max_examples=60, stateful_step_count=30)


@pytest.mark.parametrize("has_run", [False, True])
@pytest.mark.parametrize("extends_every", [False, True])
def test_new_member_prolongs_the_initial_delay(extends_every: bool, has_run: bool) -> None:
    group: ClassicCoordinator[Member] = ClassicCoordinator(DELAY_MS, extends_every_initial_delay=extends_every)
    if has_run:
        group.resume({C: announced(C)}, 1)
        group.leave(C, 0)
    group.join(A, announced(A), 1_000)
    group.join(B, announced(B), 2_000)
    group.end_join(1_000 + DELAY_MS)
    assert (group.phase is RebalancePhase.PREPARING) == (extends_every or not has_run)


@pytest.mark.parametrize("changes", [False, True])
def test_static_member_that_is_back_rebalances_only_with_another_assignor(changes: bool) -> None:
    group: ClassicCoordinator[Member] = ClassicCoordinator(DELAY_MS, changes_assignor=lambda _: changes)
    group.resume({member: announced(member, is_static=True) for member in (A, B)}, 7)
    group.join(A2, announced(A2, is_static=True), 0)
    assert list(group.members) == [B, A2]
    if changes:
        assert group.phase is RebalancePhase.PREPARING
        assert not answers(group)
    else:
        [answer] = answers(group)
        assert (answer.member, answer.generation, answer.leads, answer.skips_assignment) == (A2, 7, True, True)
        group.sync(A2, 7, 0)
        assert [(answer.member, answer.error) for answer in answers(group)] == [(A2, Error.NONE)]


def test_first_member_of_a_running_group_in_the_order_of_the_hash_table_leads() -> None:
    group: ClassicCoordinator[Member] = ClassicCoordinator(DELAY_MS, max)
    group.resume({member: announced(member) for member in (A, B, C)}, 3)
    assert (group.leader, group.generation, group.phase) == (C, 3, RebalancePhase.STABLE)
    assert group.heartbeat(A, 3, 0) is Error.NONE
    assert group.heartbeat(A, 2, 0) is Error.ILLEGAL_GENERATION
    assert group.heartbeat(A2, 3, 0) is Error.UNKNOWN_MEMBER_ID
