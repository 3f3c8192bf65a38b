"""What exact flows are asked: a state and a request in an order that hangs on names alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from assignors.model.columns import IntArray
from assignors.replicas.canonical import CanonicalState
from assignors.replicas.plan import PlanRequest
from assignors.replicas.state import NO_BROKER, ClusterState

HashArray = npt.NDArray[np.uint64]

NUM_TIE_BREAKERS = 16
"""How many different costs break ties, where costs have room for them."""


@dataclass(frozen=True, eq=False)
class NormalizedProblem:
    """A state and a request: partitions by topic and number, the A brokers that may hold replicas by id.

    Attributes:
        told: the state in canonical order.
        brokers: shape (A,); the canonical row of each broker.
        held: shape (P, W); places of brokers in `brokers`, in replica order; NOBODY where there is no replica or one on
            a broker that may hold none.
        leader: shape (P,); who leads today, preferred or not; NOBODY likewise.
        factors: shape (P,); how many replicas there shall be.
        most_in_a_rack: shape (P,); how many of them one rack may hold.
        rack: shape (A,); all 0 where racks do not constrain the plan.
    """

    told: CanonicalState
    brokers: IntArray
    held: IntArray
    leader: IntArray
    factors: IntArray
    rack_limits: IntArray
    rack: IntArray

    @classmethod
    def of(cls, state: ClusterState, request: PlanRequest) -> NormalizedProblem:
        """Sort a question."""
        told = CanonicalState.of(state)
        brokers = np.flatnonzero(request.allowed(told.state))
        place = _places(brokers, len(told.state.brokers))
        rack = np.zeros(len(brokers), dtype=np.int64)
        if request.is_rack_aware(told.state):
            rack = np.unique(told.state.rack[brokers], return_inverse=True)[1].astype(np.int64)
        return cls(
            told=told,
            brokers=brokers,
            held=place[told.state.replicas],
            leader=place[told.state.leader],
            factors=request.factors(told.state),
            rack_limits=request.rack_limits(told.state),
            rack=rack,
        )

    @property
    def num_brokers(self) -> int:
        """A."""
        return len(self.brokers)

    @property
    def num_partitions(self) -> int:
        """P."""
        return len(self.factors)

    @property
    def topic(self) -> IntArray:
        """Shape (P,); ascending."""
        return self.told.state.topic

    @cached_property
    def rack_sizes(self) -> IntArray:
        """How many of the brokers each rack has."""
        return np.bincount(self.rack).astype(np.int64)

    @cached_property
    def held_pairs(self) -> IntArray:
        """Who holds what, as partition x brokers + broker, sorted."""
        partition, place = np.nonzero(self.held != NO_BROKER)
        return np.sort(partition * self.num_brokers + self.held[partition, place])

    @cached_property
    def partition_hash(self) -> HashArray:
        """Shape (P,); of topic and number."""
        digests = [blake2b(name.encode(), digest_size=8).digest() for name in self.told.state.topics]
        names = np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.uint64)
        return mix_bits(names[self.topic] ^ mix_bits(self.told.state.partition.astype(np.uint64)))

    @cached_property
    def broker_hash(self) -> HashArray:
        """Shape (A,); of the id."""
        return mix_bits(~self.told.state.ids[self.brokers].astype(np.uint64))

    def ties(self, partition: IntArray, broker: IntArray, below: int) -> IntArray:
        """A number from 0 to `below` - 1 for pairs of a partition and a broker, by which ties between them break."""
        pairs = mix_bits(self.partition_hash[partition] ^ self.broker_hash[broker])
        drawn: IntArray = (pairs % np.uint64(below)).astype(np.int64)
        return drawn

    def placed(self, replicas: IntArray) -> IntArray:
        """Replicas that are rows of the input's brokers, by the input's partitions, as `held` has them."""
        row = np.append(np.argsort(self.told.brokers), NO_BROKER)[replicas[self.told.rows]]
        places: IntArray = _places(self.brokers, len(self.told.brokers))[row]
        return places

    def to_input_order(self, table: IntArray) -> IntArray:
        """The other way."""
        back: IntArray = self.told.to_input_order(np.append(self.brokers, NO_BROKER)[table])
        return back


def mix_bits(values: HashArray) -> HashArray:
    """Numbers that look as if they had been drawn, one for each.

    Source: the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
    """
    drawn = values + np.uint64(0x9E3779B97F4A7C15)
    drawn = (drawn ^ (drawn >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    drawn = (drawn ^ (drawn >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return drawn ^ (drawn >> np.uint64(31))


def _places(brokers: IntArray, count: int) -> IntArray:
    """The place of each of so many rows among `brokers`, NOBODY for the others and for NOBODY."""
    place = np.full(count + 1, NO_BROKER, dtype=np.int64)
    place[brokers] = np.arange(len(brokers))
    return place
