"""What Kafka's rack-aware assignors weigh against each other, and what nothing as balanced can undercut.

A task costs `traffic_cost` for every partition that it reads without a replica in its client's rack, and
`non_overlap_cost` if its client did not have it before; stateless tasks cost 1 for such a partition and nothing for
moving, as in Kafka. Kafka takes each cost against an assignment that it makes first, and finds the least only of one
kind of task at a time; here the cost is against what was there before the rebalance, the same for every assignor.

Source: KIP-925; the bound is a transport problem (`assignors.flow.transport`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.flow.transport import TransportProblem, solve
from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import NO_RACK, BoolArray, IntArray, Ragged
from assignors.model.configs import AssignmentConfigs
from assignors.model.state import ApplicationState

STATELESS_TRAFFIC_COST = 1


@dataclass(frozen=True, slots=True)
class Weights:
    """What a partition read across racks, and a copy in a new place, cost."""

    traffic_cost: int
    non_overlap_cost: int

    def configured(self, configs: AssignmentConfigs) -> Weights:
        """Those that are configured, and these where nothing is."""
        traffic, moving = configs.rack_aware_traffic_cost, configs.rack_aware_non_overlap_cost
        return Weights(
            self.traffic_cost if traffic is None else traffic, self.non_overlap_cost if moving is None else moving
        )


EQUAL_WEIGHTS = Weights(1, 1)
"""Those of an assignor that weighs nothing."""


@dataclass(frozen=True, slots=True)
class BoundProof:
    """What was found out by looking for the cheapest of the assignments that a bound is of.

    Attributes:
        relaxed: the bound by flows, to which it adds.
        cheapest: what the cheapest of them costs that is known.
    """

    relaxed: int
    cheapest: int


@dataclass(frozen=True, slots=True)
class CostAndBound:
    """What an assignment costs.

    Attributes:
        cost: its cost.
        bound: what no assignment of the same copies costs less than in which no client has more stateful tasks,
            stateless tasks or standbys per thread than some client has here.
        proof: how that was raised; None if it is the bound by flows.
    """

    cost: int
    bound: int
    proof: BoundProof | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TaskCopies:
    """N tasks of a kind and the copies of them that are to be placed.

    Attributes:
        tasks: shape (N,); their rows in the state, ascending.
        number: shape (N,); how many copies of each, on different clients.
        traffic: shape (N, R); what a copy costs in a rack.
        held: shape (N, C); where it costs nothing more.
        moving: what it costs anywhere else.
        placed: shape (N, C); where the copies are.
    """

    tasks: IntArray
    number: IntArray
    traffic: IntArray
    held: BoolArray
    moving: int
    placed: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class CopiesByRole:
    """An assignment by kinds of copies, each of which is balanced by itself.

    Attributes:
        stateful: the active stateful tasks.
        stateless: the stateless ones.
        standbys: the standbys and warm-ups.
    """

    stateful: TaskCopies
    stateless: TaskCopies
    standbys: TaskCopies


def compute_cost_and_bound(
    state: ApplicationState,
    columns: AssignmentColumns,
    weights: Weights,
    had: tuple[BoolArray, BoolArray] | None = None,
) -> CostAndBound | None:
    """What an assignment costs, and the bound for assignments that are as balanced.

    Args:
        state: what was assigned.
        columns: the assignment.
        weights: the costs.
        had: what each client had before, as `previous`, which finds it out if this is None.

    Returns:
        None where a client has no rack, or it is not known where a partition stands that is read.

    Complexity: a min-cost flow over T·R + C + H arcs for each kind of task, where H copies were held before.
    """
    kinds = group_copies_by_role(state, columns, weights, had)
    if kinds is None:
        return None
    every, clients = (kinds.stateful, kinds.stateless, kinds.standbys), state.clients
    cost = sum(cost_of_copies(kind, clients.rack) for kind in every)
    return CostAndBound(cost, sum(flow_bound(kind, clients.rack, clients.threads) for kind in every))


def group_copies_by_role(
    state: ApplicationState,
    columns: AssignmentColumns,
    weights: Weights,
    had: tuple[BoolArray, BoolArray] | None = None,
) -> CopiesByRole | None:
    """The copies of an assignment and what they would cost anywhere; arguments and None as in `appraise`."""
    tasks = state.tasks
    if not has_known_racks(state, standbys=bool(columns.standby.any())):
        return None
    ran, held = previous(state) if had is None else had
    active = np.zeros_like(ran)
    running = np.flatnonzero(columns.active != UNASSIGNED)
    active[running, columns.active[running]] = True
    stateless = Weights(STATELESS_TRAFFIC_COST, 0)
    return CopiesByRole(
        stateful=_copies(state, tasks.source, active & tasks.stateful[:, None], ran, weights),
        stateless=_copies(state, tasks.source, active & ~tasks.stateful[:, None], ran, stateless),
        standbys=_copies(state, tasks.changelog, columns.standby, held, weights),
    )


def has_known_racks(state: ApplicationState, *, standbys: bool) -> bool:
    """Whether every client has a rack, and it is known where partitions stand: sources, and changelogs if need be."""
    located = state.partitions.located
    if (state.clients.rack == NO_RACK).any() or not state.tasks.source.all(located):
        return False
    return not standbys or state.tasks.changelog.all(located)


def previous(state: ApplicationState) -> tuple[BoolArray, BoolArray]:
    """Which tasks each client ran, and of which it had any copy; two arrays of shape (T, C)."""
    ran: BoolArray = np.zeros((len(state.tasks), len(state.clients)), dtype=np.bool_)
    stood_by = np.zeros_like(ran)
    for table, listed in ((ran, state.previous_active), (stood_by, state.previous_standby)):
        for client, ids in enumerate(listed):
            rows = [state.row_of_task[task] for task in ids if task in state.row_of_task]
            table[rows, client] = True
    return ran, ran | stood_by


def _copies(state: ApplicationState, read: Ragged, placed: BoolArray, held: BoolArray, weights: Weights) -> TaskCopies:
    rows = np.flatnonzero(placed.any(axis=1))
    return TaskCopies(
        tasks=rows,
        number=placed[rows].sum(axis=1),
        traffic=state.partitions.remote(read)[rows] * weights.traffic_cost,
        held=held[rows],
        moving=weights.non_overlap_cost,
        placed=placed[rows],
    )


def cost_of_copies(copies: TaskCopies, rack: IntArray) -> int:
    """What copies cost where they are, on clients in these racks."""
    rows, clients = np.nonzero(copies.placed)
    moved = int((~copies.held[rows, clients]).sum())
    return int(copies.traffic[rows, rack[clients]].sum()) + copies.moving * moved


def _least(copies: TaskCopies) -> int:
    """What the copies cost at least, each by itself and wherever it likes."""
    if not len(copies.number):
        return 0
    least = copies.traffic.min(axis=1) + copies.moving * ~copies.held.any(axis=1)
    return int((copies.number * least).sum())


def room(placed: BoolArray, threads: IntArray) -> IntArray:
    """Shape (C,); how many copies each client has if it has as many per thread as the one that has most."""
    loads = placed.sum(axis=0)
    fullest = int((loads / threads).argmax()) if len(loads) else 0
    most: IntArray = loads[fullest] * threads // threads[fullest] if len(loads) else loads
    return most


def flow_bound(copies: TaskCopies, rack: IntArray, threads: IntArray) -> int:
    """The least that any placement of the copies costs in which no client has more per thread than some client has.

    Two copies of one task may meet on a client here, which they may not in an assignment, so standbys may really cost
    more: `assignors.optimum.proof` finds how much.
    """
    cost = cost_of_copies(copies, rack)
    if cost == _least(copies):
        # Every copy is where it costs least: there is nothing to solve.
        return cost
    most = room(copies.placed, threads)
    problem = TransportProblem(
        copies=copies.number,
        traffic=copies.traffic,
        held=copies.held,
        moving=copies.moving,
        rack=rack,
        most=most,
        least=np.zeros_like(most),
    )
    route = solve(problem)
    if route is None:
        raise AssertionError("the assignment itself is a route")
    return route.cost
