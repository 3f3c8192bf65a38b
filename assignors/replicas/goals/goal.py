"""Goals, and the actions by which they change the cluster.

Source: LinkedIn Cruise Control, `analyzer.goals.AbstractGoal`, `analyzer.goals.GoalUtils`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from assignors.replicas.goals.model import Action, ActionKind, ClusterModel


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
