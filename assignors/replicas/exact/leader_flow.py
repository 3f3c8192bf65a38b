"""The most even leaders for given replicas, with the fewest changes, by a min-cost flow.

A unit of flow is the leadership of a partition. It goes from the partition to one of its replicas and on to a sink that
requires even counts. To balance the leaders of each topic, it passes a node for the broker and the topic.
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
    """The leader of each partition.

    Attributes:
        broker: shape (P,); indices in `NormalizedProblem.brokers`.
        changed: the number of partitions whose preferred leader changes.
    """

    broker: IntArray
    changed: int


def assign_leaders(problem: NormalizedProblem, replicas: IntArray, per_topic: bool = False) -> LeaderAssignment:
    """Find the most even leaders with the fewest changes of the preferred leader, `NormalizedProblem.held[:, 0]`.

    `problem`: the current replicas. `replicas`, shape (P, W): the planned replicas. `per_topic` says whether to balance
    the leaders of each topic before those of all topics. Returns the leaders, and the number of changes. Raises
    ValueError if a partition has no replica that may lead it.
    """
    if not (replicas != NO_BROKER).any(axis=1).all():
        raise ValueError("a partition has no replica on an allowed broker")
    held = np.bincount(replicas[replicas != NO_BROKER], minlength=problem.num_brokers)
    min_topic_cost = _ideal_topic_cost(problem) if per_topic else 0
    is_bound_exact = not per_topic
    for count_range in widening_ranges(problem.num_partitions, problem.num_brokers, int(held.min())):
        network = _LeaderNetwork(problem, replicas, per_topic, count_range)
        flows = min_cost_flow(network.arcs, network.supply)
        if flows is None:
            continue
        if network.topic_cost(flows) > min_topic_cost and not is_bound_exact:
            min_topic_cost, is_bound_exact = _LeaderNetwork(problem, replicas, per_topic, None).min_topic_cost(), True
        if network.topic_cost(flows) == min_topic_cost:
            return network.leaders(flows)
    raise ValueError("no feasible assignment of leaders exists")


def _ideal_topic_cost(problem: NormalizedProblem) -> int:
    """Return the unevenness of topic leaders (see `_LeaderNetwork.topic_cost`) if any broker may lead any partition."""
    low, more = np.divmod(np.bincount(problem.topic), problem.num_brokers)
    return int((problem.num_brokers * (low * (low - 1) // 2) + more * low).sum())


class _LeaderNetwork:
    """The flow network for one range of leader counts; without a range, leader counts are not limited."""

    def __init__(
        self, problem: NormalizedProblem, replicas: IntArray, per_topic: bool, count_range: CountRange | None
    ) -> None:
        self.problem, self.count_range = problem, count_range
        self.partition, position = np.nonzero(replicas != NO_BROKER)
        self.broker = replicas[self.partition, position]
        self.shares = TopicShares.of(problem, self.partition, self.broker) if per_topic else TopicShares.none()
        self.first_broker = problem.num_partitions + len(self.shares)
        self.num_nodes = self.first_broker + problem.num_brokers + 2
        cost, step, topic_step = self._costs()
        topic_cost = self.shares.arcs(problem.num_partitions, self.first_broker, topic_step)
        self.arcs = Arcs.joined(self._arcs_to_leaders(cost), topic_cost, self._arcs_to_sinks(step))
        self.supply = np.zeros(self.num_nodes, dtype=np.int64)
        self.supply[: problem.num_partitions] = 1
        self.supply[-2:] = sink_demands(problem.num_partitions, problem.num_brokers, count_range or CountRange(0, 1))

    def leaders(self, flows: IntArray) -> LeaderAssignment:
        """Return the leaders of a flow."""
        taken = flows[: len(self.broker)] > 0
        broker = np.empty(self.problem.num_partitions, dtype=np.int64)
        broker[self.partition[taken]] = self.broker[taken]
        return LeaderAssignment(broker, int((broker != self.problem.held[:, 0]).sum()))

    def topic_cost(self, flows: IntArray) -> int:
        """Return the unevenness of topic leaders; 0 if topics are not balanced."""
        return int((flows[len(self.broker) :][: len(self.shares.steps)] * self.shares.steps).sum())

    def min_topic_cost(self) -> int:
        """Return the lowest possible unevenness of topic leaders.

        Raises ValueError if no feasible assignment of leaders exists.
        """
        flows = min_cost_flow(self.arcs, self.supply)
        if flows is None:
            raise ValueError("no feasible assignment of leaders exists")
        return self.topic_cost(flows)

    def _arcs_to_leaders(self, cost: IntArray) -> Arcs:
        """Return arcs from partitions to their possible leaders, or to the leaders' nodes of the topics."""
        to_share = self.problem.num_partitions + self.shares.of_pair
        head = to_share if len(to_share) else self.first_broker + self.broker
        return Arcs(self.partition, head, np.ones(len(head), dtype=np.int64), cost)

    def _arcs_to_sinks(self, step: int) -> Arcs:
        brokers = self.first_broker + np.arange(self.problem.num_brokers)
        ones = np.ones(len(brokers), dtype=np.int64)
        if self.count_range is None:
            free = ones * self.problem.num_partitions
            return Arcs(brokers, np.full(len(brokers), self.num_nodes - 1), free, np.zeros(len(brokers), np.int64))
        return convex_cost_arcs(brokers, ones, self.count_range, (self.num_nodes - 2, self.num_nodes - 1), step)

    def _costs(self) -> tuple[IntArray, int, int]:
        """Return the costs of arcs from partitions, and the cost steps of brokers and of topics.

        Ties are only broken if the costs fit.
        """
        width = 0 if self.count_range is None else self.count_range.most - self.count_range.least
        for ties in (NUM_TIE_BREAKERS, 0):
            step, topic_step = self._steps(ties, width)
            if max(step * width, topic_step * int(self.shares.counts.max(initial=0))) * self.num_nodes < MAX_COST:
                break
        return self._change_costs(ties), step, topic_step

    def _steps(self, ties: int, width: int) -> tuple[int, int]:
        """Return a cost above all changes together, and one above all changes and the unevenness of brokers."""
        partitions = self.problem.num_partitions
        all_changes = (ties * partitions + 1 + ties) * partitions
        step = all_changes + 1 if width > 1 else 0
        return step, all_changes + step * width * partitions + 1

    def _change_costs(self, ties: int) -> IntArray:
        """Return the costs of arcs from partitions.

        If the preferred leader must change, the current leader is cheapest, then brokers that already hold a replica.
        """
        problem = self.problem
        changes = self.broker != problem.held[self.partition, 0]
        cost = np.where(changes, ties * problem.num_partitions + 1, 0)
        if ties:
            tie = 1 + problem.ties(self.partition, self.broker, ties // 2)
            has_data = (self.broker[:, None] == problem.held[self.partition]).any(axis=1)
            tie = np.where(self.broker == problem.leader[self.partition], 0, np.where(has_data, tie, ties))
            cost += np.where(changes, tie, 0)
        return cost
