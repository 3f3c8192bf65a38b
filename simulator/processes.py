"""The clock: the only place that knows SimPy.

Three kinds of processes share one environment, whose time is in whole milliseconds: the timeline of changes, what the
group was told to do (wait for members, assign, follow up), and restoration, which wakes up whenever a copy has caught
up. They hold no rules of their own: the group decides what happens, restoration how fast.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

from assignors.assignment import TaskAssignor
from assignors.ids import TopicPartition
from simulator import group as protocol
from simulator.errors import AssignorFailedError
from simulator.group import Group
from simulator.layout import Brokers, lay_out
from simulator.leader import Leader
from simulator.restoration import Restoration
from simulator.timeline import (
    BrokersDown,
    BrokersUp,
    Change,
    ClientDown,
    ClientUp,
    ConfigsSet,
    ReplicasSet,
    TimedChange,
    timeline,
)
from simulator.trace import Round, Trace
from simulator.world import World

Process = Generator[simpy.Event, Any, None]


class Clockwork:
    """One run while it is running: the parts, and the processes that move them."""

    def __init__(self, world: World, assignor: TaskAssignor, traffic_cost: int) -> None:
        self._world = world
        self._env = simpy.Environment(initial_time=0)
        self._layout = lay_out(world)
        self._brokers = Brokers(world, self._layout)
        self._restoration = Restoration(self._layout, (client.restore_bytes_per_s for client in world.clients))
        self._leader = Leader(world, self._layout, self._brokers, self._restoration, assignor, traffic_cost)
        self._group = Group(world.application.group_configs.initial_rebalance_delay_ms)
        self._configs = world.application.assignment_configs
        self._row_of = {client.name: row for row, client in enumerate(world.clients)}
        self._up = [False for _ in world.clients]
        self._starts = [0 for _ in world.clients]
        self._restarted: set[int] = set()
        self._something_changed = self._env.event()
        self._rounds: list[Round] = []
        self._changes: list[TimedChange] = []
        self._failure: str | None = None

    def run(self) -> Trace:
        """Let the world's duration pass."""
        self._env.process(self._live_through_the_timeline())
        self._env.process(self._restore())
        try:
            self._env.run(until=self._world.duration_ms)
        except AssignorFailedError as error:
            self._failure = f"round {len(self._rounds) + 1}: {error}"
        self._restoration.advance(self._now_ms)
        return Trace(
            world=self._world,
            layout=self._layout,
            rounds=tuple(self._rounds),
            changes=tuple(self._changes),
            restored_bytes=round(self._restoration.restored_bytes),
            down_ms=self._restoration.down_ms,
            failure=self._failure,
        )

    def _live_through_the_timeline(self) -> Process:
        for client in self._world.clients:
            if client.starts:
                self._apply(ClientUp(client.name))
        for timed in timeline(self._world):
            if timed.at_ms >= self._world.duration_ms:
                return
            if timed.at_ms > self._now_ms:
                yield self._env.timeout(timed.at_ms - self._now_ms)
            self._apply(timed.change)
            self._changes.append(timed)

    def _apply(self, change: Change) -> None:
        self._restoration.advance(self._now_ms)
        match change:
            case ClientUp(client=client):
                self._start(client)
            case ClientDown(client=client, says_so=says_so, keeps_state=keeps_state):
                self._stop(client, says_so, keeps_state)
            case BrokersDown(brokers=brokers):
                self._brokers.lose(brokers)
            case BrokersUp(brokers=brokers):
                self._brokers.regain(brokers)
            case ReplicasSet(topic=topic, partition=partition, replicas=replicas):
                moved = TopicPartition(topic, partition)
                self._brokers.set_replicas(moved, replicas)
                # Since KAFKA-14867 consumers with client.rack join anew when the racks of a partition change.
                if any(client.rack is not None for client in self._world.clients):
                    self._tell(protocol.InputChanged(f"replicas of {moved} moved"))
            case ConfigsSet(configs=configs):
                self._configs = configs
                self._tell(protocol.InputChanged("configs changed"))
        self._announce_change()

    def _start(self, client: str) -> None:
        row = self._row_of[client]
        if self._up[row]:
            return
        self._up[row] = True
        self._starts[row] += 1
        self._restarted.add(row)
        self._tell(protocol.MemberJoined(client))

    def _stop(self, client: str, says_so: bool, keeps_state: bool) -> None:
        row = self._row_of[client]
        if not self._up[row]:
            return
        self._up[row] = False
        self._restoration.stop(row, keeps_state)
        if says_so:
            self._tell(protocol.MemberGone(client))
        else:
            self._env.process(self._miss(client, self._starts[row]))

    def _miss(self, client: str, start: int) -> Process:
        """The group misses a client that did not come back within the session timeout."""
        yield self._env.timeout(self._world.application.group_configs.session_timeout_ms)
        row = self._row_of[client]
        if not self._up[row] and self._starts[row] == start and client in self._group.members:
            self._tell(protocol.MemberGone(client))
            self._announce_change()

    def _tell(self, event: protocol.Event) -> None:
        for instruction in self._group.handle(event):
            self._env.process(self._follow(instruction))

    def _follow(self, instruction: protocol.Instruction) -> Process:
        match instruction:
            case protocol.AwaitMembers(delay_ms=delay_ms):
                yield self._env.timeout(delay_ms)
                while not all(self._up[self._row_of[member]] for member in self._group.members):
                    yield self._something_changed
                self._tell(protocol.JoinDelayOver())
            case protocol.ScheduleFollowup(generation=generation, delay_ms=delay_ms):
                yield self._env.timeout(delay_ms)
                self._tell(protocol.FollowupDue(generation))
            case protocol.ComputeAssignment():
                yield self._env.timeout(0)
                self._rebalance(instruction)

    def _restore(self) -> Process:
        while True:
            due_ms = self._restoration.next_change_ms()
            awaited: list[simpy.Event] = [self._something_changed]
            if due_ms is not None:
                awaited.append(self._env.timeout(due_ms - self._now_ms))
            yield self._env.any_of(awaited)
            self._restoration.advance(self._now_ms)

    def _announce_change(self) -> None:
        announced, self._something_changed = self._something_changed, self._env.event()
        announced.succeed()

    def _rebalance(self, wanted: protocol.ComputeAssignment) -> None:
        self._restoration.advance(self._now_ms)
        self._restoration.clean_up(self._world.application.group_configs.state_cleanup_delay_ms)
        decided = self._leader.decide(wanted, self._now_ms, self._configs, frozenset(self._restarted))
        self._restarted.clear()
        self._rounds.append(decided)
        self._announce_change()
        self._tell(protocol.Assigned(decided.decided.columns.followup_rebalance_delay_ms))

    @property
    def _now_ms(self) -> int:
        return int(self._env.now)
