"""Partitions that have too few replicas get them: one more node feeds all of them.

Too few are those of a partition that is to have more, that had some on a broker which goes out of use, or too many in
one rack. None is ever moved for another; what is uneven then is for later.

Source: the added node is that of Appier's "Kafka reassignment 方案" for raising the replication factor; it serves here
for everything that must be placed.
"""

from __future__ import annotations

import numpy as np

from assignors.flow.min_cost import Arcs, max_flow, max_flow_min_cost
from assignors.model.columns import IntArray
from assignors.replicas.phases.even_shares import EvenShares
from assignors.replicas.phases.move_graph import DENSE, WIDTH, PlacementRules, ReplicaMoveGraph, destinations
from assignors.replicas.phases.residue_flow import arcs_between
from assignors.replicas.state import NO_BROKER


def keep_allowed_replicas(rules: PlacementRules, replicas: IntArray, num_brokers: int) -> IntArray:
    """What may stay where it is.

    Args:
        rules: the rules.
        replicas: shape (P, W); rows of the state's brokers.
        num_brokers: how many brokers the state has.

    Returns:
        Shape (P, at least W); the same in the numbers of the rules' brokers, with NOBODY wherever there shall be a
        replica and none may stay. Of a crowded rack the replicas on the fullest brokers go, the last in their order.
    """
    number = np.full(num_brokers + 1, NO_BROKER, dtype=np.int64)
    number[rules.brokers] = np.arange(len(rules.brokers))
    kept = np.full((len(replicas), max(replicas.shape[1], int(rules.factor.max()))), NO_BROKER, dtype=np.int64)
    kept[:, : replicas.shape[1]] = number[replicas]
    crowded = (rules.room(kept) < 0).any(axis=1)
    load = rules.shares(kept).load
    for row in np.flatnonzero(crowded):
        _thin_out(rules, kept[row], int(rules.rack_limits[row]), load)
    return kept


def _thin_out(rules: PlacementRules, held: IntArray, most: int, load: IntArray) -> None:
    """Take replicas of one partition out of racks that hold more than so many."""
    rack = np.where(held == NO_BROKER, NO_BROKER, rules.rack[held])
    for place in np.unique(rack[rack != NO_BROKER]):
        columns = np.flatnonzero(rack == place)
        fullest = sorted(columns.tolist(), key=lambda column: (-load[held[column]], -column))
        for column in fullest[: max(len(columns) - most, 0)]:
            load[held[column]] -= 1
            held[column] = NO_BROKER


def fill_missing_replicas(rules: PlacementRules, replicas: IntArray) -> IntArray:
    """Place what is missing.

    Args:
        rules: the rules; every partition can hold as many replicas as it shall.
        replicas: shape (P, W), as `with_gaps` leaves them.

    Returns:
        The same without gaps. Brokers below their share come first; those at it hold as little more as can be.

    Complexity: a largest flow for each of O(log P) limits, and a cheapest flow.
    """
    gaps = (replicas == NO_BROKER) & (np.arange(replicas.shape[1]) < rules.factor[:, None])
    rows = np.flatnonzero(gaps.any(axis=1))
    if not len(rows):
        return replicas
    arriving = _arrived(rules, replicas, rows, gaps.sum(axis=1))
    full = replicas.copy()
    full[gaps] = arriving[:, 1]
    return full


def _arrived(rules: PlacementRules, replicas: IntArray, rows: IntArray, missing: IntArray) -> IntArray:
    """Row and broker of each replica that is placed, sorted."""
    everybody = np.arange(len(rules.brokers))
    width = None if len(rows) * len(everybody) <= DENSE else WIDTH
    nothing = np.zeros((0, 2), dtype=np.int64)
    placing = ReplicaMoveGraph.of(rules, replicas, nothing, destinations(rules, replicas, rows, everybody, width))
    shares = rules.shares(replicas)
    arcs, source = _network(placing, shares, missing, _least_excess(placing, shares, missing))
    return placing.arrived(max_flow_min_cost(arcs, source, source + 1, source + 2))


def _least_excess(placing: ReplicaMoveGraph, shares: EvenShares, missing: IntArray) -> int:
    """How many replicas above its share, rounded up, the fullest of the brokers that take any has to hold."""

    def fits(excess: int) -> bool:
        arcs, source = _network(placing, shares, missing, excess)
        return bool(max_flow(arcs, source, source + 1)[arcs.tail == source].sum() == missing.sum())

    low, high = 0, 0
    while high < missing.sum() and not fits(high):
        low, high = high + 1, 2 * high + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle + 1, high)
    return high


def _network(placing: ReplicaMoveGraph, shares: EvenShares, missing: IntArray, excess: int) -> tuple[Arcs, int]:
    """The placing with the added node in front, its number, and behind the brokers a sink, numbered next."""
    source, brokers, wanting = placing.num_nodes, np.arange(len(shares.load)), np.flatnonzero(missing)
    above = np.clip(shares.ceiling + excess - np.maximum(shares.load, shares.floor), 0, None)
    arcs = Arcs.joined(
        placing.arcs,
        arcs_between(source, placing.partition[wanting], missing[wanting]),
        arcs_between(brokers, source + 1, shares.must_take),
        arcs_between(brokers, source + 1, above, cost=1),
    )
    return arcs, source
