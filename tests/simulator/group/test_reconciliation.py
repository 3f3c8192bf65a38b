"""Reconciliation moves tasks between clients, and a task never has two owners."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assignors.model.assignment import UNASSIGNED
from simulator.group.reconciliation import (
    Reconciliation,
    reconcile_group,
    without_stopped_threads,
)
from simulator.world.group_assignment import GroupAssignment

TASKS, CLIENTS, THREADS = 4, 3, 2
ALL_STATEFUL = np.ones(TASKS, dtype=np.bool_)


def assignment(
    owner: dict[int, int], standby: set[tuple[int, int]] | None = None, thread: dict[tuple[int, int], int] | None = None
) -> GroupAssignment:
    """Return an assignment.

    Args:
        owner: the client of each active task.
        standby: task and client of each standby.
        thread: the thread of a task on a client, if it is not the first one.
    """
    result = GroupAssignment.empty(TASKS, CLIENTS)
    for task, client in owner.items():
        result.owner[task] = client
    for task, client in standby or ():
        result.standby[task, client] = True
    for task_and_client, number in (thread or {}).items():
        result.thread[task_and_client] = number
    return result


@st.composite
def random_assignments(draw: st.DrawFn) -> GroupAssignment:
    """Draw an assignment in which no client has a standby of a task that it owns."""
    result = GroupAssignment.empty(TASKS, CLIENTS)
    for task in range(TASKS):
        result.owner[task] = draw(st.integers(UNASSIGNED, CLIENTS - 1))
        for client in range(CLIENTS):
            result.standby[task, client] = client != result.owner[task] and draw(st.booleans())
            result.thread[task, client] = draw(st.integers(0, THREADS - 1))
    return result


stateful_flags = st.lists(st.booleans(), min_size=TASKS, max_size=TASKS).map(np.array)


def reconcile(target: GroupAssignment, present: GroupAssignment, stateful: np.ndarray) -> Reconciliation:
    """Reconcile a group whose clients have no copies but those of their present tasks."""
    return reconcile_group(target, present, stateful, present.standby)


def test_empty_assignment_has_no_owners_and_no_standbys() -> None:
    empty = GroupAssignment.empty(TASKS, CLIENTS)
    assert (empty.owner == UNASSIGNED).all()
    assert not empty.standby.any()


def test_unassigned_task_is_assigned_immediately() -> None:
    reconciliation = reconcile(assignment({0: 1, 1: 2}), assignment({}), ALL_STATEFUL)
    assert reconciliation.assignment.owner.tolist() == [1, 2, UNASSIGNED, UNASSIGNED]
    assert not reconciliation.revoked.any()
    assert not reconciliation.withheld.any()


def test_task_that_stays_is_not_revoked() -> None:
    target = assignment({0: 1, 1: 2})
    reconciliation = reconcile(target, target, ALL_STATEFUL)
    assert not reconciliation.revoked.any()
    assert (reconciliation.assignment.owner == target.owner).all()


def test_moved_task_is_revoked_first_and_assigned_in_next_round() -> None:
    target = assignment({0: 1})
    first = reconcile(target, assignment({0: 0}), ALL_STATEFUL)
    assert first.assignment.owner[0] == UNASSIGNED
    assert first.revoked[0]
    assert first.withheld[0]
    second = reconcile(target, first.assignment, ALL_STATEFUL)
    assert second.assignment.owner[0] == 1
    assert not second.revoked.any()
    assert not second.withheld.any()


def test_task_moved_to_another_thread_is_revoked_first() -> None:
    target, present = assignment({0: 1}, thread={(0, 1): 1}), assignment({0: 1})
    first = reconcile(target, present, ALL_STATEFUL)
    assert first.assignment.owner[0] == UNASSIGNED
    assert first.withheld[0]
    second = reconcile(target, first.assignment, ALL_STATEFUL)
    assert (second.assignment.owner[0], second.assignment.thread[0, 1]) == (1, 1)


def test_task_without_target_owner_is_revoked_and_not_withheld() -> None:
    reconciliation = reconcile(assignment({}), assignment({0: 0}), ALL_STATEFUL)
    assert reconciliation.revoked[0]
    assert not reconciliation.withheld.any()


def test_future_owner_keeps_its_standby_until_the_task_is_free() -> None:
    present = assignment({0: 0, 1: 0}, {(0, 1)})
    reconciliation = reconcile(assignment({0: 1, 1: 1}), present, ALL_STATEFUL)
    assert reconciliation.assignment.standby[0, 1], "its standby stays open"
    assert not reconciliation.assignment.standby[1, 1], "it had no standby"
    stateless = reconcile(assignment({0: 1}), present, ~ALL_STATEFUL)
    assert not stateless.assignment.standby.any()


def test_future_owner_opens_its_copy_on_disk_until_the_task_is_free() -> None:
    present, on_disk = assignment({0: 0, 1: 0}), assignment({}, {(0, 1)}).standby
    reconciliation = reconcile_group(assignment({0: 1, 1: 1}), present, ALL_STATEFUL, on_disk)
    assert np.argwhere(reconciliation.assignment.standby).tolist() == [[0, 1]]


def test_task_that_moves_between_threads_of_its_client_is_no_standby() -> None:
    present, target = assignment({0: 1}), assignment({0: 1}, thread={(0, 1): 1})
    owned_by = present.owner[:, None] == np.arange(CLIENTS)
    assert not reconcile_group(target, present, ALL_STATEFUL, owned_by).assignment.standby.any()


def test_standby_moves_immediately() -> None:
    reconciliation = reconcile(assignment({0: 0}, {(0, 2)}), assignment({0: 0}, {(0, 1)}), ALL_STATEFUL)
    assert np.argwhere(reconciliation.assignment.standby).tolist() == [[0, 2]]


@given(random_assignments(), random_assignments(), stateful_flags)
def test_group_reconciliation_is_safe_and_reaches_its_target_in_two_rounds(
    target: GroupAssignment, present: GroupAssignment, stateful: np.ndarray
) -> None:
    first = reconcile(target, present, stateful)
    check_single_owner(first, present)
    owned = present.owner != UNASSIGNED
    moves = (present.owner != target.owner) | (present.owner_thread() != target.owner_thread())
    assert (first.revoked == (owned & moves)).all()
    assert (first.withheld == (owned & moves & (target.owner != UNASSIGNED))).all()
    extra = np.argwhere(first.assignment.standby & ~target.standby)
    for task, client in extra.tolist():
        assert present.standby[task, client], "only an existing standby is kept for one more round"
        assert stateful[task]
        assert first.withheld[task]
        assert target.owner[task] == client
    second = reconcile(target, first.assignment, stateful)
    assert not second.revoked.any()
    assert not second.withheld.any()
    assert (second.assignment.owner == target.owner).all()
    assert (second.assignment.standby == target.standby).all()


def check_single_owner(reconciliation: Reconciliation, present: GroupAssignment) -> None:
    """Check that no task changes its owner in one step, and that no client has a standby of a task that it owns."""
    assignment = reconciliation.assignment
    stays_owned = (assignment.owner != UNASSIGNED) & (present.owner != UNASSIGNED)
    assert (assignment.owner == present.owner)[stays_owned].all()
    assert (assignment.owner_thread() == present.owner_thread())[stays_owned].all()
    owned = np.flatnonzero(assignment.owner != UNASSIGNED)
    assert not assignment.standby[owned, assignment.owner[owned]].any()


def test_stopped_clients_are_removed_from_the_assignment() -> None:
    target = assignment({0: 0, 1: 1, 2: 2, 3: 2}, {(0, 1), (1, 2)}, {(3, 2): 1, (0, 0): 1})
    running = np.array([[True, True, False], [False, False, False], [True, False, False]])
    reached = without_stopped_threads(target, running)
    assert reached.owner.tolist() == [0, UNASSIGNED, 2, UNASSIGNED]
    assert np.argwhere(reached.standby).tolist() == [[1, 2]]
    without_owner = without_stopped_threads(assignment({0: 0}, thread={(0, 0): 7}), running)
    assert without_owner.owner[0] == UNASSIGNED, "slot 7 belongs to a member whose thread has ended"


def test_task_keeps_its_thread_until_it_is_assigned_again() -> None:
    target = assignment({0: 0}, thread={(0, 0): 1})
    first = reconcile(target, assignment({0: 0}), ALL_STATEFUL)
    assert first.withheld[0]
    assert first.assignment.thread[0, 0] == 0, "the thread that revoked it reports its copy"
    second = reconcile(target, first.assignment, ALL_STATEFUL)
    assert second.assignment.owner[0] == 0
    assert second.assignment.thread[0, 0] == 1


def test_held_contains_active_tasks_and_standbys() -> None:
    held = assignment({0: 1, 1: 0}, standby={(0, 2)}).held()
    assert np.argwhere(held).tolist() == [[0, 1], [0, 2], [1, 0]]
