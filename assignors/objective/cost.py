"""The cost of an assignment by KIP-925, and a lower bound for assignments that are at least as balanced.

A stateful task costs `traffic_cost` for each partition that it reads and that has no replica in its client's rack, and
`non_overlap_cost` if its client did not hold it before. A stateless task costs 1 for such a partition and nothing for a
move, as in Kafka. Kafka measures moves from an intermediate assignment and minimizes one kind of task at a time; here
moves are measured from the assignment before the rebalance, so that the costs of all assignors are comparable.

Source: KIP-925. The bound is a transport problem (`assignors.flow.transport`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

import numpy as np

from assignors.flow.transport import TransportProblem, solve_transport
from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import BoolArray, IntArray, Ragged, cells
from assignors.model.configs import AssignmentConfigs
from assignors.model.state import ApplicationState, previous_holders


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of traffic and movement in a cost.

    Attributes:
        traffic_cost: cost of a partition without a replica in the client's rack.
        non_overlap_cost: cost of a copy on a client that did not hold the task before.
    """

    traffic_cost: int
    non_overlap_cost: int

    def configured(self, configs: AssignmentConfigs) -> Weights:
        """Return the configured weights; these are the defaults."""
        traffic, moving = configs.rack_aware_traffic_cost, configs.rack_aware_non_overlap_cost
        return Weights(
            self.traffic_cost if traffic is None else traffic, self.non_overlap_cost if moving is None else moving
        )


HIGH_AVAILABILITY_WEIGHTS: Final = Weights(10, 1)
"""Defaults of `HighAvailabilityTaskAssignor`."""

STICKY_WEIGHTS: Final = Weights(1, 10)
"""Defaults of `LegacyStickyTaskAssignor` and `StickyTaskAssignor`."""

STATELESS_WEIGHTS: Final = Weights(1, 0)
"""Weights of stateless tasks, which cannot be configured."""

EQUAL_WEIGHTS: Final = Weights(1, 1)
"""Weights with which to report the cost of an assignor that has no weights."""


@runtime_checkable
class WeightedAssignor(Protocol):
    """An assignor that weighs traffic against movement."""

    @property
    def default_weights(self) -> Weights:
        """Return the weights that apply where none are configured."""
        ...


@dataclass(frozen=True, slots=True)
class BoundProof:
    """The outcome of the search for the cheapest assignment that a bound covers.

    Attributes:
        relaxed_bound: the bound by flows, which the search raises.
        best_known_cost: cost of the cheapest known assignment.
    """

    relaxed_bound: int
    best_known_cost: int


@dataclass(frozen=True, slots=True)
class CostAndBound:
    """The cost of an assignment, and a lower bound.

    Attributes:
        cost: cost of the assignment.
        bound: lower bound of the cost of each assignment with the same number of copies whose maximum load (stateful
            tasks, stateless tasks and standbys per thread, each kind by itself) is not higher.
        proof: how the bound was raised; None for the bound by flows.
    """

    cost: int
    bound: int
    proof: BoundProof | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TaskCopies:
    """Copies of N tasks of one kind, their costs on each client, and their clients in an assignment.

    Attributes:
        tasks: shape (N,); rows of the state, ascending.
        num_copies: shape (N,); copies of each task, on different clients.
        traffic_cost: shape (N, R); cost of a copy in a rack.
        held: shape (N, C); clients on which a copy has no move cost.
        move_cost: cost of a copy on any other client.
        placed: shape (N, C); clients with a copy.
    """

    tasks: IntArray
    num_copies: IntArray
    traffic_cost: IntArray
    held: BoolArray
    move_cost: int
    placed: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class CopiesByRole:
    """The copies of an assignment by kind; each kind is balanced by itself.

    Attributes:
        stateful: active stateful tasks.
        stateless: stateless tasks.
        standbys: standbys and warm-ups.
    """

    stateful: TaskCopies
    stateless: TaskCopies
    standbys: TaskCopies


def compute_cost_and_bound(
    state: ApplicationState,
    columns: AssignmentColumns,
    weights: Weights,
    previous: tuple[BoolArray, BoolArray] | None = None,
) -> CostAndBound | None:
    """Return the cost of an assignment, and the bound for assignments that are at least as balanced.

    Args:
        state: the state that was assigned.
        columns: the assignment.
        weights: the weights.
        previous: result of `previous_holders`; None computes it.

    Returns:
        The cost and the bound; None if a client has no rack, or the racks of a partition that is read are unknown.

    Complexity: a min-cost flow over T·R + C + H arcs for each kind of task; H is the number of copies held before.
    """
    copies = group_copies_by_role(state, columns, weights, previous)
    if copies is None:
        return None
    kinds, clients = (copies.stateful, copies.stateless, copies.standbys), state.clients
    cost = sum(cost_of_copies(kind, clients.rack) for kind in kinds)
    return CostAndBound(cost, sum(flow_bound(kind, clients.rack, clients.threads) for kind in kinds))


def group_copies_by_role(
    state: ApplicationState,
    columns: AssignmentColumns,
    weights: Weights,
    previous: tuple[BoolArray, BoolArray] | None = None,
) -> CopiesByRole | None:
    """Return the copies of an assignment and their costs; arguments and None as in `compute_cost_and_bound`."""
    tasks = state.tasks
    if not state.has_known_racks(standbys=bool(columns.standby.any())):
        return None
    ran, held = previous_holders(state) if previous is None else previous
    active = np.zeros_like(ran)
    running = np.flatnonzero(columns.active != UNASSIGNED)
    active[running, columns.active[running]] = True
    return CopiesByRole(
        stateful=_copies(state, tasks.source, active & tasks.stateful[:, None], ran, weights),
        stateless=_copies(state, tasks.source, active & ~tasks.stateful[:, None], ran, STATELESS_WEIGHTS),
        standbys=_copies(state, tasks.changelog, columns.standby, held, weights),
    )


def _copies(state: ApplicationState, read: Ragged, placed: BoolArray, held: BoolArray, weights: Weights) -> TaskCopies:
    rows = np.flatnonzero(placed.any(axis=1))
    return TaskCopies(
        tasks=rows,
        num_copies=placed[rows].sum(axis=1),
        traffic_cost=state.partitions.count_remote(read)[rows] * weights.traffic_cost,
        held=held[rows],
        move_cost=weights.non_overlap_cost,
        placed=placed[rows],
    )


def cost_of_copies(copies: TaskCopies, rack: IntArray) -> int:
    """Return the total cost of copies where they are placed.

    Args:
        copies: the copies.
        rack: shape (C,); the rack of each client.
    """
    rows, clients = cells(copies.placed)
    moved = int((~copies.held[rows, clients]).sum())
    return int(copies.traffic_cost[rows, rack[clients]].sum()) + copies.move_cost * moved


def _min_cost_without_capacities(copies: TaskCopies) -> int:
    if not len(copies.num_copies):
        return 0
    lowest = copies.traffic_cost.min(axis=1) + copies.move_cost * ~copies.held.any(axis=1)
    return int((copies.num_copies * lowest).sum())


def capacity_at_max_load(placed: BoolArray, threads: IntArray) -> IntArray:
    """Return how many copies each client may hold at the maximum load of the placement, shape (C,).

    Args:
        placed: shape (N, C); clients with a copy.
        threads: shape (C,); threads of each client.
    """
    counts = placed.sum(axis=0)
    fullest = int((counts / threads).argmax()) if len(counts) else 0
    capacity: IntArray = counts[fullest] * threads // threads[fullest] if len(counts) else counts
    return capacity


def flow_bound(copies: TaskCopies, rack: IntArray, threads: IntArray) -> int:
    """Return a lower bound of the cost of each placement whose maximum load per thread is not higher.

    The relaxation lets two copies of a task share a client, which an assignment must not. The optimum with standbys
    may therefore be higher; `assignors.optimum.proof` computes it.

    Args:
        copies: the copies and their placement.
        rack: shape (C,); the rack of each client.
        threads: shape (C,); threads of each client.
    """
    cost = cost_of_copies(copies, rack)
    if cost == _min_cost_without_capacities(copies):
        return cost
    capacity = capacity_at_max_load(copies.placed, threads)
    problem = TransportProblem(
        num_copies=copies.num_copies,
        traffic_cost=copies.traffic_cost,
        held=copies.held,
        move_cost=copies.move_cost,
        rack=rack,
        max_copies=capacity,
        min_copies=np.zeros_like(capacity),
    )
    solution = solve_transport(problem)
    assert solution is not None, "the assignment itself is feasible"
    return solution.cost
