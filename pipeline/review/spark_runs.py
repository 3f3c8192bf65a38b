"""The requests of a review on Spark, one task each."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pipeline.review.process_pool import ProcessPool, ReviewError
from pipeline.review.spark_worker import ANSWER_SCHEMA, answer_requests
from pipeline.spark_jobs import SparkJobs, spark_jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GROUP: Final = "review"
_POLL_INTERVAL_S: Final = 0.5


def map_on_spark(
    spark: SparkSession,
    function: Callable[[ProcessPool, Any], Any],
    items: Sequence[Any],
    on_progress: Callable[[str], None],
) -> Iterator[tuple[int, Any]]:
    """Call a function for each item in the workers of Spark.

    `function`: takes a pool and an item; the executors must be able to import it. `items`: the items; the first ones
    start first. Yields each position and its result, by position. Raises ReviewError if an item failed for a reason
    other than its assignors.
    """
    if not items:
        return
    jobs = spark_jobs(spark)
    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(_collect, spark, jobs, [pickle.dumps((function, item)) for item in items])
        try:
            while not wait([future], _POLL_INTERVAL_S).done:
                on_progress(f"{jobs.completed_tasks(_GROUP):,} of {len(items):,} tasks on Spark")
        except BaseException:
            jobs.cancel((_GROUP,))
            raise
    for position, answer in sorted(future.result()):
        kind, result = pickle.loads(answer)
        if kind == "error":
            raise ReviewError(result)
        yield position, result


def _collect(spark: SparkSession, jobs: SparkJobs, requests: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """Run the requests, and return the positions with the answers."""
    from pyspark.sql import functions as sql
    from pyspark.sql.pandas.types import from_arrow_schema

    jobs.begin(_GROUP, "assignor-sim review")
    table = pa.table(
        {"position": pa.array(range(len(requests)), pa.int64()), "request": pa.array(requests, pa.binary())}
    )
    # A range has exactly the given number of partitions, in order, and a broadcast join preserves them.
    positions = spark.range(0, len(requests), 1, len(requests)).withColumnRenamed("id", "position")
    answers = positions.join(sql.broadcast(spark.createDataFrame(table)), "position").mapInArrow(
        answer_requests, from_arrow_schema(ANSWER_SCHEMA)
    )
    return [(int(row["position"]), bytes(row["answer"])) for row in answers.collect()]
