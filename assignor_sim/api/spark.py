"""The Spark session of an API call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.session import connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def spark_session(spark: SparkSession | None) -> Iterator[SparkSession]:
    """Yield the session of the caller, or by default the active one, else an embedded one that ends with the block."""
    if spark is not None:
        yield spark
        return
    with connect(fast_start=True) as session:
        yield session
