"""When members send their JoinGroup requests, or apply a target, and which offsets the requests contain.

A thread that must revoke tasks commits, closes them, and rejoins in the same poll. A thread that waits for a task, or
learns of a rebalance by a heartbeat, rejoins with its next poll, which comes after it has opened the stores of its new
tasks. The request contains the offsets of the member's copies at that moment; the leader uses them when all other
members have joined.

A member of a streams group applies a target in a poll, too; its heartbeats do not wait for that. So does a consumer,
which processes a batch of records between two polls: what it learns in that time waits for the rest of the batch, which
is drawn from the seed. A consumer that revokes partitions rejoins in the same poll.

Source: `ConsumerCoordinator.onJoinComplete` and `.onJoinPrepare`, `StreamThread.runLoop` (`enforceRebalance` after
`runOnce`), `StreamsPartitionAssignor.subscriptionUserData`, Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from simulator.group.member import Member
from simulator.processes.simulation_context import SimulationContext
from simulator.random_streams import random_stream

REVOKE_MS: Final = 10
"""The time between the revocation of partitions and the JoinGroup request: an estimate."""


class Rejoining:
    """How long members need to join a rebalance of a classic group, or to apply a target of a streams group."""

    def __init__(self, context: SimulationContext) -> None:
        self._context = context
        self._rejoin_ms = context.world.application.times.rejoin_ms
        self._has_batches = context.world.application.is_consumer_group

    def ready_ms(self, member: Member, since_ms: int, revokes: bool = False) -> int:
        """Return when a member rejoins.

        `revokes` says whether it has to because it must revoke tasks.
        """
        if self._has_batches:
            return since_ms + (REVOKE_MS if revokes else self._rest_of_batch_ms(member, since_ms))
        earliest_ms = since_ms + self._rejoin_ms
        if revokes:
            return earliest_ms
        client = self._context.fleet.row(member.client)
        return max(earliest_ms, self._context.execution.restore_start.opened_at_ms(client, member.thread))

    def ready_times_ms(self, members: Sequence[Member], since_ms: Sequence[int]) -> list[int]:
        """Return when members rejoin that need not revoke tasks, as `ready_ms`."""
        if not members:
            return []
        if self._has_batches:
            return [self.ready_ms(member, at_ms) for member, at_ms in zip(members, since_ms, strict=True)]
        fleet, opened_at_ms = self._context.fleet, self._context.execution.restore_start.opened_at_ms_of_threads
        rows = np.array([fleet.row(member.client) for member in members], dtype=np.int64)
        threads = np.array([member.thread for member in members], dtype=np.int64)
        earliest_ms = np.array(since_ms, dtype=np.int64) + self._rejoin_ms
        times_ms: list[int] = np.maximum(earliest_ms, opened_at_ms(rows, threads)).tolist()
        return times_ms

    def _rest_of_batch_ms(self, member: Member, since_ms: int) -> int:
        """Return how long a consumer processes records until its next poll, of at most `rejoin_ms`."""
        process = self._context.fleet.first_process_id(member.client)
        names = ("batch", str(process), str(member.thread), str(member.start), str(since_ms))
        return int(random_stream(self._context.world.seed, *names).random() * self._rejoin_ms)

    def record_reports(self, joined: Sequence[Member]) -> None:
        """Record the offsets of members whose JoinGroup requests have just been received.

        `joined`: the members that have joined the rebalance now.
        """
        if joined:
            row = self._context.fleet.row
            threads = [(row(member.client), member.thread) for member in joined]
            self._context.execution.report_at_join(self._context.now_ms, threads)
