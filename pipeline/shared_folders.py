"""Whether the workers of a cluster see a folder of the driver's machine."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from pipeline.connect_session import is_connect, runs_on_this_machine
from pipeline.errors import SparkError
from pipeline.spark_jobs import default_parallelism

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MAX_TASKS = 100
_MAX_HOSTS = 3


def check_workers_see(spark: SparkSession, folder: Path) -> None:
    """Check that the workers of a cluster see a folder of this machine, where they would write tables.

    Otherwise, each of them would write to its own disk. With Spark Connect, the tables are looked for after they are
    written instead. Raises SparkError if some workers do not.
    """
    if is_connect(spark) or runs_on_this_machine(spark):
        return
    with tempfile.NamedTemporaryFile(prefix=".seen-by-workers-", dir=folder) as file:
        hosts = hosts_without(spark, Path(file.name))
    if hosts:
        more = f" and {len(hosts) - _MAX_HOSTS:,} more" if len(hosts) > _MAX_HOSTS else ""
        raise SparkError(
            f"{folder}: is on this machine, and the workers on {', '.join(hosts[:_MAX_HOSTS])}{more} do not see it; "
            "choose an --out that all machines see: a shared folder, or a URI such as hdfs:///FOLDER or s3a://BUCKET/FOLDER"
        )


def hosts_without(spark: SparkSession, file: Path) -> list[str]:
    """Return the sorted names of the hosts that run tasks and do not see a file."""
    tasks = min(default_parallelism(spark), _MAX_TASKS)
    rows = spark.range(0, tasks, 1, tasks).mapInArrow(partial(_missing, str(file)), "host string").collect()
    return sorted({row["host"] for row in rows})


def _missing(path: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the host of this worker for each task if the file does not exist here."""
    schema = pa.schema([("host", pa.string())])
    for batch in batches:
        hosts = [] if os.path.exists(path) else [socket.gethostname()] * len(batch)
        yield pa.RecordBatch.from_arrays([pa.array(hosts, pa.string())], schema=schema)
