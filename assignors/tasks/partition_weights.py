"""How heavy partitions are where traffic is weighed by bytes instead of counted by partition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.model.columns import BoolArray, IntArray, Ragged
from assignors.model.state import ApplicationState
from assignors.model.traffic_rates import PartitionRateColumns, TrafficRates

HEAVIEST = 1_000_000
"""The weight of the heaviest partition; the others' are rounded to whole numbers of this scale."""


@dataclass(frozen=True, slots=True, eq=False)
class PartitionWeights:
    """What it weighs to read each of P partitions in each of R racks.

    Attributes:
        weights: shape (P,).
        is_remote: shape (P, R); whether what is read in the rack comes from another one.
    """

    weights: IntArray
    is_remote: BoolArray

    @property
    def mean(self) -> int:
        """What the mean partition weighs, in whole numbers; 1 at least."""
        return max(1, round(float(self.weights.mean()))) if len(self.weights) else 1

    def traffic(self, partitions: Ragged) -> IntArray:
        """The weight of what is read across racks of each row's partitions, in each rack; shape (T, R)."""
        weighed: IntArray = self.is_remote * self.weights[:, None]
        return partitions.sum(weighed)


def partition_weights(state: ApplicationState, rates: TrafficRates | None) -> PartitionWeights:
    """The weights of a state's partitions.

    Args:
        state: whose partitions.
        rates: what flows; None, or where nothing does, to let every partition weigh 1 and any replica in a rack serve.
    """
    found = None if rates is None else PartitionRateColumns.of(state, rates)
    if found is None or not found.bytes_per_s.any():
        return PartitionWeights(np.ones(len(state.partitions.names), dtype=np.int64), ~state.partitions.in_rack)
    scaled = np.rint(found.bytes_per_s / found.bytes_per_s.max() * HEAVIEST).astype(np.int64)
    return PartitionWeights(scaled, found.is_remote)
