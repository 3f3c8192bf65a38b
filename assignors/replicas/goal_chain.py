"""A subset of Cruise Control: goals in order of priority, none of which undoes an earlier one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from assignors.replicas.goal_model import ClusterModel, Goal, GoalActions, GoalError, broker_ids
from assignors.replicas.goals import (
    DiskCapacityGoal,
    DiskUsageDistributionGoal,
    LeaderReplicaDistributionGoal,
    RackAwareDistributionGoal,
    RackAwareGoal,
    ReplicaCapacityGoal,
    ReplicaDistributionGoal,
)
from assignors.replicas.normalized_problem import CanonicalState
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.state import ClusterState, replica_table

_RACK_GOALS = (RackAwareGoal.name, RackAwareDistributionGoal.name)
_DISK_GOALS = (DiskCapacityGoal.name, DiskUsageDistributionGoal.name)

_NOT_SUPPORTED = frozenset(
    (
        "BrokerSetAwareGoal", "CpuCapacityGoal", "CpuUsageDistributionGoal", "KafkaAssignerDiskUsageDistributionGoal",
        "KafkaAssignerEvenRackAwareGoal", "LeaderBytesInDistributionGoal", "MinTopicLeadersPerBrokerGoal",
        "NetworkInboundCapacityGoal", "NetworkInboundUsageDistributionGoal", "NetworkOutboundCapacityGoal",
        "NetworkOutboundUsageDistributionGoal", "PotentialNwOutGoal", "PreferredLeaderElectionGoal",
        "TopicReplicaDistributionGoal",
    )
)  # fmt: skip
"""Cruise Control's other goals."""

_DEFAULT = (
    RackAwareGoal.name,
    DiskCapacityGoal.name,
    ReplicaDistributionGoal.name,
    DiskUsageDistributionGoal.name,
    LeaderReplicaDistributionGoal.name,
)

MARGIN = 0.9
"""The share of a threshold that is used, so that a balanced cluster does not need balancing again at once."""


@dataclass(frozen=True)
class GoalChain:
    """Meet goals one after the other, each by actions that all earlier goals accept.

    Goals have Cruise Control's names. `RackAwareGoal` (one replica per rack), `RackAwareDistributionGoal` (even over
    racks), `ReplicaCapacityGoal` and `DiskCapacityGoal` are hard goals; `ReplicaDistributionGoal`,
    `DiskUsageDistributionGoal` and `LeaderReplicaDistributionGoal` are soft goals. Rack goals are skipped if racks do
    not constrain the plan, disk goals if sizes or capacities are unknown. Cruise Control's other goals and its time
    limits are not supported. Where Cruise Control takes brokers in arbitrary order, the broker with the lowest load
    goes first.

    Guarantees: In its own turn no goal makes its own metric worse, unless brokers are drained, and later goals never
    push a broker out of its limits. With new brokers, replicas move only to these, so existing brokers exchange
    nothing; if hard goals require more, the plan fails. While brokers are drained, soft goals only move replicas from
    drained brokers. A plan leaves nothing on drained brokers, if necessary at the cost of a soft goal.
    Priority: The order of the goals; within a goal, brokers by id.
    Complexity: O(goals P RF B) tried actions in the usual case; swaps for disk usage may square the replicas of a
    broker.
    Source: LinkedIn Cruise Control: `analyzer.GoalOptimizer`, `analyzer.goals`.

    Attributes:
        goals: names of goals, the most important first; commas separate names in a text. A name may include its Java
            package.
        balance_threshold: the maximum load of a broker as a factor of the average; the minimum is as far below the
            average. Nine tenths of this margin are used.
        disk_threshold: the maximum disk utilization of a broker.
        max_replicas_per_broker: the limit of `ReplicaCapacityGoal`.
        only_new_receive: whether brokers without replicas count as new, like the brokers of an add-broker request
            in Cruise Control; otherwise all brokers receive replicas, as in a rebalance.
    """

    goals: tuple[str, ...] = _DEFAULT
    balance_threshold: float = 1.1
    disk_threshold: float = 0.8
    max_replicas_per_broker: int = 10_000
    only_new_receive: bool = True

    capabilities: ClassVar[Capabilities] = Capabilities(
        balances_replicas=True,
        balances_bytes=True,
        is_rack_aware=True,
        balances_leaders=True,
        decommissions_brokers=True,
        is_order_independent=True,
    )

    def __post_init__(self) -> None:
        names = tuple(_names(self.goals))
        if self.goals and not names:
            raise ValueError(f"empty list of goals (goals: {', '.join(self._factories())})")
        object.__setattr__(self, "goals", names)
        for name in self.goals:
            if name not in self._factories():
                problem = "unsupported Cruise Control goal" if name in _NOT_SUPPORTED else "unknown goal"
                raise ValueError(f"{problem} '{name}' (goals: {', '.join(self._factories())})")
        if len(set(self.goals)) < len(self.goals):
            raise ValueError(f"a goal occurs twice in {', '.join(self.goals)}")
        if self.balance_threshold < 1:
            raise ValueError(f"balance_threshold {self.balance_threshold} is less than 1")
        if self.max_replicas_per_broker < 1:
            raise ValueError(f"max_replicas_per_broker {self.max_replicas_per_broker} is less than 1")
        if not 0 < self.disk_threshold <= 1:
            raise ValueError(f"disk_threshold {self.disk_threshold} is not between 0 and 1")
        capabilities = replace(
            self.capabilities,
            balances_replicas=ReplicaDistributionGoal.name in self.goals,
            balances_bytes=DiskUsageDistributionGoal.name in self.goals,
            is_rack_aware=any(name in _RACK_GOALS for name in self.goals),
            balances_leaders=LeaderReplicaDistributionGoal.name in self.goals,
        )
        object.__setattr__(self, "capabilities", capabilities)

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Optimize goal by goal."""
        canonical = CanonicalState.of(state)
        model = ClusterModel(canonical.state, request, only_new_receive=self.only_new_receive)
        skipped = self._skipped_goals(canonical.state, request, model)
        goals = [self._factories()[name]() for name in self.goals if name not in skipped]
        try:
            for index, goal in enumerate(goals):
                _optimize(goal, GoalActions(model, goal, goals[:index]))
            if _not_drained(model):
                raise GoalError(_not_drained(model))
        except GoalError as error:
            hint = "; only new brokers receive replicas unless only_new_receive is false" if model.new else ""
            return Plan.without_replicas(PlanStatus.FAILED, f"{error}{hint}")
        notes = [f"{name}: skipped, {reason}" for name, reason in skipped.items()]
        notes += [unmet for goal in goals if (unmet := goal.unmet(model))]
        return Plan(PlanStatus.FEASIBLE, canonical.to_input_order(replica_table(model.replicas)), notes=tuple(notes))

    def _factories(self) -> dict[str, Callable[[], Goal]]:
        margin = (self.balance_threshold - 1) * MARGIN
        return {
            RackAwareGoal.name: RackAwareGoal,
            RackAwareDistributionGoal.name: RackAwareDistributionGoal,
            ReplicaCapacityGoal.name: lambda: ReplicaCapacityGoal(self.max_replicas_per_broker),
            DiskCapacityGoal.name: lambda: DiskCapacityGoal(self.disk_threshold),
            ReplicaDistributionGoal.name: lambda: ReplicaDistributionGoal(margin),
            DiskUsageDistributionGoal.name: lambda: DiskUsageDistributionGoal(margin),
            LeaderReplicaDistributionGoal.name: lambda: LeaderReplicaDistributionGoal(margin),
        }

    def _skipped_goals(self, state: ClusterState, request: PlanRequest, model: ClusterModel) -> dict[str, str]:
        """Return the goals that do not apply to this cluster, and the reasons."""
        reasons: dict[str, str] = {}
        if not request.is_rack_aware(state):
            reasons |= dict.fromkeys(_RACK_GOALS, "racks do not constrain the plan")
        if state.size_bytes is None:
            reasons |= dict.fromkeys(_DISK_GOALS, "partition sizes are unknown")
        elif any(not model.capacity[broker] for broker in model.allowed):
            reasons |= dict.fromkeys(_DISK_GOALS, "some broker capacities are unknown")
        return {name: reason for name, reason in reasons.items() if name in self.goals}


def _names(goals: str | Iterable[str]) -> Iterator[str]:
    """Yield the names of goals, without Java packages."""
    parts = goals.split(",") if isinstance(goals, str) else goals
    return (part.strip().rpartition(".")[2] for part in parts if part.strip())


def _optimize(goal: Goal, actions: GoalActions) -> None:
    """Run a goal, and once more if brokers to drain still hold replicas.

    Raises GoalError if a hard goal is not met, or a broker cannot be drained.
    """
    model = actions.model
    goal.prepare(model)
    for broker in goal.brokers_in_turn(model):
        goal.improve(broker, actions)
    if goal.is_hard and (unmet := goal.unmet(model) or _not_drained(model)):
        raise GoalError(unmet)
    if _not_drained(model):
        goal.is_last_resort = True
        for broker in goal.brokers_in_turn(model):
            goal.improve(broker, actions)
    if _not_drained(model):
        raise GoalError(_not_drained(model))


def _not_drained(model: ClusterModel) -> str:
    for broker in model.brokers_to_drain():
        if model.held[broker]:
            row = model.replicas_of(broker)[0]
            return f"{model.state.name(row)}: no goal finds a broker for its replica on {broker_ids(model, [broker])}"
    return ""
