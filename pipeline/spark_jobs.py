"""Names, progress and cancellation of Spark jobs, with and without a Java process of the driver."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, cast

from pipeline.connect_session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROWS = 100_000


class SparkJobs(Protocol):
    """The jobs that this process starts in a session."""

    def cores(self) -> int:
        """Return the number of tasks that Spark runs at once by default."""

    def begin(self, name: str, description: str) -> None:
        """Give a name to the jobs that this thread starts from now on."""

    def completed_tasks(self, name: str, tasks: int | None = None) -> int:
        """Return the number of completed tasks of a name's largest stage.

        `tasks`: number of tasks of the stages that count; all stages by default.
        """

    def cancel(self, names: Iterable[str]) -> None:
        """Cancel the running jobs of some names."""


def spark_jobs(spark: SparkSession) -> SparkJobs:
    """Return the jobs of a session; one object per command, as it counts from its creation."""
    return ConnectJobs(spark) if is_connect(spark) else ContextJobs(spark)


def default_parallelism(spark: SparkSession) -> int:
    """Return the number of tasks that Spark runs at once by default: the number of all cores."""
    from pyspark.sql import functions as sql

    if not is_connect(spark):
        return int(spark.sparkContext.defaultParallelism)
    # A range has this number of partitions; with so many rows, none of them is empty.
    return spark.range(_ROWS).select(sql.spark_partition_id().alias("number")).distinct().count()


class ContextJobs:
    """Jobs of a session with a Java process: names are job groups."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext

    def cores(self) -> int:
        """Return the current number of cores: executors may join while a sweep runs."""
        return int(self._context.defaultParallelism)

    def begin(self, name: str, description: str) -> None:
        """Give a name to the jobs that this thread starts from now on."""
        self._context.setJobGroup(name, description)

    def completed_tasks(self, name: str, tasks: int | None = None) -> int:
        """Return the number of completed tasks of a name's largest stage."""
        tracker = self._context.statusTracker()
        completed = 0
        for job in tracker.getJobIdsForGroup(name):
            job_info = tracker.getJobInfo(job)
            for stage in job_info.stageIds if job_info else ():
                stage_info = tracker.getStageInfo(stage)
                if stage_info and tasks in (None, stage_info.numTasks):
                    completed = max(completed, stage_info.numCompletedTasks)
        return completed

    def cancel(self, names: Iterable[str]) -> None:
        """Cancel the running jobs of some names."""
        for name in names:
            self._context.cancelJobGroup(name)


class ConnectJobs:
    """Jobs of a session of Spark Connect: names are tags, and the server reports progress to the waiting thread."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._cores: int | None = None
        self._stages: dict[str, dict[int, tuple[int, int]]] = {}
        self._current = threading.local()
        spark.registerProgressHandler(cast(Any, self._report))

    def cores(self) -> int:
        """Return the number of cores at the first call: it takes a job, which would wait for the running ones later."""
        if self._cores is None:
            self._cores = default_parallelism(self._spark)
        return self._cores

    def begin(self, name: str, description: str) -> None:
        """Give a name to the jobs that this thread starts from now on."""
        self._spark.clearTags()  # A thread of a pool has those of its last work.
        self._spark.addTag(name)
        self._current.name = name
        self._stages.setdefault(name, {})  # Several threads can start the jobs of a name.

    def completed_tasks(self, name: str, tasks: int | None = None) -> int:
        """Return the number of completed tasks of a name's largest stage."""
        stages = tuple(self._stages.get(name, {}).values())
        return max((completed for size, completed in stages if tasks in (None, size)), default=0)

    def cancel(self, names: Iterable[str]) -> None:
        """Cancel the running jobs of some names."""
        for name in names:
            self._spark.interruptTag(name)

    def _report(self, stages: Any, **_: Any) -> None:
        """Record the progress of an operation; PySpark calls it in the thread that waits for the operation."""
        name = getattr(self._current, "name", None)
        if name is not None:
            self._stages[name].update(
                (stage.stage_id, (stage.num_tasks, stage.num_completed_tasks)) for stage in stages or ()
            )
