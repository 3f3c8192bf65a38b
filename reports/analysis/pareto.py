"""Pareto dominance of the rows of a matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reports.analysis.statistics import Floats

NOT_DOMINATED = -1
"""Value in the result of `dominators` for rows on the front."""


def dominators(values: Floats) -> NDArray[np.int64]:
    """Return, for each row, the row that dominates it; lower is better.

    A row dominates another if it is at least as good in every column and better in one.

    Guarantees:
        Rows that no other row dominates form the front and get `NOT_DOMINATED`; equal rows are all on it. Every other
        row gets the first row of the front, in lexicographic order of the columns, that dominates it. Infinity equals
        infinity.

    Complexity: O(rows · rows of the front · columns).

    Source: H. T. Kung, F. Luccio, F. P. Preparata, On Finding the Maxima of a Set of Vectors (1975): in lexicographic
    order, a row is dominated only by an earlier row, and always by one of the front.

    Args:
        values: shape (rows, columns); infinite where the value is unknown.

    Returns:
        Shape (rows,); row numbers, or `NOT_DOMINATED`.
    """
    dominator = np.full(len(values), NOT_DOMINATED, dtype=np.int64)
    front = np.empty_like(values)
    front_rows = np.empty(len(values), dtype=np.int64)
    size = 0
    for row in lexicographic_order(values):
        current = front[:size]
        dominates = (current <= values[row]).all(axis=1) & (current < values[row]).any(axis=1)
        if dominates.any():
            dominator[row] = front_rows[np.argmax(dominates)]
        else:
            front[size], front_rows[size] = values[row], row
            size += 1
    return dominator


def lexicographic_order(values: Floats) -> list[int]:
    """Return the row numbers sorted by the first column, then by the next; equal rows keep their order."""
    order: list[int] = np.lexsort(values.T[::-1]).tolist()
    return order
