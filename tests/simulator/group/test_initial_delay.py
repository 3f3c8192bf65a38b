"""How long an empty group waits for more first members, by the brokers' release."""

from __future__ import annotations

import pytest

from simulator.group.classic_group import ClassicGroupProtocolState
from simulator.group.group_events import AwaitFirstMembers, ComputeAssignment, InitialDelayOver, Joined, Left, Member

FIRST, SECOND = Member("a", 1, 0), Member("b", 1, 0)


@pytest.mark.parametrize("extends_every", [True, False])
@pytest.mark.parametrize("had_assignment", [True, False])
def test_new_member_prolongs_the_wait(extends_every: bool, had_assignment: bool) -> None:
    group = ClassicGroupProtocolState(extends_every_initial_delay=extends_every)
    if had_assignment:
        group = ClassicGroupProtocolState.running({FIRST: False}, extends_every_initial_delay=extends_every)
        group.handle(Left(FIRST, "a left"))
    group.handle(Joined(Member("a", 2, 0)))
    group.handle(Joined(SECOND))
    [instruction] = group.handle(InitialDelayOver())
    waits_again = extends_every or not had_assignment
    assert isinstance(instruction, AwaitFirstMembers if waits_again else ComputeAssignment)
