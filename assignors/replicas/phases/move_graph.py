"""Where replicas may go: the part of a flow between brokers that knows partitions and racks.

Nodes are brokers, partitions, and pairs of a partition and a rack. A replica that leaves a broker comes to the pair of
its partition and its rack. From there it goes to another broker of that rack, or by way of the partition to the pair
of another rack, as far as that one has room for it.
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

DENSE = 500_000
"""Up to so many pairs of a partition and a broker, all of them are looked at."""

WIDTH = 16
"""Above that, among how many brokers a partition chooses."""


@dataclass(frozen=True, eq=False)
class PlacementRules:
    """What constrains where replicas go; B counts the brokers that may hold any.

    Attributes:
        brokers: shape (B,); their rows in the state.
        rack: shape (B,); racks without gaps in their numbers, one for all where racks do not constrain.
        factor: shape (P,); how many replicas a partition shall have.
        most_in_a_rack: shape (P,); how many of them one rack may hold.
        group: shape (B,); brokers that are to hold equally many replicas: all, unless racks take fewer, or need more.
        total: shape (groups,); how many replicas each group is to hold.
        salt: shape (P,); a number drawn from each partition's name.
    """

    brokers: IntArray
    rack: IntArray
    factor: IntArray
    rack_limits: IntArray
    group: IntArray
    total: IntArray
    salt: IntArray

    @classmethod
    def of(cls, state: ClusterState, request: PlanRequest) -> PlacementRules:
        """The rules of a request."""
        brokers = np.flatnonzero(request.is_allowed(state))
        rack = np.zeros(len(brokers), dtype=np.int64)
        if request.is_rack_aware(state):
            rack = np.unique(state.rack[brokers], return_inverse=True)[1]
        factors, most = request.factors(state), request.rack_limits(state)
        sizes = np.bincount(rack)
        shares = fair_rack_shares(factors, most, sizes)
        each = [share / size for share, size in zip(shares, sizes.tolist(), strict=True)]
        levels = sorted(set(each))
        group = np.array([levels.index(level) for level in each], dtype=np.int64)[rack]
        # What limits a rack is a whole number, so what is left for all others together is one, too.
        total = [int(level * int(count)) for level, count in zip(levels, np.bincount(group), strict=True)]
        salt = [crc32(state.name(row).encode()) for row in range(state.num_partitions)]
        return cls(brokers, rack, factors, most, group, _column(total), _column(salt))

    @cached_property
    def num_racks(self) -> int:
        """How many racks there are."""
        return int(self.rack.max()) + 1

    def shares(self, replicas: IntArray) -> EvenShares:
        """How many replicas each broker holds, and what its share is."""
        return EvenShares(count_replicas(replicas, len(self.brokers)), self.group, self.total)

    def room(self, replicas: IntArray) -> IntArray:
        """Shape (P, racks); how many more replicas of each partition a rack may hold, negative where it is crowded."""
        room: IntArray = self.rack_limits[:, None] - count_per_rack(replicas, self.rack, self.num_racks)
        return room


@dataclass(frozen=True, slots=True, eq=False)
class ReplicaMoveGraph:
    """A graph over brokers, partitions and their racks.

    Attributes:
        arcs: all of it: leaving, arriving, then those between partitions and racks.
        num_nodes: how many nodes it has.
        leaving: shape (L, 2); row and column of the replica of each of the first L arcs.
        arriving: shape (A, 2); row of the partition and broker of each of the A arcs behind them.
        partition: shape (P,); the node of each partition.
    """

    arcs: Arcs
    num_nodes: int
    leaving: IntArray
    arriving: IntArray
    partition: IntArray

    @classmethod
    def of(cls, rules: PlacementRules, replicas: IntArray, leaving: IntArray, arriving: IntArray) -> ReplicaMoveGraph:
        """Build it.

        Args:
            rules: the rules.
            replicas: shape (P, W); who holds what, no rack crowded.
            leaving: shape (L, 2); row and column of each replica that may leave, by row.
            arriving: shape (A, 2); row of a partition and broker that may take a replica of it, sorted.
        """
        num_brokers, num_racks = len(rules.brokers), rules.num_racks
        partition = num_brokers + np.arange(len(replicas))
        holder = replicas[leaving[:, 0], leaving[:, 1]]
        left = leaving[:, 0] * num_racks + rules.rack[holder]
        entered = arriving[:, 0] * num_racks + rules.rack[arriving[:, 1]]
        pairs, number = np.unique(np.concatenate([left, entered]), return_inverse=True)
        place = num_brokers + len(replicas) + number
        pair = num_brokers + len(replicas) + np.arange(len(pairs))
        room = np.maximum(rules.room(replicas).ravel()[pairs], 0)
        of_pair = partition[pairs // num_racks]
        arcs = Arcs.joined(
            arcs_between(holder, place[: len(left)], cost=1),
            arcs_between(place[len(left) :], arriving[:, 1]),
            arcs_between(of_pair, pair, room),
            arcs_between(pair, of_pair, replicas.shape[1]),
        )
        return cls(arcs, num_brokers + len(replicas) + len(pairs), leaving, arriving, partition)

    def left(self, flows: IntArray) -> IntArray:
        """Row and column of the replicas that leave, by row."""
        return self.leaving[flows[: len(self.leaving)] > 0]

    def arrived(self, flows: IntArray) -> IntArray:
        """Row and broker of the replicas that arrive, sorted, so that they match those that leave."""
        first = len(self.leaving)
        return self.arriving[flows[first : first + len(self.arriving)] > 0]


def destinations(
    rules: PlacementRules, replicas: IntArray, rows: IntArray, brokers: IntArray, width: int | None
) -> IntArray:
    """Who may take a replica of which partition.

    Args:
        rules: the rules.
        replicas: shape (P, W); who holds what.
        rows: the partitions, ascending.
        brokers: the brokers, ascending.
        width: about how many of the brokers each partition chooses among; each rack has enough of them to take what is
            wanted. None for all.

    Returns:
        Shape (A, 2); row and broker, sorted; no broker that holds the partition.
    """
    if width is None:
        free = ~broker_membership(replicas[rows], len(rules.brokers))[:, brokers]
        row, place = np.nonzero(free)
        return np.stack([rows[row], brokers[place]], axis=1)
    found = []
    for rack in range(rules.num_racks):
        there = brokers[rules.rack[brokers] == rack]
        share = min(len(there), max(-(-width // rules.num_racks), 2 * replicas.shape[1]))
        if share:
            chosen = there[(rules.salt[rows, None] + np.arange(share)) % len(there)]
            found.append(np.stack([np.repeat(rows, share), chosen.ravel()], axis=1))
    pairs = np.concatenate(found)
    pairs = pairs[~(replicas[pairs[:, 0]] == pairs[:, 1, None]).any(axis=1)]
    ordered: IntArray = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    return ordered


def _column(values: list[int]) -> IntArray:
    return np.array(values, dtype=np.int64)
