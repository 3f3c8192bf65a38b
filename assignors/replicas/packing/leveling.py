"""Leveling the utilization of brokers without a search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.packing.problem import PER_MILLE, PackingProblem

FloatArray = npt.NDArray[np.float64]

_STEP = 1 / PER_MILLE
"""A move has to lower the higher of two utilizations by more than this."""


def level_utilization(problem: PackingProblem, chosen: BoolArray) -> BoolArray:
    """Return a placement, shape (P, B), in which no single move lowers the utilization of the brokers that it concerns.

    Guarantees: the result fits, and its peak is not higher than before. Its own result stays as it is.
    Priority: the broker with the highest utilization gives first; of its replicas and the brokers that take them, the
    pair after which the higher utilization of the two brokers is lowest; then the lowest partition and broker.
    Complexity: O(P·B) for each move.

    Args:
        problem: what has to fit.
        chosen: a placement that fits.
    """
    board = _BrokerLoads.of(problem, chosen.copy())
    settled = np.zeros(problem.shape[1], dtype=np.bool_)
    while not settled.all():
        used = board.used.max(axis=0)
        source = int(np.where(settled, -1.0, used).argmax())
        rows = np.flatnonzero(board.chosen[:, source])
        after = board.higher_after(source, rows)
        if not after.size or after.min() > used[source] - _STEP:
            settled[source] = True
            continue
        place, target = divmod(int(after.argmin()), problem.shape[1])
        board.move(int(rows[place]), source, target)
        settled[:] = False
    return board.chosen


@dataclass(slots=True)
class _BrokerLoads:
    """A placement and what brokers carry; R resources.

    Attributes:
        chosen: shape (P, B).
        weights: shape (R, P); what a replica takes of each resource.
        capacities: shape (R, B).
        usable: shape (R, B); the capacities less the headroom.
        loads: shape (R, B); what brokers carry.
        in_rack: shape (P, number of racks); replicas of each partition by rack.
    """

    problem: PackingProblem
    chosen: BoolArray
    weights: IntArray
    capacities: IntArray
    usable: IntArray
    loads: IntArray
    in_rack: IntArray

    @classmethod
    def of(cls, problem: PackingProblem, chosen: BoolArray) -> _BrokerLoads:
        weights = np.stack([resource.weight for resource in problem.resources])
        in_rack = np.zeros((len(chosen), int(problem.rack.max()) + 1), dtype=np.int64)
        np.add.at(in_rack.T, problem.rack, chosen.T.astype(np.int64))
        fixed = np.stack([resource.fixed for resource in problem.resources])
        usable = np.stack([problem.capacity_bytes, problem.capacity_bytes_per_s][: len(weights)]) + fixed
        capacities = np.stack([resource.capacities for resource in problem.resources])
        return cls(problem, chosen, weights, capacities, usable, weights @ chosen + fixed, in_rack)

    @property
    def used(self) -> FloatArray:
        """Shape (R, B); utilizations."""
        shares: FloatArray = self.loads / self.capacities
        return shares

    def higher_after(self, source: int, rows: IntArray) -> FloatArray:
        """Return the higher utilization of both brokers after each move, shape (len(rows), B); inf if it cannot be."""
        problem, weights = self.problem, self.weights[:, rows]
        left = ((self.loads[:, source, None] - weights) / self.capacities[:, source, None]).max(axis=0)
        loads = self.loads[:, None, :] + weights[:, :, None]
        higher = np.maximum((loads / self.capacities[:, None, :]).max(axis=0), left[:, None])
        crowd = self.in_rack[rows][:, problem.rack] + (problem.rack != problem.rack[source])
        cannot = self.chosen[rows] | (crowd > problem.rack_limits[rows, None])
        result: FloatArray = np.where(cannot | (loads > self.usable[:, None, :]).any(axis=0), np.inf, higher)
        return result

    def move(self, row: int, source: int, target: int) -> None:
        """Move a replica."""
        self.chosen[row, [source, target]] = False, True
        self.loads[:, source] -= self.weights[:, row]
        self.loads[:, target] += self.weights[:, row]
        self.in_rack[row, self.problem.rack[source]] -= 1
        self.in_rack[row, self.problem.rack[target]] += 1
