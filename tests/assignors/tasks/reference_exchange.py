"""A direct implementation of the standby exchange on sets, without shortcuts: the reference for the kernel.

Source: `RackAwareTaskAssignor.optimizeStandbyTasks`, `ClientTagAwareStandbyTaskAssignor.isAllowedTaskMovement` of Kafka
Streams.
"""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from assignors.flow import FlowEffort, FlowSolution
from assignors.model.columns import IntArray
from assignors.tasks.task_placement import TaskPlacement

Flow = Callable[[IntArray, IntArray, IntArray], FlowSolution]


def exchange_plainly(
    placement: TaskPlacement,
    clients: Sequence[int],
    traffic: IntArray,
    non_overlap_cost: int,
    keeps_tags: bool,
    flow: Flow,
) -> list[FlowEffort]:
    """Solve the flow of each pair: costs [task][2 clients], owner [task], tasks; return the effort of each."""
    racks = placement.state.clients.rack.tolist()
    efforts = []
    for _ in range(4):
        moved = False
        for pair in combinations(clients, 2):
            first, second = sorted(pair)
            forth = movable(placement, first, second, keeps_tags)
            back = movable(placement, second, first, keeps_tags)
            if racks[first] == racks[second] or not forth or not back:
                continue
            tasks = np.array(sorted(forth | back))
            owner = np.array([0 if task in forth else 1 for task in tasks])
            costs = traffic[tasks][:, [racks[first], racks[second]]] + non_overlap_cost
            costs[range(len(tasks)), owner] -= non_overlap_cost
            solution = flow(costs, owner, tasks, None)
            efforts.append(solution.effort)
            for task, before, after in zip(tasks.tolist(), owner.tolist(), solution.owner.tolist(), strict=True):
                if before != after:
                    moved = True
                    placement.unassign_standby(task, (first, second)[before])
                    placement.assign_standby(task, (first, second)[after])
        if not moved:
            break
    return efforts


def movable(placement: TaskPlacement, source: int, destination: int, keeps_tags: bool) -> set[int]:
    tasks = range(len(placement.owner))
    mine = {task for task in tasks if placement.standbys()[source, task] and not placement.holds(destination, task)}
    return {task for task in mine if not keeps_tags or may_move(placement, source, destination, task)}


def may_move(placement: TaskPlacement, source: int, destination: int, task: int) -> bool:
    tags = placement.state.clients.tags
    others: set[tuple[str, str]] = set()
    for client in range(len(tags)):
        if client not in (source, destination) and placement.holds(client, task):
            others.update(tags[client].items())
    return len(others | set(tags[destination].items())) >= len(others | set(tags[source].items()))
