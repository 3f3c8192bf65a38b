"""What brokers have of each topic, as nodes that a flow passes on its way to the brokers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assignors.flow.min_cost import Arcs
from assignors.model.columns import IntArray
from assignors.replicas.normalized_problem import NormalizedProblem


@dataclass(frozen=True, eq=False)
class TopicShares:
    """Shares of topics.

    Attributes:
        of_pair: which share each pair of a partition and a broker adds to; empty if topics do not count.
        broker: whose each share is.
        counts: how many pairs may add to it.
    """

    of_pair: IntArray
    broker: IntArray
    counts: IntArray

    @classmethod
    def of(cls, question: NormalizedProblem, partition: IntArray, broker: IntArray) -> TopicShares:
        """The shares that pairs add to."""
        keys = question.topic[partition] * question.num_brokers + broker
        shares, of_pair, counts = np.unique(keys, return_inverse=True, return_counts=True)
        return cls(of_pair, shares % question.num_brokers, counts)

    @classmethod
    def none(cls) -> TopicShares:
        """No shares: the flow goes to brokers straight."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(nothing, nothing, nothing)

    def __len__(self) -> int:
        return len(self.broker)

    @cached_property
    def rises(self) -> IntArray:
        """By how many steps what comes to a share costs more than the first: an entry for all that may come, by share;
        their sum over what comes is least where shares of a topic are evenest."""
        rises: IntArray = np.arange(self.counts.sum()) - np.repeat(np.cumsum(self.counts) - self.counts, self.counts)
        return rises

    def arcs(self, first_share: int, first_broker: int, step: int) -> Arcs:
        """Arcs from shares to brokers, an entry for each of `rises`."""
        share = np.repeat(np.arange(len(self)), self.counts)
        one = np.ones(len(share), dtype=np.int64)
        return Arcs(first_share + share, first_broker + self.broker[share], one, step * self.rises)
