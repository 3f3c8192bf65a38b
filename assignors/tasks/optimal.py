"""The optimal task assignor: active tasks, standbys and stateless tasks at the minimum cost, with a proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import partial
from typing import ClassVar

import numpy as np

from assignors.errors import AssignorError
from assignors.model.assignment import UNASSIGNED, AssignmentColumns, TaskAssignment
from assignors.model.columns import BoolArray, IntArray
from assignors.model.state import ApplicationState
from assignors.model.traffic_rates import TrafficRates, TrafficUnit, check_topic_rates, effective_price, effective_rates
from assignors.objective import HIGH_AVAILABILITY_WEIGHTS, Weights
from assignors.optimum.balanced_placement import (
    Slack,
    find_cheapest_placement,
    place_stateful_tasks,
    place_stateless_tasks,
)
from assignors.optimum.costs import (
    ByteCostTerms,
    CopyCosts,
    Priority,
    byte_costs,
    check_parameters,
    compute_prices,
    partition_costs,
    total_price,
)
from assignors.optimum.task_placement_program import MAX_VARIABLES, PlacementSolution, failure_domains
from assignors.recording import NO_RECORDER
from assignors.tasks.task_movement import move_to_caught_up_clients
from assignors.tasks.task_placement import TaskPlacement


class Separation(StrEnum):
    """Where copies of a task are separated: by configured tags or else racks; by tags only; on other clients only."""

    PLACES = "places"
    TAGS = "tags"
    CLIENTS = "clients"


class SolutionStatus(StrEnum):
    """Whether an assignment is proven to be optimal, or only bounded."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"


@dataclass(frozen=True, slots=True, eq=False)
class OptimalSolution:
    """An assignment and its proof.

    Attributes:
        assignment: the assignment of this rebalance; a task whose client must warm up runs on another client.
        target: the assignment after all copies have warmed up.
        weights: weights of traffic and movement in the cost.
        unit: traffic that a cost of 1 represents, in partitions, bytes per second or US dollars a day.
        traffic: cross-rack traffic of the target in the steady state, in the same unit.
        cost: cost of the target, including downtime.
        bound: lower bound of the cost of all targets that are at least as balanced and separated.
        status: optimal if the cost equals the bound, and smaller slacks are proven to be infeasible.
        slack: number of copies by which clients exceed or miss their shares. It exceeds the requested slack only where
            standbys do not fit otherwise, or, with status feasible, where no placement was found in time.
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
    """The minimum traffic and movement for a given balance, in partitions, bytes or dollars.

    Attributes:
        minimizes: what to minimize: partitions without a replica in the rack and moved copies, as in KIP-925; or bytes
            per second that cross racks (`bytes`), or their price in US dollars a day (`dollars`), where a moved copy
            costs the bytes that it still reads across racks.
        traffic_cost: cost of a partition that is read across racks; None for `rack.aware.assignment.traffic_cost`,
            default 10. Partitions of stateless tasks cost 1. Not for bytes and dollars.
        non_overlap_cost: cost of a copy on a client that did not hold it before; None for
            `rack.aware.assignment.non_overlap_cost`, default 1. For bytes and dollars it is added to the restored
            bytes, in bytes per second or dollars a day, default 0.
        priority: whether traffic and movement are added up, or one is minimized before the other.
        apart: where copies of a task are separated, if the shares allow it: by the tags of
            `rack.aware.assignment.tags` or else by racks (`places`), by these tags only, as in Kafka (`tags`), or on
            different clients only (`clients`).
        slack: number of tasks by which a client may exceed or miss its share by threads, rounded either way: of
            stateful tasks, of stateless tasks, and of standbys.
        subtopology_slack: the same for each subtopology; None if subtopologies do not matter.
        downtime_cost: cost of running a task at once on a client that lags behind another one, in units of the costs;
            None to warm up the client first.
        time_limit_s: approximate time limit of an integer program, converted to nodes of its search. The clock ends the
            search only after four times as long.
        horizon_s: period over which restored bytes are spread, to compare them with continuous traffic.
        bytes_per_s: rate of each topic, instead of `rates`; see `rates_of_topics`.
        usd_per_gb: price of 10⁹ bytes that cross racks; None for the price of `rates`.
        rates: rates of partitions and tasks; a run sets those of its world.
        max_variables: number of variables above which no integer program is solved; flows then place the standbys.

    Guarantees: with status optimal, no assignment with these priorities costs less; else none costs less than the
    bound. Bytes and dollars are first rounded to units, of which the most expensive copy costs 100,000. With a downtime
    cost of None, a task runs on a caught-up client if one exists, `max.warmup.replicas` and probing rebalances work as
    in `HighAvailability`, and the group converges: ties go to caught-up clients. Where racks are unknown, only movement
    counts.

    Priority: all tasks run and have their standbys, on different clients; balance; copies of a task in different racks,
    or with different values of `rack.aware.assignment.tags`; cost; then caught-up clients, then clients that are
    warming up.

    Complexity: a min-cost flow without standbys; with standbys an integer program, exponential in the worst case.

    Source: KIP-925 and KIP-708 for the objective, KIP-441 for the movement; the program is this project's.

    Raises:
        TypeError: a parameter has the wrong type.
        ValueError: a parameter is not allowed.
    """

    traffic_cost: int | None = None
    non_overlap_cost: int | None = None
    priority: Priority = Priority.WEIGHTED
    apart: Separation = Separation.PLACES
    slack: int = 0
    subtopology_slack: int | None = None
    downtime_cost: int | None = None
    time_limit_s: float = 60.0
    minimizes: TrafficUnit = TrafficUnit.PARTITIONS
    horizon_s: float = 86_400.0
    bytes_per_s: Mapping[str, int] = field(default_factory=dict, hash=False)
    usd_per_gb: float | None = None
    rates: TrafficRates | None = None
    max_variables: int = MAX_VARIABLES

    default_weights: ClassVar[Weights] = HIGH_AVAILABILITY_WEIGHTS

    def __post_init__(self) -> None:
        object.__setattr__(self, "bytes_per_s", check_topic_rates(self.bytes_per_s))
        parameters = {parameter.name: getattr(self, parameter.name) for parameter in fields(self)}
        check_parameters(parameters, {"priority": Priority, "apart": Separation, "minimizes": TrafficUnit})

    @property
    def needs_rates(self) -> bool:
        """Return whether the assignor minimizes bytes and has no rates."""
        return self.minimizes != TrafficUnit.PARTITIONS and self.rates is None

    def with_rates(self, rates: TrafficRates) -> Optimal:
        """Return the same assignor with these rates; `bytes_per_s` and `usd_per_gb` override them."""
        return replace(self, rates=rates)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Assign tasks at the minimum cost.

        Returns:
            The assignment.

        Raises:
            IllegalStateError: the lag of a stateful task is missing.
            AssignorError: the rates or the price to minimize are unknown.
        """
        return self.solve(state).assignment

    def solve(self, state: ApplicationState) -> OptimalSolution:
        """Compute the assignment with its cost and bound.

        Returns:
            The solution.

        Raises:
            IllegalStateError: the lag of a stateful task is missing.
            AssignorError: the rates or the price to minimize are unknown.
        """
        copies = _copies(state)
        costs = self._costs(state, copies)
        price = compute_prices(state, copies, costs, self.downtime_cost or 0)
        slack = Slack(self.slack, self.subtopology_slack)
        placed = place_stateful_tasks(
            state,
            price,
            copies,
            self._failure_domains(state),
            slack,
            self.time_limit_s,
            partial(find_cheapest_placement, max_variables=self.max_variables),
        )
        stateful, stateless = placed.solution, place_stateless_tasks(state, price, slack)
        stateless_price = total_price(price.stateless, stateless)
        stateful_price = total_price(price.active, stateful.active) + total_price(price.standby, stateful.standby)
        cost, bound = (
            price.cost(stateful_price + stateless_price),
            price.lower_bound_of_cost(stateful.bound + stateless_price),
        )
        target = _columns(state, stateful, stateless)
        return OptimalSolution(
            assignment=self._until_caught_up(state, target).to_assignment(state),
            target=target,
            weights=costs.weights,
            unit=costs.unit,
            traffic=costs.traffic.total(target.active, target.standby),
            cost=cost,
            bound=bound,
            status=SolutionStatus.OPTIMAL if bound == cost and placed.is_slack_minimal else SolutionStatus.FEASIBLE,
            slack=placed.slack,
        )

    def _costs(self, state: ApplicationState, copies: int) -> CopyCosts:
        priority = Priority(self.priority)
        if self.minimizes == TrafficUnit.PARTITIONS:
            configured = HIGH_AVAILABILITY_WEIGHTS.configured(state.assignment_configs)
            traffic, moving = self.traffic_cost, self.non_overlap_cost
            weights = Weights(
                configured.traffic_cost if traffic is None else traffic,
                configured.non_overlap_cost if moving is None else moving,
            )
            return partition_costs(state, copies, priority, weights)
        rates = effective_rates(state, self.bytes_per_s, self.rates)
        if rates is None:
            raise AssignorError(
                f"cannot minimize {self.minimizes}: the rates of the topics are unknown; set bytes_per_s"
            )
        price = None if self.minimizes == TrafficUnit.BYTES else effective_price(self.usd_per_gb, rates)
        return byte_costs(
            state, copies, rates, ByteCostTerms(priority, self.non_overlap_cost or 0, self.horizon_s, price)
        )

    def _failure_domains(self, state: ApplicationState) -> IntArray:
        is_tagged = bool(state.assignment_configs.rack_aware_assignment_tags)
        if self.apart == Separation.CLIENTS or (self.apart == Separation.TAGS and not is_tagged):
            return np.zeros((0, len(state.clients)), dtype=np.int64)
        return failure_domains(state)

    def _until_caught_up(self, state: ApplicationState, target: AssignmentColumns) -> AssignmentColumns:
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


def _columns(state: ApplicationState, placed: PlacementSolution, stateless: BoolArray) -> AssignmentColumns:
    num_clients = len(state.clients)
    active = np.full(len(state.tasks), UNASSIGNED, dtype=np.int64)
    standby = np.zeros((len(state.tasks), num_clients), dtype=np.bool_)
    if num_clients:
        active[state.tasks.stateful] = placed.active.argmax(axis=1)
        active[~state.tasks.stateful] = stateless.argmax(axis=1)
        standby[state.tasks.stateful] = placed.standby
    return AssignmentColumns(active, standby, None)
