"""Place standbys on the least loaded clients, or spread over the values of client tags.

Source: KIP-441 `DefaultStandbyTaskAssignor`, KIP-708 `ClientTagAwareStandbyTaskAssignor`, `ConstrainedPrioritySet`.

Kafka takes clients from a priority queue by (load, process id). Here, a client's load changes only while it is not in
the queue, so the head of the queue is always the minimum, whatever the shape of the heap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from assignors.compilation import CHOICE, Reals, Vector
from assignors.java.hash_order import hash_order, task_hash
from assignors.model.assignment import UNASSIGNED, TaskType
from assignors.model.columns import NO_TAG, IntArray
from assignors.model.state import ApplicationState
from assignors.recording import PlacementStep, Recorder, StepKind
from assignors.tasks.task_placement import TaskPlacement

STEPS_OF_WORK = 20
"""Number of visits of a client in one step of work (`KernelChoice`)."""


class StandbyPolicy(Protocol):
    """Where standbys are placed, and where they may be moved later."""

    def assign(self, placement: TaskPlacement, tasks: Sequence[int], recorder: Recorder) -> None:
        """Place the standbys of stateful tasks (rows, in order) while there are clients."""

    def may_balance(self, source: int, destination: int) -> bool:
        """Return whether standbys may move between these clients to balance their loads."""

    def tags_to_keep(self) -> IntArray:
        """Return the argument `tags` of `exchange_standbys`."""


def standby_policy(state: ApplicationState) -> StandbyPolicy:
    """Return Kafka's policy: spread over tags if `rack.aware.assignment.tags` has any."""
    tags = state.assignment_configs.rack_aware_assignment_tags
    return TagAwareStandbys(state, tags) if tags else LeastLoadedStandbys(state)


class LeastLoadedStandbys:
    """Places standbys on the least loaded clients; all moves are allowed.

    Complexity: O(C) steps for each standby.
    """

    def __init__(self, state: ApplicationState) -> None:
        self._state = state

    def assign(self, placement: TaskPlacement, tasks: Sequence[int], recorder: Recorder) -> None:
        """Place the standbys of each task; clients with equal load are used in Kafka's order."""
        num_clients = len(placement.threads)
        copies = min(placement.state.assignment_configs.num_standby_replicas, num_clients)
        kernels = CHOICE.choose(len(tasks) * copies * num_clients // STEPS_OF_WORK)
        counts = list(placement.assigned_count)
        kernels.of(place_on_least_loaded)(
            kernels.vector(list(tasks)),
            copies,
            kernels.view(placement.owner),
            kernels.view(placement.standby),
            kernels.view(placement.assigned_count),
            kernels.view(placement.threads),
            kernels.reals([placement.assigned_load(client) for client in range(num_clients)]),
        )
        if recorder.wants_steps:
            _record_least_loaded(placement, tasks, counts, recorder)

    def may_balance(self, source: int, destination: int) -> bool:
        """Return True: all moves are allowed."""
        return True

    def tags_to_keep(self) -> IntArray:
        """Return no tags."""
        return no_tag_constraints(self._state)


def _record_least_loaded(placement: TaskPlacement, tasks: Sequence[int], counts: list[int], recorder: Recorder) -> None:
    """Record the standbys of each task in the order in which they were placed.

    While the standbys of a task are placed, the loads of other clients do not change, so its clients were chosen in the
    order of load. `placement`: the placement after the standbys were placed; `counts`: number of tasks of each client
    before.
    """
    standbys, threads = placement.standbys(), placement.threads
    for task in tasks:
        loads = [(counts[client] / threads[client], client) for client in np.flatnonzero(standbys[:, task]).tolist()]
        for load, client in sorted(loads):
            recorder.step(_standby_step(StepKind.LEAST_LOADED, task, client, load))
            counts[client] += 1


def _standby_step(kind: StepKind, task: int, client: int, load: float) -> PlacementStep:
    return PlacementStep(kind, TaskType.STANDBY, task, UNASSIGNED, client, destination_load=load)


def no_tag_constraints(state: ApplicationState) -> IntArray:
    """Return the argument `tags` of `exchange_standbys` without tags."""
    return np.zeros((len(state.clients), 0), dtype=np.int64)


def place_on_least_loaded(
    tasks: Vector, copies: int, owner: Vector, standby: Vector, assigned_count: Vector, threads: Vector, load: Reals
) -> None:
    """Place standbys of each task on the first of the least loaded clients without the task (kernel).

    `tasks`: the tasks in order; `load`: [client] assigned tasks per thread.
    """
    for task in tasks:
        for _ in range(copies):
            best = -1
            for client in range(len(load)):
                lighter = best < 0 or load[client] < load[best]
                if lighter and owner[task] != client and standby[client * len(owner) + task] == 0:
                    best = client
            if best >= 0:
                standby[best * len(owner) + task] = 1
                assigned_count[best] += 1
                load[best] = assigned_count[best] / threads[best]


class TagAwareStandbys:
    """Places standbys on clients whose tag values differ from those of the task's other copies.

    Priority: an unused value of each tag; then, for the remaining standbys, the least loaded client.
    """

    def __init__(self, state: ApplicationState, tag_keys: Iterable[str]) -> None:
        self._tags = state.clients.tags
        self._keys = frozenset(tag_keys)
        self._clients_with: dict[tuple[str, str], set[int]] = {}
        for client, tags in enumerate(self._tags):
            for entry in tags.items():
                self._clients_with.setdefault(entry, set()).add(client)
        self._num_values: dict[str, int] = {}
        for key, _ in self._clients_with:
            self._num_values[key] = self._num_values.get(key, 0) + 1

    def assign(self, placement: TaskPlacement, tasks: Sequence[int], recorder: Recorder) -> None:
        """Place the standbys of each task; remaining ones follow in the order of Kafka's hash map of tasks."""
        pending: dict[int, int] = {}
        for task in tasks:
            left = self._spread(placement, task, recorder)
            if left > 0:
                pending[task] = left
        ids = placement.state.tasks.ids
        for position in hash_order([task_hash(ids[task]) for task in tasks]):
            for _ in range(pending.get(tasks[position], 0)):
                client = _least_loaded(placement, tasks[position], set())
                if client is None:
                    break
                if recorder.wants_steps:
                    load = placement.assigned_load(client)
                    recorder.step(_standby_step(StepKind.LEAST_LOADED, tasks[position], client, load))
                placement.assign_standby(tasks[position], client)

    def _spread(self, placement: TaskPlacement, task: int, recorder: Recorder) -> int:
        """Place standbys of one task on unused tag values; return the number of standbys left to place."""
        remaining = placement.state.assignment_configs.num_standby_replicas
        client_used, used_clients = placement.owner[task], 1
        used_entries: dict[tuple[str, str], set[int]] = {}
        while True:
            self._mark_used(client_used, used_clients, used_entries)
            client = _least_loaded(placement, task, set().union(*used_entries.values()))
            if client is None:
                return remaining
            if recorder.wants_steps:
                recorder.step(_standby_step(StepKind.TAGS, task, client, placement.assigned_load(client)))
            placement.assign_standby(task, client)
            client_used, used_clients, remaining = client, used_clients + 1, remaining - 1
            if remaining <= 0:
                return remaining

    def _mark_used(self, client: int, used_clients: int, used_entries: dict[tuple[str, str], set[int]]) -> None:
        for key, value in self._tags[client].items():
            if key not in self._keys:
                continue
            if self._num_values[key] <= used_clients:
                for entry in [entry for entry in used_entries if entry[0] == key]:
                    del used_entries[entry]
            else:
                used_entries[key, value] = self._clients_with[key, value]

    def may_balance(self, source: int, destination: int) -> bool:
        """Return whether the destination has all tags of the source with the same values."""
        destination_tags = self._tags[destination]
        return all(destination_tags.get(key) == value for key, value in self._tags[source].items())

    def tags_to_keep(self) -> IntArray:
        """Return all tags of all clients, not only those to spread over."""
        numbers = {entry: number for number, entry in enumerate(self._clients_with)}
        kept = np.full((len(self._tags), max(map(len, self._tags), default=0)), NO_TAG, dtype=np.int64)
        for client, tags in enumerate(self._tags):
            kept[client, : len(tags)] = [numbers[entry] for entry in tags.items()]
        return kept


def _least_loaded(placement: TaskPlacement, task: int, excluded: set[int]) -> int | None:
    """Return the client with the lowest (load, id) that lacks the task and is not excluded; None if there is none."""
    best: int | None = None
    best_load = 0.0
    for client in range(len(placement.threads)):
        if client in excluded or placement.holds(client, task):
            continue
        load = placement.assigned_load(client)
        if best is None or load < best_load:
            best, best_load = client, load
    return best
