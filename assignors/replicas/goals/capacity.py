"""The goal of replica capacity: no broker holds more than so many replicas.

Source: LinkedIn Cruise Control, `analyzer.goals.ReplicaCapacityGoal`, whose limit is `max.replicas.per.broker`.
"""

from __future__ import annotations

from assignors.replicas.goals.goal import Goal, GoalActions, GoalError, broker_ids
from assignors.replicas.goals.model import Action, ActionKind, ClusterModel


class ReplicaCapacityGoal(Goal):
    """No broker holds more than so many replicas; this must be met."""

    name = "ReplicaCapacityGoal"
    is_hard = True

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def prepare(self, model: ClusterModel) -> None:
        """Check that all replicas fit."""
        held = sum(map(len, model.held))
        if held > self._most * len(model.allowed):
            raise GoalError(
                f"{self.name}: {held:,} replicas, {len(model.allowed):,} brokers may hold {self._most:,} each"
            )

    def accepts(self, model: ClusterModel, action: Action) -> bool:
        """Return whether the destination of a move holds fewer than it may; swaps and leads change no count."""
        return action.kind is not ActionKind.MOVE or len(model.held[action.destination]) < self._most

    def improve(self, broker: int, actions: GoalActions) -> None:
        """Move replicas to the brokers that hold least, until the broker holds no more than it may."""
        model = actions.model
        for row in model.replicas_of(broker):
            if len(model.held[broker]) <= self._limit(model, broker):
                return
            receivers = [other for other in model.allowed if other != broker and len(model.held[other]) < self._most]
            actions.move(row, broker, sorted(receivers, key=lambda other: len(model.held[other])))

    def unmet(self, model: ClusterModel) -> str:
        """Return which brokers hold more than they may; empty if none do."""
        over = [broker for broker in model.allowed if len(model.held[broker]) > self._most]
        return f"{self.name}: {broker_ids(model, over)} with more than {self._most:,} replicas" if over else ""

    def _limit(self, model: ClusterModel, broker: int) -> int:
        return self._most if model.is_allowed(broker) else 0
