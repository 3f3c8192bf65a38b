"""Packings that are found without a search: the largest partitions first, each onto brokers that take it.

Source: D. S. Johnson, "Near-optimal bin packing algorithms" (1973).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.packing.problem import PackingProblem


def first_fit(problem: PackingProblem) -> BoolArray | None:
    """A placement, shape (P, B); None if a partition found no room.

    Guarantees: what it finds fits.
    Priority: brokers that are in use; among them those that hold a replica; then the order in which brokers are
    taken into use.
    Complexity: O(P·B log B).
    """
    num_partitions, num_brokers = problem.shape
    rank = np.empty(num_brokers, dtype=np.int64)
    rank[problem.preference()] = np.arange(num_brokers)
    room = _FreeCapacity.of(problem)
    chosen = np.zeros((num_partitions, num_brokers), dtype=np.bool_)
    in_use = np.zeros(num_brokers, dtype=np.bool_)
    for row in _largest_first(problem):
        takes = room.takes(row)
        order = np.lexsort((rank, ~problem.held[row], ~in_use))
        brokers = _apart(problem, row, order[takes[order]])
        if brokers is None:
            return None
        chosen[row, brokers] = True
        in_use[brokers] = True
        room.give(row, brokers)
    return chosen


def keep_and_fill(problem: PackingProblem, brokers: IntArray) -> BoolArray | None:
    """A placement in these brokers, shape (P, B), that leaves most of what is there; None if it finds no room.

    Guarantees: what it finds fits.
    Priority: what is there, largest first, as far as it fits; then the rest, each onto the broker with most room.
    Complexity: O(P·B log B).
    """
    room = _FreeCapacity.of(problem)
    room.close(np.setdiff1d(np.arange(problem.shape[1]), brokers))
    chosen = np.zeros(problem.shape, dtype=np.bool_)
    for row in _largest_first(problem):
        stays = np.flatnonzero(problem.held[row] & room.takes(row))
        kept = _apart(problem, row, stays, at_least=0)
        if kept is not None:
            chosen[row, kept] = True
            room.give(row, kept)
    for row in _largest_first(problem):
        kept = np.flatnonzero(chosen[row])
        takes = room.takes(row) & ~chosen[row]
        order = np.argsort(-room.bytes_left, kind="stable")
        found = _apart(problem, row, np.concatenate([kept, order[takes[order]]]))
        if found is None:
            return None
        added = np.setdiff1d(found, kept)
        chosen[row, added] = True
        room.give(row, added)
    return chosen


@dataclass(slots=True)
class _FreeCapacity:
    """What brokers have left."""

    problem: PackingProblem
    bytes_left: IntArray
    rate_left: IntArray

    @classmethod
    def of(cls, problem: PackingProblem) -> _FreeCapacity:
        return cls(problem, problem.capacity_bytes.copy(), problem.capacity_bytes_per_s.copy())

    def takes(self, row: int) -> BoolArray:
        problem = self.problem
        has_room: BoolArray = (self.bytes_left >= problem.size_bytes[row]) & (
            self.rate_left >= problem.bytes_per_s[row]
        )
        return has_room

    def give(self, row: int, brokers: IntArray) -> None:
        self.bytes_left[brokers] -= self.problem.size_bytes[row]
        self.rate_left[brokers] -= self.problem.bytes_per_s[row]

    def close(self, brokers: IntArray) -> None:
        self.bytes_left[brokers] = -1


def _largest_first(problem: PackingProblem) -> list[int]:
    rows: list[int] = np.argsort(-problem.size_bytes, kind="stable").tolist()
    return rows


def _apart(problem: PackingProblem, row: int, brokers: IntArray, at_least: int | None = None) -> IntArray | None:
    """The first of these brokers that crowd no rack, as many as the partition needs; None if they are too few."""
    taken: list[int] = []
    in_rack: dict[int, int] = {}
    for broker in brokers.tolist():
        rack = int(problem.rack[broker])
        if in_rack.get(rack, 0) < problem.rack_limits[row] and len(taken) < problem.factor[row]:
            taken.append(broker)
            in_rack[rack] = in_rack.get(rack, 0) + 1
    needed = int(problem.factor[row]) if at_least is None else at_least
    return np.array(taken, dtype=np.int64) if len(taken) >= needed else None
