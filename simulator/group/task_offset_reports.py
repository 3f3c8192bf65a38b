"""When members of a streams group report the offsets of their tasks to the coordinator, without a clock.

A member reports them when it joins, with the next heartbeat after that, when its tasks have changed, and with the first
heartbeat after `group.streams.task.offset.interval.ms`. The coordinator keeps the last report of each member in memory
only, so all reports are lost when another broker becomes the coordinator.

Source: `StreamsGroupHeartbeatRequestManager.HeartbeatState.buildRequestData`, kafka-clients 4.4.0;
`GroupMetadataManager.streamsGroupHeartbeat`, `StreamsGroup.taskOffsets`, Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Iterable

from simulator.group.heartbeats import Heartbeats
from simulator.group.member import Member


class TaskOffsetReports:
    """The times of the last reports of members.

    `interval_ms`: `group.streams.task.offset.interval.ms`.
    """

    def __init__(self, heartbeats: Heartbeats, interval_ms: int) -> None:
        self._heartbeats = heartbeats
        self._interval_ms = interval_ms
        self._period_ms = -(-interval_ms // heartbeats.interval_ms) * heartbeats.interval_ms
        self._reported_ms: dict[Member, int] = {}
        self._joined_ms: dict[Member, int] = {}
        self._lost_until_ms: int | None = None

    @property
    def period_ms(self) -> int:
        """The time between two reports of a member whose tasks do not change: a multiple of the heartbeat interval."""
        return self._period_ms

    def join(self, member: Member, now_ms: int) -> None:
        """Record the report of a member that joins; its next heartbeat has another one."""
        self._joined_ms[member] = self._reported_ms[member] = now_ms

    def report(self, member: Member, now_ms: int) -> None:
        """Record the report of a member whose tasks have changed."""
        self._reported_ms[member] = now_ms
        self._joined_ms.pop(member, None)

    def resume(self, members: Iterable[Member], now_ms: int) -> None:
        """Let members of a group that has run for long report at the phases of their heartbeats."""
        for member in members:
            self._joined_ms.pop(member, None)
            interval_ms = self._heartbeats.interval_ms
            heartbeats = int(self._heartbeats.draw("task offsets", member) * (self._period_ms // interval_ms))
            last_ms = self._heartbeats.last_ms(member, now_ms)
            self._reported_ms[member] = last_ms - heartbeats * interval_ms

    def lose(self, now_ms: int) -> None:
        """Lose all reports, as another broker becomes the coordinator."""
        self._lost_until_ms = now_ms

    def last_ms(self, member: Member, now_ms: int, *, skips: int = 0) -> int | None:
        """Return when a member sent its last report up to `now_ms`, that included; None if the coordinator has none.

        `skips`: by how many reports its offsets are outdated.
        """
        since_ms = self._reported_ms.get(member)
        if since_ms is None:
            return None
        if member in self._joined_ms:
            second_ms = self._heartbeats.next_ms(member, self._joined_ms[member])
            since_ms = second_ms if second_ms <= now_ms else since_ms
        first_ms = self._heartbeats.due_ms(member, since_ms + self._interval_ms)
        last_ms = since_ms
        if first_ms <= now_ms:
            last_ms = first_ms + (now_ms - first_ms) // self._period_ms * self._period_ms
        is_lost = self._lost_until_ms is not None and last_ms < self._lost_until_ms
        return None if is_lost else last_ms - skips * self._period_ms
