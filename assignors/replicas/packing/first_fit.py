"""Packing heuristics: the largest partitions first, each onto brokers with enough free capacity.

Source: D. S. Johnson, "Near-optimal bin packing algorithms" (1973).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.packing.problem import PackingProblem


def first_fit(problem: PackingProblem) -> BoolArray | None:
    """Return a placement, shape (P, B); None if a partition does not fit.

    Guarantees: the placement fits.
    Priority: brokers in use; among them those that hold a replica; then the order of preference.
    Complexity: O(P·B log B).
    """
    num_partitions, num_brokers = problem.shape
    rank = np.empty(num_brokers, dtype=np.int64)
    rank[problem.preference()] = np.arange(num_brokers)
    free_capacity = _FreeCapacity.of(problem)
    chosen = np.zeros((num_partitions, num_brokers), dtype=np.bool_)
    in_use = np.zeros(num_brokers, dtype=np.bool_)
    for row in _largest_first(problem):
        fits_on = free_capacity.fits(row)
        order = np.lexsort((rank, ~problem.held[row], ~in_use))
        brokers = _first_within_rack_limits(problem, row, order[fits_on[order]])
        if brokers is None:
            return None
        chosen[row, brokers] = True
        in_use[brokers] = True
        free_capacity.place_on(row, brokers)
    return chosen


def keep_and_fill(problem: PackingProblem, brokers: IntArray) -> BoolArray | None:
    """Return a placement on these brokers, shape (P, B), that keeps most replicas; None if a partition does not fit.

    Guarantees: the placement fits.
    Priority: current replicas, the largest first, if they fit; then the rest, each onto the broker with most free bytes.
    Complexity: O(P·B log B).
    """
    free_capacity = _FreeCapacity.of(problem)
    free_capacity.close(np.setdiff1d(np.arange(problem.shape[1]), brokers))
    chosen = np.zeros(problem.shape, dtype=np.bool_)
    for row in _largest_first(problem):
        stays = np.flatnonzero(problem.held[row] & free_capacity.fits(row))
        kept = _first_within_rack_limits(problem, row, stays, at_least=0)
        if kept is not None:
            chosen[row, kept] = True
            free_capacity.place_on(row, kept)
    for row in _largest_first(problem):
        kept = np.flatnonzero(chosen[row])
        fits_on = free_capacity.fits(row) & ~chosen[row]
        order = np.argsort(-free_capacity.bytes_left, kind="stable")
        fitting = _first_within_rack_limits(problem, row, np.concatenate([kept, order[fits_on[order]]]))
        if fitting is None:
            return None
        added = np.setdiff1d(fitting, kept)
        chosen[row, added] = True
        free_capacity.place_on(row, added)
    return chosen


@dataclass(slots=True)
class _FreeCapacity:
    """The free capacity of brokers."""

    problem: PackingProblem
    bytes_left: IntArray
    rate_left: IntArray

    @classmethod
    def of(cls, problem: PackingProblem) -> _FreeCapacity:
        return cls(problem, problem.capacity_bytes.copy(), problem.capacity_bytes_per_s.copy())

    def fits(self, row: int) -> BoolArray:
        problem = self.problem
        is_free: BoolArray = (self.bytes_left >= problem.size_bytes[row]) & (self.rate_left >= problem.bytes_per_s[row])
        return is_free

    def place_on(self, row: int, brokers: IntArray) -> None:
        self.bytes_left[brokers] -= self.problem.size_bytes[row]
        self.rate_left[brokers] -= self.problem.bytes_per_s[row]

    def close(self, brokers: IntArray) -> None:
        self.bytes_left[brokers] = -1


def _largest_first(problem: PackingProblem) -> list[int]:
    rows: list[int] = np.argsort(-problem.size_bytes, kind="stable").tolist()
    return rows


def _first_within_rack_limits(
    problem: PackingProblem, row: int, brokers: IntArray, at_least: int | None = None
) -> IntArray | None:
    """Return the first of these brokers that meet the rack limits, as many as the partition needs; None if too few."""
    chosen: list[int] = []
    in_rack: dict[int, int] = {}
    for broker in brokers.tolist():
        rack = int(problem.rack[broker])
        if in_rack.get(rack, 0) < problem.rack_limits[row] and len(chosen) < problem.factor[row]:
            chosen.append(broker)
            in_rack[rack] = in_rack.get(rack, 0) + 1
    needed = int(problem.factor[row]) if at_least is None else at_least
    return np.array(chosen, dtype=np.int64) if len(chosen) >= needed else None
