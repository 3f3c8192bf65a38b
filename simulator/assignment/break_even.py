"""Which `rack.aware.assignment.non_overlap_cost` would have left tasks where they were."""

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
"""Up to here every cost is tried; beyond, each is an eighth more than the one before."""


class NoBreakEven(StrEnum):
    """Why no cost would have kept a task."""

    NEW = "new"
    """nobody ran it before"""
    MEMBER_LOST = "member_lost"
    """its client was gone"""
    NO_RACKS = "no_racks"
    """no flow was solved, so that the cost plays no part: a strategy is not set, or racks are not known"""
    UNTOLD = "untold"
    """the assignor does not tell how it decides"""
    ANY_COST = "any_cost"
    """whatever the cost, it moves"""
    NOT_ASKED = "not_asked"
    """nobody looked for one"""


@dataclass(frozen=True, slots=True, eq=False)
class RepeatableDecision:
    """A decision that can be taken again.

    Attributes:
        state: what the assignor was shown.
        assignor: who decided.
        traffic_cost: what a remote partition cost it.
        non_overlap_cost: what moving a task cost it, or would have.
        flows: how many flows it solved.
    """

    state: ApplicationState
    assignor: TaskAssignor
    traffic_cost: int
    non_overlap_cost: int
    flows: int

    @property
    def is_cost_set(self) -> bool:
        """Whether that cost was in force; some assignors solve no flows until it is configured."""
        return self.flows > 0 or self.state.assignment_configs.rack_aware_non_overlap_cost is not None

    def at(self, cost: int) -> ApplicationState:
        """The state with another cost."""
        configs = replace(self.state.assignment_configs, rack_aware_non_overlap_cost=cost)
        return replace(self.state, assignment_configs=configs)


def cost_matters(decided: RepeatableDecision) -> bool:
    """Whether flows are solved at all, at the present cost or, where none is set, with one."""
    strategy = decided.state.assignment_configs.rack_aware_assignment_strategy
    if decided.is_cost_set or strategy is RackAwareStrategy.NONE:
        return decided.flows > 0
    steps = StepRecorder()
    compute_assignment(decided.at(decided.non_overlap_cost), decided.assignor, recorder=steps)
    return steps.flows > 0


def break_evens(decided: RepeatableDecision, owners: Mapping[int, int]) -> dict[int, int | None]:
    """For each task the cost next to the present one at which it would have been given to the client it was with.

    Args:
        decided: the decision, which gave these tasks to others.
        owners: the client of each task before, rows of the state.

    Guarantees: with the cost that is answered, and everything else as it was, the assignor gives the task to that
    client; with the one next to it towards the present cost, it does not. None if no cost that was tried does, which
    were all where none above 128 can matter.

    Complexity: one assignment for each cost that is tried, for all tasks together: at most as many as a remote
    partition costs times the most partitions of a task, or about 128 and 6 more for each doubling.
    """
    answers = _Answers(decided)
    present = decided.non_overlap_cost
    tried = sorted(costs_to_try(decided), key=lambda cost: (abs(cost - present), -cost))
    left = dict(owners)
    found: dict[int, int | None] = dict.fromkeys(owners)
    for cost in tried:
        if not left:
            break
        kept = [task for task, owner in left.items() if answers.owner(cost, task) == owner]
        for task in kept:
            found[task] = _next_to_present(answers, task, left.pop(task), cost, tried, present)
    return found


class _Answers:
    """What is decided at other costs, worked out once."""

    def __init__(self, decided: RepeatableDecision) -> None:
        self._decided = decided
        self._active: dict[int, IntArray | None] = {}

    def owner(self, cost: int, task: int) -> int | None:
        """Who would run the task; None if the assignor fails."""
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
    """All costs that can make a difference, thinned out where there are many; never the one in force."""
    tasks = decided.state.tasks
    partitions = int((tasks.source.counts() + tasks.changelog.counts()).max(initial=0))
    # A cycle saves at most this much for each task on it. If moving one costs as much, only flows move any that must.
    enough = decided.traffic_cost * partitions
    if decided.state.assignment_configs.rack_aware_assignment_strategy is RackAwareStrategy.BALANCE_SUBTOPOLOGY:
        # Which of the tasks that must move do can hang on all others.
        enough *= len(tasks)
    costs, cost = [], 0
    while cost < enough:
        costs.append(cost)
        cost += 1 + max(cost - DENSE, 0) // 8
    return [cost for cost in [*costs, enough] if cost != decided.non_overlap_cost or not decided.is_cost_set]


def _next_to_present(answers: _Answers, task: int, owner: int, keeps: int, tried: list[int], present: int) -> int:
    """Halve the way from a cost that keeps a task to the last one tried towards the present cost, which does not."""
    if keeps == present:
        return keeps
    between = [cost for cost in (*tried, present) if min(keeps, present) <= cost <= max(keeps, present)]
    moves = min((cost for cost in between if cost != keeps), key=lambda cost: abs(cost - keeps))
    while abs(keeps - moves) > 1:
        middle = (keeps + moves) // 2
        if answers.owner(middle, task) == owner:
            keeps = middle
        else:
            moves = middle
    return keeps
