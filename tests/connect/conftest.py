"""A Spark Connect server and a session of it, and what a session with Java in its process writes.

These tests run in a process of their own: PySpark has one kind of session per process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.session import connect
from tests.connect import work
from tests.connect.server import ConnectServer, connect_server
from tests.pipeline.sweep.examples import write_sweep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def server() -> Iterator[ConnectServer]:
    with connect_server() as started:
        yield started


@pytest.fixture(scope="session")
def remote(server: ConnectServer) -> Iterator[SparkSession]:
    with connect(server.url) as session:
        yield session


@pytest.fixture(scope="session")
def sweep_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sweep(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="session")
def embedded(sweep_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with what `tests.connect.work` writes with Java in its process."""
    out = tmp_path_factory.mktemp("embedded")
    command = [sys.executable, "-m", work.__name__, str(sweep_file), str(out)]
    # PySpark asks for a server in all child processes of one that has used Spark Connect.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SPARK_")}
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out
