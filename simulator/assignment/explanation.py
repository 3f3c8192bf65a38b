"""Why each copy of a task came to its place: the steps that the assignor took with it, along the world's clients."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from assignors.flow.decomposition import decompose_into_cycles
from assignors.model.assignment import UNASSIGNED, TaskAssignor, TaskType
from assignors.model.columns import BoolArray, IntArray
from assignors.model.ids import TaskId
from assignors.model.state import ApplicationState
from assignors.objective.cost import WeightedAssignor
from assignors.recording.recorder import Exchange, PlacementStep, StepKind, StepRecorder
from simulator.assignment.break_even import NoBreakEven, RepeatableDecision, break_evens, cost_matters
from simulator.group.reconciliation import GroupAssignment

RACK = "rack"
"""The kind of a step that a flow made along a cycle which saves."""
SPREAD = "spread"
"""The same along a cycle that does not, but evens out subtopologies."""
MEMBER_LOST = "member_lost"
"""The kind of a step away from a client that is gone."""
NOT_RECORDED = "untold"
"""The kind of a step of an assignor that does not tell how it decides."""
INITIAL = "there"
"""The kind of a step of what was there when the run began."""


class CycleMove(NamedTuple):
    """A move of a cycle.

    Attributes:
        cycle: number of the cycle in its round, from 1.
        role: of the copy.
        task: row.
        source: who had it, a row of the world's clients.
        destination: who has it now.
        source_traffic: what it cost there.
        destination_traffic: what it costs now.
        non_overlap_cost: what it costs to move it.
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
        """What the move changes in the total."""
        return self.destination_traffic - self.source_traffic + self.non_overlap_cost


class AppliedStep(NamedTuple):
    """A step that was taken with a copy.

    Attributes:
        kind: a `StepKind`, or one of the kinds of this module.
        step: the assignor's step, if it was one of a copy by itself; clients are rows of the state.
        edge: the move, if it was one of a cycle.
        source: who had the copy before, a row of the world's clients, UNASSIGNED if nobody.
        destination: who has it then.
    """

    kind: str
    source: int
    destination: int
    step: PlacementStep | None = None
    edge: CycleMove | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MoveExplanation:
    """Why a copy of a task came to its place in a round.

    Attributes:
        task: row.
        role: of the copy.
        source: who ran it before, UNASSIGNED if nobody, and for standbys.
        destination: who has it now.
        taken: the steps in order; the last one ends at the destination.
        break_even: of active tasks, the `rack.aware.assignment.non_overlap_cost` at which it would have stayed.
        no_break_even: why there is none.
    """

    task: int
    role: TaskType
    source: int
    destination: int
    taken: tuple[AppliedStep, ...]
    break_even: int | None = None
    no_break_even: NoBreakEven | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RoundExplanation:
    """Why everything moved in a round.

    Attributes:
        moves: one for each active task that moved, by row, then one for each new standby; in the first round one for
            each copy.
        edges: the moves of all cycles.
        acceptable_lag: `acceptable.recovery.lag` of the round.
        tags: of each client of the world, by row, what it has of `rack.aware.assignment.tags`.
    """

    moves: Sequence[MoveExplanation]
    edges: Sequence[CycleMove]
    acceptable_lag: int
    tags: Sequence[str]


@dataclass(frozen=True, slots=True)
class ExplanationRequest:
    """What is asked of a run.

    Attributes:
        tasks: the tasks to explain; None for all.
        break_evens: whether to look for the costs that would have kept them, which takes many assignments a round.
    """

    tasks: Collection[TaskId] | None = None
    break_evens: bool = True

    def rows(self, ids: Sequence[TaskId]) -> BoolArray:
        """Shape (T,); which tasks are asked about."""
        asked = [self.tasks is None or task in self.tasks for task in ids]
        return np.array(asked, dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class DecisionRecord:
    """All that an explanation of one decision needs.

    Attributes:
        state: what the assignor was shown.
        assignor: who decided.
        traffic_cost: what a remote partition cost it.
        steps: what it told; None if it does not tell.
        question: what is asked.
    """

    state: ApplicationState
    assignor: TaskAssignor
    traffic_cost: int
    steps: StepRecorder | None
    question: ExplanationRequest


def explain_decision(
    account: DecisionRecord, members: IntArray, before: GroupAssignment | None, target: GroupAssignment
) -> RoundExplanation:
    """Tell why the copies that are asked about came to their places.

    Args:
        account: of the decision.
        members: shape (C,); the world's client of each row of the state.
        before: the target of the round before; None in the first round.
        target: what was decided.
    """
    before = before or GroupAssignment.none(*target.standby.shape)
    asked = account.question.rows(account.state.tasks.ids)
    moved = np.flatnonzero(asked & (before.owner != target.owner))
    new_standbys = np.argwhere(asked[:, None] & target.standby & ~before.standby).tolist()
    edges = list(_edges(account.steps, members))
    concerned = {*moved.tolist(), *(task for task, _ in new_standbys)}
    trails = _Trails(account.steps, edges, members, concerned)
    sources, destinations = before.owner[moved].tolist(), target.owner[moved].tolist()
    evens = _break_evens(account, members, moved.tolist(), sources)
    moves = [
        MoveExplanation(task, TaskType.ACTIVE, source, destination, trails.of_active(task, source, destination), *even)
        for task, source, destination, even in zip(moved.tolist(), sources, destinations, evens, strict=True)
    ]
    for task, client in new_standbys:
        moves.append(MoveExplanation(task, TaskType.STANDBY, UNASSIGNED, client, trails.of_standby(task, client)))
    configs = account.state.assignment_configs
    return RoundExplanation(
        moves, edges, configs.acceptable_recovery_lag, _tags(account.state, members, target.standby.shape[1])
    )


def explain_initial_state(
    question: ExplanationRequest, ids: Sequence[TaskId], found: GroupAssignment
) -> RoundExplanation:
    """Tell of the copies that are asked about that they were there when the run began.

    Args:
        question: what is asked.
        ids: the tasks.
        found: what was there.
    """
    asked = question.rows(ids)
    runs = np.flatnonzero(asked & (found.owner != UNASSIGNED))
    actives = [(int(task), int(found.owner[task]), TaskType.ACTIVE, NoBreakEven.NEW) for task in runs]
    stands_by = np.argwhere(asked[:, None] & found.standby).tolist()
    standbys = [(task, client, TaskType.STANDBY, None) for task, client in stands_by]
    moves = [
        MoveExplanation(task, role, UNASSIGNED, client, (AppliedStep(INITIAL, UNASSIGNED, client),), no_break_even=why)
        for task, client, role, why in (*actives, *standbys)
    ]
    return RoundExplanation(moves, (), 0, ())


def _tags(state: ApplicationState, members: IntArray, num_clients: int) -> list[str]:
    keys = state.assignment_configs.rack_aware_assignment_tags
    told = [""] * num_clients
    for client, tags in zip(members.tolist(), state.clients.tags, strict=True):
        told[client] = ", ".join(f"{key}={tags[key]}" for key in keys if key in tags)
    return told


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
                ends = sources[move], destinations[move], traffic[0][move], traffic[1][move]
                yield CycleMove(number, exchange.role, tasks[move], *ends, exchange.non_overlap_cost)


class _Trails:
    """The way of each copy of some tasks through an assignment."""

    def __init__(
        self, steps: StepRecorder | None, edges: Sequence[CycleMove], members: IntArray, tasks: Collection[int]
    ) -> None:
        self._steps: dict[tuple[TaskType, int], list[AppliedStep]] = {}
        self._waits: tuple[AppliedStep, ...] = ()
        self._because: dict[AppliedStep, tuple[AppliedStep, ...]] = {}
        self._told = steps is not None
        self._clients = [*members.tolist(), UNASSIGNED]
        self._members = frozenset(members.tolist())
        costs: dict[int, int] = {}
        for edge in edges:
            costs[edge.cycle] = costs.get(edge.cycle, 0) + edge.cost
        following = iter(edges)
        for each in steps.entries if steps is not None else ():
            if type(each) is PlacementStep:
                if each.task not in tasks:
                    continue
                ends = self._clients[each.source], self._clients[each.destination]
                self._note(each.role, each.task, AppliedStep(each.kind, *ends, step=each))
            elif isinstance(each, Exchange):
                for _ in range(len(each.tasks)):
                    edge = next(following)
                    kind = SPREAD if each.spreads and costs[edge.cycle] >= 0 else RACK
                    self._note(edge.role, edge.task, AppliedStep(kind, edge.source, edge.destination, edge=edge))

    def _note(self, role: TaskType, task: int, taken: AppliedStep) -> None:
        if taken.kind == StepKind.WAITS:
            self._waits = (*self._way(role, task, taken.source), taken)
        elif taken.kind in (StepKind.WARM_UP, StepKind.SWAPPED):
            self._because[taken] = self._waits
        self._steps.setdefault((role, task), []).append(taken)

    def of_active(self, task: int, source: int, destination: int) -> tuple[AppliedStep, ...]:
        """The way of an active task, and before it that its client is gone, if it is."""
        lost = source != UNASSIGNED and source not in self._members
        first = [AppliedStep(MEMBER_LOST, source, UNASSIGNED)] if lost else []
        if not self._told:
            return (*first, AppliedStep(NOT_RECORDED, UNASSIGNED if lost else source, destination))
        return (*first, *self._way(TaskType.ACTIVE, task, destination))

    def of_standby(self, task: int, client: int) -> tuple[AppliedStep, ...]:
        """The way of the standby that a client has in the end."""
        if not self._told:
            return (AppliedStep(NOT_RECORDED, UNASSIGNED, client),)
        return self._way(TaskType.STANDBY, task, client)

    def _way(self, role: TaskType, task: int, client: int) -> tuple[AppliedStep, ...]:
        """The steps by which a copy came to a client so far, back from there to where it came up.

        A copy that is there because another one waits came by that one's way.
        """
        way: list[AppliedStep] = []
        at = client
        for taken in reversed(self._steps.get((role, task), ())):
            if taken.destination == at != UNASSIGNED:
                way.append(taken)
                if taken in self._because:
                    return (*self._because[taken], *reversed(way))
                at = taken.source
        return tuple(reversed(way))


def _break_evens(
    account: DecisionRecord, members: IntArray, tasks: Sequence[int], sources: Sequence[int]
) -> list[tuple[int | None, NoBreakEven | None]]:
    row_of = {client: row for row, client in enumerate(members.tolist())}
    kept = {task: row_of[source] for task, source in zip(tasks, sources, strict=True) if source in row_of}
    otherwise = NoBreakEven.UNTOLD if account.steps is None else NoBreakEven.NO_RACKS
    found: dict[int, int | None] = {}
    if kept and account.steps is not None:
        decided = _decided(account, account.steps)
        if not account.question.break_evens:
            otherwise = NoBreakEven.NOT_ASKED
        elif cost_matters(decided):
            found = break_evens(decided, kept)
            otherwise = NoBreakEven.ANY_COST
    answers: list[tuple[int | None, NoBreakEven | None]] = []
    for task, source in zip(tasks, sources, strict=True):
        cost = found.get(task)
        why = otherwise if task in kept else NoBreakEven.NEW if source == UNASSIGNED else NoBreakEven.MEMBER_LOST
        answers.append((cost, None if cost is not None else why))
    return answers


def _decided(account: DecisionRecord, steps: StepRecorder) -> RepeatableDecision:
    configured = account.state.assignment_configs.rack_aware_non_overlap_cost
    assignor = account.assignor
    default = assignor.default_weights.non_overlap_cost if isinstance(assignor, WeightedAssignor) else 0
    present = default if configured is None else configured
    return RepeatableDecision(account.state, account.assignor, account.traffic_cost, present, steps.flows)
