"""Keeping tasks where their state is while the clients that should have them warm up.

Source: KIP-441, `TaskMovement`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from assignors.compilation import CHOICE, Kernels, Matrix, Vector
from assignors.errors import IllegalStateError
from assignors.java.priority_queue import Heap, new_heap, offer, poll
from assignors.model.assignment import UNASSIGNED, TaskType
from assignors.model.columns import BoolArray, IntArray
from assignors.model.configs import LONG_MAX
from assignors.model.state import LATEST_OFFSET, NO_LAG, ApplicationState
from assignors.recording.leader_work import LeaderWork, comparisons_per_element
from assignors.recording.recorder import PlacementStep, Recorder, StepKind
from assignors.tasks.priority_set import NO_CLIENT, PrioritySet, empty_set, enter_all, put_back, take
from assignors.tasks.task_placement import TaskPlacement

STEPS_OF_WORK = 3
"""How many looks of a movement at a client make up one step of work (`KernelChoice`)."""


class MovementState(NamedTuple):
    """Who has which task in which role, as in `Placement`, how good the copies are, and what warm-ups are left."""

    owner: Vector
    standby: Vector
    active_count: Vector
    assigned_count: Vector
    threads: Vector
    ready: Matrix
    """[task][client] 1 if the client's copy is within the acceptable lag"""
    lags: Matrix
    """[task][client]"""
    remaining: Vector
    """[1] the budget of `max.warmup.replicas`, shared by actives and standbys; goes on down when nothing is left"""
    warming: Vector
    """[client * tasks + task] 1 where a warm-up took the place of an active task"""


class MovementQueue(NamedTuple):
    """Tasks that are to move, each from a client that is not ready for it."""

    tasks: Vector
    destinations: Vector
    """the client that should have the task, and is not ready"""
    heap: Heap
    """orders them; empty before and after"""
    order: Vector
    """scratch"""
    sources: Vector
    """the client that has the task instead, NOBODY if there is none; written as movements are made"""


def move_to_caught_up_clients(placement: TaskPlacement, recorder: Recorder) -> int:
    """Let caught-up clients run or hold what the balanced placement gave to clients that are not ready.

    Guarantees: an active task runs on a caught-up client if there is one, else on the most caught-up.

    Priority: tasks with the fewest caught-up clients first; a caught-up client that holds a standby, then the least
    loaded caught-up client, then the most caught-up one.

    Complexity: O(C log C) a movement.

    Args:
        placement: what to change.
        recorder: is told the steps.

    Returns:
        How many movements were needed; any means that a probing rebalance is.

    Raises:
        IllegalStateError: a stateful task has no lag on some client.
    """
    state = placement.state
    if not len(state.clients):
        return 0
    least = state.lags.min(axis=1)
    missing = (least == NO_LAG) & state.tasks.stateful
    if missing.any():
        raise IllegalStateError(f"Tried to lookup lag for unknown task {state.tasks.ids[int(np.argmax(missing))]}")
    clients = len(state.clients)
    recorder.work(LeaderWork.RANK, int(state.tasks.stateful.sum()) * clients * comparisons_per_element(clients))
    remaining = array("q", [state.assignment_configs.max_warmup_replicas])
    warming = bytearray(len(placement.standby))
    movement = _Movement(placement, least, remaining, warming, recorder)
    owners = placement.owners()
    tasks = np.flatnonzero(state.tasks.stateful)
    tasks = tasks[np.argsort(owners[tasks], kind="stable")]
    moved = movement.run(move_actives, tasks, owners[tasks], TaskType.ACTIVE)
    holders, tasks = np.nonzero(placement.standbys() & ~_as_table(warming, placement))
    return moved + movement.run(move_standbys, tasks, holders, TaskType.STANDBY)


class _Movement:
    """One run of the step, as far as it is not kernels."""

    def __init__(
        self, placement: TaskPlacement, least: IntArray, remaining: array[int], warming: bytearray, recorder: Recorder
    ) -> None:
        self._placement = placement
        self._least = least
        self._remaining = remaining
        self._warming = warming
        self._recorder = recorder

    def run(
        self,
        kernel: Callable[[MovementState, PrioritySet, MovementQueue], int],
        tasks: IntArray,
        destinations: IntArray,
        role: TaskType,
    ) -> int:
        """Plan a movement for each copy that is not ready while another one is closer to being so, and make them.

        Args:
            kernel: makes the movements, and answers how many.
            tasks: the tasks of the copies, rows.
            destinations: their clients, rows.
            role: of the copies.
        """
        state = self._placement.state
        lags = state.lags[tasks, destinations]
        is_ready = is_caught_up(state, lags)
        planned = ~is_ready & (self._least[tasks] < lags)
        telling = _StepReporter(self._placement, self._recorder, role) if self._recorder.wants_steps else None
        if telling is not None and role is TaskType.ACTIVE:
            telling.stay(tasks[~planned], destinations[~planned], is_ready[~planned])
        if not planned.any():
            return 0
        clients = len(state.clients)
        self._recorder.work(LeaderWork.MOVE, int(planned.sum()) * clients * comparisons_per_element(clients))
        kernels = CHOICE.choose(int(planned.sum()) * len(state.clients) // STEPS_OF_WORK)
        ready = is_caught_up(state, state.lags)
        plan = _plan(kernels, tasks[planned], destinations[planned], ready)
        copies = self._copies(kernels, ready)
        remaining = self._remaining[0]
        moved = kernels.of(kernel)(copies, empty_set(kernels, self._placement), plan)
        if telling is not None:
            telling.move(plan, remaining)
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
            lags=kernels.matrix(placement.state.lags),
            remaining=kernels.view(self._remaining),
            warming=kernels.view(self._warming),
        )


class _StepReporter:
    """Tells a recorder of one run; made before it."""

    def __init__(self, placement: TaskPlacement, recorder: Recorder, role: TaskType) -> None:
        self._lags = placement.state.lags
        self._stood_by = placement.standbys().copy()
        self._recorder = recorder
        self._role = role

    def stay(self, tasks: IntArray, destinations: IntArray, ready: BoolArray) -> None:
        """Tell of active tasks that need no movement."""
        lags = self._lags[tasks, destinations].tolist()
        for task, client, lag, is_ready in zip(
            tasks.tolist(), destinations.tolist(), lags, ready.tolist(), strict=True
        ):
            kind = StepKind.CAUGHT_UP if is_ready else StepKind.CLOSEST
            self._recorder.step(PlacementStep(kind, self._role, task, client, client, None, None, None, None, lag, lag))

    def move(self, plan: MovementQueue, remaining: int) -> None:
        """Tell of the movements that were made, while so many warm-ups were left at first."""
        for number in plan.order:
            task, placed, source = int(plan.tasks[number]), int(plan.destinations[number]), int(plan.sources[number])
            if source == NO_CLIENT:
                continue
            lags = int(self._lags[task, placed]), int(self._lags[task, source])
            self._recorder.step(
                PlacementStep(
                    StepKind.WAITS, self._role, task, placed, source, source_lag=lags[0], destination_lag=lags[1]
                )
            )
            back = (TaskType.STANDBY, task)
            if self._role is TaskType.ACTIVE and self._stood_by[source, task]:
                self._recorder.step(
                    PlacementStep(StepKind.SWAPPED, *back, source, placed, source_lag=lags[1], destination_lag=lags[0])
                )
                continue
            remaining -= 1
            if remaining >= 0:
                self._recorder.step(PlacementStep(StepKind.WARM_UP, *back, UNASSIGNED, placed, destination_lag=lags[0]))


def is_caught_up(state: ApplicationState, lags: IntArray) -> BoolArray:
    """Which lags are within `acceptable.recovery.lag`, or of a task that runs there."""
    acceptable = state.assignment_configs.acceptable_recovery_lag
    ready: BoolArray = (lags == LATEST_OFFSET) | ((lags >= 0) & (lags <= acceptable)) | (acceptable == LONG_MAX)
    return ready


def _as_table(warming: bytearray, placement: TaskPlacement) -> BoolArray:
    return np.frombuffer(warming, dtype=np.bool_).reshape(placement.standbys().shape)


def _plan(kernels: Kernels, tasks: IntArray, destinations: IntArray, ready: BoolArray) -> MovementQueue:
    """The movements, and Kafka's queue for them: fewest caught-up clients first, then task."""
    num_ready = ready.sum(axis=1)[tasks].astype(np.float64)
    return MovementQueue(
        tasks=kernels.vector(tasks.tolist()),
        destinations=kernels.vector(destinations.tolist()),
        heap=new_heap(kernels, num_ready.tolist(), tasks.tolist()),
        order=kernels.zeros(len(tasks)),
        sources=kernels.zeros(len(tasks)),
    )


def put_in_order(plan: MovementQueue) -> None:
    """A kernel: lists the movements in `order` as they come out of Kafka's queue; ties as Java's heap gives them."""
    for number in range(len(plan.tasks)):
        offer(plan.heap, number)
    for position in range(len(plan.tasks)):
        plan.order[position] = poll(plan.heap)


def move_actives(copies: MovementState, clients: PrioritySet, plan: MovementQueue) -> int:
    """A kernel: moves active tasks; answers how many."""
    put_in_order(plan)
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
        let_in(copies, clients, source, destination)
    return len(plan.tasks)


def move_active(copies: MovementState, task: int, source: int, destination: int) -> None:
    """A kernel: the source runs the task; the destination becomes its standby, as one, or as a warm-up if one is left.

    The source is never the destination: a client that has a lower lag, or is ready, is another one.
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
    """A kernel: moves standbys; answers how many.

    A movement that finds no client without the task moves nothing and is not counted.
    """
    put_in_order(plan)
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
            let_in(copies, clients, source, destination)
    return moved


def is_held(copies: MovementState, client: int, task: int) -> bool:
    """A kernel: whether the client has the task in either role."""
    return bool(copies.owner[task] == client or copies.standby[client * len(copies.owner) + task] == 1)


def closest_without(copies: MovementState, task: int, destination: int) -> int:
    """A kernel: the most caught-up client without the task that comes before the destination by lag, or NOBODY."""
    lags = copies.lags[task]
    closest = destination
    for client in range(len(lags)):
        closer = lags[client] < lags[closest] or (lags[client] == lags[closest] and client < closest)
        if closer and not is_held(copies, client, task):
            closest = client
    return NO_CLIENT if closest == destination else closest


def let_in(copies: MovementState, clients: PrioritySet, source: int, destination: int) -> None:
    """A kernel: puts both clients of a movement back with the loads that they have now."""
    load = copies.assigned_count[source] / copies.threads[source]
    other_load = copies.assigned_count[destination] / copies.threads[destination]
    put_back(clients, source, load, destination, other_load)
