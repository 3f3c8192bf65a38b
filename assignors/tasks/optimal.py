"""The cheapest of all assignments: actives, standbys and stateless tasks at once, with a proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum

import numpy as np

from assignors.errors import AssignorError
from assignors.model.assignment import AssignmentColumns, TaskAssignment
from assignors.model.columns import BoolArray, IntArray
from assignors.model.state import ApplicationState
from assignors.model.traffic_rates import TrafficRates, TrafficUnit, check_topic_rates, effective_price, effective_rates
from assignors.objective.cost import Weights
from assignors.optimum import prices as priced
from assignors.optimum.balanced_placement import Slack, place_stateful_tasks, place_stateless_tasks
from assignors.optimum.byte_costs import ByteCostTerms, byte_costs
from assignors.optimum.costs import CopyCosts, Priority, partition_costs
from assignors.optimum.failure_domains import places
from assignors.optimum.parameter_checks import check
from assignors.optimum.placement_program import PlacementSolution
from assignors.recording.recorder import NO_RECORDER
from assignors.tasks.task_movement import move_to_caught_up_clients
from assignors.tasks.task_placement import TaskPlacement

DEFAULT_TRAFFIC_COST = 10
DEFAULT_NON_OVERLAP_COST = 1


class Separation(StrEnum):
    """Where copies of a task are kept apart: by configured tags, else by racks; by tags alone; on clients alone."""

    PLACES = "places"
    TAGS = "tags"
    CLIENTS = "clients"


class SolutionStatus(StrEnum):
    """What is known of an answer: that nothing is cheaper, or only what the bound says."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"


@dataclass(frozen=True, slots=True, eq=False)
class OptimalSolution:
    """An answer and its proof.

    Attributes:
        assignment: what to do now; tasks that wait for a warm-up run elsewhere.
        target: where all is to be when copies have warmed up.
        weights: what traffic and movement count in the cost.
        unit: what a cost of 1 is worth, in partitions, bytes per second or US dollars a day.
        traffic: what the target brings across racks at rest, in the same, whatever else it costs.
        cost: what the target costs, by the weights, the price of downtime included.
        bound: what no target as balanced, and with copies as far apart, costs less than.
        status: optimal if that is the cost, and it is proven that there is none with less slack.
        slack: by how many copies clients differ from their shares; more than asked for only where standbys could not
            be placed otherwise, or, if the status is feasible, no place was found for them in the time.
    """

    assignment: TaskAssignment
    target: AssignmentColumns
    weights: Weights
    unit: float
    traffic: float
    cost: int
    bound: int
    status: SolutionStatus
    slack: int


@dataclass(frozen=True, slots=True)
class Optimal:
    """The least traffic and movement of all assignments that are as balanced, in partitions, bytes or dollars.

    Attributes:
        minimises: what counts: partitions without a replica in the rack and copies in new places, as in KIP-925; or
            bytes per second that cross racks (`bytes`), or their price in US dollars a day (`dollars`), where a copy
            in a new place costs what it still has to read across racks.
        traffic_cost: what a partition costs that is read across racks; None takes `rack.aware.assignment.traffic_cost`,
            10 if that is not set. Partitions of stateless tasks cost 1. Not for bytes and dollars.
        non_overlap_cost: what a copy costs where it was not before; None takes
            `rack.aware.assignment.non_overlap_cost`, 1 if that is not set. For bytes and dollars that comes on top of
            what is restored, in bytes per second or dollars a day, and None is 0.
        priority: whether the two are added up, or the one decides and the other settles what is left.
        apart: where copies of a task are kept apart, as far as shares admit it: by the tags of
            `rack.aware.assignment.tags`, else by racks (`places`), by these tags alone, as Kafka does (`tags`), or
            only on different clients (`clients`).
        slack: by how many tasks a client may have more or fewer than its share by threads, rounded either way: of
            stateful tasks, of stateless tasks, and of standbys.
        subtopology_slack: the same of every subtopology; None asks nothing of subtopologies.
        downtime_cost: what it costs to run a task, at once, on a client that lags behind another one, in units of the
            costs; None never does, and warms the client up first.
        time_limit_s: how long an integer programme may take, about; counted in nodes of its search, and by the clock
            only where it takes four times as long.
        horizon_s: over how many seconds what is restored is spread, to be weighed against what flows for good.
        bytes_per_s: what is produced to each topic, in place of `rates`; see `rates_of_topics`.
        usd_per_gb: what a gigabyte costs that crosses racks; None takes that of `rates`.
        rates: what flows, and between which racks; a run gives those of its world at the start.

    Guarantees: nothing that keeps to the priorities costs less, if the status says so; else nothing costs less than the
    bound. Bytes and dollars are first rounded to units, of which the dearest copy costs 100,000 at most. With a
    downtime cost of None a task runs on a caught-up client if there is one; `max.warmup.replicas` and probing
    rebalances are as in `HighAvailability`, and the group comes to rest: ties fall to clients that are caught up. Where
    racks are not known, only movement counts.

    Priority: every task runs and has its standbys, on different clients; balance; copies of a task in different racks,
    or at different values of `rack.aware.assignment.tags`; cost; then caught-up clients, then warm ones.

    Complexity: a min-cost flow without standbys; an integer programme with them, exponential at worst.

    Source: KIP-925 and KIP-708 for what is asked, KIP-441 for the way there; the programme is this project's.
    """

    traffic_cost: int | None = None
    non_overlap_cost: int | None = None
    priority: Priority = Priority.WEIGHTED
    apart: Separation = Separation.PLACES
    slack: int = 0
    subtopology_slack: int | None = None
    downtime_cost: int | None = None
    time_limit_s: float = 60.0
    minimises: TrafficUnit = TrafficUnit.PARTITIONS
    horizon_s: float = 86_400.0
    bytes_per_s: Mapping[str, int] = field(default_factory=dict, hash=False)
    usd_per_gb: float | None = None
    rates: TrafficRates | None = None

    default_traffic_cost = DEFAULT_TRAFFIC_COST
    default_non_overlap_cost = DEFAULT_NON_OVERLAP_COST

    def __post_init__(self) -> None:
        object.__setattr__(self, "bytes_per_s", check_topic_rates(self.bytes_per_s))
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        check(given, {"priority": Priority, "apart": Separation, "minimises": TrafficUnit})

    @property
    def needs_rates(self) -> bool:
        """Whether it weighs bytes, and nobody gave it rates."""
        return self.minimises != TrafficUnit.PARTITIONS and self.rates is None

    def with_rates(self, rates: TrafficRates) -> Optimal:
        """The same with these; `bytes_per_s` and `usd_per_gb` go before them."""
        return replace(self, rates=rates)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Assign tasks at the least cost.

        Raises:
            IllegalStateError: the lag of a stateful task is not known.
        """
        return self.solve(state).assignment

    def solve(self, state: ApplicationState) -> OptimalSolution:
        """As `assign`, with the cost and the bound."""
        copies = _copies(state)
        costs = self._costs(state, copies)
        price = priced.prices(state, copies, costs, self.downtime_cost or 0)
        slack = Slack(self.slack, self.subtopology_slack)
        shared = place_stateful_tasks(state, price, copies, self._places(state), slack, self.time_limit_s)
        found, stateless = shared.found, place_stateless_tasks(state, price, slack)
        rest = priced.total(price.stateless, stateless)
        paid = priced.total(price.active, found.active) + priced.total(price.standby, found.standby)
        cost, bound = price.cost(paid + rest), price.least_cost(found.bound + rest)
        target = _columns(state, found, stateless)
        return OptimalSolution(
            assignment=self._now(state, target).to_assignment(state),
            target=target,
            weights=costs.weights,
            unit=costs.unit,
            traffic=costs.traffic.total(target.active, target.standby),
            cost=cost,
            bound=bound,
            status=SolutionStatus.OPTIMAL if bound == cost and shared.is_needed else SolutionStatus.FEASIBLE,
            slack=shared.slack,
        )

    def _costs(self, state: ApplicationState, copies: int) -> CopyCosts:
        priority = Priority(self.priority)
        if self.minimises == TrafficUnit.PARTITIONS:
            configured = Weights(DEFAULT_TRAFFIC_COST, DEFAULT_NON_OVERLAP_COST).configured(state.assignment_configs)
            traffic, moving = self.traffic_cost, self.non_overlap_cost
            weights = Weights(
                configured.traffic_cost if traffic is None else traffic,
                configured.non_overlap_cost if moving is None else moving,
            )
            return partition_costs(state, copies, priority, weights)
        rates = effective_rates(state, self.bytes_per_s, self.rates)
        if rates is None:
            raise AssignorError(f"nobody says what flows, so {self.minimises} cannot be minimised: give bytes_per_s")
        price = None if self.minimises == TrafficUnit.BYTES else effective_price(self.usd_per_gb, rates)
        return byte_costs(
            state, copies, rates, ByteCostTerms(priority, self.non_overlap_cost or 0, self.horizon_s, price)
        )

    def _places(self, state: ApplicationState) -> IntArray:
        is_tagged = bool(state.assignment_configs.rack_aware_assignment_tags)
        if self.apart == Separation.CLIENTS or (self.apart == Separation.TAGS and not is_tagged):
            return np.zeros((0, len(state.clients)), dtype=np.int64)
        return places(state)

    def _now(self, state: ApplicationState, target: AssignmentColumns) -> AssignmentColumns:
        if self.downtime_cost is not None or not len(state.clients):
            return target
        placement = TaskPlacement(state)
        tasks = np.arange(len(state.tasks))
        placement.move_actives(tasks, target.active)
        for task, client in zip(*np.nonzero(target.standby), strict=True):
            placement.assign_standby(int(task), int(client))
        moved = move_to_caught_up_clients(placement, NO_RECORDER)
        return placement.columns(state.assignment_configs.probing_rebalance_interval_ms if moved else None)


def _copies(state: ApplicationState) -> int:
    return max(min(state.assignment_configs.num_standby_replicas, len(state.clients) - 1), 0)


def _columns(state: ApplicationState, found: PlacementSolution, stateless: BoolArray) -> AssignmentColumns:
    num_clients = len(state.clients)
    active = np.full(len(state.tasks), -1, dtype=np.int64)
    standby = np.zeros((len(state.tasks), num_clients), dtype=np.bool_)
    if num_clients:
        active[state.tasks.stateful] = found.active.argmax(axis=1)
        active[~state.tasks.stateful] = stateless.argmax(axis=1)
        standby[state.tasks.stateful] = found.standby
    return AssignmentColumns(active, standby, None)
