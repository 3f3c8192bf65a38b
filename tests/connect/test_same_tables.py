"""Commands on a Spark Connect server write the tables that they write with Java in their process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.aggregate import aggregate
from pipeline.pool import run_pool
from tests.connect import work
from tests.connect.server import ConnectServer
from tests.connect.test_server import await_true
from tests.pipeline.sweep.driver_process import DriverProcess
from tests.pipeline.sweep.parquet_contents import contents as contents_with_metadata

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.connect, pytest.mark.slow]


def contents(folder: Path) -> dict[str, list[tuple[str, str, int]]]:
    """Return the bytes of all columns, their names and types, and the rows, without Spark's text in the footer.

    For a text column, it is `string` with Java in the process, and `string collate UTF8_BINARY` by Spark Connect.
    """
    return {
        name: [(columns, schema.split("-- schema metadata --")[0], rows) for columns, schema, rows in files]
        for name, files in contents_with_metadata(folder).items()
    }


def test_sweep_that_is_killed_and_resumed_and_its_aggregate(
    server: ConnectServer, remote: SparkSession, embedded: Path, sweep_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    driver = DriverProcess(sweep_file, out, server.url)
    await_true(lambda: any(out.glob("runs/*/*.parquet")), 120)
    driver.kill()
    before, after, failed = DriverProcess(sweep_file, out, server.url).finish()
    assert 0 < before < after == 24
    assert failed == 0
    aggregate(remote, [str(out)])
    expected = embedded / "sweep"
    assert contents(out) == contents(expected)
    assert len(contents(out)) > 8
    summaries = [(folder / "aggregate" / "summary.json").read_text() for folder in (out, expected)]
    assert summaries[0].replace(str(out), str(expected)) == summaries[1]
    assert not (out / "_unfinished").exists()


def test_ingest(remote: SparkSession, embedded: Path, tmp_path: Path) -> None:
    work.ingest_readings(remote, embedded / "readings", tmp_path)
    for format_ in work.FORMATS:
        written = contents(tmp_path / format_)
        assert written == contents(embedded / "ingested" / format_)
        assert {"rates", "quality", "placements", "quarantine"} <= set(written)


def test_added_readings(remote: SparkSession, embedded: Path, tmp_path: Path) -> None:
    out, expected = tmp_path / "added", embedded / "added"
    work.add_readings(remote, embedded / "readings", out)
    # Kept readings are rows here, and chunks where workers can write files beside them.
    tables, expected_tables = (
        {name: content for name, content in contents(folder).items() if not name.startswith("readings/")}
        for folder in (out, expected)
    )
    assert tables == expected_tables
    assert {"rates", "quality", "placements", "history", "quarantine"} <= set(tables)
    texts = [folder.rglob("*.txt") for folder in (out, expected)]
    copies = [
        {file.relative_to(folder): file.read_bytes() for file in files}
        for folder, files in zip((out, expected), texts, strict=True)
    ]
    assert copies[0] == copies[1] != {}
    manifests = [json.loads((folder / "manifest.json").read_text()) for folder in (out, expected)]
    for name in ("rows", "malformed", "ignored", "tables", "mapping", "interval_ms"):
        assert manifests[0][name] == manifests[1][name], name


def test_generated_readings(remote: SparkSession, embedded: Path, tmp_path: Path) -> None:
    work.generate_readings(remote, tmp_path)
    assert contents(tmp_path) == contents(embedded / "readings")


def test_items_of_a_review(remote: SparkSession) -> None:
    with run_pool(None, remote) as run_all:
        assert list(run_all(double, [3, 5, 8])) == [(0, 6), (1, 10), (2, 16)]


def double(call: object, item: int) -> int:
    return 2 * item
