"""The most even placement that copies least: a min-cost flow over few arcs, and a proof that these suffice.

A placement is *most even* if the sum of its squared counts is minimal. The achievable counts (replicas per broker, or
leaders per broker given the replicas) form an M-convex set. Its most even elements therefore have the lowest maximum
and the highest minimum at once, for every strictly convex measure.

A unit of flow is a replica. It goes from its partition through the rack, if the rack limit may bind, to a broker, and
on to a sink that requires even counts. A candidate is a pair of a partition and a broker without a replica of it, as
one number (partition * brokers + broker). The first flow has a small sample of candidates; more are added if the proof
requires them. Lists of candidates are sorted and free of duplicates.

Source: Frank and Murota, "Decreasing minimization on M-convex sets".
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from assignors.flow.min_cost import MAX_COST, Arcs, distances, min_cost_flow
from assignors.model.columns import BoolArray, IntArray, distinct, is_among
from assignors.replicas.normalized_problem import NUM_TIE_BREAKERS, HashArray, NormalizedProblem, mix_bits
from assignors.replicas.plan import PlanRequest
from assignors.replicas.state import NO_BROKER, ClusterState


@dataclass(frozen=True, eq=False)
class TopicShares:
    """The nodes for pairs of topic and broker.

    Attributes:
        of_pair: the node of each pair of a partition and a broker; empty if topics are not balanced.
        broker: the broker of each node.
        counts: the maximum flow through each node.
    """

    of_pair: IntArray
    broker: IntArray
    counts: IntArray

    @classmethod
    def of(cls, problem: NormalizedProblem, partition: IntArray, broker: IntArray) -> TopicShares:
        """Return the nodes for these pairs."""
        keys = problem.topic[partition] * problem.num_brokers + broker
        shares, of_pair, counts = np.unique(keys, return_inverse=True, return_counts=True)
        return cls(of_pair, shares % problem.num_brokers, counts)

    @classmethod
    def none(cls) -> TopicShares:
        """Return no nodes: the flow goes to brokers directly."""
        no_entries = np.empty(0, dtype=np.int64)
        return cls(no_entries, no_entries, no_entries)

    def __len__(self) -> int:
        return len(self.broker)

    @cached_property
    def steps(self) -> IntArray:
        """Return the cost steps of each node's units of flow: 0 for the first, 1 for the second, and so on, by node.

        Their sum is minimal if the counts of each topic are most even.
        """
        steps: IntArray = np.arange(self.counts.sum()) - np.repeat(np.cumsum(self.counts) - self.counts, self.counts)
        return steps

    def arcs(self, first_share: int, first_broker: int, step: int) -> Arcs:
        """Return arcs from nodes to brokers, one per entry of `steps`."""
        share = np.repeat(np.arange(len(self)), self.counts)
        ones = np.ones(len(share), dtype=np.int64)
        return Arcs(first_share + share, first_broker + self.broker[share], ones, step * self.steps)


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


def most_even_counts(problem: NormalizedProblem) -> IntArray:
    """Return the replica counts of brokers in a most even placement that racks allow, shape (A,).

    The brokers of a rack can always share evenly, and partitions of one replication factor are equivalent, so a flow
    from factors to racks finds it. Which brokers of a rack hold one replica more is arbitrary. Raises ValueError if no
    placement meets the rack limits.
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
            low, more = np.divmod(np.bincount(rack, flows[: len(rack)], minlength=len(sizes)).astype(np.int64), sizes)
            by_rack = np.argsort(problem.rack, kind="stable")
            rack_of = problem.rack[by_rack]
            rank = np.arange(brokers) - (np.cumsum(sizes) - sizes)[rack_of]
            counts = np.empty(brokers, dtype=np.int64)
            counts[by_rack] = low[rack_of] + (rank < more[rack_of])
            return counts
    raise ValueError("the racks cannot hold all replicas within their limits")


def replica_count_range(problem: NormalizedProblem) -> CountRange:
    """Return the range of replica counts in the most even placement; raises as `most_even_counts`."""
    counts = most_even_counts(problem)
    return CountRange(int(counts.min()), int(counts.max()))


def sink_demands(total: int, num_brokers: int, count_range: CountRange) -> IntArray:
    """Return the demands of the two sinks of `convex_cost_arcs`."""
    least = count_range.least * num_brokers
    return np.array([-least, least - total])


def replica_copy_costs(problem: NormalizedProblem, by_bytes: bool) -> tuple[IntArray | None, int]:
    """Return the copy costs, shape (P,), and their unit in bytes; None and 1 if every replica costs the same.

    Costs times the unit are the sizes, or slightly less if the sizes vary too much for exact costs.
    """
    sizes = problem.canonical.state.size_bytes
    if not by_bytes or sizes is None:
        return None, 1
    unit = max(1, int(np.gcd.reduce(sizes)))
    replicas, count_range = int(problem.factors.sum()), replica_count_range(problem)
    nodes = problem.num_partitions * (1 + len(problem.rack_sizes)) + problem.num_brokers + 2
    all_copies = replicas * (count_range.most - count_range.least) if count_range.most - count_range.least > 1 else 1
    fits = MAX_COST // (2 * (replicas + 1) * nodes * all_copies)
    unit *= -(-int(sizes.max()) // (unit * max(fits, 1))) or 1
    return sizes // unit, unit


def all_candidates(problem: NormalizedProblem) -> IntArray:
    """Return all candidates."""
    return new_pairs(np.arange(problem.num_partitions * problem.num_brokers), problem.held_pairs)


def sample_candidates(problem: NormalizedProblem, free: IntArray, min_added: IntArray, num_samples: int) -> IntArray:
    """Sample candidates by hash, weighted by the free counts of brokers: in the rack of each replica, and in any rack.

    For replicas that must be added, brokers without free counts are sampled as well: other replicas may leave them.
    `free`, shape (A,): the number of replicas that a broker may add. `min_added`, shape (P,): the minimum number of
    replicas that each partition must add. `num_samples`: the number of candidates per replica, partition, or added
    replica. The result is sorted candidates.
    """
    partition, position = np.nonzero(problem.held != NO_BROKER)
    rack = problem.rack[problem.held[partition, position]]
    samples = []
    for rack_number in range(len(problem.rack_sizes)) if len(problem.rack_sizes) > 1 else ():
        chosen = partition[rack == rack_number]
        in_rack = problem.rack == rack_number
        samples.append(_sample(problem, chosen, np.where(in_rack, free, 0), in_rack, num_samples))
    partitions = np.arange(problem.num_partitions)
    anywhere = np.ones(problem.num_brokers, dtype=np.bool_)
    samples.append(_sample(problem, partitions, free, anywhere, num_samples))
    samples.append(_sample(problem, np.repeat(partitions, min_added), free, anywhere, num_samples))
    samples.append(_sample(problem, np.repeat(partitions, min_added), np.ones_like(free), anywhere, num_samples))
    return new_pairs(np.concatenate(samples), problem.held_pairs)


def new_pairs(pairs: IntArray, known: IntArray) -> IntArray:
    """Return the pairs that are not in `known`, which is sorted; sorted and without duplicates."""
    pairs = distinct(pairs)
    return pairs[~is_among(pairs, known)]


def _sample(
    problem: NormalizedProblem, partition: IntArray, free: IntArray, is_eligible: np.ndarray, num_samples: int
) -> IntArray:
    brokers = np.flatnonzero(is_eligible)
    slots = np.repeat(brokers, free[brokers]) if free[brokers].any() else brokers
    if not len(slots):
        return np.empty(0, dtype=np.int64)
    seeds: HashArray = np.repeat(problem.partition_hash[partition], num_samples)
    # A partition may occur several times; each occurrence is a draw of its own.
    draw_number = mix_bits(np.arange(len(seeds), dtype=np.uint64))
    slot = (mix_bits(seeds ^ draw_number) % np.uint64(len(slots))).astype(np.int64)
    return np.repeat(partition, num_samples) * problem.num_brokers + slots[slot]


SAMPLE_SIZE = 4
"""The default number of candidates per sample in the first flow."""
SAMPLE_SIZE_OF_FEW = 16
"""The number of candidates per sample in a flow of few partitions, and of partitions per replica that must move."""
MAX_DENSE_PAIRS = 200_000
"""The default maximum of pairs of partition and broker that are all candidates and balance the counts per topic."""
TIE_BREAKING_PAIRS = 1_000_000
"""The maximum number of pairs with ties broken by hash."""
ARCS_PER_S = 200_000
"""The number of arcs that counts as one second of the time limit."""


@dataclass(frozen=True, slots=True, eq=False)
class ReplicaPlacement:
    """The brokers that hold each partition.

    Attributes:
        pairs: sorted pairs, as in `candidates`.
        value: the weight of the copied replicas.
        bound: a lower bound on the copied weight of every most even placement.
        count_range: the lowest and the highest replica count of a broker.
    """

    pairs: IntArray
    value: int
    bound: int
    count_range: CountRange


def place(
    problem: NormalizedProblem,
    weight: IntArray | None = None,
    time_limit_s: float = 60.0,
    *,
    max_dense_pairs: int = MAX_DENSE_PAIRS,
    sample_size: int = SAMPLE_SIZE,
) -> ReplicaPlacement:
    """Find the most even placement that copies least.

    `problem`: a feasible problem, as `planning.plan` ensures. `weight`, shape (P,): the cost of copying a replica;
    1 each if None. Ties are broken by the number of copied replicas. `time_limit_s`: the time limit of the proof in
    seconds, counted in arcs of solved flows (200,000 per second), so that the result does not depend on the machine. A
    placement is always returned. `max_dense_pairs`: the maximum number of pairs of partition and broker that are all
    candidates; larger problems start with a sample of candidates, and do not balance the counts per topic.
    `sample_size`: the number of candidates per sample in the first flow; it doubles in each further flow. Returns the
    placement, with its copied weight and a lower bound.
    """
    search = _Search(problem, weight, max_dense_pairs)
    if not search.is_dense and (placement := search.placement_of_few()) is not None:
        return placement
    pairs = search.first_candidates(sample_size)
    arcs, num_samples = 0, sample_size
    while True:
        network = _ReplicaNetwork(search, pairs)
        flows = min_cost_flow(network.arcs, network.supply)
        arcs += len(network.arcs.tail)
        if flows is None:
            num_samples *= 2
            pairs = search.sample(num_samples)
            continue
        taken = flows[: len(network.pairs)] > 0
        candidates_to_add = (
            search.no_pairs if network.reaches_bounds(taken) else network.improving_candidates(flows, num_samples)
        )
        if not len(candidates_to_add):
            return search.placement(network.pairs[taken], network.copied_weight(taken))
        if arcs > time_limit_s * ARCS_PER_S:
            return search.placement(network.pairs[taken], search.bound)
        num_samples *= 2
        pairs = distinct(np.concatenate([pairs, candidates_to_add]))


def min_replica_moves(state: ClusterState, request: PlanRequest, time_limit_s: float = 60.0) -> int:
    """Return the fewest replicas to copy for counts as even as racks allow: exact, unless the time limit is reached.

    It bounds plans of all strategies that meet every `PlanRule` and are as even; a plan with less even counts may move
    less. `ExactFlow` copies as many. After its time limit the result is still a lower bound.
    """
    return place(NormalizedProblem.of(state, request), None, time_limit_s).bound


class _Search:
    """The data that all flows of one search share.

    Attributes:
        target: shape (A,); the counts of a most even placement, those nearest to the current counts.
        fixed: shape (A,); the replicas on each broker of partitions that are not part of the problem.
        squares: the sum of squared counts of a most even placement, including `fixed`.
        bound: a lower bound on the copied weight.
    """

    no_pairs = np.empty(0, dtype=np.int64)

    def __init__(self, problem: NormalizedProblem, weight: IntArray | None, max_dense_pairs: int) -> None:
        self.problem = problem
        self.max_dense_pairs = max_dense_pairs
        counts = most_even_counts(problem)
        self.count_range = CountRange(int(counts.min()), int(counts.max()))
        self.squares = int((counts**2).sum())
        self.target = _nearest(problem, counts)
        self.fixed = np.zeros(problem.num_brokers, dtype=np.int64)
        self.is_weighted = weight is not None
        self.weight = np.ones(problem.num_partitions, dtype=np.int64) if weight is None else weight
        self._set_replicas()
        self.bound = int((self.min_added * self.weight).sum())
        if weight is None:
            self.bound = max(self.bound, min_added_by_counts(problem, self.target))

    def _set_replicas(self) -> None:
        self.held = self.problem.held_pairs
        self.min_added = min_added_replicas(self.problem)
        self.is_preferred = is_among(self.held, self._preferred())

    @property
    def is_dense(self) -> bool:
        """Whether all pairs of partition and broker are candidates."""
        return self.problem.num_partitions * self.problem.num_brokers <= self.max_dense_pairs

    def placement_of_few(self) -> ReplicaPlacement | None:
        """Return a placement in which few partitions may change, if counting proves that it is optimal, or else None.

        These must add or remove replicas, or are in a sample of the partitions on brokers with too many replicas.
        """
        problem = self.problem
        may_change = self._few()
        rows = np.flatnonzero(may_change)
        if len(rows) > problem.num_partitions // 2:
            return None
        kept = problem.held[~may_change]
        few = copy(self)
        few.problem, few.weight = problem.take(rows), self.weight[rows]
        few.fixed = np.bincount(kept[kept != NO_BROKER], minlength=problem.num_brokers)
        few._set_replicas()
        network = _ReplicaNetwork(few, few.sample(SAMPLE_SIZE_OF_FEW))
        flows = min_cost_flow(network.arcs, network.supply) if len(rows) else np.zeros(len(network.arcs.tail), np.int64)
        if flows is None or not network.reaches_bounds(taken := flows[: len(network.pairs)] > 0):
            return None
        placed = rows[network.partition[taken]] * problem.num_brokers + network.broker[taken]
        kept_pairs = self.held[~may_change[self.held // problem.num_brokers]]
        return self.placement(np.concatenate([kept_pairs, placed]), self.bound)

    def _few(self) -> BoolArray:
        """Return the partitions that may change in `placement_of_few`, shape (P,)."""
        problem = self.problem
        held = problem.held != NO_BROKER
        chosen: BoolArray = (self.min_added > 0) | (held.sum(axis=1) != problem.factors)
        wanted = SAMPLE_SIZE_OF_FEW * np.maximum(_counts(problem) - self.target, 0)
        partition, position = np.nonzero(held & (wanted[problem.held] > 0) & ~chosen[:, None])
        broker = problem.held[partition, position]
        order = np.lexsort((problem.partition_hash[partition], broker))
        rank = np.arange(len(order)) - np.searchsorted(broker[order], broker[order])
        chosen[partition[order[rank < wanted[broker[order]]]]] = True
        return chosen

    def first_candidates(self, sample_size: int) -> IntArray:
        """Return the candidates of the first flow."""
        return all_candidates(self.problem) if self.is_dense else self.sample(sample_size)

    def sample(self, num_samples: int) -> IntArray:
        """Return a sample of candidates, or all of them."""
        problem = self.problem
        if num_samples >= problem.num_brokers:
            return all_candidates(problem)
        free = np.maximum(self.target - self.fixed - _counts(problem), 0)
        return sample_candidates(problem, free, self.min_added, num_samples)

    def placement(self, pairs: IntArray, bound: int) -> ReplicaPlacement:
        partition = new_pairs(pairs, self.held) // self.problem.num_brokers
        return ReplicaPlacement(np.sort(pairs), int(self.weight[partition].sum()), bound, self.count_range)

    def _preferred(self) -> IntArray:
        first = self.problem.held[:, 0]
        present = np.flatnonzero(first != NO_BROKER)
        return present * self.problem.num_brokers + first[present]


class _ReplicaNetwork:
    """The flow network over current replicas and some candidates."""

    def __init__(self, search: _Search, candidate_pairs: IntArray) -> None:
        problem = search.problem
        self.search, self.problem = search, problem
        self.pairs = np.concatenate([search.held, candidate_pairs])
        self.is_new = np.arange(len(self.pairs)) >= len(search.held)
        self.partition, self.broker = np.divmod(self.pairs, problem.num_brokers)
        self.rack = problem.rack[self.broker]
        self._add_rack_nodes()
        self.first_share = problem.num_partitions + len(self.limited_partition)
        has_topic_nodes = len(self.pairs) <= search.max_dense_pairs
        self.shares = TopicShares.of(problem, self.partition, self.broker) if has_topic_nodes else TopicShares.none()
        self.first_broker = self.first_share + len(self.shares)
        self.head = self.first_share + self.shares.of_pair if len(self.shares) else self.first_broker + self.broker
        self.num_nodes = self.first_broker + problem.num_brokers + 2
        self.arcs = self._arcs(*self._costs())
        self.supply = np.zeros(self.num_nodes, dtype=np.int64)
        self.supply[: problem.num_partitions] = problem.factors
        base = int(np.maximum(search.count_range.least - search.fixed, 0).sum())
        self.supply[-2:] = -base, base - int(problem.factors.sum())

    def reaches_bounds(self, taken: BoolArray) -> bool:
        """Return whether counting proves that the flow is most even and copies least."""
        counts = self.search.fixed + np.bincount(self.broker[taken], minlength=self.problem.num_brokers)
        return int((counts**2).sum()) == self.search.squares and self.copied_weight(taken) <= self.search.bound

    def copied_weight(self, taken: BoolArray) -> int:
        """Return the weight of the replicas that the flow copies."""
        return int(self.search.weight[self.partition[taken & self.is_new]].sum())

    def improving_candidates(self, flows: IntArray, limit_per_rack: int) -> IntArray:
        """Return further candidates that might make the flow cheaper, up to a number per partition and rack.

        If there are none, the flow is proven optimal over all candidates.
        """
        problem, weight = self.problem, self.search.weight
        plain = self._arcs(np.where(self.is_new, weight[self.partition], 0), 0, self._plain_step())
        distance = distances(plain, flows, self.num_nodes)
        broker_distance = distance[self.first_broker : self.first_broker + problem.num_brokers]
        used = flows[: len(self.pairs)] > 0
        reach = distance[self.head] - plain.cost[: len(self.pairs)]
        known = np.sort(self.pairs)
        candidate_lists = []
        for rack in range(len(problem.rack_sizes)):
            in_rack = used & (self.rack == rack)
            distance_limit = distance[: problem.num_partitions].copy()
            is_full = np.bincount(self.partition[in_rack], minlength=len(distance_limit)) >= problem.rack_limits
            via_replicas = np.full(len(distance_limit), np.iinfo(np.int64).max)
            np.minimum.at(via_replicas, self.partition[in_rack], reach[in_rack])
            limit = np.where(is_full, via_replicas, distance_limit) + np.where(is_full, 0, weight)
            limit[is_full] += weight[is_full]
            candidate_lists.append(
                new_pairs(self._farther_brokers(limit, broker_distance, rack, limit_per_rack), known)
            )
        return np.concatenate(candidate_lists)

    def _farther_brokers(self, limit: IntArray, broker_distance: IntArray, rack: int, limit_per_rack: int) -> IntArray:
        """Return pairs with the brokers of a rack whose distance exceeds the limit of the partition."""
        brokers = np.flatnonzero(self.problem.rack == rack)
        brokers = brokers[np.argsort(-broker_distance[brokers], kind="stable")]
        count = np.searchsorted(-broker_distance[brokers], -limit, side="left")
        partition = np.flatnonzero(count)
        count = count[partition]
        turn = (self.problem.partition_hash[partition] % count.astype(np.uint64)).astype(np.int64)
        pairs = []
        for number in range(min(limit_per_rack, int(count.max(initial=0)))):
            has_more = number < count
            index = (turn[has_more] + number) % count[has_more]
            pairs.append(partition[has_more] * self.problem.num_brokers + brokers[index])
        return np.concatenate(pairs) if pairs else self.search.no_pairs

    def _add_rack_nodes(self) -> None:
        """Add nodes for pairs of partition and rack whose limit may bind."""
        racks = len(self.problem.rack_sizes)
        partition_rack = self.partition * racks + self.rack
        groups, group, sizes = np.unique(partition_rack, return_inverse=True, return_counts=True)
        is_limited = sizes > self.problem.rack_limits[groups // racks]
        self.limited_partition = groups[is_limited] // racks
        number = self.problem.num_partitions + np.cumsum(is_limited) - 1
        self.tail = np.where(is_limited, number, groups // racks)[group]

    def _arcs(self, cost: IntArray, topic_step: int, step: int) -> Arcs:
        problem = self.problem
        ones, none = np.ones(len(self.pairs), dtype=np.int64), np.zeros(len(self.limited_partition), dtype=np.int64)
        to_rack = problem.num_partitions + np.arange(len(self.limited_partition))
        brokers = self.first_broker + np.arange(problem.num_brokers)
        return Arcs.joined(
            Arcs(self.tail, self.head, ones, cost),
            Arcs(self.limited_partition, to_rack, problem.rack_limits[self.limited_partition], none),
            self.shares.arcs(self.first_share, self.first_broker, topic_step),
            self._arcs_to_sinks(brokers, step),
        )

    def _arcs_to_sinks(self, brokers: IntArray, step: int) -> Arcs:
        """Return arcs from brokers to the sinks, without the counts that fixed replicas use up."""
        least, most = self.search.count_range
        sizes, sinks = np.ones(len(brokers), dtype=np.int64), (self.num_nodes - 2, self.num_nodes - 1)
        arcs = convex_cost_arcs(brokers, sizes, self.search.count_range, sinks, step)
        used = self.search.fixed - least
        is_free = np.tile(np.arange(most - least), len(brokers)) >= np.repeat(used, most - least)
        return replace(arcs, capacity=np.concatenate([np.maximum(-used, 0), is_free.astype(np.int64)]))

    def _plain_step(self) -> int:
        """Return a cost above that of copying everything; 0 if counts differ by at most 1 in any case."""
        count_range, factors = self.search.count_range, self.problem.factors
        return int((factors * self.search.weight).sum()) + 1 if count_range.most - count_range.least > 1 else 0

    def _costs(self) -> tuple[IntArray, int, int]:
        """Return the costs of arcs from partitions, and the cost steps of topics and of brokers.

        Topics and hashes break ties if the costs fit and there are not too many pairs; otherwise the order of names
        does. Many different costs make the flow several times slower.
        """
        width = self.search.count_range.most - self.search.count_range.least
        for ties in (NUM_TIE_BREAKERS, 1, 0) if len(self.pairs) <= TIE_BREAKING_PAIRS else (0,):
            costs = cost, topic_step, step = self._costs_with(ties)
            topics = topic_step * int(self.shares.counts.max(initial=0))
            if max(int(cost.max(initial=0)), topics, step * width) * self.num_nodes < MAX_COST:
                break
        return costs

    def _costs_with(self, ties: int) -> tuple[IntArray, int, int]:
        """Return the costs with this number of tie breakers.

        All ties together cost less than one topic step, all topic steps less than one replica, and all replicas less
        than one unit of weight.
        """
        replicas = int(self.problem.factors.sum())
        tie = np.zeros(len(self.pairs), dtype=np.int64)
        if ties:
            tie = self.problem.ties(self.partition, self.broker, ties) + 1
            tie[: len(self.search.held)][self.search.is_preferred] = 0
        topic_step = ties * replicas + 1 if ties else 0
        topics = topic_step * int(self.shares.steps.sum())
        copy = ties * replicas + topics + 1
        weight_cost = (copy + ties) * replicas + topics + 1 if self.search.is_weighted else 0
        cost = tie + np.where(self.is_new, weight_cost * self.search.weight[self.partition] + copy, 0)
        max_total = weight_cost * int((self.search.weight * self.problem.factors).sum()) + (copy + ties) * replicas
        return cost, topic_step, max_total + topics + 1 if self._plain_step() else 0


def min_added_replicas(problem: NormalizedProblem) -> IntArray:
    """Return the minimum number of replicas that each partition must add for the rules alone, shape (P,)."""
    racks = len(problem.rack_sizes)
    partition, position = np.nonzero(problem.held != NO_BROKER)
    flat = partition * racks + problem.rack[problem.held[partition, position]]
    groups, sizes = np.unique(flat, return_counts=True)
    kept = np.minimum(sizes, problem.rack_limits[groups // racks])
    kept_counts = np.bincount(groups // racks, kept, minlength=problem.num_partitions).astype(np.int64)
    added: IntArray = np.maximum(problem.factors - kept_counts, 0)
    return added


def min_added_by_counts(problem: NormalizedProblem, target: IntArray) -> int:
    """Return the minimum number of replicas to add so that counts are most even.

    `target`, shape (A,): the most even counts that are nearest to the current ones. If the number of replicas in each
    rack follows from the limits, no other most even counts are nearer. Otherwise, each count is only known to be within
    the range of all.
    """
    counts = _counts(problem)
    least, most = target, target
    if (np.minimum(problem.rack_limits[:, None], problem.rack_sizes).sum(axis=1) > problem.factors).any():
        least, most = np.full_like(target, target.min()), np.full_like(target, target.max())
    increase = int(problem.factors.sum() - counts.sum())
    return max(int(np.maximum(least - counts, 0).sum()), int(np.maximum(counts - most, 0).sum()) + increase, 0)


def _counts(problem: NormalizedProblem) -> IntArray:
    """Return the current replica counts of brokers, shape (A,)."""
    return np.bincount(problem.held[problem.held != NO_BROKER], minlength=problem.num_brokers).astype(np.int64)


def _nearest(problem: NormalizedProblem, most_even: IntArray) -> IntArray:
    """Return the most even counts, in each rack the higher ones on the brokers that have more now."""
    target = np.empty_like(most_even)
    target[np.lexsort((_counts(problem), problem.rack))] = most_even[np.lexsort((most_even, problem.rack))]
    return target
