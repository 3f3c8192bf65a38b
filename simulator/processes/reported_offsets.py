"""The task offsets that the coordinator of a streams group knows from the reports of its members.

A stream thread reports the sum of the changelog offsets of every copy that its client has on disk, and of its own
standbys and restoring tasks; not of the active tasks that it runs itself. Other threads of the client report those,
with the offsets on disk. Copies in memory are only reported by the thread that has the task.

An offset is the number of whole records up to the position of the copy, as if the changelog had never been compacted.
The assignor compares offsets of the same task only, so only their order matters.

Source: `StreamsGroupHeartbeatRequestManager.HeartbeatState.buildRequestData`, kafka-clients 4.4.0; which copies, from
the public reviews of `TaskManager.maybeUpdateTaskOffsetSumSnapshot` (apache/kafka, pull requests 22595 and 23082).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from assignors.model.columns import BoolArray, IntArray, cells
from simulator.flows.execution import Execution
from simulator.group.heartbeats import Heartbeats, TaskOffsetReports
from simulator.group.member import Member
from simulator.processes.simulation_context import SimulationContext
from simulator.world.group_assignment import GroupAssignment
from simulator.world.layout import FloatArray
from simulator.world.world import OffsetReports

_RECORD_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class _Snapshot:
    """The copies of T tasks on N clients from a time on, until they change.

    Attributes:
        assignment: the assigned tasks.
        running: shape (T,); which active tasks run.
        task: shape (K,); the tasks of all copies.
        client: shape (K,); their clients.
        held_bytes: shape (K,); their positions.
        rate: shape (K,); bytes per second that they read, or write if they run.
    """

    at_ms: int
    assignment: GroupAssignment
    running: BoolArray
    task: IntArray
    client: IntArray
    held_bytes: FloatArray
    rate: FloatArray


class TaskOffsetHistory:
    """The positions of the copies of an execution in the recent past.

    `horizon_ms`: how far back positions are kept.
    """

    def __init__(self, execution: Execution, horizon_ms: int) -> None:
        self._execution = execution
        self._horizon_ms = horizon_ms
        self._snapshots: list[_Snapshot] = []
        self._all_clients = np.arange(execution.assignment.standby.shape[1])

    def record(self) -> None:
        """Record the copies after a change of the execution."""
        execution, restoration = self._execution, self._execution.restoration
        held = restoration.held_bytes
        rate = np.zeros(held.shape, dtype=np.float64)
        rate[restoration.copies.task, restoration.copies.client] = restoration.rate
        task, client = cells(restoration.holds_copy(self._all_clients))
        now_ms = execution.now_ms
        snapshot = _Snapshot(
            now_ms,
            execution.assignment,
            execution.running,
            task,
            client,
            held[task, client],
            rate[task, client],
        )
        if self._snapshots and self._snapshots[-1].at_ms == now_ms:
            self._snapshots.pop()
        self._snapshots.append(snapshot)
        expired = self._place(now_ms - self._horizon_ms)
        if expired > 0:
            del self._snapshots[:expired]

    def offsets(self, client: int, thread: int, at_ms: int) -> Mapping[int, int]:
        """Return the offsets that a stream thread reports at a time, by task row.

        `at_ms`: the time; before the first record, the offsets of the first one count.
        """
        if not self._snapshots:
            return {}
        snapshot = self._snapshots[max(0, self._place(at_ms))]
        on_client = snapshot.client == client
        task = snapshot.task[on_client]
        seconds = max(0, at_ms - snapshot.at_ms) / 1000
        position = snapshot.held_bytes[on_client] + snapshot.rate[on_client] * seconds
        assignment, layout = snapshot.assignment, self._execution.layout
        runs = (assignment.owner[task] == client) & snapshot.running[task]
        is_assigned = (assignment.owner[task] == client) | assignment.standby[task, client]
        is_own = is_assigned & (assignment.thread[task, client] == thread)
        position = np.where(is_own, position, position * (1.0 - layout.memory_share[task]))
        is_reported = np.where(is_own, ~runs, layout.memory_share[task] < 1.0)
        offsets = np.floor(position / layout.record_bytes[task] + _RECORD_TOLERANCE).astype(np.int64)
        return dict(zip(task[is_reported].tolist(), offsets[is_reported].tolist(), strict=True))

    def _place(self, at_ms: int) -> int:
        """Return the place of the last snapshot that is not after a time; -1 if there is none."""
        return bisect_right(self._snapshots, at_ms, key=lambda snapshot: snapshot.at_ms) - 1


_KEPT_REPORTS: Final = 3
"""The number of reports of a member whose offsets must be known: the last one, an outdated one, and a margin."""


class ReportedOffsets:
    """The last report of each member; see `simulator.group.heartbeats`.

    `interval_ms`: `group.streams.task.offset.interval.ms`.
    """

    def __init__(self, context: SimulationContext, heartbeats: Heartbeats, interval_ms: int) -> None:
        self._context = context
        self._reports = TaskOffsetReports(heartbeats, interval_ms)
        self._history = TaskOffsetHistory(context.execution, _KEPT_REPORTS * self._reports.period_ms)
        self._last: dict[Member, Mapping[int, int]] = {}

    def record_change(self) -> None:
        """Record the copies after a change of the execution."""
        self._history.record()

    def join(self, member: Member) -> None:
        """Record the report of a member that joins."""
        self._reports.join(member, self._context.now_ms)

    def report(self, member: Member) -> None:
        """Record the report of a member whose tasks have changed."""
        self._reports.report(member, self._context.now_ms)

    def resume(self, members: Iterable[Member]) -> None:
        """Let members report at arbitrary phases, as in a group that has run for long."""
        self._reports.resume(members, self._context.now_ms)

    def stop(self, member: Member) -> None:
        """Keep the last report of a member that goes down, until it is removed."""
        self._last[member] = self._offsets(member)

    def remove(self, member: Member) -> None:
        """Forget the report of a member that is removed from the group."""
        self._last.pop(member, None)

    def lose(self) -> None:
        """Lose all reports, as another broker becomes the coordinator."""
        self._reports.lose(self._context.now_ms)
        self._last.clear()

    def of(self, members: Iterable[Member]) -> dict[Member, Mapping[int, int]]:
        """Return the offsets that the coordinator knows of members, by task row."""
        fleet = self._context.fleet
        known = {
            member: self._offsets(member) if fleet.is_up(member) else self._last.get(member, {}) for member in members
        }
        return {member: offsets for member, offsets in known.items() if offsets}

    def _offsets(self, member: Member) -> Mapping[int, int]:
        row = self._context.fleet.row(member.client)
        reports = self._context.world.clients[row].reports
        if reports is OffsetReports.NEVER or not self._context.fleet.reports_task_offsets[row]:
            return {}
        skips = int(reports is OffsetReports.STALE)
        at_ms = self._reports.last_ms(member, self._context.now_ms, skips=skips)
        return {} if at_ms is None else self._history.offsets(row, member.thread, at_ms)
