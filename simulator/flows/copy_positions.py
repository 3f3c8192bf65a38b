"""The positions of copies in their changelogs: a table of all copies, and a row of the assigned ones.

Time passes for the assigned copies only, and a rebalance joins dozens of members at times of their own. So the row is
what advances, and the table is brought up to date when it is read.
"""

from __future__ import annotations

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from simulator.world.layout import FloatArray


class CopyPositions:
    """The positions of the copies of T tasks on N clients, in bytes, of which K are assigned. `shape`: T and N."""

    def __init__(self, shape: tuple[int, int]) -> None:
        """Create positions of empty copies, none of them assigned. `shape` is (T, N)."""
        self.shape = shape
        self._table: FloatArray = np.zeros(shape, dtype=np.float64)
        self._max_table: FloatArray = np.zeros(shape, dtype=np.float64)
        self._cells: IntArray = np.zeros(0, dtype=np.int64)
        self._held: FloatArray | None = None
        self._max_held: FloatArray = np.zeros(0, dtype=np.float64)
        self._is_table_current = True

    @property
    def table(self) -> FloatArray:
        """Return the positions of all copies, shape (T, N), which the caller may change until time passes."""
        if self._held is not None and not self._is_table_current:
            self._table.reshape(-1)[self._cells] = self._held
        self._held, self._is_table_current = None, True
        return self._table

    @property
    def held(self) -> FloatArray:
        """Return the positions of the assigned copies, shape (K,); not to be changed."""
        if self._held is None:
            # Flat indices, because an index of two arrays takes three times as long.
            self._held = self._table.reshape(-1).take(self._cells)
        return self._held

    @property
    def max_held(self) -> FloatArray:
        """Return the largest positions that the assigned copies ever had, shape (K,); not to be changed.

        The same array as `held` if each copy is at its largest position.
        """
        return self._max_held

    @property
    def cells(self) -> IntArray:
        """Return the places of the assigned copies in the flat table, shape (K,); not to be changed."""
        return self._cells

    def is_assigned(self) -> BoolArray:
        """Return which copies are assigned, by their places in the flat table, shape (T · N,)."""
        is_assigned: BoolArray = np.zeros(self._table.size, dtype=np.bool_)
        is_assigned[self._cells] = True
        return is_assigned

    def load(self, table: FloatArray) -> None:
        """Replace all positions, also the largest ones. `table` has shape (T, N)."""
        self._table = np.ascontiguousarray(table)
        self._max_table = self._table.copy()
        self._held, self._is_table_current = None, True
        self._max_held = self._max_table.reshape(-1).take(self._cells)

    def select(self, cells: IntArray) -> None:
        """Set which copies are assigned.

        `cells`, shape (K,): their places in the flat table.
        """
        # Reading the table stores the positions of the copies that were assigned.
        table = self.table
        self._max_table.reshape(-1)[self._cells] = self._max_held
        self._cells = cells
        self._max_held = self._max_table.reshape(-1).take(cells)
        self._held = table.reshape(-1).take(cells)
        if (self._held == self._max_held).all():
            self._max_held = self._held

    def move_to(self, held: FloatArray) -> None:
        """Set the positions of the assigned copies, shape (K,)."""
        self._held, self._is_table_current = held, False
        self._max_held = np.maximum(self._max_held, held)
        if (held == self._max_held).all():
            self._max_held = held

    def advance_to(self, held: FloatArray, max_held: FloatArray) -> None:
        """Set the positions of the assigned copies, shape (K,), and the largest ones that they had on the way."""
        self._held, self._is_table_current = held, False
        self._max_held = max_held

    def begin_at(self, held: FloatArray) -> None:
        """Set the positions of the assigned copies, shape (K,), as if they had never been at others."""
        self._held, self._is_table_current = held, False
        self._max_held = held
