"""How even counts can be, and the arcs of a flow that make them so.

A placement is *evenest* if the sum of the squares of its counts is least. Counts that partitions can bring about (by
who holds their replicas, or who of those leads) form an M-convex set: the evenest ones then have the least maximum and
the greatest minimum at once, whatever strictly convex measure one takes.

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
    """The least and the most that a broker has."""

    least: int
    most: int


def widening_ranges(total: int, num_brokers: int, scarcest: int) -> Iterator[CountRange]:
    """Spans around the mean, each wider than the last: the first that admits a placement holds the evenest one.

    Args:
        total: what is to be shared out.
        num_brokers: among how many.
        scarcest: the most that the broker can have that can have least.
    """
    low, remainder = divmod(total, num_brokers)
    high = low + (remainder > 0)
    low = min(low, scarcest)
    width = 0
    while width < 2 * total:
        yield CountRange(max(low - width, 0), min(high + width, total))
        width = max(1, 2 * width)


def convex_cost_arcs(nodes: IntArray, sizes: IntArray, span: CountRange, sinks: tuple[int, int], step: int) -> Arcs:
    """Arcs from nodes to two sinks by which each of the brokers behind a node gets as many as a span admits.

    Args:
        nodes: where the flow comes from.
        sizes: how many brokers are behind each.
        span: what each may have.
        sinks: where the least goes that each must have, and where the rest goes.
        step: by how much the second beyond the least costs more than the first, the third more than the second.
    """
    rises = np.arange(span.most - span.least)
    base = Arcs(nodes, np.full(len(nodes), sinks[0]), span.least * sizes, np.zeros(len(nodes), dtype=np.int64))
    rest = Arcs(
        np.repeat(nodes, len(rises)),
        np.full(len(nodes) * len(rises), sinks[1]),
        np.repeat(sizes, len(rises)),
        np.tile(rises * step, len(nodes)),
    )
    return Arcs.joined(base, rest)


def replica_count_range(question: NormalizedProblem) -> CountRange:
    """The least and the most replicas that a broker has in the evenest placement that racks admit.

    Brokers of a rack can always share evenly, and partitions of one replication factor are alike, so a flow from
    factors to racks finds it.

    Raises:
        ValueError: no placement keeps to the limits of racks.
    """
    sizes = question.rack_sizes
    total, brokers = int(question.factors.sum()), question.num_brokers
    pairs = np.stack([question.factors, question.rack_limits], axis=1)
    kinds, counts = np.unique(pairs, axis=0, return_counts=True)
    kind, rack = np.indices((len(kinds), len(sizes))).reshape(2, -1)
    room = counts[kind] * np.minimum(kinds[kind, 1], sizes[rack])
    shared = Arcs(kind, len(kinds) + rack, room, np.zeros(len(kind), dtype=np.int64))
    first = len(kinds) + len(sizes)
    for span in widening_ranges(total, brokers, question.num_partitions):
        stairs = convex_cost_arcs(len(kinds) + np.arange(len(sizes)), sizes, span, (first, first + 1), 1)
        arcs = Arcs.joined(shared, stairs)
        supply = np.concatenate([counts * kinds[:, 0], np.zeros(len(sizes)), sink_demands(total, brokers, span)])
        flows = min_cost_flow(arcs, supply.astype(np.int64))
        if flows is not None:
            held = np.bincount(rack, flows[: len(rack)], minlength=len(sizes)).astype(np.int64)
            return CountRange(int((held // sizes).min()), int((-(-held // sizes)).max()))
    raise ValueError("the racks do not take all replicas")


def sink_demands(total: int, num_brokers: int, span: CountRange) -> IntArray:
    """What the two sinks of a staircase demand."""
    least = span.least * num_brokers
    return np.array([-least, least - total])
