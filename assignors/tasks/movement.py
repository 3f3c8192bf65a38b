"""Keeping tasks where their state is while the clients that should have them warm up.

Source: KIP-441, `TaskMovement`, `ConstrainedPrioritySet`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from assignors.columns import BoolArray, IntArray
from assignors.configs import LONG_MAX
from assignors.errors import IllegalStateError
from assignors.java_order import PriorityQueue, hash_order, process_hash
from assignors.state import LATEST_OFFSET, NO_LAG, ApplicationState
from assignors.tasks.placement import Placement


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """Who is ready to run which task.

    Attributes:
        ready: shape (T, C); whether the client's copy is within the acceptable lag.
        by_lag: shape (T, C); the clients from the most to the least caught-up, ties in Kafka's order.
        lags: shape (T, C).
    """

    ready: BoolArray
    by_lag: IntArray
    lags: IntArray

    @classmethod
    def of(cls, state: ApplicationState) -> CaughtUp:
        """Judge every copy of every stateful task.

        Raises:
            IllegalStateError: a stateful task has no lag on some client.
        """
        missing = (state.lags == NO_LAG) & state.tasks.stateful[:, None]
        if missing.any():
            task = state.tasks.ids[int(np.argmax(missing.any(axis=1)))]
            raise IllegalStateError(f"Tried to lookup lag for unknown task {task}")
        acceptable = state.assignment_configs.acceptable_recovery_lag
        within = (state.lags >= 0) & (state.lags <= acceptable)
        ready = (state.lags == LATEST_OFFSET) | within | (acceptable == LONG_MAX)
        return cls(ready, np.argsort(state.lags, axis=1, kind="stable"), state.lags)

    def should_move_from(self, task: int, client: int) -> bool:
        """Whether the client is not ready for the task and another one is closer to being so."""
        return not self.ready[task, client] and bool(self.lags[task, self.by_lag[task, 0]] < self.lags[task, client])

    def closer_than(self, task: int, client: int) -> list[int]:
        """The clients that stand before this one by lag, the most caught-up first."""
        ranked: list[int] = self.by_lag[task].tolist()
        return ranked[: ranked.index(client)]


@dataclass(slots=True)
class Warmups:
    """The budget of `max.warmup.replicas`, shared by actives and standbys, and what it was spent on."""

    remaining: int
    planned: set[tuple[int, int]] = field(default_factory=set)

    def take(self) -> bool:
        """Ask for one warm-up; the budget goes down even when there is none left."""
        granted = self.remaining > 0
        self.remaining -= 1
        return granted


def move_to_caught_up_clients(placement: Placement, warmups: Warmups) -> int:
    """Let caught-up clients run or hold what the balanced placement gave to clients that are not ready.

    Guarantees: an active task runs on a caught-up client if there is one, else on the most caught-up.

    Priority: tasks with the fewest caught-up clients first; a caught-up client that holds a standby, then the least
    loaded caught-up client, then the most caught-up one.

    Complexity: O(C log C) a movement.

    Returns:
        How many movements were needed; any means that a probing rebalance is.
    """
    caught_up = CaughtUp.of(placement.state)
    actives = _move_actives(placement, caught_up, warmups)
    return actives + _move_standbys(placement, caught_up, warmups)


def _move_actives(placement: Placement, caught_up: CaughtUp, warmups: Warmups) -> int:
    stateful = placement.state.tasks.stateful
    planned = [
        (task, client)
        for client, tasks in enumerate(placement.active)
        for task in sorted(tasks)
        if stateful[task] and caught_up.should_move_from(task, client)
    ]
    queue = _LeastLoaded(placement)
    for task, destination in _in_kafkas_order(planned, caught_up):
        _move_active(placement, caught_up, warmups, queue, task, destination)
    return len(planned)


def _move_active(
    placement: Placement, caught_up: CaughtUp, warmups: Warmups, queue: _LeastLoaded, task: int, destination: int
) -> None:
    ready: list[int] = np.flatnonzero(caught_up.ready[task]).tolist()
    source = queue.poll([client for client in ready if task in placement.standby[client]])
    if source is None:
        source = queue.poll(ready)
    if source is None:
        source = next(iter(caught_up.closer_than(task, destination)), None)
    if source is None:
        raise IllegalStateError("Tried to move task to more caught-up client as scheduled before but none exist")
    if task in placement.standby[source]:
        placement.unassign_standby(task, source)
        placement.unassign_active(task, destination)
        placement.assign_active(task, source)
        placement.assign_standby(task, destination)
    else:
        placement.unassign_active(task, destination)
        placement.assign_active(task, source)
        if warmups.take():
            placement.assign_standby(task, destination)
            warmups.planned.add((task, destination))
    queue.put_back(source, destination)


def _move_standbys(placement: Placement, caught_up: CaughtUp, warmups: Warmups) -> int:
    planned = [
        (task, client)
        for client, tasks in enumerate(placement.standby)
        for task in sorted(tasks)
        if (task, client) not in warmups.planned and caught_up.should_move_from(task, client)
    ]
    queue = _LeastLoaded(placement)
    moved = 0
    for task, destination in _in_kafkas_order(planned, caught_up):
        moved += _move_standby(placement, caught_up, warmups, queue, task, destination)
    return moved


def _move_standby(
    placement: Placement, caught_up: CaughtUp, warmups: Warmups, queue: _LeastLoaded, task: int, destination: int
) -> bool:
    ready: list[int] = np.flatnonzero(caught_up.ready[task]).tolist()
    source = queue.poll([client for client in ready if not placement.holds(client, task)])
    if source is None:
        closer = caught_up.closer_than(task, destination)
        source = next((client for client in closer if not placement.holds(client, task)), None)
    if source is None:
        return False
    placement.assign_standby(task, source)
    if not warmups.take():
        placement.unassign_standby(task, destination)
    queue.put_back(source, destination)
    return True


def _in_kafkas_order(planned: list[tuple[int, int]], caught_up: CaughtUp) -> list[tuple[int, int]]:
    """Drain Kafka's queue of movements: fewest caught-up clients first, then task; ties as Java's heap gives them."""
    num_ready = caught_up.ready.sum(axis=1).tolist()
    queue = PriorityQueue([(num_ready[task], task) for task, _ in planned])
    for index in range(len(planned)):
        queue.offer(index)
    return [planned[queue.poll()] for _ in planned]


class _LeastLoaded:
    """Kafka's ConstrainedPrioritySet: clients by (load, process id), taken by the first that satisfies a condition.

    The loads are read whenever two clients are compared, and they change while clients are inside; the heap is then out
    of order for a moment, and that can decide who comes next. So Java's heap is reproduced, and so is the order of the
    hash set from which passed-over clients are put back.
    """

    def __init__(self, placement: Placement) -> None:
        clients = range(len(placement.threads))
        self._placement = placement
        self._queue = PriorityQueue([(placement.assigned_load(client), client) for client in clients])
        self._inside = [False for _ in clients]
        self._hashes = [process_hash(process_id) for process_id in placement.state.clients.ids]
        self._drained = False
        for client in clients:
            self._offer(client)

    def put_back(self, source: int, destination: int) -> None:
        """Let two clients whose loads may have changed find their places anew, one after the other."""
        for client in (source, destination):
            self._queue.keys[client] = (self._placement.assigned_load(client), client)
        for client in (source, destination):
            self._offer(client)

    def poll(self, wanted: Collection[int]) -> int | None:
        """Take out the least loaded of the wanted clients; None if none of them is inside.

        Whoever comes before is taken out and put back, which changes the heap.
        """
        if not any(self._inside[client] for client in wanted):
            self._drain()
            return None
        chosen = set(wanted)
        passed_over: list[int] = []
        while (client := self._queue.poll()) not in chosen:
            passed_over.append(client)
        self._inside[client] = False
        self._drained = False
        self._fill(passed_over)
        return client

    def _drain(self) -> None:
        """Pass over everybody.

        From a heap in order, all come out by their keys, whatever its shape; so there is no need to take them one by
        one, nor to do again what was just done.
        """
        if self._drained:
            return
        if self._queue.is_ordered():
            passed_over = sorted(self._queue.elements(), key=self._queue.keys.__getitem__)
            self._queue.clear()
        else:
            passed_over = [self._queue.poll() for _ in range(len(self._queue))]
        self._fill(passed_over)
        self._drained = True

    def _fill(self, clients: list[int]) -> None:
        order = hash_order([self._hashes[client] for client in clients])
        self._queue.offer_all([clients[position] for position in order])

    def _offer(self, client: int) -> None:
        if self._inside[client]:
            self._queue.remove(client)
        self._inside[client] = True
        self._drained = False
        self._queue.offer(client)
