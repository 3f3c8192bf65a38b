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

DENSE = 128
"""Up to this cost, every cost is tried; beyond it, each cost is an eighth more than the one before."""


class NoBreakEven(StrEnum):
    """Why a task has no break-even cost."""

    NEW = "new"
    """no client ran it before"""
    MEMBER_LOST = "member_lost"
    """its client had left"""
    NO_RACKS = "no_racks"
    """no flow was solved, so the cost does not matter: no strategy is set, or racks are unknown"""
    UNTOLD = "untold"
    """the assignor does not record its steps"""
    ANY_COST = "any_cost"
    """it moves at any cost"""
    NOT_ASKED = "not_asked"
    """break-even costs were not requested"""


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
        """Whether that cost applied; some assignors solve no flows unless it is configured."""
        return self.flows > 0 or self.state.assignment_configs.rack_aware_non_overlap_cost is not None

    def at(self, cost: int) -> ApplicationState:
        """Return the state with another cost."""
        configs = replace(self.state.assignment_configs, rack_aware_non_overlap_cost=cost)
        return replace(self.state, assignment_configs=configs)


def cost_matters(decided: RepeatableDecision) -> bool:
    """Return whether the cost matters: whether flows are solved at the current cost or, if none is set, with one.

    Raises:
        AssignorFailedError: the assignor fails when a cost is set.
    """
    strategy = decided.state.assignment_configs.rack_aware_assignment_strategy
    if decided.is_cost_set or strategy is RackAwareStrategy.NONE:
        return decided.flows > 0
    steps = StepRecorder()
    compute_assignment(decided.at(decided.non_overlap_cost), decided.assignor, recorder=steps)
    return steps.flows > 0


def break_evens(decided: RepeatableDecision, owners: Mapping[int, int]) -> dict[int, int | None]:
    """Compute the break-even costs of tasks: the cost closest to the current one at which a task would not have moved.

    Args:
        decided: the decision, which moved these tasks.
        owners: the client that had each task before, rows of the state.

    Returns:
        The break-even cost of each task; None if it moves at every cost that was tried (every cost, if costs above 128
        cannot matter).

    Guarantees: at the break-even cost, and all else equal, the assignor leaves the task on its client; at the next cost
    towards the current one, it does not.

    Complexity: one assignment per tried cost, for all tasks together: up to the cost of a remote partition times the
    largest number of partitions of a task, or about 128 and 6 more for each doubling.
    """
    decisions = _DecisionsByCost(decided)
    current = decided.non_overlap_cost
    tried = sorted(costs_to_try(decided), key=lambda cost: (abs(cost - current), -cost))
    left = dict(owners)
    costs: dict[int, int | None] = dict.fromkeys(owners)
    for cost in tried:
        if not left:
            break
        kept = [task for task, owner in left.items() if decisions.owner(cost, task) == owner]
        for task in kept:
            costs[task] = _closest_to_current(decisions, task, left.pop(task), cost, tried, current)
    return costs


class _DecisionsByCost:
    """The decisions at other costs, each computed once."""

    def __init__(self, decided: RepeatableDecision) -> None:
        self._decided = decided
        self._active: dict[int, IntArray | None] = {}

    def owner(self, cost: int, task: int) -> int | None:
        """Return the client that would run the task; None if the assignor fails."""
        if cost not in self._active:
            self._active[cost] = self._assign(cost)
        active = self._active[cost]
        return None if active is None else int(active[task])

    def _assign(self, cost: int) -> IntArray | None:
        try:
            return compute_assignment(self._decided.at(cost), self._decided.assignor).columns.active
        except AssignorFailedError:
            return None


def costs_to_try(decided: RepeatableDecision) -> list[int]:
    """Return the costs that can make a difference, thinned out if there are many, without the one that applies."""
    tasks = decided.state.tasks
    partitions = int((tasks.source.counts() + tasks.changelog.counts()).max(initial=0))
    # A cycle saves no more than this for each task on it. If moving a task costs as much, only necessary moves remain.
    enough = decided.traffic_cost * partitions
    if decided.state.assignment_configs.rack_aware_assignment_strategy is RackAwareStrategy.BALANCE_SUBTOPOLOGY:
        # Which of them move may depend on every other task.
        enough *= len(tasks)
    costs, cost = [], 0
    while cost < enough:
        costs.append(cost)
        cost += 1 + max(cost - DENSE, 0) // 8
    return [cost for cost in [*costs, enough] if cost != decided.non_overlap_cost or not decided.is_cost_set]


def _closest_to_current(
    decisions: _DecisionsByCost, task: int, owner: int, keeps: int, tried: list[int], current: int
) -> int:
    """Search by bisection between a cost that keeps a task and the next tried cost towards the current one."""
    if keeps == current:
        return keeps
    between = [cost for cost in (*tried, current) if min(keeps, current) <= cost <= max(keeps, current)]
    moves = min((cost for cost in between if cost != keeps), key=lambda cost: abs(cost - keeps))
    while abs(keeps - moves) > 1:
        middle = (keeps + moves) // 2
        if decisions.owner(middle, task) == owner:
            keeps = middle
        else:
            moves = middle
    return keeps
