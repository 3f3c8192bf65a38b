"""When members send their JoinGroup requests, or apply a target, and which offsets the requests contain.

A thread that must revoke tasks commits, closes them, and rejoins in the same poll. A thread that waits for a task, or
learns of a rebalance by a heartbeat, rejoins with its next poll, which comes after it has opened the stores of its new
tasks. The request contains the offsets of the member's copies at that moment; the leader uses them when all other
members have joined.

A member of a streams group applies a target in a poll, too; its heartbeats do not wait for that.

Source: `ConsumerCoordinator.onJoinComplete` and `.onJoinPrepare`, `StreamThread.runLoop` (`enforceRebalance` after
`runOnce`), `StreamsPartitionAssignor.subscriptionUserData`, Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulator.group.classic_group import Member
from simulator.processes.simulation_context import SimulationContext


class Rejoining:
    """How long members need to join a rebalance of a classic group, or to apply a target of a streams group."""

    def __init__(self, context: SimulationContext) -> None:
        self._context = context
        self._rejoin_ms = context.world.application.times.rejoin_ms

    def ready_ms(self, member: Member, since_ms: int, revokes: bool = False) -> int:
        """Return when a member rejoins.

        Args:
            member: the member.
            since_ms: when it learns that it has to.
            revokes: whether it has to because it must revoke tasks.
        """
        earliest_ms = since_ms + self._rejoin_ms
        if revokes:
            return earliest_ms
        client = self._context.fleet.row(member.client)
        return max(earliest_ms, self._context.execution.restore_start.opened_at_ms(client, member.thread))

    def ready_times_ms(self, members: Sequence[Member], since_ms: Sequence[int]) -> list[int]:
        """Return when members rejoin that need not revoke tasks, as `ready_ms`.

        Args:
            members: the members.
            since_ms: when each of them learns that it has to.
        """
        if not members:
            return []
        fleet, opened_at_ms = self._context.fleet, self._context.execution.restore_start.opened_at_ms_of_threads
        rows = np.array([fleet.row(member.client) for member in members], dtype=np.int64)
        threads = np.array([member.thread for member in members], dtype=np.int64)
        earliest_ms = np.array(since_ms, dtype=np.int64) + self._rejoin_ms
        times_ms: list[int] = np.maximum(earliest_ms, opened_at_ms(rows, threads)).tolist()
        return times_ms

    def record_reports(self, joined: Sequence[Member]) -> None:
        """Record the offsets of members whose JoinGroup requests have just been received.

        Args:
            joined: the members that have joined the rebalance now.
        """
        fleet, execution = self._context.fleet, self._context.execution
        if joined:
            execution.advance(self._context.now_ms)
            threads = [(fleet.row(member.client), member.thread) for member in joined]
            execution.restoration.report_at_join(execution.assignment, threads)
