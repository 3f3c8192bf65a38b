"""Balance of leaders per topic, by one chain of swaps after the other."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.normalized_problem import CanonicalState
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import NO_BROKER, ClusterState, rows_by_topic


@dataclass(frozen=True, slots=True)
class LeaderChainSwap:
    """Shift one leader at a time along a chain, from the broker with most leaders of a topic to the one with fewest.

    Brokers are nodes, and each partition has edges from its leader to its followers. Along the shortest path every
    broker hands over the leadership of one partition: only the counts at both ends change. This is the baseline of
    `LeaderMaxFlow`, which finds all chains at once.

    Guarantees: Moves no replica. No chain remains that would reduce the skew, so the skew is minimal. The plan is
    idempotent and independent of the input order. The number of changes is not bounded: each chain is chosen
    independently.
    Priority: The broker with most leaders first; among the brokers that it reaches, the one with fewest, then the
    nearest, then the lowest id.
    Complexity: O(B²) per chain, with at most as many chains as leaders above the shares; and O(B) for brokers without a
    chain.
    Source: Pinterest Engineering, "Using graph algorithms to optimize Kafka operations", part 1, as described in part
    2. It does not cover a broker with most leaders and no path; here the next broker follows.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        moves_replicas=False, balances_leaders=True, is_idempotent=True, is_order_independent=True
    )

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose an order of every partition's replicas."""
        canonical = CanonicalState.of(state)
        replicas = canonical.state.replicas.copy()
        for _, rows in rows_by_topic(canonical.state):
            replicas[rows] = _balance_leaders(replicas[rows])
        return Plan(PlanStatus.FEASIBLE, canonical.to_input_order(replicas))


def _balance_leaders(replicas: IntArray) -> IntArray:
    """Return the replicas of one topic in balanced order."""
    topic = _TopicLeaders(replicas)
    is_dead_end = np.zeros(len(topic.load), dtype=np.bool_)
    while True:
        # Later chains never relieve a dead end: all brokers that it reaches have similar counts, and brokers with more
        # leaders went first.
        fullest = int(np.where(is_dead_end, NO_BROKER, topic.load).argmax())
        if is_dead_end[fullest] or topic.load[fullest] - topic.load.min() < 2:
            return topic.replicas()
        chain = topic.chain(fullest)
        if chain:
            topic.shift_leaders(chain)
        else:
            is_dead_end[fullest] = True


class _TopicLeaders:
    """The leaders of a topic; brokers are numbered without gaps, in the order of their ids."""

    def __init__(self, replicas: IntArray) -> None:
        is_replica = replicas != NO_BROKER
        self._brokers, number = np.unique(replicas[is_replica], return_inverse=True)
        self._held = np.full(replicas.shape, NO_BROKER, dtype=np.int64)
        self._held[is_replica] = number
        self.load = np.bincount(self._held[:, 0], minlength=len(self._brokers))
        self._edges = np.zeros((len(self._brokers), len(self._brokers)), dtype=np.int32)
        for column in range(1, replicas.shape[1]):
            held = is_replica[:, column]
            np.add.at(self._edges, (self._held[held, 0], self._held[held, column]), 1)

    def replicas(self) -> IntArray:
        """Return the replicas, shape (P, W); rows of the cluster's brokers."""
        replicas: IntArray = np.append(self._brokers, NO_BROKER)[self._held]
        return replicas

    def chain(self, first: int) -> list[int]:
        """Return the chain from a broker to the reachable one with fewest leaders; empty if the counts are within 1."""
        predecessor = np.full(len(self.load), NO_BROKER, dtype=np.int64)
        is_seen: BoolArray = np.zeros(len(self.load), dtype=np.bool_)
        is_seen[first] = True
        frontier, best, least = np.array([first]), NO_BROKER, self.load.min()
        while len(frontier) and (best == NO_BROKER or self.load[best] > least):
            has_edge = self._edges[frontier] > 0
            reached = np.flatnonzero(has_edge.any(axis=0) & ~is_seen)
            predecessor[reached] = frontier[has_edge[:, reached].argmax(axis=0)]
            is_seen[reached] = True
            if len(reached):
                emptiest = int(reached[self.load[reached].argmin()])
                best = emptiest if best == NO_BROKER or self.load[emptiest] < self.load[best] else best
            frontier = reached
        if best == NO_BROKER or self.load[first] - self.load[best] < 2:
            return []
        path = [best]
        while path[-1] != first:
            path.append(int(predecessor[path[-1]]))
        return path[::-1]

    def shift_leaders(self, chain: list[int]) -> None:
        """Shift the first possible partition from every broker of a chain to the next."""
        for source, target in pairwise(chain):
            is_follower = self._held[:, 1:] == target
            row = int((is_follower.any(axis=1) & (self._held[:, 0] == source)).argmax())
            column = int(is_follower[row].argmax()) + 1
            followers = self._held[row, 1:]
            self._edges[source, followers[followers != NO_BROKER]] -= 1
            self._held[row, 0], self._held[row, column] = target, source
            followers = self._held[row, 1:]
            self._edges[target, followers[followers != NO_BROKER]] += 1
            self.load[source] -= 1
            self.load[target] += 1
