"""The goals of disks: a maximum disk utilization, and balanced disk utilization.

Source: LinkedIn Cruise Control, `analyzer.goals`: `CapacityGoal`, `DiskCapacityGoal`, `ResourceDistributionGoal`,
`DiskUsageDistributionGoal`.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

from assignors.replicas.goals.goal import Goal, GoalActions, GoalError, broker_ids
from assignors.replicas.goals.model import Action, ActionKind, ClusterModel


class DiskCapacityGoal(Goal):
    """Hard goal: no broker uses more than a share of its disk capacity."""

    name = "DiskCapacityGoal"
    is_hard = True

    def __init__(self, threshold: float) -> None:
        super().__init__()
        self._threshold = threshold

    def prepare(self, model: ClusterModel) -> None:
        """Check that all replicas fit in total.

        Raises GoalError if the replicas exceed the limits of all brokers together.
        """
        limit = self._threshold * sum(model.capacity[broker] for broker in model.allowed)
        if sum(model.bytes) > limit:
            raise GoalError(f"{self.name}: {sum(model.bytes)} bytes exceed the limit of all brokers, {limit:.0f} bytes")

    def accepts(self, model: ClusterModel, action: Action) -> bool:
        """Return whether the broker that grows stays below its limit."""
        if action.kind is ActionKind.LEADERSHIP:
            return True
        growth = _growth(model, action)
        growing = action.destination if growth >= 0 else action.source
        return model.bytes[growing] + abs(growth) < model.capacity[growing] * self._threshold

    def improve(self, broker: int, actions: GoalActions) -> None:
        """Move the largest replicas to the brokers with lowest utilization, until the broker is within its limit.

        Raises GoalError if the broker still exceeds its limit.
        """
        model = actions.model
        for row in self._movable_replicas(model, broker):
            if not self._is_over(model, broker):
                return
            actions.move(row, broker, self._receivers(model))
        if self._is_over(model, broker):
            held, limit = model.bytes[broker], max(0.0, model.capacity[broker] * self._threshold)
            broker_id = broker_ids(model, [broker])
            raise GoalError(f"{self.name}: broker {broker_id} still holds {held} bytes, its limit is {limit:.0f}")

    def unmet(self, model: ClusterModel) -> str:
        """Return the brokers above their limits; empty if there are none."""
        full_brokers = [broker for broker in range(len(model.held)) if self._is_over(model, broker)]
        return f"{self.name}: {broker_ids(model, full_brokers)} above the disk limit" if full_brokers else ""

    def _is_over(self, model: ClusterModel, broker: int) -> bool:
        return bool(model.held[broker]) and model.bytes[broker] > model.capacity[broker] * self._threshold

    def _movable_replicas(self, model: ClusterModel, broker: int) -> list[int]:
        """Return the replicas that may leave: those that arrived during the search first, then the largest."""
        return model.replicas_of(broker, lambda row: (not model.is_immigrant(row, broker), -model.sizes[row]))

    def _receivers(self, model: ClusterModel) -> list[int]:
        below = [broker for broker in model.allowed if model.utilization(broker) < self._threshold]
        return sorted(below, key=model.utilization)


class DiskUsageDistributionGoal(Goal):
    """Soft goal: balance the disk utilization of brokers, by moves first, then by swaps."""

    name = "DiskUsageDistributionGoal"

    def __init__(self, margin: float) -> None:
        super().__init__()
        self._margin = margin

    def prepare(self, model: ClusterModel) -> None:
        """Set the limits around the average utilization."""
        average = sum(model.bytes) / max(1, sum(model.capacity[broker] for broker in model.allowed))
        self._upper = average * (1 + self._margin)
        self._lower = average * max(0, 1 - self._margin)

    def brokers_in_turn(self, model: ClusterModel) -> list[int]:
        """Return the new brokers only, if there are any."""
        return sorted(model.new) or super().brokers_in_turn(model)

    def is_self_satisfied(self, model: ClusterModel, action: Action) -> bool:
        """Return whether both brokers stay within the limit that they approach; a swap must change the bytes."""
        if self.is_last_resort and not model.is_allowed(action.source):
            return action.kind is ActionKind.MOVE
        growth = _growth(model, action)
        if action.kind is ActionKind.SWAP and not growth:
            return False
        return self._keeps_limits(model, action.source, action.destination, growth)

    def accepts(self, model: ClusterModel, action: Action) -> bool:
        """Return whether brokers within their limits stay there, and the difference of other brokers does not grow."""
        if action.kind is ActionKind.LEADERSHIP:
            return True
        growth, source, destination = _growth(model, action), action.source, action.destination
        if not growth and (action.kind is ActionKind.SWAP or not model.is_allowed(source)):
            return True
        losing, receiving = (source, destination) if growth >= 0 else (destination, source)
        if not model.is_allowed(losing):
            return self._is_below(model, receiving, 0) and self._is_below(model, receiving, abs(growth))
        if self._is_above(model, losing, 0) and self._is_below(model, receiving, 0):
            return self._keeps_limits(model, source, destination, growth)
        before = model.bytes[losing] / model.capacity[losing] - model.bytes[receiving] / model.capacity[receiving]
        after = before - abs(growth) / model.capacity[losing] - abs(growth) / model.capacity[receiving]
        return abs(after) < abs(before)

    def improve(self, broker: int, actions: GoalActions) -> None:
        """Move replicas away from or to the broker; if that is not enough, swap replicas."""
        model = actions.model
        has_too_much, has_too_little = not self._is_below(model, broker, 0), not self._is_above(model, broker, 0)
        if has_too_much and not self._push_replicas(actions, broker) and model.is_allowed(broker):
            self._swap_out(actions, broker)
        if model.is_allowed(broker) and has_too_little and not self._pull_replicas(actions, broker):
            self._swap_in(actions, broker)

    def unmet(self, model: ClusterModel) -> str:
        """Return the brokers outside their limits; empty if there are none."""
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
        losing, receiving = (source, destination) if growth >= 0 else (destination, source)
        return self._is_below(model, receiving, abs(growth)) and self._is_above(model, losing, -abs(growth))

    def _receivers(self, model: ClusterModel) -> list[int]:
        if self.is_last_resort:
            return sorted(model.allowed, key=model.utilization)
        below = [broker for broker in model.allowed if model.utilization(broker) < self._upper]
        return sorted(below, key=model.utilization)

    def _push_replicas(self, actions: GoalActions, broker: int) -> bool:
        """Move replicas away, the largest first; return whether that is enough."""
        model = actions.model
        for row in model.movable_replicas(broker, lambda row: (not model.is_immigrant(row, broker), -model.sizes[row])):
            if model.is_allowed(broker) and not model.sizes[row]:
                break
            actions.move(row, broker, self._receivers(model))
            if self._is_below(model, broker, 0):
                return True
        return not model.held[broker]

    def _pull_replicas(self, actions: GoalActions, broker: int) -> bool:
        """Move the largest replicas from the broker with highest utilization; return whether that is enough."""
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
        """Swap its largest replicas for smaller ones of brokers with low utilization, down to the upper limit."""
        model = actions.model
        largest = max((model.sizes[row] for row in model.movable_replicas(broker)), default=0)
        _exchange(
            actions,
            broker,
            [other for other in model.allowed if model.held[other] and model.utilization(other) < self._upper],
            rank=lambda other: (model.utilization(other), other),
            offered=lambda: [row for row in _largest_first(model, broker) if model.sizes[row]],
            wanted=lambda other: [row for row in _smallest_first(model, other) if model.sizes[row] < largest],
            is_enough=lambda: self._is_below(model, broker, 0),
        )

    def _swap_in(self, actions: GoalActions, broker: int) -> None:
        """Swap its smallest replicas for larger ones of brokers with high utilization, up to the lower limit."""
        model = actions.model
        smallest = min((model.sizes[row] for row in model.movable_replicas(broker)), default=0)
        _exchange(
            actions,
            broker,
            [other for other in model.allowed if model.utilization(other) > self._lower],
            rank=lambda other: (-model.utilization(other), -other),
            offered=lambda: _smallest_first(model, broker),
            wanted=lambda other: [row for row in _largest_first(model, other) if model.sizes[row] > smallest],
            is_enough=lambda: self._is_above(model, broker, 0),
        )


def _exchange(
    actions: GoalActions,
    broker: int,
    partners: list[int],
    *,
    rank: Callable[[int], tuple[float, int]],
    offered: Callable[[], list[int]],
    wanted: Callable[[int], list[int]],
    is_enough: Callable[[], bool],
) -> None:
    """Swap replicas of a broker with its partners in rank order; a partner that swapped is queued again."""
    queue = [(rank(partner), partner) for partner in partners]
    heapify(queue)
    while queue:
        partner = heappop(queue)[1]
        candidates = wanted(partner)
        if any(actions.swap(row, broker, candidates, partner) for row in offered()):
            if is_enough():
                return
            heappush(queue, (rank(partner), partner))


def _growth(model: ClusterModel, action: Action) -> int:
    """Return by how many bytes the destination of a move or swap grows; 0 for a leadership transfer."""
    if action.kind is ActionKind.LEADERSHIP:
        return 0
    return model.sizes[action.row] - (model.sizes[action.other] if action.kind is ActionKind.SWAP else 0)


def _largest_first(model: ClusterModel, broker: int) -> list[int]:
    return model.movable_replicas(broker, lambda row: (-model.sizes[row],))


def _smallest_first(model: ClusterModel, broker: int) -> list[int]:
    return model.movable_replicas(broker, lambda row: (model.sizes[row],))
