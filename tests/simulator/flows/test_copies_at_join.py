"""The copies that threads report are those that they have open, and those that no thread of their client has open."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.flows.assigned_copies import AssignedCopies
from simulator.flows.lag_reports import CopiesAtJoin
from simulator.world.group_assignment import GroupAssignment

NUM_TASKS, NUM_CLIENTS, NUM_THREADS = 7, 3, 4


@given(seed=st.integers(0, 2**32 - 1))
def test_each_thread_reports_what_it_or_no_thread_of_its_client_has_open(seed: int) -> None:
    assignment = random_assignment(seed)
    owner, standby, thread = assignment.owner, assignment.standby, assignment.thread
    for client in range(NUM_CLIENTS):
        copies = CopiesAtJoin(assignment, AssignedCopies.of(owner, standby))
        closed = np.setdiff1d(np.arange(NUM_TASKS), copies.open_on_client(client))
        # A thread may have a number that the assignment does not have yet.
        for number in range(NUM_THREADS + 2):
            reported = np.union1d(closed, copies.copies.task[copies.open_on([(client, number)])])
            expected = (thread[:, client] == number) | ~assignment.held()[:, client]
            assert reported.tolist() == np.flatnonzero(expected).tolist()


def test_the_first_thread_of_a_client_reports_what_is_not_open() -> None:
    assignment = random_assignment(1)
    copies = CopiesAtJoin(assignment, AssignedCopies.of(assignment.owner, assignment.standby))
    assert [copies.take_clients(clients) for clients in ([0, 0], [1, 0], [1])] == [[0], [1], []]


def test_several_threads_report_what_each_of_them_has_open() -> None:
    assignment = random_assignment(2)
    copies = CopiesAtJoin(assignment, AssignedCopies.of(assignment.owner, assignment.standby))
    threads = [(2, 1), (0, 0), (2, 3), (1, NUM_THREADS), (1, 2)]
    places = copies.open_on(threads)
    alone = [copies.open_on([thread]) for thread in threads]
    assert len(places) > 1
    assert places == [place for some in alone for place in some]
    for thread, some in zip(threads, alone, strict=True):
        assert set(copies.copies.client[some].tolist()) <= {thread[0]}


def random_assignment(seed: int) -> GroupAssignment:
    """Return an assignment in which tasks may have no owner, and several standbys."""
    rng = np.random.default_rng(seed)
    owner = rng.integers(-1, NUM_CLIENTS, NUM_TASKS)
    standby = rng.random((NUM_TASKS, NUM_CLIENTS)) < rng.random()
    standby[np.arange(NUM_TASKS), owner] = False
    return GroupAssignment(owner, standby, rng.integers(0, NUM_THREADS, standby.shape))
