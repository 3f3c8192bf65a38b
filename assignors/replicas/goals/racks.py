"""The goals of racks, both of which must be met.

Source: LinkedIn Cruise Control, `analyzer.goals`: `AbstractRackAwareGoal`, `RackAwareGoal`,
`RackAwareDistributionGoal`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter

from assignors.replicas.goals.goal import Goal, GoalActions, GoalError, broker_ids
from assignors.replicas.goals.model import Action, ActionKind, ClusterModel


class _RackGoal(Goal):
    """What both goals of racks have in common: they look at partitions one by one, and count racks."""

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
        """Everything: it asks for nothing that it does not want."""
        return True

    def improve(self, broker: int, actions: GoalActions) -> None:
        model = actions.model
        for row in model.replicas_of(broker):
            if model.is_allowed(broker) and self._may_stay(model, row, broker):
                continue
            if actions.move(row, broker, self._destinations(model, row, broker)) is None:
                self._give_up(model, row, broker)

    def unmet(self, model: ClusterModel) -> str:
        for row, brokers in enumerate(model.replicas):
            if not self._is_met(model, row):
                racks = [model.state.brokers[broker].rack for broker in brokers]
                return f"{model.state.name(row)}: {self.name} is not met by racks {racks}"
        return ""

    def _give_up(self, model: ClusterModel, row: int, broker: int) -> None:
        who = broker_ids(model, [broker])
        raise GoalError(f"{model.state.name(row)}: {self.name} finds no broker for its replica on {who}")

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
        """Count racks; there must be one for every replica of a partition."""
        super().prepare(model)
        for row, brokers in enumerate(model.replicas):
            if len(brokers) > self._num_racks:
                raise GoalError(
                    f"{model.state.name(row)}: {self.name} needs {len(brokers)} racks, there are {self._num_racks}"
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
    """All racks hold equally many replicas of a partition, or one more."""

    name = "RackAwareDistributionGoal"

    def _give_up(self, model: ClusterModel, row: int, broker: int) -> None:
        """Leave it: a later move of the partition may still mend it."""

    def _fits(self, model: ClusterModel, row: int, source: int, destination: int) -> bool:
        counts = self._counts(model, row)
        left, entered = model.rack[source], model.rack[destination]
        return left == entered or counts[entered] < counts[left]

    def _may_stay(self, model: ClusterModel, row: int, broker: int) -> bool:
        counts = self._counts(model, row)
        share, extra = divmod(len(model.replicas[row]), self._num_racks)
        present = counts[model.rack[broker]]
        if present <= share:
            return True
        above = sum(count > share for count in counts.values())
        return present <= share + (extra > 0) and above <= extra

    def _destinations(self, model: ClusterModel, row: int, broker: int) -> list[int]:
        counts = self._counts(model, row)
        counts[model.rack[broker]] -= 1
        share, extra = divmod(len(model.replicas[row]), self._num_racks)
        most = share + (sum(count > share for count in counts.values()) < extra)
        open_to_it = [
            other for other in model.allowed if counts[model.rack[other]] < most and other not in model.replicas[row]
        ]
        return sorted(open_to_it, key=lambda other: counts[model.rack[other]])

    def _is_met(self, model: ClusterModel, row: int) -> bool:
        counts = self._counts(model, row).values()
        lowest = min(counts) if len(counts) >= self._num_racks else 0
        return max(counts) <= max(1, lowest + 1)
