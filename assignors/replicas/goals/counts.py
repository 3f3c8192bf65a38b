"""The goals of counts: brokers hold and lead about equally much.

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
    """Every broker has between a lower and an upper limit of something, both off the average by a margin."""

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

    def _may_pass(self, model: ClusterModel, source: int, destination: int) -> bool:
        """Whether one may go from broker to broker without either leaving its limits."""
        takes = self._count(model, destination) + 1 <= (self._upper if model.is_allowed(destination) else 0)
        return takes and (not model.is_allowed(source) or self._count(model, source) - 1 >= self._lower)

    def _receivers(self, model: ClusterModel) -> list[int]:
        """Who may get another, the one that has least first."""
        below = [broker for broker in model.allowed if self._count(model, broker) < self._upper]
        return sorted(below, key=lambda broker: self._count(model, broker))

    def _draw_in(
        self,
        actions: GoalActions,
        broker: int,
        shed: Callable[[int], list[int]],
        rank: Callable[[int], tuple[int, ...]],
    ) -> bool:
        """Draw replicas in from whoever ranks first, until there are enough; returns whether there are."""
        model = actions.model
        sources = [
            (*rank(source), source)
            for source in range(len(model.held))
            if source != broker and (not model.is_allowed(source) or self._count(model, source) > self._lower)
        ]
        heapify(sources)
        while sources:
            source = heappop(sources)[-1]
            for row in shed(source):
                if actions.move(row, source, [broker]) is None:
                    continue
                if self._count(model, broker) >= self._lower:
                    return True
                if sources and rank(source) > sources[0][:-1]:
                    heappush(sources, (*rank(source), source))
                    break
        return False


class ReplicaDistributionGoal(_CountGoal):
    """Brokers hold about equally many replicas."""

    name = "ReplicaDistributionGoal"

    def accepts(self, model: ClusterModel, action: Action) -> bool:
        """Swaps and leads change no count; a move must leave both brokers within their limits."""
        return action.kind is not ActionKind.MOVE or self._may_pass(model, action.source, action.destination)

    def improve(self, broker: int, actions: GoalActions) -> None:
        """Shed to those that hold least, or draw in from those that hold most."""
        model = actions.model
        has_too_many = not model.is_allowed(broker) or len(model.held[broker]) > self._upper
        has_too_few = model.is_allowed(broker) and len(model.held[broker]) < self._lower
        if has_too_many:
            self._shed(actions, broker)
        elif has_too_few and (not model.new or broker in model.new):
            self._draw_in(
                actions,
                broker,
                shed=lambda source: self._in_order(model, source),
                rank=lambda source: (model.is_allowed(source), -len(model.held[source])),
            )

    def _count(self, model: ClusterModel, broker: int) -> int:
        return len(model.held[broker])

    def _shed(self, actions: GoalActions, broker: int) -> None:
        model = actions.model
        limit = self._upper if model.is_allowed(broker) else 0
        for row in self._in_order(model, broker):
            receivers = self._receivers(model)
            if self.is_last_resort:
                receivers = sorted(model.allowed, key=lambda other: len(model.held[other]))
            if actions.move(row, broker, receivers) is not None and len(model.held[broker]) <= limit:
                return

    def _in_order(self, model: ClusterModel, broker: int) -> list[int]:
        """What came during the search first, then the smallest."""
        return model.sheddable(broker, lambda row: (not model.is_immigrant(row, broker), model.sizes[row]))


class LeaderReplicaDistributionGoal(_CountGoal):
    """Brokers lead about equally many partitions: by handing leads over first, then by moving what leads."""

    name = "LeaderReplicaDistributionGoal"

    def accepts(self, model: ClusterModel, action: Action) -> bool:
        """A lead that goes from one broker to another must leave both within their limits."""
        leads = model.replicas[action.row][0] == action.source
        if action.kind is not ActionKind.SWAP:
            return not leads or self._may_pass(model, action.source, action.destination)
        comes_back = model.replicas[action.other][0] == action.destination
        if leads == comes_back:
            return True
        giver, taker = (action.source, action.destination) if leads else (action.destination, action.source)
        return self._may_pass(model, giver, taker)

    def improve(self, broker: int, actions: GoalActions) -> None:
        """Hand leads over, or take them over; where that is not enough, move replicas that lead."""
        model = actions.model
        if not model.is_allowed(broker):
            if self.is_last_resort:
                self._empty(actions, broker)
        elif model.leads[broker] > self._upper:
            if not self._hand_over(actions, broker):
                self._move_leaders_out(actions, broker)
        elif model.leads[broker] < self._lower and not self._take_over(actions, broker):
            self._draw_in(
                actions,
                broker,
                shed=lambda source: self._leaders(model, source) if model.is_allowed(source) else [],
                rank=lambda source: (-model.leads[source],),
            )

    def _count(self, model: ClusterModel, broker: int) -> int:
        return model.leads[broker]

    def _leaders(self, model: ClusterModel, broker: int) -> list[int]:
        return [row for row in model.sheddable(broker) if model.replicas[row][0] == broker]

    def _hand_over(self, actions: GoalActions, broker: int) -> bool:
        """Give leads to followers; returns whether that is enough. While brokers are emptied, no lead changes hands."""
        model = actions.model
        for row in [] if model.is_healing else self._leaders(model, broker):
            followers = [other for other in model.replicas[row] if other != broker]
            actions.hand_over(row, sorted(followers, key=lambda other: (model.leads[other], other)))
            if model.leads[broker] <= self._upper:
                return True
        return False

    def _take_over(self, actions: GoalActions, broker: int) -> bool:
        """Take the lead of what it follows; returns whether that is enough."""
        model = actions.model
        for row in [] if model.is_healing else model.replicas_of(broker):
            if model.replicas[row][0] != broker:
                actions.hand_over(row, [broker])
            if model.leads[broker] >= self._lower:
                return True
        return False

    def _move_leaders_out(self, actions: GoalActions, broker: int) -> None:
        for row in self._leaders(actions.model, broker):
            actions.move(row, broker, self._receivers(actions.model))
            if actions.model.leads[broker] <= self._upper:
                return

    def _empty(self, actions: GoalActions, broker: int) -> None:
        model = actions.model
        for row in model.replicas_of(broker):
            actions.move(row, broker, sorted(model.allowed, key=lambda other: len(model.held[other])))
