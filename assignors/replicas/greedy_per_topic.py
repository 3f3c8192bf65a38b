"""Replication factors set with few moves: each partition in turn loses or gets what it must, and nothing else.

Guarantees: replicas on brokers that may stay do stay, unless the factor falls. What it finds uneven stays uneven, but
for leaders: one that leads less than its share is promoted if it is the partition's turn. The answer hangs on the order
of partitions and, between brokers with the same counts, on the order in which the topic names them; run on its own
answer it copies nothing, but may promote again. No rack is looked at.
Priority: allowed brokers, then the factor, then leaders.
Complexity: O(P · (W + B)), the part with B in array operations, and only for partitions that get or lose a replica.
Source: `set_replication` of https://github.com/dimas/kafka-reassign-tool (commit cca95ef).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.replica_lists import replica_lists, replica_table, rows_by_topic
from assignors.replicas.state import ClusterState

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class GreedyPerTopic:
    """The answer of `kafka-reassign-tool --replication-factor`.

    Without a requested factor every partition keeps its own; the tool always wants one. Brokers that are named are
    taken in the order of their ids, and otherwise all in the order of the input, as the tool does.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        balances_leaders=True,
        raises_replication_factor=True,
        lowers_replication_factor=True,
        decommissions_brokers=True,
    )

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose as the tool does."""
        brokers = np.flatnonzero(request.is_allowed(state)).tolist()
        if request.brokers is not None:
            brokers.sort(key=state.ids.tolist().__getitem__)
        held = replica_lists(state)
        factors = request.factors(state).tolist()
        for _, rows in rows_by_topic(state):
            topic = _TopicCounts([held[row] for row in rows], brokers)
            for row in rows:
                held[row] = topic.settle(held[row], factors[row])
        return Plan(PlanStatus.FEASIBLE, replica_table(held))


class _TopicCounts:
    """How many replicas and leaders of one topic each broker has by now."""

    def __init__(self, held: Sequence[Sequence[int]], brokers: Sequence[int]) -> None:
        self._brokers = list(dict.fromkeys(itertools.chain(*held, brokers)))
        self._place = {broker: place for place, broker in enumerate(self._brokers)}
        everywhere = [self._place[broker] for broker in itertools.chain(*held)]
        self._replicas = np.bincount(everywhere, minlength=len(self._brokers))
        self._leaders = [0] * len(self._brokers)
        for replicas in held:
            self._leaders[self._place[replicas[0]]] += 1
        self._allowed = set(brokers)
        # Those that may not hold anything never have the fewest.
        self._replicas[[place for broker, place in self._place.items() if broker not in self._allowed]] = _NEVER
        self._leader_target = len(held) // len(brokers)

    def settle(self, replicas: Sequence[int], factor: int) -> list[int]:
        """What becomes of a partition."""
        settled = [broker for broker in replicas if broker in self._allowed]
        while len(settled) > factor:
            self._drop(settled)
        while len(settled) < factor:
            self._add(settled)
        self._hand_over(replicas[0], settled[0])
        leader = self._next_leader(settled)
        self._hand_over(settled[0], leader)
        settled.remove(leader)
        return [leader, *settled]

    def _drop(self, settled: list[int]) -> None:
        """Take the broker that has the most replicas of the topic off a partition."""
        places = sorted(self._place[broker] for broker in settled)
        fullest = max(places, key=self._replicas.__getitem__)
        self._replicas[fullest] -= 1
        settled.remove(self._brokers[fullest])

    def _add(self, settled: list[int]) -> None:
        """Put the broker that has the fewest replicas of the topic on a partition."""
        places = [self._place[broker] for broker in settled]
        counts = self._replicas[places]
        self._replicas[places] = _NEVER
        emptiest = int(self._replicas.argmin())
        self._replicas[places] = counts
        self._replicas[emptiest] += 1
        settled.append(self._brokers[emptiest])

    def _next_leader(self, settled: Sequence[int]) -> int:
        """The first of those that lead least, if that is less than its share; otherwise who leads."""
        least = min(settled, key=self._leads)
        return least if self._leads(least) < self._leader_target else settled[0]

    def _leads(self, broker: int) -> int:
        return self._leaders[self._place[broker]]

    def _hand_over(self, old: int, new: int) -> None:
        self._leaders[self._place[old]] -= 1
        self._leaders[self._place[new]] += 1
