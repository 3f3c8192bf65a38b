"""The goals of counts: balanced replicas and leaders per broker.

Source: LinkedIn Cruise Control, `analyzer.goals`: `ReplicaDistributionAbstractGoal`, `ReplicaDistributionGoal`,
`LeaderReplicaDistributionGoal`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from math import ceil, floor

from assignors.replicas.goals.goal import Goal, GoalActions, broker_ids
from assignors.replicas.goals.model import Action, ActionKind, ClusterModel


class _CountGoal(Goal):
    """Soft goal: the count of every broker is within a margin of the average."""

    def __init__(self, margin: float) -> None:
        super().__init__()
        self._margin = margin

    def prepare(self, model: ClusterModel) -> None:
        average = sum(self._count(model, broker) for broker in range(len(model.held))) / len(model.allowed)
        self._upper = ceil(average * (1 + self._margin))
        self._lower = floor(average * max(0, 1 - self._margin))

    def unmet(self, model: ClusterModel) -> str:
        outside = [broker for broker in model.allowed if not self._lower <= self._count(model, broker) <= self._upper]
        return f"{self.name}: {broker_ids(model, outside)} not within {self._lower} to {self._upper}" if outside else ""

    @abstractmethod
    def _count(self, model: ClusterModel, broker: int) -> int: ...

    def _keeps_limits(self, model: ClusterModel, source: int, destination: int) -> bool:
        """Return whether one unit may move between brokers without either leaving its limits."""
        upper = self._upper if model.is_allowed(destination) else 0
        if self._count(model, destination) + 1 > upper:
            return False
        return not model.is_allowed(source) or self._count(model, source) - 1 >= self._lower

    def _receivers(self, model: ClusterModel) -> list[int]:
        """Return the brokers below the upper limit, the lowest count first."""
        below = [broker for broker in model.allowed if self._count(model, broker) < self._upper]
        return sorted(below, key=lambda broker: self._count(model, broker))

    def _pull_replicas(
        self,
        actions: GoalActions,
        broker: int,
        movable: Callable[[int], list[int]],
        rank: Callable[[int], tuple[int, ...]],
    ) -> bool:
        """Pull replicas from the brokers that rank first; return whether the lower limit is reached."""
        model = actions.model
        sources = [
            (*rank(source), source)
            for source in range(len(model.held))
            if source != broker and (not model.is_allowed(source) or self._count(model, source) > self._lower)
        ]
        heapify(sources)
        while sources:
            source = heappop(sources)[-1]
            for row in movable(source):
                if actions.move(row, source, [broker]) is None:
                    continue
                if self._count(model, broker) >= self._lower:
                    return True
                if sources and rank(source) > sources[0][:-1]:
                    heappush(sources, (*rank(source), source))
                    break
        return False


class ReplicaDistributionGoal(_CountGoal):
    """Balance the number of replicas per broker."""

    name = "ReplicaDistributionGoal"

    def accepts(self, model: ClusterModel, action: Action) -> bool:
        """Return whether a move leaves both brokers within their limits; other actions change no count."""
        return action.kind is not ActionKind.MOVE or self._keeps_limits(model, action.source, action.destination)

    def improve(self, broker: int, actions: GoalActions) -> None:
        """Move replicas to the brokers with fewest replicas, or from those with most."""
        model = actions.model
        has_too_many = not model.is_allowed(broker) or len(model.held[broker]) > self._upper
        has_too_few = model.is_allowed(broker) and len(model.held[broker]) < self._lower
        if has_too_many:
            self._push_replicas(actions, broker)
        elif has_too_few and (not model.new or broker in model.new):
            self._pull_replicas(
                actions,
                broker,
                movable=lambda source: self._movable_replicas(model, source),
                rank=lambda source: (model.is_allowed(source), -len(model.held[source])),
            )

    def _count(self, model: ClusterModel, broker: int) -> int:
        return len(model.held[broker])

    def _push_replicas(self, actions: GoalActions, broker: int) -> None:
        model = actions.model
        limit = self._upper if model.is_allowed(broker) else 0
        for row in self._movable_replicas(model, broker):
            receivers = self._receivers(model)
            if self.is_last_resort:
                receivers = sorted(model.allowed, key=lambda other: len(model.held[other]))
            if actions.move(row, broker, receivers) is not None and len(model.held[broker]) <= limit:
                return

    def _movable_replicas(self, model: ClusterModel, broker: int) -> list[int]:
        """Return the replicas that may leave: those that arrived during the search first, then the smallest."""
        return model.movable_replicas(broker, lambda row: (not model.is_immigrant(row, broker), model.sizes[row]))


class LeaderReplicaDistributionGoal(_CountGoal):
    """Balance the number of leaders per broker: by leadership transfers first, then by moving leader replicas."""

    name = "LeaderReplicaDistributionGoal"

    def accepts(self, model: ClusterModel, action: Action) -> bool:
        """Return whether an action that changes leader counts leaves both brokers within their limits."""
        is_leader = model.replicas[action.row][0] == action.source
        if action.kind is not ActionKind.SWAP:
            return not is_leader or self._keeps_limits(model, action.source, action.destination)
        other_is_leader = model.replicas[action.other][0] == action.destination
        if is_leader == other_is_leader:
            return True
        losing, receiving = (action.source, action.destination) if is_leader else (action.destination, action.source)
        return self._keeps_limits(model, losing, receiving)

    def improve(self, broker: int, actions: GoalActions) -> None:
        """Transfer leadership to or from other brokers; if that is not enough, move leader replicas."""
        model = actions.model
        if not model.is_allowed(broker):
            if self.is_last_resort:
                self._drain(actions, broker)
        elif model.num_leaders[broker] > self._upper:
            if not self._transfer_leadership(actions, broker):
                self._move_leaders_out(actions, broker)
        elif model.num_leaders[broker] < self._lower and not self._acquire_leadership(actions, broker):
            self._pull_replicas(
                actions,
                broker,
                movable=lambda source: self._leaders(model, source) if model.is_allowed(source) else [],
                rank=lambda source: (-model.num_leaders[source],),
            )

    def _count(self, model: ClusterModel, broker: int) -> int:
        return model.num_leaders[broker]

    def _leaders(self, model: ClusterModel, broker: int) -> list[int]:
        return [row for row in model.movable_replicas(broker) if model.replicas[row][0] == broker]

    def _transfer_leadership(self, actions: GoalActions, broker: int) -> bool:
        """Transfer leadership to followers unless brokers are drained; return whether that is enough."""
        model = actions.model
        for row in [] if model.is_draining else self._leaders(model, broker):
            followers = [other for other in model.replicas[row] if other != broker]
            actions.transfer_leadership(row, sorted(followers, key=lambda other: (model.num_leaders[other], other)))
            if model.num_leaders[broker] <= self._upper:
                return True
        return False

    def _acquire_leadership(self, actions: GoalActions, broker: int) -> bool:
        """Take the leadership of partitions that the broker follows; return whether that is enough."""
        model = actions.model
        for row in [] if model.is_draining else model.replicas_of(broker):
            if model.replicas[row][0] != broker:
                actions.transfer_leadership(row, [broker])
            if model.num_leaders[broker] >= self._lower:
                return True
        return False

    def _move_leaders_out(self, actions: GoalActions, broker: int) -> None:
        for row in self._leaders(actions.model, broker):
            actions.move(row, broker, self._receivers(actions.model))
            if actions.model.num_leaders[broker] <= self._upper:
                return

    def _drain(self, actions: GoalActions, broker: int) -> None:
        model = actions.model
        for row in model.replicas_of(broker):
            actions.move(row, broker, sorted(model.allowed, key=lambda other: len(model.held[other])))
