"""The placement with evenest counts that copies least: a minimum-cost flow over few arcs, and a proof that few will do.

A unit of flow is a replica: it goes from its partition through the rack, where one can be crowded, to a broker, and on
to a sink that demands even counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.flow.min_cost import MAX_COST, Arcs, distances, min_cost_flow
from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.exact import candidates
from assignors.replicas.exact.even_counts import CountRange, convex_cost_arcs, replica_count_range, sink_demands
from assignors.replicas.exact.topic_shares import TopicShares
from assignors.replicas.normalized_problem import NUM_TIE_BREAKERS, NormalizedProblem
from assignors.replicas.state import NO_BROKER

FIRST_SAMPLE_SIZE = 4
"""How many candidates to draw at first for each reason to draw any."""
DENSE_PAIRS = 200_000
"""Up to so many pairs of partitions and brokers are all tried at once, and break ties by topics."""
TIE_BREAKING_PAIRS = 1_000_000
"""Up to so many break ties by hash."""
ARCS_PER_S = 200_000
"""What counts as a second of the time limit."""


@dataclass(frozen=True, slots=True, eq=False)
class ReplicaPlacement:
    """Who holds what.

    Attributes:
        pairs: sorted, as in `candidates`.
        value: what has to be copied, in the unit that was asked for.
        bound: what every evenest placement has to copy at least.
        span: the least and the most replicas that a broker has.
    """

    pairs: IntArray
    value: int
    bound: int
    span: CountRange


def place(question: NormalizedProblem, weight: IntArray | None = None, time_limit_s: float = 60.0) -> ReplicaPlacement:
    """Find the evenest placement that copies least.

    Args:
        question: the question; it has an answer, as `planning.plan` sees to.
        weight: shape (P,); what it costs to copy a replica; 1 each if None. Of those that cost the same, the one with
            fewest replicas copied is taken.
        time_limit_s: when to stop looking for a proof, in seconds as arcs of flows solved (200,000 a second, whatever
            the machine), so that the same question has the same answer everywhere. There is an answer in any case.
    """
    search = _Search(question, weight)
    pairs = search.first()
    arcs, wanted = 0, FIRST_SAMPLE_SIZE
    while True:
        network = _ReplicaNetwork(search, pairs)
        flows = min_cost_flow(network.arcs, network.supply)
        arcs += len(network.arcs.tail)
        if flows is None:
            wanted *= 2
            pairs = search.more(wanted)
            continue
        taken = flows[: len(network.pairs)] > 0
        value = network.copied(taken)
        missing = search.nothing if value <= search.bound else network.missing(flows, wanted)
        if not len(missing):
            return search.placement(network.pairs[taken], value)
        if arcs > time_limit_s * ARCS_PER_S:
            return search.placement(network.pairs[taken], search.bound)
        wanted *= 2
        pairs = np.union1d(pairs, missing)


class _Search:
    """What does not change from flow to flow."""

    nothing = np.empty(0, dtype=np.int64)

    def __init__(self, question: NormalizedProblem, weight: IntArray | None) -> None:
        self.question = question
        self.span = replica_count_range(question)
        self.held = question.held_pairs
        self.lacking = min_added_replicas(question)
        self.is_weighted = weight is not None
        self.weight = np.ones(question.num_partitions, dtype=np.int64) if weight is None else weight
        self.bound = int((self.lacking * self.weight).sum())
        if weight is None:
            self.bound = max(self.bound, min_added_by_counts(question, self.span))
        self.is_preferred = np.isin(self.held, self._preferred())

    def first(self) -> IntArray:
        """The candidates to begin with."""
        if self.question.num_partitions * self.question.num_brokers <= DENSE_PAIRS:
            return candidates.all_candidates(self.question)
        return self.more(FIRST_SAMPLE_SIZE)

    def more(self, wanted: int) -> IntArray:
        """More of them."""
        if wanted >= self.question.num_brokers:
            return candidates.all_candidates(self.question)
        return candidates.sample_candidates(self.question, self.span, self.lacking, wanted)

    def placement(self, pairs: IntArray, bound: int) -> ReplicaPlacement:
        partition = candidates.new_pairs(pairs, self.held) // self.question.num_brokers
        return ReplicaPlacement(np.sort(pairs), int(self.weight[partition].sum()), bound, self.span)

    def _preferred(self) -> IntArray:
        first = self.question.held[:, 0]
        there = np.flatnonzero(first != NO_BROKER)
        return there * self.question.num_brokers + first[there]


class _ReplicaNetwork:
    """The flow over the replicas that are there and some candidates."""

    def __init__(self, search: _Search, fresh: IntArray) -> None:
        question = search.question
        self.search, self.question = search, question
        self.pairs = np.concatenate([search.held, fresh])
        self.is_new = np.arange(len(self.pairs)) >= len(search.held)
        self.partition, self.broker = np.divmod(self.pairs, question.num_brokers)
        self.rack = question.rack[self.broker]
        self._group()
        self.first_share = question.num_partitions + len(self.crowd_partition)
        few = len(self.pairs) <= DENSE_PAIRS
        self.shares = TopicShares.of(question, self.partition, self.broker) if few else TopicShares.none()
        self.first_broker = self.first_share + len(self.shares)
        self.head = self.first_share + self.shares.of_pair if len(self.shares) else self.first_broker + self.broker
        self.num_nodes = self.first_broker + question.num_brokers + 2
        self.arcs = self._arcs(*self._costs())
        self.supply = np.zeros(self.num_nodes, dtype=np.int64)
        self.supply[: question.num_partitions] = question.factors
        self.supply[-2:] = sink_demands(int(question.factors.sum()), question.num_brokers, search.span)

    def copied(self, taken: BoolArray) -> int:
        """What the flow copies."""
        return int(self.search.weight[self.partition[taken & self.is_new]].sum())

    def missing(self, flows: IntArray, each: int) -> IntArray:
        """Candidates that are not there and might make the flow cheaper, up to so many a partition and rack; none if
        none does: then the flow is proven to be the cheapest of all."""
        question, weight = self.question, self.search.weight
        plain = self._arcs(np.where(self.is_new, weight[self.partition], 0), 0, self._plain_step())
        length = distances(plain, flows, self.num_nodes)
        of_broker = length[self.first_broker : self.first_broker + question.num_brokers]
        used = flows[: len(self.pairs)] > 0
        reach = length[self.head] - plain.cost[: len(self.pairs)]
        known = np.sort(self.pairs)
        found = []
        for rack in range(len(question.rack_sizes)):
            ours = used & (self.rack == rack)
            from_here = length[: question.num_partitions].copy()
            full = np.bincount(self.partition[ours], minlength=len(from_here)) >= question.rack_limits
            behind = np.full(len(from_here), np.iinfo(np.int64).max)
            np.minimum.at(behind, self.partition[ours], reach[ours])
            limit = np.where(full, behind, from_here) + np.where(full, 0, weight)
            limit[full] += weight[full]
            found.append(candidates.new_pairs(self._beyond(limit, of_broker, rack, each), known))
        return np.concatenate(found)

    def _beyond(self, limit: IntArray, of_broker: IntArray, rack: int, each: int) -> IntArray:
        """Pairs with the brokers of a rack that are farther away than the limits of partitions."""
        brokers = np.flatnonzero(self.question.rack == rack)
        brokers = brokers[np.argsort(-of_broker[brokers], kind="stable")]
        count = np.searchsorted(-of_broker[brokers], -limit, side="left")
        partition = np.flatnonzero(count)
        count = count[partition]
        turn = (self.question.partition_hash[partition] % count.astype(np.uint64)).astype(np.int64)
        pairs = []
        for number in range(min(each, int(count.max(initial=0)))):
            live = number < count
            spot = (turn[live] + number) % count[live]
            pairs.append(partition[live] * self.question.num_brokers + brokers[spot])
        return np.concatenate(pairs) if pairs else self.search.nothing

    def _group(self) -> None:
        """See which racks some partition could crowd: only they need nodes."""
        racks = len(self.question.rack_sizes)
        place = self.partition * racks + self.rack
        groups, group, sizes = np.unique(place, return_inverse=True, return_counts=True)
        crowds = sizes > self.question.rack_limits[groups // racks]
        self.crowd_partition = groups[crowds] // racks
        number = self.question.num_partitions + np.cumsum(crowds) - 1
        self.tail = np.where(crowds, number, groups // racks)[group]

    def _arcs(self, cost: IntArray, topic_step: int, step: int) -> Arcs:
        question = self.question
        ones, none = np.ones(len(self.pairs), dtype=np.int64), np.zeros(len(self.crowd_partition), dtype=np.int64)
        to_rack = question.num_partitions + np.arange(len(self.crowd_partition))
        brokers = self.first_broker + np.arange(question.num_brokers)
        sinks = (self.num_nodes - 2, self.num_nodes - 1)
        return Arcs.joined(
            Arcs(self.tail, self.head, ones, cost),
            Arcs(self.crowd_partition, to_rack, question.rack_limits[self.crowd_partition], none),
            self.shares.arcs(self.first_share, self.first_broker, topic_step),
            convex_cost_arcs(brokers, np.ones(len(brokers), dtype=np.int64), self.search.span, sinks, step),
        )

    def _plain_step(self) -> int:
        """More than the cost of copying everything, if counts are not as even as can be."""
        span, factors = self.search.span, self.question.factors
        return int((factors * self.search.weight).sum()) + 1 if span.most - span.least > 1 else 0

    def _costs(self) -> tuple[IntArray, int, int]:
        """What arcs from partitions cost, and how steep the stairs of topics and of brokers are.

        Ties are broken by topics and by hash where the numbers fit and there are not too many pairs, else by the order
        of names: different costs make the flow several times slower.
        """
        width = self.search.span.most - self.search.span.least
        for ties in (NUM_TIE_BREAKERS, 1, 0) if len(self.pairs) <= TIE_BREAKING_PAIRS else (0,):
            costs = cost, topic_step, step = self._costs_with(ties)
            topics = topic_step * int(self.shares.counts.max(initial=0))
            if max(int(cost.max(initial=0)), topics, step * width) * self.num_nodes < MAX_COST:
                break
        return costs

    def _costs_with(self, ties: int) -> tuple[IntArray, int, int]:
        """All ties together weigh less than a step of a topic, all of those less than a replica, and all replicas less
        than a unit of weight."""
        replicas = int(self.question.factors.sum())
        tie = np.zeros(len(self.pairs), dtype=np.int64)
        if ties:
            tie = self.question.ties(self.partition, self.broker, ties) + 1
            tie[: len(self.search.held)][self.search.is_preferred] = 0
        topic_step = ties * replicas + 1 if ties else 0
        topics = topic_step * int(self.shares.rises.sum())
        copy = ties * replicas + topics + 1
        weigh = (copy + ties) * replicas + topics + 1 if self.search.is_weighted else 0
        cost = tie + np.where(self.is_new, weigh * self.search.weight[self.partition] + copy, 0)
        dearest = weigh * int((self.search.weight * self.question.factors).sum()) + (copy + ties) * replicas
        return cost, topic_step, dearest + topics + 1 if self._plain_step() else 0


def min_added_replicas(question: NormalizedProblem) -> IntArray:
    """Shape (P,); how many replicas of each partition have to be added, whatever brokers have."""
    racks = len(question.rack_sizes)
    partition, place = np.nonzero(question.held != NO_BROKER)
    flat = partition * racks + question.rack[question.held[partition, place]]
    groups, sizes = np.unique(flat, return_counts=True)
    kept = np.minimum(sizes, question.rack_limits[groups // racks])
    stay = np.bincount(groups // racks, kept, minlength=question.num_partitions).astype(np.int64)
    lacks: IntArray = np.maximum(question.factors - stay, 0)
    return lacks


def min_added_by_counts(question: NormalizedProblem, span: CountRange) -> int:
    """How many replicas have to be added for every broker to have as many as a span admits, whatever they are of."""
    counts = np.bincount(question.held[question.held != NO_BROKER], minlength=question.num_brokers)
    grown = int(question.factors.sum() - counts.sum())
    return max(int(np.maximum(span.least - counts, 0).sum()), int(np.maximum(counts - span.most, 0).sum()) + grown, 0)
