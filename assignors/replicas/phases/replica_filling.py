"""Placement of missing replicas, then balance of replicas over brokers, each by a flow.

Replicas are missing if the replication factor rises, a broker is decommissioned, or a rack exceeds its limit. They are
placed by a flow from an additional node, which moves no other replica. Replicas are then balanced by a flow from
brokers with too many through partitions to brokers with too few.

Source: the additional node is that of Appier's "Kafka reassignment 方案" for raising the replication factor; here it
serves all missing replicas.
"""

from __future__ import annotations

import numpy as np

from assignors.flow.min_cost import Arcs, max_flow, max_flow_min_cost
from assignors.model.columns import IntArray
from assignors.replicas.phases.even_shares import EvenShares
from assignors.replicas.phases.move_graph import WIDTH, PlacementRules, ReplicaMoveGraph, destinations
from assignors.replicas.phases.residue_flow import BalancingMethod, arcs_between, balance_bins
from assignors.replicas.state import NO_BROKER


def balance_replicas(rules: PlacementRules, replicas: IntArray, method: BalancingMethod) -> tuple[IntArray, EvenShares]:
    """Move replicas until replica counts are even.

    `replicas`, shape (P, W): the current replicas, by index of the rules' brokers, within rack limits. Returns the new
    replicas, and the replica counts of brokers. An arriving replica takes the position of one that left.
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


def keep_allowed_replicas(rules: PlacementRules, replicas: IntArray, num_brokers: int) -> IntArray:
    """Return the replicas that may stay.

    `replicas`, shape (P, W): rows of the state's brokers. Returns replicas by index of the rules' brokers, shape (P, at
    least W); NO_BROKER for missing replicas. In a rack above its limit, replicas on the brokers with most replicas are
    removed, the last in replica order first.
    """
    number = np.full(num_brokers + 1, NO_BROKER, dtype=np.int64)
    number[rules.brokers] = np.arange(len(rules.brokers))
    kept = np.full((len(replicas), max(replicas.shape[1], int(rules.factor.max()))), NO_BROKER, dtype=np.int64)
    kept[:, : replicas.shape[1]] = number[replicas]
    exceeds_limit = (rules.free_slots(kept) < 0).any(axis=1)
    load = rules.shares(kept).load
    for row in np.flatnonzero(exceeds_limit):
        _remove_above_limit(rules, kept[row], int(rules.rack_limits[row]), load)
    return kept


def _remove_above_limit(rules: PlacementRules, held: IntArray, limit: int, load: IntArray) -> None:
    """Remove replicas of one partition from racks above the limit, in place."""
    rack = np.where(held == NO_BROKER, NO_BROKER, rules.rack[held])
    for number in np.unique(rack[rack != NO_BROKER]):
        columns = np.flatnonzero(rack == number)
        fullest = sorted(columns.tolist(), key=lambda column: (-load[held[column]], -column))
        for column in fullest[: max(len(columns) - limit, 0)]:
            load[held[column]] -= 1
            held[column] = NO_BROKER


def fill_missing_replicas(rules: PlacementRules, replicas: IntArray) -> IntArray:
    """Place the missing replicas.

    Args:
        rules: the rules; they must be feasible for every partition.
        replicas: shape (P, W), from `keep_allowed_replicas`.

    Returns:
        The replicas without gaps. Brokers below their share come first; others exceed it as little as possible.

    Complexity: a max flow for each of O(log P) limits, and a min-cost flow.
    """
    gaps = (replicas == NO_BROKER) & (np.arange(replicas.shape[1]) < rules.factor[:, None])
    rows = np.flatnonzero(gaps.any(axis=1))
    if not len(rows):
        return replicas
    arriving = _placed_replicas(rules, replicas, rows, gaps.sum(axis=1))
    filled = replicas.copy()
    filled[gaps] = arriving[:, 1]
    return filled


def _placed_replicas(rules: PlacementRules, replicas: IntArray, rows: IntArray, missing: IntArray) -> IntArray:
    """Return row and broker of each placed replica, sorted."""
    all_brokers = np.arange(len(rules.brokers))
    width = None if rules.is_dense(len(rows)) else WIDTH
    no_departures = np.zeros((0, 2), dtype=np.int64)
    graph = ReplicaMoveGraph.of(rules, replicas, no_departures, destinations(rules, replicas, rows, all_brokers, width))
    shares = rules.shares(replicas)
    arcs, source = _network(graph, shares, missing, _min_excess(graph, shares, missing))
    return graph.arrivals(max_flow_min_cost(arcs, source, source + 1, source + 2))


def _min_excess(graph: ReplicaMoveGraph, shares: EvenShares, missing: IntArray) -> int:
    """Return the minimum number of replicas above its share, rounded up, that some receiving broker must hold."""

    def fits(excess: int) -> bool:
        arcs, source = _network(graph, shares, missing, excess)
        return bool(max_flow(arcs, source, source + 1)[arcs.tail == source].sum() == missing.sum())

    lower, upper = 0, 0
    while upper < missing.sum() and not fits(upper):
        lower, upper = upper + 1, 2 * upper + 1
    while lower < upper:
        middle = (lower + upper) // 2
        lower, upper = (lower, middle) if fits(middle) else (middle + 1, upper)
    return upper


def _network(graph: ReplicaMoveGraph, shares: EvenShares, missing: IntArray, excess: int) -> tuple[Arcs, int]:
    """Return the graph with an additional source node, and its number; the next number is the sink."""
    source, brokers, incomplete = graph.num_nodes, np.arange(len(shares.load)), np.flatnonzero(missing)
    excess_capacity = np.clip(shares.ceiling + excess - np.maximum(shares.load, shares.floor), 0, None)
    arcs = Arcs.joined(
        graph.arcs,
        arcs_between(source, graph.partition[incomplete], missing[incomplete]),
        arcs_between(brokers, source + 1, shares.must_take),
        arcs_between(brokers, source + 1, excess_capacity, cost=1),
    )
    return arcs, source
