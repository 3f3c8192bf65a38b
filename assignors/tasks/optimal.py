"""The cheapest of all assignments: actives, standbys and stateless tasks at once, with a proof."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from assignors.assignment import AssignmentColumns, TaskAssignment
from assignors.columns import NO_RACK, BoolArray, IntArray
from assignors.objective import Weights
from assignors.optimum import prices as priced
from assignors.optimum.joint import Found, Joint
from assignors.optimum.pools import Pools
from assignors.optimum.rooms import Rooms, active_shares, rooms, standby_shares
from assignors.optimum.single import cheapest
from assignors.optimum.spread import places
from assignors.optimum.stateful import place
from assignors.recorder import SILENT
from assignors.state import ApplicationState
from assignors.tasks.movement import move_to_caught_up_clients
from assignors.tasks.placement import Placement

DEFAULT_TRAFFIC_COST = 10
DEFAULT_NON_OVERLAP_COST = 1


class Priority(StrEnum):
    """What wins: the weighted sum, or traffic whatever it takes to move, or staying put whatever is read remotely."""

    WEIGHTED = "weighted"
    TRAFFIC_FIRST = "traffic_first"
    MOVES_FIRST = "moves_first"


class Apart(StrEnum):
    """Where copies of a task are kept apart: by configured tags, else by racks; by tags alone; on clients alone."""

    PLACES = "places"
    TAGS = "tags"
    CLIENTS = "clients"


class Status(StrEnum):
    """What is known of an answer: that nothing is cheaper, or only what the bound says."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"


@dataclass(frozen=True, slots=True, eq=False)
class OptimalAnswer:
    """An answer and its proof.

    Attributes:
        assignment: what to do now; tasks that wait for a warm-up run elsewhere.
        target: where all is to be when copies have warmed up.
        weights: what the costs are.
        cost: what the target costs, by the weights, the price of downtime included.
        bound: what no target as balanced, and with copies as far apart, costs less than.
        status: optimal if that is the cost.
        slack: by how many copies clients differ from their shares; more than asked for only where standbys could not
            be placed otherwise.
    """

    assignment: TaskAssignment
    target: AssignmentColumns
    weights: Weights
    cost: int
    bound: int
    status: Status
    slack: int


@dataclass(frozen=True, slots=True)
class Optimal:
    """The least traffic and movement, as KIP-925 counts them, of all assignments that are as balanced.

    Attributes:
        traffic_cost: what a partition costs that is read across racks; None takes `rack.aware.assignment.traffic_cost`,
            10 if that is not set. Partitions of stateless tasks cost 1.
        non_overlap_cost: what a copy costs where it was not before; None takes
            `rack.aware.assignment.non_overlap_cost`, 1 if that is not set.
        priority: whether the two are added up, or the one decides and the other settles what is left.
        apart: where copies of a task are kept apart, as far as shares admit it: by the tags of
            `rack.aware.assignment.tags`, else by racks (`places`), by these tags alone, as Kafka does (`tags`), or
            only on different clients (`clients`).
        slack: by how many tasks a client may have more or fewer than its share by threads, rounded either way: of
            stateful tasks, of stateless tasks, and of standbys.
        subtopology_slack: the same of every subtopology; None asks nothing of subtopologies.
        downtime_cost: what it costs to run a task, at once, on a client that lags behind another one, in units of the
            costs; None never does, and warms the client up first.
        time_limit_s: how long an integer programme may take, by nodes of its search first and by the clock only then.

    Guarantees: nothing that keeps to the priorities costs less, if the status says so; else nothing costs less than the
    bound. With a downtime cost of None a task runs on a caught-up client if there is one; `max.warmup.replicas` and
    probing rebalances are as in `HighAvailability`, and the group comes to rest: ties fall to clients that are caught
    up. Where racks are not known, only movement counts.

    Priority: every task runs and has its standbys, on different clients; balance; copies of a task in different racks,
    or at different values of `rack.aware.assignment.tags`; cost; then caught-up clients, then warm ones.

    Complexity: a min-cost flow without standbys; an integer programme with them, exponential at worst.

    Source: KIP-925 and KIP-708 for what is asked, KIP-441 for the way there; the programme is this project's.
    """

    traffic_cost: int | None = None
    non_overlap_cost: int | None = None
    priority: Priority = Priority.WEIGHTED
    apart: Apart = Apart.PLACES
    slack: int = 0
    subtopology_slack: int | None = None
    downtime_cost: int | None = None
    time_limit_s: float = 60.0

    default_traffic_cost = DEFAULT_TRAFFIC_COST
    default_non_overlap_cost = DEFAULT_NON_OVERLAP_COST

    def __post_init__(self) -> None:
        for name, kind in (("priority", Priority), ("apart", Apart)):
            if getattr(self, name) not in list(kind):
                raise ValueError(f"{name} is '{getattr(self, name)}' (one of: {', '.join(kind)})")
        named = ("traffic_cost", "non_overlap_cost", "slack", "subtopology_slack", "downtime_cost")
        for name in named:
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"{name} is {value} (at least 0)")
        if self.time_limit_s <= 0:
            raise ValueError(f"time_limit_s is {self.time_limit_s} (more than 0)")

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Assign tasks at the least cost.

        Raises:
            IllegalStateError: the lag of a stateful task is not known.
        """
        return self.solve(state).assignment

    def solve(self, state: ApplicationState) -> OptimalAnswer:
        """As `assign`, with the cost and the bound."""
        copies = _copies(state)
        weights = self._weights(state, copies)
        price = priced.prices(state, copies, weights, self.downtime_cost or 0)
        found, slack = self._stateful(state, price, copies)
        stateless = self._stateless(state, price)
        rest = priced.total(price.stateless, stateless)
        paid = priced.total(price.active, found.active) + priced.total(price.standby, found.standby)
        cost, bound = price.cost(paid + rest), price.least_cost(found.bound + rest)
        target = _columns(state, found, stateless)
        return OptimalAnswer(
            assignment=self._now(state, target).to_assignment(state),
            target=target,
            weights=weights,
            cost=cost,
            bound=bound,
            status=Status.OPTIMAL if bound == cost else Status.FEASIBLE,
            slack=slack,
        )

    def _weights(self, state: ApplicationState, copies: int) -> Weights:
        if self.priority == Priority.TRAFFIC_FIRST:
            return Weights(int(state.tasks.stateful.sum()) * (1 + copies) + 1, 1)
        if self.priority == Priority.MOVES_FIRST:
            return Weights(1, priced.most_remote(state, copies) + 1)
        configs = state.assignment_configs
        return Weights(
            _first(self.traffic_cost, configs.rack_aware_traffic_cost, DEFAULT_TRAFFIC_COST),
            _first(self.non_overlap_cost, configs.rack_aware_non_overlap_cost, DEFAULT_NON_OVERLAP_COST),
        )

    def _stateful(self, state: ApplicationState, price: priced.Prices, copies: int) -> tuple[Found, int]:
        number, threads = len(price.active), state.clients.threads
        if not price.active.size:
            nothing = np.zeros(price.active.shape, dtype=np.bool_)
            return Found(nothing, nothing, 0), self.slack
        subtopology = state.tasks.subtopology[state.tasks.stateful]
        for slack in range(self.slack, max(self.slack, number) + 1):
            running = rooms(active_shares(number, threads), slack, subtopology, self.subtopology_slack)
            if not copies:
                active = _flow(state, price.active, running)
                return Found(active, np.zeros_like(active), priced.total(price.active, active)), slack
            shares = standby_shares(number, copies, threads)
            extra = None if self.subtopology_slack is None else self.subtopology_slack + slack - self.slack
            standing_by = rooms(shares, slack, subtopology, extra)
            joint = Joint(price.active, price.standby, copies, running, standing_by, self._places(state))
            found = place(joint, self.time_limit_s)
            if found is not None:
                return found, slack
        raise AssertionError("with slack enough for all tasks everything fits")

    def _places(self, state: ApplicationState) -> IntArray:
        is_tagged = bool(state.assignment_configs.rack_aware_assignment_tags)
        if self.apart == Apart.CLIENTS or (self.apart == Apart.TAGS and not is_tagged):
            return np.zeros((0, len(state.clients)), dtype=np.int64)
        return places(state)

    def _stateless(self, state: ApplicationState, price: priced.Prices) -> BoolArray:
        if not price.stateless.size:
            return np.zeros(price.stateless.shape, dtype=np.bool_)
        shares = active_shares(len(price.stateless), state.clients.threads)
        subtopology = state.tasks.subtopology[~state.tasks.stateful]
        return _flow(state, price.stateless, rooms(shares, self.slack, subtopology, self.subtopology_slack))

    def _now(self, state: ApplicationState, target: AssignmentColumns) -> AssignmentColumns:
        if self.downtime_cost is not None or not len(state.clients):
            return target
        placement = Placement(state)
        tasks = np.arange(len(state.tasks))
        placement.move_actives(tasks, target.active)
        for task, client in zip(*np.nonzero(target.standby), strict=True):
            placement.assign_standby(int(task), int(client))
        moved = move_to_caught_up_clients(placement, SILENT)
        return placement.columns(state.assignment_configs.probing_rebalance_interval_ms if moved else None)


def _first(*values: int | None) -> int:
    return next(value for value in values if value is not None)


def _copies(state: ApplicationState) -> int:
    return max(min(state.assignment_configs.num_standby_replicas, len(state.clients) - 1), 0)


def _flow(state: ApplicationState, price: IntArray, room: Rooms) -> BoolArray:
    """The cheapest place of tasks of which one copy is placed; clients of a rack are one."""
    held = cheapest(Pools(price, room, state.clients.rack - NO_RACK), 1)
    if held is None:
        raise AssertionError("every client can have its share")
    return held


def _columns(state: ApplicationState, found: Found, stateless: BoolArray) -> AssignmentColumns:
    num_clients = len(state.clients)
    active = np.full(len(state.tasks), -1, dtype=np.int64)
    standby = np.zeros((len(state.tasks), num_clients), dtype=np.bool_)
    if num_clients:
        active[state.tasks.stateful] = found.active.argmax(axis=1)
        active[~state.tasks.stateful] = stateless.argmax(axis=1)
        standby[state.tasks.stateful] = found.standby
    return AssignmentColumns(active, standby, None)
