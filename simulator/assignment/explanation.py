"""Explanations of placements: the steps by which the assignor placed each copy, along the world's clients."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from assignors.containment.contained import innermost
from assignors.flow.decomposition import decompose_into_cycles
from assignors.model.assignment import UNASSIGNED, TaskAssignor, TaskType
from assignors.model.columns import BoolArray, IntArray
from assignors.model.ids import TaskId
from assignors.model.state import ApplicationState
from assignors.objective.cost import WeightedAssignor
from assignors.recording.recorder import Exchange, PlacementStep, StepKind, StepRecorder
from simulator.assignment.break_even import NoBreakEven, RepeatableDecision, break_evens, cost_matters
from simulator.world.group_assignment import GroupAssignment

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
        role: the role of the copy.
        task: row of the task.
        source: row of the client that had the copy.
        destination: row of the client that has it now.
        source_traffic: its traffic cost on the source.
        destination_traffic: its traffic cost on the destination.
        non_overlap_cost: the cost of moving it.
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
        role: the role of the copy.
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
        edges: the moves of all cycles.
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
        """Return which tasks to explain, shape (T,).

        Args:
            ids: the ids of T tasks.
        """
        requested = [self.tasks is None or task in self.tasks for task in ids]
        return np.array(requested, dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class DecisionRecord:
    """The record of a decision from which it is explained.

    Attributes:
        state: the assignor's input.
        assignor: the assignor.
        traffic_cost: the cost of a remote partition.
        steps: the recorded steps; None if the assignor does not record them.
        request: which moves to explain.
    """

    state: ApplicationState
    assignor: TaskAssignor
    traffic_cost: int
    steps: StepRecorder | None
    request: ExplanationRequest


def explain_decision(
    record: DecisionRecord, members: IntArray, before: GroupAssignment | None, target: GroupAssignment
) -> RoundExplanation:
    """Explain why the requested copies are placed where they are.

    Args:
        record: the record of the decision.
        members: shape (C,); the world's client of each row of the state.
        before: the target of the round before; None in the first round.
        target: the target that was decided.

    Returns:
        The explanation of the round.
    """
    before = before or GroupAssignment.empty(*target.standby.shape)
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
    return RoundExplanation(
        moves, edges, configs.acceptable_recovery_lag, _tags(record.state, members, target.standby.shape[1])
    )


def explain_initial_state(
    request: ExplanationRequest, ids: Sequence[TaskId], initial: GroupAssignment
) -> RoundExplanation:
    """Explain the copies that clients have when the run begins.

    Args:
        request: which copies to explain.
        ids: the ids of the tasks.
        initial: the initial assignment.

    Returns:
        The explanation of the initial round.
    """
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
