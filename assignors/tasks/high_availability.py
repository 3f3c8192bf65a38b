"""Kafka Streams' default task assignor.

Source: `HighAvailabilityTaskAssignor`, with `balanceTasksOverThreads`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from assignors.errors import NoSuchElementError, NullPointerError
from assignors.model.assignment import UNASSIGNED, TaskAssignment, TaskType
from assignors.model.columns import IntArray
from assignors.model.state import ApplicationState
from assignors.objective import HIGH_AVAILABILITY_WEIGHTS, STATELESS_WEIGHTS, Weights
from assignors.recording import LeaderWork, PlacementStep, RecordedAssignor, Recorder, StepKind
from assignors.tasks.rack_aware import (
    can_enable,
    optimize_active_tasks,
    optimize_standby_tasks,
)
from assignors.tasks.standby import standby_policy
from assignors.tasks.task_movement import move_to_caught_up_clients
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


@dataclass(frozen=True, slots=True)
class HighAvailability(RecordedAssignor):
    """`HighAvailabilityTaskAssignor`: computes a balanced target, and runs tasks on caught-up clients until then.

    Guarantees: a stateful task runs on a caught-up client if one exists. Loads (active and standby tasks per thread) of
    the target are balanced. A probing rebalance is requested until the target is reached. The previous assignment
    matters only through the lags.

    Priority: caught-up clients, then balance, then (with a rack-aware strategy) traffic, then the target.

    Complexity: O(T log C) for the target, O(C log C) for each task that waits for a warm-up; see `assignors.flow` for
    the rack-aware step.

    Source: KIP-441, KIP-708, KIP-925; `org.apache.kafka.streams.processor.internals.assignment`.
    """

    default_weights: ClassVar[Weights] = HIGH_AVAILABILITY_WEIGHTS
    falls_back_without_lags: ClassVar[bool] = True
    """Kafka replaces the assignor by its fallback while lags are unknown."""

    def assign_recorded(self, state: ApplicationState, recorder: Recorder) -> TaskAssignment:
        """Assign tasks exactly as Kafka, and pass the steps to a recorder.

        Returns:
            The assignment.

        Raises:
            KafkaError: Kafka throws for this state; see `assignors.errors`.
        """
        placement = TaskPlacement(state)
        configs = state.assignment_configs
        stateful = np.flatnonzero(state.tasks.stateful).tolist()
        rack_aware = can_enable(state)
        _assign_stateful_actives(placement, stateful, rack_aware, recorder)
        if configs.num_standby_replicas > 0:
            _assign_standbys(placement, stateful, rack_aware, recorder)
        movements = move_to_caught_up_clients(placement, recorder)
        _assign_stateless(placement, np.flatnonzero(~state.tasks.stateful).tolist(), rack_aware, recorder)
        recorder.work(LeaderWork.PLACE, sum(placement.assigned_count))
        followup_ms = configs.probing_rebalance_interval_ms if movements else None
        return placement.columns(followup_ms).to_assignment(state)


def _assign_stateful_actives(placement: TaskPlacement, tasks: list[int], rack_aware: bool, recorder: Recorder) -> None:
    num_clients = len(placement.threads)
    if tasks and not num_clients:
        raise NoSuchElementError("no client can run the tasks")
    if tasks:
        placement.move_actives(np.array(tasks), np.arange(len(tasks)) % num_clients)
    if recorder.wants_steps:
        for task in tasks:
            recorder.step(PlacementStep(StepKind.DEALT, TaskType.ACTIVE, task, UNASSIGNED, placement.owner[task]))
    balance_over_threads(placement, TaskType.ACTIVE, lambda source, destination: True, recorder)
    if rack_aware:
        optimize_active_tasks(
            placement, tasks, HIGH_AVAILABILITY_WEIGHTS.configured(placement.state.assignment_configs), recorder
        )


def _assign_standbys(placement: TaskPlacement, tasks: list[int], rack_aware: bool, recorder: Recorder) -> None:
    policy = standby_policy(placement.state)
    policy.assign(placement, tasks, recorder)
    balance_over_threads(placement, TaskType.STANDBY, policy.may_balance, recorder)
    if rack_aware:
        optimize_standby_tasks(
            placement,
            HIGH_AVAILABILITY_WEIGHTS.configured(placement.state.assignment_configs),
            policy.tags_to_keep(),
            recorder,
        )


def _assign_stateless(placement: TaskPlacement, tasks: list[int], rack_aware: bool, recorder: Recorder) -> None:
    if not tasks:
        return
    if not placement.threads:
        raise NullPointerError("no client can run the tasks")
    counts, threads = np.array(placement.active_count, dtype=np.int64), np.array(placement.threads, dtype=np.int64)
    owners, loads = clients_with_fewest_tasks(counts, threads, len(tasks))
    if recorder.wants_steps:
        for task, client, load in zip(tasks, owners.tolist(), loads.tolist(), strict=True):
            step = (TaskType.ACTIVE, task, UNASSIGNED, client)
            recorder.step(PlacementStep(StepKind.FEWEST_ACTIVES, *step, destination_load=load))
    placement.move_actives(np.array(tasks, dtype=np.int64), owners)
    if rack_aware:
        optimize_active_tasks(placement, tasks, STATELESS_WEIGHTS, recorder)


def clients_with_fewest_tasks(
    counts: IntArray, threads: IntArray, number: int
) -> tuple[IntArray, npt.NDArray[np.float64]]:
    """Return the clients that get tasks one after the other, always the one with the fewest tasks per thread.

    Equal loads are in the order of clients. A client would get its tasks at loads that only grow, so the first loads of
    all clients together, sorted, are the order of Kafka's queue of clients.

    `counts`: shape (C,); the tasks that each client has before. `threads`: shape (C,); its threads. `number`: how many
    tasks to give. Returns the client of each task and its load before, shape (number,).

    Complexity: O((number + C) log (number + C)).
    """
    level = (int(counts.sum()) + number) / int(threads.sum())
    # Each client gets no more tasks than bring it above the mean load; one more, because the mean is rounded.
    most = np.maximum(np.floor(level * threads - counts).astype(np.int64) + 2, 0)
    clients = np.repeat(np.arange(len(counts)), most)
    gained = np.arange(len(clients)) - np.repeat(np.cumsum(most) - most, most)
    loads = (counts[clients] + gained) / threads[clients]
    order = np.argsort(loads, kind="stable")[:number]
    return clients[order], loads[order]
