"""The members of a client that have its copies."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.assignment.threads import positions_of_slots, threads_of_slots

SLOTS = st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True).map(lambda numbers: tuple(sorted(numbers)))


@settings(max_examples=100, deadline=None)
@given(members=st.lists(SLOTS, min_size=1, max_size=5), data=st.data())
def test_positions_of_single_copies_are_those_of_the_table(members: list[tuple[int, ...]], data: st.DataObject) -> None:
    rows = np.array(data.draw(st.permutations(range(len(members)))), dtype=np.int64)
    clients = rows[: data.draw(st.integers(0, len(members)))]
    slots = dict(enumerate(members))
    cells = st.lists(st.integers(0, 8), min_size=len(members), max_size=len(members))
    slot = np.array(data.draw(st.lists(cells, min_size=1, max_size=4)), dtype=np.int64)
    tasks, columns = np.indices((len(slot), len(clients))).reshape(2, -1)
    positions = positions_of_slots(slot[tasks, clients[columns]], columns, [slots[row] for row in clients.tolist()])
    assert positions.tolist() == threads_of_slots(slot, clients, slots).ravel().tolist()
