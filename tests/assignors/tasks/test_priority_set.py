"""The set of clients that movements take from, against Kafka's steps one by one on random loads."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from assignors.compilation import PLAIN
from assignors.java.hash_order import hash_order
from assignors.java.priority_queue import PriorityQueue
from assignors.model.columns import NO_CLIENT
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId, TaskId
from assignors.model.state import ApplicationState, KafkaStreamsState, TaskInfo
from assignors.tasks import task_movement
from assignors.tasks.task_movement import PrioritySet, empty_set, enter_all, make_changes, take, update_two
from assignors.tasks.task_placement import TaskPlacement


class StepByStep:
    """Kafka's set: a queue that is emptied and filled again."""

    def __init__(self, clients: PrioritySet) -> None:
        self.hashes = list(clients.hashes)
        self.queue = PriorityQueue([(load, client) for client, load in enumerate(clients.heap.major)])
        self.inside: set[int] = set()
        for client in range(len(self.hashes)):
            self.enter(client)

    def enter(self, client: int) -> None:
        if client in self.inside:
            self.queue.remove(client)
        self.inside.add(client)
        self.queue.offer(client)

    def take(self, wanted: set[int]) -> int:
        passed, taken = [], NO_CLIENT
        while taken == NO_CLIENT and len(self.queue):
            client = self.queue.poll()
            self.inside.discard(client)
            if client in wanted:
                taken = client
            else:
                passed.append(client)
        for position in hash_order([self.hashes[client] for client in passed]):
            self.enter(passed[position])
        return taken

    def update(self, loads: dict[int, float]) -> None:
        for client, load in loads.items():
            self.queue.set_key(client, (load, client))
        for client in loads:
            self.enter(client)


def new_set(rng: random.Random, num_clients: int, load_levels: int) -> PrioritySet:
    bits = rng.choice([9, 62])
    clients = [KafkaStreamsState(ProcessId(rng.getrandbits(bits), number)) for number in range(num_clients)]
    state = ApplicationState.of([TaskInfo(TaskId(0, 0), True, ())], clients, AssignmentConfigs())
    placement = TaskPlacement(state)
    for client in range(num_clients):
        placement.assigned_count[client] = rng.randrange(load_levels)
    return empty_set(PLAIN, placement)


def check_random_changes(rng: random.Random, num_clients: int) -> None:
    clients = new_set(rng, num_clients, rng.choice([2, 4, 30]))
    enter_all(clients)
    expected = StepByStep(clients)
    searches = rng.random()
    for _ in range(60):
        first = NO_CLIENT
        if rng.random() < searches:
            assert take(clients) == expected.take(set()) == NO_CLIENT
        if rng.random() < 0.9:
            wanted = set(rng.sample(range(num_clients), rng.randint(0, min(4, num_clients - 1))))
            for client in range(num_clients):
                clients.wanted[client] = int(client in wanted)
            first = take(clients)
            assert first == expected.take(wanted)
            for client in range(num_clients):
                clients.wanted[client] = 0
        if first == NO_CLIENT:
            first = rng.randrange(num_clients)
        second = rng.choice([client for client in range(num_clients) if client != first])
        loads = {
            client: max(0.0, float(clients.heap.major[client]) + rng.choice([-2, -1, -1, 0, 1, 1]))
            for client in (first, second)
        }
        update_two(clients, first, loads[first], second, loads[second])
        expected.update(loads)
    make_changes(clients)
    assert heap_of(clients) == list(expected.queue._heap.elements[: len(expected.queue)])


def heap_of(clients: PrioritySet) -> list[int]:
    return [int(client) for client in clients.heap.elements[: clients.heap.size[0]]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    counted: Counter[str] = Counter()

    def count(name: str) -> Callable[..., Any]:
        function = getattr(task_movement, name)

        def counting(*args: Any) -> Any:
            counted[name] += 1
            return function(*args)

        return counting

    for name in ("make_changes", "take_in_order", "take_from_heap", "stays_in_order"):
        monkeypatch.setattr(task_movement, name, count(name))
    return counted


def test_clients_are_taken_as_step_by_step(calls: Counter[str]) -> None:
    rng = random.Random(3)
    for _ in range(120):
        check_random_changes(rng, rng.choice([2, 3, 7, 20, 40, 90]))
    # Changes are both listed and made, and sometimes leave the heap out of order.
    assert calls["stays_in_order"] > 2 * calls["make_changes"]
    assert calls["make_changes"] > 500
    assert calls["take_in_order"] > 500
    assert calls["take_from_heap"] > 20


def test_a_full_list_of_changes_loses_none() -> None:
    rng = random.Random(4)
    clients = new_set(rng, 30, 10_000)
    enter_all(clients)
    expected = StepByStep(clients)
    most = 0
    for _ in range(200):
        wanted = set(rng.sample(range(30), 2))
        for client in range(30):
            clients.wanted[client] = int(client in wanted)
        first = take(clients)
        assert first == expected.take(wanted)
        second = rng.choice([client for client in range(30) if client != first])
        loads = {first: clients.heap.major[first] + 1, second: clients.heap.major[second]}
        update_two(clients, first, loads[first], second, loads[second])
        expected.update(loads)
        most = max(most, clients.pending[0])
    assert most == task_movement.PENDING_CHANGES
    make_changes(clients)
    assert heap_of(clients) == list(expected.queue._heap.elements[: len(expected.queue)])
