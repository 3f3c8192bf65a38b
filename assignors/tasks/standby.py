"""Placing standbys: on the least loaded clients, or spread over the values of client tags.

Source: KIP-441 `DefaultStandbyTaskAssignor`, KIP-708 `ClientTagAwareStandbyTaskAssignor`, `ConstrainedPrioritySet`.

Kafka takes clients from a priority queue by (load, process id). A client's load changes here only while it is outside
of that queue, so "the least of the queue" is simply the least of all, whatever the shape of the heap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from assignors.java_order import hash_order, task_hash
from assignors.state import ApplicationState
from assignors.tasks.placement import Placement


class StandbyPolicy(Protocol):
    """Where standbys go at first, and where they may be moved afterwards."""

    def assign(self, placement: Placement, tasks: Sequence[int]) -> None:
        """Give every stateful task (rows, in order) its standbys, as far as there are clients."""

    def may_balance(self, source: int, destination: int) -> bool:
        """Whether standbys may move between these clients to even out their load."""

    def may_optimize(self, placement: Placement, source: int, destination: int, task: int) -> bool:
        """Whether this standby may move between these clients to save traffic."""


def standby_policy(state: ApplicationState) -> StandbyPolicy:
    """The policy that Kafka chooses: spread over tags if `rack.aware.assignment.tags` names any."""
    tags = state.assignment_configs.rack_aware_assignment_tags
    return TagAwareStandbys(state, tags) if tags else LeastLoadedStandbys()


class LeastLoadedStandbys:
    """Standbys on the least loaded clients; any move is allowed.

    Complexity: one sort of the clients a task.
    """

    def assign(self, placement: Placement, tasks: Sequence[int]) -> None:
        """Give each task its standbys; clients with equal load in Kafka's order."""
        wanted = placement.state.assignment_configs.num_standby_replicas
        threads = placement.state.clients.threads
        counts = np.array(placement.assigned_count, dtype=np.int64)
        for task in tasks:
            owner = placement.owner[task]
            ranked = np.argsort(counts / threads, kind="stable")
            for client in ranked[ranked != owner][:wanted].tolist():
                placement.assign_standby(task, client)
                counts[client] += 1

    def may_balance(self, source: int, destination: int) -> bool:
        """Always."""
        return True

    def may_optimize(self, placement: Placement, source: int, destination: int, task: int) -> bool:
        """Always."""
        return True


class TagAwareStandbys:
    """Standbys on clients whose tag values differ from those of the task's other copies.

    Priority: an unused value of every tag; then, for what could not be placed so, the least loaded client.
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

    def assign(self, placement: Placement, tasks: Sequence[int]) -> None:
        """Give each task its standbys; what is left over comes in the order of Kafka's hash map of tasks."""
        pending: dict[int, int] = {}
        for task in tasks:
            left = self._spread(placement, task)
            if left > 0:
                pending[task] = left
        ids = placement.state.tasks.ids
        for position in hash_order([task_hash(ids[task]) for task in tasks]):
            for _ in range(pending.get(tasks[position], 0)):
                client = _least_loaded(placement, tasks[position], set())
                if client is None:
                    break
                placement.assign_standby(tasks[position], client)

    def _spread(self, placement: Placement, task: int) -> int:
        """Place standbys of one task on unused tag values; returns how many are left to place."""
        left = placement.state.assignment_configs.num_standby_replicas
        last, used_clients = placement.owner[task], 1
        used_entries: dict[tuple[str, str], set[int]] = {}
        while True:
            self._mark_used(last, used_clients, used_entries)
            client = _least_loaded(placement, task, set().union(*used_entries.values()))
            if client is None:
                return left
            placement.assign_standby(task, client)
            last, used_clients, left = client, used_clients + 1, left - 1
            if left <= 0:
                return left

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
        """Whether the destination has every tag of the source, with the same value."""
        other = self._tags[destination]
        return all(other.get(key) == value for key, value in self._tags[source].items())

    def may_optimize(self, placement: Placement, source: int, destination: int, task: int) -> bool:
        """Whether the task's copies would carry no fewer distinct tags than before."""
        others: set[tuple[str, str]] = set()
        for client, tags in enumerate(self._tags):
            if client not in (source, destination) and placement.holds(client, task):
                others.update(tags.items())
        before = others | set(self._tags[source].items())
        after = others | set(self._tags[destination].items())
        return len(after) >= len(before)


def _least_loaded(placement: Placement, task: int, excluded: set[int]) -> int | None:
    """The client with the least (load, id) that has the task in neither role and is not excluded."""
    best: int | None = None
    best_load = 0.0
    for client in range(len(placement.threads)):
        if client in excluded or placement.holds(client, task):
            continue
        load = placement.assigned_load(client)
        if best is None or load < best_load:
            best, best_load = client, load
    return best
