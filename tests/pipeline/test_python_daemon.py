"""Python workers that are forked with their modules imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from pipeline import python_daemon
from pipeline.python_daemon import daemon_settings, import_modules

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_workers_of_another_python_or_with_shipped_code_have_the_daemon_of_spark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert daemon_settings(())["spark.python.daemon.module"] == "pipeline.python_daemon"
    assert daemon_settings(("assignor_sim.whl",)) == {}
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/another-python")
    assert daemon_settings(()) == {}


def test_imports_print_nothing_where_java_reads_the_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "printing_module.py").write_text("print('hello')\n")
    (tmp_path / "failing_module.py").write_text("raise ValueError('numpy.dtype size changed')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(python_daemon, "MODULES", ("missing_module_of_a_worker", "failing_module", "printing_module"))
    monkeypatch.setattr(python_daemon.gc, "freeze", lambda: None)
    import_modules()
    assert capfd.readouterr() == ("", "hello\n")
    assert "printing_module" in sys.modules


def imported(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the parent of this worker and how many of its modules it had before it took its first function."""
    for _ in batches:
        frozen = sum(name in sys.modules for name in python_daemon.MODULES)
        yield pa.RecordBatch.from_pydict({"parent": [os.getppid()], "modules": [frozen]})


def test_jobs_of_both_kinds_have_workers_of_one_daemon(spark: SparkSession) -> None:
    tables = spark.range(0, 4, 1, 4).mapInArrow(imported, "parent long, modules long").collect()
    lists = spark.sparkContext.parallelize(range(2), 2).map(lambda _: os.getppid()).collect()
    parents = {row["parent"] for row in tables}
    assert parents == set(lists)
    [parent] = parents
    assert b"pipeline.python_daemon" in Path(f"/proc/{parent}/cmdline").read_bytes()
    assert {row["modules"] for row in tables} == {len(python_daemon.MODULES)}
