"""Members of the classic protocol in a group that was converted to the consumer protocol (KIP-848).

The coordinator answers their requests itself. A member learns of a new target by its next heartbeat, and rejoins with
its next poll. The coordinator answers at once: no member waits for the others. An eager member revokes all its
partitions before it rejoins; a cooperative one revokes only what its target lacks, and rejoins again. Either gets those
partitions of its target that no other member owns. If some are missing, it learns by a heartbeat when all of them are
free, and rejoins once more. A heartbeat of such a member triggers no target, but a rejoin computes the one that is due.

Source: `GroupMetadataManager.classicGroupJoinToConsumerGroup`, `.classicGroupHeartbeatToConsumerGroup`,
`ConsumerGroup.waitingOnUnreleasedPartition`, `ConsumerCoordinator.onJoinPrepare` and `.onJoinComplete`, Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from simulator.group.group_events import Member
from simulator.group.heartbeats import Heartbeats
from simulator.processes.process_scope import ProcessScope
from simulator.processes.reconciling import Reconciling
from simulator.processes.rejoining import REVOKE_MS
from simulator.processes.simulation_context import Process, SimulationContext

RETRY_MS: Final = 100
"""The time after which a member repeats a request that failed (`retry.backoff.ms`)."""


class ClassicMembers:
    """Lets members of the classic protocol rejoin until they have their targets.

    Args:
        context: the objects of the run.
        scope: starts processes.
        reconciling: the targets.
        heartbeats: the heartbeats of members of the classic protocol.
        compute_if_due: computes the target that is due, with the member that joins.
    """

    def __init__(
        self,
        context: SimulationContext,
        scope: ProcessScope,
        reconciling: Reconciling,
        heartbeats: Heartbeats,
        compute_if_due: Callable[[Member], None],
    ) -> None:
        self._context = context
        self._scope = scope
        self._reconciling = reconciling
        self._group = reconciling.group
        self._heartbeats = heartbeats
        self._compute_if_due = compute_if_due
        self._active: set[Member] = set()

    def start(self, member: Member, *, joins_in_ms: int | None = None) -> None:
        """Let a member send heartbeats, and rejoin when the coordinator asks it to, until it has its target.

        Args:
            member: the member.
            joins_in_ms: the time until it joins by itself; None if it waits for a heartbeat.
        """
        if member not in self._active and (joins_in_ms is not None or self._awaits(member)):
            self._active.add(member)
            self._scope.start(self._serve(member, joins_in_ms))

    def rejoin(self, members: Iterable[Member]) -> None:
        """Let members rejoin whose requests failed when the group was converted."""
        for member in members:
            self.start(member, joins_in_ms=RETRY_MS)

    def _serve(self, member: Member, joins_in_ms: int | None) -> Process:
        env = self._context.env
        if joins_in_ms is not None:
            yield env.timeout(joins_in_ms)
            yield from self._join(member)
        while self._awaits(member):
            now_ms = self._context.now_ms
            yield env.timeout(self._heartbeats.next_ms(member, now_ms) - now_ms)
            if self._group.is_outdated(member) or self._reconciling.lacks_only_free_tasks(member):
                yield from self._reconciling.await_poll(member)
                yield from self._join(member)
        self._active.discard(member)
        self._reconciling.mark_if_complete()

    def _join(self, member: Member) -> Process:
        """Let a member join, after it has revoked what it must."""
        is_eager = self._context.leader.is_eager(member)
        if self._is_present(member) and self._awaits(member) and self._reconciling.revoke(member, everything=is_eager):
            yield self._context.env.timeout(REVOKE_MS)
        if self._is_present(member):
            self._compute_if_due(member)
            self._group.rejoin(member)
            self._heartbeats.restart([member], self._context.now_ms)
            self._reconciling.assign(member)

    def _is_present(self, member: Member) -> bool:
        return member in self._group.classic and self._context.fleet.is_up(member)

    def _awaits(self, member: Member) -> bool:
        """Return whether a member has not rejoined since the last target, or has other tasks than that."""
        return self._is_present(member) and (self._group.is_outdated(member) or self._reconciling.is_behind(member))
