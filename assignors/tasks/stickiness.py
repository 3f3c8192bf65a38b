"""Place tasks on the clients that held them, within their shares: the common part of Kafka's sticky assignors.

Source: `LegacyStickyTaskAssignor`, and `StickyTaskAssignor` of KIP-924.

Pairs are tasks that were placed on the same client; the sticky assignors prefer new pairs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from assignors.java.hash_order import (
    CollectionOrder,
    SubsetOrder,
    hash_order,
    in_copied_hash_order,
    in_hash_order,
    process_hash,
    task_hash,
)
from assignors.model.assignment import UNASSIGNED, TaskType
from assignors.model.ids import TaskId
from assignors.model.state import ApplicationState
from assignors.recording import LeaderWork, PlacementStep, Recorder, StepKind
from assignors.tasks.task_placement import TaskPlacement


class TaskPairs:
    """The unordered pairs of tasks that share a client because one of them was placed there.

    Kafka keeps a set of pairs, whose size is quadratic in the number of tasks. Here, a set of tasks is a bit mask, and
    a pair is stored only for the task that arrives. The pairs of the other task are looked up when needed: the standbys
    of a task are placed one after the other, and its pairs do not matter later.

    Args:
        num_tasks: number of tasks.
        num_clients: number of clients.

    Complexity: O(T / 64) machine words for each query or placement.

    Source: `LegacyStickyTaskAssignor.TaskPairs`, `StickyTaskAssignor.TaskPairs`.
    """

    def __init__(self, num_tasks: int, num_clients: int) -> None:
        self._paired = [0] * num_tasks
        self._held = [0] * num_clients
        self._arrived = [0] * num_clients  # subset of `_held` that was placed there, not moved

    def is_new(self, task: int, client: int) -> bool:
        """Return whether the client holds a task with which this task is not yet paired."""
        return self._held[client] & ~self._paired[task] != 0

    def place(self, task: int, client: int) -> None:
        """Pair the task with all tasks of the client, and add it there."""
        self._paired[task] |= self._held[client]
        self._held[client] |= 1 << task
        self._arrived[client] |= 1 << task

    def recall(self, task: int, owner: int) -> None:
        """Add the tasks that were placed on the owner of a task to its pairs, before its standbys are placed."""
        self._paired[task] |= self._arrived[owner]

    def follow_moves(self, placed: Sequence[int], placement: TaskPlacement) -> None:
        """Update the clients of active tasks after an optimization moved them; such moves form no new pairs.

        `placement`: current clients of the tasks; there are no standbys yet.
        """
        for task, client in enumerate(placed):
            self._paired[task] |= self._arrived[client]
        self._held = [0] * len(self._held)
        for task, client in enumerate(placement.owner):
            self._held[client] |= 1 << task
        self._arrived = [0] * len(self._held)


RowArray = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class CallerCollections:
    """Tasks and clients (rows) in the iteration orders of the caller's collections.

    Attributes:
        clients: order of the map of clients.
        tasks: order of the set of all tasks.
        stateful_tasks: order of the set of stateful tasks.
        client_hashes: hash of each client, by row.
        task_hashes: hash of each task, by row.
    """

    clients: list[int]
    tasks: list[int]
    stateful_tasks: list[int]
    client_hashes: list[int]
    task_hashes: list[int]

    @classmethod
    def of(cls, state: ApplicationState, order: CollectionOrder) -> CallerCollections:
        """Return the orders of collections that are filled with the caller's tasks and clients."""
        client_hashes = [process_hash(client) for client in state.clients.ids]
        task_hashes = [task_hash(task) for task in state.tasks.ids]
        clients, tasks = list(range(len(client_hashes))), list(range(len(task_hashes)))
        is_stateful = state.tasks.stateful.tolist()
        if order == CollectionOrder.SORTED:
            stateful = [task for task in tasks if is_stateful[task]]
            return cls(clients, tasks, stateful, client_hashes, task_hashes)
        clients = clients if state.client_insertion_order is None else state.client_insertion_order.tolist()
        tasks = tasks if state.task_insertion_order is None else state.task_insertion_order.tolist()
        stateful = [task for task in tasks if is_stateful[task]]
        return cls(
            clients=in_hash_order(clients, client_hashes),
            tasks=in_hash_order(tasks, task_hashes),
            stateful_tasks=in_hash_order(stateful, task_hashes),
            client_hashes=client_hashes,
            task_hashes=task_hashes,
        )

    def with_hashed_clients(self) -> CallerCollections:
        """Return the orders after the clients were put into a HashMap, as in KIP-924's state."""
        return replace(self, clients=in_hash_order(self.clients, self.client_hashes))


@dataclass(frozen=True, slots=True)
class PreviousOwners:
    """The previous owners of each task, in the orders of Kafka's hash collections; rows.

    Attributes:
        active: client that ran each task; the last one if several claim it.
        standbys: clients that held a standby of each task.
        copied_standbys: the same in the order of a copy of the set.
    """

    active: dict[int, int]
    standbys: dict[int, list[int]]
    copied_standbys: dict[int, list[int]]

    @classmethod
    def of(cls, state: ApplicationState, caller: CallerCollections) -> PreviousOwners:
        """Collect the previous owners in the iteration order of the caller's map of clients."""
        ran: dict[TaskId, int] = {}
        held_standby: dict[TaskId, list[int]] = {}
        for client in caller.clients:
            ran.update(dict.fromkeys(state.previous_active[client], client))
            for task in state.previous_standby[client]:
                held_standby.setdefault(task, []).append(client)
        row_of = state.row_of_task
        tasks = list(ran)  # tasks that no longer exist are dropped only below: they fill the hash map, too
        in_order = [tasks[position] for position in hash_order([task_hash(task) for task in tasks])]
        standbys = {
            row_of[task]: in_hash_order(clients, caller.client_hashes)
            for task, clients in held_standby.items()
            if task in row_of
        }
        return cls(
            active={row_of[task]: ran[task] for task in in_order if task in row_of},
            standbys=standbys,
            copied_standbys={
                task: in_copied_hash_order(clients, caller.client_hashes) for task, clients in standbys.items()
            },
        )


def shares_rounded_down(threads: Sequence[int], num_tasks: int) -> list[int]:
    """Return the capacity of each client: its threads times the number of tasks per thread, rounded down."""
    tasks_per_thread = num_tasks // sum(threads)
    return [own * tasks_per_thread for own in threads]


class Stickiness:
    """Places tasks on their previous clients, and the others on the least loaded clients.

    Priority: a previous client within its share, or whose load is not higher than that of others; then the least loaded
    client on which the task forms a new pair; then the least loaded client.

    Complexity: O(C) array operations for each placement.
    """

    def __init__(
        self,
        placement: TaskPlacement,
        caller: CallerCollections,
        candidates: Sequence[int],
        recorder: Recorder,
        *,
        prefers_threads: bool,
    ) -> None:
        """Prepare to place tasks.

        `caller`: orders of tasks and clients; `candidates`: all clients in the order in which they are tried for an
        active task; `prefers_threads` says whether the number of threads breaks ties between equally loaded clients.
        """
        state = placement.state
        self._placement = placement
        self._recorder = recorder
        self._previous = PreviousOwners.of(state, caller)
        self._unassigned = in_copied_hash_order(caller.tasks, caller.task_hashes)
        self._candidates: RowArray = np.array(candidates, dtype=np.intp)
        self._subsets = SubsetOrder(caller.clients, caller.client_hashes)
        self._threads = state.clients.threads if prefers_threads and np.ptp(state.clients.threads) else None
        self._loads = np.zeros(len(state.clients))
        self._pairs = TaskPairs(len(state.tasks), len(state.clients))
        self._pairs_added = 0

    def place_actives(self, capacity: Sequence[int], *, keep_all: bool) -> None:
        """Place all active tasks.

        `capacity`: number of active tasks of each client up to which it keeps those that it held; `keep_all` says
        whether the previous active client keeps its task even without capacity.
        """
        owner = self._placement.owner
        count = self._placement.active_count
        for task, client in self._previous.active.items():
            if keep_all or count[client] < capacity[client]:
                self._record_kept(StepKind.KEPT, task, client, None if keep_all else capacity[client])
                self._place_active(task, client)
        for task in self._unassigned:
            if owner[task] == UNASSIGNED:
                for client in self._previous.standbys.get(task, ()):
                    if count[client] < capacity[client]:
                        self._record_kept(StepKind.STOOD_BY, task, client, capacity[client])
                        self._place_active(task, client)
                        break
        for task in range(len(owner)):
            if owner[task] == UNASSIGNED:
                self._place_active(task, self._find_client(task, self._candidates, ()))
        self._record_work(len(owner) * len(capacity))

    def place_standbys(self, tasks: Sequence[int], num_standby_replicas: int) -> None:
        """Place the standbys of tasks (rows, in order) while there are clients."""
        for task in tasks:
            holders = [self._placement.owner[task]]
            self._pairs.recall(task, holders[0])
            for _ in range(min(num_standby_replicas, len(self._loads) - 1)):
                client = self._find_client(task, self._subsets.without(holders), holders)
                self._placement.assign_standby(task, client)
                self._note_placement(task, client)
                holders.append(client)
        # Kafka lists the clients without the task, and then visits each.
        self._record_work(2 * len(tasks) * min(num_standby_replicas, len(self._loads) - 1) * len(self._loads))

    def follow_moves(self, placed: Sequence[int]) -> None:
        """Update the clients of active tasks after an optimization moved them.

        `placed`: client on which each task was placed before.
        """
        self._pairs.follow_moves(placed, self._placement)
        for client in range(len(self._loads)):
            self._loads[client] = self._placement.assigned_load(client)

    def _record_kept(self, kind: StepKind, task: int, client: int, capacity: int | None) -> None:
        if self._recorder.wants_steps:
            held = None if capacity is None else self._placement.active_count[client]
            self._recorder.step(
                PlacementStep(kind, TaskType.ACTIVE, task, UNASSIGNED, client, held=held, room=capacity)
            )

    def _place_active(self, task: int, client: int) -> None:
        self._placement.assign_active(task, client)
        self._note_placement(task, client)

    def _record_work(self, visits: int) -> None:
        self._recorder.work(LeaderWork.VISIT, visits)
        self._recorder.work(LeaderWork.PAIR, self._pairs_added * len(self._placement.owner))
        self._pairs_added = 0

    def _note_placement(self, task: int, client: int) -> None:
        self._pairs_added += self._placement.assigned_count[client] - 1
        self._pairs.place(task, client)
        self._loads[client] = self._placement.assigned_load(client)

    def _find_client(self, task: int, candidates: RowArray, holders: Collection[int]) -> int:
        kind, client = self._choose_client(task, candidates, holders)
        if self._recorder.wants_steps:
            role = TaskType.STANDBY if holders else TaskType.ACTIVE
            load = self._placement.assigned_load(client)
            self._recorder.step(PlacementStep(kind, role, task, UNASSIGNED, client, destination_load=load))
        return client

    def _choose_client(self, task: int, candidates: RowArray, holders: Collection[int]) -> tuple[StepKind, int]:
        if len(candidates) == 1:
            return StepKind.LEAST_LOADED, int(candidates[0])
        for kind, client in self._previous_clients(task, holders):
            if not self._should_balance(client):
                return kind, client
        return self._least_loaded(task, candidates)

    def _previous_clients(self, task: int, holders: Collection[int]) -> Iterator[tuple[StepKind, int]]:
        active = self._previous.active.get(task)
        if active is not None and active not in holders:
            yield StepKind.KEPT, active
        standbys = [client for client in self._previous.copied_standbys.get(task, ()) if client not in holders]
        if standbys:
            yield StepKind.STOOD_BY, self._least_loaded(task, np.array(standbys, dtype=np.intp))[1]

    def _should_balance(self, client: int) -> bool:
        """Return whether the client has at least one task per thread, and another client is preferred for the next."""
        load = self._loads[client]
        if load < 1:
            return False
        if self._loads.min() < load:
            return True
        return self._threads is not None and bool((self._threads[self._loads == load] > self._threads[client]).any())

    def _least_loaded(self, task: int, candidates: RowArray) -> tuple[StepKind, int]:
        loads = self._loads[candidates]
        least = int(loads.argmin())
        if loads[least] == 0:
            return StepKind.LEAST_LOADED, int(candidates[least])
        if self._threads is not None:
            level = np.flatnonzero(loads == loads[least])
            least = int(level[self._threads[candidates[level]].argmax()])
        best = int(candidates[least])
        if self._pairs.is_new(task, best):
            return StepKind.LEAST_LOADED, best
        ties = (loads,) if self._threads is None else (-self._threads[candidates], loads)
        others: list[int] = candidates[np.lexsort(ties)].tolist()
        for client in others:
            if self._pairs.is_new(task, client):
                return StepKind.MIXED, client
        return StepKind.LEAST_LOADED, best
