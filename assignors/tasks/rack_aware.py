"""Rack-aware optimisation of an assignment, and what an assignment costs in cross-rack reads.

Source: KIP-925, `RackAwareTaskAssignor`, `MinTrafficGraphConstructor`, `BalanceSubtopologyGraphConstructor`.

The cost counts *partitions*, not bytes, and takes any replica in the client's rack as local, as Kafka does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from assignors.assignment import UNASSIGNED, AssignmentColumns
from assignors.columns import NO_RACK, IntArray, Ragged
from assignors.configs import RackAwareStrategy
from assignors.errors import IllegalStateError
from assignors.flow import balance_subtopology, min_traffic
from assignors.state import ApplicationState
from assignors.tasks.placement import Placement

STATELESS_TRAFFIC_COST = 1
STATELESS_NON_OVERLAP_COST = 0
STANDBY_ROUNDS = 4

RowArray = npt.NDArray[np.intp]

MayMoveStandby = Callable[[int, int, int], bool]
"""Whether a standby may move: source client, destination client, task (rows)."""

Flow = Callable[[IntArray, RowArray, RowArray], RowArray]
"""Solves a flow: costs (N, K) of N tasks on K clients, who owns each task, the tasks (rows); who is to own each."""


@dataclass(frozen=True, slots=True)
class RackCosts:
    """What an assignment costs in Kafka's terms.

    None where Kafka would not know: racks are missing, a copy reads no partition, no standbys are asked for.
    """

    active: int | None
    stateless: int | None
    standby: int | None


def can_enable(state: ApplicationState) -> bool:
    """Whether Kafka optimises for racks at all: a strategy is set, and every client and every replica has a rack.

    Replicas of changelogs count only if standbys are asked for.
    """
    configs = state.assignment_configs
    return configs.rack_aware_assignment_strategy is not RackAwareStrategy.NONE and _racks_are_known(state)


def _racks_are_known(state: ApplicationState) -> bool:
    located = state.partitions.located
    if (state.clients.rack == NO_RACK).any() or not state.tasks.source.all(located):
        return False
    return state.assignment_configs.num_standby_replicas == 0 or state.tasks.changelog.all(located)


def optimize_active_tasks(placement: Placement, tasks: Sequence[int], traffic_cost: int, non_overlap_cost: int) -> None:
    """Move the given active tasks among clients to the least total cost, as Kafka's min-cost flow does.

    Guarantees: the least sum of traffic and non-overlap cost that the configured strategy's graph admits; with
    min_traffic every client keeps its number of these tasks.

    Raises:
        IllegalStateError: a task reads no partition.
    """
    if not tasks:
        return
    state = placement.state
    _require_partitions(state, state.tasks.source, tasks)
    traffic = state.remote_partitions(state.tasks.source) * traffic_cost
    clients = range(len(state.clients))
    move_actives(placement, tasks, clients, traffic, non_overlap_cost, configured_flow(state))


def optimize_standby_tasks(
    placement: Placement, traffic_cost: int, non_overlap_cost: int, may_move: MayMoveStandby
) -> None:
    """Exchange standbys between clients of different racks, pair by pair, as long as that saves cost.

    Guarantees: every client keeps its number of standbys; a task is never put where it is held already.

    Priority: pairs of clients in Kafka's order, each solved and applied before the next; at most 4 rounds.

    Complexity: O(C²) small min-cost flows a round.

    Raises:
        IllegalStateError: a standby task has no changelog.
    """
    state = placement.state
    _require_partitions(state, state.tasks.changelog, sorted(set().union(*placement.standby)))
    traffic = state.remote_partitions(state.tasks.changelog) * traffic_cost
    exchange_standbys(placement, range(len(state.clients)), traffic, non_overlap_cost, min_traffic_flow, may_move)


def min_traffic_flow(costs: IntArray, owner: RowArray, tasks: RowArray) -> RowArray:
    """The flow of min_traffic, whatever the strategy is."""
    return min_traffic(costs, owner)


def configured_flow(state: ApplicationState) -> Flow:
    """The flow of the configured strategy."""
    if state.assignment_configs.rack_aware_assignment_strategy is not RackAwareStrategy.BALANCE_SUBTOPOLOGY:
        return min_traffic_flow
    return lambda costs, owner, tasks: balance_subtopology(costs, owner, state.tasks.subtopology[tasks])


def move_actives(
    placement: Placement,
    tasks: Sequence[int],
    clients: Sequence[int],
    traffic: IntArray,
    non_overlap_cost: int,
    flow: Flow,
) -> None:
    """Solve one flow and move the active tasks accordingly.

    Args:
        placement: what to change.
        tasks: the tasks to move, rows in order.
        clients: all clients, rows in the order in which they are nodes of the graph.
        traffic: shape (T, C); what a task costs on a client, without the cost of moving it.
        non_overlap_cost: what it costs to move a task.
        flow: how to solve it.
    """
    rows, nodes = np.array(tasks, dtype=np.intp), np.array(clients, dtype=np.intp)
    node_of = np.argsort(nodes)
    owner = node_of[[placement.owner[task] for task in tasks]]
    moved_to = flow(_costs(traffic[np.ix_(rows, nodes)], owner, non_overlap_cost), owner, rows)
    for position in np.flatnonzero(moved_to != owner).tolist():
        placement.unassign_active(tasks[position], clients[owner[position]])
        placement.assign_active(tasks[position], clients[moved_to[position]])


def exchange_standbys(
    placement: Placement,
    clients: Sequence[int],
    traffic: IntArray,
    non_overlap_cost: int,
    flow: Flow,
    may_move: MayMoveStandby,
) -> None:
    """Solve one flow for each pair of clients in different racks, in the order of `clients`.

    Arguments as for `move_actives`; `may_move` forbids single moves.
    """
    racks = placement.state.clients.rack.tolist()
    for _ in range(STANDBY_ROUNDS):
        moved = False
        for first, second in combinations(clients, 2):
            if racks[first] != racks[second]:
                pair = (min(first, second), max(first, second))
                moved |= _exchange(placement, pair, traffic, non_overlap_cost, flow, may_move)
        if not moved:
            return


def _exchange(
    placement: Placement,
    pair: tuple[int, int],
    traffic: IntArray,
    non_overlap_cost: int,
    flow: Flow,
    may_move: MayMoveStandby,
) -> bool:
    first, second = pair
    from_first = _movable(placement, first, second, may_move)
    from_second = _movable(placement, second, first, may_move)
    if not from_first or not from_second:
        return False
    tasks = sorted(from_first + from_second)
    rows = np.array(tasks, dtype=np.intp)
    owner = np.array([0 if task in placement.standby[first] else 1 for task in tasks], dtype=np.intp)
    moved_to = flow(_costs(traffic[rows][:, pair], owner, non_overlap_cost), owner, rows)
    changed = np.flatnonzero(moved_to != owner).tolist()
    for position in changed:
        placement.unassign_standby(tasks[position], pair[owner[position]])
        placement.assign_standby(tasks[position], pair[moved_to[position]])
    return bool(changed)


def _costs(traffic: IntArray, owner: RowArray, non_overlap_cost: int) -> IntArray:
    costs = traffic + non_overlap_cost
    costs[np.arange(len(owner)), owner] -= non_overlap_cost
    return costs


def _movable(placement: Placement, source: int, destination: int, may_move: MayMoveStandby) -> list[int]:
    movable = placement.standby[source] - placement.standby[destination] - placement.active[destination]
    return [task for task in movable if may_move(source, destination, task)]


def _require_partitions(state: ApplicationState, partitions: Ragged, tasks: Sequence[int]) -> None:
    counts = partitions.counts()
    for task in tasks:
        if not counts[task]:
            raise IllegalStateError(f"Task {state.tasks.ids[task]} has no TopicPartitions")


def rack_costs(state: ApplicationState, columns: AssignmentColumns, traffic_cost: int) -> RackCosts:
    """What an assignment costs by Kafka's own count.

    Args:
        state: the state that was assigned.
        columns: the assignment.
        traffic_cost: weight of one remote partition, for stateful actives and standbys; stateless ones weigh 1.
    """
    if not can_enable(state):
        return RackCosts(None, None, None)
    running = columns.active != UNASSIGNED
    reads_nothing = (running & (state.tasks.source.counts() == 0)) | (
        columns.standby.any(axis=1) & (state.tasks.changelog.counts() == 0)
    )
    if reads_nothing.any():
        return RackCosts(None, None, None)
    source = state.remote_partitions(state.tasks.source)
    paid = source[np.arange(len(source)), np.where(running, columns.active, 0)] * running
    standby = (state.remote_partitions(state.tasks.changelog) * columns.standby).sum()
    return RackCosts(
        active=int(paid[state.tasks.stateful].sum()) * traffic_cost,
        stateless=int(paid[~state.tasks.stateful].sum()) * STATELESS_TRAFFIC_COST,
        standby=int(standby) * traffic_cost if state.assignment_configs.num_standby_replicas else None,
    )
