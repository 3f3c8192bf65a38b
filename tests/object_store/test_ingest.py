"""Measurements and their ingest on an object store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError

from pipeline.generate import Faults, Population, Schedule, generate
from pipeline.ingest.mapping import find_mapping
from pipeline.ingest.run import IngestSources, ingest
from pipeline.storage import Storage
from tests.object_store.conftest import ROOT
from tests.object_store.server import ObjectStore
from tests.pipeline.sweep.parquet_contents import contents

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.object_store, pytest.mark.slow]


def _generate(spark: SparkSession, out: str) -> str:
    return generate(spark, out, Population(4, seed=7), Schedule(1, 900), Faults(), "csv").metrics


def _ingest(spark: SparkSession, metrics: str, out: str) -> None:
    ingest(spark, IngestSources(metrics=(metrics,)), out, find_mapping("plain"))


def test_ingest_has_bytes_of_local_one_and_survives_interruption(
    store: ObjectStore, spark: SparkSession, tmp_path: Path, download: Callable[[str], Path]
) -> None:
    _ingest(spark, _generate(spark, str(tmp_path / "raw")), str(tmp_path / "out"))
    metrics, out = _generate(spark, f"{ROOT}/raw"), f"{ROOT}/ingested"
    _ingest(spark, metrics, out)
    assert contents(download("ingested")) == contents(tmp_path / "out")
    # The old folder is removed, and the new one not complete.
    store.reject("copy ingested/rates/")
    with pytest.raises(Py4JJavaError):
        _ingest(spark, metrics, out)
    store.release()
    storage = Storage(spark, ROOT)
    assert not storage.exists("ingested", "manifest.json")
    _ingest(spark, metrics, out)
    assert contents(download("ingested")) == contents(tmp_path / "out")
    assert not storage.exists(".ingested.part")


def test_added_files_have_bytes_of_one_ingest_and_survive_interruption(
    store: ObjectStore, spark: SparkSession, tmp_path: Path, download: Callable[[str], Path]
) -> None:
    raw = generate(
        spark, f"{ROOT}/days", Population(4, seed=7), Schedule(2, 900), Faults(malformed=0.05), "csv"
    ).metrics
    _ingest(spark, raw, str(tmp_path / "out"))
    days = [name for name in Storage(spark, raw).files() if name.endswith(".csv")]
    assert len(days) == 2

    def add(day: str) -> None:
        sources = IngestSources(metrics=(f"{raw}/{day}",))
        ingest(spark, sources, f"{ROOT}/added", find_mapping("plain"), add=True)

    add(days[0])
    store.reject("copy added/rates/")
    with pytest.raises(Py4JJavaError):
        add(days[1])
    store.release()
    add(days[1])
    written = contents(download("added"))
    assert {name: rows for name, rows in written.items() if "readings" not in name} == contents(tmp_path / "out")
    assert {"readings/1/rows", "readings/2/rows"} <= set(written)
