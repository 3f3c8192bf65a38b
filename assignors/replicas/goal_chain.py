"""Cruise Control reduced: goals in order of priority, none of which undoes an earlier one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from assignors.replicas.canonical import CanonicalState
from assignors.replicas.goals.capacity import ReplicaCapacityGoal
from assignors.replicas.goals.counts import LeaderReplicaDistributionGoal, ReplicaDistributionGoal
from assignors.replicas.goals.disk import DiskCapacityGoal, DiskUsageDistributionGoal
from assignors.replicas.goals.goal import Goal, GoalActions, GoalError, broker_ids
from assignors.replicas.goals.model import ClusterModel
from assignors.replicas.goals.racks import RackAwareDistributionGoal, RackAwareGoal
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.replica_lists import replica_table
from assignors.replicas.state import ClusterState

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
"""How much of a threshold is used, so that a cluster just balanced does not at once need balancing again."""


@dataclass(frozen=True)
class GoalChain:
    """Meet goals one after the other, each by actions that all earlier ones accept.

    Goals have Cruise Control's names. `RackAwareGoal` (one replica a rack), `RackAwareDistributionGoal` (even over
    racks), `ReplicaCapacityGoal` and `DiskCapacityGoal` must be met; `ReplicaDistributionGoal`,
    `DiskUsageDistributionGoal` and `LeaderReplicaDistributionGoal` are met as far as they can be. Goals of racks are
    left out where racks do not constrain the plan, goals of disks where sizes or capacities are unknown. Cruise
    Control's other goals are not supported, nor are its time limits; where it takes brokers in any order, the one with
    least goes first.

    Guarantees:
        In its own turn no goal makes worse what it looks after, unless brokers have to be emptied, and later ones never
        push a broker out of its limits. With new brokers, replicas move to these alone, so old ones exchange nothing;
        what hard goals need beyond that fails. Where brokers are emptied, soft goals move only what came from there. A
        plan leaves nothing on brokers that are to be emptied, if need be at the cost of a soft goal.

    Priority:
        The order of the goals; within one, brokers by id.

    Complexity:
        O(goals P RF B) tried actions in the usual case; swaps for disk usage may square the replicas of a broker.

    Source:
        LinkedIn Cruise Control: `analyzer.GoalOptimizer`, `analyzer.goals`.

    Attributes:
        goals: by name, the most important first; a text has commas between them. A name may have its Java package.
        balance_threshold: how far above the average a broker may be, as a factor; below it likewise. Nine tenths of
            that are used.
        disk_threshold: the share of its disks that a broker may use.
        max_replicas_per_broker: the limit of `ReplicaCapacityGoal`.
        only_new_receive: whether brokers that hold nothing count as new, as those do that the tool is told to add;
            otherwise all brokers receive, as when it is told to rebalance.
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
        named = tuple(_names(self.goals))
        if self.goals and not named:
            raise ValueError(f"no goal is named (goals: {', '.join(self._makers())})")
        object.__setattr__(self, "goals", named)
        for name in self.goals:
            if name not in self._makers():
                what = "a goal of Cruise Control's that is not supported" if name in _NOT_SUPPORTED else "not a goal"
                raise ValueError(f"'{name}' is {what} (goals: {', '.join(self._makers())})")
        if len(set(self.goals)) < len(self.goals):
            raise ValueError(f"a goal stands twice in {', '.join(self.goals)}")
        if self.balance_threshold < 1:
            raise ValueError(f"balance_threshold {self.balance_threshold} is less than 1")
        if self.max_replicas_per_broker < 1:
            raise ValueError(f"max_replicas_per_broker {self.max_replicas_per_broker} is less than 1")
        if not 0 < self.disk_threshold <= 1:
            raise ValueError(f"disk_threshold {self.disk_threshold} is not between 0 and 1")
        own = replace(
            self.capabilities,
            balances_replicas=ReplicaDistributionGoal.name in self.goals,
            balances_bytes=DiskUsageDistributionGoal.name in self.goals,
            is_rack_aware=any(name in _RACK_GOALS for name in self.goals),
            balances_leaders=LeaderReplicaDistributionGoal.name in self.goals,
        )
        object.__setattr__(self, "capabilities", own)

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        """Optimise goal by goal."""
        canonical = CanonicalState.of(state)
        model = ClusterModel(canonical.state, request, only_new_receive=self.only_new_receive)
        left_out = self._left_out(canonical.state, request, model)
        goals = [self._makers()[name]() for name in self.goals if name not in left_out]
        try:
            for place, goal in enumerate(goals):
                _optimize(goal, GoalActions(model, goal, goals[:place]))
            if _not_drained(model):
                raise GoalError(_not_drained(model))
        except GoalError as error:
            hint = "; only new brokers receive, unless only_new_receive is false" if model.new else ""
            return Plan.without_replicas(PlanStatus.FAILED, f"{error}{hint}")
        notes = [f"{name}: left out, {why}" for name, why in left_out.items()]
        notes += [unmet for goal in goals if (unmet := goal.unmet(model))]
        return Plan(PlanStatus.FEASIBLE, canonical.to_input_order(replica_table(model.replicas)), notes=tuple(notes))

    def _makers(self) -> dict[str, Callable[[], Goal]]:
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

    def _left_out(self, state: ClusterState, request: PlanRequest, model: ClusterModel) -> dict[str, str]:
        """The goals that cannot be asked of this cluster, and why."""
        why: dict[str, str] = {}
        if not request.is_rack_aware(state):
            why |= dict.fromkeys(_RACK_GOALS, "racks do not constrain the plan")
        if state.size_bytes is None:
            why |= dict.fromkeys(_DISK_GOALS, "the sizes of partitions are not known")
        elif any(not model.capacity[broker] for broker in model.allowed):
            why |= dict.fromkeys(_DISK_GOALS, "not all capacities of brokers are known")
        return {name: reason for name, reason in why.items() if name in self.goals}


def _names(goals: str | Iterable[str]) -> Iterator[str]:
    """Yield the names of goals, without Java packages."""
    parts = goals.split(",") if isinstance(goals, str) else goals
    return (part.strip().rpartition(".")[2] for part in parts if part.strip())


def _optimize(goal: Goal, actions: GoalActions) -> None:
    """Give a goal its turn, and a second one if that leaves something on brokers that are to be emptied."""
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
