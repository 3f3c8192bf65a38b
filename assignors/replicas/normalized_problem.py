"""A cluster and a request in an order that depends on names and ids only, and the way back to the order of input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from assignors.model.columns import IntArray
from assignors.replicas.plan import PlanRequest
from assignors.replicas.state import NO_BROKER, ClusterState


@dataclass(frozen=True, slots=True, eq=False)
class CanonicalState:
    """A cluster with brokers by id, topics by name, and partitions by topic and number.

    Attributes:
        state: the cluster in canonical order; replicas keep their order within a partition, which is significant.
        rows: shape (P,); the input row of each partition of `state`.
        brokers: shape (B,); the input row of each broker of `state`.
    """

    state: ClusterState
    rows: IntArray
    brokers: IntArray

    @classmethod
    def of(cls, state: ClusterState) -> CanonicalState:
        """Sort a cluster."""
        brokers = np.argsort(state.ids)
        topics = np.array(sorted(range(len(state.topics)), key=state.topics.__getitem__), dtype=np.int64)
        rows = np.lexsort((state.partition, np.argsort(topics)[state.topic]))
        return cls(state.reordered(rows, brokers, topics), rows, brokers)

    def to_input_order(self, replicas: IntArray) -> IntArray:
        """Convert replicas of `state`, shape (P, W), to the order and the broker rows of the input."""
        replicas_in_input_order = np.empty_like(replicas)
        replicas_in_input_order[self.rows] = np.append(self.brokers, NO_BROKER)[replicas]
        return replicas_in_input_order


HashArray = npt.NDArray[np.uint64]

NUM_TIE_BREAKERS = 16
"""The number of different costs that break ties, if the cost range permits them."""


@dataclass(frozen=True, eq=False)
class NormalizedProblem:
    """A cluster and a request: partitions by topic and number, and the A allowed brokers by id.

    Attributes:
        brokers: shape (A,); the canonical row of each broker.
        held: shape (P, W); indices in `brokers`, in replica order; NO_BROKER for no replica or a broker that is not
            allowed.
        leader: shape (P,); the current leader, preferred or not; NO_BROKER likewise.
        factors: shape (P,); the requested replication factors.
        rack_limits: shape (P,); the maximum number of replicas of a partition in one rack.
        rack: shape (A,); all 0 if racks do not constrain the plan.
    """

    canonical: CanonicalState
    brokers: IntArray
    held: IntArray
    leader: IntArray
    factors: IntArray
    rack_limits: IntArray
    rack: IntArray

    @classmethod
    def of(cls, state: ClusterState, request: PlanRequest) -> NormalizedProblem:
        """Normalize a state and a request."""
        canonical = CanonicalState.of(state)
        brokers = np.flatnonzero(request.is_allowed(canonical.state))
        index = _index_in(brokers, len(canonical.state.brokers))
        rack = np.zeros(len(brokers), dtype=np.int64)
        if request.is_rack_aware(canonical.state):
            rack = np.unique(canonical.state.rack[brokers], return_inverse=True)[1].astype(np.int64)
        return cls(
            canonical=canonical,
            brokers=brokers,
            held=index[canonical.state.replicas],
            leader=index[canonical.state.leader],
            factors=request.factors(canonical.state),
            rack_limits=request.rack_limits(canonical.state),
            rack=rack,
        )

    def take(self, rows: IntArray) -> NormalizedProblem:
        """Return the problem of some partitions, whose rows ascend."""
        return NormalizedProblem(
            replace(self.canonical, state=self.canonical.state.take(rows), rows=self.canonical.rows[rows]),
            self.brokers,
            self.held[rows],
            self.leader[rows],
            self.factors[rows],
            self.rack_limits[rows],
            self.rack,
        )

    @property
    def num_brokers(self) -> int:
        """Return A, the number of allowed brokers."""
        return len(self.brokers)

    @property
    def num_partitions(self) -> int:
        """Return P, the number of partitions."""
        return len(self.factors)

    @property
    def topic(self) -> IntArray:
        """Return the topic of each partition, ascending, shape (P,)."""
        return self.canonical.state.topic

    @cached_property
    def rack_sizes(self) -> IntArray:
        """Return the number of allowed brokers in each rack."""
        return np.bincount(self.rack).astype(np.int64)

    @cached_property
    def held_pairs(self) -> IntArray:
        """Return the current replicas as sorted pairs (partition * A + broker)."""
        partition, position = np.nonzero(self.held != NO_BROKER)
        return np.sort(partition * self.num_brokers + self.held[partition, position])

    @cached_property
    def partition_hash(self) -> HashArray:
        """Return a hash of the topic and the number of each partition, shape (P,)."""
        digests = [blake2b(name.encode(), digest_size=8).digest() for name in self.canonical.state.topics]
        names = np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.uint64)
        return mix_bits(names[self.topic] ^ mix_bits(self.canonical.state.partition.astype(np.uint64)))

    @cached_property
    def broker_hash(self) -> HashArray:
        """Return a hash of the id of each allowed broker, shape (A,)."""
        return mix_bits(~self.canonical.state.ids[self.brokers].astype(np.uint64))

    def ties(self, partition: IntArray, broker: IntArray, below: int) -> IntArray:
        """Return a tie-breaking number from 0 to `below` - 1 for each pair of a partition and a broker."""
        pairs = mix_bits(self.partition_hash[partition] ^ self.broker_hash[broker])
        tie: IntArray = (pairs % np.uint64(below)).astype(np.int64)
        return tie

    def to_normalized(self, replicas: IntArray) -> IntArray:
        """Convert replicas from the input order (rows of the input's brokers) to indices as in `held`."""
        row = np.append(np.argsort(self.canonical.brokers), NO_BROKER)[replicas[self.canonical.rows]]
        normalized: IntArray = _index_in(self.brokers, len(self.canonical.brokers))[row]
        return normalized

    def to_input_order(self, table: IntArray) -> IntArray:
        """Convert replicas as in `held` to rows of the input's brokers, in the input's order of partitions."""
        replicas: IntArray = self.canonical.to_input_order(np.append(self.brokers, NO_BROKER)[table])
        return replicas


def mix_bits(values: HashArray) -> HashArray:
    """Return pseudo-random numbers, one for each value.

    Source: the finalizer of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
    """
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _index_in(brokers: IntArray, count: int) -> IntArray:
    """Return the index of each of `count` rows in `brokers`, NO_BROKER for the others and for NO_BROKER."""
    index = np.full(count + 1, NO_BROKER, dtype=np.int64)
    index[brokers] = np.arange(len(brokers))
    return index


def current_positions(problem: NormalizedProblem, partition: IntArray, broker: IntArray) -> IntArray:
    """Return the current position of each broker among the replicas of its partition; W for a broker without a replica.

    `partition`, shape (N,): the partitions. `broker`, shape (N,): indices in `problem.brokers`.
    """
    is_held = problem.held[partition] == broker[:, None]
    positions: IntArray = np.where(is_held.any(axis=1), is_held.argmax(axis=1), problem.held.shape[1])
    return positions


def order_replicas(
    problem: NormalizedProblem, partition: IntArray, broker: IntArray, *priorities: IntArray
) -> IntArray:
    """Return replicas as `Plan.replicas` holds them.

    `problem`: the partitions and brokers. `partition`, shape (N,): the partition of each replica. `broker`, shape (N,):
    the broker of each replica. `priorities`, shape (N,) each: the replicas of a partition are sorted by the first, then
    by the second.
    """
    order = np.lexsort((*reversed(priorities), partition))
    counts = np.bincount(partition, minlength=problem.num_partitions)
    starts = np.cumsum(counts) - counts
    column = np.arange(len(order)) - starts[partition[order]]
    table = np.full((problem.num_partitions, int(counts.max())), NO_BROKER, dtype=np.int64)
    table[partition[order], column] = broker[order]
    return problem.to_input_order(table)
