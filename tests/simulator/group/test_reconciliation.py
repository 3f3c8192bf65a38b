"""Tasks go from client to client without ever having two owners."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assignors.model.assignment import UNASSIGNED
from simulator.group.reconciliation import Reconciliation, reconcile_group, reconcile_member, without_stopped_clients
from simulator.world.group_assignment import GroupAssignment

TASKS, CLIENTS, THREADS = 4, 3, 2
ALL_STATEFUL = np.ones(TASKS, dtype=np.bool_)


def assignment(
    owner: dict[int, int], standby: set[tuple[int, int]] | None = None, thread: dict[tuple[int, int], int] | None = None
) -> GroupAssignment:
    """Who owns, who stands by, and on which thread other than the first."""
    made = GroupAssignment.empty(TASKS, CLIENTS)
    for task, client in owner.items():
        made.owner[task] = client
    for task, client in standby or ():
        made.standby[task, client] = True
    for place, number in (thread or {}).items():
        made.thread[place] = number
    return made


@st.composite
def drawn(draw: st.DrawFn) -> GroupAssignment:
    """Any holdings in which nobody stands by for what it owns."""
    made = GroupAssignment.empty(TASKS, CLIENTS)
    for task in range(TASKS):
        made.owner[task] = draw(st.integers(UNASSIGNED, CLIENTS - 1))
        for client in range(CLIENTS):
            made.standby[task, client] = client != made.owner[task] and draw(st.booleans())
            made.thread[task, client] = draw(st.integers(0, THREADS - 1))
    return made


statefulness = st.lists(st.booleans(), min_size=TASKS, max_size=TASKS).map(np.array)


def test_nobody_has_anything_at_first() -> None:
    none = GroupAssignment.empty(TASKS, CLIENTS)
    assert (none.owner == UNASSIGNED).all()
    assert not none.standby.any()


def test_what_is_free_is_given_at_once() -> None:
    handover = reconcile_group(assignment({0: 1, 1: 2}), assignment({}), ALL_STATEFUL)
    assert handover.assignment.owner.tolist() == [1, 2, UNASSIGNED, UNASSIGNED]
    assert not handover.revoked.any()
    assert not handover.withheld.any()


def test_what_stays_is_not_touched() -> None:
    target = assignment({0: 1, 1: 2})
    handover = reconcile_group(target, target, ALL_STATEFUL)
    assert not handover.revoked.any()
    assert (handover.assignment.owner == target.owner).all()


def test_what_another_client_runs_is_given_back_first_and_given_in_the_next_round() -> None:
    target = assignment({0: 1})
    first = reconcile_group(target, assignment({0: 0}), ALL_STATEFUL)
    assert first.assignment.owner[0] == UNASSIGNED
    assert first.revoked[0]
    assert first.withheld[0]
    second = reconcile_group(target, first.assignment, ALL_STATEFUL)
    assert second.assignment.owner[0] == 1
    assert not second.revoked.any()
    assert not second.withheld.any()


def test_what_another_thread_of_the_same_client_runs_is_given_back_first_too() -> None:
    target, present = assignment({0: 1}, thread={(0, 1): 1}), assignment({0: 1})
    first = reconcile_group(target, present, ALL_STATEFUL)
    assert first.assignment.owner[0] == UNASSIGNED
    assert first.withheld[0]
    second = reconcile_group(target, first.assignment, ALL_STATEFUL)
    assert (second.assignment.owner[0], second.assignment.thread[0, 1]) == (1, 1)


def test_what_nobody_shall_run_is_given_back_and_withheld_from_nobody() -> None:
    handover = reconcile_group(assignment({}), assignment({0: 0}), ALL_STATEFUL)
    assert handover.revoked[0]
    assert not handover.withheld.any()


def test_a_standby_that_will_run_the_task_stays_one_until_it_may() -> None:
    present = assignment({0: 0, 1: 0}, {(0, 1)})
    handover = reconcile_group(assignment({0: 1, 1: 1}), present, ALL_STATEFUL)
    assert handover.assignment.standby[0, 1], "it has the store open"
    assert not handover.assignment.standby[1, 1], "it had none"
    stateless = reconcile_group(assignment({0: 1}), present, ~ALL_STATEFUL)
    assert not stateless.assignment.standby.any()


def test_a_standby_that_moves_is_a_standby_at_once() -> None:
    handover = reconcile_group(assignment({0: 0}, {(0, 2)}), assignment({0: 0}, {(0, 1)}), ALL_STATEFUL)
    assert np.argwhere(handover.assignment.standby).tolist() == [[0, 2]]


@given(drawn(), drawn(), statefulness)
def test_a_rebalance_never_gives_what_another_owns_and_reaches_its_target_in_two_rounds(
    target: GroupAssignment, present: GroupAssignment, stateful: np.ndarray
) -> None:
    first = reconcile_group(target, present, stateful)
    check_safe(first, present)
    owned = present.owner != UNASSIGNED
    moves = (present.owner != target.owner) | (present.owner_thread() != target.owner_thread())
    assert (first.revoked == (owned & moves)).all()
    assert (first.withheld == (owned & moves & (target.owner != UNASSIGNED))).all()
    extra = np.argwhere(first.assignment.standby & ~target.standby)
    for task, client in extra.tolist():
        assert present.standby[task, client], "only who stood by may stand by a round longer"
        assert stateful[task]
        assert first.withheld[task]
        assert target.owner[task] == client
    second = reconcile_group(target, first.assignment, stateful)
    assert not second.revoked.any()
    assert not second.withheld.any()
    assert (second.assignment.owner == target.owner).all()
    assert (second.assignment.standby == target.standby).all()


def check_safe(handover: Reconciliation, present: GroupAssignment) -> None:
    """Nothing goes from one owner to another at once, and nobody owns and stands by at once."""
    given = handover.assignment
    goes_on = (given.owner != UNASSIGNED) & (present.owner != UNASSIGNED)
    assert (given.owner == present.owner)[goes_on].all()
    assert (given.owner_thread() == present.owner_thread())[goes_on].all()
    owned = np.flatnonzero(given.owner != UNASSIGNED)
    assert not given.standby[owned, given.owner[owned]].any()


@given(drawn(), drawn(), st.lists(st.integers(0, CLIENTS - 1), max_size=12))
def test_members_come_to_their_targets_in_any_order_and_nothing_is_ever_owned_twice(
    target: GroupAssignment, present: GroupAssignment, order: list[int]
) -> None:
    now = present
    for client in order:
        step = reconcile_member(client, target, now)
        check_safe(step, now)
        others = np.arange(CLIENTS) != client
        assert (step.assignment.standby[:, others] == now.standby[:, others]).all(), "it is nobody else's business"
        kept = (now.owner != client) & (now.owner != UNASSIGNED)
        assert (step.assignment.owner[kept] == now.owner[kept]).all()
        now = step.assignment
    for client in [*range(CLIENTS), *range(CLIENTS)]:
        now = reconcile_member(client, target, now).assignment
    assert (now.owner == target.owner).all(), "after everybody has given back, everybody gets"
    assert (now.standby == target.standby).all()
    assert (now.owner_thread() == target.owner_thread())[target.owner != UNASSIGNED].all()


def test_a_member_gets_a_task_only_after_its_owner_gave_it_back() -> None:
    target, present = assignment({0: 1}), assignment({0: 0})
    early = reconcile_member(1, target, present)
    assert early.assignment.owner[0] == 0, "it is not free yet"
    gives = reconcile_member(0, target, present)
    assert gives.revoked[0]
    assert gives.withheld[0]
    assert gives.assignment.owner[0] == UNASSIGNED
    assert reconcile_member(1, target, gives.assignment).assignment.owner[0] == 1


def test_a_member_that_gives_back_gets_what_is_free_at_the_same_time() -> None:
    step = reconcile_member(0, assignment({0: 1, 1: 0}), assignment({0: 0}))
    assert step.assignment.owner.tolist()[:2] == [UNASSIGNED, 0]


def test_what_was_decided_does_not_reach_a_client_that_is_gone() -> None:
    reached = without_stopped_clients(assignment({0: 0, 1: 1, 2: 2}, {(0, 1), (1, 2)}), [True, False, True])
    assert reached.owner.tolist() == [0, UNASSIGNED, 2, UNASSIGNED]
    assert np.argwhere(reached.standby).tolist() == [[1, 2]]


def test_a_task_that_goes_to_another_thread_is_known_by_the_old_one_until_the_next_round() -> None:
    target = assignment({0: 0}, thread={(0, 0): 1})
    first = reconcile_group(target, assignment({0: 0}), ALL_STATEFUL)
    assert first.withheld[0]
    assert first.assignment.thread[0, 0] == 0, "the thread that gave it back reports its copy"
    second = reconcile_group(target, first.assignment, ALL_STATEFUL)
    assert second.assignment.owner[0] == 0
    assert second.assignment.thread[0, 0] == 1


def test_a_client_holds_what_it_runs_and_what_it_stands_by_for() -> None:
    held = assignment({0: 1, 1: 0}, standby={(0, 2)}).held()
    assert np.argwhere(held).tolist() == [[0, 1], [0, 2], [1, 0]]
