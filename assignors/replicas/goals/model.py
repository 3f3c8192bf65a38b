"""A cluster while goals move replicas about in it, and the actions by which they do.

Source: LinkedIn Cruise Control, `model.ClusterModel`, `model.Replica`, `analyzer.BalancingAction`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import NamedTuple

import numpy as np

from assignors.model.columns import NO_RACK
from assignors.replicas.broker_loads import bytes_per_broker, capacity_per_broker, count_leaders, fixed_bytes_per_broker
from assignors.replicas.plan import PlanRequest
from assignors.replicas.replica_lists import replica_lists
from assignors.replicas.state import NO_BROKER, ClusterState

Order = Callable[[int], tuple[float, ...]]
"""What partitions are sorted by, the lowest first."""


class ActionKind(Enum):
    """What may be done: a replica moves, two replicas change places, a follower takes over the lead."""

    MOVE = auto()
    SWAP = auto()
    LEADERSHIP = auto()


class Action(NamedTuple):
    """A change of the cluster.

    Attributes:
        kind: what is done.
        row: the partition.
        source: the broker that gives its replica, or the lead, away.
        destination: the broker that gets it.
        other: the partition whose replica comes back in a swap, NOBODY otherwise.
    """

    kind: ActionKind
    row: int
    source: int
    destination: int
    other: int = NO_BROKER


class ClusterModel:
    """Who holds what at the moment. Partitions and brokers are rows of the state.

    Args:
        state: the cluster, with brokers by id and partitions by topic and number.
        request: names the brokers that may hold replicas; all others are to be emptied.
        only_new_receive: whether brokers that hold nothing are new, if there are any.

    Attributes:
        state: as given.
        replicas: by partition, in replica order; the first leads.
        held: by broker, its partitions.
        leads: by broker, how many partitions it leads.
        bytes: by broker, what it holds, topics that may not change included.
        sizes: by partition, in bytes; 0 where nobody said.
        capacity: by broker, in bytes; -1 for one that is to be emptied, so that whatever it holds is too much.
        rack: by broker; one without a rack is a rack of its own.
        allowed: the brokers that may hold replicas, by id.
        new: the new brokers, by row. If there are any, they alone receive.
        is_healing: whether brokers have to be emptied. If so, all others shed only what came during the search.
    """

    def __init__(self, state: ClusterState, request: PlanRequest, *, only_new_receive: bool) -> None:
        num_brokers = len(state.brokers)
        sizes = np.zeros(state.num_partitions, dtype=np.int64) if state.size_bytes is None else state.size_bytes
        self.state = state
        self.replicas = replica_lists(state)
        self.held: list[set[int]] = [set() for _ in range(num_brokers)]
        for row, brokers in enumerate(self.replicas):
            for broker in brokers:
                self.held[broker].add(row)
        self._immigrants: list[set[int]] = [set() for _ in range(num_brokers)]
        self.leads: list[int] = count_leaders(state.replicas, num_brokers).tolist()
        fixed = np.where(request.is_allowed(state), fixed_bytes_per_broker(state), 0)
        self.bytes: list[int] = (bytes_per_broker(state.replicas, sizes, num_brokers) + fixed).tolist()
        self.sizes: list[int] = sizes.tolist()
        self.capacity: list[int] = np.where(request.is_allowed(state), capacity_per_broker(state), -1).tolist()
        self.rack: list[int] = np.where(
            state.rack == NO_RACK, num_brokers + np.arange(num_brokers), state.rack
        ).tolist()
        self.allowed: list[int] = np.flatnonzero(request.is_allowed(state)).tolist()
        self.new = frozenset(broker for broker in self.allowed if only_new_receive and not self.held[broker])
        self.is_healing = any(self.held[broker] for broker in self.brokers_to_drain())
        self._topic, self._number = state.topic.tolist(), state.partition.tolist()
        self._origin = {(row, broker): broker for row, brokers in enumerate(self.replicas) for broker in brokers}

    def brokers_to_drain(self) -> list[int]:
        """The brokers that may not hold replicas."""
        return sorted(set(range(len(self.held))) - set(self.allowed))

    def is_allowed(self, broker: int) -> bool:
        """Whether a broker may hold replicas."""
        return self.capacity[broker] >= 0

    def origin(self, row: int, broker: int) -> int:
        """Where the replica that a broker holds was in the beginning."""
        return self._origin[row, broker]

    def is_immigrant(self, row: int, broker: int) -> bool:
        """Whether the replica came during the search."""
        return row in self._immigrants[broker]

    def replicas_of(self, broker: int, order: Order = lambda row: ()) -> list[int]:
        """The partitions that a broker holds, in that order; then by number, origin and topic."""
        return self._in_order(self.held[broker], broker, order)

    def sheddable(self, broker: int, order: Order = lambda row: ()) -> list[int]:
        """Those of them that it may shed."""
        if not self.is_healing or not self.is_allowed(broker):
            return self.replicas_of(broker, order)
        return self._in_order(self._immigrants[broker], broker, order)

    def _in_order(self, rows: Iterable[int], broker: int, order: Order) -> list[int]:
        return sorted(
            rows, key=lambda row: (order(row), self._number[row], self._origin[row, broker], self._topic[row])
        )

    def utilization(self, broker: int) -> float:
        """What share of its disks a broker uses; 1 for one that is to be emptied."""
        if not self.is_allowed(broker):
            return 1.0
        return self.bytes[broker] / self.capacity[broker] if self.capacity[broker] else float("inf")

    def racks_of(self, row: int, *, but: int) -> list[int]:
        """The racks of a partition's replicas, save that on one broker."""
        return [self.rack[broker] for broker in self.replicas[row] if broker != but]

    def may_receive(self, row: int, source: int, brokers: Iterable[int]) -> list[int]:
        """Those of the brokers that may get a replica: where there are new ones, these, or where it came from."""
        if not self.new:
            return list(brokers)
        return [broker for broker in brokers if broker in self.new or broker == self._origin[row, source]]

    def is_legitimate(self, action: Action) -> bool:
        """Whether it can be done at all: nobody holds a partition twice, and only its leader hands a lead over."""
        if action.kind is ActionKind.LEADERSHIP:
            return self.replicas[action.row][0] == action.source and action.row in self.held[action.destination]
        is_new_there = action.row not in self.held[action.destination]
        return is_new_there and (action.kind is ActionKind.MOVE or action.other not in self.held[action.source])

    def apply(self, action: Action) -> None:
        """Do it."""
        if action.kind is ActionKind.LEADERSHIP:
            self._lead(action)
            return
        self._move(action.row, action.source, action.destination)
        if action.kind is ActionKind.SWAP:
            self._move(action.other, action.destination, action.source)

    def _move(self, row: int, source: int, destination: int) -> None:
        brokers = self.replicas[row]
        if brokers[0] == source:
            self.leads[source] -= 1
            self.leads[destination] += 1
        brokers[brokers.index(source)] = destination
        self.held[source].remove(row)
        self.held[destination].add(row)
        self.bytes[source] -= self.sizes[row]
        self.bytes[destination] += self.sizes[row]
        origin = self._origin[row, destination] = self._origin.pop((row, source))
        self._immigrants[source].discard(row)
        if origin != destination:
            self._immigrants[destination].add(row)

    def _lead(self, action: Action) -> None:
        brokers = self.replicas[action.row]
        place = brokers.index(action.destination)
        brokers[0], brokers[place] = action.destination, action.source
        self.leads[action.source] -= 1
        self.leads[action.destination] += 1
