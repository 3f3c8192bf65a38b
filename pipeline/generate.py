"""Synthetic measurements as a Spark table, generated row by row from a formula without sorting or shuffling.

The rate of a partition at time t (seconds since Monday midnight, UTC), in bytes per second, is

    base × (1 + 0.6 cos(2π (t − peak) / day) + 0.2 cos(2π (t − Thursday noon) / week))

The broker's counter is the integral of the rate plus noise: each reading is off by up to 8 % of the bytes between two
samples, so that the rates of single samples scatter around the mean.

Time is divided into blocks of eight samples. A block of a partition has at most one fault, surrounded by good samples;
the counters of a broker restart at the second sample of a block. Faults therefore never overlap, and ingest must find
exactly these faults.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pipeline.storage import Storage
from scenarios.language.units import parse_duration_ms

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


BLOCK = 8
"""Samples per block."""
LATE_BY = 2
"""Number of later samples that are written before a late one."""

_RANDOM = "shiftrightunsigned(xxhash64({values}), 11) * 1.1102230246251565e-16D"


class FaultsError(ValueError):
    """The requested faults are invalid."""


@dataclass(frozen=True, slots=True)
class Faults:
    """The share of samples with each kind of fault, and the share of brokers with a wrong clock.

    Attributes:
        gaps: one or two samples are missing.
        duplicates: a sample is written twice.
        late: a sample is written after two later ones.
        malformed: an unreadable row is written between the samples.
        resets: the counters of a broker restart.
        skew: share of brokers (not samples) whose clock is 20 s to 2 min fast or slow.
    """

    gaps: float = 0.0
    duplicates: float = 0.0
    late: float = 0.0
    malformed: float = 0.0
    resets: float = 0.0
    skew: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Faults:
        """Parse `some`, `none`, or shares such as `gaps=0.001,late=0.01`.

        Raises FaultsError if a kind is unknown, a share is not between 0 and 1, or the shares exceed one fault per
        block.
        """
        if text == "some":
            return cls(gaps=0.001, duplicates=0.001, late=0.001, malformed=0.0001, resets=0.0005, skew=0.2)
        if text == "none":
            return cls()
        kinds = [field.name for field in fields(cls)]
        shares: dict[str, float] = {}
        for part in text.split(","):
            kind, _, share = part.strip().partition("=")
            if kind not in kinds:
                raise FaultsError(f"'{part}': expected some, none, or shares of {', '.join(kinds)}, such as gaps=0.001")
            shares[kind] = _share(part, share)
        faults = cls(**shares)
        if sum(faults.in_blocks.values()) > 1:
            raise FaultsError(
                f"'{text}': gaps, duplicates, late and malformed together exceed 1/{BLOCK} of the samples"
            )
        if faults.resets > 1 / (2 * BLOCK):
            raise FaultsError(f"'{text}': resets exceed 1/{2 * BLOCK} of the samples")
        return faults

    @property
    def in_blocks(self) -> Mapping[str, float]:
        """Return the kinds of which a block has at most one, with the share of blocks that has it."""
        return {kind: getattr(self, kind) * BLOCK for kind in ("gaps", "duplicates", "late", "malformed")}

    @property
    def blocks_between_resets(self) -> int:
        """Return the number of blocks per restart of a broker."""
        return max(2, round(1 / (self.resets * BLOCK)))


def _share(part: str, text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise FaultsError(f"'{part}': '{text}' is not a share between 0 and 1")
    return share


def random_number(*values: str) -> str:
    """Return SQL for a number from 0 to 1 that depends only on the values."""
    return _RANDOM.format(values=", ".join(values))


def fault_of_block(faults: Faults, seed: int) -> str:
    """Return SQL for the fault of block `block` of partition `p`; null if none."""
    number = f"({random_number(f'{seed}L', '1', 'p', 'block')})"
    cases, bound = [], 0.0
    for kind, share in faults.in_blocks.items():
        bound += share
        cases.append(f"when {number} < {bound!r}D then '{kind}'")
    return f"(case {' '.join(cases)} end)"


def offset_in_block(seed: int) -> str:
    """Return SQL for the index in the block of the first affected sample: 3 or 4."""
    return f"3 + pmod(xxhash64({seed}L, 2, p, block), 2)"


def gap_length(seed: int) -> str:
    """Return SQL for the number of missing samples: 1 or 2."""
    return f"1 + pmod(xxhash64({seed}L, 3, p, block), 2)"


def reset_slot(faults: Faults, seed: int, era: str) -> str:
    """Return SQL for the sample at which the counters of the broker restart in an era; an era has one restart."""
    blocks = faults.blocks_between_resets
    return f"({BLOCK} * (({era}) * {blocks} + pmod(xxhash64({seed}L, 4, broker, {era}), {max(1, blocks // 2)})) + 1)"


def last_reset_slot(faults: Faults, seed: int) -> str:
    """Return SQL for the sample at which the counters current at `slot` restarted; it may precede the first sample."""
    era = f"cast(floor((slot - 1) / {BLOCK * faults.blocks_between_resets}) as bigint)"
    current, previous = reset_slot(faults, seed, era), reset_slot(faults, seed, f"{era} - 1")
    return f"(case when slot >= {current} then {current} else {previous} end)"


DAY_S = 86_400
WEEK_S = 7 * DAY_S

DAILY = 0.6
"""Daily swing of the rate, as a share of the mean."""
WEEKLY = 0.2
"""Weekly swing of the rate, as a share of the mean; highest around Thursday."""

_PARTITIONS_PER_TOPIC = 24
_PARTITIONS_PER_BROKER = 1_000
_MIN_BROKERS = 3
_TOPIC_ZIPF = 1.0
_KEY_ZIPF = 0.3
_BYTES_PER_S = 100_000
_SKEW_MS = (20_000, 120_000)


@dataclass(frozen=True, slots=True)
class Population:
    """The measured partitions.

    Attributes:
        skewed: share of brokers with a wrong clock.
    """

    partitions: int
    seed: int
    skewed: float = 0.0

    def table(self) -> pd.DataFrame:
        """Draw the partitions, one row each.

        Topic sizes follow Zipf's law with exponent 1, and the partitions of a topic with exponent 0.3, because keys
        differ in frequency. All partitions of a topic peak at about the same hour. Returns `p` (row number), `topic`,
        `partition`, `broker` (its leader), `base` (mean bytes per second), `peak_s` (time of the daily peak, in
        seconds), `message_bytes`, `skew_ms` (how far the clock of the broker is ahead).
        """
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(0,)))
        row = np.arange(self.partitions)
        topic, partition = np.divmod(row, _PARTITIONS_PER_TOPIC)
        topics = math.ceil(self.partitions / _PARTITIONS_PER_TOPIC)
        brokers = max(_MIN_BROKERS, self.partitions // _PARTITIONS_PER_BROKER)
        weight = (rng.permutation(topics) + 1.0)[topic] ** -_TOPIC_ZIPF * (partition + 1.0) ** -_KEY_ZIPF
        broker = rng.integers(brokers, size=self.partitions)
        peak = rng.normal(14 * 3600, 3 * 3600, size=topics)[topic] % DAY_S
        message = np.exp(rng.normal(math.log(1_000), 1.0, size=topics)).clip(50, 100_000).round()[topic]
        return pd.DataFrame(
            {
                "p": row,
                "topic": [f"topic-{number:05d}" for number in topic],
                "partition": partition.astype(np.int32),
                "broker": broker.astype(np.int32),
                "base": weight / weight.sum() * self.partitions * _BYTES_PER_S,
                "peak_s": peak,
                "message_bytes": message,
                "skew_ms": _clocks(self.skewed, brokers, rng)[broker],
            }
        )


def _clocks(share: float, brokers: int, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return how far the clock of each broker is ahead, in ms; at least one is wrong if `share` is positive."""
    ahead_ms = np.zeros(brokers, dtype=np.int64)
    count = math.ceil(share * brokers)
    size = rng.integers(*_SKEW_MS, size=count)
    ahead_ms[rng.permutation(brokers)[:count]] = size * rng.choice([-1, 1], size=count)
    return ahead_ms


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
