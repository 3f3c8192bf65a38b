"""Stateless tasks go one by one to the client with the fewest active tasks per thread, as in Kafka's queue."""

from __future__ import annotations

import heapq

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assignors.tasks.high_availability import clients_with_fewest_tasks

CLIENTS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 7)), min_size=1, max_size=12)


@given(CLIENTS, st.integers(0, 120))
def test_clients_are_those_of_a_queue_that_is_emptied_one_by_one(clients: list[tuple[int, int]], number: int) -> None:
    counts, threads = [count for count, _ in clients], [number_of_threads for _, number_of_threads in clients]
    queue = [(count / threads[client], client) for client, count in enumerate(counts)]
    heapq.heapify(queue)
    expected = []
    for _ in range(number):
        load, client = heapq.heappop(queue)
        expected.append((client, load))
        counts[client] += 1
        heapq.heappush(queue, (counts[client] / threads[client], client))
    owners, loads = clients_with_fewest_tasks(np.array([count for count, _ in clients]), np.array(threads), number)
    assert list(zip(owners.tolist(), loads.tolist(), strict=True)) == expected
