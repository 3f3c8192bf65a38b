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

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from simulator.group.classic_group import Member
from simulator.processes.simulation_context import SimulationContext


class Rejoining:
    """How long members need to join a rebalance of a classic group, or to apply a target of a streams group."""

    def __init__(self, context: SimulationContext) -> None:
        self._context = context
        self._rejoin_ms = context.world.application.times.rejoin_ms

    def delay_ms(self, client: int, *, revokes: bool = False) -> int:
        """Return how long a client, given by its row, needs from now on until it rejoins.

        Args:
            client: row of the client.
            revokes: whether it rejoins because it must revoke tasks.
        """
        opened_at_ms = 0 if revokes else self._context.execution.restore_start.opened_at_ms(client)
        return max(self._rejoin_ms, opened_at_ms - self._context.now_ms)

    def by_delay(self, clients: Iterable[int], revoking: Collection[int] = ()) -> list[tuple[int, list[int]]]:
        """Return clients, given by their rows, by the time that they need to rejoin, shortest first."""
        groups: dict[int, list[int]] = {}
        for client in clients:
            groups.setdefault(self.delay_ms(client, revokes=client in revoking), []).append(client)
        return sorted(groups.items())

    def record_reports(self, before: Mapping[Member, bool], after: Mapping[Member, bool], *, is_new: bool) -> None:
        """Record the offsets of members whose JoinGroup requests have just been received.

        Args:
            before: the members before, and whether they had joined the rebalance.
            after: the members now, and whether they have joined.
            is_new: whether the rebalance has just begun, so that earlier requests do not count.
        """
        joined: Sequence[int] = [
            self._context.fleet.row(member.client)
            for member, has_joined in after.items()
            if has_joined and (is_new or not before.get(member, False))
        ]
        if joined:
            self._context.execution.advance(self._context.now_ms)
            self._context.execution.restoration.report_at_join(np.array(joined, dtype=np.int64))
