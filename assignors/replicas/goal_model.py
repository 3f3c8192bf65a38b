"""The cluster that goals change, and the actions by which they change it.

Source: LinkedIn Cruise Control, `model.ClusterModel`, `model.Replica`, `analyzer.BalancingAction`,
`analyzer.goals.AbstractGoal`, `analyzer.goals.GoalUtils`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from enum import Enum, auto
from typing import NamedTuple

import numpy as np

from assignors.model.columns import NO_RACK
from assignors.replicas.plan import PlanRequest
from assignors.replicas.state import (
    NO_BROKER,
    ClusterState,
    bytes_per_broker,
    capacity_per_broker,
    count_leaders,
    fixed_bytes_per_broker,
    replica_lists,
)

Order = Callable[[int], tuple[float, ...]]
"""A sort key for partitions, in ascending order."""


class ActionKind(Enum):
    """A replica moves, two replicas swap brokers, or a follower becomes leader."""

    MOVE = auto()
    SWAP = auto()
    LEADERSHIP = auto()


class Action(NamedTuple):
    """A change of the cluster.

    Attributes:
        row: the partition.
        source: the broker that loses the replica or the leadership.
        destination: the broker that receives it.
        other: the partition whose replica returns in a swap; NO_BROKER otherwise.
    """

    kind: ActionKind
    row: int
    source: int
    destination: int
    other: int = NO_BROKER


class ClusterModel:
    """The current placement. Partitions and brokers are rows of the state.

    `state`: the cluster, with brokers by id and partitions by topic and number. `request`: the brokers that may hold
    replicas; all others are drained. `only_new_receive` says whether brokers without replicas count as new.

    Attributes:
        replicas: by partition, its brokers in replica order; the first is the leader.
        held: by broker, its partitions.
        num_leaders: by broker, the number of partitions that it leads.
        bytes: by broker, the size of its replicas, including topics that may not change.
        sizes: by partition, its size in bytes; 0 if unknown.
        capacity: by broker, in bytes; -1 for a broker to drain, so that any replica exceeds it.
        rack: by broker; a broker without a rack counts as a separate rack.
        allowed: the brokers that may hold replicas, by id.
        new: the new brokers, by row. If there are any, only they receive replicas.
        is_draining: whether brokers are drained. If so, other brokers only lose replicas that arrived during the
            search.
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
        self.num_leaders: list[int] = count_leaders(state.replicas, num_brokers).tolist()
        fixed = np.where(request.is_allowed(state), fixed_bytes_per_broker(state), 0)
        self.bytes: list[int] = (bytes_per_broker(state.replicas, sizes, num_brokers) + fixed).tolist()
        self.sizes: list[int] = sizes.tolist()
        self.capacity: list[int] = np.where(request.is_allowed(state), capacity_per_broker(state), -1).tolist()
        self.rack: list[int] = np.where(
            state.rack == NO_RACK, num_brokers + np.arange(num_brokers), state.rack
        ).tolist()
        self.allowed: list[int] = np.flatnonzero(request.is_allowed(state)).tolist()
        self.new = frozenset(broker for broker in self.allowed if only_new_receive and not self.held[broker])
        self.is_draining = any(self.held[broker] for broker in self.brokers_to_drain())
        self._topic, self._number = state.topic.tolist(), state.partition.tolist()
        self._origin = {(row, broker): broker for row, brokers in enumerate(self.replicas) for broker in brokers}

    def brokers_to_drain(self) -> list[int]:
        """Return the brokers that may not hold replicas."""
        return sorted(set(range(len(self.held))) - set(self.allowed))

    def is_allowed(self, broker: int) -> bool:
        """Return whether a broker may hold replicas."""
        return self.capacity[broker] >= 0

    def origin(self, row: int, broker: int) -> int:
        """Return the initial broker of a replica."""
        return self._origin[row, broker]

    def is_immigrant(self, row: int, broker: int) -> bool:
        """Return whether a replica arrived during the search: an immigrant replica in Cruise Control."""
        return row in self._immigrants[broker]

    def replicas_of(self, broker: int, order: Order = lambda row: ()) -> list[int]:
        """Return the partitions on a broker in this order; then by number, initial broker and topic."""
        return self._sort(self.held[broker], broker, order)

    def movable_replicas(self, broker: int, order: Order = lambda row: ()) -> list[int]:
        """Return the replicas that may leave a broker, in this order; while brokers are drained, only immigrants."""
        if not self.is_draining or not self.is_allowed(broker):
            return self.replicas_of(broker, order)
        return self._sort(self._immigrants[broker], broker, order)

    def _sort(self, rows: Iterable[int], broker: int, order: Order) -> list[int]:
        return sorted(
            rows, key=lambda row: (order(row), self._number[row], self._origin[row, broker], self._topic[row])
        )

    def utilization(self, broker: int) -> float:
        """Return the disk utilization of a broker; 1 for a broker to drain."""
        if not self.is_allowed(broker):
            return 1.0
        return self.bytes[broker] / self.capacity[broker] if self.capacity[broker] else float("inf")

    def racks_of(self, row: int, *, but: int) -> list[int]:
        """Return the racks of a partition's replicas, without the replica on one broker."""
        return [self.rack[broker] for broker in self.replicas[row] if broker != but]

    def may_receive(self, row: int, source: int, brokers: Iterable[int]) -> list[int]:
        """Return the brokers that may receive a replica: with new brokers, only these and its initial broker."""
        if not self.new:
            return list(brokers)
        return [broker for broker in brokers if broker in self.new or broker == self._origin[row, source]]

    def is_legitimate(self, action: Action) -> bool:
        """Return whether an action is possible: no broker gets a second replica, only leaders transfer leadership."""
        if action.kind is ActionKind.LEADERSHIP:
            return self.replicas[action.row][0] == action.source and action.row in self.held[action.destination]
        is_absent = action.row not in self.held[action.destination]
        return is_absent and (action.kind is ActionKind.MOVE or action.other not in self.held[action.source])

    def apply(self, action: Action) -> None:
        """Apply an action."""
        if action.kind is ActionKind.LEADERSHIP:
            self._transfer_leadership(action)
            return
        self._move(action.row, action.source, action.destination)
        if action.kind is ActionKind.SWAP:
            self._move(action.other, action.destination, action.source)

    def _move(self, row: int, source: int, destination: int) -> None:
        brokers = self.replicas[row]
        if brokers[0] == source:
            self.num_leaders[source] -= 1
            self.num_leaders[destination] += 1
        brokers[brokers.index(source)] = destination
        self.held[source].remove(row)
        self.held[destination].add(row)
        self.bytes[source] -= self.sizes[row]
        self.bytes[destination] += self.sizes[row]
        origin = self._origin[row, destination] = self._origin.pop((row, source))
        self._immigrants[source].discard(row)
        if origin != destination:
            self._immigrants[destination].add(row)

    def _transfer_leadership(self, action: Action) -> None:
        brokers = self.replicas[action.row]
        position = brokers.index(action.destination)
        brokers[0], brokers[position] = action.destination, action.source
        self.num_leaders[action.source] -= 1
        self.num_leaders[action.destination] += 1


class GoalError(Exception):
    """A hard goal that cannot be met; the message names the goal and the partition or broker."""


class Goal(ABC):
    """A goal that optimizes once, in its turn, and must accept all actions of later goals.

    Attributes:
        name: its name in Cruise Control.
        is_hard: whether the plan fails if the goal is not met.
        is_last_resort: whether to drain brokers at the cost of this goal.
    """

    name: str
    is_hard: bool = False

    def __init__(self) -> None:
        self.is_last_resort = False

    @abstractmethod
    def prepare(self, model: ClusterModel) -> None:
        """Set the limits for the current cluster; raise GoalError if no placement can meet the limits."""

    @abstractmethod
    def accepts(self, model: ClusterModel, action: Action) -> bool:
        """Return whether a later goal may apply this action."""

    def is_self_satisfied(self, model: ClusterModel, action: Action) -> bool:
        """Return whether this goal may apply the action in its own turn."""
        if self.is_last_resort and not model.is_allowed(action.source):
            return action.kind is ActionKind.MOVE
        return self.accepts(model, action)

    def brokers_in_turn(self, model: ClusterModel) -> list[int]:
        """Return the brokers to improve, by id."""
        return list(range(len(model.held)))

    @abstractmethod
    def improve(self, broker: int, actions: GoalActions) -> None:
        """Improve one broker; raise GoalError if a hard goal cannot be met."""

    @abstractmethod
    def unmet(self, model: ClusterModel) -> str:
        """Return a description of what is not met; empty if the goal is met."""


class GoalActions:
    """Applies the actions of the current goal to the cluster.

    An action must be legitimate, satisfy the current goal, and be accepted by all earlier goals.
    """

    def __init__(self, model: ClusterModel, goal: Goal, earlier: Sequence[Goal]) -> None:
        self.model = model
        self._goal = goal
        self._earlier = earlier

    def move(self, row: int, source: int, candidates: Iterable[int]) -> int | None:
        """Move a replica to the first possible candidate; return that broker, or None."""
        return self._apply_first(ActionKind.MOVE, row, source, candidates)

    def transfer_leadership(self, row: int, candidates: Iterable[int]) -> int | None:
        """Transfer leadership to the first possible candidate; return that broker, or None."""
        return self._apply_first(ActionKind.LEADERSHIP, row, self.model.replicas[row][0], candidates)

    def swap(self, row: int, source: int, others: Sequence[int], destination: int) -> bool:
        """Swap a replica with the first possible replica of `others`; return whether a swap was applied."""
        for other in self._swappable(row, source, others, destination):
            action = Action(ActionKind.SWAP, row, source, destination, other)
            if self.model.is_legitimate(action):
                if not self._goal.is_self_satisfied(self.model, action):
                    return False
                if self._is_accepted(action):
                    self.model.apply(action)
                    return True
        return False

    def _apply_first(self, kind: ActionKind, row: int, source: int, candidates: Iterable[int]) -> int | None:
        for broker in self.model.may_receive(row, source, candidates):
            action = Action(kind, row, source, broker)
            is_possible = self.model.is_legitimate(action) and self._goal.is_self_satisfied(self.model, action)
            if is_possible and self._is_accepted(action):
                self.model.apply(action)
                return broker
        return None

    def _is_accepted(self, action: Action) -> bool:
        return all(goal.accepts(self.model, action) for goal in self._earlier)

    def _swappable(self, row: int, source: int, others: Sequence[int], destination: int) -> Sequence[int]:
        """Return the replicas that may be swapped in; existing brokers swap only with new brokers, if there are any."""
        model = self.model
        if not model.new:
            return others
        if source in model.new and (destination in model.new or model.origin(row, source) == destination):
            return others
        if destination in model.new:
            return [other for other in others if model.origin(other, destination) == source]
        return []


def broker_ids(model: ClusterModel, brokers: Sequence[int]) -> str:
    """Return the ids of brokers for a message: the first 12, and the number of further ones."""
    shown = ", ".join(str(model.state.ids[broker]) for broker in brokers[:12])
    return f"{shown} and {len(brokers) - 12} more" if len(brokers) > 12 else shown
