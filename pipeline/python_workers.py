"""The start of Spark's Python workers on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from pipeline.connect_session import runs_on_this_machine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def start_workers(spark: SparkSession) -> None:
    """Start a Python worker for each core of this machine while this process goes on; a cluster starts its own.

    Java takes seconds to load what it plans the first job with, on one core. The workers import their modules at the
    same time. What fails here fails again in a job that reports it.
    """
    if not runs_on_this_machine(spark):
        return
    context = spark.sparkContext
    cores = context.defaultParallelism

    def start() -> None:
        with suppress(Exception):
            context.setJobGroup("workers", "start Python workers")
            context.parallelize(range(cores), cores).foreachPartition(_do_nothing)

    threading.Thread(target=start, daemon=True).start()


def _do_nothing(_: Iterable[int]) -> None:
    """Be a function that makes Spark start a worker."""
