"""Number of batches that run at a time, with Spark and its threads replaced by a simulated machine with busy cores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from typing import Any, cast

import numpy as np
import pytest
import simpy

from pipeline.sweep import run
from pipeline.sweep.job import Batch, Chunk, plan_batches

pytestmark = pytest.mark.spark

WRITE_S = 10.0
"""Time in which a batch writes its tables and occupies no core of the machine."""


class SimulatedMachine:
    """Runs batches like a cluster: a chunk occupies one core for the cost of its runs; a batch ends with the last one.

    It replaces `ThreadPoolExecutor` and `wait`, too, by its own time.
    """

    def __init__(self, cores: int, cost_ms: np.ndarray) -> None:
        self.environment = simpy.Environment()
        self.free_cores = simpy.Resource(self.environment, cores)
        self.cost_ms = cost_ms
        self.finished: Counter[str] = Counter()
        self.executed: list[int] = []
        self.most_busy = self.batches = self.most_batches = 0

    def __enter__(self) -> SimulatedMachine:
        return self

    def __exit__(self, *_: object) -> None:
        """All batches have ended."""

    def cores(self) -> int:
        return self.free_cores.capacity

    def completed_tasks(self, name: str, _tasks: int | None = None) -> int:
        return self.finished[name]

    def submit(self, _run_batch: Callable[..., int], *arguments: Any) -> Future[int]:
        (batch,) = (argument for argument in arguments if isinstance(argument, Batch))
        future: Future[int] = Future()
        self.environment.process(self._run_batch(batch, future))
        return future

    def wait(self, futures: Iterable[Future[int]], timeout_s: float, _: str) -> tuple[set[Future[int]], None]:
        end = self.environment.timeout(timeout_s)
        while not end.processed and not any(future.done() for future in futures):
            self.environment.step()
        return {future for future in futures if future.done()}, None

    def _run_batch(self, batch: Batch, future: Future[int]) -> Generator[simpy.Event, None, None]:
        self.batches += 1
        self.most_batches = max(self.most_batches, self.batches)
        yield self.environment.all_of(self.environment.process(self._run_chunk(batch, chunk)) for chunk in batch.chunks)
        yield self.environment.timeout(WRITE_S)
        self.batches -= 1
        self.executed.append(batch.number)
        future.set_result(0)

    def _run_chunk(self, batch: Batch, chunk: Chunk) -> Generator[simpy.Event, None, None]:
        with self.free_cores.request() as core:
            yield core
            self.most_busy = max(self.most_busy, self.free_cores.count)
            yield self.environment.timeout(self.cost_ms[chunk.start : chunk.stop].sum() / 1_000)
        self.finished[batch.name] += 1


def execute(monkeypatch: pytest.MonkeyPatch, machine: SimulatedMachine, batches: list[Batch]) -> list[run.Progress]:
    """Run batches on the machine and return the reported progress."""
    monkeypatch.setattr(run, "spark_jobs", lambda _: machine)
    monkeypatch.setattr(run, "ThreadPoolExecutor", lambda _: machine)
    monkeypatch.setattr(run, "wait", machine.wait)
    reported: list[run.Progress] = []
    total = sum(batch.runs for batch in batches)
    nothing = cast("Any", None)
    final = run._run_batches(nothing, nothing, nothing, nothing, batches, run.Progress(total, 0, 0, 0), reported.append)
    assert final.done == total
    assert sorted(machine.executed) == sorted(batch.number for batch in batches)
    done = [progress.done for progress in reported]
    assert done == sorted(done)
    return reported


def test_long_runs_occupy_all_cores_of_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    # 1,000 runs of 16 s make batches of 10 runs, one per chunk: two of them occupy 20 cores.
    cost_ms = np.full(1_000, 16_000.0)
    batches = plan_batches(cost_ms)
    assert max(len(batch.chunks) for batch in batches) == 10
    machine = SimulatedMachine(60, cost_ms)
    execute(monkeypatch, machine, batches)
    assert machine.most_busy == 60


def test_expensive_run_leaves_the_other_core_to_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    cost_ms = np.array([400_000.0, *[400.0] * 150])
    batches = plan_batches(cost_ms)
    expensive = batches[0]
    assert len(expensive.chunks) == 1
    machine = SimulatedMachine(2, cost_ms)
    execute(monkeypatch, machine, batches)
    assert machine.executed[-1] == expensive.number
    # The third one runs while the second one writes its tables.
    assert machine.most_batches == 3


@pytest.mark.parametrize(
    ("running", "unfinished", "cores", "expected"),
    [
        (0, 0, 2, True),
        (1, 500, 2, True),
        (2, 2, 2, False),
        (2, 1, 2, True),
        (3, 0, 2, False),
        (10, 99, 100, True),
        (10, 100, 100, False),
        (100, 0, 1_000, False),
    ],
)
def test_another_batch_starts_if_cores_are_idle(running: int, unfinished: int, cores: int, expected: bool) -> None:
    assert run.is_another_batch_needed(running, unfinished, cores) is expected
