"""Weights of partitions, to weigh traffic by bytes instead of partitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.columns import BoolArray, IntArray, Ragged
from assignors.model.state import ApplicationState
from assignors.model.traffic_rates import PartitionRateColumns, TrafficRates

MAX_WEIGHT = 1_000_000
"""Weight of the heaviest partition; the others are rounded to whole numbers on this scale."""


@dataclass(frozen=True, slots=True, eq=False)
class PartitionWeights:
    """The weight of reading each of P partitions in each of R racks.

    Attributes:
        weights: shape (P,).
        is_remote: shape (P, R); whether a client in the rack reads the partition from another rack.
    """

    weights: IntArray
    is_remote: BoolArray

    @property
    def mean(self) -> int:
        """Return the mean weight of a partition as a whole number, at least 1."""
        return max(1, round(float(self.weights.mean()))) if len(self.weights) else 1

    def traffic(self, partitions: Ragged) -> IntArray:
        """Return the weight of the partitions of each row that are read across racks, in each rack; shape (T, R)."""
        weighted: IntArray = self.is_remote * self.weights[:, None]
        return partitions.sum(weighted)


def partition_weights(state: ApplicationState, rates: TrafficRates | None) -> PartitionWeights:
    """Return the weights of a state's partitions.

    Args:
        state: the state with the partitions.
        rates: rates of partitions. If None, or if all are 0, each partition weighs 1, and a replica in the rack makes
            it local.

    Returns:
        The weights.
    """
    columns = None if rates is None else PartitionRateColumns.of(state, rates)
    if columns is None or not columns.bytes_per_s.any():
        return PartitionWeights(np.ones(len(state.partitions.names), dtype=np.int64), ~state.partitions.in_rack)
    weights = np.rint(columns.bytes_per_s / columns.bytes_per_s.max() * MAX_WEIGHT).astype(np.int64)
    return PartitionWeights(weights, columns.is_remote)
