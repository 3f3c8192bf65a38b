"""Nodes for pairs of topic and broker, which a flow passes to balance the counts per topic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assignors.flow.min_cost import Arcs
from assignors.model.columns import IntArray
from assignors.replicas.normalized_problem import NormalizedProblem


@dataclass(frozen=True, eq=False)
class TopicShares:
    """The nodes for pairs of topic and broker.

    Attributes:
        of_pair: the node of each pair of a partition and a broker; empty if topics are not balanced.
        broker: the broker of each node.
        counts: the maximum flow through each node.
    """

    of_pair: IntArray
    broker: IntArray
    counts: IntArray

    @classmethod
    def of(cls, problem: NormalizedProblem, partition: IntArray, broker: IntArray) -> TopicShares:
        """Return the nodes for these pairs."""
        keys = problem.topic[partition] * problem.num_brokers + broker
        shares, of_pair, counts = np.unique(keys, return_inverse=True, return_counts=True)
        return cls(of_pair, shares % problem.num_brokers, counts)

    @classmethod
    def none(cls) -> TopicShares:
        """Return no nodes: the flow goes to brokers directly."""
        no_entries = np.empty(0, dtype=np.int64)
        return cls(no_entries, no_entries, no_entries)

    def __len__(self) -> int:
        return len(self.broker)

    @cached_property
    def steps(self) -> IntArray:
        """Return the cost steps of each node's units of flow: 0 for the first, 1 for the second, and so on, by node.

        Their sum is minimal if the counts of each topic are most even.
        """
        steps: IntArray = np.arange(self.counts.sum()) - np.repeat(np.cumsum(self.counts) - self.counts, self.counts)
        return steps

    def arcs(self, first_share: int, first_broker: int, step: int) -> Arcs:
        """Return arcs from nodes to brokers, one per entry of `steps`."""
        share = np.repeat(np.arange(len(self)), self.counts)
        ones = np.ones(len(share), dtype=np.int64)
        return Arcs(first_share + share, first_broker + self.broker[share], ones, step * self.steps)
