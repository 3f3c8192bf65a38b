"""Ingest of bytes out of topics and of lags of consumer groups."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from pipeline.ingest.consumption import GroupLag
from pipeline.ingest.mapping import find_mapping
from pipeline.ingest.run import IngestResult, IngestSources, ingest
from tests.pipeline.ingest.consumption_readings import (
    LAG,
    LAG_OF_TOPIC,
    START_MS,
    STEP_MS,
    Reading,
    draw_bytes_out,
    draw_lags,
    expected_bytes_out,
    expected_lags,
    in_random_order,
)
from tests.pipeline.sweep.parquet_contents import contents

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MAPPING = """\
name: __name__
value: value
broker: instance
group: consumergroup
metrics:
  kafka_server_brokertopicmetrics_bytesout_total: {measures: bytes_out, per: topic}
  kafka_consumergroup_lag: {measures: lag}
"""
SHAPES = ("samples", "mean", "p50", "p95", "p99")


def _write(file: Path, readings: Iterable[Reading], *lines: str) -> Path:
    file.write_text("\n".join([*(reading.line() for reading in readings), *lines]) + "\n")
    return file


def _ingest(spark: SparkSession, files: Iterable[Path], out: Path, mapping: str, **more: Any) -> IngestResult:
    sources = IngestSources(metrics=tuple(map(str, files)))
    return ingest(spark, sources, str(out), find_mapping(mapping), **more)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_tables_have_the_values_of_readings_without_faults(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    readings = [*draw_bytes_out(rng, 3, 200), *draw_lags(rng, 2, 2, 150)]
    nameless = Reading(LAG, (("topic", "t0"), ("partition", "0")), START_MS, 3)
    negative = Reading(LAG, (("topic", "t0"), ("partition", "0"), ("consumergroup", "g0")), START_MS, -7)
    file = _write(tmp_path / "range.jsonl", [*in_random_order(rng, readings), nameless, negative])
    (tmp_path / "mapping.yaml").write_text(MAPPING)
    result = _ingest(spark, [file], tmp_path / "out", str(tmp_path / "mapping.yaml"))

    out = pd.read_parquet(tmp_path / "out" / "bytes_out").set_index(["topic", "hour"])
    expected = expected_bytes_out(reading for reading in readings if reading.metric != LAG)
    assert set(out.index) == set(expected)
    for key, shapes in expected.items():
        shown = [out.loc[key, "samples"], *(out.loc[key, f"bytes_out_per_s_{shape}"] for shape in SHAPES[1:])]
        assert shown == pytest.approx([shapes[shape] for shape in SHAPES], rel=1e-12), key

    lags = pd.read_parquet(tmp_path / "out" / "lags").set_index(["group", "topic", "partition", "hour"])
    expected_of = expected_lags(reading for reading in readings if reading.metric == LAG)
    assert len(lags) == len(expected_of)
    for (group, partition, hour), shapes in expected_of.items():
        row = lags.loc[(group, "t0", partition, hour)]
        shown = [row["samples"], *(row[f"lag_{shape}"] for shape in (*SHAPES[1:], "max"))]
        assert shown == pytest.approx([shapes[shape] for shape in (*SHAPES, "max")], rel=1e-12)
    assert lags["conflicts"].sum() > 0
    assert lags["late"].sum() > 0
    assert lags["gaps"].sum() > 0

    quarantine = pd.read_parquet(tmp_path / "out" / "quarantine")
    assert sorted(quarantine["reason"]) == ["consumergroup: missing", "value: not a number ≥ 0"]
    assert result.ignored == sum(reading.value == -1 for reading in readings)
    quality = pd.read_parquet(tmp_path / "out" / "quality").set_index("topic")
    assert quality["partition"].unique().tolist() == [-1]
    assert quality["resets"].sum() > 0
    assert quality["samples"].to_dict() == {
        topic: sum(shapes["samples"] for (name, _), shapes in expected.items() if name == topic)
        for topic in ("t0", "t1", "t2")
    }


@pytest.mark.parametrize("seed", [3])
@pytest.mark.slow
def test_files_in_any_order_give_the_bytes_of_one_ingest(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    readings = in_random_order(rng, [*draw_bytes_out(rng, 2, 150), *draw_lags(rng, 2, 1, 150)])
    bounds = [0, *sorted(rng.choice(len(readings), 2, replace=False).tolist()), len(readings)]
    files = [
        _write(tmp_path / f"{number}.jsonl", readings[max(0, bounds[number] - 9) : bounds[number + 1]], "{")
        for number in range(3)
    ]
    whole = _ingest(spark, files, tmp_path / "whole", "jmx-exporter")
    assert whole.malformed == 3
    for index in rng.permutation(3).tolist():
        added = _ingest(spark, [files[index]], tmp_path / "added", "jmx-exporter", add=True)
    assert {"bytes_out", "lags", "quality"} <= set(whole.tables)
    written = contents(tmp_path / "added")
    assert {name: content for name, content in written.items() if not name.startswith("readings")} == contents(
        tmp_path / "whole"
    )
    assert (added.tables, added.lags) == (whole.tables, whole.lags)
    again = _ingest(spark, files, tmp_path / "added", "jmx-exporter", add=True)
    assert (again.new_files, again.lags) == (0, whole.lags)


@pytest.mark.slow
def test_bytes_out_are_summed_over_brokers(spark: SparkSession, tmp_path: Path) -> None:
    lines = []
    for at in range(0, 3600, 60):
        for broker, rate in (("b1", 100), ("b2", 250)):
            row = {"__name__": "kafka_server_BrokerTopicMetrics_Count", "name": "BytesOutPerSec", "topic": "orders"}
            time = START_MS + 1000 * at
            lines.append(json.dumps({**row, "instance": broker, "timestamp": time, "value": str(rate * at)}))
        other = {"__name__": "kafka_server_BrokerTopicMetrics_Count", "name": "FailedFetchRequestsPerSec"}
        lines.append(json.dumps({**other, "topic": "orders", "timestamp": START_MS, "value": "1"}))
    result = _ingest(spark, [_write(tmp_path / "msk.jsonl", [], *lines)], tmp_path / "out", "msk")
    assert result.ignored == 60
    [row] = pd.read_parquet(tmp_path / "out" / "bytes_out").to_dict("records")
    assert [row["topic"], row["bytes_out_per_s_mean"], row["bytes_out_per_s_p99"]] == ["orders", 350, 350]
    assert "lags" not in result.tables


def test_groups_are_summarized(spark: SparkSession, tmp_path: Path) -> None:
    readings = [
        Reading(metric, (("consumergroup", group), ("topic", topic), *partition), START_MS + at * STEP_MS, lag)
        for at in range(3)
        for metric, group, topic, partition, lag in (
            (LAG, "a", "x", (("partition", "0"),), 10 * at),
            (LAG, "a", "x", (("partition", "1"),), 100),
            (LAG_OF_TOPIC, "a", "x", (), 110),
            (LAG_OF_TOPIC, "b", "x", (), 7),
            (LAG_OF_TOPIC, "b", "y", (), 5),
        )
    ]
    result = _ingest(spark, [_write(tmp_path / "x.jsonl", readings)], tmp_path / "out", "kafka-exporter")
    assert result.lags == (GroupLag("a", 1, 110, 100), GroupLag("b", 2, 12, 7))
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["lags"][1]["group"] == "b"
    assert result.tables["rates"] == 0


def test_metrics_of_each_source_are_known() -> None:
    names = {
        name: {metric.measures for metric in find_mapping(name).mapping.metrics.values()}
        for name in ("jmx-exporter", "msk", "kminion", "kafka-exporter", "burrow", "datadog", "confluent-cloud")
    }
    with_lag = {name for name, measures in names.items() if "lag" in measures}
    with_bytes_out = {name for name, measures in names.items() if "bytes_out" in measures}
    assert with_lag == set(names)
    assert with_bytes_out == {"jmx-exporter", "msk", "datadog", "confluent-cloud"}
