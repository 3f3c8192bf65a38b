"""Balance tasks per thread by moving one task at a time.

Source: `HighAvailabilityTaskAssignor.balanceTasksOverThreads`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assignors.model.assignment import TaskType
from assignors.recording.leader_work import LeaderWork
from assignors.recording.recorder import PlacementStep, Recorder, StepKind
from assignors.tasks.task_placement import TaskPlacement

MayMove = Callable[[int, int], bool]
"""Whether tasks may move from one client to another (rows)."""


def balance_over_threads(placement: TaskPlacement, role: TaskType, may_move: MayMove, recorder: Recorder) -> None:
    """Move tasks of one role from loaded to less loaded clients until a sweep moves none.

    `may_move` says whether a move is allowed.

    Guarantees: no further allowed move reduces a difference in (active and standby) tasks per thread.

    Priority: source, then destination, both in Kafka's order; of the source's tasks the first in Kafka's order.

    Complexity: O(C²) comparisons in each sweep in the worst case; O(1) for a source whose load is the minimum.
    """
    sweeps = 1
    while _sweep(placement, role, may_move, recorder):
        sweeps += 1
    clients = len(placement.threads)
    held = (
        sum(placement.active_count)
        if role is TaskType.ACTIVE
        else sum(placement.assigned_count) - sum(placement.active_count)
    )
    recorder.work(LeaderWork.COMPARE, sweeps * clients * (clients - 1))
    recorder.work(LeaderWork.COPY, sweeps * held * (clients - 1))


def _sweep(placement: TaskPlacement, role: TaskType, may_move: MayMove, recorder: Recorder) -> bool:
    moved = False
    clients = range(len(placement.threads))
    lowest = _lowest_load_with_one_more(placement)
    for source in clients:
        if _load_with_one_less(placement, source) < lowest:
            continue
        has_moved = False
        for destination in clients:
            if destination != source and should_move(placement, source, destination):
                has_moved |= _move_tasks(placement, role, source, destination, may_move, recorder)
        if has_moved:
            moved = True
            lowest = _lowest_load_with_one_more(placement)
    return moved


def _move_tasks(
    placement: TaskPlacement, role: TaskType, source: int, destination: int, may_move: MayMove, recorder: Recorder
) -> bool:
    if not may_move(source, destination):
        return False
    moved = False
    held = placement.owners() == source if role is TaskType.ACTIVE else placement.standbys()[source]
    for task in np.flatnonzero(held).tolist():
        if not should_move(placement, source, destination):
            break
        if placement.holds(destination, task):
            continue
        if recorder.wants_steps:
            loads = placement.assigned_load(source), placement.assigned_load(destination)
            recorder.step(PlacementStep(StepKind.BALANCED, role, task, source, destination, *loads))
        if role is TaskType.ACTIVE:
            placement.unassign_active(task)
            placement.assign_active(task, destination)
        else:
            placement.unassign_standby(task, source)
            placement.assign_standby(task, destination)
        moved = True
    return moved


def should_move(placement: TaskPlacement, source: int, destination: int) -> bool:
    """Return whether moving one task from the source to the destination reduces their difference in load."""
    skew = placement.assigned_load(source) - placement.assigned_load(destination)
    if skew <= 0:
        return False
    gained = (placement.assigned_count[destination] + 1.0) / placement.threads[destination]
    proposed = _load_with_one_less(placement, source) - gained
    return 0 <= proposed < skew


def _load_with_one_less(placement: TaskPlacement, client: int) -> float:
    return (placement.assigned_count[client] - 1.0) / placement.threads[client]


def _lowest_load_with_one_more(placement: TaskPlacement) -> float:
    pairs = zip(placement.assigned_count, placement.threads, strict=True)
    return min(((count + 1.0) / threads for count, threads in pairs), default=0.0)
