"""The group leader: looks at the members, lets the assignor decide, and spreads tasks over the threads of clients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from assignors.java.hash_order import task_hash
from assignors.model.assignment import UNASSIGNED, AssignmentColumns, TaskAssignor
from assignors.model.columns import BoolArray, IntArray, PartitionTable
from assignors.model.configs import AssignmentConfigs
from assignors.model.state import LATEST_OFFSET, NO_LAG, UNKNOWN_OFFSET_SUM, ApplicationState
from assignors.objective.cost import CostAndBound, Weights, compute_cost_and_bound
from assignors.recording.recorder import NO_RECORDER, StepRecorder
from assignors.tasks.fallback_prior import FallbackPrior
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.rack_aware import RackCosts, rack_costs
from assignors.tasks.thread_assignment import ClientTasks, ThreadTasks, assign_to_threads
from simulator.assignment.explanation import DecisionRecord, ExplanationRequest
from simulator.assignment.measures import Measures, measure
from simulator.assignment.rebalance import ComputedAssignment, build_state, compute_assignment
from simulator.flows.execution import Execution
from simulator.group.classic_group import Member
from simulator.group.fleet import Fleet
from simulator.group.reconciliation import GroupAssignment
from simulator.world.layout import Layout
from simulator.world.world import GroupProtocol, World


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What the leader decided, along the world's clients, and what Kafka makes of it.

    Attributes:
        members: the clients it decided for, rows, by process id.
        target: who shall have what.
        costs: Kafka's own costs of the answer.
        appraisal: what it costs against what was there before, and the bound of that; None if racks are not known.
        measures: what is measured of it.
        followup_delay_ms: in how long another rebalance is asked for, None if none is.
        leader_compute_ms: how long Kafka's leader would compute for it.
        account: what an explanation of it needs; None if nobody asks.
        state: the snapshot that it is for.
        columns: the answer along the rows of that.
    """

    members: IntArray
    target: GroupAssignment
    costs: RackCosts
    appraisal: CostAndBound | None
    measures: Measures
    followup_delay_ms: int | None
    leader_compute_ms: float
    account: DecisionRecord | None
    state: ApplicationState
    columns: AssignmentColumns

    def measured_with(self, partitions: PartitionTable) -> Measures:
        """Return the measures with the partitions of another moment: only what depends on their racks differs."""
        if partitions is self.state.partitions:
            return self.measures
        now = measure(replace(self.state, partitions=partitions), self.columns)
        return replace(
            self.measures,
            cross_rack_source_partitions=now.cross_rack_source_partitions,
            cross_rack_source_partitions_bound=now.cross_rack_source_partitions_bound,
            cross_rack_standby_partitions=now.cross_rack_standby_partitions,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Judged:
    """An answer, and what was measured of it."""

    state: ApplicationState
    columns: AssignmentColumns
    costs: RackCosts
    measures: Measures

    def holds_for(self, state: ApplicationState, columns: AssignmentColumns) -> bool:
        """Whether another answer is the same in everything that is measured."""
        return (
            self.state.partitions is state.partitions
            and self.state.clients.ids == state.clients.ids
            and np.array_equal(self.state.clients.rack, state.clients.rack)
            and self.state.assignment_configs == state.assignment_configs
            and np.array_equal(self.columns.active, columns.active)
            and np.array_equal(self.columns.standby, columns.standby)
        )


class Leader:
    """Whoever computes the group's assignment: a member of a classic group, the coordinator of a streams group.

    Attributes:
        stateful: shape (T,); which tasks have state.
    """

    def __init__(
        self,
        world: World,
        layout: Layout,
        fleet: Fleet,
        execution: Execution,
        assignor: TaskAssignor,
        weights: Weights,
        question: ExplanationRequest | None,
    ) -> None:
        self._speed = world.application.group_configs.leader_speed
        self._asks_for_end_offsets = world.application.group_configs.protocol is GroupProtocol.CLASSIC
        self._layout = layout
        self._fleet = fleet
        self._execution = execution
        self._assignor = assignor
        self._weights = weights
        self._question = question
        self._judged: _Judged | None = None
        self.stateful: BoolArray = layout.tasks.stateful
        self._hashes = [task_hash(task) for task in layout.tasks.ids]

    def take_over(self, members: Sequence[Member], followup_delay_ms: int | None) -> Decision:
        """Take what members have for what was decided last, without knowing how.

        Args:
            members: who took part.
            followup_delay_ms: in how long another rebalance is due.
        """
        rows = self._fleet.in_kafkas_order(members)
        held = self._execution.assignment
        had = self._had_before(rows, held)
        state = self._look(rows, self._fleet.configs(self._fleet.row(members[0].client)), had)
        column_of = np.full(len(held.standby[0]) + 1, UNASSIGNED, dtype=np.int64)
        column_of[rows] = np.arange(len(rows))
        columns = AssignmentColumns(column_of[held.owner], held.standby[:, rows], followup_delay_ms)
        judged = self._judge(state, columns)
        return Decision(
            members=rows,
            target=held,
            costs=judged.costs,
            appraisal=compute_cost_and_bound(state, columns, self._weights_for(state), had),
            measures=judged.measures,
            followup_delay_ms=followup_delay_ms,
            leader_compute_ms=0.0,
            account=None,
            state=state,
            columns=columns,
        )

    def decide(self, members: tuple[Member, ...], leader: Member, previous: GroupAssignment | None = None) -> Decision:
        """Assign the tasks to the members, by what they report now.

        Args:
            members: who takes part.
            leader: whose configs count.
            previous: what counts as what everybody had: the last target for a coordinator, which knows no disks; None
                for what the members run and find on their disks.

        Raises:
            AssignorFailedError: the assignor threw, or its answer is not valid.
        """
        rows = self._fleet.in_kafkas_order(members)
        configs = self._fleet.configs(self._fleet.row(leader.client))
        had = self._had_before(rows, previous)
        state = self._look(rows, configs, had)
        steps = None if self._question is None else StepRecorder()
        falls_back = isinstance(self._assignor, HighAvailability) and not self.knows_lags
        decided = compute_assignment(
            state, FallbackPrior() if falls_back else self._assignor, self._speed, steps or NO_RECORDER
        )
        judged = self._judge(state, decided.columns)
        return Decision(
            members=rows,
            target=self._spread(rows, state, decided.columns),
            costs=judged.costs,
            appraisal=compute_cost_and_bound(state, decided.columns, self._weights_for(state), had),
            measures=judged.measures,
            followup_delay_ms=decided.columns.followup_rebalance_delay_ms,
            leader_compute_ms=decided.leader_compute_ms,
            account=self._account(decided, steps),
            state=state,
            columns=decided.columns,
        )

    @property
    def knows_lags(self) -> bool:
        """Whether the leader can compute lags: a coordinator needs none, a member the end offsets of all changelogs.

        Otherwise it assigns without them, and Kafka's default assignor gives way to `FallbackPriorTaskAssignor`.
        (Source: `StreamsPartitionAssignor.populateClientStatesMap` and `createTaskAssignor`.)
        """
        return not self._asks_for_end_offsets or self._execution.availability.has_end_offsets

    def _account(self, decided: ComputedAssignment, steps: StepRecorder | None) -> DecisionRecord | None:
        if self._question is None:
            return None
        told = steps if decided.told else None
        return DecisionRecord(
            decided.state, self._assignor, self._weights_for(decided.state).traffic_cost, told, self._question
        )

    def _weights_for(self, state: ApplicationState) -> Weights:
        return self._weights.configured(state.assignment_configs)

    def _judge(self, state: ApplicationState, columns: AssignmentColumns) -> _Judged:
        """Measure an answer, unless it is the one before, from the same members, partitions and configs."""
        before = self._judged
        if before is None or not before.holds_for(state, columns):
            costs = rack_costs(state, columns, self._weights_for(state).traffic_cost)
            before = self._judged = _Judged(state, columns, costs, measure(state, columns))
        return before

    def _had_before(self, rows: IntArray, previous: GroupAssignment | None) -> tuple[BoolArray, BoolArray]:
        """What each member ran, and of what it has a copy; two arrays of shape (T, C)."""
        if previous is None:
            active: BoolArray = self._execution.assignment.owner[:, None] == rows
            return active, active | self._execution.restoration.holds_copy(rows)
        active = previous.owner[:, None] == rows
        return active, active | previous.standby[:, rows]

    def _look(self, rows: IntArray, configs: AssignmentConfigs, had: tuple[BoolArray, BoolArray]) -> ApplicationState:
        restoration, running = self._execution.restoration, self._execution.running
        active, held = had
        lags = restoration.lags(rows, running)
        if not self.knows_lags:
            lags[(lags != LATEST_OFFSET) & (lags != NO_LAG)] = UNKNOWN_OFFSET_SUM
        return build_state(
            self._layout.tasks,
            self._fleet.table(rows),
            self._execution.locations.table,
            lags,
            (active, held & ~active),
            configs,
            self._layout.task_insertion_order,
        )

    def _spread(self, rows: IntArray, state: ApplicationState, columns: AssignmentColumns) -> GroupAssignment:
        """Lay the answer out along the world's clients, with the thread of every task.

        A client that is given what it has keeps its tasks on their threads: Kafka's own algorithm would come to the
        same (see `assignors.tasks.thread_assignment`), so only the others are asked about.
        """
        present = self._execution.assignment
        owner = np.where(columns.active == UNASSIGNED, UNASSIGNED, rows[columns.active])
        standby = np.zeros_like(present.standby)
        standby[:, rows] = columns.standby
        thread = present.thread.copy()
        moved = owner != present.owner
        concerned = np.zeros(standby.shape[1] + 1, dtype=np.bool_)
        concerned[owner[moved]] = True
        concerned[present.owner[moved]] = True
        concerned[:-1] |= (standby != present.standby).any(axis=0)
        columns_concerned = np.flatnonzero(concerned[rows])
        clients = rows[columns_concerned]
        is_active = owner[:, None] == clients
        stateful = _listed(is_active & self.stateful[:, None])
        stateless = _listed(is_active & ~self.stateful[:, None])
        standbys = _listed(standby[:, clients])
        lags = state.lags[:, columns_concerned].T.tolist()
        for place, had in enumerate(self._had(clients)):
            given = ClientTasks(stateful[place], stateless[place], standbys[place])
            chosen = assign_to_threads(given, had, lags[place], self._hashes)
            numbers = dict(_numbered(chosen))
            thread[list(numbers), clients[place]] = list(numbers.values())
        return GroupAssignment(owner, standby, thread)

    def _had(self, clients: IntArray) -> Iterator[list[list[int]]]:
        """What each thread of clients says it has.

        A copy that was just given back is reported by the thread that did; it closes it, and joins anew at once. What
        else lies on disk goes to whichever thread joins first; here that is the first one.
        """
        present = self._execution.assignment
        holds = ((present.owner[:, None] == clients) | present.standby[:, clients]) & self.stateful[:, None]
        holds_copy = self._execution.restoration.holds_copy(clients) & ~holds
        given_back = holds_copy & (self._execution.revoked_from[:, None] == clients)
        found, held = _listed(holds_copy & ~given_back), _listed(holds | given_back)
        for place, client in enumerate(clients.tolist()):
            had: list[list[int]] = [[] for _ in range(self._fleet.num_threads(client))]
            for task, number in zip(held[place], present.thread[held[place], client].tolist(), strict=True):
                had[number].append(task)
            had[0] += found[place]
            yield had


def _numbered(chosen: ThreadTasks) -> Iterator[tuple[int, int]]:
    """Each task of a client, and the thread it is on."""
    for role in (chosen.active, chosen.standby):
        for number, tasks in enumerate(role):
            for task in tasks:
                yield task, number


def _listed(chosen: BoolArray) -> list[list[int]]:
    """For each column, the rows that are set."""
    columns, rows = np.nonzero(np.ascontiguousarray(chosen.T))
    every = rows.tolist()
    ends = np.searchsorted(columns, np.arange(chosen.shape[1] + 1)).tolist()
    return [every[start:end] for start, end in pairwise(ends)]
