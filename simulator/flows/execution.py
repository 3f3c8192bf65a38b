"""The work of clients between rebalances: processing tasks, restoring state and updating standbys, and its traffic.

Processing, restoration and traffic are modeled as fluids. `Execution.advance` lets time pass at the current rates,
`next_change_ms` returns how long these rates hold, and every change recomputes them. Changes happen inside
`Execution.changing` only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from assignors.compilation import CHOICE
from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray
from simulator.brokers.partition_locations import Availability, ClusterMetadata, Outage, OutageLog, PartitionLocations
from simulator.errors import InvalidStateError
from simulator.flows.durable_state import DurableState, may_be_killed
from simulator.flows.flow_steps import steps_between
from simulator.flows.processing import Overload, OverloadLog, Processing, ThreadLoad
from simulator.flows.restoration import Restoration, RestoreStart
from simulator.flows.shared_bandwidth import ApplicationBandwidth, SharedBandwidth
from simulator.flows.task_states import Intervals, RunTotals, TaskState, TaskStateHistory
from simulator.flows.traffic import Routes, TrafficBytes
from simulator.flows.traffic_record import HourlyRates, TrafficRecord
from simulator.group.fleet import Fleet
from simulator.group.reconciliation import Reconciliation
from simulator.world.changes import Disk, RackTransfer
from simulator.world.group_assignment import GroupAssignment
from simulator.world.layout import FloatArray, InitialState, Layout, added_at_ms, partitions_added_at_ms, rate_shares
from simulator.world.leave_on_close import num_thread_numbers
from simulator.world.world import World

# NumPy compares an array with an int several times faster than with a member of an enumeration.
_ASSIGNED, _RUNNING, _BLOCKED = int(TaskState.ASSIGNED), int(TaskState.RUNNING), int(TaskState.BLOCKED)

_FLOWS_PER_WORK = 500
"""Tasks and copies for which compiled kernels save as much time as a step of work takes (`KernelChoice`)."""

_MAX_PENDING_JOINS = 32
"""Number of joins that are read together; the positions of all copies at each of them are kept until then."""


class Subscriptions:
    """The subscriptions of N clients to the topics of T partitions; of Kafka Streams, every client reads all tasks."""

    def __init__(self, world: World, layout: Layout) -> None:
        own = [client.consumer.topics for client in world.clients]
        self._row_of_topic: dict[str, int] = {}
        self._by_topic: BoolArray | None = None
        if any(listed is not None for listed in own):
            first = layout.tasks.source.values[layout.tasks.source.offsets[:-1]].tolist()
            topics = [layout.partitions[row].topic for row in first]
            self._row_of_topic = {name: row for row, name in enumerate(dict.fromkeys(topics))}
            self._by_topic = np.array(
                [[listed is None or name in listed for listed in own] for name in self._row_of_topic]
            )
            self._topic = np.array([self._row_of_topic[name] for name in topics], dtype=np.int64)

    def unread(self, up: Sequence[bool]) -> BoolArray:
        """Return to which partitions no client that is up subscribes, shape (T,), or () if that is none."""
        if self._by_topic is None:
            return np.zeros((), dtype=np.bool_)
        is_read = np.asarray(self._by_topic[:, np.array(up, dtype=np.bool_)].any(axis=1))
        unread: BoolArray = ~is_read[self._topic]
        return unread

    def is_read(self, topic: str, up: Sequence[bool]) -> bool:
        """Return whether a client that is up subscribes to a topic of the group."""
        if self._by_topic is None:
            return any(up)
        return bool(self._by_topic[self._row_of_topic[topic], np.array(up, dtype=np.bool_)].any())


class Execution:
    """T tasks on the world's N clients.

    Attributes:
        layout: the rows of tasks and partitions.
        fleet: the client processes.
        now_ms: the time up to which the execution has advanced.
        locations: the current racks, leaders and in-sync replicas of the partitions.
        assignment: the current assignment of tasks to clients.
        revoked_from: shape (T,); the client that each task was revoked from by the last assignment, UNASSIGNED if none.
        running: shape (T,); which tasks have been restored and not closed since; they report the latest offset.
        processed: shape (T,); which running tasks are processed: those that are not blocked.
        availability: which tasks can be processed and restored with the current leaders and in-sync replicas.
        task_states: the state history of every task.
        restoration: the copies of task state.
        restore_start: when new copies begin to read, and their tasks may run.
        processing: the input of the tasks.
        catching_up: when tasks were down, or new standbys and warm-ups behind, while a client was up that may run them.
        subscriptions: which partitions the clients of a consumer group read.
        added_at_ms: shape (T,); when each task begins to exist.
        exists: shape (T,); which tasks exist.
    """

    def __init__(
        self,
        world: World,
        layout: Layout,
        cluster_metadata: ClusterMetadata,
        fleet: Fleet,
        on_change: Callable[[], None] = lambda: None,
        bandwidth: ApplicationBandwidth | None = None,
    ) -> None:
        """Create the execution without assigned tasks.

        `on_change`: called after every change, at the end of `changing`; `bandwidth`: the bandwidth for restoration,
        None if no other application uses it.
        """
        self._world = world
        self.layout = layout
        self.fleet = fleet
        self.now_ms = 0
        self._joins: list[tuple[int, Sequence[tuple[int, int]]]] = []
        self._on_change = on_change
        self._is_changing = False
        self._cluster_metadata = cluster_metadata
        self._cleanup_delay_ms = world.application.group_configs.state_cleanup_delay_ms
        num_tasks = len(layout.tasks)
        rates = [np.inf if c.records_per_s is None else float(c.records_per_s) for c in world.clients]
        capacity = [np.full(n, rate) for n, rate in zip(num_thread_numbers(world), rates, strict=True)]
        self.processing = Processing(layout.input_records_per_s, np.concatenate(capacity))
        configs = world.application.state_configs
        durable_state = DurableState(layout, configs, len(world.clients)) if may_be_killed(world) else None
        self.restoration = Restoration(
            layout,
            world.clients,
            bandwidth or SharedBandwidth.of_worlds([world]).of_application(0),
            durable_state,
            exactly_once=configs.exactly_once,
        )
        self.restore_start = RestoreStart(world, layout, fleet.first_thread)
        self.task_states = TaskStateHistory(layout.tasks.ids, tuple(client.name for client in world.clients))
        self.locations: PartitionLocations = cluster_metadata.locations()
        self.assignment = GroupAssignment.empty(num_tasks, len(world.clients))
        self.revoked_from: IntArray = np.full(num_tasks, UNASSIGNED, dtype=np.int64)
        self.running: BoolArray = np.zeros(num_tasks, dtype=np.bool_)
        self.processed: BoolArray = np.zeros(num_tasks, dtype=np.bool_)
        self._acks_all = world.application.acks_all
        self.availability = Availability(layout, self.locations, acks_all=self._acks_all)
        self._outages = OutageLog(layout)
        self._partitions_added_at_ms = partitions_added_at_ms(world, layout)
        self._note_outages()
        self.catching_up = Intervals()
        self.subscriptions = Subscriptions(world, layout)
        self.added_at_ms = added_at_ms(world, layout)
        self.exists: BoolArray = self.added_at_ms == 0
        self._factor = 1.0
        self._traffic = TrafficRecord(world, layout, self.locations)
        self._counted_until_ms = 0
        self._downtime_ms: IntArray = np.zeros(num_tasks, dtype=np.int64)
        self._unqueryable_ms: IntArray = np.zeros(num_tasks, dtype=np.int64)
        self._is_queryable: BoolArray = ~layout.tasks.stateful
        self._behind_since_ms: IntArray = np.zeros(num_tasks, dtype=np.int64)
        self._kept_up: BoolArray = np.zeros(num_tasks, dtype=np.bool_)
        self._overloads = OverloadLog(num_tasks)
        if not self.exists.all():
            self.processing.set_input(self.rates.factor, self.rates.layout.input_records_per_s)

    @property
    def rates(self) -> HourlyRates:
        """Return the rates of the current hour."""
        return self._traffic.rates

    @property
    def routes(self) -> Routes:
        """Return the routes of bytes between racks with the current leaders and replicas, at the usual traffic."""
        return self._traffic.routes

    @property
    def usual_factor(self) -> FloatArray:
        """Return how many seconds of usual input arrive per second at the usual traffic, shape (T,)."""
        return self._traffic.usual.factor

    @contextmanager
    def changing(self, now_ms: int) -> Iterator[None]:
        """Let the body change the execution: advance to `now_ms` before it, and call `on_change` after it.

        A change within a change is a part of it.
        """
        self.advance(now_ms)
        is_part, self._is_changing = self._is_changing, True
        try:
            yield
        finally:
            self._is_changing = is_part
        if not is_part:
            self._on_change()

    def advance(self, now_ms: int) -> None:
        """Let time pass at the current rates, up to `now_ms`."""
        if now_ms <= self.now_ms and not self._joins:
            return
        joins, self._joins = self._joins, []
        seconds, (*steps_before, _) = steps_between(self.now_ms, [*(at_ms for at_ms, _ in joins), now_ms])
        self._traffic.note_flow(seconds)
        self.now_ms = max(self.now_ms, now_ms)
        restoration = self.restoration
        work = len(seconds) * (len(self.running) + len(restoration.copies)) // _FLOWS_PER_WORK
        positions = restoration.advance(seconds, self.processing, compiled=CHOICE.choose(work).compiled)
        if joins:
            threads = [of_join for _, of_join in joins]
            restoration.join_reports.report(
                self.assignment, restoration.copies, threads, steps_before, np.asarray(positions)
            )

    def report_at_join(self, now_ms: int, threads: Sequence[tuple[int, int]]) -> None:
        """Note that threads, by the row of their client, report offsets at the rebalance that they join now."""
        self._joins.append((now_ms, threads))
        if len(self._joins) >= _MAX_PENDING_JOINS:
            self.advance(now_ms)

    def next_change_ms(self) -> int | None:
        """Return when the rates change without an event, None if they do not."""
        seconds = min(self.restoration.next_change_s(), self.processing.next_change_s())
        flows_ms = None if np.isinf(seconds) else self.now_ms + max(1, int(np.ceil(seconds * 1000)))
        starts_ms = self.restore_start.next_change_ms(self.restoration.copies, self.assignment.owner, self.now_ms)
        return min((at_ms for at_ms in (flows_ms, starts_ms) if at_ms is not None), default=None)

    def load_initial_state(self, initial: InitialState) -> None:
        """Assign the tasks and copies that clients have when the run begins."""
        self._require_changing()
        self.restoration.load_copies(initial.lags)
        self.assign(Reconciliation.without_moves(initial.assignment), is_open=True)
        self.restoration.assume_running(initial.lags_when_opened)

    def assign(self, reconciliation: Reconciliation, *, is_restored: bool = False, is_open: bool = False) -> None:
        """Apply an assignment.

        `reconciliation`: the new assignment, and the tasks that are revoked on the way; `is_restored` says whether all
        copies have caught up and no input waits, as if the application had run before; `is_open` says whether the
        stores of all copies are open already.
        """
        self._require_changing()
        self._record_traffic()
        before, after = self.assignment, reconciliation.assignment
        self._enter(TaskState.REVOKED, reconciliation.revoked, before.owner)
        orphaned = reconciliation.revoked & ~reconciliation.withheld
        self._enter(TaskState.UNASSIGNED, orphaned, np.full_like(before.owner, UNASSIGNED))
        new = (after.owner != UNASSIGNED) & (after.owner != before.owner)
        self._enter(TaskState.ASSIGNED, new, after.owner)
        self.revoked_from = np.where(reconciliation.revoked, before.owner, UNASSIGNED)
        self._assign_copies(after, before, is_open=is_restored or is_open)
        if is_restored:
            self.restoration.restore_all()
            self.processing.clear_backlog()
            self._behind_since_ms[:] = self.now_ms
        self.update_rates()

    def assign_to_static_member(self, client: int, number: int, before: GroupAssignment) -> None:
        """Assign a returning static member the tasks that it had before and that are still free.

        `number`: the thread of the client that is the member.
        """
        self._require_changing()
        self.assign(Reconciliation.without_moves(self.assignment.with_free_tasks_of(client, number, before)))

    def start_client(self, client: int) -> None:
        """Start a client, given by its row."""
        self._require_changing()
        self.restoration.start_client(client, self.now_ms)
        self.restore_start.start_client(client)

    def stop_client(self, client: int, disk: Disk) -> None:
        """Stop a client, given by its row: it loses its tasks, and keeps what is left of its disk."""
        self._require_changing()
        self._record_traffic()
        lost = self.assignment.owner == client
        self.revoked_from[self.revoked_from == client] = UNASSIGNED
        self._enter(TaskState.UNASSIGNED, lost, np.full_like(self.assignment.owner, UNASSIGNED))
        self.assignment = self.assignment.without(client)
        self.restoration.stop_client(client, disk, self.now_ms)
        self.update_rates()

    def stop_thread(self, client: int, thread: int, *, wipes: bool) -> None:
        """Stop a stream thread of a running client: it loses its tasks.

        `wipes` says whether it deletes its copies; otherwise they stay on disk.
        """
        self._require_changing()
        self._record_traffic()
        before, after = self.assignment, self.assignment.without_thread(client, thread)
        lost = before.owner != after.owner
        self.revoked_from[lost] = UNASSIGNED
        self._enter(TaskState.UNASSIGNED, lost, np.full_like(before.owner, UNASSIGNED))
        self._assign_copies(after, before)
        if wipes:
            self.restoration.delete_copies(np.flatnonzero(before.held()[:, client] & ~after.held()[:, client]), client)
        self.update_rates()

    def update_locations(self) -> None:
        """Use the current leaders and replicas of the cluster metadata."""
        self._require_changing()
        self._record_traffic()
        self.locations = self._cluster_metadata.locations()
        self.availability = Availability(self.layout, self.locations, acks_all=self._acks_all)
        self._note_outages()
        self._traffic.update_locations(self.locations)
        self.update_rates()

    def set_reassignment_traffic(self, copied: Sequence[RackTransfer], copying: Sequence[RackTransfer]) -> None:
        """Set the traffic of reassignments.

        `copied`: bytes that unthrottled replicas copied instantly; `copying`: bytes per second that are copied from now
        on.
        """
        self._require_changing()
        self._traffic.set_reassignment(copied, copying)

    def set_traffic(self, factor: float, hour: int | None = None) -> None:
        """Set the input to a multiple of the usual input, or of the input of an hour of the day."""
        self._require_changing()
        if not self._traffic.is_hour(hour):
            self._record_traffic()
            self._traffic.set_hour(hour)
            self.restoration.set_write_rates(self._traffic.rates.layout.state_bytes_per_s)
        self._factor = factor
        self._set_input()

    def add_partitions(self) -> None:
        """Let the partitions exist that are added at this time, and their topics use them."""
        self._require_changing()
        self._record_traffic()
        self._count_downtime()
        self.exists = self.added_at_ms <= self.now_ms
        self._note_outages()
        self._traffic.set_shares(rate_shares(self._world, self.layout, self.now_ms))
        self._set_input()

    def _set_input(self) -> None:
        rates = self._traffic.rates
        self._note_overload()
        self.processing.set_input(self._factor * rates.factor, rates.layout.input_records_per_s)
        self.update_rates()

    def delete_expired_copies(self, now_ms: int) -> None:
        """Advance to `now_ms`, and delete copies that were unassigned for longer than `state.cleanup.delay.ms`.

        This changes no rates, so it is no change in the sense of `changing`.
        """
        self.advance(now_ms)
        self.restoration.delete_expired(self._cleanup_delay_ms, self.now_ms)

    def update_rates(self) -> None:
        """Recompute which tasks run, and all rates, after a change."""
        self._require_changing()
        self._count_downtime()
        restoration, availability, can_restore = self.restoration, self.availability, self.availability.can_restore
        restoration.update_caught_up(self.restore_start.is_waiting(restoration.copies, self.now_ms))
        restored = restoration.restored_tasks()
        state = self.task_states.state
        ran, was_blocked = state == _RUNNING, state == _BLOCKED
        was_running = ran | was_blocked
        # Restoration ends at the end offsets of the changelogs, which only their leaders know.
        has_state = was_running | (restored & can_restore)
        self.running = was_running | (has_state & self.restore_start.may_run(self.now_ms))
        self.processed = self.running & availability.can_process
        # `a > b` is `a & ~b` of booleans.
        is_blocked = self.running > self.processed
        starts, blocks, restores = self.processed > ran, is_blocked > was_blocked, (state == _ASSIGNED) > self.running
        for entered, which in (
            (TaskState.RUNNING, starts),
            (TaskState.BLOCKED, blocks),
            (TaskState.RESTORING, restores),
        ):
            self._enter(entered, which, self.assignment.owner)
        threads = self._thread_rows() if self.processing.limits_threads else None
        self._note_overload()
        self.processing.update_rates(self.processed, threads)
        if self.processing.limits_threads:
            keeps_up = self.processing.keeps_up
            self._behind_since_ms[self._kept_up | keeps_up] = self.now_ms
            self._kept_up = keeps_up
        if self.processing.has_instant_work:
            restoration.write(self.processing.take_instant_work())
        restoration.update_rates(self.processing.rate, self.locations.restore_share, has_state, can_restore)
        self._traffic.note_flow([0.0])
        self._is_queryable = restoration.queryable_tasks()
        is_down = self.exists & ~(self.running | self.subscriptions.unread(self.fleet.up))
        is_behind = bool(is_down.any()) or restoration.is_catching_up
        self.catching_up.note(self.now_ms, is_behind and any(self.fleet.up))

    def take_traffic(self) -> TrafficBytes:
        """Return the bytes since the last call, by kind and pair of racks, and start counting anew."""
        self._record_traffic()
        return self._traffic.take()

    def outages(self) -> tuple[Outage, ...]:
        """Return the outages of partitions that tasks read or write, up to now."""
        return self._outages.until(self.now_ms)

    def thread_loads(self) -> list[ThreadLoad]:
        """Return the load of each thread that has running tasks; none if no thread has a limit."""
        return self.processing.thread_loads(self._behind_since_ms, self.fleet.first_thread)

    def overloads(self) -> tuple[Overload, ...]:
        """Return the periods in which threads were overloaded, up to now; none if no thread has a limit."""
        self._note_overload()
        return self._overloads.periods()

    def totals(self) -> RunTotals:
        """Return the cumulative totals up to now."""
        self._count_downtime()
        return RunTotals(
            self.restoration.reads.restored_bytes,
            self.restoration.reads.restored_again_bytes,
            self._downtime_ms.copy(),
            self._unqueryable_ms.copy(),
            self.processing.backlog_s.copy(),
        )

    def _note_outages(self) -> None:
        exists = self._partitions_added_at_ms <= self.now_ms
        unavailable = {row: reason for row, reason in self.availability.unavailable.items() if exists[row]}
        self._outages.note(unavailable, self.now_ms)

    def _require_changing(self) -> None:
        if not self._is_changing:
            raise InvalidStateError(f"at {self.now_ms} ms: changed outside of `with execution.changing(now_ms)`")

    def _count_downtime(self) -> None:
        """Count the time since the last call, before which tasks are processed or queryable changes."""
        passed_ms, self._counted_until_ms = self.now_ms - self._counted_until_ms, self.now_ms
        if not passed_ms:
            return
        self._downtime_ms[self.exists & ~self.processed] += passed_ms
        self._unqueryable_ms[~self._is_queryable] += passed_ms

    def _note_overload(self) -> None:
        """Note how far tasks are behind, before the rates of their threads change."""
        if self.processing.limits_threads:
            self._overloads.note(self.now_ms, self.processing)

    def _thread_rows(self) -> IntArray:
        """Return the row of each task's thread among all threads, shape (T,); arbitrary without an owner."""
        threads: IntArray = self.fleet.first_thread[self.assignment.owner] + self.assignment.owner_thread()
        return threads

    def _assign_copies(self, after: GroupAssignment, before: GroupAssignment, *, is_open: bool = False) -> None:
        tasks, clients = after.held_cells
        moved = (after.thread[tasks, clients] != before.thread[tasks, clients]) & before.holds(tasks, clients)
        self.assignment = after
        self.restore_start.assign(before, after, self.now_ms, is_open=is_open)
        self.restoration.assign(after.owner, after.standby_cells, (tasks[moved], clients[moved]), self.now_ms)

    def _enter(self, state: TaskState, which: BoolArray, clients: IntArray) -> None:
        (tasks,) = which.nonzero()
        if len(tasks):
            self.task_states.enter(self.now_ms, state, tasks, clients[tasks])

    def _record_traffic(self) -> None:
        """Record the traffic since the last call, before an owner or a route changes."""
        self._traffic.record(self.processing, self.restoration, self.assignment.owner, self.fleet)
