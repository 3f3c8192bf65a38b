"""Assignments whose rows are not only the world's clients."""

from __future__ import annotations

import numpy as np

from assignors.model.assignment import UNASSIGNED
from simulator.world.group_assignment import GroupAssignment


def test_rows_of_a_client_are_counted_together() -> None:
    """Two clients; rows 2 and 3 are former processes of client 0. Tasks 0 to 6."""
    active = {0: 0, 1: 2, 2: 2, 3: 1, 4: 0, 5: UNASSIGNED, 6: 3}
    copies = {(2, 0), (3, 2), (3, 3), (4, 2), (5, 0), (5, 2), (6, 1)}
    owner = np.array([active[task] for task in range(7)])
    standby = np.array([[(task, row) in copies for row in range(4)] for task in range(7)])
    thread = np.tile(np.array([10, 11, 12, 13]), (7, 1))
    of_clients = GroupAssignment(owner, standby, thread).with_rows_as_clients((0, 0), 2)
    assert of_clients.owner.tolist() == [0, 0, 0, 1, 0, UNASSIGNED, 0]
    held = [tuple(map(int, cell)) for cell in np.argwhere(of_clients.standby)]
    assert held == [(3, 0), (5, 0), (6, 1)], "the copy of the client counts once, and not beside its active task"
    threads = of_clients.thread[[0, 1, 2, 3, 4, 6], of_clients.owner[[0, 1, 2, 3, 4, 6]]]
    assert threads.tolist() == [10, 12, 12, 11, 10, 13]
    assert of_clients.thread[5, 0] == 10, "the client's own copy has precedence"


def test_rows_that_are_added_have_nothing() -> None:
    before = GroupAssignment(np.array([0, UNASSIGNED]), np.array([[False], [True]]), np.array([[3], [4]]))
    after = before.with_rows(3)
    assert after.standby.tolist() == [[False, False, False], [True, False, False]]
    assert after.thread[:, 0].tolist() == [3, 4]
    assert before.with_rows(1) is before
