"""Ingest of measurements with injected faults: rates, counts of faults, and malformed rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from pipeline.generate import START
from pipeline.ingest.mapping import find_mapping
from pipeline.ingest.run import IngestSources, ingest
from tests.pipeline.ingest.conftest import PARTITIONS, SCHEDULE
from tests.pipeline.ingest.expected_rates import KEYS, expected_rates

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class IngestedFaults:
    """Generated measurements with faults, and the tables that ingest wrote."""

    raw: Path
    faults: pd.DataFrame
    tables: Mapping[str, pd.DataFrame]
    manifest: Mapping[str, object]

    def injected(self, kind: str) -> pd.DataFrame:
        return self.faults[self.faults["kind"] == kind]


@pytest.fixture(scope="module")
def ingested(spark: SparkSession, faulty: Path, tmp_path_factory: pytest.TempPathFactory) -> IngestedFaults:
    out = tmp_path_factory.mktemp("out") / "ingested"
    ingest(spark, IngestSources(metrics=(f"file://{faulty}/metrics",)), f"file://{out}", find_mapping("plain"))
    faults = pd.read_parquet(faulty / "faults")
    faults["slot"] = (faults["time_ms"] - int(START.timestamp()) * 1_000) // (SCHEDULE.interval_s * 1_000)
    tables = {name: pd.read_parquet(out / name) for name in ("rates", "quality", "quarantine")}
    return IngestedFaults(faulty, faults, tables, json.loads((out / "manifest.json").read_text()))


def test_rates_equal_clean_ones_without_faulty_intervals(ingested: IngestedFaults, clean: Path) -> None:
    rates = ingested.tables["rates"]
    expected = expected_rates(clean, ingested.faults, SCHEDULE.interval_s)
    assert list(rates.columns) == list(expected.columns)
    assert rates[["partition", "hour", "samples"]].dtypes.astype(str).tolist() == ["int32", "int8", "int64"]
    both = rates.merge(expected, on=[*KEYS, "hour"], suffixes=("", "_expected"))
    assert len(both) == len(rates) == len(expected) == PARTITIONS * 24
    assert (both["samples"] == both["samples_expected"]).all()
    for column in rates.columns[4:]:
        # Counters are truncated to whole numbers, so the difference of two may be off by one. Clocks are corrected to
        # within 2 s, of which the traffic is in the next hour.
        rtol = 2 / 3_600 if column.endswith("mean") else 0
        np.testing.assert_allclose(both[column], both[f"{column}_expected"], rtol=rtol, atol=2 / SCHEDULE.interval_s)


def test_rates_are_sorted_in_one_file(ingested: IngestedFaults) -> None:
    rates = ingested.tables["rates"]
    assert rates.equals(rates.sort_values([*KEYS, "hour"]))


@pytest.mark.parametrize("kind", ["gaps", "duplicates", "late", "resets"])
def test_injected_faults_are_counted_per_partition(ingested: IngestedFaults, kind: str) -> None:
    quality = ingested.tables["quality"].set_index(KEYS)
    injected = ingested.injected(kind).groupby(KEYS).size().reindex(quality.index, fill_value=0)
    assert injected.sum() > 10
    assert quality[kind].to_dict() == injected.to_dict()


def test_row_counts_are_consistent(ingested: IngestedFaults) -> None:
    quality = ingested.tables["quality"].set_index(KEYS)
    missing = ingested.injected("gaps").groupby(KEYS)["length"].sum().reindex(quality.index, fill_value=0)
    assert quality["missing"].to_dict() == missing.to_dict()
    assert (quality["rows"] == SCHEDULE.slots - quality["missing"] + quality["duplicates"]).all()
    assert (quality["conflicts"] == 0).all()
    assert (quality["interval_ms"] == SCHEDULE.interval_s * 1_000).all()


def test_clock_skew_is_detected_within_latency(ingested: IngestedFaults) -> None:
    true_skew_ms = pd.read_parquet(ingested.raw / "truth").set_index(KEYS)["skew_ms"]
    skew_ms = ingested.tables["quality"].set_index(KEYS)["skew_ms"]
    assert (true_skew_ms != 0).any()
    assert (true_skew_ms == 0).any()
    assert ((skew_ms == 0) == (true_skew_ms == 0)).all()
    assert ((true_skew_ms - skew_ms)[true_skew_ms != 0].abs() < 2_000).all()


def test_malformed_rows_are_quarantined_with_reason_file_and_text(ingested: IngestedFaults) -> None:
    quarantine = ingested.tables["quarantine"]
    assert len(quarantine) == len(ingested.injected("malformed")) == ingested.manifest["malformed"]
    assert quarantine["reason"].nunique() == 4
    assert all(Path(file.removeprefix("file:")).is_file() for file in quarantine["file"].unique())
    assert quarantine["raw"].str.len().min() > 1
    texts = " ".join(
        Path(file.removeprefix("file:")).read_text(errors="ignore") for file in quarantine["file"].unique()
    )
    if not texts.startswith("PAR1"):
        assert all(raw in texts for raw in quarantine["raw"])


def test_manifest_accounts_for_all_rows(ingested: IngestedFaults) -> None:
    assert ingested.manifest["kind"] == "ingested"
    assert ingested.manifest["rows"] == ingested.manifest["malformed"] + ingested.tables["quality"]["rows"].sum()
