"""Synthetic measurements as a Spark table, generated row by row from a formula without sorting or shuffling.

The rate of a partition at time t (seconds since Monday midnight, UTC), in bytes per second, is

    base × (1 + 0.6 cos(2π (t − peak) / day) + 0.2 cos(2π (t − Thursday noon) / week))

The broker's counter is the integral of the rate plus noise: each reading is off by up to 8 % of the bytes between two
samples, so that the rates of single samples scatter around the mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pipeline.generate.faults import (
    BLOCK,
    LATE_BY,
    Faults,
    fault_of_block,
    gap_length,
    last_reset_slot,
    offset_in_block,
)
from pipeline.generate.faults import random as random_number
from pipeline.generate.population import DAILY, DAY_S, WEEK_S, WEEKLY, Population
from scenarios.language.units import parse_duration_ms

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = datetime(2025, 1, 6, tzinfo=UTC)
"""Time of the first sample: a Monday."""

NOISE = 0.08
LATENCY_MS = 2_000
"""Maximum delay between a measurement and its receipt."""

_THURSDAY_NOON_S = int(3.5 * DAY_S)
_MAX_ROWS_PER_FILE = 4_000_000


class ScheduleError(ValueError):
    """The requested days or interval are invalid."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Sampling times: every `interval_s` seconds for `days` days from START."""

    days: int
    interval_s: int

    def __post_init__(self) -> None:
        if self.interval_s <= 0 or DAY_S % (self.interval_s * BLOCK):
            raise ScheduleError(f"interval {self.interval_s} s: {BLOCK} intervals must divide a day, as with 1m or 5m")

    @classmethod
    def parse(cls, days: int, interval: str) -> Schedule:
        """Parse an interval such as `5m`.

        Raises ScheduleError if the interval is not a duration, or does not divide a day into whole blocks.
        """
        try:
            milliseconds = parse_duration_ms(interval)
        except ValueError as error:
            raise ScheduleError(f"interval {interval}: {error}") from None
        if milliseconds % 1_000:
            raise ScheduleError(f"interval {interval}: not a whole number of seconds")
        return cls(days, milliseconds // 1_000)

    @property
    def slots(self) -> int:
        """Return the number of samples per partition."""
        return self.days * self.slots_per_day

    @property
    def slots_per_day(self) -> int:
        """Return the number of samples per partition and day."""
        return DAY_S // self.interval_s

    def files(self, partitions: int) -> int:
        """Return the number of files: one per day, or more for many rows; all with the same number of whole blocks."""
        blocks = self.slots_per_day // BLOCK
        wanted = math.ceil(partitions * self.slots_per_day / _MAX_ROWS_PER_FILE)
        per_day = next(count for count in range(min(wanted, blocks), blocks + 1) if blocks % count == 0)
        return self.days * per_day


def measurements(spark: SparkSession, population: Population, schedule: Schedule, faults: Faults) -> DataFrame:
    """Generate the rows in the order in which a collector would write them.

    `population`: the measured partitions; `schedule`: the sampling times. Returns `timestamp` (ms, clock of the
    broker), `broker`, `topic`, `partition`, `bytes_in_total`, `messages_in_total` (counters); `received` (ms, clock of
    the collector) if clocks are wrong; and `malformation`: 0 for a good row, otherwise the kind of malformation. One
    partition of the DataFrame becomes one file.
    """
    from pyspark.sql import functions as fn

    rows = spark.range(0, schedule.slots * population.partitions, 1, schedule.files(population.partitions)).select(
        fn.expr(f"id div {population.partitions}").alias("slot"), fn.expr(f"id % {population.partitions}").alias("p")
    )
    partitions = spark.createDataFrame(population.table())
    rows = rows.join(fn.broadcast(partitions), "p")
    rows = (
        _with_faults(rows, faults, population.seed)
        if any(faults.in_blocks.values())
        else rows.withColumn("malformation", fn.lit(0))
    )
    reset = last_reset_slot(faults, population.seed) if faults.resets else f"-{schedule.slots_per_day}"
    at, since = f"(slot * {schedule.interval_s})", f"((({reset}) - 0.5D) * {schedule.interval_s})"
    counted = f"({_integrated_bytes(at)} - {_integrated_bytes(since)} + {_noise(population.seed, schedule)})"
    time_ms = f"{int(START.timestamp())} * 1000L + {at} * 1000L"
    columns = {
        "timestamp": f"{time_ms} + skew_ms",
        "broker": "broker",
        "topic": "topic",
        "partition": "partition",
        "bytes_in_total": "cast(floor(counted) as bigint)",
        "messages_in_total": "cast(floor(counted / message_bytes) as bigint)",
    }
    if faults.skew:
        columns["received"] = f"{time_ms} + pmod(xxhash64({population.seed}L, 5, p, slot), {LATENCY_MS})"
    rows = rows.withColumn("counted", fn.expr(counted))
    return rows.select(*(fn.expr(sql).alias(name) for name, sql in columns.items()), "malformation")


def injected_faults(spark: SparkSession, population: Population, schedule: Schedule, faults: Faults) -> DataFrame:
    """List the faults, one per row: `kind`, `topic`, `partition`, `slot` (first affected sample), `length`."""
    from pyspark.sql import functions as fn

    blocks = schedule.slots // BLOCK
    rows = spark.range(0, blocks * population.partitions).select(
        fn.expr(f"id div {population.partitions}").alias("block"), fn.expr(f"id % {population.partitions}").alias("p")
    )
    rows = rows.join(fn.broadcast(spark.createDataFrame(population.table())), "p")
    kind, offset, length = (
        fault_of_block(faults, population.seed),
        offset_in_block(population.seed),
        gap_length(population.seed),
    )
    injected = rows.select(
        "topic",
        "partition",
        fn.expr(f"{kind}").alias("kind"),
        fn.expr(f"block * {BLOCK} + {offset}").alias("slot"),
        fn.expr(f"case when {kind} = 'gaps' then {length} else 1 end").alias("length"),
    ).where("kind is not null")
    if faults.resets:
        slot = f"(block * {BLOCK} + 1)"
        reset = last_reset_slot(faults, population.seed).replace("slot", slot)
        resets = rows.where(fn.expr(f"{reset} = {slot}"))
        injected = injected.unionByName(
            resets.select(
                "topic",
                "partition",
                fn.lit("resets").alias("kind"),
                fn.expr(slot).alias("slot"),
                fn.lit(1).alias("length"),
            )
        )
    return injected.select("kind", "topic", "partition", "slot", fn.col("length").cast("int"))


def _with_faults(rows: DataFrame, faults: Faults, seed: int) -> DataFrame:
    """Remove, repeat, delay and add rows; a delayed row directly precedes the sample of its new time."""
    from pyspark.sql import functions as fn

    rows = rows.withColumn("block", fn.expr(f"slot div {BLOCK}"))
    rows = rows.withColumn("kind", fn.expr(fault_of_block(faults, seed)))
    rows = rows.withColumn("place", fn.expr(f"slot % {BLOCK} - ({offset_in_block(seed)})"))
    is_written = f"not (kind = 'gaps' and place between 0 and {gap_length(seed)} - 1 or kind = 'late' and place = 0)"
    written = f"""
        case when kind is null then array(struct(slot, 0 as malformation)) else filter(array(
            if(kind = 'late' and place = {LATE_BY}, struct(slot - {LATE_BY} as slot, 0 as malformation), null),
            if({is_written}, struct(slot, 0 as malformation), null),
            if(kind = 'duplicates' and place = 0, struct(slot, 0 as malformation), null),
            if(kind = 'malformed' and place = 0, struct(slot, 1 + cast(pmod(p + slot, 4) as int) as malformation), null)
        ), row -> row is not null) end"""
    rows = rows.withColumn("written", fn.explode(fn.expr(written)))
    return rows.drop("slot").select("*", "written.slot", "written.malformation")


def _integrated_bytes(at: str) -> str:
    """Return SQL for the bytes since second 0 without noise: the integral of the rate."""
    daily, weekly = DAY_S / (2 * math.pi), WEEK_S / (2 * math.pi)
    return (
        f"(base * ({at} + {DAILY * daily!r}D * sin(({at} - peak_s) / {daily!r}D)"
        f" + {WEEKLY * weekly!r}D * sin(({at} - {_THURSDAY_NOON_S}) / {weekly!r}D)))"
    )


def _noise(seed: int, schedule: Schedule) -> str:
    return f"(base * {NOISE * schedule.interval_s!r}D * (2 * {random_number(f'{seed}L', '0', 'p', 'slot')} - 1))"
