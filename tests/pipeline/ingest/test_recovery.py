"""What was generated with faults is recovered: rates, counts of faults, and every malformed row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from pipeline.generate.measurements import START
from pipeline.ingest.mapping import find_mapping
from pipeline.ingest.run import IngestSources, ingest
from tests.pipeline.ingest.conftest import PARTITIONS, SCHEDULE
from tests.pipeline.ingest.oracle import KEYS, expected_rates

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Case:
    raw: Path
    faults: pd.DataFrame
    tables: Mapping[str, pd.DataFrame]
    manifest: Mapping[str, object]

    def planted(self, kind: str) -> pd.DataFrame:
        return self.faults[self.faults["kind"] == kind]


@pytest.fixture(scope="module")
def case(spark: SparkSession, messy: Path, tmp_path_factory: pytest.TempPathFactory) -> Case:
    out = tmp_path_factory.mktemp("out") / "ingested"
    ingest(spark, IngestSources(metrics=(f"file://{messy}/metrics",)), f"file://{out}", find_mapping("plain"))
    faults = pd.read_parquet(messy / "faults")
    faults["slot"] = (faults["time_ms"] - int(START.timestamp()) * 1_000) // (SCHEDULE.interval_s * 1_000)
    tables = {name: pd.read_parquet(out / name) for name in ("rates", "quality", "quarantine")}
    return Case(messy, faults, tables, json.loads((out / "manifest.json").read_text()))


def test_rates_are_those_of_the_clean_counters_without_what_faults_spoil(case: Case, clean: Path) -> None:
    found = case.tables["rates"]
    expected = expected_rates(clean, case.faults, SCHEDULE.interval_s)
    assert list(found.columns) == list(expected.columns)
    assert found[["partition", "hour", "samples"]].dtypes.astype(str).tolist() == ["int32", "int8", "int64"]
    both = found.merge(expected, on=[*KEYS, "hour"], suffixes=("", "_expected"))
    assert len(both) == len(found) == len(expected) == PARTITIONS * 24
    assert (both["samples"] == both["samples_expected"]).all()
    for column in found.columns[4:]:
        # Counters are whole numbers, cut off at different places: at most one more or less in an interval.
        np.testing.assert_allclose(both[column], both[f"{column}_expected"], rtol=0, atol=2 / SCHEDULE.interval_s)


def test_rates_are_sorted_in_one_file(case: Case) -> None:
    found = case.tables["rates"]
    assert found.equals(found.sort_values([*KEYS, "hour"]))


@pytest.mark.parametrize("kind", ["gaps", "duplicates", "late", "resets"])
def test_every_planted_fault_is_counted_where_it_was_planted(case: Case, kind: str) -> None:
    quality = case.tables["quality"].set_index(KEYS)
    planted = case.planted(kind).groupby(KEYS).size().reindex(quality.index, fill_value=0)
    assert planted.sum() > 10
    assert quality[kind].to_dict() == planted.to_dict()


def test_missing_readings_and_rows_add_up(case: Case) -> None:
    quality = case.tables["quality"].set_index(KEYS)
    missing = case.planted("gaps").groupby(KEYS)["length"].sum().reindex(quality.index, fill_value=0)
    assert quality["missing"].to_dict() == missing.to_dict()
    assert (quality["rows"] == SCHEDULE.slots - quality["missing"] + quality["duplicates"]).all()
    assert (quality["conflicts"] == 0).all()
    assert (quality["interval_ms"] == SCHEDULE.interval_s * 1_000).all()


def test_clocks_that_are_off_are_told_up_to_the_way_of_the_measurements(case: Case) -> None:
    truth = pd.read_parquet(case.raw / "truth").set_index(KEYS)["skew_ms"]
    found = case.tables["quality"].set_index(KEYS)["skew_ms"]
    assert (truth != 0).any()
    assert (truth == 0).any()
    assert ((found == 0) == (truth == 0)).all()
    assert ((truth - found)[truth != 0].abs() < 2_000).all()


def test_each_malformed_row_is_in_quarantine_with_reason_file_and_text(case: Case) -> None:
    quarantine = case.tables["quarantine"]
    assert len(quarantine) == len(case.planted("malformed")) == case.manifest["malformed"]
    assert quarantine["reason"].nunique() == 4
    assert all(Path(file.removeprefix("file:")).is_file() for file in quarantine["file"].unique())
    assert quarantine["raw"].str.len().min() > 1
    texts = " ".join(
        Path(file.removeprefix("file:")).read_text(errors="ignore") for file in quarantine["file"].unique()
    )
    if not texts.startswith("PAR1"):
        assert all(raw in texts for raw in quarantine["raw"])


def test_nothing_is_left_beside_the_tables(case: Case) -> None:
    assert case.manifest["kind"] == "ingested"
    assert case.manifest["rows"] == case.manifest["malformed"] + case.tables["quality"]["rows"].sum()
