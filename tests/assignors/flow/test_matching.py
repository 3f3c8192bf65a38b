"""The largest number of tasks on one of their clients is that of OR-Tools' maximum flow."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assignors.flow.min_cost import Arcs, max_flow, max_matching


@given(seed=st.integers(0, 2**32 - 1))
def test_matching_is_a_maximum_flow(seed: int) -> None:
    rng = np.random.default_rng(seed)
    num_tasks, num_clients = (int(number) for number in rng.integers(1, 15, 2))
    allowed = rng.random((num_tasks, num_clients)) < rng.choice([0.1, 0.3, 0.8])
    capacity = rng.integers(0, 4, num_clients)
    tasks, clients = np.nonzero(allowed)
    source, sink = num_tasks + num_clients, num_tasks + num_clients + 1
    tail = np.concatenate((np.full(num_tasks, source), tasks, num_tasks + np.arange(num_clients)))
    head = np.concatenate((np.arange(num_tasks), num_tasks + clients, np.full(num_clients, sink)))
    ones = np.ones(num_tasks + len(tasks), dtype=np.int64)
    arcs = Arcs(tail, head, np.concatenate((ones, capacity)), np.zeros(len(tail), dtype=np.int64))
    flows = max_flow(arcs, source, sink)
    assert max_matching(allowed, capacity) == flows[head == sink].sum()
