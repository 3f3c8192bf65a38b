"""Rack-aware optimization that KIP-924 offers to pluggable assignors; it differs slightly from the built-in one.

Source: `org.apache.kafka.streams.processor.assignment.TaskAssignmentUtils`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from assignors.flow import solve_balance_subtopology
from assignors.model.assignment import TaskType
from assignors.model.columns import NO_RACK, BoolArray, IntArray, Ragged
from assignors.model.configs import RackAwareStrategy
from assignors.model.state import ApplicationState
from assignors.objective.cost import Weights
from assignors.recording.recorder import Recorder
from assignors.tasks.active_task_flow import costs_of_moving, describe_exchange, move_actives, traffic_by_rack
from assignors.tasks.standby import no_tag_constraints
from assignors.tasks.standby_exchange import exchange_standbys
from assignors.tasks.standby_pairs import MAX_ROUNDS
from assignors.tasks.task_placement import TaskPlacement


def exchange_within_subtopologies(
    placement: TaskPlacement, clients: Sequence[int], traffic: IntArray, non_overlap_cost: int, recorder: Recorder
) -> None:
    """Solve one balance_subtopology flow for each pair of clients in different racks, in the order of `clients`.

    Only the sticky assignor of KIP-924 does this; built-in ones exchange standbys by min_traffic with both strategies.

    Arguments as for `exchange_standbys`, without tags.

    Complexity: O(C²) flows in each round.
    """
    racks = placement.state.clients.rack.tolist()
    for _ in range(MAX_ROUNDS):
        moved = False
        for pair in combinations(clients, 2):
            first, second = sorted(pair)
            if racks[first] != racks[second]:
                costs = traffic[:, (racks[first], racks[second])]
                moved |= _exchange(placement, (first, second), costs, non_overlap_cost, recorder)
        if not moved:
            return


def _exchange(
    placement: TaskPlacement, pair: tuple[int, int], traffic: IntArray, non_overlap_cost: int, recorder: Recorder
) -> bool:
    first, second = pair
    standbys, owners = placement.standbys(), placement.owners()
    from_first = standbys[first] & ~standbys[second] & (owners != second)
    from_second = standbys[second] & ~standbys[first] & (owners != first)
    if not from_first.any() or not from_second.any():
        return False
    tasks = np.flatnonzero(from_first | from_second)
    owner = from_second[tasks].astype(np.intp)
    costs = costs_of_moving(traffic[tasks], owner, non_overlap_cost)
    solution = solve_balance_subtopology(costs, owner, placement.state.tasks.subtopology[tasks])
    recorder.flow(solution.effort)
    changed = np.flatnonzero(solution.owner != owner)
    if recorder.wants_steps:
        moved, ends = tasks[changed], (owner[changed], solution.owner[changed])
        role = TaskType.STANDBY
        recorder.exchange(
            describe_exchange(role, moved, np.array(pair), ends, traffic[moved], non_overlap_cost, spreads=True)
        )
    for position in changed.tolist():
        placement.unassign_standby(int(tasks[position]), pair[owner[position]])
        placement.assign_standby(int(tasks[position]), pair[solution.owner[position]])
    return len(changed) > 0


def optimize_rack_aware_active_tasks(
    placement: TaskPlacement,
    tasks: Sequence[int],
    clients: Sequence[int],
    weights: Weights,
    recorder: Recorder,
) -> None:
    """Move active tasks to the minimum total cost, if both costs are configured and all racks are known, as in Kafka.

    Args:
        placement: the placement to change.
        tasks: tasks to move, rows in order.
        clients: all clients (rows) in the iteration order of the caller's map.
        weights: costs of remote source or changelog partitions, and of moves.
        recorder: receives the flow.

    Guarantees: as `rack_aware.optimize_active_tasks`.
    """
    state = placement.state
    if not tasks or not _is_configured(state):
        return
    partitions = _all_partitions(state)
    if _racks_are_known(state, partitions):
        traffic = traffic_by_rack(state, partitions, weights.traffic_cost)
        move_actives(placement, tasks, clients, traffic, weights.non_overlap_cost, recorder)


def optimize_rack_aware_standby_tasks(
    placement: TaskPlacement, clients: Sequence[int], weights: Weights, recorder: Recorder
) -> None:
    """Exchange standbys pair by pair with the configured strategy, if Kafka does; arguments as for active tasks.

    Guarantees: as `rack_aware.optimize_standby_tasks`, except that tags never forbid a move.

    Priority: pairs in the order of `clients`.
    """
    state = placement.state
    if not any(placement.standby) or not _is_configured(state) or not _racks_are_known(state, state.tasks.changelog):
        return
    traffic = traffic_by_rack(state, state.tasks.changelog, weights.traffic_cost)
    if state.assignment_configs.rack_aware_assignment_strategy is RackAwareStrategy.BALANCE_SUBTOPOLOGY:
        exchange_within_subtopologies(placement, clients, traffic, weights.non_overlap_cost, recorder)
    else:
        exchange_standbys(placement, clients, traffic, weights.non_overlap_cost, no_tag_constraints(state), recorder)


def _all_partitions(state: ApplicationState) -> Ragged:
    """Return the source and changelog partitions of each task; a partition that is both counts once."""
    rows = range(len(state.tasks))
    source, changelog = state.tasks.source, state.tasks.changelog
    return Ragged.of([sorted({*source.row(task).tolist(), *changelog.row(task).tolist()}) for task in rows])


def _is_configured(state: ApplicationState) -> bool:
    configs = state.assignment_configs
    return (
        configs.rack_aware_assignment_strategy is not RackAwareStrategy.NONE
        and configs.rack_aware_traffic_cost is not None
        and configs.rack_aware_non_overlap_cost is not None
    )


def _racks_are_known(state: ApplicationState, partitions: Ragged) -> bool:
    """Return whether each client has a rack, and each partition a replica with a rack; other replicas do not matter."""
    has_rack: BoolArray = np.any(state.partitions.in_rack, axis=1)
    return not np.any(state.clients.rack == NO_RACK) and partitions.all(has_rack)
