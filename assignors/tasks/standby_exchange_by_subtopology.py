"""Exchange standbys between clients in different racks, pair by pair, by balance_subtopology flows.

Only the sticky assignor of KIP-924 does this. Built-in assignors exchange standbys by min_traffic with both strategies.

Source: `org.apache.kafka.streams.processor.assignment.TaskAssignmentUtils.optimizeRackAwareStandbyTasks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from assignors.flow import solve_balance_subtopology
from assignors.model.assignment import TaskType
from assignors.model.columns import IntArray
from assignors.recording.recorder import Recorder
from assignors.tasks.active_task_flow import costs_of_moving, describe_exchange
from assignors.tasks.standby_pairs import MAX_ROUNDS
from assignors.tasks.task_placement import TaskPlacement


def exchange_within_subtopologies(
    placement: TaskPlacement, clients: Sequence[int], traffic: IntArray, non_overlap_cost: int, recorder: Recorder
) -> None:
    """Solve one balance_subtopology flow for each pair of clients in different racks, in the order of `clients`.

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
