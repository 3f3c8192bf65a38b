"""The measured topics and partitions, and their traffic."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

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
        seed: random seed.
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
