"""The graph of possible replica moves, with nodes for brokers, partitions, and pairs of partition and rack.

A replica that leaves a broker enters the node of its partition and rack. From there it goes to another broker of the
rack, or through the partition to the node of another rack, within the limit of that rack.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

import numpy as np

from assignors.flow.min_cost import Arcs
from assignors.model.columns import IntArray
from assignors.replicas.broker_loads import count_per_rack, count_replicas
from assignors.replicas.phases.even_shares import EvenShares
from assignors.replicas.phases.residue_flow import arcs_between
from assignors.replicas.plan import PlanRequest
from assignors.replicas.programs.load_ranges import fair_rack_shares
from assignors.replicas.state import ClusterState, broker_membership

MAX_DENSE_PAIRS = 500_000
"""The default maximum of pairs of partition and broker up to which all pairs are arcs of the flow."""

WIDTH = 16
"""The number of candidate brokers per partition in larger problems."""


@dataclass(frozen=True, eq=False)
class PlacementRules:
    """The constraints on moves; B is the number of allowed brokers.

    Attributes:
        brokers: shape (B,); their rows in the state.
        rack: shape (B,); rack numbers without gaps; a single rack if racks do not constrain the plan.
        factor: shape (P,); the requested replication factors.
        rack_limits: shape (P,); the maximum number of replicas of a partition in one rack.
        group: shape (B,); groups of brokers with the same target: one group, unless racks hold fewer or need more.
        total: shape (groups,); the target number of replicas of each group.
        salt: shape (P,); a hash of each partition's name.
        max_dense_pairs: the maximum number of pairs of partition and broker up to which a flow has an arc for every
            pair; larger flows have arcs to a sample of brokers per partition.
    """

    brokers: IntArray
    rack: IntArray
    factor: IntArray
    rack_limits: IntArray
    group: IntArray
    total: IntArray
    salt: IntArray
    max_dense_pairs: int = MAX_DENSE_PAIRS

    @classmethod
    def of(cls, state: ClusterState, request: PlanRequest, max_dense_pairs: int = MAX_DENSE_PAIRS) -> PlacementRules:
        """Return the rules of a request."""
        brokers = np.flatnonzero(request.is_allowed(state))
        rack = np.zeros(len(brokers), dtype=np.int64)
        if request.is_rack_aware(state):
            rack = np.unique(state.rack[brokers], return_inverse=True)[1]
        factors, limits = request.factors(state), request.rack_limits(state)
        sizes = np.bincount(rack)
        shares = fair_rack_shares(factors, limits, sizes)
        per_broker = [share / size for share, size in zip(shares, sizes.tolist(), strict=True)]
        levels = sorted(set(per_broker))
        group = np.array([levels.index(level) for level in per_broker], dtype=np.int64)[rack]
        # Rack limits are integers, so the remaining total of all other racks is an integer as well.
        total = [int(level * int(count)) for level, count in zip(levels, np.bincount(group), strict=True)]
        salt = [crc32(state.name(row).encode()) for row in range(state.num_partitions)]
        return cls(brokers, rack, factors, limits, group, _column(total), _column(salt), max_dense_pairs)

    def is_dense(self, num_partitions: int) -> bool:
        """Return whether a flow of this number of partitions has an arc for every pair of partition and broker."""
        return num_partitions * len(self.brokers) <= self.max_dense_pairs

    @cached_property
    def num_racks(self) -> int:
        """Return the number of racks."""
        return int(self.rack.max()) + 1

    def shares(self, replicas: IntArray) -> EvenShares:
        """Return the replica counts of brokers and their targets."""
        return EvenShares(count_replicas(replicas, len(self.brokers)), self.group, self.total)

    def free_slots(self, replicas: IntArray) -> IntArray:
        """Return how many more replicas of a partition each rack may hold, shape (P, racks); negative for too many."""
        free_slots: IntArray = self.rack_limits[:, None] - count_per_rack(replicas, self.rack, self.num_racks)
        return free_slots


@dataclass(frozen=True, slots=True, eq=False)
class ReplicaMoveGraph:
    """A graph over brokers, partitions and their racks.

    Attributes:
        arcs: all arcs: leaving, arriving, then those between partitions and racks.
        leaving: shape (L, 2); row and column of the replica of each of the first L arcs.
        arriving: shape (A, 2); row of the partition and broker of each of the next A arcs.
        partition: shape (P,); the node of each partition.
    """

    arcs: Arcs
    num_nodes: int
    leaving: IntArray
    arriving: IntArray
    partition: IntArray

    @classmethod
    def of(cls, rules: PlacementRules, replicas: IntArray, leaving: IntArray, arriving: IntArray) -> ReplicaMoveGraph:
        """Build the graph.

        `replicas`, shape (P, W): the current replicas, within rack limits. `leaving`, shape (L, 2): row and column of
        each replica that may leave, by row. `arriving`, shape (A, 2): row of a partition and broker that may receive a
        replica of it, sorted.
        """
        num_brokers, num_racks = len(rules.brokers), rules.num_racks
        partition = num_brokers + np.arange(len(replicas))
        holder = replicas[leaving[:, 0], leaving[:, 1]]
        left_pairs = leaving[:, 0] * num_racks + rules.rack[holder]
        entered_pairs = arriving[:, 0] * num_racks + rules.rack[arriving[:, 1]]
        pairs, number = np.unique(np.concatenate([left_pairs, entered_pairs]), return_inverse=True)
        pair_node = num_brokers + len(replicas) + number
        pair = num_brokers + len(replicas) + np.arange(len(pairs))
        free_slots = np.maximum(rules.free_slots(replicas).ravel()[pairs], 0)
        of_pair = partition[pairs // num_racks]
        arcs = Arcs.joined(
            arcs_between(holder, pair_node[: len(left_pairs)], cost=1),
            arcs_between(pair_node[len(left_pairs) :], arriving[:, 1]),
            arcs_between(of_pair, pair, free_slots),
            arcs_between(pair, of_pair, replicas.shape[1]),
        )
        return cls(arcs, num_brokers + len(replicas) + len(pairs), leaving, arriving, partition)

    def departures(self, flows: IntArray) -> IntArray:
        """Return row and column of the replicas that leave, by row."""
        return self.leaving[flows[: len(self.leaving)] > 0]

    def arrivals(self, flows: IntArray) -> IntArray:
        """Return row and broker of the replicas that arrive, sorted, so that they match those that leave."""
        first = len(self.leaving)
        return self.arriving[flows[first : first + len(self.arriving)] > 0]


def destinations(
    rules: PlacementRules, replicas: IntArray, rows: IntArray, brokers: IntArray, width: int | None
) -> IntArray:
    """Return the brokers that may receive a replica of each partition.

    `replicas`, shape (P, W): the current replicas. `rows`: the partitions, ascending. `brokers`: the brokers,
    ascending. `width`: the approximate number of candidate brokers per partition; each rack contributes enough of them.
    None for all brokers. Returns row and broker, shape (A, 2), sorted; without brokers that hold the partition.
    """
    if width is None:
        is_free = ~broker_membership(replicas[rows], len(rules.brokers))[:, brokers]
        row, column = np.nonzero(is_free)
        return np.stack([rows[row], brokers[column]], axis=1)
    parts = []
    for rack in range(rules.num_racks):
        in_rack = brokers[rules.rack[brokers] == rack]
        share = min(len(in_rack), max(-(-width // rules.num_racks), 2 * replicas.shape[1]))
        if share:
            chosen = in_rack[(rules.salt[rows, None] + np.arange(share)) % len(in_rack)]
            parts.append(np.stack([np.repeat(rows, share), chosen.ravel()], axis=1))
    pairs = np.concatenate(parts)
    pairs = pairs[~(replicas[pairs[:, 0]] == pairs[:, 1, None]).any(axis=1)]
    ordered: IntArray = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    return ordered


def _column(values: list[int]) -> IntArray:
    return np.array(values, dtype=np.int64)
