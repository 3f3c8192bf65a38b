"""What the tests do with every kind of session; run as a module, it does it with Java in its process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.aggregate import aggregate
from pipeline.generate import Faults, Population, Schedule, generate
from pipeline.ingest.mapping import find_mapping
from pipeline.ingest.run import IngestSources, ingest
from pipeline.session import connect
from pipeline.sweep.job import SweepJob
from pipeline.sweep.run import run_sweep
from scenarios.sweeps.design import load_sweep
from scenarios.sweeps.prepared import prepare_sweep
from tests.pipeline.sweep.driver import SMALL_BATCHES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEADER_LOG = Path(__file__).parents[1] / "scenarios" / "kafka" / "formats" / "dialects" / "leader_3_9.log"
FORMATS = ("csv", "parquet")
FAULTS = Faults(gaps=0.01, duplicates=0.01, late=0.01, malformed=0.01)
TOPICS = """Topic: orders\tPartitionCount: 1\tReplicationFactor: 2\tConfigs:
\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2
"""


def sweep_and_aggregate(spark: SparkSession, file: Path, out: Path) -> None:
    run_sweep(spark, SweepJob.of(prepare_sweep(load_sweep(file)), SMALL_BATCHES), str(out))
    aggregate(spark, [str(out)])


def generate_readings(spark: SparkSession, out: Path) -> None:
    for format_ in FORMATS:
        generate(spark, str(out / format_), Population(4, seed=7), Schedule(1, 900), FAULTS, format_)
    (out / "topics.txt").write_text(TOPICS)


def ingest_readings(spark: SparkSession, readings: Path, out: Path) -> None:
    for format_ in FORMATS:
        sources = IngestSources(metrics=(str(readings / format_ / "metrics"),), topics=(f"{readings}/topics*",))
        ingest(spark, sources, str(out / format_), find_mapping("plain"))


def add_readings(spark: SparkSession, readings: Path, out: Path) -> None:
    """Ingest readings and a dump, then add others to the folder, with files that it has."""
    topics = (f"{readings}/topics*",)
    first, second = (str(readings / format_ / "metrics") for format_ in FORMATS)
    for sources in (
        IngestSources(metrics=(first,), topics=topics),
        IngestSources(metrics=(first, second), topics=topics, leader_logs=(str(LEADER_LOG),)),
    ):
        ingest(spark, sources, str(out), find_mapping("plain"), add=True)


if __name__ == "__main__":
    sweep_file, folder = Path(sys.argv[1]), Path(sys.argv[2])
    with connect("local[2]", fast_start=True) as session:
        sweep_and_aggregate(session, sweep_file, folder / "sweep")
        generate_readings(session, folder / "readings")
        ingest_readings(session, folder / "readings", folder / "ingested")
        add_readings(session, folder / "readings", folder / "added")
