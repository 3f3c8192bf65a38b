"""A direct implementation of Kafka's task movement on sets, without shortcuts: the reference for the kernels.

Source: `TaskMovement`, `ConstrainedPrioritySet` of Kafka Streams.
"""

from collections.abc import Callable

from assignors.java.hash_order import hash_order, process_hash
from assignors.java.priority_queue import PriorityQueue
from assignors.model.configs import LONG_MAX
from assignors.model.state import LATEST_OFFSET
from assignors.tasks.task_placement import TaskPlacement


class PlainMovement:
    """`moved` counts the movements."""

    def __init__(self, placement: TaskPlacement) -> None:
        state = placement.state
        self.placement = placement
        self.clients = range(len(state.clients))
        self.lags = state.lags.tolist()
        self.acceptable = state.assignment_configs.acceptable_recovery_lag
        self.remaining = state.assignment_configs.max_warmup_replicas
        self.hashes = [process_hash(client) for client in state.clients.ids]
        self.inside: set[int] = set()
        self.queue = PriorityQueue([])
        self.moved = 0

    def run(self) -> int:
        placement = self.placement
        stateful = placement.state.tasks.stateful.tolist()
        tasks = range(len(stateful))
        behind = [(t, c) for c in self.clients for t in tasks if stateful[t] and self.should_move_from(t, c)]
        warmups: set[tuple[int, int]] = set()
        actives = [(task, client) for task, client in behind if placement.owner[task] == client]
        self.refill()
        for task, client in self.in_order(actives):
            self.move_active(task, client, warmups)
        standbys = [(t, c) for t, c in behind if placement.standbys()[c, t] and (t, c) not in warmups]
        self.refill()
        for task, client in self.in_order(standbys):
            self.move_standby(task, client)
        return self.moved

    def is_ready(self, task: int, client: int) -> bool:
        lag = self.lags[task][client]
        return lag == LATEST_OFFSET or 0 <= lag <= self.acceptable or self.acceptable == LONG_MAX

    def should_move_from(self, task: int, client: int) -> bool:
        return not self.is_ready(task, client) and min(self.lags[task]) < self.lags[task][client]

    def in_order(self, planned: list[tuple[int, int]]) -> list[tuple[int, int]]:
        ready = [sum(self.is_ready(task, client) for client in self.clients) for task, _ in planned]
        queue = PriorityQueue([(count, task) for count, (task, _) in zip(ready, planned, strict=True)])
        for number in range(len(planned)):
            queue.offer(number)
        return [planned[queue.poll()] for _ in planned]

    def move_active(self, task: int, destination: int, warmups: set[tuple[int, int]]) -> None:
        placement = self.placement
        source = self.take(lambda client: self.is_ready(task, client) and placement.standbys()[client, task])
        if source is None:
            source = self.take(lambda client: self.is_ready(task, client))
        if source is None:
            source = min(self.clients, key=lambda client: (self.lags[task][client], client))
        placement.unassign_active(task)
        placement.assign_active(task, source)
        if placement.standbys()[source, task]:
            placement.unassign_standby(task, source)
            placement.assign_standby(task, destination)
        else:
            self.remaining -= 1
            if self.remaining >= 0:
                placement.assign_standby(task, destination)
                warmups.add((task, destination))
        self.put_back(source, destination)

    def move_standby(self, task: int, destination: int) -> None:
        placement = self.placement
        source = self.take(lambda client: self.is_ready(task, client) and not placement.holds(client, task))
        if source is None:
            ranked = sorted(self.clients, key=lambda client: (self.lags[task][client], client))
            closer = ranked[: ranked.index(destination)]
            source = next((client for client in closer if not placement.holds(client, task)), None)
        if source is None:
            return
        placement.assign_standby(task, source)
        self.remaining -= 1
        if self.remaining < 0:
            placement.unassign_standby(task, destination)
        self.put_back(source, destination)

    def refill(self) -> None:
        self.queue = PriorityQueue([(self.placement.assigned_load(client), client) for client in self.clients])
        self.inside = set()
        for client in self.clients:
            self.offer(client)

    def take(self, is_wanted: Callable[[int], bool]) -> int | None:
        passed, taken = [], None
        while taken is None and len(self.queue):
            client = self.queue.poll()
            self.inside.discard(client)
            if is_wanted(client):
                taken = client
            else:
                passed.append(client)
        for position in hash_order([self.hashes[client] for client in passed]):
            self.offer(passed[position])
        return taken

    def put_back(self, *clients: int) -> None:
        self.moved += 1
        for client in clients:
            self.queue.set_key(client, (self.placement.assigned_load(client), client))
        for client in clients:
            self.offer(client)

    def offer(self, client: int) -> None:
        if client in self.inside:
            self.queue.remove(client)
        self.inside.add(client)
        self.queue.offer(client)
