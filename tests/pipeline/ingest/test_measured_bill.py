"""Metrics of known traffic, ingested: the bill has the same sums."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from assignor_sim.api.bill import bill
from pipeline.ingest.mapping import find_mapping
from pipeline.ingest.run import IngestSources, ingest
from reports.analysis.bill.monthly_bill import MonthlyBill
from scenarios.load import loads
from simulator.world.layout import FloatArray

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

START_S = 1_740_787_200
STEP_S = 900
STEPS_AN_HOUR = 3600 // STEP_S
BYTES = "kafka_server_brokertopicmetrics_bytes{}_total"
HOURS = 24
OWN = 2
"""The first topics are read by the application."""

SCENARIO = """\
name: measured
cluster:
  brokers: {{count: 3, racks: [az1, az2, az3]}}
  configs: {{default.replication.factor: 2}}
  topics:
{topics}
application:
  id: app
  configs: {{num.standby.replicas: 1}}
  subtopologies:
    - sources: [t0]
      stores: [{{name: totals, size: 1 GB}}]
    - sources: [t1]
clients: [{{name: app, count: 3, racks: [az1, az2, az3]}}]
traffic: {{from: ingested}}
other_traffic: {{from: ingested, racks: [elsewhere]{more}}}
duration: 24h
price: aws
"""


def counters(rng: np.random.Generator, rates: FloatArray, direction: str, topic: str) -> list[str]:
    """Return the scrapes of two brokers that share the rates of a topic, one rate per hour."""
    lines = []
    by_broker = rng.random()
    for broker, share in (("b0", by_broker), ("b1", 1 - by_broker)):
        value = float(rng.integers(0, 10**12))
        for step in range(HOURS * STEPS_AN_HOUR + 1):
            labels = {"__name__": BYTES.format(direction), "topic": topic, "instance": broker}
            lines.append(json.dumps({**labels, "timestamp": START_S + step * STEP_S, "value": repr(float(value))}))
            value += share * rates[step // STEPS_AN_HOUR % HOURS] * STEP_S
    return lines


def sums(monthly: MonthlyBill) -> dict[tuple[str, str], float]:
    """Return the bytes of producers and groups by kind and topic; all cross racks: theirs has no broker."""
    return {(user.kind, user.topic): user.transfers.bytes for user in monthly.others if user.name is not None}


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_bill_of_ingested_metrics_has_their_sums(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    partitions = rng.integers(1, 9, 4).tolist()
    received = rng.uniform(1e6, 50e6, (4, HOURS)) * (rng.random((4, HOURS)) > 0.1)
    others = rng.uniform(0, 3, (4, HOURS))
    sent = received * (np.array([1.0] * OWN + [0.0] * 2)[:, None] + others)
    lines, topics = [], []
    for number, count in enumerate(partitions):
        lines += counters(rng, received[number], "in", f"t{number}") + counters(rng, sent[number], "out", f"t{number}")
        topics.append(f"Topic: t{number}\tPartitionCount: {count}\tReplicationFactor: 1\tConfigs:\n")
        topics += [f"\tTopic: t{number}\tPartition: {p}\tLeader: 1\tReplicas: 1\tIsr: 1\n" for p in range(count)]
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines))
    (tmp_path / "topics.txt").write_text("".join(topics))
    sources = IngestSources(metrics=(str(tmp_path / "metrics.jsonl"),), topics=(str(tmp_path / "topics.txt"),))
    ingest(spark, sources, str(tmp_path / "ingested"), find_mapping("jmx-exporter"))

    listed = "\n".join(f"    - {{name: t{number}, partitions: {count}}}" for number, count in enumerate(partitions))
    scenario = loads(SCENARIO.format(topics=listed, more=""), "s.yaml", (), tmp_path)
    billed = sums(bill(scenario, days=1, savings=False))
    expected_in, expected_out = received.sum(axis=1) * 3600, sent.sum(axis=1) * 3600
    assert billed == pytest.approx(
        {("produce", f"t{number}"): expected_in[number] for number in range(4)}
        | {
            ("other_read", f"t{number}"): expected_out[number] - (expected_in[number] if number < OWN else 0)
            for number in range(4)
        },
        rel=1e-5,
    )
    without = loads(SCENARIO.format(topics=listed, more=", includes_application: false"), "s.yaml", (), tmp_path)
    reads = sum(sent for (kind, _), sent in sums(bill(without, days=1, savings=False)).items() if kind == "other_read")
    assert reads == pytest.approx(expected_out.sum(), rel=1e-5)
