"""Reassignments as they go on: who holds, leads and copies what at any time, whatever assigns the tasks.

What is known before a run decides all of it: plans, sizes, what is produced, throttles, and which brokers are there. So
it is played before the run, and becomes changes of its timeline.

Guarantees (KIP-455): a partition has the replicas of its target and those that will go until all of the target are in
sync, then those of the target alone; its leader stays if it is one of them, and is the first of them otherwise. Another
target takes the place of the one before; what was copied stays copied. A change of the order alone is done at once.
Priority: what is in sync comes to its target, then the next batch begins, then leaders are elected.
Complexity: a step for every moment at which replicas come in sync, each O(K · B) for K copies on B brokers.
Source: `ReplicationControlManager.changePartitionReassignment`, Kafka 4.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from assignors.model.ids import TopicPartition
from simulator.brokers.replication import ReplicaCopies, ReplicationSources
from simulator.brokers.replication_control import ControlledPartition, PartitionState, ReplicationControl
from simulator.world.disturbances import LeaderElection, Reassignment, ReassignmentTarget
from simulator.world.layout import FloatArray
from simulator.world.world import World

CHECK_INTERVAL_MS: Final = 300_000
"""`leader.imbalance.check.interval.seconds`: how often the controller looks whether preferred replicas lead."""

_USUAL = 24
_MOST_NAMES = 3


class RackTransfer(NamedTuple):
    """Bytes, or bytes per second, from the brokers of a rack to those of another or the same; None for no rack."""

    from_rack: str | None
    to_rack: str | None
    amount: float


@dataclass(frozen=True, slots=True)
class ReassignmentStep:
    """A step of reassignments.

    Attributes:
        partitions: those that stand otherwise from now on.
        copied: what was copied at once.
        copying: what is copied from now on, per second, in place of what the step before says.
        about: what happened, in words; empty if only rates changed.
    """

    partitions: tuple[PartitionState, ...]
    copied: tuple[RackTransfer, ...]
    copying: tuple[RackTransfer, ...]
    about: str

    def __str__(self) -> str:
        return self.about


@dataclass(slots=True, eq=False)
class _Run:
    """A reassignment that was begun: the batches that wait, and what of the present one is not done."""

    said: Reassignment
    waiting: deque[tuple[ReassignmentTarget, ...]]
    open: dict[TopicPartition, None] = field(default_factory=dict)


class ReassignmentProgress:
    """The brokers and partitions of a world at a moment, and the reassignments that go on then.

    Attributes:
        replicas: who holds and leads what.
    """

    def __init__(self, world: World) -> None:
        brokers, self._topics = world.cluster.brokers, world.cluster.topics
        self._racks = (*world.cluster.racks, None)
        self._rack = np.array([self._racks.index(broker.rack) for broker in brokers], dtype=np.int64)
        self.replicas = ReplicationControl(world)
        self._copies = ReplicaCopies()
        self._rates = np.zeros((_USUAL + 1, len(self.replicas.leader)), dtype=np.float64)
        self._passed_s = np.zeros(_USUAL + 1, dtype=np.float64)
        self._factor, self._hour, self._throttle = 1.0, _USUAL, np.inf
        self._runs: list[_Run] = []
        self._run_of: dict[TopicPartition, _Run] = {}
        self._now_ms = 0
        self._copied = self._nothing()
        self._copying: tuple[RackTransfer, ...] = ()
        self._begun: list[str] = []
        self._reached: list[TopicPartition] = []
        self._ended: list[str] = []

    def until(self, end_ms: int) -> Iterator[tuple[int, ReassignmentStep]]:
        """Let time pass to just before its end; the steps on the way, and when."""
        while (due_ms := self._next_ms()) < end_ms:
            self._advance(due_ms)
            yield from self.settle()
        self._advance(end_ms)

    def settle(self) -> Iterator[tuple[int, ReassignmentStep]]:
        """Take in what has come to be at this moment; the step that it makes, if it makes one."""
        if self._now_ms % CHECK_INTERVAL_MS == 0:
            self._elect(self._left_to_the_controller())
        while True:
            self._go_on()
            arrived = self._copies.settle(self._sources())
            pairs = list(zip(self._copies.partition[arrived], self._copies.broker[arrived], strict=True))
            at_once = self._copies.take_at_once()
            self._copied += self._by_rack(at_once)
            for row, broker in pairs:
                self._come_in_sync(self.replicas.at(int(row)), int(broker))
            if not pairs and not at_once.any():
                break
        step = ReassignmentStep(
            self.replicas.take_changed(),
            self._carried(self._copied),
            self._carried(self._by_rack(self._copies.rate)),
            self._about(),
        )
        if step.partitions or step.copied or step.about or step.copying != self._copying:
            yield self._now_ms, step
        self._copied, self._copying = self._nothing(), step.copying
        self._begun, self._reached, self._ended = [], [], []

    def begin(self, said: Reassignment) -> None:
        """Begin with a reassignment; its throttle holds for those that go on, too."""
        if said.throttle_bytes_per_s is not None:
            self._throttle = float(said.throttle_bytes_per_s)
        size = said.batch or max(1, len(said.targets))
        batches = [said.targets[first : first + size] for first in range(0, len(said.targets), size)]
        self._runs.append(_Run(said, deque(batches)))
        self._begun.append(f"reassignment of {_count(len(said.targets))} begins")

    def put(self, name: TopicPartition, replicas: tuple[int, ...]) -> None:
        """Give a partition replicas at once, which ends its reassignment."""
        partition = self._find(name)
        self._leave_run(name)
        self._copies.drop(partition.row)
        self.replicas.put(partition, replicas)

    def lose(self, brokers: tuple[int, ...]) -> None:
        """Take brokers away; what they copy waits for them."""
        self.replicas.lose(brokers)

    def regain(self, brokers: tuple[int, ...]) -> None:
        """Bring brokers back."""
        self.replicas.regain(brokers)
        for partition in list(self.replicas):
            self._reach(partition)

    def scale(self, factor: float, hour: int | None) -> None:
        """So many times what the world says is produced from now on, in an hour of the day or usually."""
        self._factor, self._hour = factor, _USUAL if hour is None else hour

    def held_bytes(self, name: TopicPartition) -> float:
        """What a partition holds by now: what it did at the start, and what was produced since."""
        partition = self._find(name)
        size = self._topics[name.topic].size_bytes[name.partition]
        return size + float((self._rates[:, partition.row] * self._passed_s).sum())

    def left(self) -> list[tuple[Reassignment, int]]:
        """The reassignments that go on, and how many of their partitions do not have their target yet."""
        return [(run.said, len(run.open) + sum(map(len, run.waiting))) for run in self._runs]

    def losing_ground(self) -> list[TopicPartition]:
        """The partitions that are copied no faster than they grow."""
        rows = np.unique(self._copies.partition[self._copies.loses_ground()])
        return [self.replicas.at(row).name for row in rows.tolist()]

    def _find(self, name: TopicPartition) -> ControlledPartition:
        partition, topic = self.replicas.find(name), self._topics[name.topic]
        self._rates[:, partition.row] = topic.bytes_per_s[name.partition]
        if topic.hourly_bytes_per_s:
            self._rates[:_USUAL, partition.row] = [rates[name.partition] for rates in topic.hourly_bytes_per_s]
        return partition

    def _next_ms(self) -> float:
        seconds = self._copies.next_level_s()
        level_ms = np.inf if np.isinf(seconds) else self._now_ms + max(1, int(np.ceil(seconds * 1000)))
        check_ms = (self._now_ms // CHECK_INTERVAL_MS + 1) * CHECK_INTERVAL_MS
        return min(level_ms, check_ms if self._left_to_the_controller() else np.inf)

    def _advance(self, now_ms: float) -> None:
        seconds = (now_ms - self._now_ms) / 1000
        self._now_ms = int(now_ms)
        self._passed_s[self._hour] += self._factor * seconds
        self._copies.advance(seconds)

    def _sources(self) -> ReplicationSources:
        replicas = self.replicas
        growth = self._factor * self._rates[self._hour]
        return ReplicationSources(replicas.leader, replicas.followers, growth, replicas.alive, self._throttle)

    def _go_on(self) -> None:
        """Begin with every batch whose turn has come, and end what is done."""
        while ready := [run for run in self._runs if run.waiting and not run.open]:
            for target in ready[0].waiting.popleft():
                self._aim(ready[0], target)
        for run in [run for run in self._runs if not run.open and not run.waiting]:
            self._runs.remove(run)
            self._ended.append("reassignment is done")
            if run.said.election is LeaderElection.AT_END:
                mine = [each.partition for each in run.said.targets if self._run_of.get(each.partition) is run]
                self._elect(map(self._find, mine))

    def _aim(self, run: _Run, target: ReassignmentTarget) -> None:
        partition = self._find(target.partition)
        self._leave_run(target.partition)
        self._run_of[target.partition] = run
        run.open[target.partition] = None
        added = self.replicas.aim(partition, target.replicas)
        self._copies.add(partition.row, self.replicas.rows_of(added), self.held_bytes(target.partition))
        self._reach(partition)

    def _leave_run(self, name: TopicPartition) -> None:
        run = self._run_of.pop(name, None)
        if run is not None:
            run.open.pop(name, None)

    def _come_in_sync(self, partition: ControlledPartition, broker_row: int) -> None:
        self.replicas.come_in_sync(partition, broker_row)
        self._reach(partition)

    def _reach(self, partition: ControlledPartition) -> None:
        if self.replicas.reach(partition):
            self._copies.drop(partition.row)
            self._run_of[partition.name].open.pop(partition.name)
            self._reached.append(partition.name)

    def _left_to_the_controller(self) -> list[ControlledPartition]:
        """Those that the first replica could lead and does not, where the controller looks after that."""
        runs = self._run_of
        return [
            partition
            for partition in self.replicas.astray.values()
            if partition.name in runs and runs[partition.name].said.election is LeaderElection.AUTO
        ]

    def _elect(self, partitions: Iterable[ControlledPartition]) -> None:
        elected = sum([self.replicas.elect_preferred(partition) for partition in partitions])
        if elected:
            self._ended.append(f"preferred leaders of {_count(elected)} are elected")

    def _about(self) -> str:
        reached = [str(name) for name in self._reached]
        names = ", ".join(reached) if len(reached) <= _MOST_NAMES else _count(len(reached))
        have = [f"{names} {'has its' if len(reached) == 1 else 'have their'} new replicas"] if reached else []
        return "; ".join((*self._begun, *have, *self._ended))

    def _by_rack(self, amounts: FloatArray) -> FloatArray:
        """Add up over copies what goes from the leader's rack to the copy's, shape (R + 1, R + 1)."""
        rows = np.flatnonzero(amounts)
        leader = self.replicas.leader[self._copies.partition[rows]]
        table = self._nothing()
        np.add.at(table, (self._rack[leader], self._rack[self._copies.broker[rows]]), amounts[rows])
        return table

    def _carried(self, table: FloatArray) -> tuple[RackTransfer, ...]:
        racks = self._racks
        return tuple(RackTransfer(racks[a], racks[b], float(table[a, b])) for a, b in np.argwhere(table > 0).tolist())

    def _nothing(self) -> FloatArray:
        return np.zeros((len(self._racks), len(self._racks)), dtype=np.float64)


def _count(partitions: int) -> str:
    return "1 partition" if partitions == 1 else f"{partitions:,} partitions"
