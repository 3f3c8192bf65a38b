"""Run tasks on caught-up clients while the clients of the target warm up.

Source: KIP-441, `TaskMovement`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from assignors.compilation import CHOICE, Kernels, Matrix, Vector
from assignors.java.priority_queue import Heap, new_heap, offer, poll
from assignors.model.assignment import UNASSIGNED, TaskType
from assignors.model.columns import NO_CLIENT, BoolArray, IntArray, cells
from assignors.model.lags import is_caught_up, require_lags
from assignors.recording.leader_work import LeaderWork, comparisons_per_element
from assignors.recording.recorder import PlacementStep, Recorder, StepKind
from assignors.tasks.priority_set import PrioritySet, empty_set, enter_all, take, update_two
from assignors.tasks.task_placement import TaskPlacement

STEPS_OF_WORK = 3
"""Number of visits of a client by a movement in one step of work (`KernelChoice`)."""


class MovementState(NamedTuple):
    """The copies of each task, as in `TaskPlacement`, whether they are caught up, and the remaining warm-ups."""

    owner: Vector
    standby: Vector
    active_count: Vector
    assigned_count: Vector
    threads: Vector
    ready: Matrix
    """[task][client] 1 if the client's copy is caught up"""
    lags: Matrix
    """[task][client]"""
    remaining: Vector
    """[1] remaining part of `max.warmup.replicas`, for active tasks and standbys; becomes negative when exhausted"""
    warming: Vector
    """[client * tasks + task] 1 where a warm-up replaces an active task"""


class MovementQueue(NamedTuple):
    """The tasks to move, each from a client that is not caught up."""

    tasks: Vector
    destinations: Vector
    """client of the target, which is not caught up"""
    heap: Heap
    """orders standbys; empty before and after"""
    order: Vector
    """numbers of the movements in the order of Kafka's queue; for standbys, written by the movements"""
    sources: Vector
    """client that gets the task instead, or NO_CLIENT; written by the movements"""


def move_to_caught_up_clients(placement: TaskPlacement, recorder: Recorder) -> int:
    """Let caught-up clients run or hold the tasks of clients that are not caught up.

    Returns the number of movements; if it is not 0, a probing rebalance is necessary.

    Guarantees: an active task runs on a caught-up client if one exists, else on the client with the lowest lag.

    Priority: tasks with the fewest caught-up clients first; a caught-up client that holds a standby, then the least
    loaded caught-up client, then the client with the lowest lag.

    Complexity: O(C log C) for each movement.
    """
    state = placement.state
    if not len(state.clients):
        return 0
    require_lags(state)
    lowest = state.lags.min(axis=1)
    clients = len(state.clients)
    recorder.work(LeaderWork.RANK, int(state.tasks.stateful.sum()) * clients * comparisons_per_element(clients))
    remaining = array("q", [state.assignment_configs.max_warmup_replicas])
    warming = bytearray(len(placement.standby))
    movement = _Movement(placement, lowest, remaining, warming, recorder)
    owners = placement.owners()
    tasks = np.flatnonzero(state.tasks.stateful)
    tasks = tasks[np.argsort(owners[tasks], kind="stable")]
    moved = movement.run(move_actives, tasks, owners[tasks], TaskType.ACTIVE)
    holders, tasks = cells(placement.standbys() & ~_as_table(warming, placement))
    return moved + movement.run(move_standbys, tasks, holders, TaskType.STANDBY)


class _Movement:
    """The movements of one assignment, outside of kernels."""

    def __init__(
        self, placement: TaskPlacement, lowest: IntArray, remaining: array[int], warming: bytearray, recorder: Recorder
    ) -> None:
        self._placement = placement
        self._lowest_lag = lowest
        self._remaining = remaining
        self._warming = warming
        self._recorder = recorder

    @cached_property
    def _ready(self) -> BoolArray:
        """Which copies are caught up, shape (T, C)."""
        state = self._placement.state
        return is_caught_up(state.lags, state.assignment_configs.acceptable_recovery_lag)

    def run(
        self,
        kernel: Callable[[MovementState, PrioritySet, MovementQueue], int],
        tasks: IntArray,
        destinations: IntArray,
        role: TaskType,
    ) -> int:
        """Move each copy that is not caught up and for which another copy is closer.

        `kernel`: executes the movements, and returns their number; `destinations`: clients of the copies, rows. Returns
        the number of movements.
        """
        if not len(tasks):
            return 0
        state = self._placement.state
        lags = state.lags[tasks, destinations]
        is_ready = is_caught_up(lags, state.assignment_configs.acceptable_recovery_lag)
        planned = ~is_ready & (self._lowest_lag[tasks] < lags)
        step_reporter = _StepReporter(self._placement, self._recorder, role) if self._recorder.wants_steps else None
        if step_reporter is not None and role is TaskType.ACTIVE:
            step_reporter.stay(tasks[~planned], destinations[~planned], is_ready[~planned])
        if not planned.any():
            return 0
        clients = len(state.clients)
        self._recorder.work(LeaderWork.MOVE, int(planned.sum()) * clients * comparisons_per_element(clients))
        kernels = CHOICE.choose(int(planned.sum()) * len(state.clients) // STEPS_OF_WORK)
        plan = _queue_movements(kernels, tasks[planned], destinations[planned], self._ready, role)
        copies = self._copies(kernels, self._ready)
        remaining = self._remaining[0]
        moved = kernels.of(kernel)(copies, empty_set(kernels, self._placement), plan)
        if step_reporter is not None:
            step_reporter.move(plan, remaining)
        return moved

    def _copies(self, kernels: Kernels, ready: BoolArray) -> MovementState:
        placement = self._placement
        return MovementState(
            owner=kernels.view(placement.owner),
            standby=kernels.view(placement.standby),
            active_count=kernels.view(placement.active_count),
            assigned_count=kernels.view(placement.assigned_count),
            threads=kernels.view(placement.threads),
            ready=kernels.matrix(ready),
            lags=kernels.read_only(placement.state.lags),
            remaining=kernels.view(self._remaining),
            warming=kernels.view(self._warming),
        )


class _StepReporter:
    """Passes the steps of one run to a recorder; created before the run."""

    def __init__(self, placement: TaskPlacement, recorder: Recorder, role: TaskType) -> None:
        self._lags = placement.state.lags
        self._held_standby = placement.standbys().copy()
        self._recorder = recorder
        self._role = role

    def stay(self, tasks: IntArray, destinations: IntArray, ready: BoolArray) -> None:
        """Record active tasks that need no movement."""
        lags = self._lags[tasks, destinations].tolist()
        for task, client, lag, is_ready in zip(
            tasks.tolist(), destinations.tolist(), lags, ready.tolist(), strict=True
        ):
            kind = StepKind.CAUGHT_UP if is_ready else StepKind.CLOSEST
            self._recorder.step(PlacementStep(kind, self._role, task, client, client, None, None, None, None, lag, lag))

    def move(self, plan: MovementQueue, remaining: int) -> None:
        """Record the movements that were made; `remaining` is the number of warm-ups before."""
        for number in plan.order:
            task, intended, source = int(plan.tasks[number]), int(plan.destinations[number]), int(plan.sources[number])
            if source == NO_CLIENT:
                continue
            lags = int(self._lags[task, intended]), int(self._lags[task, source])
            self._recorder.step(
                PlacementStep(
                    StepKind.WAITS, self._role, task, intended, source, source_lag=lags[0], destination_lag=lags[1]
                )
            )
            standby = (TaskType.STANDBY, task)
            if self._role is TaskType.ACTIVE and self._held_standby[source, task]:
                self._recorder.step(
                    PlacementStep(
                        StepKind.SWAPPED, *standby, source, intended, source_lag=lags[1], destination_lag=lags[0]
                    )
                )
                continue
            remaining -= 1
            if remaining >= 0:
                self._recorder.step(
                    PlacementStep(StepKind.WARM_UP, *standby, UNASSIGNED, intended, destination_lag=lags[0])
                )


def _as_table(warming: bytearray, placement: TaskPlacement) -> BoolArray:
    return np.frombuffer(warming, dtype=np.bool_).reshape(placement.standbys().shape)


def _queue_movements(
    kernels: Kernels, tasks: IntArray, destinations: IntArray, ready: BoolArray, role: TaskType
) -> MovementQueue:
    """Return the movements, and Kafka's queue of them: fewest caught-up clients first, then task.

    Each task is active once, so their order is that of their keys. A task may have several standbys, whose order is
    that of Java's heap.
    """
    num_ready = np.count_nonzero(ready[tasks], axis=1)
    if role is TaskType.ACTIVE:
        heap, order = new_heap(kernels, [], []), kernels.vector(np.lexsort((tasks, num_ready)).tolist())
    else:
        heap = new_heap(kernels, num_ready.astype(np.float64).tolist(), tasks.tolist())
        order = kernels.zeros(len(tasks))
    return MovementQueue(
        tasks=kernels.vector(tasks.tolist()),
        destinations=kernels.vector(destinations.tolist()),
        heap=heap,
        order=order,
        sources=kernels.zeros(len(tasks)),
    )


def sort_movements(plan: MovementQueue) -> None:
    """List movements of standbys in `order` as they come out of Kafka's queue; Java's heap breaks ties (kernel)."""
    for number in range(len(plan.tasks)):
        offer(plan.heap, number)
    for position in range(len(plan.tasks)):
        plan.order[position] = poll(plan.heap)


def move_actives(copies: MovementState, clients: PrioritySet, plan: MovementQueue) -> int:
    """Move active tasks (kernel); return the number of movements."""
    enter_all(clients)
    num_tasks = len(copies.owner)
    wanted = clients.wanted
    for number in plan.order:
        task = plan.tasks[number]
        destination = plan.destinations[number]
        ready = copies.ready[task]
        for client in range(len(wanted)):
            wanted[client] = int(ready[client] == 1 and copies.standby[client * num_tasks + task] == 1)
        source = take(clients)
        if source == NO_CLIENT:
            for client in range(len(wanted)):
                wanted[client] = int(ready[client] == 1)
            source = take(clients)
        if source == NO_CLIENT:
            source = 0
            for client in range(len(wanted)):
                if copies.lags[task][client] < copies.lags[task][source]:
                    source = client
        plan.sources[number] = source
        move_active(copies, task, source, destination)
        update_loads(copies, clients, source, destination)
    return len(plan.tasks)


def move_active(copies: MovementState, task: int, source: int, destination: int) -> None:
    """Let the source run the task; the destination gets a standby, either the source's or a remaining warm-up (kernel).

    The source differs from the destination, because it has a lower lag or is caught up.
    """
    num_tasks = len(copies.owner)
    copies.owner[task] = source
    copies.active_count[source] += 1
    copies.active_count[destination] -= 1
    copies.assigned_count[source] += 1
    copies.assigned_count[destination] -= 1
    if copies.standby[source * num_tasks + task] == 1:
        copies.standby[source * num_tasks + task] = 0
        copies.assigned_count[source] -= 1
    else:
        copies.remaining[0] -= 1
        if copies.remaining[0] < 0:
            return
        copies.warming[destination * num_tasks + task] = 1
    copies.standby[destination * num_tasks + task] = 1
    copies.assigned_count[destination] += 1


def move_standbys(copies: MovementState, clients: PrioritySet, plan: MovementQueue) -> int:
    """Move standbys (kernel); return the number of movements.

    A movement for which no client without the task exists moves nothing and does not count.
    """
    sort_movements(plan)
    enter_all(clients)
    num_tasks = len(copies.owner)
    wanted = clients.wanted
    moved = 0
    for number in plan.order:
        task = plan.tasks[number]
        destination = plan.destinations[number]
        ready = copies.ready[task]
        for client in range(len(wanted)):
            wanted[client] = int(ready[client] == 1 and not is_held(copies, client, task))
        source = take(clients)
        if source == NO_CLIENT:
            source = closest_without(copies, task, destination)
        plan.sources[number] = source
        if source != NO_CLIENT:
            moved += 1
            copies.standby[source * num_tasks + task] = 1
            copies.assigned_count[source] += 1
            copies.remaining[0] -= 1
            if copies.remaining[0] < 0:
                copies.standby[destination * num_tasks + task] = 0
                copies.assigned_count[destination] -= 1
            update_loads(copies, clients, source, destination)
    return moved


def is_held(copies: MovementState, client: int, task: int) -> bool:
    """Return whether the client has the task in either role (kernel)."""
    return bool(copies.owner[task] == client or copies.standby[client * len(copies.owner) + task] == 1)


def closest_without(copies: MovementState, task: int, destination: int) -> int:
    """Return the client without the task that has the lowest lag and comes before the destination, or NO_CLIENT
    (kernel).
    """
    lags = copies.lags[task]
    closest = destination
    for client in range(len(lags)):
        closer = lags[client] < lags[closest] or (lags[client] == lags[closest] and client < closest)
        if closer and not is_held(copies, client, task):
            closest = client
    return NO_CLIENT if closest == destination else closest


def update_loads(copies: MovementState, clients: PrioritySet, source: int, destination: int) -> None:
    """Insert both clients of a movement into the queue again, with their current loads (kernel)."""
    load = copies.assigned_count[source] / copies.threads[source]
    other_load = copies.assigned_count[destination] / copies.threads[destination]
    update_two(clients, source, load, destination, other_load)
