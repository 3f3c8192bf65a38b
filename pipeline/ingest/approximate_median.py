"""Spark's `percentile_approx(value, 0.5, 100)`, in Python; does not import Spark.

Series are measured by it: the usual time between their readings, and how far the clock of their broker is ahead.

Guarantees:
    The same element of the values as Spark selects, whose rank differs from that of the median by at most 1 %.
Complexity:
    O(n) for the first series of each length, then O(1) plus a selection; O(n) always from _BUFFERED values on.
Source:
    Greenwald and Khanna, "Space-Efficient Online Computation of Quantile Summaries", SIGMOD 2001, as in Spark's
    `QuantileSummaries`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

_BUFFERED = 50_000
"""Values that Spark sorts at a time."""

_ERROR = 1.0 / 100

Entry = tuple[float, int, int]
"""A value, the ranks since the entry before it, and the uncertainty of its rank."""


def approximate_median(values: npt.NDArray[np.int64]) -> int | None:
    """Return the element that Spark takes for the median.

    Args:
        values: the values in the order in which Spark reads them; shape (n,).

    Returns:
        An element; None without values.
    """
    if not len(values):
        return None
    # Spark converts to double and back.
    numbers = values.astype(np.float64)
    if len(numbers) < _BUFFERED:
        rank = _selected_rank(len(numbers))
        usual = numbers[rank]
        # NumPy's selection is slow where most values are equal.
        if np.count_nonzero(numbers < usual) <= rank < np.count_nonzero(numbers <= usual):
            return int(usual)
        return int(np.partition(numbers, rank)[rank])
    return int(_select(numbers))


@lru_cache(maxsize=4096)
def _selected_rank(count: int) -> int:
    """Return the rank of the element that Spark selects; below _BUFFERED it depends on the number of values only."""
    return int(_select(np.arange(count, dtype=np.float64)))


def _select(numbers: npt.NDArray[np.float64]) -> float:
    entries: list[Entry] = []
    count = 0
    for start in range(0, len(numbers), _BUFFERED):
        part = np.sort(numbers[start : start + _BUFFERED]).tolist()
        entries = _insert(entries, part, count)
        count += len(part)
        entries = _compress(entries, count)
    if count % _BUFFERED == 0:
        # Spark compresses a full buffer at once, and again before it selects.
        entries = _compress(entries, count)
    return _middle(entries, count)


def _insert(entries: list[Entry], part: list[float], count: int) -> list[Entry]:
    """Insert sorted values."""
    merged: list[Entry] = []
    position, last = 0, len(part) - 1
    for index, value in enumerate(part):
        while position < len(entries) and entries[position][0] <= value:
            merged.append(entries[position])
            position += 1
        count += 1
        is_extreme = not merged or (position == len(entries) and index == last)
        merged.append((value, 1, 0 if is_extreme else math.floor(2 * _ERROR * count)))
    return merged + entries[position:]


def _compress(entries: list[Entry], count: int) -> list[Entry]:
    """Merge entries as long as ranks remain certain enough; the smallest and the largest value remain."""
    limit = 2 * _ERROR * count
    kept: list[Entry] = []
    value, ranks, uncertainty = entries[-1]
    for entry in reversed(entries[1:-1]):
        if entry[1] + ranks + uncertainty < limit:
            ranks += entry[1]
        else:
            kept.append((value, ranks, uncertainty))
            value, ranks, uncertainty = entry
    kept.append((value, ranks, uncertainty))
    if len(entries) > 1 and entries[0][0] <= value:
        kept.append(entries[0])
    return kept[::-1]


def _middle(entries: list[Entry], count: int) -> float:
    """Return the first value whose rank may be that of the median."""
    rank = math.ceil(0.5 * count)
    error = max(_uncertainties(entries)) // 2
    least = 0
    for value, ranks, uncertainty in entries[:-1]:
        least += ranks
        if least + uncertainty - error <= rank <= least + error:
            return value
    return entries[-1][0]


def _uncertainties(entries: list[Entry]) -> Iterable[int]:
    return (ranks + uncertainty for _, ranks, uncertainty in entries)
