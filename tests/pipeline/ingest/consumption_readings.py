"""Readings of bytes out and lags with faults, and what their tables should contain, computed with NumPy only."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

BYTES_OUT = "kafka_server_brokertopicmetrics_bytesout_total"
LAG, LAG_OF_TOPIC = "kafka_consumergroup_lag", "kafka_consumergroup_lag_sum"
START_MS = 1_740_787_200_000
STEP_MS = 60_000
_HOUR_MS = 3_600_000
SHAPES = {"p50": 50, "p95": 95, "p99": 99}


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading.

    Attributes:
        metric: its name.
        labels: its labels.
        at: its time in ms.
        value: its value.
    """

    metric: str
    labels: tuple[tuple[str, str], ...]
    at: int
    value: int

    def line(self) -> str:
        """Return the reading as a line of JSON."""
        row = {"__name__": self.metric, **dict(self.labels), "timestamp": self.at, "value": str(self.value)}
        return json.dumps(row)


def draw_bytes_out(rng: np.random.Generator, topics: int, count: int) -> list[Reading]:
    """Draw counters of one broker for each topic, with resets, gaps and duplicates."""
    drawn = []
    for number in range(topics):
        at, value, labels = START_MS, 0, (("topic", f"t{number}"), ("instance", "b1"))
        for _ in range(count):
            value = 0 if rng.random() < 0.05 else value + int(rng.integers(0, 1_000_000))
            at += STEP_MS * int(rng.choice([1, 1, 1, 1, 5]))
            drawn.append(Reading(BYTES_OUT, labels, at, value))
            if rng.random() < 0.1:
                drawn.append(drawn[-1])
    return drawn


def draw_lags(rng: np.random.Generator, groups: int, partitions: int, count: int) -> list[Reading]:
    """Draw lags of groups of one topic, with gaps, conflicts and unknown lags."""
    drawn = []
    for group, partition in np.ndindex(groups, partitions):
        labels = (("consumergroup", f"g{group}"), ("topic", "t0"), ("partition", str(partition)))
        at = START_MS
        for _ in range(count):
            at += STEP_MS * int(rng.choice([1, 1, 1, 5]))
            lag = -1 if rng.random() < 0.05 else int(rng.integers(0, 10_000))
            drawn += [Reading(LAG, labels, at, value) for value in (lag, *([lag + 5] * (rng.random() < 0.1)))]
    return drawn


def in_random_order(rng: np.random.Generator, readings: Iterable[Reading]) -> list[Reading]:
    """Return readings that arrive up to ten minutes late."""
    delayed = [(reading.at + int(rng.integers(0, 600_000)) * (rng.random() < 0.1), reading) for reading in readings]
    return [reading for _, reading in sorted(delayed, key=lambda item: item[0])]


def expected_bytes_out(readings: Iterable[Reading]) -> dict[tuple[str, int], dict[str, float]]:
    """Return bytes out by topic and hour: of counters without the intervals with resets and gaps."""
    rates: dict[tuple[str, int], list[float]] = defaultdict(list)
    for labels, series in _series(readings):
        times = sorted(series)
        for before, at in pairwise(times):
            took, sent = at - before, max(series[at]) - max(series[before])
            if took == STEP_MS and sent >= 0:
                rates[labels["topic"], (at - took // 2) // _HOUR_MS % 24].append(sent / (took / 1000))
    return {key: _shapes(values) for key, values in rates.items()}


def expected_lags(readings: Iterable[Reading]) -> dict[tuple[str, int, int], dict[str, float]]:
    """Return lags by group, partition and hour; the largest of several at the same time counts."""
    lags: dict[tuple[str, int, int], list[float]] = defaultdict(list)
    for labels, series in _series(reading for reading in readings if reading.value >= 0):
        for at in sorted(series):
            lags[labels["consumergroup"], int(labels["partition"]), at // _HOUR_MS % 24].append(max(series[at]))
    return {key: {**_shapes(values), "max": max(values)} for key, values in lags.items()}


def _series(readings: Iterable[Reading]) -> Iterator[tuple[dict[str, str], dict[int, list[int]]]]:
    values: dict[Any, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for reading in readings:
        values[reading.labels][reading.at].append(reading.value)
    return ((dict(labels), series) for labels, series in values.items())


def _shapes(values: list[float]) -> dict[str, float]:
    percentiles = {name: float(np.percentile(values, share)) for name, share in SHAPES.items()}
    return {"samples": len(values), "mean": float(np.mean(values)), **percentiles}
