"""Leaders and in-sync replicas (ISRs) of partitions, as Kafka's controller sets them when brokers stop and start.

Brokers that stop in the same instant are fenced one after the other, in the order given; so of in-sync replicas that
all stop, the last one stays in the ISR. With eligible leader replicas (KIP-966) the ISR becomes empty instead, and the
replicas that left it while it had fewer than `min.insync.replicas` may lead: they lack no committed record. A broker
that crashed is no longer among them when it returns; without any, the last leader may lead.

A broker that returns takes no leadership from another: only a partition without a leader gets one, and the preferred
leader is elected at a check of the controller. Its replicas join the ISR once they have caught up.

Source: `ReplicationControlManager.handleBrokerFenced`, `.handleBrokerUnfenced`, `.handleUncleanBrokerShutdown`,
`.maybeBalancePartitionLeaders`, `PartitionReassignmentReplicas`, `PartitionChangeBuilder`, Kafka 3.9.1 and 4.0.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from assignors.model.columns import BoolArray, IntArray, distinct
from assignors.model.ids import TopicPartition
from simulator.brokers.coordinator import OFFSETS_TOPIC, coordinator_replicas
from simulator.world.changes import ReplicaStates
from simulator.world.disturbances import Reassignment, ReplicaMove
from simulator.world.layout import NO_BROKER, FloatArray
from simulator.world.world import NO_LEADER, Topic, World

_OF_REPLICAS: Final = ("in_sync", "follows", "missing", "caught_up_ms", "_eligible", "_added", "_copying")
"""The arrays of `ReplicationControl` with a value per replica."""


class PartitionState(NamedTuple):
    """The replicas, leader and ISR of a partition.

    Attributes:
        replicas: broker ids in replica order; those of the target first, then those that will be removed.
        leader: broker id, NO_LEADER if none.
        copying: the replicas of its reassignment that do not have all data yet.
        in_sync: the in-sync replicas (ISR); without a leader, the last ones.
        target: the replicas at the end of its reassignment; None if there is none.
    """

    partition: TopicPartition
    replicas: tuple[int, ...]
    leader: int
    copying: tuple[int, ...]
    in_sync: tuple[int, ...]
    target: tuple[int, ...] | None = None


class ReplicationControl:
    """The brokers of a world, and its P partitions with up to W replicas each.

    The last partition is that of the group's coordinator if the cluster's topics lack `__consumer_offsets`. Rows of
    brokers are those of the cluster, then those of brokers that it lacks, which are never alive.

    Attributes:
        alive: which brokers are alive; the last entry, `NO_BROKER`, is not.
        replicas: shape (P, W); rows of brokers in replica order, NO_BROKER after the last.
        leader: shape (P,); row of the leading broker, NO_BROKER if none.
        last_leader: shape (P,); row of the broker that leads, or led last.
        in_sync: shape (P, W); whether a replica is in the ISR.
        follows: shape (P, W); whether a live replica catches up: to join the ISR, or in the ISR, behind its leader.
        missing: shape (P, W); bytes that a replica lacks that left the ISR during the run or is behind its leader.
        caught_up_ms: shape (P, W); when a replica that is in the ISR and catches up last had everything.
    """

    def __init__(self, world: World) -> None:
        topics, controller = world.cluster.topics, world.cluster.controller
        self._offsets = world.cluster.partition_offsets
        self._uses_elr = controller.keeps_eligible_replicas
        self._waits_for_kept = controller.waits_for_kept_replicas
        extra = () if OFFSETS_TOPIC in topics else (coordinator_replicas(world),)
        listed = [replicas for topic in topics.values() for replicas in topic.replicas]
        listed += extra
        self._broker_ids = _broker_ids(world, listed)
        self._row_of_broker = {broker: row for row, broker in enumerate(self._broker_ids)}
        num_brokers, self._count = len(world.cluster.brokers), len(listed)
        self.alive: BoolArray = np.arange(len(self._broker_ids) + 1) < num_brokers
        self._num_brokers = num_brokers
        width = max(1, max(map(len, listed), default=0))
        padded = [self.rows_of(replicas) + [NO_BROKER] * (width - len(replicas)) for replicas in listed]
        self.replicas: IntArray = np.array(padded, dtype=np.int64).reshape(self._count, width)
        self.leader: IntArray = self.replicas[:, 0].copy()
        self.in_sync: BoolArray = self.replicas != NO_BROKER
        self._min_in_sync: IntArray = np.ones(self._count, dtype=np.int64)
        self._unclean: BoolArray = np.zeros(self._count, dtype=np.bool_)
        for topic in topics.values():
            self._set_topic(topic)
        self.last_leader: IntArray = self.leader.copy()
        self._eligible: BoolArray = np.zeros_like(self.in_sync)
        self.follows: BoolArray = np.zeros_like(self.in_sync)
        self.missing: FloatArray = np.zeros(self.in_sync.shape, dtype=np.float64)
        self.caught_up_ms: IntArray = np.zeros_like(self.replicas)
        self._added: BoolArray = np.zeros_like(self.in_sync)
        self._copying: BoolArray = np.zeros_like(self.in_sync)
        self._num_target: IntArray = np.zeros(self._count, dtype=np.int64)
        self._keeps_leader: BoolArray = np.zeros(self._count, dtype=np.bool_)
        self._crashed = set[int]()
        self._dirty: BoolArray = np.zeros(self._count, dtype=np.bool_)

    def row(self, name: TopicPartition) -> int:
        """Return the row of a partition."""
        return self._offsets[name.topic] + name.partition

    def rows_of(self, brokers: Iterable[int]) -> list[int]:
        """Return the rows of brokers."""
        return [self._row_of_broker[broker] for broker in brokers]

    def state(self, name: TopicPartition) -> PartitionState:
        """Return the current state of a partition."""
        row = self.row(name)
        replicas = self.replicas[row]
        num_target = int(self._num_target[row])
        return PartitionState(
            name,
            self._ids(replicas[replicas != NO_BROKER]),
            NO_LEADER if self.leader[row] == NO_BROKER else self._broker_ids[self.leader[row]],
            self._ids(replicas[self._copying[row]]),
            self._ids(replicas[self.in_sync[row]]),
            self._ids(replicas[:num_target]) if num_target else None,
        )

    def live_in_sync(self, name: TopicPartition) -> tuple[int, ...]:
        """Return the live in-sync replicas of a partition."""
        row = self.row(name)
        return self._ids(self.replicas[row][self.in_sync[row] & self.alive[self.replicas[row]]])

    def describe(self, rows: Sequence[int]) -> str:
        """Return a list of the ids of brokers, given by their rows."""
        ids = ", ".join(str(self._broker_ids[row]) for row in rows)
        return f"broker {ids}" if len(rows) == 1 else f"brokers {ids}"

    def live_brokers(self) -> BoolArray:
        """Return which brokers of the cluster are alive."""
        return self.alive[: self._num_brokers]

    def stop_brokers(self, brokers: Sequence[int], *, crash: bool) -> None:
        """Stop brokers one after the other; `crash` says whether they stop without a controlled shutdown."""
        for broker in self.rows_of(brokers):
            self.alive[broker] = False
            if crash:
                self._crashed.add(broker)
            rows = self._rows_on(broker)
            is_here = self.replicas[rows] == broker
            self.follows[rows] &= ~is_here
            self._remove_from_isr(rows, is_here)
            self._elect(rows[self.leader[rows] == broker])

    def start_brokers(self, brokers: Sequence[int]) -> None:
        """Start brokers one after the other; each leads the partitions that have no leader and wait for it."""
        for broker in self.rows_of(brokers):
            self.alive[broker] = True
            rows = self._rows_on(broker)
            is_here = self.replicas[rows] == broker
            if self._uses_elr and broker in self._crashed:
                self._eligible[rows] &= ~is_here
            self._crashed.discard(broker)
            self._elect(rows[self.leader[rows] == NO_BROKER])
            self.follows[rows] |= is_here & ~self.in_sync[rows] & ~self._copying[rows]

    def join_isr(self, rows: IntArray, places: IntArray) -> None:
        """Add replicas, given by their rows and columns, that have caught up to the ISRs that they are not in."""
        self._dirty[rows[~self.in_sync[rows, places]]] = True
        self.in_sync[rows, places] = True
        self.follows[rows, places] = False
        self.missing[rows, places] = 0.0
        self._forget_eligible(distinct(rows))

    def leave_isr(self, rows: IntArray, places: IntArray) -> None:
        """Remove live replicas, given by their rows and columns, from ISRs that remain large enough for writes."""
        self.in_sync[rows, places] = False
        self._dirty[rows] = True

    def spare_in_sync(self, rows: IntArray) -> IntArray:
        """Return how many in-sync replicas more than `min.insync.replicas` partitions have."""
        spare: IntArray = np.count_nonzero(self.in_sync[rows], axis=1) - self._min_in_sync[rows]
        return spare

    def takes_writes(self) -> BoolArray:
        """Return which partitions, shape (P,), have a leader and enough in-sync replicas for `acks=all`."""
        live = np.count_nonzero(self.in_sync & self.alive[self.replicas], axis=1)
        takes_writes: BoolArray = (self.leader != NO_BROKER) & (live >= self._min_in_sync)
        return takes_writes

    def fetches(self, rows: IntArray | slice = slice(None)) -> BoolArray:
        """Return the live in-sync followers, shape (N, W), of the partitions of N rows that have a leader."""
        replicas, leader = self.replicas[rows], self.leader[rows][:, None]
        fetches: BoolArray = self.in_sync[rows] & self.alive[replicas] & (replicas != leader) & (leader != NO_BROKER)
        return fetches

    def catching_up(self) -> tuple[IntArray, IntArray]:
        """Return the partitions and columns of the replicas that catch up with a leader."""
        rows, places = np.nonzero(self.follows)
        has_leader = self.leader[rows] != NO_BROKER
        return rows[has_leader], places[has_leader]

    def lacks(self) -> BoolArray:
        """Return which replicas, shape (P, W), do not have what is produced from now on at once; copies apart."""
        lacks: BoolArray = (self.replicas != NO_BROKER) & ~self.in_sync & ~self._copying
        return lacks

    def set_replicas(self, row: int, brokers: Sequence[int]) -> None:
        """Set the replicas of a partition immediately, ending its reassignment; live ones are in sync."""
        replicas = self.rows_of(brokers)
        self._set_row(row, replicas)
        live = self.alive[self.replicas[row]]
        self.in_sync[row] = live if live.any() else self.replicas[row] != NO_BROKER
        self.leader[row] = NO_BROKER
        self._elect(np.array([row]))

    def begin_reassignment(self, row: int, brokers: Sequence[int], *, keeps_leader: bool) -> list[int]:
        """Set the target of a partition.

        `brokers`: ids of its target replicas. With `keeps_leader`, the checks of the controller do not elect its
        preferred leader. Returns the rows of the brokers that must copy it.
        """
        target = self.rows_of(brokers)
        known = self.replicas[row][self.replicas[row] != NO_BROKER].tolist()
        new = [broker for broker in target if broker not in known]
        removed = sorted((broker for broker in known if broker not in target), key=self._broker_ids.__getitem__)
        self._set_row(row, [*target, *removed], keeps=_OF_REPLICAS)
        is_new = np.isin(self.replicas[row], new)
        self._added[row] |= is_new
        self._copying[row] |= is_new
        self._num_target[row] = len(target)
        self._keeps_leader[row] = keeps_leader
        return new

    def complete_reassignment(self, row: int) -> bool:
        """Reduce the replicas of a partition to its target if the ISR allows it, and return whether it does.

        The new replicas must be in the ISR; all of the target must, if it has fewer replicas than before, or the
        controller waits for those that stay. Source: `PartitionReassignmentReplicas.maybeCompleteReassignment`, Kafka
        3.9.2 to 4.4.0.
        """
        count = int(self._num_target[row])
        target = self.replicas[row, :count].copy()
        in_sync, added = self.in_sync[row, :count], self._added[row, :count]
        num_removed = np.count_nonzero(self.replicas[row, count:] != NO_BROKER)
        changes_order_only = count > 0 and num_removed == 0 and not added.any()
        is_in_sync = in_sync.all() or (not self._waits_for_kept and np.count_nonzero(added) >= num_removed)
        if not changes_order_only and not (in_sync.any() and in_sync[added].all() and is_in_sync):
            return False
        keeps_leader = self._keeps_leader[row]
        self._set_row(row, target.tolist(), keeps=("in_sync", "follows", "missing", "caught_up_ms", "_eligible"))
        self._keeps_leader[row] = keeps_leader
        if self.leader[row] not in target:
            self.leader[row] = NO_BROKER
            self._elect(np.array([row]))
        return True

    def is_reassigned(self) -> BoolArray:
        """Return which partitions, shape (P,), have a reassignment in progress."""
        is_reassigned: BoolArray = self._num_target > 0
        return is_reassigned

    def end_copy(self, row: int, broker: int) -> None:
        """Add the broker of a row, which has copied all of a partition, to its ISR."""
        places = np.flatnonzero(self._copying[row] & (self.replicas[row] == broker))
        self._copying[row, places] = False
        self.join_isr(np.full(len(places), row), places)

    def electable(self) -> BoolArray:
        """Return the partitions, shape (P,), led by another than their first replica, which is in sync."""
        first = self.replicas[:, 0]
        led_by_another = (self.leader != first) & (self.leader != NO_BROKER)
        electable: BoolArray = led_by_another & self.alive[first] & self.in_sync[:, 0]
        return electable

    def electable_at_check(self) -> BoolArray:
        """Return the partitions, shape (P,), whose preferred leader the controller elects at its next check."""
        return self.electable() & ~self._keeps_leader

    def is_imbalanced(self) -> bool:
        """Return whether a partition is not led by its first replica, alive or not."""
        return bool((self.leader != self.replicas[:, 0]).any())

    def elect_preferred(self, rows: BoolArray) -> int:
        """Let the first replicas of partitions, shape (P,), lead where they can; return how many did not before."""
        elected = rows & self.electable()
        self.leader = np.where(elected, self.replicas[:, 0], self.leader)
        self.last_leader = np.where(elected, self.leader, self.last_leader)
        rows_of_elected = np.flatnonzero(elected)
        self._follow(rows_of_elected, np.zeros_like(rows_of_elected))
        self._dirty |= elected
        return int(np.count_nonzero(elected))

    def old_followers(self) -> IntArray:
        """Return how many in-sync followers, new ones apart, each partition has that is reassigned, shape (P,)."""
        old: IntArray = np.zeros(self._count, dtype=np.int64)
        rows = np.flatnonzero(self._num_target)
        old[rows] = np.count_nonzero(self.fetches(rows) & ~self._added[rows], axis=1)
        return old

    def take_changed(self) -> ReplicaStates | None:
        """Return the partitions that changed since the last call; None if none did."""
        rows = np.flatnonzero(self._dirty)
        self._dirty[:] = False
        if not len(rows):
            return None
        return ReplicaStates(
            rows, self.replicas[rows], self.leader[rows], self._copying[rows], self.in_sync[rows], self._num_brokers
        )

    def _set_topic(self, topic: Topic) -> None:
        rows = slice(self._offsets[topic.name], self._offsets[topic.name] + topic.num_partitions)
        self.leader[rows] = [self._row_of_broker.get(leader, NO_BROKER) for leader in topic.leaders]
        self._min_in_sync[rows], self._unclean[rows] = topic.min_insync_replicas, topic.unclean_leader_election
        for row, (in_sync, replicas) in enumerate(zip(topic.in_sync, topic.replicas, strict=False), rows.start):
            if not set(replicas).issubset(in_sync):
                self.in_sync[row] &= np.isin(self.replicas[row], self.rows_of(in_sync))

    def _set_row(self, row: int, replicas: Sequence[int], keeps: Sequence[str] = ()) -> None:
        """Set the replicas of a partition without a reassignment; those that stay keep the values of some arrays."""
        place_of = {broker: place for place, broker in enumerate(self.replicas[row].tolist()) if broker != NO_BROKER}
        missing = len(replicas) - self.replicas.shape[1]
        if missing > 0:
            self._widen(missing)
        self.replicas[row] = NO_BROKER
        self.replicas[row, : len(replicas)] = replicas
        stay = [place for place, broker in enumerate(replicas) if broker in place_of]
        before = [place_of[replicas[place]] for place in stay]
        for name in _OF_REPLICAS:
            values = getattr(self, name)[row]
            kept = values[before]
            values[:] = 0
            if name in keeps:
                values[stay] = kept
        self._num_target[row], self._keeps_leader[row], self._dirty[row] = 0, False, True

    def _widen(self, missing: int) -> None:
        pad = ((0, 0), (0, missing))
        self.replicas = np.pad(self.replicas, pad, constant_values=NO_BROKER)
        for name in _OF_REPLICAS:
            setattr(self, name, np.pad(getattr(self, name), pad))

    def _rows_on(self, broker: int) -> IntArray:
        """Return the rows of the partitions with a replica on a broker."""
        return np.flatnonzero(_rows_with(self.replicas == broker))

    def _remove_from_isr(self, rows: IntArray, leaves: BoolArray) -> None:
        """Remove replicas of N partitions, shape (N, W), from their ISRs."""
        in_sync = self.in_sync[rows]
        remaining = in_sync & ~leaves
        changes = _rows_with(in_sync & leaves)
        if self._uses_elr:
            eligible = (self._eligible[rows] | in_sync) & ~remaining
            self._eligible[rows] = np.where(changes[:, None], eligible, self._eligible[rows])
        else:
            changes &= _rows_with(remaining)
        changed = rows[changes]
        self.in_sync[changed] = remaining[changes]
        self._dirty[changed] = True
        self._forget_eligible(changed)

    def _forget_eligible(self, rows: IntArray) -> None:
        """Forget the eligible leader replicas of partitions whose ISR is large enough."""
        in_sync = self.in_sync[rows]
        enough = np.count_nonzero(in_sync, axis=1) >= self._min_in_sync[rows]
        self._eligible[rows] &= ~enough[:, None] & ~in_sync

    def _elect(self, rows: IntArray) -> None:
        """Elect leaders of N partitions, whose former leaders cannot lead: the first eligible replicas."""
        replicas, in_sync, eligible = self.replicas[rows], self.in_sync[rows], self._eligible[rows]
        live = self.alive[replicas] & ~self._copying[rows]
        has_isr = _rows_with(in_sync)
        candidates = live & np.where(has_isr[:, None], in_sync, eligible)
        is_clean = _rows_with(candidates) & has_isr
        if self._uses_elr:
            forgotten = ~_rows_with(in_sync | eligible)
            last = live & (replicas == self.last_leader[rows][:, None])
            candidates = np.where(forgotten[:, None], last, candidates)
        unclean = self._unclean[rows] & ~_rows_with(candidates)
        candidates = np.where(unclean[:, None], live, candidates)
        has_leader, place = _rows_with(candidates), candidates.argmax(axis=1)
        leader = np.where(has_leader, replicas[np.arange(len(rows)), place], NO_BROKER)
        self._dirty[rows[leader != self.leader[rows]]] = True
        self.leader[rows] = leader
        self.last_leader[rows[has_leader]] = leader[has_leader]
        self._follow(rows[has_leader], place[has_leader])
        self._eligible[rows[has_leader & unclean]] = False
        self._lead_alone(rows[has_leader & ~is_clean], place[has_leader & ~is_clean])

    def _follow(self, rows: IntArray, places: IntArray) -> None:
        """Let replicas follow new leaders, given by their columns: they lack what these have, and no more."""
        self.follows[rows, places] = False
        self.missing[rows] = np.maximum(self.missing[rows] - self.missing[rows, places][:, None], 0.0)

    def _lead_alone(self, rows: IntArray, place: IntArray) -> None:
        """Let new leaders that were not in the ISR be its only members; the other live replicas follow them."""
        self.follows[rows] = self.alive[self.replicas[rows]] & ~self._copying[rows]
        self.follows[rows, place] = False
        self.in_sync[rows] = False
        self.in_sync[rows, place] = True
        self._eligible[rows, place] = False
        self._dirty[rows] = True

    def _ids(self, rows: IntArray) -> tuple[int, ...]:
        return tuple(self._broker_ids[row] for row in rows.tolist())


def _rows_with(flags: BoolArray) -> BoolArray:
    """Return which rows have a flag, shape (P,), from flags of shape (P, W)."""
    has_any: BoolArray = np.logical_or.reduce(flags, axis=1)
    return has_any


def _broker_ids(world: World, listed: Iterable[Sequence[int]]) -> list[int]:
    """Return the ids of the brokers of the cluster, then of the brokers that only replicas name."""
    ids = dict.fromkeys(broker.id for broker in world.cluster.brokers)
    for replicas in listed:
        ids.update(dict.fromkeys(replicas))
    for event in world.disturbances:
        match event:
            case ReplicaMove(replicas=replicas):
                ids.update(dict.fromkeys(replicas))
            case Reassignment(targets=targets):
                ids.update(dict.fromkeys(broker for target in targets for broker in target.replicas))
    return list(ids)
