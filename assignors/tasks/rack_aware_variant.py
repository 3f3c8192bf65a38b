"""Alternatives that KIP-925 discussed and Kafka did not ship, as variants of the high-availability assignor.

Weights of partitions, to weigh traffic by bytes instead of partitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from assignors.flow import min_traffic
from assignors.flow.min_cost import EvenFlowProblem, solve_even_flow
from assignors.model.assignment import TaskAssignment, TaskType
from assignors.model.columns import BoolArray, IntArray, Ragged
from assignors.model.configs import RackAwareStrategy
from assignors.model.state import ApplicationState, previous_holders
from assignors.model.traffic_rates import (
    PartitionRateColumns,
    TrafficRates,
    TrafficUnit,
    check_count,
    check_topic_rates,
    effective_rates,
)
from assignors.objective import HIGH_AVAILABILITY_WEIGHTS, STATELESS_WEIGHTS, Weights
from assignors.recording import NO_RECORDER
from assignors.tasks.high_availability import balance_over_threads
from assignors.tasks.rack_aware import RowArray, can_enable, costs_of_moving
from assignors.tasks.standby import standby_policy
from assignors.tasks.standby_exchange import exchange_standbys
from assignors.tasks.standby_flow import place_standbys
from assignors.tasks.task_movement import move_to_caught_up_clients
from assignors.tasks.task_placement import TaskPlacement

MAX_WEIGHT = 1_000_000
"""Weight of the heaviest partition; the others are rounded to whole numbers on this scale."""


@dataclass(frozen=True, slots=True, eq=False)
class PartitionWeights:
    """The weight of reading each of P partitions in each of R racks.

    Attributes:
        weights: shape (P,).
        is_remote: shape (P, R); whether a client in the rack reads the partition from another rack.
    """

    weights: IntArray
    is_remote: BoolArray

    @property
    def mean(self) -> int:
        """Return the mean weight of a partition as a whole number, at least 1."""
        return max(1, round(float(self.weights.mean()))) if len(self.weights) else 1

    def traffic(self, partitions: Ragged) -> IntArray:
        """Return the weight of the partitions of each row that are read across racks, in each rack; shape (T, R)."""
        weighted: IntArray = self.is_remote * self.weights[:, None]
        return partitions.sum(weighted)


def partition_weights(state: ApplicationState, rates: TrafficRates | None) -> PartitionWeights:
    """Return the weights of a state's partitions.

    `rates`: rates of partitions. If None, or if all are 0, each partition weighs 1, and a replica in the rack makes it
    local.
    """
    columns = None if rates is None else PartitionRateColumns.of(state, rates)
    if columns is None or not columns.bytes_per_s.any():
        return PartitionWeights(np.ones(len(state.partitions.names), dtype=np.int64), ~state.partitions.in_rack)
    weights = np.rint(columns.bytes_per_s / columns.bytes_per_s.max() * MAX_WEIGHT).astype(np.int64)
    return PartitionWeights(weights, columns.is_remote)


class StandbyStep(StrEnum):
    """How to reduce the traffic cost of standbys."""

    EXCHANGE = "exchange"
    """Kafka's (option I of the KIP): place standbys in different racks, then exchange some between pairs of clients."""
    LEAST_COST = "least_cost"
    """Option II of the KIP: a flow that penalizes standbys near other copies above all; see `standby_flow`."""


class OverlapTarget(StrEnum):
    """The assignment from which moves are measured for `rack.aware.assignment.non_overlap_cost`."""

    FRESH = "fresh"
    """Kafka's: the assignment that the assignor computes before the rack-aware step."""
    CURRENT = "current"
    """The current assignment."""


class BalanceScope(StrEnum):
    """The balance of active tasks that the rack-aware step preserves."""

    CLIENT = "client"
    """Kafka's min_traffic: the number of tasks of each client."""
    SUBTOPOLOGY = "subtopology"
    """Each client's share of each subtopology and of all tasks, rounded down or up."""


@dataclass(frozen=True, slots=True)
class RackAwareVariant:
    """`HighAvailability` with other rack-aware steps; by default, with Kafka's min_traffic.

    If the racks of some clients or partitions are unknown, it assigns as `HighAvailability` without a strategy.
    `rack.aware.assignment.strategy` has no effect.

    Attributes:
        standby_step: how to reduce the traffic cost of standbys.
        reliable_standbys: number of standbys of a task that `StandbyStep.LEAST_COST` separates.
        overlap_target: assignment from which moves are measured.
        balance: balance of active tasks to preserve.
        minimizes: whether partitions are counted or weighted by bytes; with bytes, the non-overlap cost is multiplied
            by the weight of the mean partition.
        bytes_per_s: rate of each topic, instead of `rates`; see `rates_of_topics`.
        rates: rates of partitions; a run sets those of its world. Without either, all partitions have the same weight.

    Guarantees: as `HighAvailability`. The stateful active tasks of the target have the minimum cost for the balance of
    `balance`; the same holds for stateless tasks.

    Priority: caught-up clients, then balance, then traffic against moves.

    Complexity: as `HighAvailability`; with `BalanceScope.SUBTOPOLOGY` and `StandbyStep.LEAST_COST`, flows of T·C arcs.

    Source: KIP-925, sections 4.B and 4.C.

    Raises:
        ValueError: a parameter is not allowed.
    """

    standby_step: StandbyStep = StandbyStep.EXCHANGE
    reliable_standbys: int = 1
    overlap_target: OverlapTarget = OverlapTarget.FRESH
    balance: BalanceScope = BalanceScope.CLIENT
    minimizes: TrafficUnit = TrafficUnit.PARTITIONS
    bytes_per_s: Mapping[str, int] = field(default_factory=dict, hash=False)
    rates: TrafficRates | None = None

    def __post_init__(self) -> None:
        StandbyStep(self.standby_step)
        OverlapTarget(self.overlap_target)
        BalanceScope(self.balance)
        check_count("reliable_standbys", self.reliable_standbys)
        object.__setattr__(self, "bytes_per_s", check_topic_rates(self.bytes_per_s))
        if self.minimizes not in (TrafficUnit.PARTITIONS, TrafficUnit.BYTES):
            raise ValueError(f"`minimizes` must be one of partitions, bytes, not '{self.minimizes}'")
        if self.bytes_per_s and self.minimizes == TrafficUnit.PARTITIONS:
            raise ValueError("bytes_per_s has no effect with `minimizes: partitions`; set `minimizes: bytes`")

    @property
    def needs_rates(self) -> bool:
        """Return whether the assignor minimizes bytes and has no rates."""
        return self.minimizes == TrafficUnit.BYTES and self.rates is None and not self.bytes_per_s

    def with_rates(self, rates: TrafficRates) -> RackAwareVariant:
        """Return the same assignor with these rates."""
        return replace(self, rates=rates)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Assign tasks; raise KafkaError if Kafka throws for this state; see `assignors.errors`."""
        return _VariantRun(self, state).assignment()


@dataclass(frozen=True, slots=True)
class ReliableStandbys(RackAwareVariant):
    """Standbys in other racks than their active tasks first, then at the minimum cost (KIP-925, standby option II)."""

    standby_step: StandbyStep = StandbyStep.LEAST_COST


@dataclass(frozen=True, slots=True)
class CurrentOverlap(RackAwareVariant):
    """Min-cost that weighs traffic against moves from the current assignment."""

    overlap_target: OverlapTarget = OverlapTarget.CURRENT


@dataclass(frozen=True, slots=True)
class SubtopologyBalance(RackAwareVariant):
    """The minimum cost with each subtopology spread evenly."""

    balance: BalanceScope = BalanceScope.SUBTOPOLOGY


@dataclass(frozen=True, slots=True)
class MinBytes(RackAwareVariant):
    """Min-traffic by bytes."""

    minimizes: TrafficUnit = TrafficUnit.BYTES


class _VariantRun:
    """One assignment of a variant."""

    def __init__(self, variant: RackAwareVariant, state: ApplicationState) -> None:
        configs = state.assignment_configs
        optimized = replace(configs, rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC)
        self._variant = variant
        self._state = state
        self._placement = TaskPlacement(state)
        self._rack_aware = can_enable(replace(state, assignment_configs=optimized))
        self._weights = partition_weights(state, effective_rates(state, variant.bytes_per_s, variant.rates))
        weights = HIGH_AVAILABILITY_WEIGHTS.configured(configs)
        self._costs = Weights(weights.traffic_cost, weights.non_overlap_cost * self._weights.mean)

    def assignment(self) -> TaskAssignment:
        """Compute the assignment in the steps of `HighAvailability`."""
        state, placement = self._state, self._placement
        if not len(state.clients):
            return placement.columns(None).to_assignment(state)
        stateful = np.flatnonzero(state.tasks.stateful)
        placement.move_actives(stateful, np.arange(len(stateful)) % len(state.clients))
        balance_over_threads(placement, TaskType.ACTIVE, lambda source, destination: True, NO_RECORDER)
        self._optimize_actives(stateful, self._costs)
        if state.assignment_configs.num_standby_replicas > 0:
            self._assign_standbys(stateful)
        movements = move_to_caught_up_clients(placement, NO_RECORDER)
        stateless = np.flatnonzero(~state.tasks.stateful)
        for task in stateless.tolist():
            placement.assign_active(task, min(range(len(state.clients)), key=placement.active_load))
        self._optimize_actives(stateless, STATELESS_WEIGHTS)
        followup_ms = state.assignment_configs.probing_rebalance_interval_ms if movements else None
        return placement.columns(followup_ms).to_assignment(state)

    def _optimize_actives(self, rows: RowArray, weights: Weights) -> None:
        if not len(rows) or not self._rack_aware:
            return
        state, placement = self._state, self._placement
        traffic = self._weights.traffic(state.tasks.source)[rows] * weights.traffic_cost
        client_traffic, owner = traffic[:, state.clients.rack], placement.owners()[rows].astype(np.intp)
        if self._variant.overlap_target == OverlapTarget.CURRENT:
            costs = client_traffic + weights.non_overlap_cost * ~previous_holders(state)[0][rows]
        else:
            costs = costs_of_moving(client_traffic, owner, weights.non_overlap_cost)
        is_spread = self._variant.balance == BalanceScope.SUBTOPOLOGY
        placement.move_actives(rows, self._spread(costs, rows) if is_spread else min_traffic(costs, owner))

    def _spread(self, costs: IntArray, rows: RowArray) -> IntArray:
        state, threads = self._state, self._state.clients.threads
        other_owners = np.delete(self._placement.owners(), rows)
        taken = np.bincount(other_owners[other_owners >= 0], minlength=len(threads))
        return solve_even_flow(EvenFlowProblem(costs, threads, taken, group=state.tasks.subtopology[rows]))

    def _assign_standbys(self, stateful: RowArray) -> None:
        state, placement = self._state, self._placement
        policy = standby_policy(state)
        policy.assign(placement, stateful.tolist(), NO_RECORDER)
        balance_over_threads(placement, TaskType.STANDBY, policy.may_balance, NO_RECORDER)
        if not self._rack_aware:
            return
        traffic = self._weights.traffic(state.tasks.changelog) * self._costs.traffic_cost
        if self._variant.standby_step == StandbyStep.EXCHANGE:
            exchange_standbys(
                placement,
                range(len(state.clients)),
                traffic,
                self._costs.non_overlap_cost,
                policy.tags_to_keep(),
                NO_RECORDER,
            )
            return
        held = placement.standbys().T.copy()
        if self._variant.overlap_target == OverlapTarget.CURRENT:
            held = previous_holders(state)[1]
        for client, task in np.argwhere(placement.standbys()).tolist():
            placement.unassign_standby(task, client)
        place_standbys(
            placement,
            traffic[:, state.clients.rack] + self._costs.non_overlap_cost * ~held,
            self._variant.reliable_standbys,
        )
