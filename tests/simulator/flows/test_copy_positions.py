"""The row of assigned copies and the table of all copies are one set of positions, whichever is read or changed."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.flows.assigned_copies import CopyPositions

SHAPE = (4, 3)
CELLS = SHAPE[0] * SHAPE[1]


@given(seed=st.integers(0, 2**32 - 1))
def test_positions_are_those_of_a_table_that_is_written_at_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    positions, table, largest = CopyPositions(SHAPE), np.zeros(CELLS), np.zeros(CELLS)
    cells = np.zeros(0, dtype=np.int64)
    for _ in range(30):
        match rng.integers(5):
            case 0:
                cells = rng.permutation(CELLS)[: rng.integers(CELLS)]
                positions.select(cells)
            case 1:
                table[cells] += rng.random(len(cells)) - 0.3
                largest[cells] = np.maximum(largest[cells], table[cells])
                positions.move_to(table[cells])
            case 2:
                table[cells] = largest[cells] = rng.random(len(cells))
                positions.begin_at(table[cells])
            case 3:
                changed = rng.integers(CELLS)
                table[changed] = 0.0
                positions.table.reshape(-1)[changed] = 0.0
            case 4:
                table = rng.random(CELLS)
                largest = table.copy()
                positions.load(table.reshape(SHAPE).copy())
        if rng.random() < 0.5:
            assert positions.table.reshape(-1).tolist() == table.tolist()
        assert positions.held.tolist() == table[cells].tolist()
        assert positions.max_held.tolist() == largest[cells].tolist()
