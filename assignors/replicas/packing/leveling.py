"""A heuristic that balances the utilization of brokers by single moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.packing.problem import PER_MILLE, PackingProblem

FloatArray = npt.NDArray[np.float64]

_STEP = 1 / PER_MILLE
"""Minimum amount by which a move must lower the higher of its two utilizations."""


def level_utilization(problem: PackingProblem, chosen: BoolArray) -> BoolArray:
    """Return a placement, shape (P, B), in which no single move lowers the higher utilization of its two brokers.

    Guarantees: the result fits, and its peak is not higher than before. The function is idempotent.
    Priority: moves from the broker with the highest utilization; among them, the move after which the higher
    utilization of its two brokers is lowest; then the lowest partition and broker.
    Complexity: O(P·B) per move.

    Args:
        problem: the packing problem.
        chosen: a placement that fits, shape (P, B).
    """
    loads = _BrokerLoads.of(problem, chosen.copy())
    is_done = np.zeros(problem.shape[1], dtype=np.bool_)
    while not is_done.all():
        used = loads.used.max(axis=0)
        source = int(np.where(is_done, -1.0, used).argmax())
        rows = np.flatnonzero(loads.chosen[:, source])
        after = loads.higher_after(source, rows)
        if not after.size or after.min() > used[source] - _STEP:
            is_done[source] = True
            continue
        index, target = divmod(int(after.argmin()), problem.shape[1])
        loads.move(int(rows[index]), source, target)
        is_done[:] = False
    return loads.chosen


@dataclass(slots=True)
class _BrokerLoads:
    """A placement and the loads of brokers; R resources.

    Attributes:
        problem: the packing problem.
        chosen: shape (P, B).
        weights: shape (R, P); the load of one replica.
        capacities: shape (R, B).
        usable: shape (R, B); the capacities less the headroom.
        loads: shape (R, B); the loads of brokers.
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
        """Return the utilization of each resource of each broker, shape (R, B)."""
        shares: FloatArray = self.loads / self.capacities
        return shares

    def higher_after(self, source: int, rows: IntArray) -> FloatArray:
        """Return the higher utilization of the two brokers after each move, shape (len(rows), B); inf if impossible."""
        problem, weights = self.problem, self.weights[:, rows]
        source_utilization = ((self.loads[:, source, None] - weights) / self.capacities[:, source, None]).max(axis=0)
        loads = self.loads[:, None, :] + weights[:, :, None]
        higher = np.maximum((loads / self.capacities[:, None, :]).max(axis=0), source_utilization[:, None])
        in_target_rack = self.in_rack[rows][:, problem.rack] + (problem.rack != problem.rack[source])
        is_impossible = self.chosen[rows] | (in_target_rack > problem.rack_limits[rows, None])
        result: FloatArray = np.where(is_impossible | (loads > self.usable[:, None, :]).any(axis=0), np.inf, higher)
        return result

    def move(self, row: int, source: int, target: int) -> None:
        """Move a replica."""
        self.chosen[row, [source, target]] = False, True
        self.loads[:, source] -= self.weights[:, row]
        self.loads[:, target] += self.weights[:, row]
        self.in_rack[row, self.problem.rack[source]] -= 1
        self.in_rack[row, self.problem.rack[target]] += 1
