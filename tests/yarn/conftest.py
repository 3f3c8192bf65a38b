"""YARN and HDFS on this machine, and an embedded Spark session whose default file system is HDFS.

These tests run in a process of their own: Java reads Hadoop's configuration when it starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from pipeline.session import connect
from tests.yarn.hadoop_cluster import HadoopCluster, hadoop_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def hadoop() -> Iterator[HadoopCluster]:
    with hadoop_cluster() as started:
        yield started


@pytest.fixture(scope="session")
def spark(hadoop: HadoopCluster) -> Iterator[SparkSession]:
    with connect("local[2]", {"spark.hadoop.fs.defaultFS": hadoop.uri}, fast_start=True) as session:
        yield session
