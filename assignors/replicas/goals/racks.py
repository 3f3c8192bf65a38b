"""The goals of racks; both are hard goals.

Source: LinkedIn Cruise Control, `analyzer.goals`: `AbstractRackAwareGoal`, `RackAwareGoal`,
`RackAwareDistributionGoal`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter

from assignors.replicas.goals.goal import Goal, GoalActions, GoalError, broker_ids
from assignors.replicas.goals.model import Action, ActionKind, ClusterModel


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
