"""The cost of each assignment of a run, its lower bound, and its other figures."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

import numpy as np

from assignors.model.assignment import AssignmentColumns
from assignors.model.columns import BoolArray, IntArray
from assignors.model.state import ApplicationState
from assignors.objective.cost import (
    CostAndBound,
    TaskCopies,
    Weights,
    bound_of_moves,
    capacity_at_max_load,
    cost_of_copies,
    flow_bound,
    group_copies_by_role,
    min_cost_without_capacities,
)
from assignors.tasks.rack_aware import RackCosts
from simulator.assignment.measures import Measures

MAX_BOUNDS: Final = 256
"""Number of cached bounds; the least recently used is evicted."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredAssignment:
    """An assignment and its figures.

    Attributes:
        state: the assignor's input.
        columns: the assignment.
        costs: Kafka's own costs of the assignment.
        measures: its other figures.
    """

    state: ApplicationState
    columns: AssignmentColumns
    costs: RackCosts
    measures: Measures

    def holds_for(self, state: ApplicationState, columns: AssignmentColumns) -> bool:
        """Return whether another assignment has the same figures, because it has the same inputs."""
        return (
            self.state.partitions is state.partitions
            and self.state.clients.ids == state.clients.ids
            and np.array_equal(self.state.clients.rack, state.clients.rack)
            and np.array_equal(self.state.clients.threads, state.clients.threads)
            and self.state.assignment_configs == state.assignment_configs
            and np.array_equal(self.columns.active, columns.active)
            and np.array_equal(self.columns.standby, columns.standby)
        )


class Appraiser:
    """Appraises the assignments of one run, in whose rebalances the same bounds recur."""

    def __init__(self) -> None:
        self._bounds: OrderedDict[bytes, int] = OrderedDict()

    def appraise(
        self,
        state: ApplicationState,
        columns: AssignmentColumns,
        weights: Weights,
        previous: tuple[BoolArray, BoolArray],
    ) -> CostAndBound | None:
        """Return the cost and the bound of `compute_cost_and_bound`.

        Args:
            state: the state that was assigned.
            columns: the assignment.
            weights: the weights.
            previous: the active tasks and all copies that each client had, two arrays of shape (T, C).

        Returns:
            The cost and the bound; None if a client has no rack, or the racks of a partition that is read are unknown.
        """
        copies = group_copies_by_role(state, columns, weights, previous)
        if copies is None:
            return None
        kinds = [kind for kind in (copies.stateful, copies.stateless, copies.standbys) if len(kind.tasks)]
        costs = [cost_of_copies(kind, copies.rack) for kind in kinds]
        threads = state.clients.threads
        bounds = [self._bound(kind, copies.rack, threads, cost) for kind, cost in zip(kinds, costs, strict=True)]
        return CostAndBound(sum(costs), sum(bounds))

    def _bound(self, copies: TaskCopies, rack: IntArray, threads: IntArray, cost: int) -> int:
        """Return `flow_bound` of copies with a cost, from the cache if its problem needed a flow before."""
        if cost == min_cost_without_capacities(copies):
            return cost
        bound = bound_of_moves(copies, cost, threads)
        if bound is not None:
            return bound
        if not copies.move_cost and (copies.num_copies == 1).all():
            # Where the only copy of each task was before has no effect, and would make problems differ.
            copies = replace(copies, held=np.zeros_like(copies.held))
        key = _digest(copies, rack, threads)
        bound = self._bounds.pop(key, None)
        if bound is None:
            bound = flow_bound(copies, rack, threads)
            if len(self._bounds) >= MAX_BOUNDS:
                self._bounds.popitem(last=False)
        self._bounds[key] = bound
        return bound


def _digest(copies: TaskCopies, rack: IntArray, threads: IntArray) -> bytes:
    """Return a digest of all on which a bound depends: of the placement, only the capacities that follow from it."""
    digest = blake2b(repr((copies.held.shape, copies.traffic_cost.shape, copies.move_cost)).encode(), digest_size=16)
    capacity = capacity_at_max_load(copies, threads)
    held = np.packbits(copies.held)
    for array in (copies.num_copies, copies.traffic_cost, held, capacity, rack):
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()
