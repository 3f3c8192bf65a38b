"""Replicas evened out over brokers: from those that hold too many, by way of partitions, to those with too few."""

from __future__ import annotations

import numpy as np

from assignors.columns import IntArray
from assignors.replicas.phases.placing import DENSE, WIDTH, Placing, Rules, destinations
from assignors.replicas.phases.residue_flow import Method, even_out
from assignors.replicas.phases.shares import Shares
from assignors.replicas.state import NOBODY


def evenly_held(rules: Rules, replicas: IntArray, method: Method) -> tuple[IntArray, Shares]:
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


def _moved(rules: Rules, replicas: IntArray, shares: Shares, method: Method) -> IntArray:
    """Who holds what after one flow."""
    rows = np.arange(len(replicas))
    # By broker, not by the order of replicas: what one run ends with, another then sees as the same network.
    row, column = np.nonzero(replicas != NOBODY)
    leaving = np.stack([row, column], axis=1)[np.lexsort((replicas[row, column], row))]
    is_small = len(replicas) * len(rules.brokers) <= DENSE
    takers = np.arange(len(rules.brokers)) if is_small else np.flatnonzero(shares.is_under)
    for width in (None,) if is_small else (WIDTH, 8 * WIDTH):
        placing = Placing.of(rules, replicas, leaving, destinations(rules, replicas, rows, takers, width))
        flow = even_out(shares, placing.arcs, placing.num_nodes, len(rules.brokers), method)
        if flow.is_full:
            break
    left, arrived = placing.left(flow.flows), placing.arrived(flow.flows)
    moved = replicas.copy()
    moved[left[:, 0], left[:, 1]] = arrived[:, 1]
    return moved
