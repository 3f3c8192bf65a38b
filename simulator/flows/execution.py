"""What clients do between rebalances: they run tasks, restore state, stand by, and bytes travel for it.

Everything that flows is a fluid here: `advance` lets time pass at the rates of now, `next_change_ms` says how long
those rates hold, and every change settles them anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray
from simulator.brokers.availability import Availability, Outage, OutageLog
from simulator.brokers.partition_locations import ClusterMetadata, PartitionLocations
from simulator.brokers.reassignment import RackTransfer
from simulator.flows.hourly_traffic import HourlyTraffic
from simulator.flows.intervals import Intervals
from simulator.flows.processing import Processing
from simulator.flows.restoration import Restoration
from simulator.flows.task_states import TaskState, TaskStateHistory
from simulator.flows.traffic import Routes, TrafficBytes, TrafficKind, TrafficTotals
from simulator.group.fleet import Fleet
from simulator.group.reconciliation import GroupAssignment, Reconciliation
from simulator.world.initial_state import InitialState
from simulator.world.layout import FloatArray, Layout
from simulator.world.world import World


@dataclass(frozen=True, slots=True, eq=False)
class RunTotals:
    """What all clients together have come to at some moment, counted from the start.

    Attributes:
        restored_bytes: read to catch up.
        restored_again_bytes: what of it the same client had held before, and lost.
        downtime_ms: shape (T,); for how long each task was not processed.
        unqueryable_ms: shape (T,); for how long no client had a copy that queries can be put to.
        waiting_s: shape (T,); the input that waits, in seconds of usual input.
    """

    restored_bytes: float
    restored_again_bytes: float
    downtime_ms: IntArray
    unqueryable_ms: IntArray
    waiting_s: FloatArray


class Execution:
    """T tasks on the world's N clients.

    Attributes:
        placing: where the partitions stand.
        holdings: who has what.
        givers: shape (T,); the client that gave each task back when tasks were last handed out, UNASSIGNED if none.
        running: shape (T,); which tasks have been restored and not closed since; they report the latest offset.
        processed: shape (T,); which of them are processed: those that are not blocked.
        availability: what tasks can do, as partitions stand.
        lives: the life of every task.
        restoration: the copies.
        processing: the input.
        catching_up: when tasks were down, or standbys and warm-ups had yet to catch up for the first time, while any
            client was up.
    """

    def __init__(self, world: World, layout: Layout, brokers: ClusterMetadata, fleet: Fleet) -> None:
        self._layout = layout
        self._fleet = fleet
        self._brokers = brokers
        self._from_nearest = world.cluster.reads_from_nearest_replica
        self._cleanup_delay_ms = world.application.group_configs.state_cleanup_delay_ms
        num_tasks = len(layout.tasks)
        rates = [np.inf if c.records_per_s is None else float(c.records_per_s) for c in world.clients]
        capacity = [np.full(c.threads, rate) for c, rate in zip(world.clients, rates, strict=True)]
        self.processing = Processing(layout.input_records_per_s, np.concatenate(capacity))
        limits = [np.inf if b.restore_bytes_per_s is None else b.restore_bytes_per_s for b in world.cluster.brokers]
        self.restoration = Restoration(layout, world.clients, np.array(limits, dtype=np.float64))
        self.lives = TaskStateHistory(layout.tasks.ids, tuple(client.name for client in world.clients))
        self.placing: PartitionLocations = brokers.placing()
        self.holdings = GroupAssignment.none(num_tasks, len(world.clients))
        self.givers: IntArray = np.full(num_tasks, UNASSIGNED, dtype=np.int64)
        self.running: BoolArray = np.zeros(num_tasks, dtype=np.bool_)
        self.processed: BoolArray = np.zeros(num_tasks, dtype=np.bool_)
        self._acks_all = world.application.acks_all
        self.availability = Availability(layout, self.placing, acks_all=self._acks_all)
        self._outages = OutageLog(layout)
        self._outages.note(self.availability.unavailable, 0)
        self.catching_up = Intervals()
        self._hours = HourlyTraffic(world, layout)
        self._hour: int | None = None
        self._flow = self._hours.flow(None)
        self._routes = self._ways = Routes(layout, self.placing, from_nearest=self._from_nearest)
        self._ledger = TrafficTotals(len(layout.racks))
        self._copying = self._table(())
        self._copied = self._table(())
        self._now_ms = 0
        self._down_ms: IntArray = np.zeros(num_tasks, dtype=np.int64)
        self._out_of_reach_ms: IntArray = np.zeros(num_tasks, dtype=np.int64)
        self._in_reach: BoolArray = ~layout.tasks.stateful

    @property
    def routes(self) -> Routes:
        """The ways that bytes take as partitions stand now, at the usual traffic."""
        return self._routes

    def advance(self, now_ms: int) -> None:
        """Let time pass."""
        passed_ms = now_ms - self._now_ms
        if passed_ms <= 0:
            return
        self._now_ms = now_ms
        self._down_ms += ~self.processed * passed_ms
        self._out_of_reach_ms += ~self._in_reach * passed_ms
        self._copied += self._copying * (passed_ms / 1000)
        work = self.processing.advance(passed_ms / 1000)
        self.restoration.advance(passed_ms / 1000, work)

    def next_change_ms(self) -> int | None:
        """When rates will change by themselves, None if they will not as things are."""
        seconds = min(self.restoration.next_change_s(), self.processing.next_change_s())
        return None if np.isinf(seconds) else self._now_ms + max(1, int(np.ceil(seconds * 1000)))

    def take_over(self, found: InitialState) -> None:
        """Let clients have what they have at the start."""
        self.restoration.place(found.lags)
        self.hand_out(Reconciliation.of(found.holdings))

    def hand_out(self, handover: Reconciliation, *, filled: bool = False) -> None:
        """Let clients have what a rebalance gives them.

        Args:
            handover: what that is.
            filled: whether their copies are level and their input is processed, as if they had run before.
        """
        self._write_down()
        before, given = self.holdings, handover.given
        self._step(TaskState.REVOKED, handover.revoked, before.owner)
        orphaned = handover.revoked & ~handover.withheld
        self._step(TaskState.UNASSIGNED, orphaned, np.full_like(before.owner, UNASSIGNED))
        new = (given.owner != UNASSIGNED) & (given.owner != before.owner)
        self._step(TaskState.ASSIGNED, new, given.owner)
        self.givers = np.where(handover.revoked, before.owner, UNASSIGNED)
        self._restoration_takes(given, before)
        if filled:
            self.restoration.fill()
            self.processing.catch_up()
        self.settle()

    def give_back(self, client: int, before: GroupAssignment) -> None:
        """Give a static member that is back what it had before."""
        own = before.owner == client
        free = own & (self.holdings.owner == UNASSIGNED)
        standby = self.holdings.standby.copy()
        standby[:, client] = before.standby[:, client]
        owner = np.where(free, client, self.holdings.owner)
        thread = self.holdings.thread.copy()
        thread[:, client] = before.thread[:, client]
        self.hand_out(Reconciliation.of(GroupAssignment(owner, standby, thread)))

    def start(self, client: int) -> None:
        """Let a client start."""
        self.restoration.start(client, self._now_ms)

    def stop(self, client: int, keeps_state: bool) -> None:
        """Let a client end."""
        self._write_down()
        lost = self.holdings.owner == client
        self.givers[self.givers == client] = UNASSIGNED
        self._step(TaskState.UNASSIGNED, lost, np.full_like(self.holdings.owner, UNASSIGNED))
        standby = self.holdings.standby.copy()
        standby[:, client] = False
        self.holdings = GroupAssignment(np.where(lost, UNASSIGNED, self.holdings.owner), standby, self.holdings.thread)
        self.restoration.stop(client, keeps_state, self._now_ms)
        self.settle()

    def move_brokers(self) -> None:
        """Take in that partitions stand elsewhere, or are led by others."""
        self._write_down()
        self.placing = self._brokers.placing()
        self.availability = Availability(self._layout, self.placing, acks_all=self._acks_all)
        self._outages.note(self.availability.unavailable, self._now_ms)
        self._routes = Routes(self._layout, self.placing, from_nearest=self._from_nearest)
        self._lay_ways()
        self.settle()

    def copy_partitions(self, copied: Sequence[RackTransfer], copying: Sequence[RackTransfer]) -> None:
        """Take in what reassignments copied at once, and what they copy a second from now on."""
        self._copied += self._table(copied)
        self._copying = self._table(copying)

    def scale_traffic(self, factor: float, hour: int | None = None) -> None:
        """So many times the usual input, or that of an hour of the day, comes in from now on."""
        if hour != self._hour:
            self._write_down()
            self._hour, self._flow = hour, self._hours.flow(hour)
            self._lay_ways()
            self.restoration.write(self._flow.layout.state_bytes_per_s)
        self.processing.scale(factor * self._flow.factor, self._flow.layout.input_records_per_s)
        self.settle()

    def clean_up(self) -> None:
        """Delete copies that have lain unassigned for too long."""
        self.restoration.clean_up(self._cleanup_delay_ms, self._now_ms)

    def settle(self) -> None:
        """Find out which tasks run, and how fast everything goes from here on."""
        owner = self.holdings.owner
        _, level = self.restoration.level()
        state = self.lives.state.copy()
        was_running = (state == TaskState.RUNNING) | (state == TaskState.BLOCKED)
        # Restoration ends with the end offsets of the changelogs, which only their leaders know.
        self.running = was_running | (level & self.availability.can_restore)
        self.processed = self.running & self.availability.can_process
        self._step(TaskState.RUNNING, self.processed & (state != TaskState.RUNNING), owner)
        self._step(TaskState.BLOCKED, self.running & ~self.processed & (state != TaskState.BLOCKED), owner)
        self._step(TaskState.RESTORING, ~self.running & (state == TaskState.ASSIGNED), owner)
        self.processing.settle(self.processed, self._fleet.first_thread[owner] + self.holdings.owner_thread())
        self.restoration.write_at_once(self.processing.take_at_once())
        can_restore = self.availability.can_restore
        self.restoration.settle(self.processing.rate, self.placing.restore_share, self.running, can_restore)
        self._in_reach = self.restoration.in_reach()
        is_behind = not self.running.all() or self.restoration.is_catching_up
        self.catching_up.note(self._now_ms, is_behind and any(self._fleet.up))

    def take_bytes(self) -> TrafficBytes:
        """The bytes that travelled since the last time, by kind and pair of racks."""
        self._write_down()
        self._ledger.add({TrafficKind.REASSIGNMENT: self._copied})
        self._copied = self._table(())
        return self._ledger.take()

    def outages(self) -> tuple[Outage, ...]:
        """Return when partitions that tasks read or write were unavailable, up to now."""
        return self._outages.until(self._now_ms)

    def standing(self) -> RunTotals:
        """What it all has come to by now."""
        return RunTotals(
            self.restoration.restored_bytes,
            self.restoration.restored_again_bytes,
            self._down_ms.copy(),
            self._out_of_reach_ms.copy(),
            self.processing.waiting_s.copy(),
        )

    def _lay_ways(self) -> None:
        """Let bytes take the ways of this hour from now on."""
        is_usual = self._flow.layout is self._layout
        self._ways = (
            self._routes if is_usual else Routes(self._flow.layout, self.placing, from_nearest=self._from_nearest)
        )

    def _restoration_takes(self, given: GroupAssignment, before: GroupAssignment) -> None:
        stays = given.held() & before.held() & (given.thread != before.thread)
        self.holdings = given
        tasks, clients = np.nonzero(stays)
        self.restoration.assign(given.owner, given.standby, (tasks, clients), self._now_ms)

    def _table(self, carried: Sequence[RackTransfer]) -> FloatArray:
        """Shape (R + 1, R + 1)."""
        racks = [*self._layout.racks, None]
        table = np.zeros((len(racks), len(racks)), dtype=np.float64)
        for each in carried:
            table[racks.index(each.from_rack), racks.index(each.to_rack)] += each.amount
        return table

    def _step(self, state: TaskState, which: BoolArray, clients: IntArray) -> None:
        tasks = np.flatnonzero(which)
        self.lives.step(self._now_ms, state, tasks, clients[tasks])

    def _write_down(self) -> None:
        """Put what was processed and read since the last time into the ledger, while it is known who did it."""
        work = self.processing.take_work()
        done = np.flatnonzero((work > 0) & (self.holdings.owner != UNASSIGNED))
        owner, racks, announces = self.holdings.owner[done], self._fleet.rack, self._fleet.announces
        if len(done):
            self._ledger.add(self._ways.processed(work[done], done, racks[owner], announces[owner]))
        for kind, read, tasks, clients in self.restoration.take_reads():
            self._ledger.add(self._ways.copied(kind, read, tasks, racks[clients], announces[clients]))
