"""What a goal is, and the board on which goals make their moves.

Source: LinkedIn Cruise Control, `analyzer.goals.AbstractGoal`, `analyzer.goals.GoalUtils`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from assignors.replicas.goals.model import Action, ActionKind, ClusterModel


class GoalError(Exception):
    """A goal that must be met cannot be; the message says which, and where."""


class Goal(ABC):
    """An aim that is pursued once, in its turn, and then guarded against all later ones.

    Attributes:
        name: what it is called.
        is_hard: whether there is no plan without it.
        is_last_resort: whether brokers that are to be emptied are emptied at the cost of this goal.
    """

    name: str
    is_hard: bool = False

    def __init__(self) -> None:
        self.is_last_resort = False

    @abstractmethod
    def prepare(self, model: ClusterModel) -> None:
        """Set the limits for the cluster as it is.

        Raises:
            GoalError: no placement can meet them.
        """

    @abstractmethod
    def accepts(self, model: ClusterModel, action: Action) -> bool:
        """Whether a later goal may do this."""

    def is_self_satisfied(self, model: ClusterModel, action: Action) -> bool:
        """Whether it may itself do this, in its own turn."""
        if self.is_last_resort and not model.is_allowed(action.source):
            return action.kind is ActionKind.MOVE
        return self.accepts(model, action)

    def brokers_in_turn(self, model: ClusterModel) -> list[int]:
        """The brokers that it deals with, by id."""
        return list(range(len(model.held)))

    @abstractmethod
    def improve(self, broker: int, actions: GoalActions) -> None:
        """Do what it can for one broker.

        Raises:
            GoalError: that is not enough, and it must be.
        """

    @abstractmethod
    def unmet(self, model: ClusterModel) -> str:
        """What it did not reach, in words; empty if it is met."""


class GoalActions:
    """The cluster, the goal whose turn it is, and those that had theirs.

    Every action must be legitimate, content the goal whose turn it is, and be accepted by all earlier ones.
    """

    def __init__(self, model: ClusterModel, goal: Goal, earlier: Sequence[Goal]) -> None:
        self.model = model
        self._goal = goal
        self._earlier = earlier

    def move(self, row: int, source: int, candidates: Iterable[int]) -> int | None:
        """Move a replica to the first candidate that may have it; returns that broker."""
        return self._first(ActionKind.MOVE, row, source, candidates)

    def hand_over(self, row: int, candidates: Iterable[int]) -> int | None:
        """Let the first candidate that may lead a partition; returns that broker."""
        return self._first(ActionKind.LEADERSHIP, row, self.model.replicas[row][0], candidates)

    def swap(self, row: int, source: int, others: Sequence[int], destination: int) -> bool:
        """Exchange a replica for the first that may come back of some others."""
        for other in self._swappable(row, source, others, destination):
            action = Action(ActionKind.SWAP, row, source, destination, other)
            if self.model.is_legitimate(action):
                if not self._goal.is_self_satisfied(self.model, action):
                    return False
                if self._is_accepted(action):
                    self.model.apply(action)
                    return True
        return False

    def _first(self, kind: ActionKind, row: int, source: int, candidates: Iterable[int]) -> int | None:
        for broker in self.model.may_receive(row, source, candidates):
            action = Action(kind, row, source, broker)
            is_good = self.model.is_legitimate(action) and self._goal.is_self_satisfied(self.model, action)
            if is_good and self._is_accepted(action):
                self.model.apply(action)
                return broker
        return None

    def _is_accepted(self, action: Action) -> bool:
        return all(goal.accepts(self.model, action) for goal in self._earlier)

    def _swappable(self, row: int, source: int, others: Sequence[int], destination: int) -> Sequence[int]:
        """Where there are new brokers, old ones get back what was theirs and exchange nothing among themselves."""
        model = self.model
        if not model.new:
            return others
        if source in model.new and (destination in model.new or model.origin(row, source) == destination):
            return others
        if destination in model.new:
            return [other for other in others if model.origin(other, destination) == source]
        return []


def broker_ids(model: ClusterModel, brokers: Sequence[int]) -> str:
    """Brokers as a goal names them: the first dozen, and how many more."""
    shown = ", ".join(str(model.state.ids[broker]) for broker in brokers[:12])
    return f"{shown} and {len(brokers) - 12} more" if len(brokers) > 12 else shown
