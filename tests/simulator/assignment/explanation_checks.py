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
from assignors.objective.cost import STICKY_WEIGHTS, WeightedAssignor, Weights
from assignors.recording.recorder import RecordingTaskAssignor, StepRecorder
from assignors.tasks.sticky import Sticky
from simulator.assignment.break_even import NoBreakEven
from simulator.assignment.explanation import (
    MEMBER_LOST,
    RACK,
    SPREAD,
    DecisionRecord,
    ExplanationRequest,
    MoveExplanation,
    RoundExplanation,
    explain_decision,
)
from simulator.world.group_assignment import GroupAssignment
from tests.assignors.recording.replay import Replay
from tests.contract.random_applications import RandomApplication


@dataclass(frozen=True)
class Explained:
    """A decision and its explanation; `members`: the world's client of each row of the state."""

    account: DecisionRecord
    members: IntArray
    before: GroupAssignment | None
    target: GroupAssignment
    reasons: RoundExplanation

    @property
    def state(self) -> ApplicationState:
        return self.account.state

    @property
    def assignor(self) -> RecordingTaskAssignor:
        assignor: RecordingTaskAssignor = self.account.assignor  # type: ignore[assignment]
        return assignor

    @property
    def costs(self) -> tuple[int, int]:
        """What traffic and moving cost."""
        weights = default_weights(self.assignor).configured(self.state.assignment_configs)
        return weights.traffic_cost, weights.non_overlap_cost


def default_weights(assignor: RecordingTaskAssignor) -> Weights:
    return assignor.default_weights if isinstance(assignor, WeightedAssignor) else STICKY_WEIGHTS


def task_states(assignor: RecordingTaskAssignor, seed: int, question: ExplanationRequest) -> Iterator[Explained]:
    """Yield all decisions of a random application, explained."""
    application = RandomApplication.from_seed(seed)
    known: list[ProcessId] = []
    before: GroupAssignment | None = None
    for number in range(12):
        state = application.state()
        known += [client for client in state.clients.ids if client not in known]
        # Whoever may still come has a column from the start.
        rows = np.array([known.index(client) for client in state.clients.ids])
        steps = StepRecorder()
        answer = assignor.assign_recorded(state, steps)
        columns = AssignmentColumns.of(state, answer)
        target = _along(columns, rows, len(state.tasks))
        traffic_cost = default_weights(assignor).configured(state.assignment_configs).traffic_cost
        account = DecisionRecord(state, assignor, traffic_cost, steps, question)
        yield Explained(account, rows, before, target, explain_decision(account, rows, before, target))
        before = target
        application.apply(answer)
        if number % 2:
            application.apply_random_event()


def _along(columns: AssignmentColumns, rows: IntArray, num_tasks: int) -> GroupAssignment:
    most = 64
    standby = np.zeros((num_tasks, most), dtype=np.bool_)
    standby[:, rows] = columns.standby
    owner = np.where(columns.active == UNASSIGNED, UNASSIGNED, rows[columns.active])
    return GroupAssignment(owner, standby, np.zeros((num_tasks, most), dtype=np.int64))


def assert_true(each: Explained) -> None:
    """Every step is one that the assignor took, with numbers that follow from the state; nothing is left out."""
    assert each.account.steps is not None
    replay = Replay(each.state, each.costs, changelogs_count=isinstance(each.assignor, Sticky))
    replay.run(each.account.steps.entries)
    before = each.before or GroupAssignment.empty(*each.target.standby.shape)
    moved = np.flatnonzero(before.owner != each.target.owner).tolist()
    new = np.argwhere(each.target.standby & ~before.standby).tolist()
    actives = [reason for reason in each.reasons.moves if reason.role is TaskType.ACTIVE]
    standbys = [reason for reason in each.reasons.moves if reason.role is TaskType.STANDBY]
    assert [reason.task for reason in actives] == moved
    assert [[reason.task, reason.destination] for reason in standbys] == new
    for reason in actives:
        assert reason.source == before.owner[reason.task]
        assert reason.destination == each.target.owner[reason.task]
    for reason in each.reasons.moves:
        assert_leads_there(each, reason)
    assert_cycles(each)


def assert_leads_there(each: Explained, reason: MoveExplanation) -> None:
    """The steps follow one on another, and end where the copy is."""
    steps = list(reason.steps)
    if reason.source != UNASSIGNED and reason.source not in each.members:
        lost = steps.pop(0)
        assert (lost.kind, lost.source, lost.destination) == (MEMBER_LOST, reason.source, UNASSIGNED)
    assert MEMBER_LOST not in {taken.kind for taken in steps}
    at = UNASSIGNED
    for place, taken in enumerate(steps):
        if taken.kind == "warm_up":
            # It stays behind where the step before began.
            assert taken.destination == steps[place - 1].source
        elif taken.kind == "swapped":
            assert (taken.source, taken.destination) == (steps[place - 1].destination, steps[place - 1].source)
        else:
            assert taken.source == at
        at = taken.destination
    assert at == reason.destination


def assert_cycles(each: Explained) -> None:
    """Every cycle is closed, and its costs are those of the state."""
    racks, tasks = each.state.partitions.in_rack, each.state.tasks
    row_of = {client: row for row, client in enumerate(each.members.tolist())}
    traffic_cost, non_overlap_cost = each.costs
    kinds = {taken.edge.cycle: taken.kind for reason in each.reasons.moves for taken in reason.steps if taken.edge}
    for number in sorted({edge.cycle for edge in each.reasons.edges}):
        edges = [edge for edge in each.reasons.edges if edge.cycle == number]
        for edge, following in zip(edges, edges[1:] + edges[:1], strict=True):
            assert edge.destination == following.source
            stateful = bool(tasks.stateful[edge.task])
            partitions = set(tasks.source.row(edge.task).tolist()) if edge.role is TaskType.ACTIVE else set()
            if edge.role is TaskType.STANDBY or isinstance(each.assignor, Sticky):
                partitions |= set(tasks.changelog.row(edge.task).tolist())
            for client, traffic in ((edge.source, edge.source_traffic), (edge.destination, edge.destination_traffic)):
                rack = each.state.clients.rack[row_of[client]]
                remote = sum(not racks[partition, rack] for partition in partitions)
                assert traffic == remote * (traffic_cost if stateful else 1)
            assert edge.non_overlap_cost == (non_overlap_cost if stateful else 0)
        assert len({edge.source for edge in edges}) == len(edges)
        total = sum(edge.cost for edge in edges)
        if kinds.get(number) == RACK:
            assert total < 0
        elif kinds.get(number) == SPREAD:
            assert total >= 0


def owner_at(each: Explained, cost: int, task: int) -> int:
    """The world's client that would run a task at another cost."""
    configs = replace(each.state.assignment_configs, rack_aware_non_overlap_cost=cost)
    state = replace(each.state, assignment_configs=configs)
    owner = AssignmentColumns.of(state, each.assignor.assign(state)).active[task]
    return int(each.members[owner])


def assert_break_evens(each: Explained) -> Counter[str]:
    """At its break-even a task stays, and one towards the present cost it moves; otherwise no cost keeps it."""
    seen: Counter[str] = Counter()
    present = each.costs[1]
    for reason in each.reasons.moves:
        if reason.role is TaskType.STANDBY:
            assert (reason.break_even, reason.no_break_even) == (None, None)
            continue
        cost = reason.break_even
        if cost is not None:
            assert reason.no_break_even is None
            assert owner_at(each, cost, reason.task) == reason.source
            if cost == present:
                # One assignor looks at racks only once the cost is set.
                assert each.state.assignment_configs.rack_aware_non_overlap_cost is None
            else:
                nearer = cost + (1 if cost < present else -1)
                assert owner_at(each, nearer, reason.task) != reason.source
            seen["above" if cost > present else "below"] += 1
            continue
        assert reason.no_break_even is not None
        seen[reason.no_break_even] += 1
        if reason.no_break_even is NoBreakEven.NEW:
            assert reason.source == UNASSIGNED
        elif reason.no_break_even is NoBreakEven.MEMBER_LOST:
            assert reason.source not in each.members
        else:
            assert all(owner_at(each, other, reason.task) != reason.source for other in (0, 1, 4, 9, 10, 11, 25, 60))
    return seen
