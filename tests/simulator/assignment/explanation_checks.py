"""Random sequences of rebalances whose decisions are explained, and checks of the explanations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from assignors.model.assignment import UNASSIGNED, AssignmentColumns, TaskType
from assignors.model.columns import IntArray
from assignors.model.ids import ProcessId
from assignors.model.state import ApplicationState
from assignors.objective import STICKY_WEIGHTS, WeightedAssignor, Weights
from assignors.recording import RecordingTaskAssignor, StepRecorder
from assignors.tasks.sticky import Sticky
from simulator.assignment.explanation import (
    MEMBER_LOST,
    RACK,
    SPREAD,
    DecisionRecord,
    ExplanationRequest,
    MoveExplanation,
    NoBreakEven,
    RoundExplanation,
    explain_decision,
)
from simulator.world.group_assignment import GroupAssignment
from tests.assignors.recording.replay import Replay
from tests.contract.random_applications import RandomApplication


@dataclass(frozen=True)
class ExplainedDecision:
    """A decision and its explanation; `members` has the world's client of each row of the state."""

    record: DecisionRecord
    members: IntArray
    before: GroupAssignment | None
    target: GroupAssignment
    explanation: RoundExplanation

    @property
    def state(self) -> ApplicationState:
        return self.record.state

    @property
    def assignor(self) -> RecordingTaskAssignor:
        assignor: RecordingTaskAssignor = self.record.assignor  # type: ignore[assignment]
        return assignor

    @property
    def costs(self) -> tuple[int, int]:
        """The cost of a remote partition and of a move."""
        weights = default_weights(self.assignor).configured(self.state.assignment_configs)
        return weights.traffic_cost, weights.non_overlap_cost


def default_weights(assignor: RecordingTaskAssignor) -> Weights:
    return assignor.default_weights if isinstance(assignor, WeightedAssignor) else STICKY_WEIGHTS


def explained_decisions(
    assignor: RecordingTaskAssignor, seed: int, request: ExplanationRequest
) -> Iterator[ExplainedDecision]:
    """Yield all decisions of a random application with their explanations."""
    application = RandomApplication.from_seed(seed)
    known_clients: list[ProcessId] = []
    before: GroupAssignment | None = None
    for number in range(12):
        state = application.state()
        known_clients += [client for client in state.clients.ids if client not in known_clients]
        # Clients that may join later have a column from the start.
        rows = np.array([known_clients.index(client) for client in state.clients.ids])
        steps = StepRecorder()
        assignment = assignor.assign_recorded(state, steps)
        columns = AssignmentColumns.of(state, assignment)
        target = _in_world_rows(columns, rows, len(state.tasks))
        traffic_cost = default_weights(assignor).configured(state.assignment_configs).traffic_cost
        record = DecisionRecord(state, assignor, traffic_cost, steps, request)
        yield ExplainedDecision(record, rows, before, target, explain_decision(record, rows, before, target))
        before = target
        application.apply(assignment)
        if number % 2:
            application.apply_random_event()


def _in_world_rows(columns: AssignmentColumns, rows: IntArray, num_tasks: int) -> GroupAssignment:
    max_clients = 64
    standby = np.zeros((num_tasks, max_clients), dtype=np.bool_)
    standby[:, rows] = columns.standby
    owner = np.where(columns.active == UNASSIGNED, UNASSIGNED, rows[columns.active])
    return GroupAssignment(owner, standby, np.zeros((num_tasks, max_clients), dtype=np.int64))


def check_explanation(decision: ExplainedDecision) -> None:
    """Check that all steps are recorded steps of the assignor with correct figures, and that no move is missing."""
    assert decision.record.steps is not None
    replay = Replay(decision.state, decision.costs, changelogs_count=isinstance(decision.assignor, Sticky))
    replay.run(decision.record.steps.entries)
    before = decision.before or GroupAssignment.empty(*decision.target.standby.shape)
    moved = np.flatnonzero(before.owner != decision.target.owner).tolist()
    new = np.argwhere(decision.target.standby & ~before.standby).tolist()
    actives = [move for move in decision.explanation.moves if move.role is TaskType.ACTIVE]
    standbys = [move for move in decision.explanation.moves if move.role is TaskType.STANDBY]
    assert [move.task for move in actives] == moved
    assert [[move.task, move.destination] for move in standbys] == new
    for move in actives:
        assert move.source == before.owner[move.task]
        assert move.destination == decision.target.owner[move.task]
    for move in decision.explanation.moves:
        check_steps(decision, move)
    check_cycles(decision)


def check_steps(decision: ExplainedDecision, move: MoveExplanation) -> None:
    """Check that each step begins where the previous one ended, and the last one at the copy's client."""
    steps = list(move.steps)
    if move.source != UNASSIGNED and move.source not in decision.members:
        first_step = steps.pop(0)
        assert (first_step.kind, first_step.source, first_step.destination) == (MEMBER_LOST, move.source, UNASSIGNED)
    assert MEMBER_LOST not in {step.kind for step in steps}
    current = UNASSIGNED
    for index, step in enumerate(steps):
        if step.kind == "warm_up":
            # A warm-up is placed where the previous step began.
            assert step.destination == steps[index - 1].source
        elif step.kind == "swapped":
            assert (step.source, step.destination) == (steps[index - 1].destination, steps[index - 1].source)
        else:
            assert step.source == current
        current = step.destination
    assert current == move.destination


def check_cycles(decision: ExplainedDecision) -> None:
    """Check that all cycles are closed, with the costs of the state."""
    racks, tasks = decision.state.partitions.in_rack, decision.state.tasks
    row_of = {client: row for row, client in enumerate(decision.members.tolist())}
    traffic_cost, non_overlap_cost = decision.costs
    kinds = {step.edge.cycle: step.kind for move in decision.explanation.moves for step in move.steps if step.edge}
    for number in sorted({edge.cycle for edge in decision.explanation.edges}):
        edges = [edge for edge in decision.explanation.edges if edge.cycle == number]
        for edge, following in zip(edges, edges[1:] + edges[:1], strict=True):
            assert edge.destination == following.source
            stateful = bool(tasks.stateful[edge.task])
            partitions = set(tasks.source.row(edge.task).tolist()) if edge.role is TaskType.ACTIVE else set()
            if edge.role is TaskType.STANDBY or isinstance(decision.assignor, Sticky):
                partitions |= set(tasks.changelog.row(edge.task).tolist())
            for client, traffic in ((edge.source, edge.source_traffic), (edge.destination, edge.destination_traffic)):
                rack = decision.state.clients.rack[row_of[client]]
                remote = sum(not racks[partition, rack] for partition in partitions)
                assert traffic == remote * (traffic_cost if stateful else 1)
            assert edge.non_overlap_cost == (non_overlap_cost if stateful else 0)
        assert len({edge.source for edge in edges}) == len(edges)
        total = sum(edge.cost for edge in edges)
        if kinds.get(number) == RACK:
            assert total < 0
        elif kinds.get(number) == SPREAD:
            assert total >= 0


def owner_at(decision: ExplainedDecision, cost: int, task: int) -> int:
    """Return the world's client that would run a task at another cost."""
    configs = replace(decision.state.assignment_configs, rack_aware_non_overlap_cost=cost)
    state = replace(decision.state, assignment_configs=configs)
    owner = AssignmentColumns.of(state, decision.assignor.assign(state)).active[task]
    return int(decision.members[owner])


def check_break_evens(decision: ExplainedDecision) -> Counter[str]:
    """Check that tasks stay at their break-even costs and move at the next cost towards the current one."""
    counts: Counter[str] = Counter()
    current = decision.costs[1]
    for move in decision.explanation.moves:
        if move.role is TaskType.STANDBY:
            assert (move.break_even, move.no_break_even) == (None, None)
            continue
        cost = move.break_even
        if cost is not None:
            assert move.no_break_even is None
            assert owner_at(decision, cost, move.task) == move.source
            if cost == current:
                # One assignor considers racks only if the cost is configured.
                assert decision.state.assignment_configs.rack_aware_non_overlap_cost is None
            else:
                next_cost = cost + (1 if cost < current else -1)
                assert owner_at(decision, next_cost, move.task) != move.source
            counts["above" if cost > current else "below"] += 1
            continue
        assert move.no_break_even is not None
        counts[move.no_break_even] += 1
        if move.no_break_even is NoBreakEven.NEW:
            assert move.source == UNASSIGNED
        elif move.no_break_even is NoBreakEven.MEMBER_LOST:
            assert move.source not in decision.members
        else:
            assert all(
                owner_at(decision, other_cost, move.task) != move.source for other_cost in (0, 1, 4, 9, 10, 11, 25, 60)
            )
    return counts
