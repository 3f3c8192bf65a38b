"""Measurements as files: Parquet, CSV or JSON lines, malformed rows and all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.generate.faults import Faults
from pipeline.generate.measurements import START, Schedule, measurements, planted_faults
from pipeline.generate.population import Population
from pipeline.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMATS = ("parquet", "csv", "jsonl")

_TRUTH = "topic, partition, broker, base as bytes_per_s, peak_s, message_bytes, skew_ms"


class GenerateError(Exception):
    """The measurements cannot be written; says why."""


@dataclass(frozen=True, slots=True)
class GeneratedFiles:
    """Where the measurements are, and how many rows without those of faults."""

    metrics: str
    rows: int


def generate(
    spark: SparkSession, out: str, population: Population, schedule: Schedule, faults: Faults, format_: str = "parquet"
) -> GeneratedFiles:
    """Write `metrics/` (what a collector would have written), `truth/` and `faults/` into a new folder.

    `truth/` has a row a partition: the numbers that its formula is made of. `faults/` has a row a planted fault.

    Raises:
        GenerateError: there is something in the folder.
    """
    storage = Storage(spark, out)
    if storage.children():
        raise GenerateError(f"{out} is not empty; generated measurements go into a new folder")
    rows = measurements(spark, population, schedule, faults)
    folder = storage.path("metrics")
    {"parquet": _write_parquet, "csv": _write_csv, "jsonl": _write_json_lines}[format_](rows, folder)
    truth = spark.createDataFrame(population.table()).selectExpr(*_TRUTH.split(", "))
    truth.coalesce(1).write.parquet(storage.path("truth"))
    found = planted_faults(spark, population, schedule, faults)
    time = f"{int(START.timestamp()) * 1000}L + slot * {schedule.interval_s * 1000}L as time_ms"
    found.selectExpr("kind", "topic", "partition", time, "length").coalesce(1).write.parquet(storage.path("faults"))
    return GeneratedFiles(folder, schedule.slots * population.partitions)


def _write_parquet(rows: DataFrame, folder: str) -> None:
    """Where columns have types, a malformed row has a null or a number that cannot be."""
    spoilt = {
        "timestamp": "if(spoilt = 1, null, timestamp)",
        "topic": "if(spoilt = 2, null, topic)",
        "partition": "if(spoilt = 3, -1, partition)",
        "bytes_in_total": "if(spoilt = 4, -1, bytes_in_total)",
    }
    rows.selectExpr(*(_as(name, spoilt.get(name, name)) for name in _columns(rows))).write.parquet(folder)


def _write_csv(rows: DataFrame, folder: str) -> None:
    spoilt = {
        "timestamp": "if(spoilt = 1, 'yesterday', cast(timestamp as string))",
        "topic": "if(spoilt = 2, '', topic)",
        "partition": "if(spoilt = 3, 'all', cast(partition as string))",
        "bytes_in_total": "if(spoilt = 4, 'NaN', cast(bytes_in_total as string))",
    }
    texts = rows.selectExpr(*(_as(name, spoilt.get(name, name)) for name in _columns(rows)))
    texts.write.option("header", True).csv(folder)


def _write_json_lines(rows: DataFrame, folder: str) -> None:
    line = f"to_json(struct({', '.join(_columns(rows))}))"
    spoilt = f"""case spoilt when 0 then {line} when 1 then substring({line}, 1, length({line}) - 9)
        when 2 then replace({line}, '"topic"', '"subject"') when 3 then replace({line}, '"partition":',
        '"partition":-1') else '{{}}' end"""
    # Hadoop gives files of text the name .txt; what reads them is told by the name of the folder.
    rows.selectExpr(f"{spoilt} as value").write.text(folder)


def _columns(rows: DataFrame) -> list[str]:
    return [name for name in rows.columns if name != "spoilt"]


def _as(name: str, sql: str) -> str:
    return f"{sql} as {name}"
