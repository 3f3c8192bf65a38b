"""The tasks of single members, and assignments of their group, follow from each other."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assignors.model.assignment import UNASSIGNED
from simulator.group.member import Member
from simulator.group.reconciliation import Place, assignment_of, reconcile_member, tasks_of_members
from simulator.group.streams_coordinator import NO_TASKS, Tasks
from simulator.world.group_assignment import GroupAssignment

TASKS, CLIENTS, THREADS = 5, 3, 2
PLACES: dict[Member, Place] = {
    Member(f"c{client}", 1, thread): (client, thread) for client in range(CLIENTS) for thread in range(THREADS)
}
MEMBERS = list(PLACES)
EVERYWHERE = np.ones(TASKS, dtype=np.bool_)


@st.composite
def group_tasks(draw: st.DrawFn) -> dict[Member, Tasks]:
    """Draw tasks of each member; a client has a task at most once."""
    places = draw(
        st.lists(
            st.tuples(
                st.integers(0, TASKS - 1), st.integers(0, CLIENTS - 1), st.integers(0, THREADS - 1), st.booleans()
            )
        )
    )
    sets: dict[Member, tuple[set[int], set[int]]] = {member: (set(), set()) for member in MEMBERS}
    taken: set[tuple[int, int]] = set()
    owned: set[int] = set()
    for task, client, thread, is_active in places:
        if (task, client) in taken or (is_active and task in owned):
            continue
        taken.add((task, client))
        sets[Member(f"c{client}", 1, thread)][0 if is_active else 1].add(task)
        owned |= {task} if is_active else set()
    return {member: Tasks(frozenset(active), frozenset(standby)) for member, (active, standby) in sets.items()}


@given(group_tasks())
def test_assignment_of_members_has_their_tasks(tasks: dict[Member, Tasks]) -> None:
    assert tasks_of_members(assignment_of(tasks, PLACES, (TASKS, CLIENTS)), None, PLACES) == tasks


@given(group_tasks(), st.lists(st.tuples(st.integers(0, TASKS - 1), st.integers(0, CLIENTS - 1))))
def test_warmups_are_no_standbys(tasks: dict[Member, Tasks], cells: list[tuple[int, int]]) -> None:
    warmups = np.zeros((TASKS, CLIENTS), dtype=np.bool_)
    for cell in cells:
        warmups[cell] = True
    for member, of_member in tasks_of_members(assignment_of(tasks, PLACES, (TASKS, CLIENTS)), warmups, PLACES).items():
        assert of_member.active == tasks[member].active
        assert of_member.standby | of_member.warmup == tasks[member].standby
        assert of_member.warmup == {task for task in tasks[member].standby if warmups[task, PLACES[member][0]]}


def test_tasks_of_others_are_left_out() -> None:
    assignment = assignment_of({MEMBERS[0]: Tasks(frozenset({1}), frozenset({2}))}, PLACES, (TASKS, CLIENTS))
    assert tasks_of_members(assignment, None, {MEMBERS[1]: PLACES[MEMBERS[1]]}) == {MEMBERS[1]: NO_TASKS}
    assert tasks_of_members(assignment, None, {}) == {}


@given(group_tasks(), group_tasks())
def test_members_that_revoke_first_reach_any_assignment(
    before: dict[Member, Tasks], after: dict[Member, Tasks]
) -> None:
    current, has = assignment_of(before, PLACES, (TASKS, CLIENTS)), dict(before)
    for is_revoking in (True, False):
        for member, place in PLACES.items():
            kept = Tasks(*(mine & wanted for mine, wanted in zip(before[member], after[member], strict=True)))
            gets = kept if is_revoking else after[member]
            step = reconcile_member(place, has[member], gets, current, EVERYWHERE)
            lost = has[member].active - gets.active
            assert set(np.flatnonzero(step.revoked).tolist()) == lost
            assert (step.withheld == step.revoked).all()
            current, has[member] = step.assignment, gets
    expected = assignment_of(after, PLACES, (TASKS, CLIENTS))
    assert current.owner.tolist() == expected.owner.tolist()
    assert current.standby.tolist() == expected.standby.tolist()
    assert tasks_of_members(current, None, PLACES) == after


def test_task_that_another_thread_has_is_not_taken_from_it() -> None:
    """A member that was removed may still have a task when it stops it."""
    current = assignment_of({MEMBERS[1]: Tasks(frozenset({0}))}, PLACES, (TASKS, CLIENTS))
    step = reconcile_member(PLACES[MEMBERS[0]], Tasks(frozenset({0})), NO_TASKS, current, EVERYWHERE)
    assert step.assignment.owner.tolist() == [0, *[UNASSIGNED] * (TASKS - 1)]
    assert not step.revoked.any()


def test_task_without_a_target_is_not_withheld() -> None:
    current = assignment_of({MEMBERS[0]: Tasks(frozenset({0, 1}))}, PLACES, (TASKS, CLIENTS))
    is_targeted = np.arange(TASKS) == 1
    step = reconcile_member(PLACES[MEMBERS[0]], Tasks(frozenset({0, 1})), NO_TASKS, current, is_targeted)
    assert step.revoked.tolist()[:2] == [True, True]
    assert step.withheld.tolist()[:2] == [False, True]
    assert isinstance(step.assignment, GroupAssignment)
