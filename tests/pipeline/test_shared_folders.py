"""Whether workers see a folder of the driver's machine."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline import storage
from pipeline.errors import SparkError
from pipeline.storage import check_workers_see, hosts_without

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_hosts_whose_workers_do_not_see_a_file_are_named(spark: SparkSession, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    seen.touch()
    assert hosts_without(spark, seen) == []
    assert hosts_without(spark, tmp_path / "unseen") == [socket.gethostname()]


def test_folder_that_workers_do_not_see_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "runs_on_this_machine", lambda _: False)
    check_workers_see(spark, tmp_path)
    assert list(tmp_path.iterdir()) == []
    # The file is gone before the workers look for it, as if it were on another machine.
    monkeypatch.setattr(storage, "hosts_without", lambda spark, file: hosts_without(spark, Path(f"{file}-gone")))
    with pytest.raises(SparkError, match=f"{tmp_path}: is on this machine, and the workers on {socket.gethostname()}"):
        check_workers_see(spark, tmp_path)


def test_session_on_this_machine_runs_no_job(spark: SparkSession, tmp_path: Path) -> None:
    check_workers_see(spark, tmp_path / "missing")
