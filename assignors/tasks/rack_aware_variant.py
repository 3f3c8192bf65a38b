"""What KIP-925 discussed and Kafka did not ship, each as a variation of its high-availability assignor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from assignors.flow import min_traffic
from assignors.flow.even_flow import EvenFlowProblem, solve
from assignors.model.assignment import TaskAssignment, TaskType
from assignors.model.columns import IntArray
from assignors.model.configs import RackAwareStrategy
from assignors.model.parameters import check_count
from assignors.model.state import ApplicationState
from assignors.model.traffic_rates import TrafficRates, TrafficUnit, check_topic_rates, effective_rates
from assignors.model.state import previous_holders
from assignors.recording.recorder import NO_RECORDER
from assignors.tasks.active_task_flow import RowArray, costs_of_moving
from assignors.tasks.balance import balance_over_threads
from assignors.tasks.high_availability import DEFAULT_NON_OVERLAP_COST, DEFAULT_TRAFFIC_COST
from assignors.tasks.partition_weights import partition_weights
from assignors.tasks.rack_aware import STATELESS_NON_OVERLAP_COST, STATELESS_TRAFFIC_COST, can_enable
from assignors.tasks.standby import standby_policy
from assignors.tasks.standby_exchange import exchange_standbys
from assignors.tasks.standby_flow import place_standbys
from assignors.tasks.task_movement import move_to_caught_up_clients
from assignors.tasks.task_placement import TaskPlacement


class StandbyStep(StrEnum):
    """How standbys are made cheap."""

    EXCHANGE = "exchange"
    """Kafka's, the KIP's option I: they are placed apart, then pairs of clients exchange some where that saves cost."""
    LEAST_COST = "least_cost"
    """The KIP's option II: a flow in which being near to another copy has a price above all; `standby_flow`."""


class OverlapTarget(StrEnum):
    """Which assignment a stateful task must stay with not to cost `rack.aware.assignment.non_overlap_cost`."""

    FRESH = "fresh"
    """Kafka's: what the assignor makes afresh before it looks at racks."""
    CURRENT = "current"
    """What was run until now."""


class BalanceScope(StrEnum):
    """What active tasks are kept even by while they are made cheap."""

    CLIENT = "client"
    """Kafka's min_traffic: every client keeps its number of tasks."""
    SUBTOPOLOGY = "subtopology"
    """Every client has its share of each subtopology, and of all, rounded down or up."""


@dataclass(frozen=True, slots=True)
class RackAwareVariant:
    """`HighAvailability` with other rack-aware steps; as it stands, with Kafka's min_traffic.

    Where racks are not known of all clients and partitions, it answers as `HighAvailability` without a strategy.
    `rack.aware.assignment.strategy` is not looked at.

    Attributes:
        standby_step: how standbys are made cheap.
        reliable_standbys: how many standbys of a task are kept apart by `StandbyStep.LEAST_COST`.
        overlap_target: what it costs to differ from.
        balance: what actives are kept even by.
        minimises: whether partitions are counted or weighed by bytes; then the non-overlap cost is that many times the
            weight of the mean partition.
        bytes_per_s: bytes that are produced to each topic, in place of `rates`; see `rates_of_topics`.
        rates: what flows, and who leads; a run gives those of its world at the start. Without either, every partition
            weighs the same.

    Guarantees: as `HighAvailability`. The stateful actives of the target are the cheapest by the chosen costs that are
    as even as `balance` says; of stateless tasks the same.

    Priority: being caught up, then balance, then traffic against the overlap.

    Complexity: as `HighAvailability`; with `Balance.SUBTOPOLOGY` and `StandbyStep.LEAST_COST` flows of T·C arcs.

    Source: KIP-925, sections 4.B and 4.C.
    """

    standby_step: StandbyStep = StandbyStep.EXCHANGE
    reliable_standbys: int = 1
    overlap_target: OverlapTarget = OverlapTarget.FRESH
    balance: BalanceScope = BalanceScope.CLIENT
    minimises: TrafficUnit = TrafficUnit.PARTITIONS
    bytes_per_s: Mapping[str, int] = field(default_factory=dict, hash=False)
    rates: TrafficRates | None = None

    def __post_init__(self) -> None:
        StandbyStep(self.standby_step)
        OverlapTarget(self.overlap_target)
        BalanceScope(self.balance)
        check_count("reliable_standbys", self.reliable_standbys)
        object.__setattr__(self, "bytes_per_s", check_topic_rates(self.bytes_per_s))
        if self.minimises not in (TrafficUnit.PARTITIONS, TrafficUnit.BYTES):
            raise ValueError(f"minimises is '{self.minimises}' (one of: partitions, bytes)")
        if self.bytes_per_s and self.minimises == TrafficUnit.PARTITIONS:
            raise ValueError("bytes_per_s plays no part where partitions are minimised; say minimises: bytes")

    @property
    def needs_rates(self) -> bool:
        """Whether it weighs bytes, and nobody gave it rates."""
        return self.minimises == TrafficUnit.BYTES and self.rates is None and not self.bytes_per_s

    def with_rates(self, rates: TrafficRates) -> RackAwareVariant:
        """The same with these."""
        return replace(self, rates=rates)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Assign tasks.

        Raises:
            KafkaError: Kafka would throw here; see `assignors.errors`.
        """
        return _VariantRun(self, state).assignment()


@dataclass(frozen=True, slots=True)
class ReliableStandbys(RackAwareVariant):
    """Standbys apart from their actives first, at the least cost that this allows (KIP-925, standby option II)."""

    standby_step: StandbyStep = StandbyStep.LEAST_COST


@dataclass(frozen=True, slots=True)
class CurrentOverlap(RackAwareVariant):
    """Min-cost that weighs traffic against moving from where tasks run now."""

    overlap_target: OverlapTarget = OverlapTarget.CURRENT


@dataclass(frozen=True, slots=True)
class SubtopologyBalance(RackAwareVariant):
    """The least cost with every subtopology spread evenly to the task."""

    balance: BalanceScope = BalanceScope.SUBTOPOLOGY


@dataclass(frozen=True, slots=True)
class MinBytes(RackAwareVariant):
    """Min-traffic by bytes."""

    minimises: TrafficUnit = TrafficUnit.BYTES


class _VariantRun:
    """One assignment in the making."""

    def __init__(self, variant: RackAwareVariant, state: ApplicationState) -> None:
        configs = state.assignment_configs
        given = configs.rack_aware_traffic_cost, configs.rack_aware_non_overlap_cost
        optimized = replace(configs, rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC)
        self._variant = variant
        self._state = state
        self._placement = TaskPlacement(state)
        self._rack_aware = can_enable(replace(state, assignment_configs=optimized))
        self._weights = partition_weights(state, effective_rates(state, variant.bytes_per_s, variant.rates))
        self._traffic_cost = DEFAULT_TRAFFIC_COST if given[0] is None else given[0]
        self._moving = (DEFAULT_NON_OVERLAP_COST if given[1] is None else given[1]) * self._weights.mean

    def assignment(self) -> TaskAssignment:
        """Make it in the steps of `HighAvailability`."""
        state, placement = self._state, self._placement
        if not len(state.clients):
            return placement.columns(None).to_assignment(state)
        stateful = np.flatnonzero(state.tasks.stateful)
        placement.move_actives(stateful, np.arange(len(stateful)) % len(state.clients))
        balance_over_threads(placement, TaskType.ACTIVE, lambda source, destination: True, NO_RECORDER)
        self._optimize_actives(stateful, self._traffic_cost, self._moving)
        if state.assignment_configs.num_standby_replicas > 0:
            self._assign_standbys(stateful)
        movements = move_to_caught_up_clients(placement, NO_RECORDER)
        stateless = np.flatnonzero(~state.tasks.stateful)
        for task in stateless.tolist():
            placement.assign_active(task, min(range(len(state.clients)), key=placement.active_load))
        self._optimize_actives(stateless, STATELESS_TRAFFIC_COST, STATELESS_NON_OVERLAP_COST)
        followup_ms = state.assignment_configs.probing_rebalance_interval_ms if movements else None
        return placement.columns(followup_ms).to_assignment(state)

    def _optimize_actives(self, rows: RowArray, traffic_cost: int, moving: int) -> None:
        if not len(rows) or not self._rack_aware:
            return
        state, placement = self._state, self._placement
        traffic = self._weights.traffic(state.tasks.source)[rows] * traffic_cost
        here, owner = traffic[:, state.clients.rack], placement.owners()[rows].astype(np.intp)
        if self._variant.overlap_target == OverlapTarget.CURRENT:
            costs = here + moving * ~previous_holders(state)[0][rows]
        else:
            costs = costs_of_moving(here, owner, moving)
        is_spread = self._variant.balance == BalanceScope.SUBTOPOLOGY
        placement.move_actives(rows, self._spread(costs, rows) if is_spread else min_traffic(costs, owner))

    def _spread(self, costs: IntArray, rows: RowArray) -> IntArray:
        state, threads = self._state, self._state.clients.threads
        others = np.delete(self._placement.owners(), rows)
        taken = np.bincount(others[others >= 0], minlength=len(threads))
        return solve(EvenFlowProblem(costs, threads, taken, group=state.tasks.subtopology[rows]))

    def _assign_standbys(self, stateful: RowArray) -> None:
        state, placement = self._state, self._placement
        policy = standby_policy(state)
        policy.assign(placement, stateful.tolist(), NO_RECORDER)
        balance_over_threads(placement, TaskType.STANDBY, policy.may_balance, NO_RECORDER)
        if not self._rack_aware:
            return
        traffic = self._weights.traffic(state.tasks.changelog) * self._traffic_cost
        if self._variant.standby_step == StandbyStep.EXCHANGE:
            exchange_standbys(
                placement, range(len(state.clients)), traffic, self._moving, policy.tags_to_keep(), NO_RECORDER
            )
            return
        held = placement.standbys().T.copy()
        if self._variant.overlap_target == OverlapTarget.CURRENT:
            held = previous_holders(state)[1]
        for client, task in np.argwhere(placement.standbys()).tolist():
            placement.unassign_standby(task, client)
        place_standbys(
            placement, traffic[:, state.clients.rack] + self._moving * ~held, self._variant.reliable_standbys
        )
