"""The goals of disks: no broker is too full, and all are about equally full.

Source: LinkedIn Cruise Control, `analyzer.goals`: `CapacityGoal`, `DiskCapacityGoal`, `ResourceDistributionGoal`,
`DiskUsageDistributionGoal`.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

from assignors.replicas.goals.goal import Goal, GoalActions, GoalError, broker_ids
from assignors.replicas.goals.model import Action, ActionKind, ClusterModel


class DiskCapacityGoal(Goal):
    """No broker holds more than a share of what its disks take; this must be met."""

    name = "DiskCapacityGoal"
    is_hard = True

    def __init__(self, threshold: float) -> None:
        super().__init__()
        self._threshold = threshold

    def prepare(self, model: ClusterModel) -> None:
        """See that all that is held fits at all."""
        limit = self._threshold * sum(model.capacity[broker] for broker in model.allowed)
        if sum(model.bytes) > limit:
            raise GoalError(f"{self.name}: {sum(model.bytes)} bytes are held, all brokers together take {limit:.0f}")

    def accepts(self, model: ClusterModel, action: Action) -> bool:
        """Whoever holds more afterwards must stay below its limit."""
        if action.kind is ActionKind.LEADERSHIP:
            return True
        growth = _growth(model, action)
        grower = action.destination if growth >= 0 else action.source
        return model.bytes[grower] + abs(growth) < model.capacity[grower] * self._threshold

    def improve(self, broker: int, actions: GoalActions) -> None:
        """Move replicas to the emptiest brokers, the largest first, until it holds no more than it may."""
        model = actions.model
        for row in self._in_order(model, broker):
            if not self._is_over(model, broker):
                return
            actions.move(row, broker, self._receivers(model))
        if self._is_over(model, broker):
            held, limit = model.bytes[broker], max(0.0, model.capacity[broker] * self._threshold)
            who = broker_ids(model, [broker])
            raise GoalError(f"{self.name}: broker {who} is left with {held} bytes, {limit:.0f} may be")

    def unmet(self, model: ClusterModel) -> str:
        """The brokers that hold more than they may."""
        over = [broker for broker in range(len(model.held)) if self._is_over(model, broker)]
        return f"{self.name}: {broker_ids(model, over)} too full" if over else ""

    def _is_over(self, model: ClusterModel, broker: int) -> bool:
        return bool(model.held[broker]) and model.bytes[broker] > model.capacity[broker] * self._threshold

    def _in_order(self, model: ClusterModel, broker: int) -> list[int]:
        """What came during the search first, then the largest."""
        return model.replicas_of(broker, lambda row: (not model.is_immigrant(row, broker), -model.sizes[row]))

    def _receivers(self, model: ClusterModel) -> list[int]:
        below = [broker for broker in model.allowed if model.utilization(broker) < self._threshold]
        return sorted(below, key=model.utilization)


class DiskUsageDistributionGoal(Goal):
    """Brokers use about the same share of their disks: by moving replicas, then by swapping them."""

    name = "DiskUsageDistributionGoal"

    def __init__(self, margin: float) -> None:
        super().__init__()
        self._margin = margin

    def prepare(self, model: ClusterModel) -> None:
        """Set the limits about the average share that is used."""
        average = sum(model.bytes) / max(1, sum(model.capacity[broker] for broker in model.allowed))
        self._upper = average * (1 + self._margin)
        self._lower = average * max(0, 1 - self._margin)

    def brokers_in_turn(self, model: ClusterModel) -> list[int]:
        """The new brokers alone, if there are any."""
        return sorted(model.new) or super().brokers_in_turn(model)

    def is_self_satisfied(self, model: ClusterModel, action: Action) -> bool:
        """Both brokers must be within the limit towards which they go; a swap must change something."""
        if self.is_last_resort and not model.is_allowed(action.source):
            return action.kind is ActionKind.MOVE
        growth = _growth(model, action)
        if action.kind is ActionKind.SWAP and not growth:
            return False
        return self._keeps_limits(model, action.source, action.destination, growth)

    def accepts(self, model: ClusterModel, action: Action) -> bool:
        """Brokers within their limits must stay there; others must not become less alike."""
        if action.kind is ActionKind.LEADERSHIP:
            return True
        growth, source, destination = _growth(model, action), action.source, action.destination
        if not growth and (action.kind is ActionKind.SWAP or not model.is_allowed(source)):
            return True
        giver, taker = (source, destination) if growth >= 0 else (destination, source)
        if not model.is_allowed(giver):
            return self._is_below(model, taker, 0) and self._is_below(model, taker, abs(growth))
        if self._is_above(model, giver, 0) and self._is_below(model, taker, 0):
            return self._keeps_limits(model, source, destination, growth)
        before = model.bytes[giver] / model.capacity[giver] - model.bytes[taker] / model.capacity[taker]
        after = before - abs(growth) / model.capacity[giver] - abs(growth) / model.capacity[taker]
        return abs(after) < abs(before)

    def improve(self, broker: int, actions: GoalActions) -> None:
        """Move replicas out, or in; where that is not enough, swap them."""
        model = actions.model
        has_too_much, has_too_little = not self._is_below(model, broker, 0), not self._is_above(model, broker, 0)
        if has_too_much and not self._shed(actions, broker) and model.is_allowed(broker):
            self._swap_out(actions, broker)
        if model.is_allowed(broker) and has_too_little and not self._draw_in(actions, broker):
            self._swap_in(actions, broker)

    def unmet(self, model: ClusterModel) -> str:
        """The brokers outside their limits."""
        outside = [
            broker
            for broker in model.allowed
            if not (self._is_below(model, broker, 0) and self._is_above(model, broker, 0))
        ]
        limits = f"{self._lower:.1%} to {self._upper:.1%}"
        return f"{self.name}: {broker_ids(model, outside)} not within {limits}" if outside else ""

    def _is_below(self, model: ClusterModel, broker: int, growth: int) -> bool:
        return model.bytes[broker] + growth <= model.capacity[broker] * self._upper

    def _is_above(self, model: ClusterModel, broker: int, growth: int) -> bool:
        return model.bytes[broker] + growth >= model.capacity[broker] * self._lower

    def _keeps_limits(self, model: ClusterModel, source: int, destination: int, growth: int) -> bool:
        giver, taker = (source, destination) if growth >= 0 else (destination, source)
        return self._is_below(model, taker, abs(growth)) and self._is_above(model, giver, -abs(growth))

    def _receivers(self, model: ClusterModel) -> list[int]:
        if self.is_last_resort:
            return sorted(model.allowed, key=model.utilization)
        below = [broker for broker in model.allowed if model.utilization(broker) < self._upper]
        return sorted(below, key=model.utilization)

    def _shed(self, actions: GoalActions, broker: int) -> bool:
        """Move replicas away, the largest first; returns whether that is enough."""
        model = actions.model
        for row in model.sheddable(broker, lambda row: (not model.is_immigrant(row, broker), -model.sizes[row])):
            if model.is_allowed(broker) and not model.sizes[row]:
                break
            actions.move(row, broker, self._receivers(model))
            if self._is_below(model, broker, 0):
                return True
        return not model.held[broker]

    def _draw_in(self, actions: GoalActions, broker: int) -> bool:
        """Move replicas in, from the fullest broker, the largest first; returns whether that is enough."""
        model = actions.model
        if model.new and broker not in model.new:
            return False
        fuller = [source for source in model.allowed if model.utilization(source) > self._lower]
        sources = [(-model.utilization(source), -source) for source in fuller]
        heapify(sources)
        while sources:
            source = -heappop(sources)[1]
            for row in _largest_first(model, source):
                if not model.sizes[row] or actions.move(row, source, [broker]) is None:
                    continue
                if self._is_above(model, broker, 0):
                    return True
                if sources and model.utilization(source) < -sources[0][0]:
                    heappush(sources, (-model.utilization(source), -source))
                    break
        return False

    def _swap_out(self, actions: GoalActions, broker: int) -> None:
        """Exchange its largest replicas for smaller ones of the emptiest brokers, until it is not too full."""
        model = actions.model
        largest = max((model.sizes[row] for row in model.sheddable(broker)), default=0)
        _exchange(
            actions,
            broker,
            [other for other in model.allowed if model.held[other] and model.utilization(other) < self._upper],
            rank=lambda other: (model.utilization(other), other),
            given=lambda: [row for row in _largest_first(model, broker) if model.sizes[row]],
            taken=lambda other: [row for row in _smallest_first(model, other) if model.sizes[row] < largest],
            is_enough=lambda: self._is_below(model, broker, 0),
        )

    def _swap_in(self, actions: GoalActions, broker: int) -> None:
        """Exchange its smallest replicas for larger ones of the fullest brokers, until it is not too empty."""
        model = actions.model
        smallest = min((model.sizes[row] for row in model.sheddable(broker)), default=0)
        _exchange(
            actions,
            broker,
            [other for other in model.allowed if model.utilization(other) > self._lower],
            rank=lambda other: (-model.utilization(other), -other),
            given=lambda: _smallest_first(model, broker),
            taken=lambda other: [row for row in _largest_first(model, other) if model.sizes[row] > smallest],
            is_enough=lambda: self._is_above(model, broker, 0),
        )


def _exchange(
    actions: GoalActions,
    broker: int,
    partners: list[int],
    *,
    rank: Callable[[int], tuple[float, int]],
    given: Callable[[], list[int]],
    taken: Callable[[int], list[int]],
    is_enough: Callable[[], bool],
) -> None:
    """Swap replicas of a broker with its partners, those that rank first first; one that swapped is asked again."""
    queue = [(rank(partner), partner) for partner in partners]
    heapify(queue)
    while queue:
        partner = heappop(queue)[1]
        offered = taken(partner)
        if any(actions.swap(row, broker, offered, partner) for row in given()):
            if is_enough():
                return
            heappush(queue, (rank(partner), partner))


def _growth(model: ClusterModel, action: Action) -> int:
    """How many bytes more the destination of a move or swap will hold; 0 if only the lead changes hands."""
    if action.kind is ActionKind.LEADERSHIP:
        return 0
    return model.sizes[action.row] - (model.sizes[action.other] if action.kind is ActionKind.SWAP else 0)


def _largest_first(model: ClusterModel, broker: int) -> list[int]:
    return model.sheddable(broker, lambda row: (-model.sizes[row],))


def _smallest_first(model: ClusterModel, broker: int) -> list[int]:
    return model.sheddable(broker, lambda row: (model.sizes[row],))
