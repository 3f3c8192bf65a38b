"""The batches of a sweep with one costly setting, executed chunk by chunk in the order in which Spark starts them."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from pipeline.sweep.job import Batch, plan_batches
from pipeline.sweep.run import is_another_batch_needed

pytestmark = pytest.mark.spark

SKEWED_S = np.concatenate((np.full(9_990, 0.1), np.full(10, 100.0)))
"""Core time of each run; the runs of the last setting are costly."""


@pytest.mark.parametrize("cores", [2, 16, 100])
def test_costly_setting_does_not_run_alone_at_the_end(cores: int) -> None:
    elapsed_s, alone_s = execute(plan_batches(SKEWED_S * 1_000), cores)
    bound = max(SKEWED_S.sum() / cores, SKEWED_S.max())
    assert bound <= elapsed_s <= 1.01 * bound
    assert alone_s < 0.01 * bound


def test_order_of_the_settings_would_leave_cores_idle() -> None:
    batches = sorted(plan_batches(SKEWED_S * 1_000), key=lambda batch: batch.number)
    in_order = [replace(batch, chunks=tuple(sorted(batch.chunks, key=lambda chunk: chunk.start))) for batch in batches]
    elapsed_s, _ = execute(in_order, 16)
    assert elapsed_s > 1.2 * SKEWED_S.sum() / 16


def execute(batches: Sequence[Batch], cores: int) -> tuple[float, float]:
    """Return the elapsed time, and the time at the end in which at most one core works, in seconds.

    As in `pipeline.sweep.run`, chunks of the first batch start first; another batch starts while cores are not busy.
    """
    total = np.concatenate(([0.0], np.cumsum(SKEWED_S)))
    waiting, queue, running = deque(batches), deque[tuple[int, float]](), list[tuple[float, int]]()
    unfinished = {batch.number: len(batch.chunks) for batch in batches}
    active: set[int] = set()
    now = alone_from_s = 0.0
    while waiting or queue or running:
        left = sum(unfinished[number] for number in active)
        while waiting and is_another_batch_needed(len(active), left, cores):
            batch = waiting.popleft()
            active.add(batch.number)
            left += unfinished[batch.number]
            queue.extend((batch.number, float(total[chunk.stop] - total[chunk.start])) for chunk in batch.chunks)
        while queue and len(running) < cores:
            number, seconds = queue.popleft()
            heapq.heappush(running, (now + seconds, number))
        is_alone = len(running) < 2
        now, number = heapq.heappop(running)
        alone_from_s = alone_from_s if is_alone else now
        unfinished[number] -= 1
        if not unfinished[number]:
            active.discard(number)
    return now, now - alone_from_s
