"""Number of batches that run at a time, with Spark replaced by a machine that counts busy cores."""

from __future__ import annotations

import threading
import time
from typing import Any, cast

import numpy as np
import pytest

from pipeline.sweep import run
from pipeline.sweep.batches import Batch, plan_batches

pytestmark = pytest.mark.spark

STEP_S = 0.02

WRITE_S = 0.1
"""Time in which a batch writes its tables and occupies no core of the machine."""


class CountingMachine:
    """Runs batches like a cluster: each chunk occupies one core for a time; a batch ends with its last chunk."""

    def __init__(self, cores: int, chunk_s: dict[int, float] | None = None) -> None:
        self.number_of_cores = cores
        self.free_cores = threading.Semaphore(cores)
        self.lock = threading.Lock()
        self.chunk_s = chunk_s or {}
        self.finished: dict[str, int] = {}
        self.executed: list[int] = []
        self.busy = self.most_busy = self.batches = self.most_batches = 0

    def cores(self) -> int:
        return self.number_of_cores

    def completed_tasks(self, name: str, _tasks: int | None = None) -> int:
        return self.finished.get(name, 0)

    def run_batch(
        self, _spark: Any, jobs: Any, _storage: Any, _job: Any, _group: Any, batch: Batch, _attempt: str
    ) -> int:
        assert jobs is self
        with self.lock:
            self.batches += 1
            self.most_batches = max(self.most_batches, self.batches)
        threads = [threading.Thread(target=self._run_chunk, args=(batch,)) for _ in batch.chunks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        time.sleep(WRITE_S)
        with self.lock:
            self.batches -= 1
            self.executed.append(batch.number)
        return 0

    def _run_chunk(self, batch: Batch) -> None:
        with self.free_cores:
            with self.lock:
                self.busy += 1
                self.most_busy = max(self.most_busy, self.busy)
            time.sleep(self.chunk_s.get(batch.number, STEP_S))
            with self.lock:
                self.busy -= 1
                self.finished[batch.name] = self.finished.get(batch.name, 0) + 1


def execute(monkeypatch: pytest.MonkeyPatch, machine: CountingMachine, batches: list[Batch]) -> list[run.Progress]:
    """Run batches on the machine and return the reported progress."""
    monkeypatch.setattr(run, "run_batch", machine.run_batch)
    monkeypatch.setattr(run, "spark_jobs", lambda _: machine)
    monkeypatch.setattr(run, "_POLL_INTERVAL_S", STEP_S / 4)
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
    batches = plan_batches(np.full(1_000, 16_000.0))
    assert max(len(batch.chunks) for batch in batches) == 10
    machine = CountingMachine(cores=60)
    execute(monkeypatch, machine, batches)
    assert machine.most_busy == 60


def test_expensive_run_leaves_the_other_core_to_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = plan_batches(np.array([400_000.0, *[400.0] * 150]))
    expensive = batches[0]
    assert len(expensive.chunks) == 1
    times = {batch.number: 0.002 for batch in batches} | {expensive.number: 1.0}
    machine = CountingMachine(cores=2, chunk_s=times)
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
