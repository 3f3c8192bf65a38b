"""The task offsets that the coordinator of a streams group knows from the reports of its members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from simulator.flows.task_offsets import TaskOffsetHistory
from simulator.group.heartbeats import Heartbeats
from simulator.group.member import Member
from simulator.group.task_offset_reports import TaskOffsetReports
from simulator.processes.simulation_context import SimulationContext
from simulator.world.world import OffsetReports

_KEPT_REPORTS: Final = 3
"""The number of reports of a member whose offsets must be known: the last one, an outdated one, and a margin."""


class ReportedOffsets:
    """The last report of each member; see `simulator.group.task_offset_reports`.

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
