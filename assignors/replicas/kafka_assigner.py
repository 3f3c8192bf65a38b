"""Every topic by itself: what may stay stays, gaps go to the first broker with room, and all lists are reordered.

Guarantees: no broker holds more of a topic than its share, rounded up; no rack holds two replicas of a partition;
replicas move only off brokers that may not stay or hold more than their share, or out of a rack that has another. Run
on its own answer it changes nothing. It never goes back on a choice, so it may find no broker for a replica though
there is a plan; then it fails, and the only help is a broker more.
Priority: racks and shares, then the replicas that are there (first replicas before second ones, low partitions before
high ones), then leaders, then first followers, and so on.
Complexity: O(P · W · (W + log B)) and O(B) a topic.
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
from assignors.replicas.replica_lists import replica_lists, replica_table, rows_by_topic
from assignors.replicas.state import ClusterState

_TWO_31 = 1 << 31


@dataclass(frozen=True, slots=True)
class KafkaAssigner:
    """The answer of `kafka-assignment-generator.sh --mode PRINT_REASSIGNMENT`.

    Topics are taken in the order of the input, which makes a difference to who leads. Where the tool stops with an
    exception the plan has failed; it stops at a topic whose partitions do not all have as many replicas, too, unless a
    factor is requested. It does not take replicas away.
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
        """Propose as the tool does."""
        ids, numbers, factors = state.ids.tolist(), state.partition.tolist(), request.factors(state).tolist()
        brokers = sorted(np.flatnonzero(request.is_allowed(state)).tolist(), key=ids.__getitem__)
        racks = {broker: _rack(state, request, broker) for broker in brokers}
        held = replica_lists(state)
        order = _PreferenceOrder()
        try:
            for topic, rows in rows_by_topic(state):
                rows.sort(key=numbers.__getitem__)
                turn = _rotation(state, topic, rows, factors, len(brokers))
                holders = _Holders(rows, racks, share=-(-len(rows) * factors[rows[0]] // len(brokers)))
                _keep(holders, rows, held)
                if any(len(holders.of[row]) < factors[row] for row in rows):
                    _fill(state, holders, rows, factors[rows[0]], _rotate(brokers, turn))
                for row in rows:
                    held[row] = order.of(sorted(holders.of[row], key=ids.__getitem__), turn)
        except _StuckError as stuck:
            return Plan.without_replicas(PlanStatus.FAILED, str(stuck))
        return Plan(PlanStatus.FEASIBLE, replica_table(held))


class _StuckError(Exception):
    """The tool would stop with an exception."""


class _Holders:
    """Who holds the partitions of a topic by now."""

    def __init__(self, rows: Sequence[int], racks: Mapping[int, str], share: int) -> None:
        self.of: dict[int, list[int]] = {row: [] for row in rows}
        self.racks_of: dict[int, set[str]] = {row: set() for row in rows}
        self.racks = racks
        self._room = dict.fromkeys(racks, share)

    def has_room(self, broker: int) -> bool:
        """Whether the broker may hold replicas, and more of this topic."""
        return self._room.get(broker, 0) > 0

    def accepts(self, row: int, broker: int) -> bool:
        """Whether it may hold a replica of this partition."""
        return self.has_room(broker) and self.racks[broker] not in self.racks_of[row]

    def accept(self, row: int, broker: int) -> None:
        """Give it one."""
        self.of[row].append(broker)
        self.racks_of[row].add(self.racks[broker])
        self._room[broker] -= 1


def _rack(state: ClusterState, request: PlanRequest, broker: int) -> str:
    """A broker without a rack is one by itself."""
    rack = state.brokers[broker].rack
    return str(state.brokers[broker].id) if rack is None or not request.rack_aware else rack


def _rotation(state: ClusterState, topic: str, rows: Sequence[int], factors: Sequence[int], num_brokers: int) -> int:
    """How far lists of brokers are turned for a topic: the absolute value of its name's hash code."""
    factor = factors[rows[0]]
    for row in rows:
        if factors[row] != factor:
            reason = (
                f"{factors[row]} replicas, and {state.name(rows[0])} has {factor}; the tool wants one factor a topic"
            )
            raise _StuckError(f"{state.name(row)}: {reason}")
    code = string_hash(topic)
    if code == _TWO_31 and any(code % size for size in (num_brokers, *range(1, factor + 1))):
        raise _StuckError(f"{state.name(rows[0])}: the hash code of the topic's name has no absolute value in Java")
    return min(code, 2 * _TWO_31 - code)


def _rotate(brokers: Sequence[int], turn: int) -> list[int]:
    """A list whose first entry stands `turn` places further on, and those that fall off the end in front."""
    start = len(brokers) - turn % len(brokers)
    return [*brokers[start:], *brokers[:start]]


def _keep(holders: _Holders, rows: Sequence[int], held: Sequence[Sequence[int]]) -> None:
    """Let brokers keep what they may: all first replicas, then all second ones, and so on."""
    for position in range(max(len(held[row]) for row in rows)):
        for row in rows:
            if position < len(held[row]) and holders.accepts(row, held[row][position]):
                holders.accept(row, held[row][position])


def _fill(state: ClusterState, holders: _Holders, rows: Sequence[int], factor: int, brokers: Sequence[int]) -> None:
    """Give what is missing to the first broker of the list that accepts it.

    Of brokers in one rack, the first with room accepts, or none does; so the heap holds the first of each rack.
    """
    waiting: dict[str, list[int]] = {}
    for place in reversed(range(len(brokers))):
        if holders.has_room(brokers[place]):
            waiting.setdefault(holders.racks[brokers[place]], []).append(place)
    first = [(places[-1], rack) for rack, places in waiting.items()]
    heapq.heapify(first)
    for row in rows:
        passed = []
        while len(holders.of[row]) < factor:
            if not first:
                raise _StuckError(_why_stuck(state, holders, row, factor))
            place, rack = heapq.heappop(first)
            if holders.accepts(row, brokers[place]):
                holders.accept(row, brokers[place])
            if not holders.has_room(brokers[place]):
                waiting[rack].pop()
            if waiting[rack]:
                passed.append((waiting[rack][-1], rack))
        for entry in passed:
            heapq.heappush(first, entry)


def _why_stuck(state: ClusterState, holders: _Holders, row: int, factor: int) -> str:
    found = len(holders.of[row])
    return (
        f"{state.name(row)}: no broker for {factor - found} of {factor} replicas, as every one holds its share of the "
        "topic by now, or is in a rack that has one of the others; the tool never goes back on a choice"
    )


class _PreferenceOrder:
    """How often each broker stands in each place of the lists so far, over all topics."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[int, int]] = Counter()

    def of(self, holders: Sequence[int], turn: int) -> list[int]:
        """Order a partition's brokers, given by id: who stood least in each place, then who comes first in turn."""
        left, ordered = list(holders), []
        for position in range(len(holders)):
            chosen = min(_rotate(left, turn), key=lambda broker: self._seen[broker, position])
            left.remove(chosen)
            ordered.append(chosen)
        self._seen.update((broker, position) for position, broker in enumerate(ordered))
        return ordered
