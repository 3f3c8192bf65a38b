"""The evenest leaders that given replicas admit, with fewest changes: a minimum-cost flow.

A unit of flow is a partition's leadership: it goes from the partition to one of its replicas and on to a sink that
demands even counts; where topics shall be even by themselves, by way of its broker's share of the topic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.flow.min_cost import MAX_COST, Arcs, min_cost_flow
from assignors.model.columns import IntArray
from assignors.replicas.exact.even_counts import CountRange, convex_cost_arcs, sink_demands, widening_ranges
from assignors.replicas.exact.topic_shares import TopicShares
from assignors.replicas.normalized_problem import NUM_TIE_BREAKERS, NormalizedProblem
from assignors.replicas.state import NO_BROKER


@dataclass(frozen=True, slots=True, eq=False)
class LeaderAssignment:
    """Who leads.

    Attributes:
        broker: shape (P,); places in `Question.brokers`.
        changed: of how many partitions it is another broker than before.
    """

    broker: IntArray
    changed: int


def assign_leaders(question: NormalizedProblem, table: IntArray, per_topic: bool = False) -> LeaderAssignment:
    """Find the evenest leaders with fewest changes of the preferred leader, `Question.held[:, 0]`.

    Args:
        question: the question.
        table: shape (P, W); who holds replicas.
        per_topic: whether the leaders of each topic shall be as even as can be before those of all are.

    Raises:
        ValueError: a partition has no replica that may lead it.
    """
    if not (table != NO_BROKER).any(axis=1).all():
        raise ValueError("a partition has no replica on a broker that may lead it")
    held = np.bincount(table[table != NO_BROKER], minlength=question.num_brokers)
    best = _ideal_of_topics(question) if per_topic else 0
    is_proven = not per_topic
    for span in widening_ranges(question.num_partitions, question.num_brokers, int(held.min())):
        network = _LeaderNetwork(question, table, per_topic, span)
        flows = min_cost_flow(network.arcs, network.supply)
        if flows is None:
            continue
        if network.of_topics(flows) > best and not is_proven:
            best, is_proven = _LeaderNetwork(question, table, per_topic, None).best_of_topics(), True
        if network.of_topics(flows) == best:
            return network.leaders(flows)
    raise ValueError("no partition can be led")


def _ideal_of_topics(question: NormalizedProblem) -> int:
    """How uneven the leaders of topics are, as `_Network.of_topics`, if all brokers may lead all partitions."""
    low, more = np.divmod(np.bincount(question.topic), question.num_brokers)
    return int((question.num_brokers * (low * (low - 1) // 2) + more * low).sum())


class _LeaderNetwork:
    """The flow for one span; for none, brokers may lead as many as they like."""

    def __init__(self, question: NormalizedProblem, table: IntArray, per_topic: bool, span: CountRange | None) -> None:
        self.question, self.span = question, span
        self.partition, place = np.nonzero(table != NO_BROKER)
        self.broker = table[self.partition, place]
        self.shares = TopicShares.of(question, self.partition, self.broker) if per_topic else TopicShares.none()
        self.first_broker = question.num_partitions + len(self.shares)
        self.num_nodes = self.first_broker + question.num_brokers + 2
        cost, step, topic_step = self._costs()
        of_topics = self.shares.arcs(question.num_partitions, self.first_broker, topic_step)
        self.arcs = Arcs.joined(self._led(cost), of_topics, self._stairs(step))
        self.supply = np.zeros(self.num_nodes, dtype=np.int64)
        self.supply[: question.num_partitions] = 1
        self.supply[-2:] = sink_demands(question.num_partitions, question.num_brokers, span or CountRange(0, 1))

    def leaders(self, flows: IntArray) -> LeaderAssignment:
        """Who leads by a flow."""
        taken = flows[: len(self.broker)] > 0
        broker = np.empty(self.question.num_partitions, dtype=np.int64)
        broker[self.partition[taken]] = self.broker[taken]
        return LeaderAssignment(broker, int((broker != self.question.held[:, 0]).sum()))

    def of_topics(self, flows: IntArray) -> int:
        """How uneven the leaders of topics are; 0 where nobody looks."""
        return int((flows[len(self.broker) :][: len(self.shares.rises)] * self.shares.rises).sum())

    def best_of_topics(self) -> int:
        """The least that can be."""
        flows = min_cost_flow(self.arcs, self.supply)
        if flows is None:
            raise ValueError("no partition can be led")
        return self.of_topics(flows)

    def _led(self, cost: IntArray) -> Arcs:
        """From partitions to those who may lead them, or to the shares of those in the topics."""
        to_share = self.question.num_partitions + self.shares.of_pair
        head = to_share if len(to_share) else self.first_broker + self.broker
        return Arcs(self.partition, head, np.ones(len(head), dtype=np.int64), cost)

    def _stairs(self, step: int) -> Arcs:
        brokers = self.first_broker + np.arange(self.question.num_brokers)
        each = np.ones(len(brokers), dtype=np.int64)
        if self.span is None:
            free = each * self.question.num_partitions
            return Arcs(brokers, np.full(len(brokers), self.num_nodes - 1), free, np.zeros(len(brokers), np.int64))
        return convex_cost_arcs(brokers, each, self.span, (self.num_nodes - 2, self.num_nodes - 1), step)

    def _costs(self) -> tuple[IntArray, int, int]:
        """Of arcs from partitions, and how steep the stairs of brokers and of topics are; without ties if too steep."""
        width = 0 if self.span is None else self.span.most - self.span.least
        for ties in (NUM_TIE_BREAKERS, 0):
            step, topic_step = self._steps(ties, width)
            if max(step * width, topic_step * int(self.shares.counts.max(initial=0))) * self.num_nodes < MAX_COST:
                break
        return self._changes(ties), step, topic_step

    def _steps(self, ties: int, width: int) -> tuple[int, int]:
        """More than all changes together; more than all changes and unevenness of brokers together."""
        partitions = self.question.num_partitions
        all_changes = (ties * partitions + 1 + ties) * partitions
        step = all_changes + 1 if width > 1 else 0
        return step, all_changes + step * width * partitions + 1

    def _changes(self, ties: int) -> IntArray:
        """What arcs from partitions cost.

        Those who lead today are liked best if the preferred leader has to change, then those who have the data.
        """
        question = self.question
        changes = self.broker != question.held[self.partition, 0]
        cost = np.where(changes, ties * question.num_partitions + 1, 0)
        if ties:
            tie = 1 + question.ties(self.partition, self.broker, ties // 2)
            has_data = (self.broker[:, None] == question.held[self.partition]).any(axis=1)
            tie = np.where(self.broker == question.leader[self.partition], 0, np.where(has_data, tie, ties))
            cost += np.where(changes, tie, 0)
        return cost
