"""The pool in which reviews, fuzzing, checkups and recommendations run: processes of this machine, or Spark's workers.

The results do not depend on where an item runs, nor on how many processes there are. A process answers one request at a
time, until its pipe is closed; an assignor that ends it costs that request, and not the whole run or a task of Spark.
"""

from __future__ import annotations

import pickle
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from contextlib import contextmanager
from functools import cache, partial
from math import inf
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import pyarrow as pa

# A process finds a package of this project before a folder of its name only while it imports this module.
import reports as _reports  # noqa: F401
from assignors.containment.child import end_with_parent, take_pipe
from assignors.containment.isolation import AssignorProcess, python_command
from assignors.errors import AssignorError
from assignors.flow import flow_cache
from pipeline.spark_jobs import SparkJobs, spark_jobs
from scenarios.time_ranges import usable_cpus

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_POLL_INTERVAL_S: Final = 0.5
_ANSWER_SCHEMA: Final = pa.schema([("position", pa.int64()), ("answer", pa.binary())])
"""One row per item: its position, and the pickled pair of kind (`result` or `error`) and value."""


class PoolError(Exception):
    """A request failed, for a reason other than its assignors."""


class ProcessPool:
    """Processes, each of which answers one request at a time."""

    def __init__(self, workers: int | None = None) -> None:
        """Choose the number of processes, by default one for each CPU; they start at their first request."""
        self.workers = workers or usable_cpus()
        self._idle: list[AssignorProcess] = []
        self._lock = threading.Lock()
        self._processes: list[AssignorProcess] = []
        self._closed = False

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in an idle process, or in a new one.

        Raises CustomAssignorError if the process ended, and PoolError if the function failed otherwise.
        """
        process = self._take()
        try:
            kind, result = process.ask((function, *arguments), inf)
        finally:
            with self._lock:
                if process.is_running:
                    self._idle.append(process)
                elif process in self._processes:
                    self._processes.remove(process)
        if kind == "error":
            raise PoolError(result)
        return result

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yield the results of a function with their positions, in the order in which they are complete.

        The function runs in a thread of this process.
        """
        with ThreadPoolExecutor(self.workers) as threads:
            futures = {threads.submit(function, item): position for position, item in enumerate(items)}
            try:
                for future in as_completed(futures):
                    yield futures[future], future.result()
            except BaseException:
                self.close()
                threads.shutdown(cancel_futures=True)
                raise

    def close(self) -> None:
        """Kill the processes."""
        with self._lock:
            self._closed = True
            while self._processes:
                self._processes.pop().close()

    def _take(self) -> AssignorProcess:
        """Return a process that no other thread uses."""
        with self._lock:
            if self._closed:
                raise PoolError("the runs were interrupted")
            while self._idle:
                idle = self._idle.pop()
                if idle.is_running:
                    return idle
            process = AssignorProcess(python_command(__name__, {}))
            self._processes.append(process)
            return process


def main() -> None:
    """Answer the requests of a pool until the pipe is closed."""
    requests, answers = take_pipe()
    end_with_parent(requests.fileno())
    with flow_cache():
        while True:
            try:
                function, *arguments = requests.recv()
            except (EOFError, OSError):
                return
            try:
                answer = ("result", function(*arguments))
            except AssignorError as error:
                answer = ("error", f"{type(error).__name__}: {error}")
            except Exception:
                answer = ("error", traceback.format_exc())
            answers.send(answer)


@contextmanager
def process_pool(workers: int | None) -> Iterator[ProcessPool]:
    """Provide processes, and end them afterwards."""
    pool = ProcessPool(workers)
    try:
        yield pool
    finally:
        pool.close()


Call = Callable[..., Any]
"""Calls a function with arguments in a process of its own, as `ProcessPool.call` does."""

RunAll = Callable[[Callable[[Call, Any], Any], Sequence[Any]], Iterator[tuple[int, Any]]]
"""Calls a function with a `Call` and each item, in parallel; yields the positions of the items and the results.

The workers of Spark must be able to import the function. The first items start first.
"""


@contextmanager
def run_pool(
    workers: int | None, spark: SparkSession | None, on_progress: Callable[[str], None] = lambda _: None
) -> Iterator[RunAll]:
    """Provide a function that runs items in parallel.

    `workers`: number of processes; by default one for each CPU. `spark`: the session in whose workers the items run;
    None to run them in processes of this machine.
    """
    if spark is not None:
        yield partial(_map_on_spark, spark, spark_jobs(spark), on_progress)
        return
    with process_pool(workers) as pool:
        yield lambda function, items: pool.map(partial(function, pool.call), items)


def _map_on_spark(
    spark: SparkSession,
    jobs: SparkJobs,
    on_progress: Callable[[str], None],
    function: Callable[[Call, Any], Any],
    items: Sequence[Any],
) -> Iterator[tuple[int, Any]]:
    """Yield each position and its result, by position; a task of Spark for each item."""
    if not items:
        return
    group = f"runs-{uuid4().hex}"  # Progress counts only the tasks of the given items.
    pickled = pickle.dumps(function), [pickle.dumps(item) for item in items]
    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(_collect, spark, jobs, group, *pickled)
        try:
            while not wait([future], _POLL_INTERVAL_S).done:
                on_progress(f"{jobs.completed_tasks(group):,} of {len(items):,} tasks on Spark")
        except BaseException:
            jobs.cancel((group,))
            raise
    for position, answer in sorted(future.result()):
        kind, result = pickle.loads(answer)
        if kind == "error":
            raise PoolError(result)
        yield position, result


def _collect(
    spark: SparkSession, jobs: SparkJobs, group: str, function: bytes, items: Sequence[bytes]
) -> list[tuple[int, bytes]]:
    """Call the pickled function for each item, and return the positions with the pickled answers."""
    from pyspark.sql import functions as sql
    from pyspark.sql.pandas.types import from_arrow_schema

    jobs.begin(group, "assignor-sim runs")
    table = pa.table({"position": pa.array(range(len(items)), pa.int64()), "item": pa.array(items, pa.binary())})
    # A range has exactly the given number of partitions, in order, and a broadcast join preserves them.
    positions = spark.range(0, len(items), 1, len(items)).withColumnRenamed("id", "position")
    answers = positions.join(sql.broadcast(spark.createDataFrame(table)), "position").mapInArrow(
        partial(_answer, function), from_arrow_schema(_ANSWER_SCHEMA)
    )
    return [(int(row["position"]), bytes(row["answer"])) for row in answers.collect()]


def _answer(function: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Call the function for each item in a worker of Spark, with the process that the worker starts."""
    unpickled = pickle.loads(function)
    for batch in batches:
        for row in batch.to_pylist():
            try:
                answer: tuple[str, object] = ("result", unpickled(_pool_of_worker().call, pickle.loads(row["item"])))
            except PoolError as error:
                answer = ("error", str(error))
            cells = {"position": row["position"], "answer": pickle.dumps(answer)}
            yield pa.RecordBatch.from_pylist([cells], _ANSWER_SCHEMA)


@cache
def _pool_of_worker() -> ProcessPool:
    """Return the pool of this worker, whose only process serves all its tasks, and ends with it."""
    return ProcessPool(1)
