"""Balance of replicas over brokers, by a flow from brokers with too many through partitions to brokers with too few."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.phases.even_shares import EvenShares
from assignors.replicas.phases.move_graph import WIDTH, PlacementRules, ReplicaMoveGraph, destinations
from assignors.replicas.phases.residue_flow import BalancingMethod, balance_bins
from assignors.replicas.state import NO_BROKER


def balance_replicas(rules: PlacementRules, replicas: IntArray, method: BalancingMethod) -> tuple[IntArray, EvenShares]:
    """Move replicas until replica counts are even.

    Args:
        rules: the rules.
        replicas: shape (P, W); the current replicas, by index of the rules' brokers, within rack limits.
        method: the balancing method.

    Returns:
        The new replicas, and the replica counts of brokers. An arriving replica takes the position of one that left.
    """
    shares = rules.shares(replicas)
    while not method.checks or shares.distance:
        changed = _move_by_flow(rules, replicas, shares, method)
        new = rules.shares(changed)
        if method.checks and new.distance >= shares.distance:
            break
        replicas, shares = changed, new
        if not method.checks:
            break
    return replicas, shares


def _move_by_flow(rules: PlacementRules, replicas: IntArray, shares: EvenShares, method: BalancingMethod) -> IntArray:
    """Return the replicas after one flow."""
    rows = np.arange(len(replicas))
    # Sort by broker, not by replica order, so that a second run builds the same network from the result of the first.
    row, column = np.nonzero(replicas != NO_BROKER)
    leaving = np.stack([row, column], axis=1)[np.lexsort((replicas[row, column], row))]
    is_dense = rules.is_dense(len(replicas))
    receivers = np.arange(len(rules.brokers)) if is_dense else np.flatnonzero(shares.is_under)
    for width in (None,) if is_dense else (WIDTH, 8 * WIDTH):
        graph = ReplicaMoveGraph.of(rules, replicas, leaving, destinations(rules, replicas, rows, receivers, width))
        flow = balance_bins(shares, graph.arcs, graph.num_nodes, len(rules.brokers), method)
        if flow.is_full:
            break
    departures, arrivals = graph.departures(flow.flows), graph.arrivals(flow.flows)
    moved = replicas.copy()
    moved[departures[:, 0], departures[:, 1]] = arrivals[:, 1]
    return moved
