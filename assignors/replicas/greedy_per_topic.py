"""kafka-reassign-tool: new replication factors with few moves, partition by partition.

Guarantees: replicas on allowed brokers stay unless the factor is lowered. Imbalance of replicas stays; a broker below
its share of leaders is promoted when one of its partitions is processed. The plan depends on the order of partitions
and, between brokers with equal counts, on the order in which they occur in the topic. Run again, the strategy copies
nothing, but may promote again. Racks are ignored.
Priority: allowed brokers, then the factor, then leaders.
Complexity: O(P · (W + B)), with the B part in array operations and only for partitions whose replicas change.
Source: `set_replication` of https://github.com/dimas/kafka-reassign-tool (commit cca95ef).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import ClusterState, replica_lists, replica_table, rows_by_topic

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class GreedyPerTopic:
    """The plan of `kafka-reassign-tool --replication-factor`.

    Without a requested factor every partition keeps its own; the tool always requires one. Requested brokers are taken
    in the order of their ids, otherwise all brokers in the order of the input, as in the tool.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        balances_leaders=True,
        raises_replication_factor=True,
        lowers_replication_factor=True,
        decommissions_brokers=True,
    )

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose replicas as the tool does."""
        brokers = np.flatnonzero(request.is_allowed(state)).tolist()
        if request.brokers is not None:
            brokers.sort(key=state.ids.tolist().__getitem__)
        held = replica_lists(state)
        factors = request.factors(state).tolist()
        for _, rows in rows_by_topic(state):
            topic = _TopicCounts([held[row] for row in rows], brokers)
            for row in rows:
                held[row] = topic.change_factor(held[row], factors[row])
        return Plan(PlanStatus.FEASIBLE, replica_table(held))


class _TopicCounts:
    """The replicas and leaders of one topic on each broker so far."""

    def __init__(self, held: Sequence[Sequence[int]], brokers: Sequence[int]) -> None:
        self._brokers = list(dict.fromkeys(itertools.chain(*held, brokers)))
        self._index = {broker: index for index, broker in enumerate(self._brokers)}
        all_indices = [self._index[broker] for broker in itertools.chain(*held)]
        self._replicas = np.bincount(all_indices, minlength=len(self._brokers))
        self._leaders = [0] * len(self._brokers)
        for replicas in held:
            self._leaders[self._index[replicas[0]]] += 1
        self._allowed = set(brokers)
        # Brokers that are not allowed must never have the lowest count.
        self._replicas[[index for broker, index in self._index.items() if broker not in self._allowed]] = _NEVER
        self._leader_target = len(held) // len(brokers)

    def change_factor(self, replicas: Sequence[int], factor: int) -> list[int]:
        """Return the new replicas of a partition."""
        new_replicas = [broker for broker in replicas if broker in self._allowed]
        while len(new_replicas) > factor:
            self._drop(new_replicas)
        while len(new_replicas) < factor:
            self._add(new_replicas)
        self._transfer_leadership(replicas[0], new_replicas[0])
        leader = self._next_leader(new_replicas)
        self._transfer_leadership(new_replicas[0], leader)
        new_replicas.remove(leader)
        return [leader, *new_replicas]

    def _drop(self, new_replicas: list[int]) -> None:
        """Remove the replica on the broker with most replicas of the topic."""
        indices = sorted(self._index[broker] for broker in new_replicas)
        fullest = max(indices, key=self._replicas.__getitem__)
        self._replicas[fullest] -= 1
        new_replicas.remove(self._brokers[fullest])

    def _add(self, new_replicas: list[int]) -> None:
        """Add a replica on the broker with fewest replicas of the topic."""
        indices = [self._index[broker] for broker in new_replicas]
        counts = self._replicas[indices]
        self._replicas[indices] = _NEVER
        emptiest = int(self._replicas.argmin())
        self._replicas[indices] = counts
        self._replicas[emptiest] += 1
        new_replicas.append(self._brokers[emptiest])

    def _next_leader(self, new_replicas: Sequence[int]) -> int:
        """Return the broker with fewest leaders if it is below its share; otherwise the current leader."""
        least = min(new_replicas, key=self._leads)
        return least if self._leads(least) < self._leader_target else new_replicas[0]

    def _leads(self, broker: int) -> int:
        return self._leaders[self._index[broker]]

    def _transfer_leadership(self, old: int, new: int) -> None:
        self._leaders[self._index[old]] -= 1
        self._leaders[self._index[new]] += 1
