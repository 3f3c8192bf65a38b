"""kafka-assigner: keep allowed replicas per topic, fill gaps by share, reorder all lists.

Guarantees: no broker holds more of a topic than its share, rounded up; no rack holds two replicas of a partition;
replicas move only off brokers that are not allowed or hold more than their share, or out of a rack with another
replica. The plan is idempotent. The tool does not backtrack, so it may find no broker for a replica although a plan
exists; then it fails, and only an additional broker helps.
Priority: racks and shares, then current replicas (first replicas before second ones, low partitions before high ones),
then leaders, then first followers, and so on.
Complexity: O(P · W · (W + log B)) and O(B) per topic.
Source: `KafkaAssignmentStrategy` and `KafkaTopicAssigner` of https://github.com/SiftScience/kafka-assigner.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assignors.java.hash_order import string_hash
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import ClusterState, replica_lists, replica_table, rows_by_topic

_TWO_31 = 1 << 31


@dataclass(frozen=True, slots=True)
class KafkaAssigner:
    """The plan of `kafka-assignment-generator.sh --mode PRINT_REASSIGNMENT`.

    Topics are processed in the order of the input, which affects leaders. The plan fails where the tool throws an
    exception, and for a topic whose partitions have different factors, unless a factor is requested. The tool cannot
    lower the replication factor.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        balances_replicas=True,
        is_rack_aware=True,
        balances_leaders=True,
        raises_replication_factor=True,
        decommissions_brokers=True,
        is_idempotent=True,
    )

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Propose replicas as the tool does."""
        ids, numbers, factors = state.ids.tolist(), state.partition.tolist(), request.factors(state).tolist()
        brokers = sorted(np.flatnonzero(request.is_allowed(state)).tolist(), key=ids.__getitem__)
        racks = {broker: _rack(state, request, broker) for broker in brokers}
        held = replica_lists(state)
        order = _PreferenceOrder()
        try:
            for topic, rows in rows_by_topic(state):
                rows.sort(key=numbers.__getitem__)
                rotation = _rotation(state, topic, rows, factors, len(brokers))
                placement = _TopicPlacement(rows, racks, share=-(-len(rows) * factors[rows[0]] // len(brokers)))
                _keep(placement, rows, held)
                if any(len(placement.brokers_of[row]) < factors[row] for row in rows):
                    _fill(state, placement, rows, factors[rows[0]], _rotate(brokers, rotation))
                for row in rows:
                    held[row] = order.of(sorted(placement.brokers_of[row], key=ids.__getitem__), rotation)
        except _NoBrokerLeftError as error:
            return Plan.without_replicas(PlanStatus.FAILED, str(error))
        return Plan(PlanStatus.FEASIBLE, replica_table(held))


class _NoBrokerLeftError(Exception):
    """The tool would throw an exception."""


class _TopicPlacement:
    """The placement of a topic's partitions so far."""

    def __init__(self, rows: Sequence[int], racks: Mapping[int, str], share: int) -> None:
        self.brokers_of: dict[int, list[int]] = {row: [] for row in rows}
        self.racks_used: dict[int, set[str]] = {row: set() for row in rows}
        self.racks = racks
        self._free_share = dict.fromkeys(racks, share)

    def is_below_share(self, broker: int) -> bool:
        """Return whether the broker is allowed and below its share of the topic."""
        return self._free_share.get(broker, 0) > 0

    def accepts(self, row: int, broker: int) -> bool:
        """Return whether the broker may hold a replica of this partition."""
        return self.is_below_share(broker) and self.racks[broker] not in self.racks_used[row]

    def place(self, row: int, broker: int) -> None:
        """Place a replica on the broker."""
        self.brokers_of[row].append(broker)
        self.racks_used[row].add(self.racks[broker])
        self._free_share[broker] -= 1


def _rack(state: ClusterState, request: PlanRequest, broker: int) -> str:
    """Return the rack of a broker; a broker without a rack counts as a separate rack."""
    rack = state.brokers[broker].rack
    return str(state.brokers[broker].id) if rack is None or not request.rack_aware else rack


def _rotation(state: ClusterState, topic: str, rows: Sequence[int], factors: Sequence[int], num_brokers: int) -> int:
    """Return the rotation of broker lists for a topic: the absolute value of its name's hash code.

    Raises _NoBrokerLeftError if the partitions have different factors, or the hash code has no absolute value in Java.
    """
    factor = factors[rows[0]]
    for row in rows:
        if factors[row] != factor:
            raise _NoBrokerLeftError(
                f"{state.name(row)}: replication factor {factors[row]} differs from {factor} of {state.name(rows[0])}; "
                "the tool requires one factor per topic"
            )
    code = string_hash(topic)
    if code == _TWO_31 and any(code % size for size in (num_brokers, *range(1, factor + 1))):
        raise _NoBrokerLeftError(
            f"{state.name(rows[0])}: the hash code of the topic's name has no absolute value in Java"
        )
    return min(code, 2 * _TWO_31 - code)


def _rotate(brokers: Sequence[int], rotation: int) -> list[int]:
    """Return the list rotated to the right."""
    start = len(brokers) - rotation % len(brokers)
    return [*brokers[start:], *brokers[:start]]


def _keep(placement: _TopicPlacement, rows: Sequence[int], held: Sequence[Sequence[int]]) -> None:
    """Keep allowed replicas: all first replicas, then all second ones, and so on."""
    for position in range(max(len(held[row]) for row in rows)):
        for row in rows:
            if position < len(held[row]) and placement.accepts(row, held[row][position]):
                placement.place(row, held[row][position])


def _fill(
    state: ClusterState, placement: _TopicPlacement, rows: Sequence[int], factor: int, brokers: Sequence[int]
) -> None:
    """Place missing replicas on the first broker of the list that accepts them.

    Among brokers of one rack, the first one below its share accepts, or none does; so the heap holds the first of each
    rack. Raises _NoBrokerLeftError if no broker accepts a replica.
    """
    remaining: dict[str, list[int]] = {}
    for index in reversed(range(len(brokers))):
        if placement.is_below_share(brokers[index]):
            remaining.setdefault(placement.racks[brokers[index]], []).append(index)
    first = [(indices[-1], rack) for rack, indices in remaining.items()]
    heapq.heapify(first)
    for row in rows:
        skipped = []
        while len(placement.brokers_of[row]) < factor:
            if not first:
                raise _NoBrokerLeftError(_no_broker_message(state, placement, row, factor))
            index, rack = heapq.heappop(first)
            if placement.accepts(row, brokers[index]):
                placement.place(row, brokers[index])
            if not placement.is_below_share(brokers[index]):
                remaining[rack].pop()
            if remaining[rack]:
                skipped.append((remaining[rack][-1], rack))
        for entry in skipped:
            heapq.heappush(first, entry)


def _no_broker_message(state: ClusterState, placement: _TopicPlacement, row: int, factor: int) -> str:
    num_placed = len(placement.brokers_of[row])
    return (
        f"{state.name(row)}: no broker for {factor - num_placed} of {factor} replicas: every broker holds its share of "
        "the topic, or its rack holds another replica; the tool does not backtrack"
    )


class _PreferenceOrder:
    """The number of times that each broker has each position of the lists so far, over all topics."""

    def __init__(self) -> None:
        self._position_counts: Counter[tuple[int, int]] = Counter()

    def of(self, placement: Sequence[int], rotation: int) -> list[int]:
        """Return a partition's brokers (given by id) in order.

        At each position, the broker with the lowest count at this position comes first, then the first by rotation.
        """
        remaining, ordered = list(placement), []
        for position in range(len(placement)):
            chosen = min(_rotate(remaining, rotation), key=lambda broker: self._position_counts[broker, position])
            remaining.remove(chosen)
            ordered.append(chosen)
        self._position_counts.update((broker, position) for position, broker in enumerate(ordered))
        return ordered
