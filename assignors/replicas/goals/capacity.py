"""The goal of replica capacity: a maximum number of replicas per broker.

Source: LinkedIn Cruise Control, `analyzer.goals.ReplicaCapacityGoal`, whose limit is `max.replicas.per.broker`.
"""

from __future__ import annotations

from assignors.replicas.goals.goal import Goal, GoalActions, GoalError, broker_ids
from assignors.replicas.goals.model import Action, ActionKind, ClusterModel


class ReplicaCapacityGoal(Goal):
    """Hard goal: no broker holds more than a maximum number of replicas."""

    name = "ReplicaCapacityGoal"
    is_hard = True

    def __init__(self, max_replicas: int) -> None:
        super().__init__()
        self._max_replicas = max_replicas

    def prepare(self, model: ClusterModel) -> None:
        """Check that all replicas fit; raise GoalError if there are more replicas than all brokers may hold."""
        num_replicas = sum(map(len, model.held))
        if num_replicas > self._max_replicas * len(model.allowed):
            raise GoalError(
                f"{self.name}: {num_replicas:,} replicas exceed {len(model.allowed):,} brokers with "
                f"{self._max_replicas:,} replicas each"
            )

    def accepts(self, model: ClusterModel, action: Action) -> bool:
        """Return whether the destination of a move is below the maximum; other actions change no count."""
        return action.kind is not ActionKind.MOVE or len(model.held[action.destination]) < self._max_replicas

    def improve(self, broker: int, actions: GoalActions) -> None:
        """Move replicas to the brokers with fewest replicas, until the broker is within the maximum."""
        model = actions.model
        for row in model.replicas_of(broker):
            if len(model.held[broker]) <= self._limit(model, broker):
                return
            receivers = [
                other for other in model.allowed if other != broker and len(model.held[other]) < self._max_replicas
            ]
            actions.move(row, broker, sorted(receivers, key=lambda other: len(model.held[other])))

    def unmet(self, model: ClusterModel) -> str:
        """Return the brokers above the maximum; empty if there are none."""
        brokers_over_limit = [broker for broker in model.allowed if len(model.held[broker]) > self._max_replicas]
        return (
            f"{self.name}: {broker_ids(model, brokers_over_limit)} with more than {self._max_replicas:,} replicas"
            if brokers_over_limit
            else ""
        )

    def _limit(self, model: ClusterModel, broker: int) -> int:
        return self._max_replicas if model.is_allowed(broker) else 0
