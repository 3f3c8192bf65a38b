"""Explanations of placements: the steps by which the assignor placed each copy, along the world's clients.

A break-even cost is the `rack.aware.assignment.non_overlap_cost` at which a task would not have moved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from assignors.containment.contained import innermost
from assignors.flow.network import decompose_into_cycles
from assignors.model.assignment import UNASSIGNED, TaskAssignor, TaskType
from assignors.model.columns import BoolArray, IntArray
from assignors.model.configs import RackAwareStrategy
from assignors.model.ids import TaskId
from assignors.model.state import ApplicationState
from assignors.objective import WeightedAssignor
from assignors.recording import Exchange, PlacementStep, StepKind, StepRecorder
from simulator.assignment.rebalance import compute_assignment
from simulator.errors import AssignorFailedError
from simulator.world.group_assignment import GroupAssignment

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
    """Return whether the cost matters: whether flows are solved at the current cost or, if none is set, with one."""
    strategy = decision.state.assignment_configs.rack_aware_assignment_strategy
    if decision.is_cost_set or strategy is RackAwareStrategy.NONE:
        return decision.flows > 0
    steps = StepRecorder()
    compute_assignment(decision.at(decision.non_overlap_cost), decision.assignor, recorder=steps)
    return steps.flows > 0


def break_evens(decision: RepeatableDecision, owners: Mapping[int, int]) -> dict[int, int | None]:
    """Compute the break-even costs of tasks: the cost closest to the current one at which a task would not have moved.

    `decision`: it moved these tasks; `owners`: the client that had each task before, rows of the state. A cost is None
    if the task moves at every cost that was tried (every cost, if costs above 128 cannot matter).

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


RACK = "rack"
"""The kind of a step along a cycle of a flow that reduces cost."""
SPREAD = "spread"
"""The kind of a step along a cycle that does not reduce cost, but balances subtopologies."""
MEMBER_LOST = "member_lost"
"""The kind of a step away from a client that has left."""
NOT_RECORDED = "not_recorded"
"""The kind of a step of an assignor that does not record its steps."""
INITIAL = "initial"
"""The kind of a step of a copy that its client had when the run began."""


class CycleMove(NamedTuple):
    """A move of a cycle.

    Attributes:
        cycle: number of the cycle in its round, from 1.
        task: row of the task.
        source: row of the client that had the copy.
        destination: row of the client that has it now.
    """

    cycle: int
    role: TaskType
    task: int
    source: int
    destination: int
    source_traffic: int
    destination_traffic: int
    non_overlap_cost: int

    @property
    def cost(self) -> int:
        """Return the change of the total cost by the move."""
        return self.destination_traffic - self.source_traffic + self.non_overlap_cost


class AppliedStep(NamedTuple):
    """A step of a copy.

    Attributes:
        kind: a `StepKind`, or one of the kinds of this module.
        source: row of the client that had the copy before, UNASSIGNED if none.
        destination: row of the client that has it after the step.
        step: the assignor's step, if the copy moved on its own; its clients are rows of the state.
        edge: the move, if it is part of a cycle.
    """

    kind: str
    source: int
    destination: int
    step: PlacementStep | None = None
    edge: CycleMove | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MoveExplanation:
    """Why a copy of a task was placed on its client in a round.

    Attributes:
        task: row of the task.
        source: row of the client that ran it before, UNASSIGNED if none, and for standbys.
        destination: row of the client that has it now.
        steps: the steps in order; the last one ends at the destination.
        break_even: for active tasks, the `rack.aware.assignment.non_overlap_cost` at which it would have stayed.
        no_break_even: why there is no such cost.
    """

    task: int
    role: TaskType
    source: int
    destination: int
    steps: tuple[AppliedStep, ...]
    break_even: int | None = None
    no_break_even: NoBreakEven | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RoundExplanation:
    """Why the copies of a round moved.

    Attributes:
        moves: one for each active task that moved, by row, then one for each new standby; in the first round one for
            each copy.
        acceptable_lag: `acceptable.recovery.lag` of the round.
        tags: the `rack.aware.assignment.tags` of each of the world's clients, as text.
    """

    moves: Sequence[MoveExplanation]
    edges: Sequence[CycleMove]
    acceptable_lag: int
    tags: Sequence[str]


@dataclass(frozen=True, slots=True)
class ExplanationRequest:
    """Which moves of a run to explain.

    Attributes:
        tasks: the tasks to explain; None for all.
        break_evens: whether to compute break-even costs, which takes many assignments per round.
    """

    tasks: Collection[TaskId] | None = None
    break_evens: bool = True

    def rows(self, ids: Sequence[TaskId]) -> BoolArray:
        """Return which tasks to explain, shape (T,)."""
        requested = [self.tasks is None or task in self.tasks for task in ids]
        return np.array(requested, dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class DecisionRecord:
    """The record of a decision from which it is explained.

    Attributes:
        state: the assignor's input.
        traffic_cost: the cost of a remote partition.
        steps: the recorded steps; None if the assignor does not record them.
        request: which moves to explain.
        rows: shape (K,); the rows of the tasks of the state among those of the run; None if they are the same.
    """

    state: ApplicationState
    assignor: TaskAssignor
    traffic_cost: int
    steps: StepRecorder | None
    request: ExplanationRequest
    rows: IntArray | None = None


def explain_decision(
    record: DecisionRecord, members: IntArray, before: GroupAssignment | None, target: GroupAssignment
) -> RoundExplanation:
    """Explain why the requested copies are placed where they are.

    `members`, shape (C,): the world's client of each row of the state. `before`: the target of the round before; None
    in the first round.
    """
    before = before or GroupAssignment.empty(*target.standby.shape)
    if record.rows is not None:
        before, target = before.of_tasks(record.rows), target.of_tasks(record.rows)
    requested = record.request.rows(record.state.tasks.ids)
    moved = np.flatnonzero(requested & (before.owner != target.owner))
    new_standbys = np.argwhere(requested[:, None] & target.standby & ~before.standby).tolist()
    edges = list(_edges(record.steps, members))
    relevant = {*moved.tolist(), *(task for task, _ in new_standbys)}
    copy_steps = _CopySteps(record.steps, edges, members, relevant)
    sources, destinations = before.owner[moved].tolist(), target.owner[moved].tolist()
    break_even_costs = _break_evens(record, members, moved.tolist(), sources)
    moves = [
        MoveExplanation(
            task, TaskType.ACTIVE, source, destination, copy_steps.of_active(task, source, destination), *break_even
        )
        for task, source, destination, break_even in zip(
            moved.tolist(), sources, destinations, break_even_costs, strict=True
        )
    ]
    for task, client in new_standbys:
        moves.append(MoveExplanation(task, TaskType.STANDBY, UNASSIGNED, client, copy_steps.of_standby(task, client)))
    configs = record.state.assignment_configs
    explanation = RoundExplanation(
        moves, edges, configs.acceptable_recovery_lag, _tags(record.state, members, target.standby.shape[1])
    )
    return explanation if record.rows is None else _with_rows(explanation, record.rows.tolist())


def _with_rows(explanation: RoundExplanation, rows: Sequence[int]) -> RoundExplanation:
    """Return an explanation with the rows of the tasks among those of the run."""

    def renumbered(step: AppliedStep) -> AppliedStep:
        return step if step.edge is None else step._replace(edge=step.edge._replace(task=rows[step.edge.task]))

    moves = [
        replace(move, task=rows[move.task], steps=tuple(map(renumbered, move.steps))) for move in explanation.moves
    ]
    return replace(explanation, moves=moves, edges=[edge._replace(task=rows[edge.task]) for edge in explanation.edges])


def explain_initial_state(
    request: ExplanationRequest, ids: Sequence[TaskId], initial: GroupAssignment
) -> RoundExplanation:
    """Explain the copies that clients have when the run begins."""
    requested = request.rows(ids)
    assigned = np.flatnonzero(requested & (initial.owner != UNASSIGNED))
    actives = [(int(task), int(initial.owner[task]), TaskType.ACTIVE, NoBreakEven.NEW) for task in assigned]
    standby_pairs = np.argwhere(requested[:, None] & initial.standby).tolist()
    standbys = [(task, client, TaskType.STANDBY, None) for task, client in standby_pairs]
    moves = [
        MoveExplanation(
            task, role, UNASSIGNED, client, (AppliedStep(INITIAL, UNASSIGNED, client),), no_break_even=no_break_even
        )
        for task, client, role, no_break_even in (*actives, *standbys)
    ]
    return RoundExplanation(moves, (), 0, ())


def _tags(state: ApplicationState, members: IntArray, num_clients: int) -> list[str]:
    keys = state.assignment_configs.rack_aware_assignment_tags
    tags_of_client = [""] * num_clients
    for client, tags in zip(members.tolist(), state.clients.tags, strict=True):
        tags_of_client[client] = ", ".join(f"{key}={tags[key]}" for key in keys if key in tags)
    return tags_of_client


def _edges(steps: StepRecorder | None, members: IntArray) -> Iterator[CycleMove]:
    number = 0
    for exchange in steps.entries if steps is not None else ():
        if not isinstance(exchange, Exchange):
            continue
        sources, destinations = members[exchange.sources].tolist(), members[exchange.destinations].tolist()
        traffic = exchange.source_traffic.tolist(), exchange.destination_traffic.tolist()
        tasks = exchange.tasks.tolist()
        for cycle in decompose_into_cycles(sources, destinations):
            number += 1
            for move in cycle:
                figures = sources[move], destinations[move], traffic[0][move], traffic[1][move]
                yield CycleMove(number, exchange.role, tasks[move], *figures, exchange.non_overlap_cost)


class _CopySteps:
    """The steps of each copy of some tasks through an assignment."""

    def __init__(
        self, steps: StepRecorder | None, edges: Sequence[CycleMove], members: IntArray, tasks: Collection[int]
    ) -> None:
        self._steps: dict[tuple[TaskType, int], list[AppliedStep]] = {}
        self._waits: tuple[AppliedStep, ...] = ()
        self._path_of_waiting: dict[AppliedStep, tuple[AppliedStep, ...]] = {}
        self._is_recorded = steps is not None
        self._clients = [*members.tolist(), UNASSIGNED]
        self._members = frozenset(members.tolist())
        costs: dict[int, int] = {}
        for edge in edges:
            costs[edge.cycle] = costs.get(edge.cycle, 0) + edge.cost
        following = iter(edges)
        for entry in steps.entries if steps is not None else ():
            if type(entry) is PlacementStep:
                if entry.task not in tasks:
                    continue
                ends = self._clients[entry.source], self._clients[entry.destination]
                self._add_step(entry.role, entry.task, AppliedStep(entry.kind, *ends, step=entry))
            elif isinstance(entry, Exchange):
                for _ in range(len(entry.tasks)):
                    edge = next(following)
                    kind = SPREAD if entry.spreads and costs[edge.cycle] >= 0 else RACK
                    self._add_step(edge.role, edge.task, AppliedStep(kind, edge.source, edge.destination, edge=edge))

    def _add_step(self, role: TaskType, task: int, step: AppliedStep) -> None:
        if step.kind == StepKind.WAITS:
            self._waits = (*self._path(role, task, step.source), step)
        elif step.kind in (StepKind.WARM_UP, StepKind.SWAPPED):
            self._path_of_waiting[step] = self._waits
        self._steps.setdefault((role, task), []).append(step)

    def of_active(self, task: int, source: int, destination: int) -> tuple[AppliedStep, ...]:
        """Return the steps of an active task; the first one is the loss of its client if that has left."""
        lost = source != UNASSIGNED and source not in self._members
        first = [AppliedStep(MEMBER_LOST, source, UNASSIGNED)] if lost else []
        if not self._is_recorded:
            return (*first, AppliedStep(NOT_RECORDED, UNASSIGNED if lost else source, destination))
        return (*first, *self._path(TaskType.ACTIVE, task, destination))

    def of_standby(self, task: int, client: int) -> tuple[AppliedStep, ...]:
        """Return the steps of a standby that a client has in the end."""
        if not self._is_recorded:
            return (AppliedStep(NOT_RECORDED, UNASSIGNED, client),)
        return self._path(TaskType.STANDBY, task, client)

    def _path(self, role: TaskType, task: int, client: int) -> tuple[AppliedStep, ...]:
        """Return the steps so far by which a copy was placed on a client, from its first place on.

        A copy that is placed because another one waits has the steps of that one.
        """
        path: list[AppliedStep] = []
        current = client
        for step in reversed(self._steps.get((role, task), ())):
            if step.destination == current != UNASSIGNED:
                path.append(step)
                if step in self._path_of_waiting:
                    return (*self._path_of_waiting[step], *reversed(path))
                current = step.source
        return tuple(reversed(path))


def _break_evens(
    record: DecisionRecord, members: IntArray, tasks: Sequence[int], sources: Sequence[int]
) -> list[tuple[int | None, NoBreakEven | None]]:
    row_of = {client: row for row, client in enumerate(members.tolist())}
    owner_rows = {task: row_of[source] for task, source in zip(tasks, sources, strict=True) if source in row_of}
    default_reason = NoBreakEven.NOT_RECORDED if record.steps is None else NoBreakEven.NO_RACKS
    costs: dict[int, int | None] = {}
    if owner_rows and record.steps is not None:
        decision = _repeatable(record, record.steps)
        if not record.request.break_evens:
            default_reason = NoBreakEven.NOT_REQUESTED
        elif cost_matters(decision):
            costs = break_evens(decision, owner_rows)
            default_reason = NoBreakEven.ANY_COST
    results: list[tuple[int | None, NoBreakEven | None]] = []
    for task, source in zip(tasks, sources, strict=True):
        cost = costs.get(task)
        reason = (
            default_reason
            if task in owner_rows
            else NoBreakEven.NEW
            if source == UNASSIGNED
            else NoBreakEven.MEMBER_LOST
        )
        results.append((cost, None if cost is not None else reason))
    return results


def _repeatable(record: DecisionRecord, steps: StepRecorder) -> RepeatableDecision:
    configured = record.state.assignment_configs.rack_aware_non_overlap_cost
    assignor = innermost(record.assignor)
    default = assignor.default_weights.non_overlap_cost if isinstance(assignor, WeightedAssignor) else 0
    current = default if configured is None else configured
    return RepeatableDecision(record.state, record.assignor, record.traffic_cost, current, steps.flows)
