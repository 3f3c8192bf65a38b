"""DuckDB, with which `make bench` compares the ingest, computes the same rates and faults."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from pipeline.generate import Population, Schedule, generate
from pipeline.ingest.mapping import find_mapping
from pipeline.ingest.run import IngestSources, ingest
from tests.benchmarks.duckdb_rates import rates_by_duckdb
from tests.pipeline.ingest.conftest import FAULTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

HOUR = ["topic", "partition", "hour"]
MEASURES = ("bytes", "messages")
COUNTS = ["rows", "duplicates", "late", "resets", "gaps"]
COLUMNS = [*HOUR, "rows", "samples", "bytes_mean", "bytes", "messages_mean", "messages", *COUNTS[1:]]


def test_duckdb_computes_the_same_rates_and_faults(spark: SparkSession, tmp_path: Path) -> None:
    raw = generate(spark, str(tmp_path / "raw"), Population(20, seed=3, skewed=FAULTS.skew), Schedule(3, 300), FAULTS)
    ingest(spark, IngestSources(metrics=(raw.metrics,)), str(tmp_path / "out"), find_mapping("plain"))
    rates, quality = (pd.read_parquet(tmp_path / "out" / name) for name in ("rates", "quality"))
    rows = rates_by_duckdb(raw.metrics)
    peer = pd.DataFrame([row[: len(COLUMNS)] for row in rows], columns=COLUMNS).sort_values(HOUR, ignore_index=True)
    assert peer[[*HOUR, "samples"]].to_numpy().tolist() == rates[[*HOUR, "samples"]].to_numpy().tolist()
    skew_ms = rates.merge(quality, on=HOUR[:2])["skew_ms"]
    for measure in MEASURES:
        means = pd.DataFrame({"own": rates[f"{measure}_per_s_mean"], "peer": peer[f"{measure}_mean"]})
        # DuckDB's approximate median corrects clocks by other milliseconds, so intervals are divided there.
        for is_skewed, rtol in ((False, 1e-12), (True, 1e-4)):
            some = means[(skew_ms != 0) == is_skewed]
            assert len(some) > 0
            np.testing.assert_allclose(some["own"], some["peer"], rtol=rtol)
        percentiles = rates[[f"{measure}_per_s_{name}" for name in ("p50", "p95", "p99")]]
        np.testing.assert_allclose(percentiles, np.array(peer[measure].tolist()), rtol=1e-12)

    summed = peer.groupby(HOUR[:2])[COUNTS].sum()
    assert summed.to_numpy().tolist() == quality[COUNTS].to_numpy().tolist()
    assert quality[COUNTS].sum().min() > 0
