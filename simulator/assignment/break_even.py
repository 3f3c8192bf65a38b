"""Break-even costs: the `rack.aware.assignment.non_overlap_cost` at which a task would not have moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from assignors.model.assignment import TaskAssignor
from assignors.model.columns import IntArray
from assignors.model.configs import RackAwareStrategy
from assignors.model.state import ApplicationState
from assignors.recording.recorder import StepRecorder
from simulator.assignment.rebalance import compute_assignment
from simulator.errors import AssignorFailedError

MAX_DENSE_COST = 128
"""Every cost up to this one is tried; above it, each tried cost is about an eighth more than the previous one."""


class NoBreakEven(StrEnum):
    """Why a task has no break-even cost."""

    NEW = "new"
    """No client ran the task before."""
    MEMBER_LOST = "member_lost"
    """The client of the task had left."""
    NO_RACKS = "no_racks"
    """No flow was solved, so the cost does not matter: no strategy is set, or racks are unknown."""
    NOT_RECORDED = "not_recorded"
    """The assignor does not record its steps."""
    ANY_COST = "any_cost"
    """The task moves at any cost."""
    NOT_REQUESTED = "not_requested"
    """Break-even costs were not requested."""


@dataclass(frozen=True, slots=True, eq=False)
class RepeatableDecision:
    """A decision that can be repeated at other costs.

    Attributes:
        state: the assignor's input.
        assignor: the assignor.
        traffic_cost: the cost of a remote partition.
        non_overlap_cost: the cost of moving a task; the default if none is configured.
        flows: the number of flows that it solved.
    """

    state: ApplicationState
    assignor: TaskAssignor
    traffic_cost: int
    non_overlap_cost: int
    flows: int

    @property
    def is_cost_set(self) -> bool:
        """Return whether the non-overlap cost applied; some assignors solve no flows unless it is configured."""
        return self.flows > 0 or self.state.assignment_configs.rack_aware_non_overlap_cost is not None

    def at(self, cost: int) -> ApplicationState:
        """Return the state with another cost."""
        configs = replace(self.state.assignment_configs, rack_aware_non_overlap_cost=cost)
        return replace(self.state, assignment_configs=configs)


def cost_matters(decision: RepeatableDecision) -> bool:
    """Return whether the cost matters: whether flows are solved at the current cost or, if none is set, with one.

    Raises:
        AssignorFailedError: the assignor fails when a cost is set.
    """
    strategy = decision.state.assignment_configs.rack_aware_assignment_strategy
    if decision.is_cost_set or strategy is RackAwareStrategy.NONE:
        return decision.flows > 0
    steps = StepRecorder()
    compute_assignment(decision.at(decision.non_overlap_cost), decision.assignor, recorder=steps)
    return steps.flows > 0


def break_evens(decision: RepeatableDecision, owners: Mapping[int, int]) -> dict[int, int | None]:
    """Compute the break-even costs of tasks: the cost closest to the current one at which a task would not have moved.

    Args:
        decision: the decision, which moved these tasks.
        owners: the client that had each task before, rows of the state.

    Returns:
        The break-even cost of each task; None if it moves at every cost that was tried (every cost, if costs above 128
        cannot matter).

    Guarantees: at the break-even cost, and all else equal, the assignor leaves the task on its client; at the next cost
    towards the current one, it does not.

    Complexity: one assignment per tried cost, for all tasks together: up to the cost of a remote partition times the
    largest number of partitions of a task, or about 128 and 6 more for each doubling.
    """
    decisions = _DecisionsByCost(decision)
    current = decision.non_overlap_cost
    tried = sorted(costs_to_try(decision), key=lambda cost: (abs(cost - current), -cost))
    remaining = dict(owners)
    costs: dict[int, int | None] = dict.fromkeys(owners)
    for cost in tried:
        if not remaining:
            break
        staying = [task for task, owner in remaining.items() if decisions.owner(cost, task) == owner]
        for task in staying:
            costs[task] = _closest_to_current(decisions, task, remaining.pop(task), cost, tried, current)
    return costs


class _DecisionsByCost:
    """The decisions at other costs, each computed once."""

    def __init__(self, decision: RepeatableDecision) -> None:
        self._decision = decision
        self._active: dict[int, IntArray | None] = {}

    def owner(self, cost: int, task: int) -> int | None:
        """Return the client that would run the task; None if the assignor fails."""
        if cost not in self._active:
            self._active[cost] = self._assign(cost)
        active = self._active[cost]
        return None if active is None else int(active[task])

    def _assign(self, cost: int) -> IntArray | None:
        try:
            return compute_assignment(self._decision.at(cost), self._decision.assignor).columns.active
        except AssignorFailedError:
            return None


def costs_to_try(decision: RepeatableDecision) -> list[int]:
    """Return the costs that can make a difference, thinned out if there are many, without the one that applies."""
    tasks = decision.state.tasks
    partitions = int((tasks.source.counts() + tasks.changelog.counts()).max(initial=0))
    # A cycle saves no more than this for each task on it. If moving a task costs as much, only necessary moves remain.
    max_cost = decision.traffic_cost * partitions
    if decision.state.assignment_configs.rack_aware_assignment_strategy is RackAwareStrategy.BALANCE_SUBTOPOLOGY:
        # Which tasks must move may depend on every other task.
        max_cost *= len(tasks)
    costs, cost = [], 0
    while cost < max_cost:
        costs.append(cost)
        cost += 1 + max(cost - MAX_DENSE_COST, 0) // 8
    return [cost for cost in [*costs, max_cost] if cost != decision.non_overlap_cost or not decision.is_cost_set]


def _closest_to_current(
    decisions: _DecisionsByCost, task: int, owner: int, keeping_cost: int, tried: list[int], current: int
) -> int:
    """Search by bisection between a cost that keeps a task and the next tried cost towards the current one."""
    if keeping_cost == current:
        return keeping_cost
    between = [cost for cost in (*tried, current) if min(keeping_cost, current) <= cost <= max(keeping_cost, current)]
    moving_cost = min((cost for cost in between if cost != keeping_cost), key=lambda cost: abs(cost - keeping_cost))
    while abs(keeping_cost - moving_cost) > 1:
        middle = (keeping_cost + moving_cost) // 2
        if decisions.owner(middle, task) == owner:
            keeping_cost = middle
        else:
            moving_cost = middle
    return keeping_cost
