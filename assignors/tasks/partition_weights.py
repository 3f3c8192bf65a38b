"""How heavy partitions are where traffic is weighed by bytes instead of counted by partition."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from assignors.columns import IntArray, Ragged
from assignors.state import ApplicationState

HEAVIEST = 1_000_000
"""The weight of the heaviest partition; the others' are rounded to whole numbers of this scale."""


def partition_weights(state: ApplicationState, bytes_per_s: Mapping[str, int]) -> IntArray:
    """The weight of each partition of a state, shape (P,).

    Args:
        state: whose partitions.
        bytes_per_s: what is read of each topic; its partitions share that evenly. The partitions of a topic that is not
            named weigh the mean of those of the named ones; if none is named, every partition weighs 1.
    """
    topics = [partition.topic for partition in state.partitions.names]
    named = np.array([topic in bytes_per_s for topic in topics], dtype=np.bool_)
    numbers = {topic: topics.count(topic) for topic in dict.fromkeys(topics)}
    rates = np.array([bytes_per_s.get(topic, 0) / numbers[topic] for topic in topics], dtype=np.float64)
    if not named.any() or not rates.max():
        return np.ones(len(topics), dtype=np.int64)
    rates[~named] = rates[named].mean()
    scaled: IntArray = np.rint(rates / rates.max() * HEAVIEST).astype(np.int64)
    return scaled


def mean_weight(weights: IntArray) -> int:
    """What the mean partition weighs, in whole numbers; 1 at least."""
    return max(1, round(float(weights.mean()))) if len(weights) else 1


def weighed_traffic(state: ApplicationState, partitions: Ragged, weights: IntArray) -> IntArray:
    """The weight of each task's partitions without a replica in each rack, shape (T, R)."""
    weighed: IntArray = ~state.partitions.in_rack * weights[:, None]
    return partitions.sum(weighed)
