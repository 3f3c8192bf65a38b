"""Execution of the batches of a sweep on a number of cores, computed chunk by chunk without Spark.

Chunks start in the order in which Spark starts them: those of the first batch first. As in `pipeline.sweep.run`,
another batch starts while the cores are not busy.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.sweep.batches import Batch
from pipeline.sweep.run import is_another_batch_needed


@dataclass(frozen=True, slots=True)
class Overheads:
    """Measured times besides the runs, in seconds.

    Attributes:
        run_s: core time that Spark adds to a run.
        driver_s: time of the driver per run, one run after the other.
        batch_s: time in which a batch writes its tables, on one core.
        written_run_s: the same per run of the batch.
    """

    run_s: float = 0.0
    driver_s: float = 0.0
    batch_s: float = 0.0
    written_run_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ComputedExecution:
    """The computed execution of a sweep.

    Attributes:
        elapsed_s: time until the last table is written.
        busy: share of the core time in which cores work.
        alone_s: time at the end in which at most one core works.
    """

    elapsed_s: float
    busy: float
    alone_s: float


@dataclass(frozen=True, slots=True)
class _CoreTask:
    """Work for one core: a chunk, or the tables of a batch."""

    batch: Batch
    seconds: float
    ready_s: float
    is_write: bool


def execute(
    batches: Sequence[Batch], run_s: NDArray[np.float64], cores: int, overheads: Overheads = Overheads()
) -> ComputedExecution:
    """Compute the execution of batches.

    `batches`: in the order of execution. `run_s`, shape (runs,): time of each run on a core. `overheads`: times besides
    the runs.
    """
    total = np.concatenate(([0.0], np.cumsum(run_s)))
    waiting, queue = deque(batches), deque[_CoreTask]()
    running: list[tuple[float, int, _CoreTask]] = []
    unfinished = {batch.number: len(batch.chunks) for batch in batches}
    active: set[int] = set()
    now = driver_free_s = busy_s = alone_from_s = 0.0
    started = 0
    while waiting or queue or running:
        left = sum(unfinished[number] for number in active)
        while waiting and is_another_batch_needed(len(active), left, cores):
            batch = waiting.popleft()
            active.add(batch.number)
            left += unfinished[batch.number]
            driver_free_s = max(driver_free_s, now) + batch.runs * overheads.driver_s
            for chunk in batch.chunks:
                runs_s = float(total[chunk.stop] - total[chunk.start])
                seconds = runs_s + (chunk.stop - chunk.start) * overheads.run_s
                queue.append(_CoreTask(batch, seconds, driver_free_s, is_write=False))
        while queue and len(running) < cores:
            task = queue.popleft()
            started += 1
            busy_s += task.seconds
            heapq.heappush(running, (max(now, task.ready_s) + task.seconds, started, task))
        is_alone = len(running) < 2
        now, _, task = heapq.heappop(running)
        alone_from_s = alone_from_s if is_alone else now
        if task.is_write:
            active.discard(task.batch.number)
            continue
        unfinished[task.batch.number] -= 1
        if not unfinished[task.batch.number]:
            seconds = overheads.batch_s + task.batch.runs * overheads.written_run_s
            # Spark prefers the jobs of the batch that began first.
            queue.appendleft(_CoreTask(task.batch, seconds, now, is_write=True))
    return ComputedExecution(now, busy_s / (cores * now), now - alone_from_s)
