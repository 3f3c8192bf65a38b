"""The progress of reassignments: the replicas, leaders and copies of partitions over time.

Progress depends on plans, sizes, production rates, throttles and live brokers, never on the assignor. So it is computed
before the run and becomes part of the run's timeline.

Guarantees (KIP-455): until all replicas of its target are in sync, a partition has the target's replicas and those that
will be removed; then it has the target's alone. Its leader stays if it is in the target; otherwise the first replica of
the target leads. A new target replaces an older one; copied data is kept. A change of the order alone takes effect
immediately.
Priority: replicas that are in sync complete their targets, then the next batch begins, then leaders are elected.
Complexity: one step per moment at which replicas come in sync, each O(K · B) for K copies on B brokers.
Source: `ReplicationControlManager.changePartitionReassignment`, Kafka 4.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from assignors.model.ids import TopicPartition
from simulator.brokers.replication import ReplicaCopies, ReplicationSources
from simulator.brokers.replication_control import ControlledPartition, ReplicationControl
from simulator.world.changes import RackTransfer, ReassignmentStep
from simulator.world.disturbances import LeaderElection, Reassignment, ReassignmentTarget
from simulator.world.layout import FloatArray
from simulator.world.world import World

CHECK_INTERVAL_MS: Final = 300_000
"""`leader.imbalance.check.interval.seconds`: how often the controller checks whether preferred replicas lead."""

_USUAL_ROW = 24
"""The row of the usual rates, after those of the 24 hours."""
_MAX_NAMES = 3


@dataclass(slots=True, eq=False)
class _OngoingReassignment:
    """A reassignment that has begun.

    Attributes:
        plan: the reassignment.
        waiting: its batches that have not begun.
        unfinished: the partitions of the current batch that have not reached their target.
    """

    plan: Reassignment
    waiting: deque[tuple[ReassignmentTarget, ...]]
    unfinished: dict[TopicPartition, None] = field(default_factory=dict)


class ReassignmentProgress:
    """The brokers and partitions of a world at a moment, and the ongoing reassignments.

    Attributes:
        replicas: replicas, leaders and ISRs.
    """

    def __init__(self, world: World) -> None:
        brokers, self._topics = world.cluster.brokers, world.cluster.topics
        self._racks = (*world.cluster.racks, None)
        self._rack = np.array([self._racks.index(broker.rack) for broker in brokers], dtype=np.int64)
        self.replicas = ReplicationControl(world)
        self._copies = ReplicaCopies()
        self._rates = np.zeros((_USUAL_ROW + 1, len(self.replicas.leader)), dtype=np.float64)
        self._passed_s = np.zeros(_USUAL_ROW + 1, dtype=np.float64)
        self._factor, self._hour, self._throttle = 1.0, _USUAL_ROW, np.inf
        self._ongoing: list[_OngoingReassignment] = []
        self._ongoing_of: dict[TopicPartition, _OngoingReassignment] = {}
        self._now_ms = 0
        self._copied = self._zero_matrix()
        self._copying: tuple[RackTransfer, ...] = ()
        self._begun: list[str] = []
        self._reached: list[TopicPartition] = []
        self._ended: list[str] = []

    def until(self, end_ms: int) -> Iterator[tuple[int, ReassignmentStep]]:
        """Advance to just before the end.

        Yields:
            The steps until then, each with its time.
        """
        while (due_ms := self._next_ms()) < end_ms:
            self._advance(due_ms)
            yield from self.take_step()
        self._advance(end_ms)

    def take_step(self) -> Iterator[tuple[int, ReassignmentStep]]:
        """Execute all actions that are due now.

        Yields:
            The step that results, with its time; nothing if nothing changed.
        """
        if self._now_ms % CHECK_INTERVAL_MS == 0:
            self._elect(self._electable_by_controller())
        while True:
            self._start_ready_batches()
            arrived = self._copies.update_rates(self._sources())
            pairs = list(zip(self._copies.partition[arrived], self._copies.broker[arrived], strict=True))
            unthrottled = self._copies.copy_unthrottled()
            self._copied += self._by_rack(unthrottled)
            for row, broker in pairs:
                self._add_to_isr(self.replicas.at(int(row)), int(broker))
            if not pairs and not unthrottled.any():
                break
        step = ReassignmentStep(
            self.replicas.take_changed(),
            self._transfers(self._copied),
            self._transfers(self._by_rack(self._copies.rate)),
            self._describe(),
        )
        if step.partitions or step.copied or step.about or step.copying != self._copying:
            yield self._now_ms, step
        self._copied, self._copying = self._zero_matrix(), step.copying
        self._begun, self._reached, self._ended = [], [], []

    def begin(self, plan: Reassignment) -> None:
        """Begin a reassignment; its throttle applies to the ongoing ones, too."""
        if plan.throttle_bytes_per_s is not None:
            self._throttle = float(plan.throttle_bytes_per_s)
        size = plan.batch or max(1, len(plan.targets))
        batches = [plan.targets[first : first + size] for first in range(0, len(plan.targets), size)]
        self._ongoing.append(_OngoingReassignment(plan, deque(batches)))
        self._begun.append(f"reassignment of {_count(len(plan.targets))} begins")

    def set_replicas(self, name: TopicPartition, replicas: tuple[int, ...]) -> None:
        """Set the replicas of a partition immediately, which ends its reassignment."""
        partition = self._find(name)
        self._cancel(name)
        self._copies.drop(partition.row)
        self.replicas.set_replicas(partition, replicas)

    def stop_brokers(self, brokers: tuple[int, ...]) -> None:
        """Stop brokers; their copying pauses until they are back."""
        self.replicas.stop_brokers(brokers)

    def start_brokers(self, brokers: tuple[int, ...]) -> None:
        """Start brokers again."""
        self.replicas.start_brokers(brokers)
        for partition in list(self.replicas):
            self._complete(partition)

    def set_traffic(self, factor: float, hour: int | None) -> None:
        """Set the production rate to a multiple of the usual one, or of that of an hour of the day."""
        self._factor, self._hour = factor, _USUAL_ROW if hour is None else hour

    def held_bytes(self, name: TopicPartition) -> float:
        """Return the current size of a partition: its initial size plus the bytes produced since."""
        partition = self._find(name)
        size = self._topics[name.topic].size_bytes[name.partition]
        return size + float((self._rates[:, partition.row] * self._passed_s).sum())

    def unfinished(self) -> list[tuple[Reassignment, int]]:
        """Return the ongoing reassignments, each with its number of partitions that have not reached their target."""
        return [(ongoing.plan, len(ongoing.unfinished) + sum(map(len, ongoing.waiting))) for ongoing in self._ongoing]

    def falling_behind(self) -> list[TopicPartition]:
        """Return the partitions that are copied no faster than they grow."""
        rows = np.unique(self._copies.partition[self._copies.falling_behind()])
        return [self.replicas.at(row).name for row in rows.tolist()]

    def _find(self, name: TopicPartition) -> ControlledPartition:
        partition, topic = self.replicas.find(name), self._topics[name.topic]
        self._rates[:, partition.row] = topic.bytes_per_s[name.partition]
        if topic.hourly_bytes_per_s:
            self._rates[:_USUAL_ROW, partition.row] = [rates[name.partition] for rates in topic.hourly_bytes_per_s]
        return partition

    def _next_ms(self) -> float:
        seconds = self._copies.next_in_sync_s()
        in_sync_ms = np.inf if np.isinf(seconds) else self._now_ms + max(1, int(np.ceil(seconds * 1000)))
        check_ms = (self._now_ms // CHECK_INTERVAL_MS + 1) * CHECK_INTERVAL_MS
        return min(in_sync_ms, check_ms if self._electable_by_controller() else np.inf)

    def _advance(self, now_ms: float) -> None:
        seconds = (now_ms - self._now_ms) / 1000
        self._now_ms = int(now_ms)
        self._passed_s[self._hour] += self._factor * seconds
        self._copies.advance(seconds)

    def _sources(self) -> ReplicationSources:
        replicas = self.replicas
        growth = self._factor * self._rates[self._hour]
        return ReplicationSources(replicas.leader, replicas.followers, growth, replicas.alive, self._throttle)

    def _start_ready_batches(self) -> None:
        """Start every batch whose predecessor is done, and end the reassignments that are done."""
        while ready := [ongoing for ongoing in self._ongoing if ongoing.waiting and not ongoing.unfinished]:
            for target in ready[0].waiting.popleft():
                self._begin_partition(ready[0], target)
        for ongoing in [ongoing for ongoing in self._ongoing if not ongoing.unfinished and not ongoing.waiting]:
            self._ongoing.remove(ongoing)
            self._ended.append("reassignment is done")
            if ongoing.plan.election is LeaderElection.AT_END:
                partitions = [
                    target.partition
                    for target in ongoing.plan.targets
                    if self._ongoing_of.get(target.partition) is ongoing
                ]
                self._elect(map(self._find, partitions))

    def _begin_partition(self, ongoing: _OngoingReassignment, target: ReassignmentTarget) -> None:
        partition = self._find(target.partition)
        self._cancel(target.partition)
        self._ongoing_of[target.partition] = ongoing
        ongoing.unfinished[target.partition] = None
        added = self.replicas.begin_reassignment(partition, target.replicas)
        self._copies.add(partition.row, self.replicas.rows_of(added), self.held_bytes(target.partition))
        self._complete(partition)

    def _cancel(self, name: TopicPartition) -> None:
        ongoing = self._ongoing_of.pop(name, None)
        if ongoing is not None:
            ongoing.unfinished.pop(name, None)

    def _add_to_isr(self, partition: ControlledPartition, broker_row: int) -> None:
        self.replicas.add_to_isr(partition, broker_row)
        self._complete(partition)

    def _complete(self, partition: ControlledPartition) -> None:
        if self.replicas.complete_reassignment(partition):
            self._copies.drop(partition.row)
            self._ongoing_of[partition.name].unfinished.pop(partition.name)
            self._reached.append(partition.name)

    def _electable_by_controller(self) -> list[ControlledPartition]:
        """Return the partitions for which the controller would elect the preferred leader at its next check."""
        ongoing = self._ongoing_of
        return [
            partition
            for partition in self.replicas.without_preferred_leader.values()
            if partition.name in ongoing and ongoing[partition.name].plan.election is LeaderElection.AUTO
        ]

    def _elect(self, partitions: Iterable[ControlledPartition]) -> None:
        elected = [self.replicas.elect_preferred(partition) for partition in partitions].count(True)
        if elected:
            self._ended.append(f"preferred leaders of {_count(elected)} are elected")

    def _describe(self) -> str:
        reached = [str(name) for name in self._reached]
        names = ", ".join(reached) if len(reached) <= _MAX_NAMES else _count(len(reached))
        changes = [f"{names} {'has its' if len(reached) == 1 else 'have their'} new replicas"] if reached else []
        return "; ".join((*self._begun, *changes, *self._ended))

    def _by_rack(self, amounts: FloatArray) -> FloatArray:
        """Add up amounts of copies from the leader's rack to the copy's rack, shape (R + 1, R + 1)."""
        rows = np.flatnonzero(amounts)
        leader = self.replicas.leader[self._copies.partition[rows]]
        matrix = self._zero_matrix()
        np.add.at(matrix, (self._rack[leader], self._rack[self._copies.broker[rows]]), amounts[rows])
        return matrix

    def _transfers(self, matrix: FloatArray) -> tuple[RackTransfer, ...]:
        racks = self._racks
        return tuple(RackTransfer(racks[a], racks[b], float(matrix[a, b])) for a, b in np.argwhere(matrix > 0).tolist())

    def _zero_matrix(self) -> FloatArray:
        return np.zeros((len(self._racks), len(self._racks)), dtype=np.float64)


def _count(partitions: int) -> str:
    return "1 partition" if partitions == 1 else f"{partitions:,} partitions"
