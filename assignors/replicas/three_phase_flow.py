"""Balance of replicas, then leaders, then first followers, each by the same kind of flow.

Replicas are missing if the replication factor rises, a broker is decommissioned, or a rack exceeds its limit. They are
placed by a flow from an additional node, which moves no other replica. Replicas are then balanced by a flow from
brokers with too many through partitions to brokers with too few. A replica that leaves a broker enters the node of its
partition and rack. From there it goes to another broker of the rack, or through the partition to the node of another
rack, within the limit of that rack.

Source: the additional node is that of Appier's "Kafka reassignment 方案" for raising the replication factor; here it
serves all missing replicas.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar
from zlib import crc32

import numpy as np

from assignors.flow.min_cost import Arcs, max_flow, max_flow_min_cost
from assignors.model.columns import IntArray, distinct
from assignors.replicas.even_shares import (
    BalancingMethod,
    Costs,
    EvenShares,
    Pruning,
    arcs_between,
    balance_bins,
    fair_rack_shares,
)
from assignors.replicas.leader_max_flow import balance_first_replicas, swap_columns
from assignors.replicas.normalized_problem import CanonicalState
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import NO_BROKER, ClusterState, broker_membership, count_per_rack, count_replicas

MAX_DENSE_PAIRS = 500_000
"""The default maximum of pairs of partition and broker up to which all pairs are arcs of the flow."""

WIDTH = 16
"""The number of candidate brokers per partition in larger problems."""

CHOICE = 8
"""The number of replicas from which a broker in larger problems gives one away, at first."""


@dataclass(frozen=True, eq=False)
class PlacementRules:
    """The constraints on moves; B is the number of allowed brokers.

    Attributes:
        brokers: shape (B,); their rows in the state.
        rack: shape (B,); rack numbers without gaps; a single rack if racks do not constrain the plan.
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
    """Return the replicas after one flow.

    In a large problem, a flow of a sample of the replicas on brokers above their share is tried first. If each of its
    units takes one hop, no flow of all replicas is better.
    """
    # Sort by broker, not by replica order, so that a second run builds the same network from the result of the first.
    row, column = np.nonzero(replicas != NO_BROKER)
    leaving = np.stack([row, column], axis=1)[np.lexsort((replicas[row, column], row))]
    is_dense = rules.is_dense(len(replicas))
    receivers = np.arange(len(rules.brokers)) if is_dense else np.flatnonzero(shares.is_under)
    sample = leaving if is_dense else _sample(rules, shares, replicas, leaving)
    for tried, width in ((leaving, None),) if is_dense else ((sample, WIDTH), (leaving, WIDTH), (leaving, 8 * WIDTH)):
        rows = np.arange(len(replicas)) if tried is leaving else distinct(tried[:, 0])
        graph = ReplicaMoveGraph.of(rules, replicas, tried, destinations(rules, replicas, rows, receivers, width))
        flow = balance_bins(shares, graph.arcs, graph.num_nodes, len(rules.brokers), method)
        if flow.is_direct or (flow.is_full and tried is leaving):
            break
    departures, arrivals = graph.departures(flow.flows), graph.arrivals(flow.flows)
    moved = replicas.copy()
    moved[departures[:, 0], departures[:, 1]] = arrivals[:, 1]
    return moved


def _sample(rules: PlacementRules, shares: EvenShares, replicas: IntArray, leaving: IntArray) -> IntArray:
    """Return some of the replicas of each broker above its share, in their order: more than must leave."""
    holder = replicas[leaving[:, 0], leaving[:, 1]]
    by_holder = np.lexsort((rules.salt[leaving[:, 0]], holder))
    held = np.bincount(holder, minlength=len(shares.load))
    place = np.arange(len(leaving)) - np.repeat(np.cumsum(held) - held, held)
    wanted = np.where(shares.is_over, CHOICE * (shares.must_give + 1), 0)
    return leaving[np.sort(by_holder[place < np.repeat(wanted, held)])]


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
    for number in distinct(rack[rack != NO_BROKER]):
        columns = np.flatnonzero(rack == number)
        fullest = sorted(columns.tolist(), key=lambda column: (-load[held[column]], -column))
        for column in fullest[: max(len(columns) - limit, 0)]:
            load[held[column]] -= 1
            held[column] = NO_BROKER


def fill_missing_replicas(rules: PlacementRules, replicas: IntArray) -> IntArray:
    """Place the missing replicas.

    `rules`: the rules; they must be feasible for every partition. `replicas`: shape (P, W), from
    `keep_allowed_replicas`. Returns the replicas without gaps. Brokers below their share come first; others exceed it
    as little as possible.

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

    # Where nothing is balanced yet, a broker may hold more than its share before it receives the first one.
    most = int(missing.sum()) + int(np.maximum(shares.load - shares.ceiling, 0).max())
    lower, upper = 0, 0
    while upper < most and not fits(upper):
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


@dataclass(frozen=True, slots=True)
class ThreePhaseFlow:
    """Balance replicas, leaders and first followers over all topics; each phase keeps the results of the previous one.

    The first phase places missing replicas and moves replicas from brokers with too many to brokers with too few. The
    later phases change the order within partitions: leaders as in `LeaderMaxFlow`, but over all topics; then the first
    followers of each leader, so that its partitions are spread evenly over its followers if it fails. The last phase
    needs three replicas: with two, there is only one follower.

    Attributes:
        checks_first: whether a phase first checks that it can improve the balance, and otherwise changes nothing.
            Without it, an even cluster changes again, because the residue lets brokers exchange replicas.
        costs: as in `LeaderMaxFlow`.
        pruning: as in `LeaderMaxFlow`; none, as published, moves more than necessary.
        max_dense_pairs: the maximum number of pairs of partition and broker that the first phase tries; in a larger
            problem it tries a sample of brokers per partition.

    Guarantees: Every partition has its replicas on allowed brokers, within the lowest possible rack limits. With costs
    `fixed`, leader counts differ by at most 1 if the replicas allow it. So do replica counts if racks allow it and all
    pairs of partition and broker are tried; otherwise the counts of brokers are at or next to the share of their racks.
    With `checks_first`, the plan is idempotent. It is independent of the input order.
    Priority: Racks, then replicas, then leaders, then first followers. No phase undoes an earlier one, or looks ahead.
    Complexity: A max flow and a min-cost flow per phase. The first phase has P·B arcs up to `max_dense_pairs`, above
    that arcs to about 16 brokers per partition, of a sample or else of all, or 128 if these do not suffice; the others
    have P·W arcs, the last one in parts of whole leaders. Repeated while the balance improves without becoming even.
    Source: Appier, "Kafka reassignment 方案" (2022). It supports neither racks nor a lower replication factor, and
    mentions that racks could be supported: here pairs of partition and rack are nodes. It gives no costs; `fixed`
    corresponds to the shortest augmenting paths of the algorithms that it names. It does not define balance of pairs of
    leader and follower: here it is the balance of each leader's partitions over its followers.
    """

    checks_first: bool = True
    costs: Costs = "fixed"
    pruning: Pruning = "none"
    max_dense_pairs: int = MAX_DENSE_PAIRS

    capabilities: ClassVar[Capabilities] = Capabilities(
        balances_replicas=True,
        is_rack_aware=True,
        balances_leaders=True,
        spreads_failover=True,
        raises_replication_factor=True,
        decommissions_brokers=True,
        is_idempotent=True,
        is_order_independent=True,
    )

    def __post_init__(self) -> None:
        self._method()

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose replicas for every partition of the state."""
        canonical = CanonicalState.of(state)
        rules = PlacementRules.of(canonical.state, request, self.max_dense_pairs)
        kept = keep_allowed_replicas(rules, canonical.state.replicas, len(state.brokers))
        held, replica_shares = balance_replicas(rules, fill_missing_replicas(rules, kept), self._method())
        with_leaders, leader_shares = _balance_leaders(held, self._method())
        replicas = np.append(rules.brokers, NO_BROKER)[_balance_first_followers(with_leaders, self._method())]
        return Plan(
            PlanStatus.FEASIBLE, canonical.to_input_order(replicas), notes=_notes(replica_shares, leader_shares)
        )

    def _method(self) -> BalancingMethod:
        return BalancingMethod(True, self.costs, self.pruning, self.checks_first)


def _balance_leaders(replicas: IntArray, method: BalancingMethod) -> tuple[IntArray, EvenShares]:
    """Balance leaders over all topics: the second phase."""
    column, shares = balance_first_replicas(replicas, np.zeros(len(replicas), dtype=np.int64), 1, method)
    return swap_columns(replicas, 0, column), shares


def _balance_first_followers(replicas: IntArray, method: BalancingMethod) -> IntArray:
    """Balance the first followers of each leader: the third phase."""
    rows = np.flatnonzero(replicas[:, 1:2].ravel() != NO_BROKER)
    if not len(rows) or replicas.shape[1] < 3:
        return replicas
    leaders, leader = np.unique(replicas[rows, 0], return_inverse=True)
    column, _ = balance_first_replicas(replicas[rows, 1:], leader, len(leaders), method)
    balanced = replicas.copy()
    balanced[rows] = swap_columns(replicas[rows], 1, column + 1)
    return balanced


def _notes(replica_shares: EvenShares, leader_shares: EvenShares) -> tuple[str, ...]:
    """Return notes on remaining imbalance."""
    spreads = {"replicas": int(np.ptp(replica_shares.load)), "leaders": int(np.ptp(leader_shares.load))}
    return tuple(
        f"{counted} per broker stay uneven (range: {spread})" for counted, spread in spreads.items() if spread > 1
    )
