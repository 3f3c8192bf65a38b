"""Synthetic measurements as Parquet, CSV or JSON lines, including malformed rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.generate.faults import Faults
from pipeline.generate.measurements import START, Schedule, injected_faults, measurements
from pipeline.generate.population import Population
from pipeline.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMATS = ("parquet", "csv", "jsonl")

_TRUTH = "topic, partition, broker, base as bytes_per_s, peak_s, message_bytes, skew_ms"


class GenerateError(Exception):
    """The measurements cannot be written."""


@dataclass(frozen=True, slots=True)
class GeneratedFiles:
    """The generated files.

    Attributes:
        metrics: URI of the folder with the measurements.
        rows: number of rows without those added by faults.
    """

    metrics: str
    rows: int


def generate(
    spark: SparkSession, out: str, population: Population, schedule: Schedule, faults: Faults, format_: str = "parquet"
) -> GeneratedFiles:
    """Write `metrics/` (measurements as from a collector), `truth/` and `faults/` into a new folder.

    `truth/` has the parameters of each partition's formula. `faults/` has one row per injected fault. `out`: the
    folder, a path or a URI; `population`: the measured partitions; `schedule`: the sampling times. Returns where the
    measurements are. Raises GenerateError if the folder is not empty.
    """
    storage = Storage(spark, out)
    if storage.children():
        raise GenerateError(f"{out}: not empty; choose a new folder")
    rows = measurements(spark, population, schedule, faults)
    folder = storage.path("metrics")
    {"parquet": _write_parquet, "csv": _write_csv, "jsonl": _write_json_lines}[format_](rows, folder)
    truth = spark.createDataFrame(population.table()).selectExpr(*_TRUTH.split(", "))
    truth.coalesce(1).write.parquet(storage.path("truth"))
    injected = injected_faults(spark, population, schedule, faults)
    time = f"{int(START.timestamp()) * 1000}L + slot * {schedule.interval_s * 1000}L as time_ms"
    injected.selectExpr("kind", "topic", "partition", time, "length").coalesce(1).write.parquet(storage.path("faults"))
    return GeneratedFiles(folder, schedule.slots * population.partitions)


def _write_parquet(rows: DataFrame, folder: str) -> None:
    """Write Parquet; its columns are typed, so malformed rows have nulls or impossible numbers."""
    malformation = {
        "timestamp": "if(malformation = 1, null, timestamp)",
        "topic": "if(malformation = 2, null, topic)",
        "partition": "if(malformation = 3, -1, partition)",
        "bytes_in_total": "if(malformation = 4, -1, bytes_in_total)",
    }
    rows.selectExpr(*(_as(name, malformation.get(name, name)) for name in _columns(rows))).write.parquet(folder)


def _write_csv(rows: DataFrame, folder: str) -> None:
    malformation = {
        "timestamp": "if(malformation = 1, 'yesterday', cast(timestamp as string))",
        "topic": "if(malformation = 2, '', topic)",
        "partition": "if(malformation = 3, 'all', cast(partition as string))",
        "bytes_in_total": "if(malformation = 4, 'NaN', cast(bytes_in_total as string))",
    }
    texts = rows.selectExpr(*(_as(name, malformation.get(name, name)) for name in _columns(rows)))
    texts.write.option("header", True).csv(folder)


def _write_json_lines(rows: DataFrame, folder: str) -> None:
    line = f"to_json(struct({', '.join(_columns(rows))}))"
    malformation = f"""case malformation when 0 then {line} when 1 then substring({line}, 1, length({line}) - 9)
        when 2 then replace({line}, '"topic"', '"subject"') when 3 then replace({line}, '"partition":',
        '"partition":-1') else '{{}}' end"""
    # Hadoop names text files .txt; readers detect the format from the content.
    rows.selectExpr(f"{malformation} as value").write.text(folder)


def _columns(rows: DataFrame) -> list[str]:
    return [name for name in rows.columns if name != "malformation"]


def _as(name: str, sql: str) -> str:
    return f"{sql} as {name}"
