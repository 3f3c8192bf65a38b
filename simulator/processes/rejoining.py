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

The processes of a group under one protocol end together when the group is converted to another protocol.

The threads of a client send their first heartbeats one after the other. A static member whose instance id is in use
waits until the member that has it has left, or its session has timed out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import simpy
from simpy.events import URGENT

from simulator.group.member import Member
from simulator.group.rebalance_causes import Cause
from simulator.processes.simulation_context import Process, SimulationContext
from simulator.random_streams import random_stream


def timer_of_broker(env: simpy.Environment, delay_ms: int) -> simpy.Event:
    """Return an event after a delay; the coordinator's timers come before other events of their millisecond."""
    event = env.event()
    event._ok, event._value = True, None
    env.schedule(event, URGENT, delay_ms)
    return event


class ProcessScope:
    """Starts processes, and ends all of them at once."""

    def __init__(self, env: simpy.Environment) -> None:
        self._env = env
        self._has_ended = False

    def start(self, process: Process) -> None:
        """Start a process; its events carry no values."""
        self._env.process(self._run(process))

    def end(self) -> None:
        """End all processes: each of them does nothing at its next event."""
        self._has_ended = True

    def _run(self, process: Process) -> Process:
        for event in process:
            yield event
            if self._has_ended:
                return


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


THREAD_START_MS: Final = 10
"""The time between the first heartbeats of two threads of a client that starts: an estimate."""


class WaitingJoins:
    """Lets members join later.

    `causes`: the members that have not joined yet, and why each started. `is_refused` says whether another member has
    the instance id of a member, and has not closed.
    """

    def __init__(
        self,
        context: SimulationContext,
        scope: ProcessScope,
        join: Callable[[Member, Cause], None],
        is_refused: Callable[[Member], bool] = lambda _: False,
    ) -> None:
        self._context = context
        self._scope = scope
        self._join = join
        self._is_refused = is_refused
        self.causes: dict[Member, Cause] = {}
        self._released: dict[Member, simpy.Event] = {}

    def join_in_turn(self, members: Sequence[Member], cause: Cause, *, at_once: bool) -> None:
        """Let the threads of a client join, the first one now, and the others one after the other or now, too."""
        for number, member in enumerate(members):
            if number and not at_once:
                self.causes[member] = cause
                self._scope.start(self._join_as_thread(member, number))
            else:
                self._join(member, cause)

    def _join_as_thread(self, member: Member, number: int) -> Process:
        yield self._context.env.timeout(number * THREAD_START_MS)
        self._join_if_up(member)

    def join_after(self, before: Member, member: Member, cause: Cause) -> None:
        """Let a static member join a group when the one with its instance id has closed or was removed."""
        self.causes[member] = cause
        self._scope.start(self._join_after(before, member))

    def _join_after(self, before: Member, member: Member) -> Process:
        while self._is_refused(member):
            yield self._released.setdefault(before, self._context.env.event())
        self._join_if_up(member)

    def _join_if_up(self, member: Member) -> None:
        cause = self.causes.pop(member)
        if self._context.fleet.is_up(member):
            self._join(member, cause)

    def release(self, member: Member) -> None:
        """Note that a member has closed or was removed."""
        if member in self._released:
            self._released.pop(member).succeed()
