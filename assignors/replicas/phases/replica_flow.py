"""Replicas evened out over brokers: from those that hold too many, by way of partitions, to those with too few."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.phases.even_shares import EvenShares
from assignors.replicas.phases.move_graph import DENSE, WIDTH, PlacementRules, ReplicaMoveGraph, destinations
from assignors.replicas.phases.residue_flow import BalancingMethod, balance_bins
from assignors.replicas.state import NO_BROKER


def balance_replicas(rules: PlacementRules, replicas: IntArray, method: BalancingMethod) -> tuple[IntArray, EvenShares]:
    """Move replicas until brokers hold equally many.

    Args:
        rules: where replicas may go.
        replicas: shape (P, W); who holds what, in the numbers of the rules' brokers; no rack crowded.
        method: how.

    Returns:
        Who holds what then, and how much each broker does. A replica that arrives takes the place of one that left.
    """
    shares = rules.shares(replicas)
    while not method.checks or shares.distance:
        changed = _moved(rules, replicas, shares, method)
        new = rules.shares(changed)
        if method.checks and new.distance >= shares.distance:
            break
        replicas, shares = changed, new
        if not method.checks:
            break
    return replicas, shares


def _moved(rules: PlacementRules, replicas: IntArray, shares: EvenShares, method: BalancingMethod) -> IntArray:
    """Who holds what after one flow."""
    rows = np.arange(len(replicas))
    # By broker, not by the order of replicas: what one run ends with, another then sees as the same network.
    row, column = np.nonzero(replicas != NO_BROKER)
    leaving = np.stack([row, column], axis=1)[np.lexsort((replicas[row, column], row))]
    is_small = len(replicas) * len(rules.brokers) <= DENSE
    takers = np.arange(len(rules.brokers)) if is_small else np.flatnonzero(shares.is_under)
    for width in (None,) if is_small else (WIDTH, 8 * WIDTH):
        placing = ReplicaMoveGraph.of(rules, replicas, leaving, destinations(rules, replicas, rows, takers, width))
        flow = balance_bins(shares, placing.arcs, placing.num_nodes, len(rules.brokers), method)
        if flow.is_full:
            break
    left, arrived = placing.left(flow.flows), placing.arrived(flow.flows)
    moved = replicas.copy()
    moved[left[:, 0], left[:, 1]] = arrived[:, 1]
    return moved
