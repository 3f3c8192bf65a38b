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
NOWHERE = ~EVERYWHERE


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
            step = reconcile_member(place, has[member], gets, current, EVERYWHERE, NOWHERE)
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
    step = reconcile_member(PLACES[MEMBERS[0]], Tasks(frozenset({0})), NO_TASKS, current, EVERYWHERE, NOWHERE)
    assert step.assignment.owner.tolist() == [0, *[UNASSIGNED] * (TASKS - 1)]
    assert not step.revoked.any()


def test_task_without_a_target_is_not_withheld() -> None:
    current = assignment_of({MEMBERS[0]: Tasks(frozenset({0, 1}))}, PLACES, (TASKS, CLIENTS))
    is_targeted = np.arange(TASKS) == 1
    step = reconcile_member(PLACES[MEMBERS[0]], Tasks(frozenset({0, 1})), NO_TASKS, current, is_targeted, NOWHERE)
    assert step.revoked.tolist()[:2] == [True, True]
    assert step.withheld.tolist()[:2] == [False, True]
    assert isinstance(step.assignment, GroupAssignment)


def test_locked_task_stays_on_the_thread_that_opened_it_first() -> None:
    first, second = MEMBERS[:2]
    current = assignment_of({first: Tasks(frozenset(), frozenset({0, 1}))}, PLACES, (TASKS, CLIENTS))
    gets = Tasks(frozenset({0}), frozenset({1, 2}))
    step = reconcile_member(PLACES[second], NO_TASKS, gets, current, EVERYWHERE, EVERYWHERE)
    assert tasks_of_members(step.assignment, None, PLACES)[first] == Tasks(frozenset(), frozenset({0, 1}))
    assert tasks_of_members(step.assignment, None, PLACES)[second] == Tasks(frozenset(), frozenset({2}))


def test_active_task_counts_where_two_threads_have_a_task_in_memory() -> None:
    first, second = MEMBERS[:2]
    current = assignment_of({first: Tasks(frozenset({2}), frozenset({0, 1}))}, PLACES, (TASKS, CLIENTS))
    gets = Tasks(frozenset({0}), frozenset({1, 2}))
    step = reconcile_member(PLACES[second], NO_TASKS, gets, current, EVERYWHERE, NOWHERE)
    assert tasks_of_members(step.assignment, None, PLACES)[first] == Tasks(frozenset({2}), frozenset({1}))
    assert tasks_of_members(step.assignment, None, PLACES)[second] == Tasks(frozenset({0}))


def test_thread_that_closes_a_copy_leaves_that_of_another_thread() -> None:
    first, second = MEMBERS[:2]
    current = assignment_of({first: Tasks(frozenset(), frozenset({0}))}, PLACES, (TASKS, CLIENTS))
    for is_locked in (EVERYWHERE, NOWHERE):
        of_both = reconcile_member(
            PLACES[second], NO_TASKS, Tasks(frozenset(), frozenset({0})), current, EVERYWHERE, is_locked
        )
        step = reconcile_member(
            PLACES[second],
            Tasks(frozenset(), frozenset({0})),
            NO_TASKS,
            of_both.assignment,
            EVERYWHERE,
            is_locked,
        )
        assert tasks_of_members(step.assignment, None, PLACES)[first] == Tasks(frozenset(), frozenset({0}))


def test_previous_active_task_counts_where_two_threads_had_a_task() -> None:
    """The coordinator gives a task to a second thread of a process that a static member returns to."""
    first, second = MEMBERS[:2]
    for tasks in (
        {first: Tasks(frozenset({0})), second: Tasks(frozenset(), frozenset({0}))},
        {second: Tasks(frozenset(), frozenset({0})), first: Tasks(frozenset({0}))},
    ):
        assignment = assignment_of(tasks, PLACES, (TASKS, CLIENTS))
        assert (assignment.owner[0], assignment.thread[0, 0]) == PLACES[first]
