"""The group leader: reads the state of the members, calls the assignor, and assigns tasks to threads.

It also computes the cost of each assignment, its lower bound, and its other figures.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from types import MappingProxyType
from typing import Final, TypeVar, cast

import numpy as np

from assignors.consumer_tasks import ConsumerTasks
from assignors.containment.contained import innermost
from assignors.errors import AssignorError
from assignors.functions import FunctionAssignor
from assignors.java.hash_order import task_hash
from assignors.model.assignment import UNASSIGNED, AssignmentColumns, TaskAssignor
from assignors.model.columns import BoolArray, IntArray, PartitionTable, TaskTable
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId, TaskId
from assignors.model.state import LATEST_OFFSET, NO_LAG, UNKNOWN_OFFSET_SUM, ApplicationState
from assignors.objective import (
    CostAndBound,
    TaskCopies,
    Weights,
    bound_of_moves,
    capacity_at_max_load,
    cost_of_copies,
    flow_bound,
    group_copies_by_role,
    min_cost_without_capacities,
)
from assignors.optimum.proof import prove_bound
from assignors.recording import NO_RECORDER, StepRecorder
from assignors.tasks.legacy_sticky import FallbackPrior
from assignors.tasks.rack_aware import RackCosts, rack_costs
from assignors.tasks.streams_group_sticky import StreamsGroupPreview
from assignors.tasks.warmup_refinement import RefinedAssignment
from simulator.assignment.explanation import DecisionRecord, ExplanationRequest
from simulator.assignment.measures import Measures, measure
from simulator.assignment.rebalance import ComputedAssignment, build_state, compute_assignment
from simulator.assignment.threads import ThreadAssigner, threads_of_slots
from simulator.errors import AssignorFailedError
from simulator.flows.execution import Execution
from simulator.group.fleet import Fleet, GroupProcesses
from simulator.group.member import ComputeAssignment, Member, Place
from simulator.group.reconciliation import assignment_of, tasks_of_members
from simulator.group.streams_coordinator import Tasks
from simulator.world.group_assignment import GroupAssignment
from simulator.world.group_configs import GroupProtocol
from simulator.world.layout import Layout, in_leader_order
from simulator.world.world import World


@dataclass(frozen=True, slots=True, eq=False)
class ApproachedTarget:
    """A target assignment that a group approaches in steps, by warm-ups.

    Attributes:
        clients: process ids of the members, in the order of the columns.
        warmups: shape (T, N + D); which standbys are warm-ups, in the last step: those of the world's N clients, and of
            D former processes that were in the group then.
        awaited: shape (T, N); the copies that must catch up before another step.
        acceptable_recovery_lag: maximum lag of a caught-up copy, in records.
    """

    clients: tuple[ProcessId, ...]
    columns: AssignmentColumns
    warmups: BoolArray
    awaited: BoolArray
    acceptable_recovery_lag: int


def next_step(
    assignor: StreamsGroupPreview, state: ApplicationState, target: AssignmentColumns | None, warmups: BoolArray
) -> tuple[TaskAssignor, RefinedAssignment, AssignmentColumns]:
    """Compute the next step to a target.

    `target`: the target; None to compute a new one. `warmups`, shape (T, C): which standbys are warm-ups now. Returns
    an assignor that returns the step, the step, and the target. Raises AssignorFailedError if the assignor raises an
    error.
    """
    try:
        goal = assignor.target(state) if target is None else target
    except AssignorError as error:
        raise AssignorFailedError(f"{type(assignor).__name__}: {error}") from error
    step = assignor.step(state, goal, warmups)
    return FunctionAssignor(step.columns.to_assignment), step, goal


Values = TypeVar("Values", BoolArray, IntArray)
"""An array of values of tasks."""

MAX_BOUNDS: Final = 256
"""Number of cached bounds; the least recently used is evicted."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredAssignment:
    """An assignment and its figures.

    Attributes:
        state: the assignor's input.
        costs: Kafka's own costs of the assignment.
        measures: its other figures.
    """

    state: ApplicationState
    columns: AssignmentColumns
    costs: RackCosts
    measures: Measures

    def holds_for(self, state: ApplicationState, columns: AssignmentColumns) -> bool:
        """Return whether another assignment has the same figures, because it has the same inputs."""
        return (
            self.state.partitions is state.partitions
            and self.state.clients.ids == state.clients.ids
            and np.array_equal(self.state.clients.rack, state.clients.rack)
            and np.array_equal(self.state.clients.threads, state.clients.threads)
            and self.state.assignment_configs == state.assignment_configs
            and np.array_equal(self.columns.active, columns.active)
            and np.array_equal(self.columns.standby, columns.standby)
        )


class Appraiser:
    """Appraises the assignments of one run, in whose rebalances the same bounds recur."""

    def __init__(self) -> None:
        self._bounds: OrderedDict[bytes, int] = OrderedDict()

    def appraise(
        self,
        state: ApplicationState,
        columns: AssignmentColumns,
        weights: Weights,
        previous: tuple[BoolArray, BoolArray],
    ) -> CostAndBound | None:
        """Return the cost and the bound of `compute_cost_and_bound`.

        `previous`: the active tasks and all copies that each client had, two arrays of shape (T, C). The result is None
        if a client has no rack, or the racks of a partition that is read are unknown.
        """
        copies = group_copies_by_role(state, columns, weights, previous)
        if copies is None:
            return None
        kinds = [kind for kind in (copies.stateful, copies.stateless, copies.standbys) if len(kind.tasks)]
        costs = [cost_of_copies(kind, copies.rack) for kind in kinds]
        threads = state.clients.threads
        bounds = [self._bound(kind, copies.rack, threads, cost) for kind, cost in zip(kinds, costs, strict=True)]
        return CostAndBound(sum(costs), sum(bounds))

    def _bound(self, copies: TaskCopies, rack: IntArray, threads: IntArray, cost: int) -> int:
        """Return `flow_bound` of copies with a cost, from the cache if its problem needed a flow before."""
        if cost == min_cost_without_capacities(copies):
            return cost
        bound = bound_of_moves(copies, cost, threads)
        if bound is not None:
            return bound
        if not copies.move_cost and (copies.num_copies == 1).all():
            # Where the only copy of each task was before has no effect, and would make problems differ.
            copies = replace(copies, held=np.zeros_like(copies.held))
        key = _digest(copies, rack, threads)
        bound = self._bounds.pop(key, None)
        if bound is None:
            bound = flow_bound(copies, rack, threads)
            if len(self._bounds) >= MAX_BOUNDS:
                self._bounds.popitem(last=False)
        self._bounds[key] = bound
        return bound


def _digest(copies: TaskCopies, rack: IntArray, threads: IntArray) -> bytes:
    """Return a digest of all on which a bound depends: of the placement, only the capacities that follow from it."""
    digest = blake2b(repr((copies.held.shape, copies.traffic_cost.shape, copies.move_cost)).encode(), digest_size=16)
    capacity = capacity_at_max_load(copies, threads)
    held = np.packbits(copies.held)
    for array in (copies.num_copies, copies.traffic_cost, held, capacity, rack):
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The assignment that the leader computed, along the world's clients, and its figures.

    Attributes:
        members: shape (C,); the client of each process in the assignment, by process id.
        costs: Kafka's own costs of the assignment.
        appraisal: the cost of the assignment and its lower bound; None if racks are unknown, or if the run is without.
        measures: the figures of the assignment.
        followup_delay_ms: delay of the requested follow-up rebalance; None if none is requested.
        leader_compute_ms: time that Kafka's leader would need to compute it.
        record: the data from which it is explained; None unless requested.
        state: the assignor's input.
        columns: the assignment, along the rows of the state.
        approached: the target that it approaches by warm-ups; None if it is a target itself.
    """

    members: IntArray
    target: GroupAssignment
    costs: RackCosts
    appraisal: CostAndBound | None
    measures: Measures
    followup_delay_ms: int | None
    leader_compute_ms: float
    record: DecisionRecord | None
    state: ApplicationState
    columns: AssignmentColumns
    approached: ApproachedTarget | None = None

    @property
    def clients(self) -> IntArray:
        """Return the rows of the clients in the assignment, by process id; one with two processes only once."""
        return np.array(list(dict.fromkeys(self.members.tolist())), dtype=np.int64)

    def measured_with(self, partitions: PartitionTable) -> Measures:
        """Return the measures with the replicas of another moment, which affect only the cross-rack partitions."""
        if partitions is self.state.partitions:
            return self.measures
        current = measure(replace(self.state, partitions=partitions), self.columns)
        return replace(
            self.measures,
            cross_rack_source_partitions=current.cross_rack_source_partitions,
            cross_rack_source_partitions_bound=current.cross_rack_source_partitions_bound,
            cross_rack_standby_partitions=current.cross_rack_standby_partitions,
        )


@dataclass(frozen=True, slots=True, eq=False)
class LeaderTasks:
    """The K tasks among the T of a run that a leader knows, because their partitions exist.

    Attributes:
        rows: shape (K,); their rows; None for all.
        insertion_order: shape (K,); the order in which the leader lists them.
    """

    tasks: TaskTable
    rows: IntArray | None
    insertion_order: IntArray

    def of(self, values: Values) -> Values:
        """Return the values of the known tasks, shape (K, …), from the values of all tasks, shape (T, …)."""
        return values if self.rows is None else values[self.rows]

    def rows_of(self, tasks: IntArray) -> IntArray:
        """Return the rows of known tasks among all, given by their rows among the known ones."""
        return tasks if self.rows is None else self.rows[tasks]

    def with_others(self, values: Values, other: int, num_tasks: int) -> Values:
        """Return values of all tasks, shape (T, …), from the values of the known tasks and a value for the others."""
        if self.rows is None:
            return values
        of_all = np.full((num_tasks, *values.shape[1:]), other, dtype=values.dtype)
        of_all[self.rows] = values
        return of_all

    def with_unassigned(self, columns: AssignmentColumns, num_tasks: int) -> AssignmentColumns:
        """Return the assignment of all tasks, of which the others are unassigned."""
        return columns if self.rows is None else columns.along(self.rows, num_tasks)


class Leader:
    """Computes the assignments of a group: a member of a classic group, or the coordinator of a streams group.

    Attributes:
        stateful: shape (T,); which tasks are stateful.
        has_failed: whether the assignor raised an error, or returned an invalid assignment.
    """

    def __init__(
        self,
        world: World,
        layout: Layout,
        fleet: Fleet,
        execution: Execution,
        assignor: TaskAssignor,
        weights: Weights,
        *,
        upgraded: Mapping[str, TaskAssignor],
        appraises: bool,
        prove: float | None,
        explain: ExplanationRequest | None,
    ) -> None:
        """Create the leader of a group.

        `weights`: the default costs of the assignor; `upgraded`: the assignors of other releases, as in
        `simulator.processes.simulation.simulate`; `appraises` says whether to compute the cost of each assignment and
        its lower bound; `prove`: time limit in seconds for proving the minimum cost of an assignment, None for its
        lower bound only; `explain`: which moves to explain, None for none.
        """
        self._speed = world.application.group_configs.leader_speed
        self._leads_classic_group = world.application.group_configs.protocol is GroupProtocol.CLASSIC
        self._layout = layout
        self._fleet = fleet
        self._execution = execution
        self._assignor = assignor
        self._upgraded = upgraded
        self._weights = weights
        self._prove = prove
        self._explain = explain
        self._appraiser = Appraiser() if appraises else None
        self._last_measured: MeasuredAssignment | None = None
        self.stateful: BoolArray = layout.tasks.stateful
        self.has_failed = False
        self._hashes = [task_hash(task) for task in layout.tasks.ids]
        self._last_slots: Mapping[int, tuple[int, ...]] = {}
        self._known = LeaderTasks(layout.tasks, None, layout.task_insertion_order)

    def convert(self, protocol: GroupProtocol) -> None:
        """Assign as a member of a classic group, or as the coordinator of a group of another protocol, from now on."""
        self._leads_classic_group = protocol is GroupProtocol.CLASSIC

    def move_coordinator(self, release: str) -> None:
        """Assign as the brokers of a release from now on, unless a member assigns, whose own release counts."""
        if not self._leads_classic_group:
            self._use_release(release)

    def _use_release(self, release: str) -> None:
        self._assignor = self._upgraded.get(release, self._assignor)

    def describe_initial_state(self, members: Sequence[Member], followup_delay_ms: int | None) -> Decision:
        """Describe the tasks that members have at the start as a decision.

        `followup_delay_ms`: delay after which another rebalance is due; None if none is. Returns the decision, whose
        computation is unknown.
        """
        processes = self._fleet.processes(members)
        rows, assignment = processes.rows, self._execution.assignment
        self._last_slots = processes.slots
        known = self._known_tasks(None)
        previous_copies = self._previous_copies(processes, assignment, known)
        configs = self._fleet.configs(self._fleet.row(members[0].client))
        state = self._build_state(processes, configs, previous_copies, assignment, known)
        self._execution.restoration.record_reports(rows)
        column_of = np.full(len(assignment.standby[0]) + 1, UNASSIGNED, dtype=np.int64)
        column_of[rows] = np.arange(len(rows))
        columns = AssignmentColumns(
            known.of(column_of[assignment.owner]), known.of(assignment.standby[:, rows]), followup_delay_ms
        )
        figures = self._measure(state, columns)
        return Decision(
            members=rows,
            target=assignment,
            costs=figures.costs,
            appraisal=self._appraise(state, columns, previous_copies),
            measures=figures.measures,
            followup_delay_ms=followup_delay_ms,
            leader_compute_ms=0.0,
            record=None,
            state=state,
            columns=columns,
        )

    def decide(
        self, instruction: ComputeAssignment, previous: GroupAssignment | None = None, known_until_ms: int | None = None
    ) -> Decision:
        """Assign the tasks to the members of a classic group, from their current reports.

        `instruction`: the members of the group, and the member whose configs apply. `previous`: what the members of a
        consumer group own; None for the tasks that the members run and the copies on their disks. `known_until_ms`: the
        leader does not know partitions that were added later; None if it knows all.
        """
        leader_row = self._fleet.row(instruction.leader.client)
        self._use_release(self._fleet.upgraded_to[leader_row])
        configs, processes = self._fleet.configs(leader_row), self._fleet.processes(instruction.members)
        known = self._known_tasks(known_until_ms)
        return self._decide(instruction, configs, processes, previous, known)[0]

    def _known_tasks(self, until_ms: int | None) -> LeaderTasks:
        """Return the tasks whose partitions exist, and were added up to a time; None for no such limit."""
        execution, layout = self._execution, self._layout
        is_known = execution.exists if until_ms is None else execution.exists & (execution.added_at_ms <= until_ms)
        if len(self._known.tasks) != np.count_nonzero(is_known):
            if is_known.all():
                self._known = LeaderTasks(layout.tasks, None, layout.task_insertion_order)
            else:
                tasks = layout.tasks.take(rows := np.flatnonzero(is_known))
                self._known = LeaderTasks(tasks, rows, in_leader_order(tasks))
        return self._known

    def decide_for_coordinator(
        self,
        instruction: ComputeAssignment,
        num_standby_replicas: int,
        has: Mapping[Member, Tasks],
        reported_offsets: Mapping[Member, Mapping[int, int]] | None = None,
        approached: ApproachedTarget | None = None,
        known_until_ms: int | None = None,
        *,
        is_new_target: bool = True,
    ) -> tuple[Decision, Mapping[Member, Tasks]]:
        """Assign the tasks to the members of a group whose coordinator assigns; it does not know their disks.

        `instruction`: the members of the group, and the member whose other configs apply. `reported_offsets`: the
        offsets by task row that members of a streams group reported; None if none did. `approached`: the target that
        the group approaches by warm-ups; None if it approaches none. `is_new_target` says whether to compute a new
        target; if not, the decision is the next step to `approached`. Returns the decision, and the tasks of each
        member.
        """
        configs = self._fleet.configs(self._fleet.row(instruction.leader.client))
        configs = replace(configs, num_standby_replicas=num_standby_replicas)
        processes = self._fleet.processes(instruction.members, separates_former=True)
        places = self._fleet.places(instruction.members, processes.former)
        previous = assignment_of(has, places, (len(self.stateful), processes.num_rows))
        decision, target = self._decide(
            instruction,
            configs,
            processes,
            previous,
            self._known_tasks(known_until_ms),
            reported_offsets,
            approached,
            self._thread_standbys(processes, places, has, previous),
            is_new_target=is_new_target,
        )
        warmups = None if decision.approached is None else decision.approached.warmups
        return decision, tasks_of_members(target, warmups, places)

    def _decide(
        self,
        instruction: ComputeAssignment,
        configs: AssignmentConfigs,
        processes: GroupProcesses,
        previous: GroupAssignment | None,
        known: LeaderTasks,
        reported_offsets: Mapping[Member, Mapping[int, int]] | None = None,
        approached: ApproachedTarget | None = None,
        thread_standbys: Sequence[Sequence[tuple[TaskId, ...]]] = (),
        *,
        is_new_target: bool = True,
    ) -> tuple[Decision, GroupAssignment]:
        """Return the decision, and the target along the rows of `processes`."""
        rows = processes.rows
        previous_copies = self._previous_copies(processes, previous, known)
        state = self._build_state(
            processes, configs, previous_copies, previous, known, reported_offsets or {}, thread_standbys
        )
        self._execution.restoration.record_reports(processes.clients)
        steps = None if self._explain is None else StepRecorder()
        falls_back = getattr(innermost(self._assignor), "falls_back_without_lags", False) and not self.knows_lags
        assignor = FallbackPrior() if falls_back else self._assignor
        step: RefinedAssignment | None = None
        if isinstance(assignor, StreamsGroupPreview):
            warmups: BoolArray = np.zeros((len(self.stateful), processes.num_rows), dtype=np.bool_)
            if approached is not None:
                warmups[:, : processes.num_clients] = approached.warmups[:, : processes.num_clients]
            is_kept = not is_new_target and approached is not None and approached.clients == state.clients.ids
            kept = approached.columns if is_kept and approached is not None else None
            assignor, step, goal = next_step(assignor, state, kept, known.of(warmups[:, rows]))
        try:
            computed = compute_assignment(state, assignor, self._speed, steps or NO_RECORDER)
        except AssignorFailedError:
            self.has_failed = True
            raise
        figures = self._measure(state, computed.columns)
        assigner = ThreadAssigner(
            self._execution, self._hashes, processes, self._first_slots(instruction, processes), self._last_slots
        )
        target = assigner.assign(
            known.with_others(state.lags, NO_LAG, len(self.stateful)),
            known.with_unassigned(computed.columns, len(self.stateful)),
            by_leader=previous is None,
        )
        self._last_slots = processes.slots
        decision = Decision(
            members=processes.clients,
            target=target.with_rows_as_clients(processes.clients_of_former, processes.num_clients),
            costs=figures.costs,
            appraisal=self._appraise(state, computed.columns, previous_copies, self._prove),
            measures=figures.measures,
            followup_delay_ms=computed.columns.followup_rebalance_delay_ms,
            leader_compute_ms=computed.leader_compute_ms,
            record=self._record(computed, steps, known),
            state=state,
            columns=computed.columns,
            approached=None if step is None else self._approached(state, processes, goal, step, known),
        )
        return decision, target

    def _approached(
        self,
        state: ApplicationState,
        processes: GroupProcesses,
        goal: AssignmentColumns,
        step: RefinedAssignment,
        known: LeaderTasks,
    ) -> ApproachedTarget | None:
        if not step.staged.any():
            return None
        warmups: BoolArray = np.zeros((len(self.stateful), processes.num_rows), dtype=np.bool_)
        warmups[:, processes.rows] = known.with_others(step.warmup, False, len(self.stateful))
        awaited = np.zeros_like(warmups)
        tasks = np.flatnonzero(step.staged)
        awaited[known.rows_of(tasks), processes.rows[goal.active[tasks]]] = True
        awaited = awaited[:, : processes.num_clients]
        limit = state.assignment_configs.acceptable_recovery_lag
        return ApproachedTarget(state.clients.ids, goal, warmups, awaited, limit)

    def has_caught_up(self, approached: ApproachedTarget) -> bool:
        """Return whether a copy that the next step to a target needs has caught up."""
        restoration, running = self._execution.restoration, self._execution.running
        rows = np.flatnonzero(approached.awaited.any(axis=0))
        lags = restoration.lags(rows, running)
        copies = approached.awaited[:, rows] & self._execution.assignment.standby[:, rows]
        return bool((copies & (lags >= 0) & (lags <= approached.acceptable_recovery_lag)).any())

    def is_eager(self, member: Member) -> bool:
        """Return whether a member of a classic group revokes all tasks before it joins a rebalance."""
        assignor = innermost(self._assignor)
        consumer = self._fleet.consumers[self._fleet.row(member.client)]
        return isinstance(assignor, ConsumerTasks) and assignor.is_eager_client(consumer)

    def selected_assignor(self, members: Iterable[Member]) -> str | None:
        """Return the assignor that the coordinator of a consumer group selects for members; None for no common one."""
        assignor = innermost(self._assignor)
        if not isinstance(assignor, ConsumerTasks):
            return None
        return assignor.selected([self._fleet.consumers[self._fleet.row(member.client)] for member in members])

    @property
    def knows_lags(self) -> bool:
        """Return whether the leader can compute lags: a member needs the end offsets of all changelogs for that.

        A coordinator needs no end offsets. Without lags, `FallbackPriorTaskAssignor` replaces Kafka's default assignor.
        (Source: `StreamsPartitionAssignor.populateClientStatesMap` and `createTaskAssignor`.)
        """
        return not self._leads_classic_group or self._execution.availability.has_end_offsets

    def _first_slots(self, instruction: ComputeAssignment, processes: GroupProcesses) -> Mapping[int, int]:
        """Return the slot of the member of each process that joined the rebalance first."""
        first: dict[int, int] = {}
        for row, slot in self._fleet.places(instruction.rejoined, processes.former).values():
            first.setdefault(row, slot)
        return first

    def _record(
        self, computed: ComputedAssignment, steps: StepRecorder | None, known: LeaderTasks
    ) -> DecisionRecord | None:
        if self._explain is None:
            return None
        recorded_steps = steps if computed.is_recorded else None
        return DecisionRecord(
            computed.state,
            self._assignor,
            self._weights_for(computed.state).traffic_cost,
            recorded_steps,
            self._explain,
            known.rows,
        )

    def _appraise(
        self,
        state: ApplicationState,
        columns: AssignmentColumns,
        previous_copies: tuple[BoolArray, BoolArray],
        prove: float | None = None,
    ) -> CostAndBound | None:
        if prove is not None:
            return prove_bound(state, columns, self._weights_for(state), prove)
        if self._appraiser is None:
            return None
        return self._appraiser.appraise(state, columns, self._weights_for(state), previous_copies)

    def _weights_for(self, state: ApplicationState) -> Weights:
        return self._weights.configured(state.assignment_configs)

    def _measure(self, state: ApplicationState, columns: AssignmentColumns) -> MeasuredAssignment:
        """Compute the figures of an assignment; reuse the last ones if members, partitions and configs are equal."""
        last = self._last_measured
        if last is None or not last.holds_for(state, columns):
            costs = rack_costs(state, columns, self._weights_for(state).traffic_cost)
            last = self._last_measured = MeasuredAssignment(state, columns, costs, measure(state, columns))
        return last

    def _previous_copies(
        self, processes: GroupProcesses, previous: GroupAssignment | None, known: LeaderTasks
    ) -> tuple[BoolArray, BoolArray]:
        """Return the active tasks and all copies that each process had, two arrays of shape (K, C)."""
        rows = processes.rows
        if previous is None:
            owner, restoration = self._execution.assignment.owner, self._execution.restoration
            column_of = np.full(restoration.num_clients + 1, UNASSIGNED, dtype=np.int64)
            column_of[rows] = np.arange(len(rows))
            active: BoolArray = np.zeros((len(owner), len(rows)), dtype=np.bool_)
            tasks = np.flatnonzero(column_of[owner] != UNASSIGNED)
            active[tasks, column_of[owner[tasks]]] = True
            copies, (tasks, clients) = active.copy(), restoration.copies_on_disk()
            is_member = column_of[clients] != UNASSIGNED
            copies[tasks[is_member], column_of[clients[is_member]]] = True
            return known.of(active), known.of(copies)
        active = known.of(previous.owner)[:, None] == rows
        return active, active | known.of(previous.standby[:, rows])

    def _build_state(
        self,
        processes: GroupProcesses,
        configs: AssignmentConfigs,
        previous_copies: tuple[BoolArray, BoolArray],
        previous: GroupAssignment | None,
        known: LeaderTasks,
        reported_offsets: Mapping[Member, Mapping[int, int]] = MappingProxyType({}),
        thread_standbys: Sequence[Sequence[tuple[TaskId, ...]]] = (),
    ) -> ApplicationState:
        restoration, running = self._execution.restoration, self._execution.running
        lags = restoration.lags(processes.clients, running)
        if not self.knows_lags:
            lags[(lags != LATEST_OFFSET) & (lags != NO_LAG)] = UNKNOWN_OFFSET_SUM
        return build_state(
            known.tasks,
            self._fleet.table(processes),
            self._execution.locations.table,
            known.of(lags),
            previous_copies,
            configs,
            known.insertion_order,
            None if previous is None else threads_of_slots(known.of(previous.thread), processes.rows, processes.slots),
            self._thread_offsets(processes, reported_offsets),
            thread_standbys,
        )

    def _thread_standbys(
        self,
        processes: GroupProcesses,
        places: Mapping[Member, Place],
        has: Mapping[Member, Tasks],
        previous: GroupAssignment,
    ) -> list[list[tuple[TaskId, ...]]]:
        """Return the copies that each member has, by process; empty if no two members of a process have a task."""
        if sum(len(role) for tasks in has.values() for role in tasks) == np.count_nonzero(previous.held()):
            return []
        ids, of_place = self._layout.tasks.ids, dict[Place, tuple[TaskId, ...]]()
        for member, place in places.items():
            held = cast("frozenset[int]", has[member].standby | has[member].warmup)
            of_place[place] = tuple(ids[task] for task in sorted(held))
        return [[of_place[row, slot] for slot in processes.slots[row]] for row in processes.rows.tolist()]

    def _thread_offsets(
        self, processes: GroupProcesses, reported: Mapping[Member, Mapping[int, int]]
    ) -> list[list[dict[TaskId, int]]]:
        """Return the reported offsets by process and by position among its members; empty if none is."""
        if not reported:
            return []
        ids = self._layout.tasks.ids
        of_place = {place: reported[member] for member, place in self._fleet.places(reported, processes.former).items()}
        return [
            [{ids[task]: n for task, n in of_place.get((row, slot), {}).items()} for slot in processes.slots[row]]
            for row in processes.rows.tolist()
        ]
