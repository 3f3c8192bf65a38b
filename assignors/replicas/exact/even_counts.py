"""The most even counts that are possible, and the flow arcs that enforce them.

A placement is *most even* if the sum of its squared counts is minimal. The achievable counts (replicas per broker, or
leaders per broker given the replicas) form an M-convex set. Its most even elements therefore have the lowest maximum
and the highest minimum at once, for every strictly convex measure.

Source: Frank and Murota, "Decreasing minimization on M-convex sets".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from assignors.flow.min_cost import Arcs, min_cost_flow
from assignors.model.columns import IntArray
from assignors.replicas.normalized_problem import NormalizedProblem


class CountRange(NamedTuple):
    """The lowest and the highest count of a broker."""

    least: int
    most: int


def widening_ranges(total: int, num_brokers: int, max_of_scarcest: int) -> Iterator[CountRange]:
    """Yield ranges around the mean in widening order; the first feasible one contains the most even counts.

    `max_of_scarcest`: the minimum, over all brokers, of the highest possible count.
    """
    low, remainder = divmod(total, num_brokers)
    high = low + (remainder > 0)
    low = min(low, max_of_scarcest)
    width = 0
    while width < 2 * total:
        yield CountRange(max(low - width, 0), min(high + width, total))
        width = max(1, 2 * width)


def convex_cost_arcs(
    nodes: IntArray, sizes: IntArray, count_range: CountRange, sinks: tuple[int, int], step: int
) -> Arcs:
    """Return arcs from nodes to two sinks that give each broker a count within a range, at convex cost.

    `count_range`: the counts that a broker may have; `sinks`: the sink of the required lowest counts, and the sink of
    the rest; `step`: the cost difference between one unit above the lowest count and the next.
    """
    steps = np.arange(count_range.most - count_range.least)
    base = Arcs(nodes, np.full(len(nodes), sinks[0]), count_range.least * sizes, np.zeros(len(nodes), dtype=np.int64))
    rest = Arcs(
        np.repeat(nodes, len(steps)),
        np.full(len(nodes) * len(steps), sinks[1]),
        np.repeat(sizes, len(steps)),
        np.tile(steps * step, len(nodes)),
    )
    return Arcs.joined(base, rest)


def replica_count_range(problem: NormalizedProblem) -> CountRange:
    """Return the range of replica counts in the most even placement that racks allow.

    The brokers of a rack can always share evenly, and partitions of one replication factor are equivalent, so a flow
    from factors to racks finds it. Raises ValueError if no placement meets the rack limits.
    """
    sizes = problem.rack_sizes
    total, brokers = int(problem.factors.sum()), problem.num_brokers
    pairs = np.stack([problem.factors, problem.rack_limits], axis=1)
    kinds, counts = np.unique(pairs, axis=0, return_counts=True)
    kind, rack = np.indices((len(kinds), len(sizes))).reshape(2, -1)
    capacity = counts[kind] * np.minimum(kinds[kind, 1], sizes[rack])
    rack_arcs = Arcs(kind, len(kinds) + rack, capacity, np.zeros(len(kind), dtype=np.int64))
    first = len(kinds) + len(sizes)
    for count_range in widening_ranges(total, brokers, problem.num_partitions):
        broker_arcs = convex_cost_arcs(len(kinds) + np.arange(len(sizes)), sizes, count_range, (first, first + 1), 1)
        arcs = Arcs.joined(rack_arcs, broker_arcs)
        supply = np.concatenate([counts * kinds[:, 0], np.zeros(len(sizes)), sink_demands(total, brokers, count_range)])
        flows = min_cost_flow(arcs, supply.astype(np.int64))
        if flows is not None:
            held = np.bincount(rack, flows[: len(rack)], minlength=len(sizes)).astype(np.int64)
            return CountRange(int((held // sizes).min()), int((-(-held // sizes)).max()))
    raise ValueError("the racks cannot hold all replicas within their limits")


def sink_demands(total: int, num_brokers: int, count_range: CountRange) -> IntArray:
    """Return the demands of the two sinks of `convex_cost_arcs`."""
    least = count_range.least * num_brokers
    return np.array([-least, least - total])
