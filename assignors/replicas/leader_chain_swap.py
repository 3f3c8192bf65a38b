"""Leaders evened out topic by topic, one chain of swaps after the other."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.canonical import CanonicalState
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import NO_BROKER, ClusterState


@dataclass(frozen=True, slots=True)
class LeaderChainSwap:
    """Hands one leader at a time along a chain, from the broker that leads most of a topic to the one that leads least.

    Brokers are nodes, and each partition an edge from who leads it to each who follows. Along the shortest path every
    broker hands the leader of one partition on: only the two at its ends lead more or less than before. The baseline
    of `LeaderMaxFlow`, which finds all chains at once.

    Guarantees:
        Moves no replica. No chain is left that would lessen the skew, which makes it as small as can be. The same plan
        again changes nothing. The order of the input does not matter. It promises nothing of the number of changes:
        each chain is chosen as if it were the only one.

    Priority:
        The fullest broker first; of those that it reaches, the emptiest, then the nearest; then the lower id.

    Complexity:
        O(B²) for each chain, of which there are at most as many as leaders above the shares; and B for brokers from
        which none leads on.

    Source:
        Pinterest Engineering, "Using graph algorithms to optimize Kafka operations", part 1 as part 2 tells of it.
        What to do where the fullest broker has no path is not said there; here the next fullest has its turn.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        moves_replicas=False, balances_leaders=True, is_idempotent=True, is_order_independent=True
    )

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose an order of every partition's replicas."""
        canonical = CanonicalState.of(state)
        replicas = canonical.state.replicas.copy()
        ends = np.cumsum(np.bincount(canonical.state.topic, minlength=len(state.topics)))
        for rows in np.split(np.arange(len(replicas)), ends[:-1]):
            if len(rows):
                replicas[rows] = _balance_leaders(replicas[rows])
        return Plan(PlanStatus.FEASIBLE, canonical.to_input_order(replicas))


def _balance_leaders(replicas: IntArray) -> IntArray:
    """One topic's replicas, reordered."""
    topic = _TopicLeaders(replicas)
    is_dead_end = np.zeros(len(topic.load), dtype=np.bool_)
    while True:
        # No later chain reaches what a dead end reaches: all of it leads about as much, and fuller brokers went first.
        fullest = int(np.where(is_dead_end, NO_BROKER, topic.load).argmax())
        if is_dead_end[fullest] or topic.load[fullest] - topic.load.min() < 2:
            return topic.replicas()
        chain = topic.chain(fullest)
        if chain:
            topic.hand_on(chain)
        else:
            is_dead_end[fullest] = True


class _TopicLeaders:
    """Who leads what of a topic; brokers are numbered without gaps, in the order of their ids."""

    def __init__(self, replicas: IntArray) -> None:
        there = replicas != NO_BROKER
        self._brokers, number = np.unique(replicas[there], return_inverse=True)
        self._held = np.full(replicas.shape, NO_BROKER, dtype=np.int64)
        self._held[there] = number
        self.load = np.bincount(self._held[:, 0], minlength=len(self._brokers))
        self._edges = np.zeros((len(self._brokers), len(self._brokers)), dtype=np.int32)
        for column in range(1, replicas.shape[1]):
            held = there[:, column]
            np.add.at(self._edges, (self._held[held, 0], self._held[held, column]), 1)

    def replicas(self) -> IntArray:
        """Shape (P, W); rows of the cluster's brokers."""
        replicas: IntArray = np.append(self._brokers, NO_BROKER)[self._held]
        return replicas

    def chain(self, first: int) -> list[int]:
        """The brokers from one to the emptiest that it reaches; none if all of them lead about as much as it does."""
        came_from = np.full(len(self.load), NO_BROKER, dtype=np.int64)
        is_seen: BoolArray = np.zeros(len(self.load), dtype=np.bool_)
        is_seen[first] = True
        frontier, best, least = np.array([first]), NO_BROKER, self.load.min()
        while len(frontier) and (best == NO_BROKER or self.load[best] > least):
            leads_on = self._edges[frontier] > 0
            reached = np.flatnonzero(leads_on.any(axis=0) & ~is_seen)
            came_from[reached] = frontier[leads_on[:, reached].argmax(axis=0)]
            is_seen[reached] = True
            if len(reached):
                emptiest = int(reached[self.load[reached].argmin()])
                best = emptiest if best == NO_BROKER or self.load[emptiest] < self.load[best] else best
            frontier = reached
        if best == NO_BROKER or self.load[first] - self.load[best] < 2:
            return []
        path = [best]
        while path[-1] != first:
            path.append(int(came_from[path[-1]]))
        return path[::-1]

    def hand_on(self, chain: list[int]) -> None:
        """Every broker of a chain hands the first partition that it can to the next."""
        for giver, taker in pairwise(chain):
            follows = self._held[:, 1:] == taker
            row = int((follows.any(axis=1) & (self._held[:, 0] == giver)).argmax())
            column = int(follows[row].argmax()) + 1
            others = self._held[row, 1:]
            self._edges[giver, others[others != NO_BROKER]] -= 1
            self._held[row, 0], self._held[row, column] = taker, giver
            others = self._held[row, 1:]
            self._edges[taker, others[others != NO_BROKER]] += 1
            self.load[giver] -= 1
            self.load[taker] += 1
