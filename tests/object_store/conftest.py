"""An S3-compatible server, and a Spark session with Hadoop's connector for it.

These tests run in a process of their own: Java loads the connector when it starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.session import connect
from pipeline.storage import Storage
from tests.object_store.server import BUCKET, ObjectStore, object_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = f"s3a://{BUCKET}"


@pytest.fixture(scope="session")
def store() -> Iterator[ObjectStore]:
    with object_store() as started:
        yield started


@pytest.fixture(scope="session")
def spark(store: ObjectStore) -> Iterator[SparkSession]:
    with connect("local[2]", store.spark_settings(), fast_start=True) as session:
        yield session


@pytest.fixture
def download(spark: SparkSession, tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that copies a folder of the bucket to this machine."""

    numbers = count()

    def copy(name: str) -> Path:
        folder = tmp_path / f"copy-{next(numbers)}"
        Storage(spark, ROOT).download(folder, name)
        return folder / name

    return copy
