"""Cruise Control's goals: racks and capacities are hard goals, balanced counts and disk utilization are soft goals.

Source: LinkedIn Cruise Control, `analyzer.goals`: `AbstractRackAwareGoal`, `RackAwareGoal`,
`RackAwareDistributionGoal`, `ReplicaCapacityGoal` (with the limit `max.replicas.per.broker`), `CapacityGoal`,
`DiskCapacityGoal`, `ResourceDistributionGoal`, `DiskUsageDistributionGoal`, `ReplicaDistributionAbstractGoal`,
`ReplicaDistributionGoal`, `LeaderReplicaDistributionGoal`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from math import ceil, floor

from assignors.replicas.goal_model import Action, ActionKind, ClusterModel, Goal, GoalActions, GoalError, broker_ids


class _RackGoal(Goal):
    """The common part of rack goals: they check partitions one by one and count racks."""

    is_hard = True

    def prepare(self, model: ClusterModel) -> None:
        self._num_racks = len({model.rack[broker] for broker in model.allowed})

    def accepts(self, model: ClusterModel, action: Action) -> bool:
        if action.kind is ActionKind.LEADERSHIP:
            return True
        if not self._fits(model, action.row, action.source, action.destination):
            return False
        return action.kind is ActionKind.MOVE or self._fits(model, action.other, action.destination, action.source)

    def is_self_satisfied(self, model: ClusterModel, action: Action) -> bool:
        """Return True: this goal only proposes actions that it accepts."""
        return True

    def improve(self, broker: int, actions: GoalActions) -> None:
        model = actions.model
        for row in model.replicas_of(broker):
            if model.is_allowed(broker) and self._may_stay(model, row, broker):
                continue
            if actions.move(row, broker, self._destinations(model, row, broker)) is None:
                self._handle_no_destination(model, row, broker)

    def unmet(self, model: ClusterModel) -> str:
        for row, brokers in enumerate(model.replicas):
            if not self._is_met(model, row):
                racks = [model.state.brokers[broker].rack for broker in brokers]
                return f"{model.state.name(row)}: racks {racks} do not meet {self.name}"
        return ""

    def _handle_no_destination(self, model: ClusterModel, row: int, broker: int) -> None:
        broker_id = broker_ids(model, [broker])
        raise GoalError(f"{model.state.name(row)}: {self.name} finds no broker for its replica on {broker_id}")

    def _counts(self, model: ClusterModel, row: int) -> Counter[int]:
        return Counter(model.rack[broker] for broker in model.replicas[row])

    @abstractmethod
    def _fits(self, model: ClusterModel, row: int, source: int, destination: int) -> bool: ...

    @abstractmethod
    def _may_stay(self, model: ClusterModel, row: int, broker: int) -> bool: ...

    @abstractmethod
    def _destinations(self, model: ClusterModel, row: int, broker: int) -> list[int]: ...

    @abstractmethod
    def _is_met(self, model: ClusterModel, row: int) -> bool: ...


class RackAwareGoal(_RackGoal):
    """No rack holds two replicas of a partition."""

    name = "RackAwareGoal"

    def prepare(self, model: ClusterModel) -> None:
        """Count racks; there must be one per replica of a partition.

        Raises GoalError if a partition has more replicas than there are racks.
        """
        super().prepare(model)
        for row, brokers in enumerate(model.replicas):
            if len(brokers) > self._num_racks:
                raise GoalError(
                    f"{model.state.name(row)}: {self.name} requires {len(brokers)} racks, the cluster has "
                    f"{self._num_racks}"
                )

    def _fits(self, model: ClusterModel, row: int, source: int, destination: int) -> bool:
        return model.rack[destination] not in model.racks_of(row, but=source)

    def _may_stay(self, model: ClusterModel, row: int, broker: int) -> bool:
        return self._fits(model, row, broker, broker)

    def _destinations(self, model: ClusterModel, row: int, broker: int) -> list[int]:
        return [other for other in model.allowed if self._fits(model, row, broker, other)]

    def _is_met(self, model: ClusterModel, row: int) -> bool:
        return max(self._counts(model, row).values()) == 1


class RackAwareDistributionGoal(_RackGoal):
    """The numbers of a partition's replicas per rack differ by at most 1."""

    name = "RackAwareDistributionGoal"

    def _handle_no_destination(self, model: ClusterModel, row: int, broker: int) -> None:
        """Keep the replica: a later move of the partition may still fix its racks."""

    def _fits(self, model: ClusterModel, row: int, source: int, destination: int) -> bool:
        counts = self._counts(model, row)
        source_rack, destination_rack = model.rack[source], model.rack[destination]
        return source_rack == destination_rack or counts[destination_rack] < counts[source_rack]

    def _may_stay(self, model: ClusterModel, row: int, broker: int) -> bool:
        counts = self._counts(model, row)
        share, extra = divmod(len(model.replicas[row]), self._num_racks)
        num_in_rack = counts[model.rack[broker]]
        if num_in_rack <= share:
            return True
        num_racks_above = sum(count > share for count in counts.values())
        return num_in_rack <= share + (extra > 0) and num_racks_above <= extra

    def _destinations(self, model: ClusterModel, row: int, broker: int) -> list[int]:
        counts = self._counts(model, row)
        counts[model.rack[broker]] -= 1
        share, extra = divmod(len(model.replicas[row]), self._num_racks)
        most = share + (sum(count > share for count in counts.values()) < extra)
        destinations = [
            other for other in model.allowed if counts[model.rack[other]] < most and other not in model.replicas[row]
        ]
        return sorted(destinations, key=lambda other: counts[model.rack[other]])

    def _is_met(self, model: ClusterModel, row: int) -> bool:
        counts = self._counts(model, row).values()
        lowest = min(counts) if len(counts) >= self._num_racks else 0
        return max(counts) <= max(1, lowest + 1)


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
