"""Run tasks on caught-up clients while the clients of the target warm up.

Kafka takes them from its ConstrainedPrioritySet of clients by (load, process id); the first that satisfies a condition
is removed.

Loads are read at each comparison and change while clients are in the set. The heap is then temporarily out of order,
which can decide the next client. So Java's heap is reproduced, and so is the order of the hash set from which skipped
clients are inserted again. Functions from `enter_all` on are kernels (`assignors.compilation`).

While the heap is in order, the first client by key is the next one, whatever the positions of the others. So changes of
the heap are only listed, and made up for when a change could leave it out of order.

Source: KIP-441, `TaskMovement`, `ConstrainedPrioritySet`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from assignors.compilation import CHOICE, Kernels, Matrix, Reals, Vector
from assignors.java.hash_order import DEFAULT_CAPACITY, MIN_TREEIFY_CAPACITY, bucket, process_hash, table_capacity
from assignors.java.priority_queue import Heap, is_less, new_heap, offer, poll, remove
from assignors.model.assignment import UNASSIGNED, TaskType
from assignors.model.columns import NO_CLIENT, BoolArray, IntArray, cells
from assignors.model.lags import is_caught_up, require_lags
from assignors.recording import LeaderWork, PlacementStep, Recorder, StepKind, comparisons_per_element
from assignors.tasks.task_placement import TaskPlacement

PENDING_CHANGES = 64
"""Number of changes that are listed before they are made."""


class PrioritySet(NamedTuple):
    """The set, changed in place; `passed`, `hashes_passed`, and so on up to `rank` are scratch."""

    heap: Heap
    hashes: Vector
    """[client] hash of its process id"""
    inside: Vector
    """[client] 1 if it is in the set"""
    wanted: Vector
    """[client] 1 if it satisfies the condition of the next `take`"""
    passed: Vector
    hashes_passed: Vector
    ordered: Vector
    bins: Vector
    num_passed: Vector
    rank: Vector
    by_key: Vector
    """the clients in the order of their last known keys"""
    is_out_of_order: Vector
    """[1] 1 if the heap may be out of order; then it has all changes"""
    is_refilled: Vector
    """[1] 1 if all clients were removed in order and inserted again before the pending changes"""
    pending: Vector
    """[1] number of changes that the heap has not yet"""
    changed: Vector
    """[change] the client that was taken, or the first one whose load was updated"""
    changed_too: Vector
    """[change] the second client whose load was updated; NO_CLIENT if a client was taken"""
    was_inside: Vector
    """[change] 1 if the first client was in the set"""
    load_before: Reals
    """[change] load of the first client before the update"""
    other_load_before: Reals
    load_after: Reals
    other_load_after: Reals


def empty_set(kernels: Kernels, placement: TaskPlacement) -> PrioritySet:
    """Return an empty set for all clients with their loads; `enter_all` fills it."""
    num_clients = len(placement.threads)
    loads = [placement.assigned_load(client) for client in range(num_clients)]
    zeros, reals = kernels.zeros, kernels.reals
    return PrioritySet(
        heap=new_heap(kernels, loads, list(range(num_clients))),
        hashes=kernels.vector([process_hash(client) for client in placement.state.clients.ids]),
        inside=zeros(num_clients),
        wanted=zeros(num_clients),
        passed=zeros(num_clients),
        hashes_passed=zeros(num_clients),
        ordered=zeros(num_clients),
        bins=zeros(max(4 * num_clients, MIN_TREEIFY_CAPACITY) + 1),
        num_passed=zeros(1),
        rank=zeros(num_clients),
        by_key=kernels.vector(list(range(num_clients))),
        is_out_of_order=zeros(1),
        is_refilled=zeros(1),
        pending=zeros(1),
        changed=zeros(PENDING_CHANGES),
        changed_too=zeros(PENDING_CHANGES),
        was_inside=zeros(PENDING_CHANGES),
        load_before=reals([0.0] * PENDING_CHANGES),
        other_load_before=reals([0.0] * PENDING_CHANGES),
        load_after=reals([0.0] * PENDING_CHANGES),
        other_load_after=reals([0.0] * PENDING_CHANGES),
    )


def enter_all(clients: PrioritySet) -> None:
    """Insert all clients into an empty set."""
    for client in range(len(clients.inside)):
        enter(clients, client)


def take(clients: PrioritySet) -> int:
    """Remove and return the first client that satisfies the condition, or NO_CLIENT.

    Clients before it are removed and inserted again, which changes the heap.
    """
    if clients.is_out_of_order[0] == 1:
        return take_from_heap(clients)
    taken = first_wanted(clients)
    if taken == NO_CLIENT:
        # All clients come out in the order of their keys, so the resulting heap depends on the keys only.
        clients.pending[0] = 0
        clients.is_refilled[0] = 1
    else:
        list_change(clients, taken, NO_CLIENT, 0.0, 0.0)
        clients.inside[taken] = 0
    return taken


def first_wanted(clients: PrioritySet) -> int:
    """Return the client in the set with the lowest key that satisfies the condition, or NO_CLIENT."""
    major, wanted, inside = clients.heap.major, clients.wanted, clients.inside
    first = NO_CLIENT
    for client in range(len(wanted)):
        # Of two clients with the same load, the first one in the order of ids comes first, as here.
        if wanted[client] == 1 and inside[client] == 1 and (first == NO_CLIENT or major[client] < major[first]):
            first = client
    return first


def take_from_heap(clients: PrioritySet) -> int:
    """Take a client as `take`, from a heap that has all changes."""
    heap = clients.heap
    num_passed = 0
    taken = NO_CLIENT
    while taken == NO_CLIENT and heap.size[0] > 0:
        client = poll(heap)
        if clients.wanted[client] == 1:
            taken = client
            clients.inside[client] = 0
        else:
            clients.passed[num_passed] = client
            num_passed += 1
    insert_passed(clients, num_passed)
    if taken == NO_CLIENT:
        clients.is_out_of_order[0] = 0
    return taken


def insert_passed(clients: PrioritySet, number: int) -> None:
    """Insert the skipped clients again."""
    order_passed(clients, number)
    for position in range(number):
        offer(clients.heap, clients.ordered[position])


def order_passed(clients: PrioritySet, number: int) -> None:
    """List the skipped clients in the order of a hash set that is filled with them."""
    bins = clients.bins
    for position in range(number):
        clients.hashes_passed[position] = clients.hashes[clients.passed[position]]
    capacity = table_capacity(clients.hashes_passed, number, DEFAULT_CAPACITY, bins)
    for slot in range(capacity + 1):
        bins[slot] = 0
    for position in range(number):
        bins[bucket(clients.hashes_passed[position], capacity) + 1] += 1
    for slot in range(capacity):
        bins[slot + 1] += bins[slot]
    for position in range(number):
        slot = bucket(clients.hashes_passed[position], capacity)
        clients.ordered[bins[slot]] = clients.passed[position]
        bins[slot] += 1


def update_two(clients: PrioritySet, first: int, first_load: float, second: int, second_load: float) -> None:
    """Update the loads of two clients and insert them again, one after the other; the second one is in the set."""
    if clients.is_out_of_order[0] == 0:
        if stays_in_order(clients, first, first_load, second, second_load):
            list_change(clients, first, second, first_load, second_load)
            update_loads_and_enter(clients, first, first_load, second, second_load)
            return
        make_changes(clients)
    clients.heap.major[first] = first_load
    clients.heap.major[second] = second_load
    enter(clients, first)
    enter(clients, second)
    clients.is_out_of_order[0] = 0 if is_in_order(clients.heap) else 1


def update_loads_and_enter(
    clients: PrioritySet, first: int, first_load: float, second: int, second_load: float
) -> None:
    """Update two clients without their heap."""
    clients.heap.major[first] = first_load
    clients.heap.major[second] = second_load
    clients.inside[first] = 1
    clients.inside[second] = 1


def stays_in_order(clients: PrioritySet, first: int, first_load: float, second: int, second_load: float) -> bool:
    """Return whether a heap in order stays in order in any case if two clients are updated.

    When the first client is removed and inserted, the second one is at its old position with its new load. This does
    not matter if the clients with which it may be compared come after its new key if and only if they come after its
    old key: the first client itself and, if that is removed from the heap, any other client.
    """
    major, minor = clients.heap.major, clients.heap.minor
    before = major[second]
    if clients.inside[second] == 0:
        return False
    if before == second_load:
        return True
    is_first_after = minor[first] > minor[second]
    if is_key_after(first_load, before, is_first_after) != is_key_after(first_load, second_load, is_first_after):
        return False
    inside = clients.inside
    if inside[first] == 1:
        for client in range(len(inside)):
            if inside[client] == 1 and client != first and client != second:
                load, is_after = major[client], minor[client] > minor[second]
                was_after = load > before or (load == before and is_after)
                if was_after != (load > second_load or (load == second_load and is_after)):
                    return False
    return True


def is_key_after(load: float, other_load: float, is_id_after: bool) -> bool:
    """Return whether a key comes after another one."""
    return load > other_load or (load == other_load and is_id_after)


def list_change(clients: PrioritySet, first: int, second: int, first_load: float, second_load: float) -> None:
    """List a change before the loads are updated; if the list is full, make the changes before."""
    if clients.pending[0] == PENDING_CHANGES:
        make_changes(clients)
    number = clients.pending[0]
    clients.pending[0] = number + 1
    clients.changed[number] = first
    clients.changed_too[number] = second
    clients.was_inside[number] = clients.inside[first]
    if second != NO_CLIENT:
        clients.load_before[number] = clients.heap.major[first]
        clients.other_load_before[number] = clients.heap.major[second]
        clients.load_after[number] = first_load
        clients.other_load_after[number] = second_load


def make_changes(clients: PrioritySet) -> None:
    """Make the pending changes of the heap, one after the other, with the loads of their time."""
    major, inside = clients.heap.major, clients.inside
    for number in range(clients.pending[0] - 1, -1, -1):
        first, second = clients.changed[number], clients.changed_too[number]
        inside[first] = clients.was_inside[number]
        if second != NO_CLIENT:
            major[second] = clients.other_load_before[number]
            major[first] = clients.load_before[number]
    if clients.is_refilled[0] == 1:
        clients.heap.size[0] = 0
        rank_clients(clients)
        list_up_to(clients, len(inside) - 1)
        insert_ranks(clients)
        replace_ranks(clients)
    for number in range(clients.pending[0]):
        first, second = clients.changed[number], clients.changed_too[number]
        if second == NO_CLIENT:
            take_in_order(clients, first)
        else:
            major[first] = clients.load_after[number]
            major[second] = clients.other_load_after[number]
            enter(clients, first)
            enter(clients, second)
    clients.pending[0] = 0
    clients.is_refilled[0] = 0


def rank_clients(clients: PrioritySet) -> None:
    """Update the ranks of all clients by key; a comparison of ranks is faster than one of keys."""
    by_key = clients.by_key
    for end in range(1, len(by_key)):
        client = by_key[end]
        place = end
        while place > 0 and is_less(clients.heap, client, by_key[place - 1]):
            by_key[place] = by_key[place - 1]
            place -= 1
        by_key[place] = client
    for rank in range(len(by_key)):
        clients.rank[by_key[rank]] = rank


def take_in_order(clients: PrioritySet, taken: int) -> None:
    """Remove a client from a heap that is in order; clients before it are removed and inserted again."""
    heap = clients.heap
    rank_clients(clients)
    for place in range(heap.size[0]):
        heap.elements[place] = clients.rank[heap.elements[place]]
    list_up_to(clients, clients.rank[taken])
    clients.num_passed[0] -= 1
    clients.inside[taken] = 0
    for _ in range(clients.num_passed[0] + 1):
        heap.size[0] -= 1
        remove_lowest(heap.elements, heap.size[0])
    insert_ranks(clients)
    replace_ranks(clients)


def list_up_to(clients: PrioritySet, last: int) -> None:
    """Write the clients of the set with ranks up to `last` to `passed`, in order."""
    number = 0
    for rank in range(last + 1):
        client = clients.by_key[rank]
        if clients.inside[client] == 1:
            clients.passed[number] = client
            number += 1
    clients.num_passed[0] = number


def replace_ranks(clients: PrioritySet) -> None:
    """Write the clients to the heap, instead of their ranks."""
    elements = clients.heap.elements
    for place in range(clients.heap.size[0]):
        elements[place] = clients.by_key[elements[place]]


def remove_lowest(ranks: Vector, last: int) -> None:
    """Remove the head of a heap of ranks, whose last one then has no place.

    All lower ranks move up first. This takes fewer comparisons than `poll`, since the last rank mostly belongs at the
    end, with the same result.
    """
    moved = ranks[last]
    index, child = 0, 1
    while child < last:
        if child + 1 < last:
            child += int(ranks[child + 1] < ranks[child])
        ranks[index] = ranks[child]
        index = child
        child = 2 * index + 1
    sift_up_rank(ranks, index, moved)


def sift_up_rank(ranks: Vector, index: int, rank: int) -> None:
    """Insert a rank at an empty position, or above it."""
    while index > 0:
        parent = (index - 1) >> 1
        if rank >= ranks[parent]:
            break
        ranks[index] = ranks[parent]
        index = parent
    ranks[index] = rank


def insert_ranks(clients: PrioritySet) -> None:
    """Insert the clients of `passed` into a heap of ranks."""
    heap = clients.heap
    order_passed(clients, clients.num_passed[0])
    for position in range(clients.num_passed[0]):
        sift_up_rank(heap.elements, heap.size[0], clients.rank[clients.ordered[position]])
        heap.size[0] += 1


def is_in_order(heap: Heap) -> bool:
    """Return whether no element comes before the one above it."""
    elements = heap.elements
    for index in range(1, heap.size[0]):  # noqa: SIM110
        if is_less(heap, elements[index], elements[(index - 1) >> 1]):
            return False
    return True


def enter(clients: PrioritySet, client: int) -> None:
    """Insert a client; remove it first if it is in the set."""
    if clients.inside[client] == 1:
        remove(clients.heap, client)
    clients.inside[client] = 1
    offer(clients.heap, client)


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
