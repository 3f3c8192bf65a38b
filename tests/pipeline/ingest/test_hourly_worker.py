"""Rates by hour of the day equal those of a slow model that divides each interval by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from pipeline.ingest.hourly_worker import hours_of_readings
from pipeline.ingest.sample_arrays import approximate_median

pytestmark = pytest.mark.spark

HOUR_MS = 3_600_000
START_MS = 1_740_787_200_000
WHOLE_TOPIC = -1

Interval = tuple[int, int, float | None]
"""Start and end in ms, and the rate; None if unknown."""

Series = list[tuple[int, float]]
"""Times and values of the readings of one broker."""


def _intervals(series: Series, interval_ms: int | None, is_counter: bool) -> list[Interval]:
    """Return the intervals of a broker; unknown over gaps and resets, and around its readings."""
    largest: dict[int, float] = {}
    for time, value in series:
        largest[time] = max(value, largest.get(time, 0))
    readings = sorted(largest.items())
    took = np.array([after[0] - before[0] for before, after in pairwise(readings)], np.int64)
    usual = interval_ms or approximate_median(took) or 0
    first, value = readings[0]
    result: list[Interval] = [(first - max(usual, 1), first, None if is_counter else value)]
    for (before, last), (at, value) in pairwise(readings):
        is_gap = at - before > 1.5 * usual
        if is_counter:
            is_unknown = is_gap or value < last
            result.append((before, at, None if is_unknown else (value - last) / (at - before) * 1_000))
        elif is_gap:
            result += [(before, at - usual, None), (at - usual, at, value)]
        else:
            result.append((before, at, value))
    return [*result, (readings[-1][0], readings[-1][0] + usual, None)]


def _combined(brokers: Sequence[list[Interval]], combination: str) -> list[tuple[int, int, float]]:
    """Combine brokers between any two times at which the rate of one changes."""
    times = sorted({time for intervals in brokers for start, end, _ in intervals for time in (start, end)})
    parts = []
    for start, end in pairwise(times):
        rates = [rate for intervals in brokers for begin, stop, rate in intervals if begin <= start and end <= stop]
        known = [rate for rate in rates if rate is not None]
        is_unknown = len(known) < len(rates)
        if combination == "each" and sum(known) > 0:
            is_unknown = False
        if known and not is_unknown:
            parts.append((start, end, max(known) if combination == "largest" else sum(known)))
    return parts


def _by_hour(parts: Iterable[tuple[int, int, float]]) -> dict[int, dict[str, float]]:
    """Divide intervals at each full hour."""
    traffic: dict[int, float] = defaultdict(float)
    time: dict[int, int] = defaultdict(int)
    counted, touched = (defaultdict(list) for _ in range(2))
    for start, end, rate in parts:
        within: dict[int, int] = defaultdict(int)
        at = start
        while at < end:
            until = min(end, (at // HOUR_MS + 1) * HOUR_MS)
            within[at // HOUR_MS % 24] += until - at
            at = until
        for hour, part in within.items():
            traffic[hour] += rate * part
            time[hour] += part
            touched[hour].append(rate)
            if part >= min(end - start, HOUR_MS) / 2:
                counted[hour].append(rate)
    expected = {}
    for hour, total in traffic.items():
        rates = counted[hour] or touched[hour]
        p50, p95, p99 = np.percentile(rates, [50, 95, 99])
        expected[hour] = {"samples": len(rates), "mean": total / time[hour], "p50": p50, "p95": p95, "p99": p99}
    return expected


def _hours(
    brokers: Sequence[Series],
    interval_ms: int | None = None,
    is_counter: bool = True,
    combination: str = "each",
    partition: int = 0,
) -> dict[int, dict[str, float]]:
    """Return the rates by hour of the day of one partition, as the ingest computes them."""
    rows = [(f"b{number}", *reading) for number, series in enumerate(brokers) for reading in series]
    table = pa.table(
        {
            "topic": pa.repeat("orders", len(rows)),
            "partition": pa.repeat(pa.scalar(partition, pa.int32()), len(rows)),
            "broker": pa.array([broker for broker, _, _ in rows]),
            "metric": pa.repeat("m", len(rows)),
            "file": pa.repeat(0, len(rows)),
            "time": pa.array([time for _, time, _ in rows], pa.int64()),
            "bytes": pa.array([float(value) for _, _, value in rows]),
        }
    )
    how: Mapping[str, str] = {"m": combination}
    (batch,) = hours_of_readings(iter(table.to_batches()), interval_ms, is_counter, how)  # type: ignore[arg-type]
    assert sum(batch["rows"].to_pylist()) == len(rows)
    return {
        row["hour"]: {
            "samples": row["samples"],
            "mean": row["bytes_per_s_mean"],
            **dict(zip(("p50", "p95", "p99"), row["bytes_per_s_percentiles"], strict=True)),
        }
        for row in batch.to_pylist()
        if row["samples"]
    }


def _draw(rng: np.random.Generator, times: Iterable[int], is_counter: bool, leads: tuple[int, int]) -> Series:
    """Draw the readings of a broker that leads for a time; its counter restarts, or it is not read, at times."""
    series, value = [], float(rng.integers(0, 1_000))
    for at in times:
        traffic = float(rng.integers(1, 1_000_000)) if leads[0] <= at <= leads[1] else 0.0
        value = (0.0 if rng.random() < 0.05 else value + traffic) if is_counter else traffic
        if rng.random() < 0.9:
            series += [(at, value)] * (2 if rng.random() < 0.05 else 1)
    return series or [(START_MS, 0.0)]


def _times(rng: np.random.Generator, usual_ms: int, count: int) -> list[int]:
    """Draw times of readings that are irregular half of the time; 30 days begin shortly before midnight."""
    jitter = rng.integers(0, usual_ms // 3, count) if rng.random() < 0.5 else np.zeros(count, np.int64)
    start = START_MS - int(rng.integers(0, 2 * usual_ms))
    return (start + usual_ms * np.arange(count) + jitter).tolist()


@pytest.mark.parametrize("seed", range(60))
def test_rates_of_one_broker_are_those_of_the_model(seed: int) -> None:
    rng = np.random.default_rng(seed)
    usual = int(rng.choice([7_000, 60_000, 600_000, HOUR_MS, 5_400_000, 3 * HOUR_MS, 30 * HOUR_MS]))
    is_counter, interval_ms = bool(rng.random() < 0.7), None if rng.random() < 0.7 else usual
    series = _draw(rng, _times(rng, usual, int(rng.integers(2, 300))), is_counter, (0, 2 * START_MS))
    known = [interval for interval in _intervals(series, interval_ms, is_counter) if interval[2] is not None]
    expected = _by_hour(known)  # type: ignore[arg-type]
    actual = _hours([series], interval_ms, is_counter)
    assert set(actual) == set(expected)
    for hour, figures in expected.items():
        assert actual[hour] == pytest.approx(figures, rel=1e-9), hour


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("combination", ["each", "sum", "largest"])
def test_rates_of_several_brokers_are_those_of_the_model(seed: int, combination: str) -> None:
    rng = np.random.default_rng(seed)
    usual = int(rng.choice([60_000, 600_000, HOUR_MS, 5_400_000]))
    # Between the two readings of one broker, the rates of others are averaged: the model knows that only of sums.
    is_counter = combination != "sum" or bool(rng.random() < 0.7)
    times = _times(rng, usual, 150)
    change = times[int(rng.integers(0, len(times)))]
    brokers, together = [], combination != "sum" or rng.random() < 0.5
    for number in range(int(rng.integers(2, 5))):
        leads = ((0, change), (change + 1, 2 * START_MS))[number % 2]
        # Brokers come and go; some are read at other times.
        own = times if together else _times(rng, int(rng.choice([usual, 2 * usual])), 150)
        low, high = sorted(rng.integers(0, len(own), 2).tolist()) if rng.random() < 0.5 else (0, len(own))
        brokers.append(_draw(rng, own[low:high], is_counter, leads))
    parts = _combined([_intervals(series, usual, is_counter) for series in brokers], combination)
    expected = _by_hour(parts)
    actual = _hours(brokers, usual, is_counter, combination)
    assert set(actual) == set(expected)
    for hour, figures in expected.items():
        assert actual[hour]["mean"] == pytest.approx(figures["mean"], rel=1e-9, abs=1e-6), hour


@pytest.mark.parametrize("partition", [0, WHOLE_TOPIC])
def test_flat_counter_of_a_former_leader_adds_nothing(partition: int) -> None:
    minutes = range(START_MS, START_MS + HOUR_MS + 1, 60_000)
    leader: Series = [(at, 60_000.0 * number) for number, at in enumerate(minutes)]
    former: Series = [(at + 7_000, 5_000_000.0) for at in minutes]
    for brokers in ([leader], [leader, former], [former, leader]):
        assert _hours(brokers, partition=partition)[0]["mean"] == pytest.approx(1_000)


def test_readings_of_a_returned_leader_do_not_hide_those_of_the_leader_before_that() -> None:
    """Where only the leader reports a partition, a broker that does not is no gap."""
    hours = [range(START_MS + hour * HOUR_MS, START_MS + (hour + 1) * HOUR_MS, 60_000) for hour in range(3)]
    first: Series = [(at, (at - START_MS) * 1.0) for at in (*hours[0], *hours[2])]
    second: Series = [(at, (at - START_MS) * 2.0) for at in hours[1]]
    actual = _hours([first, second])
    assert {hour: figures["mean"] for hour, figures in actual.items()} == pytest.approx({0: 1_000, 1: 2_000, 2: 1_000})


def test_part_of_an_interval_counts_in_percentiles_only_from_half_of_it() -> None:
    """The readings of each hour arrive 3 ms late: without this, each hour would have two equal samples."""
    late: Series = [(START_MS + hour * HOUR_MS + 3, 3_600_000.0 * (hour > 8)) for hour in range(20)]
    actual = _hours([late])
    assert actual[8] == pytest.approx({"samples": 1, "mean": 1_000, "p50": 1_000, "p95": 1_000, "p99": 1_000}, rel=1e-5)
    assert actual[9]["p99"] == 0
