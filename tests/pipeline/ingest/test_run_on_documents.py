"""Ingest of the answers of monitoring systems: the tables are those of the same rows as JSON lines."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from pipeline.errors import IngestError
from pipeline.ingest.mapping import find_mapping
from pipeline.ingest.run import IngestResult, IngestSources, ingest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

START_S = 1_740_787_200
STEP_S = 60
POINTS = 90
MARKS, SIZE = "kminion_kafka_topic_partition_high_water_mark", "kminion_kafka_topic_log_dir_size_total_bytes"
TOPICS = """\
Topic: a "quoted"\tPartitionCount: 2\tReplicationFactor: 2\tConfigs:
\tTopic: a "quoted"\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2
\tTopic: a "quoted"\tPartition: 1\tLeader: 2\tReplicas: 2,1\tIsr: 2,1
"""
TOPIC = 'a "quoted"'


def _ingest(spark: SparkSession, folder: Path, mapping: str, *metrics: str, **more: Any) -> tuple[IngestResult, Path]:
    topics = folder / "topics.txt"
    if not topics.exists():
        topics.write_text(TOPICS)
    sources = IngestSources(metrics=tuple(str(folder / name) for name in metrics), topics=(str(topics),))
    out = folder / "out"
    return ingest(spark, sources, str(out), find_mapping(mapping), **more), out


def _times() -> Iterator[int]:
    yield from range(START_S, START_S + POINTS * STEP_S, STEP_S)


def _series() -> list[dict[str, Any]]:
    """Return high water marks that grow by 20 and 40 messages/s, and the size of a topic."""
    marks = [
        {
            "metric": {"__name__": MARKS, "topic_name": TOPIC, "partition_id": str(partition), "instance": "kminion"},
            "values": [[at, str(20 * (partition + 1) * (at - START_S))] for at in _times()],
        }
        for partition in (0, 1)
    ]
    size = {"metric": {"__name__": SIZE, "topic_name": TOPIC}, "values": [[at, "4000"] for at in _times()]}
    other = {"metric": {"__name__": "up"}, "values": [[START_S, "1"]]}
    return [*marks, size, other]


def _answer() -> str:
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": _series()}})


def test_answer_of_prometheus_gives_the_tables_of_its_rows(spark: SparkSession, tmp_path: Path) -> None:
    lines = [
        json.dumps({**series["metric"], "timestamp": at, "value": value})
        for series in _series()
        for at, value in series["values"]
    ]
    tables = {}
    for name, text in (("range.json", _answer()), ("range.jsonl", "\n".join(lines))):
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        (folder / name).write_text(text)
        result, out = _ingest(spark, folder, "kminion", name)
        assert (result.rows, result.malformed, result.ignored) == (3 * POINTS + 1, 0, 1)
        tables[name] = {table: pd.read_parquet(out / table) for table in ("rates", "sizes", "quality")}
    for table, frame in tables["range.json"].items():
        pd.testing.assert_frame_equal(frame, tables["range.jsonl"][table])
    rates = tables["range.json"]["rates"]
    assert rates["topic"].to_list() == [TOPIC] * 4
    assert rates["messages_per_s_mean"].to_list() == [20, 20, 40, 40]


def test_size_of_a_topic_is_distributed_over_its_replicas(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "range.json.gz").write_bytes(gzip.compress(_answer().encode()))
    _, out = _ingest(spark, tmp_path, "kminion", "range.json.gz")
    sizes = pd.read_parquet(out / "sizes")
    assert sizes[["partition", "size_bytes", "replicas"]].to_dict("list") == {
        "partition": [0, 1],
        "size_bytes": [1000, 1000],
        "replicas": [2, 2],
    }


def test_documents_can_be_added(spark: SparkSession, tmp_path: Path) -> None:
    result = _series()
    halves = [
        [{**series, "values": series["values"][:60]} for series in result],
        [{**series, "values": series["values"][60:]} for series in result],
    ]
    for number, half in enumerate(halves):
        (tmp_path / f"{number}.json").write_text(json.dumps(half))
        added, out = _ingest(spark, tmp_path, "kminion", f"{number}.json", add=True)
    assert (added.new_files, added.rows) == (1, 3 * POINTS + 1)
    assert pd.read_parquet(out / "rates")["messages_per_s_p99"].to_list() == [20, 20, 40, 40]


def test_malformed_documents_and_points_are_in_quarantine(spark: SparkSession, tmp_path: Path) -> None:
    series = _series()
    series[0]["values"][3] = [START_S, "NaN"]
    series[0]["values"][4] = ["x"]
    (tmp_path / "good.json").write_text(json.dumps({"data": {"resultType": "matrix", "result": series}}))
    (tmp_path / "cut.json").write_text(_answer()[:500])
    (tmp_path / "failed.json").write_text('{"status": "error", "data": {"resultType": ""}, "error": "too many"}')
    _, out = _ingest(spark, tmp_path, "kminion", "*.json")
    quarantine = pd.read_parquet(out / "quarantine")
    reasons = {(Path(row.file).name, row.reason.split(":")[0]) for row in quarantine.itertuples()}
    assert reasons == {
        ("good.json", "value"),
        ("good.json", "not a pair of a time and a value"),
        ("cut.json", "not JSON"),
        ("failed.json", "the query failed"),
    }


@pytest.mark.slow
def test_sums_of_confluent_cloud_and_columns_of_datadog_are_rates(spark: SparkSession, tmp_path: Path) -> None:
    points = [
        {"timestamp": pd.Timestamp(at, unit="s").isoformat() + "Z", "value": 6_000, "metric.topic": TOPIC}
        for at in _times()
    ]
    (tmp_path / "received_bytes.json").write_text(json.dumps({"data": points}, indent=1))
    rows = "".join(f"{pd.Timestamp(at, unit='s')},7.5\n" for at in _times())
    (tmp_path / "graph.csv").write_text(
        f'time,"avg:kafka.topic.net.bytes_in.rate{{topic:{TOPIC},host:b}}"\n{rows}'.replace(TOPIC, "d")
    )
    _, out = _ingest(spark, tmp_path, "confluent-cloud", "received_bytes.json")
    assert pd.read_parquet(out / "rates")["bytes_per_s_mean"].unique().tolist() == [50.0]
    result, _ = _ingest(spark, tmp_path, "datadog", "graph.csv")
    assert (result.rows, result.malformed, result.without_partitions) == (POINTS, 0, ("d",))


@pytest.mark.slow
def test_rates_per_minute_are_divided(spark: SparkSession, tmp_path: Path) -> None:
    name = "confluent_kafka_server_received_bytes"
    series = {"metric": {"__name__": name, "topic": TOPIC}, "values": [[at, "600"] for at in _times()]}
    (tmp_path / "range.json").write_text(json.dumps([series]))
    _, out = _ingest(spark, tmp_path, "confluent-cloud", "range.json")
    assert pd.read_parquet(out / "rates")["bytes_per_s_p95"].unique().tolist() == [5.0]


def test_wide_mapping_of_a_document_is_rejected(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "range.json").write_text(_answer())
    with pytest.raises(IngestError, match=r"range\.json: names its metrics in each series; --map has to name"):
        _ingest(spark, tmp_path, "plain", "range.json")


def test_document_of_other_metrics_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "range.json").write_text(_answer())
    with pytest.raises(IngestError, match=r"none of the 271 rows has a metric that the mapping knows"):
        _ingest(spark, tmp_path, "jmx-exporter", "range.json")
