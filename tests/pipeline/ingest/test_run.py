"""Ingest of long sources, as written by exporters and reporters, and of dumps of Kafka's tools."""

from __future__ import annotations

import gzip
import json
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

DIALECTS = Path(__file__).parents[2] / "scenarios" / "kafka" / "formats" / "dialects"
START_S = 1_736_121_600
STEP_S = 60
BYTES, OFFSET, SIZE = (
    "kafka_server_brokertopicmetrics_bytesin_total",
    "kafka_log_log_logendoffset",
    "kafka_log_log_size",
)
TOPICS = """\
Topic: orders\tPartitionCount: 2\tReplicationFactor: 2\tConfigs:
\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2
\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 2,1\tIsr: 2
"""


def _sample(metric: str, at: int, value: float, **labels: str) -> str:
    return json.dumps({"__name__": metric, "timestamp": START_S + at, "value": str(value), **labels})


def _prometheus() -> str:
    """Return scrapes of two brokers, 7 s apart.

    The topic gets 100 and 200 bytes/s, its partitions 30 and 10 messages/s.
    """
    lines = ["no JSON at all", _sample("jvm_memory_bytes_used", 0, 1), _sample(BYTES, 0, 1, instance="b1")]
    for at in range(0, 3600, STEP_S):
        lines += [
            _sample(BYTES, at, 5_000 + 100 * at, topic="orders", instance="b1"),
            _sample(BYTES, at + 7, 200 * at, topic="orders", instance="b2"),
            _sample(BYTES, at, 9 * at, topic="of-no-partition", instance="b1"),
        ]
        for broker in ("b1", "b2"):
            for partition, rate in ((0, 30), (1, 10)):
                labels = {"topic": "orders", "partition": str(partition), "instance": broker}
                lines.append(_sample(OFFSET, at, rate * at, **labels))
                lines.append(_sample(SIZE, at, at + 10 * partition + (broker == "b2"), **labels))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def prometheus(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[IngestResult, Path]:
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "range.jsonl").write_text(_prometheus())
    (folder / "topics.txt").write_text(TOPICS)
    sources = IngestSources(
        metrics=(str(folder / "range.jsonl"),),
        topics=(str(folder / "topics.txt"), str(DIALECTS / "groups_3_7.txt")),
        log_dirs=(str(DIALECTS / "log_dirs.txt"),),
        groups=(str(DIALECTS / "groups_*.txt"),),
        leader_logs=(str(DIALECTS / "leader_3_9.log"),),
    )
    result = ingest(spark, sources, str(folder / "out"), find_mapping("jmx-exporter"))
    return result, folder / "out"


def test_topic_bytes_are_summed_over_brokers_and_distributed_by_messages(
    prometheus: tuple[IngestResult, Path],
) -> None:
    rates = pd.read_parquet(prometheus[1] / "rates").set_index(["topic", "partition", "hour"])
    assert set(rates.index.get_level_values("topic")) == {"orders"}
    assert rates["bytes_per_s_mean"].loc[("orders", 0, 0)] == pytest.approx(300 * 0.75)
    assert rates["bytes_per_s_p99"].loc[("orders", 1, 0)] == pytest.approx(300 * 0.25)
    assert rates["messages_per_s_p50"].loc[("orders", 0, 0)] == pytest.approx(30)
    assert rates["messages_per_s_mean"].loc[("orders", 1, 0)] == pytest.approx(10)


def test_ignored_and_malformed_rows_are_counted(prometheus: tuple[IngestResult, Path]) -> None:
    result = prometheus[0]
    assert (result.malformed, result.ignored) == (1, 2)
    assert result.without_partitions == ("of-no-partition",)
    assert json.loads((prometheus[1] / "manifest.json").read_text())["without_partitions"] == ["of-no-partition"]


def test_sizes_are_of_largest_replica_in_any_source(prometheus: tuple[IngestResult, Path]) -> None:
    sizes = pd.read_parquet(prometheus[1] / "sizes").set_index(["topic", "partition"])
    last_at_s = 3600 - STEP_S
    assert sizes["size_bytes"].to_dict() == {
        ("my-orders", 11): 5,
        ("orders", 0): last_at_s + 1,
        ("orders", 1): last_at_s + 10 + 1,
    }
    assert sizes["replicas"].loc[("orders", 0)] == 2


@pytest.mark.parametrize("add", [pytest.param(False, marks=pytest.mark.slow), True])
def test_size_without_a_topic_is_ignored(spark: SparkSession, tmp_path: Path, add: bool) -> None:
    lines = [_sample(SIZE, 0, 7), _sample(SIZE, 0, 5, topic="orders", partition="0", instance="b1")]
    out = _ingest_text(spark, tmp_path, "\n".join(lines), "jmx-exporter", "sizes.jsonl", add=add)
    [size] = pd.read_parquet(out / "sizes").to_dict("records")
    assert (size["topic"], size["size_bytes"]) == ("orders", 5)
    assert json.loads((out / "manifest.json").read_text())["ignored"] == 1


def test_placements_have_leaders_and_replicas(prometheus: tuple[IngestResult, Path]) -> None:
    placements = pd.read_parquet(prometheus[1] / "placements")
    assert placements["replicas"].map(list).tolist() == [[1, 2], [2, 1]]
    assert placements["isr"].map(list).tolist() == [[1, 2], [2]]
    assert placements["leader"].tolist()[0] == 1
    assert placements["leader"].isna().tolist() == [False, True]


def test_history_has_group_members_and_logged_rebalances(prometheus: tuple[IngestResult, Path]) -> None:
    history = pd.read_parquet(prometheus[1] / "history")
    dumps, logs = (history[history["source"] == source] for source in ("consumer_groups", "leader_log"))
    assert dumps.groupby("file").size().tolist() == [5, 5, 3]
    assert sorted(dumps["topic"].dropna().unique()) == ["orders", "returns"]
    assert logs.groupby("rebalance").size().to_dict() == {1: 4, 2: 3}
    assert logs[logs["kind"] == "standby"]["task"].tolist() == ["0_0"]
    assert logs.set_index("task")["stateful"].loc["1_0"].tolist() == [False, False]
    assert logs.groupby("rebalance")["stable"].first().to_dict() == {1: False, 2: True}


def test_unreadable_dumps_are_quarantined_with_reason(prometheus: tuple[IngestResult, Path]) -> None:
    quarantine = pd.read_parquet(prometheus[1] / "quarantine")
    by_name = {Path(row.file).name: row.reason for row in quarantine.itertuples()}
    assert set(by_name) == {"range.jsonl", "groups_3_7.txt", "groups_3_9.txt"}
    assert by_name["range.jsonl"] == "not JSON"
    assert "lacks topic names (a defect of Kafka 3.8 and 3.9)" in by_name["groups_3_9.txt"]
    assert "not a line of kafka-topics.sh --describe" in by_name["groups_3_7.txt"]


def _ingest_text(spark: SparkSession, folder: Path, text: str, mapping: str, name: str = "m.csv", **more: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    ingest(spark, IngestSources(metrics=(str(folder / name),)), str(folder / "out"), find_mapping(mapping), **more)
    return folder / "out"


_CSV = "timestamp,topic,partition,broker,bytes_in_total,messages_in_total"


@pytest.mark.parametrize("flat", [5_000, pytest.param(90_000_000, marks=pytest.mark.slow)])
def test_partition_that_several_brokers_report_without_a_name_gets_no_rates(
    spark: SparkSession, tmp_path: Path, flat: int
) -> None:
    """A leader counts 1,000 B/s, and the counter of the former leader is flat; another partition has one reporter."""
    lines = []
    for number, at in enumerate(range(1_740_787_200, 1_740_790_800, 600)):
        lines.append(f"{at},x,0,leader,{600_000 * number},{600 * number}")
        lines.append(f"{at},x,0,former,{flat},5")
        lines.append(f"{at},x,1,leader,{60_000 * number},{60 * number}")
    named = _ingest_text(spark, tmp_path / "named", "\n".join([_CSV, *lines]), "plain")
    rates = pd.read_parquet(named / "rates").set_index("partition")["bytes_per_s_mean"]
    assert rates.to_dict() == {0: 1_000, 1: 100}
    unnamed = [",".join(part for n, part in enumerate(line.split(",")) if n != 3) for line in (_CSV, *lines)]
    (tmp_path / "unnamed.csv").write_text("\n".join(unnamed))
    sources, out = IngestSources(metrics=(str(tmp_path / "unnamed.csv"),)), str(tmp_path / "out")
    result = ingest(spark, sources, out, find_mapping("plain"))
    rates = pd.read_parquet(tmp_path / "out" / "rates").set_index("partition")["bytes_per_s_mean"]
    assert rates.to_dict() == {1: 100}
    assert (result.conflicts, result.conflicting_partitions) == (6, 1)


@pytest.mark.parametrize("mapping", [pytest.param("plain", marks=pytest.mark.slow), "jmx-exporter"])
def test_interval_belongs_to_the_hours_that_it_covers(spark: SparkSession, tmp_path: Path, mapping: str) -> None:
    """Readings at 00:50, 01:00 and 01:10, and then from 23:30 to 00:30."""
    counted = [(3_000, 0), (3_600, 600_000), (4_200, 600_000), (84_600, 600_000), (88_200, 4_200_000)]
    lines = [_CSV] if mapping == "plain" else []
    for at, size in counted:
        if mapping == "plain":
            lines.append(f"{START_S + at},orders,0,b1,{size},{size // 1_000}")
        else:
            lines.append(_sample(BYTES, at, size, topic="orders", instance="b1"))
            lines.append(_sample(OFFSET, at, size // 1_000, topic="orders", partition="0", instance="b1"))
    name = "m.csv" if mapping == "plain" else "m.jsonl"
    out = _ingest_text(spark, tmp_path, "\n".join(lines), mapping, name, interval_ms=3_600_000)
    rates = pd.read_parquet(out / "rates").set_index("hour")
    # From 23:30 to 00:30, 1,000 B/s; in hour 0, 30 minutes of it and the 10 minutes before 01:00.
    assert rates["bytes_per_s_mean"].to_dict() == {0: 1_000, 1: 0, 23: 1_000}
    assert rates["messages_per_s_mean"].to_dict() == {0: 1, 1: 0, 23: 1}
    quality = pd.read_parquet(out / "quality")
    assert set(quality["samples"]) == {3}


@pytest.mark.slow
@pytest.mark.parametrize("mapping", [pytest.param("plain", marks=pytest.mark.slow), "jmx-exporter"])
def test_traffic_read_once_an_hour_is_in_its_hour(spark: SparkSession, tmp_path: Path, mapping: str) -> None:
    lines = [_CSV] if mapping == "plain" else []
    for hour in range(49):
        size = 3_600_000 * ((hour > 8) + (hour > 32))
        if mapping == "plain":
            lines.append(f"{START_S + 3_600 * hour},orders,0,b1,{size},{size // 1_000}")
        else:
            lines.append(_sample(BYTES, 3_600 * hour, size, topic="orders", instance="b1"))
            lines.append(_sample(OFFSET, 3_600 * hour, 0, topic="orders", partition="0", instance="b1"))
    out = _ingest_text(spark, tmp_path, "\n".join(lines), mapping, f"m.{'csv' if mapping == 'plain' else 'jsonl'}")
    rates = pd.read_parquet(out / "rates").set_index("hour")
    for shape in ("mean", "p50", "p99"):
        assert rates[f"bytes_per_s_{shape}"].to_dict() == {hour: 1_000 * (hour == 8) for hour in range(24)}


def test_flat_counter_of_a_former_leader_does_not_halve_the_rate(spark: SparkSession, tmp_path: Path) -> None:
    rows = [(START_S + at, "b1", 1_000 * at) for at in range(0, 3_601, 60)]
    rows += [(START_S + at, "b2", 77_000_000) for at in range(5, 3_601, 60)]
    text = "\n".join([_CSV, *(f"{at},orders,0,{broker},{size},{size}" for at, broker, size in rows)])
    (row,) = pd.read_parquet(_ingest_text(spark, tmp_path, text, "plain") / "rates").to_dict("records")
    assert row["bytes_per_s_mean"] == pytest.approx(1_000)
    assert row["bytes_per_s_p50"] == pytest.approx(1_000)


def test_custom_mapping_reads_labels_and_rates(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "time: at\nname: metric\nvalue: value\nlabels: labels\nbroker: instance\n"
        "metrics:\n  in_rate: {measures: bytes, kind: rate, brokers: sum}\n"
    )
    lines = ["at,metric,labels,value"]
    for minute in range(10):
        for broker, rate in (("a", 5), ("b", 7)):
            labels = f'{{topic=""orders"",partition=""3"",instance=""{broker}""}}'
            lines.append(f'2025-01-06T05:{minute + 1:02}:00Z,in_rate,"{labels}",{rate}')
    out = _ingest_text(spark, tmp_path, "\n".join(lines), str(tmp_path / "mine.yaml"))
    (row,) = pd.read_parquet(out / "rates").to_dict("records")
    assert (row["topic"], row["partition"], row["hour"], row["samples"]) == ("orders", 3, 5, 10)
    assert row["bytes_per_s_p50"] == 12
    assert pd.isna(row["messages_per_s_mean"])


def test_largest_duplicate_counts_and_bad_rows_have_reasons(spark: SparkSession, tmp_path: Path) -> None:
    text = """\
timestamp,topic,partition,bytes_in_total,messages_in_total
1736121600,orders,0,0,0
1736121660,orders,0,500,5
1736121660,orders,0,600,6
1736121720,orders,0,1200,
0,orders,0,1,1
4102444800,orders,0,1,1
1736121780,orders,0,-1,1
1736121780,orders,0,,
1736121780,orders
"""
    out = _ingest_text(spark, tmp_path, text, "plain", interval_ms=60_000)
    (row,) = pd.read_parquet(out / "rates").to_dict("records")
    assert (row["bytes_per_s_mean"], row["messages_per_s_mean"], row["samples"]) == (10, 0.1, 2)
    (quality,) = pd.read_parquet(out / "quality").to_dict("records")
    assert (quality["rows"], quality["duplicates"], quality["conflicts"]) == (4, 1, 1)
    assert sorted(pd.read_parquet(out / "quarantine")["reason"]) == [
        "bytes_in_total: not a number ≥ 0",
        "no measured value",
        "not 5 fields",
        "timestamp: after the file was written",
        "timestamp: before the year 2000",
    ]


def test_rebalance_in_two_rotated_logs_is_one(spark: SparkSession, tmp_path: Path) -> None:
    lines = (DIALECTS / "leader_3_9.log").read_text().splitlines()
    cut = next(number for number, line in enumerate(lines) if "Assignment of tasks to nodes" in line) + 1
    with gzip.open(tmp_path / "b.log.1.gz", "wt") as packed:
        packed.write("\n".join(lines[:cut]))
    (tmp_path / "a.log").write_text("\n".join(lines[cut:]))
    (tmp_path / "whole.log").write_text("\n".join(lines))
    histories = []
    for number, names in enumerate((("a.log", "b.log.1.gz"), ("whole.log",))):
        sources = IngestSources(leader_logs=tuple(str(tmp_path / name) for name in names))
        result = ingest(spark, sources, str(tmp_path / f"out {number}"), find_mapping("plain"))
        assert result.tables == {"history": 7, "quarantine": 0}
        history = pd.read_parquet(tmp_path / f"out {number}" / "history")
        histories.append(history.sort_values(["at_ms", "client", "task"]).drop(columns=["file", "rebalance"]))
    pd.testing.assert_frame_equal(*(history.reset_index(drop=True) for history in histories))


@pytest.mark.parametrize("name", ["march [1]", "{march}/out"])
def test_folder_that_spark_reads_as_a_pattern_is_rejected(spark: SparkSession, tmp_path: Path, name: str) -> None:
    (tmp_path / "m.csv").write_text("timestamp,topic,partition,bytes_in_total,messages_in_total\n")
    with pytest.raises(IngestError, match=r"Spark reads \* \? \[ { in its path as a pattern; choose another folder"):
        ingest(spark, IngestSources((str(tmp_path / "m.csv"),)), str(tmp_path / name), find_mapping("plain"))
    assert not list(tmp_path.rglob("*.part"))


def test_only_an_earlier_ingest_is_replaced(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "topics.txt").write_text(TOPICS)
    sources = IngestSources(topics=(str(tmp_path / "topics.txt"),))
    for _ in range(2):
        result = ingest(spark, sources, str(tmp_path / "out"), find_mapping("plain"))
    assert result.tables == {"placements": 2, "quarantine": 0}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "topics.txt"]
    with pytest.raises(IngestError, match=": exists and is not an ingest; choose another folder"):
        ingest(spark, sources, str(tmp_path), find_mapping("plain"))
    assert (tmp_path / "topics.txt").exists()


@pytest.mark.parametrize(
    ("text", "mapping", "message"),
    [
        ("time,topic\n1,a\n", "plain", "no column 'timestamp' .columns: time, topic.; map columns with --map"),
        (
            "timestamp,topic,partition,bytes_in_total,messages_in_total\nx,a,0,1,1\n",
            "plain",
            "none of 1 rows can be read",
        ),
        ("__name__,topic,timestamp,value\nup,a,1736121600,1\n", "jmx-exporter", "none of the 1 rows has a metric"),
    ],
)
def test_unreadable_source_is_rejected_without_output(
    spark: SparkSession, tmp_path: Path, text: str, mapping: str, message: str
) -> None:
    with pytest.raises(IngestError, match=message):
        _ingest_text(spark, tmp_path, text, mapping)
    assert [path.name for path in tmp_path.iterdir()] == ["m.csv"]
