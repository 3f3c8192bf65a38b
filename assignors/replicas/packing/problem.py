"""Bin packing of replicas with sizes and rates onto brokers with disk and network capacities."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from assignors.replicas.broker_loads import bytes_per_broker, fixed_bytes_per_broker
from assignors.replicas.normalized_problem import NormalizedProblem
from assignors.replicas.state import ClusterState, broker_membership

UNLIMITED = np.iinfo(np.int64).max // 4
"""The network capacity of a broker whose capacity is unknown."""

PER_MILLE = 1_000
"""The unit of utilizations: thousandths of a capacity, rounded up."""


class Resource(NamedTuple):
    """A limited resource of brokers.

    Attributes:
        weight: shape (P,); the load of a replica of each partition.
        capacities: shape (B,); including headroom.
        fixed: shape (B,); the load of partitions that may not change.
    """

    weight: IntArray
    capacities: IntArray
    fixed: IntArray


class BrokerRates(NamedTuple):
    """The write rates of one replica of each partition that may change, and of each that may not."""

    planned: IntArray
    fixed: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class PackingProblem:
    """A packing problem with P partitions and B allowed brokers.

    Attributes:
        normalized: the partitions and brokers.
        factor: shape (P,); the replication factors.
        size_bytes: shape (P,); the size of a replica.
        bytes_per_s: shape (P,); the write rate of a replica.
        disk_bytes: shape (B,); the disk capacity, including headroom.
        network_bytes_per_s: shape (B,); the network capacity, including headroom; UNLIMITED if unknown.
        fixed_bytes: shape (B,); the size of replicas that may not change.
        fixed_bytes_per_s: shape (B,); the write rate of replicas that may not change.
        capacity_bytes: shape (B,); the usable disk capacity for other replicas.
        capacity_bytes_per_s: shape (B,); the usable network capacity for other replicas; UNLIMITED if unknown.
        rack: shape (B,); the rack of each broker; all 0 if racks do not constrain the plan.
        rack_limits: shape (P,); the maximum number of replicas of a partition in one rack.
        held: shape (P, B); the current replicas.
    """

    normalized: NormalizedProblem
    factor: IntArray
    size_bytes: IntArray
    bytes_per_s: IntArray
    disk_bytes: IntArray
    network_bytes_per_s: IntArray
    fixed_bytes: IntArray
    fixed_bytes_per_s: IntArray
    capacity_bytes: IntArray
    capacity_bytes_per_s: IntArray
    rack: IntArray
    rack_limits: IntArray
    held: BoolArray

    @classmethod
    def of(cls, normalized: NormalizedProblem, rates: BrokerRates, headroom: float) -> PackingProblem:
        """Build the problem for a cluster with partition sizes and broker capacities.

        `rates`: the write rates of replicas; `headroom`: the share of every capacity to keep free.
        """
        state = normalized.canonical.state
        assert state.size_bytes is not None
        brokers = [state.brokers[row] for row in normalized.brokers]
        disk = [broker.capacity_bytes or 0 for broker in brokers]
        network = [broker.capacity_bytes_per_s for broker in brokers]
        usable = 1 - Fraction(str(headroom))
        fixed_bytes, fixed_rate = (
            fixed_bytes_per_broker(state)[normalized.brokers],
            _fixed_rates(state, rates.fixed)[normalized.brokers],
        )
        return cls(
            normalized=normalized,
            factor=normalized.factors,
            size_bytes=state.size_bytes,
            bytes_per_s=rates.planned,
            disk_bytes=np.array(disk, dtype=np.int64),
            network_bytes_per_s=_with_unlimited(network),
            fixed_bytes=fixed_bytes,
            fixed_bytes_per_s=fixed_rate,
            capacity_bytes=_subtract_fixed([int(capacity * usable) for capacity in disk], fixed_bytes),
            capacity_bytes_per_s=_subtract_fixed(
                [None if capacity is None else int(capacity * usable) for capacity in network], fixed_rate
            ),
            rack=normalized.rack,
            rack_limits=normalized.rack_limits,
            held=broker_membership(normalized.held, len(brokers)),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of partitions and brokers, P and B."""
        return self.held.shape[0], self.held.shape[1]

    @property
    def resources(self) -> list[Resource]:
        """Return the limited resources: disk, and network if any broker has a network capacity."""
        disk = Resource(self.size_bytes, self.disk_bytes, self.fixed_bytes)
        if (self.network_bytes_per_s == UNLIMITED).all():
            return [disk]
        return [disk, Resource(self.bytes_per_s, self.network_bytes_per_s, self.fixed_bytes_per_s)]

    def peak(self, chosen: BoolArray) -> int:
        """Return the highest utilization of any resource of any broker, in thousandths."""
        return max(
            -(-int(used) * PER_MILLE // int(capacity))
            for weight, capacities, fixed in self.resources
            for used, capacity in zip((weight @ chosen + fixed).tolist(), capacities.tolist(), strict=True)
            if capacity < UNLIMITED
        )

    def min_peak(self) -> int:
        """Return a lower bound of `peak` over all placements: with divisible replicas, and for the largest replica.

        A broker with an unknown capacity can hold every replica; then only replicas that cannot move bound the peak.
        """
        return max(
            max(
                0 if (capacities == UNLIMITED).any() else self._min_shared_peak(weight, capacities, fixed),
                int((-(-fixed * PER_MILLE // capacities))[capacities < UNLIMITED].max(initial=0)),
            )
            for weight, capacities, fixed in self.resources
        )

    def _min_shared_peak(self, weight: IntArray, capacities: IntArray, fixed: IntArray) -> int:
        total = int((weight * self.factor).sum() + fixed.sum())
        return max(
            -(-total * PER_MILLE // int(sum(capacities.tolist()))),
            -(-int(weight.max()) * PER_MILLE // int(capacities.max())),
        )

    def preference(self) -> IntArray:
        """Return the brokers in the order in which they are taken into use.

        Racks take turns; within a rack, brokers are sorted by capacity and by current replicas, both descending, then
        by id.
        """
        num_replicas = self.held.sum(axis=0)
        order = np.lexsort(
            (np.arange(len(num_replicas)), -num_replicas, -self.capacity_bytes_per_s, -self.capacity_bytes)
        )
        turn_in_rack = np.empty(len(order), dtype=np.int64)
        for rack in np.unique(self.rack):
            members = order[self.rack[order] == rack]
            turn_in_rack[members] = np.arange(len(members))
        return order[np.argsort(turn_in_rack[order], kind="stable")]

    def min_brokers(self) -> int:
        """Return a lower bound on the number of brokers in use.

        The largest brokers must hold all bytes, all rates, and the highest factor. The bound is also computed per rack,
        for the replicas that must be in the rack because other racks are limited.
        """
        everywhere = np.ones(len(self.rack), dtype=np.bool_)
        racks = [self.rack == rack for rack in np.unique(self.rack)]
        max_in_rack = np.minimum(self.rack_limits[:, None], [brokers.sum() for brokers in racks])
        forced = np.maximum(self.factor[:, None] - (max_in_rack.sum(axis=1)[:, None] - max_in_rack), 0)
        by_rack = sum(self.min_brokers_for(brokers, forced[:, rack]) for rack, brokers in enumerate(racks))
        return max(self.min_brokers_for(everywhere, self.factor), by_rack)

    def min_brokers_for(self, brokers: BoolArray, replicas: IntArray) -> int:
        """Return how many of the given brokers can hold these replicas of each partition, as if they were divisible."""
        disk = _min_count(self.capacity_bytes[brokers], int((self.size_bytes * replicas).sum()))
        network = _min_count(self.capacity_bytes_per_s[brokers], int((self.bytes_per_s * replicas).sum()))
        return max(disk, network, int(replicas.max()))

    def fits(self, chosen: BoolArray) -> bool:
        """Return whether a placement, shape (P, B), meets all limits."""
        in_rack = np.zeros((len(chosen), int(self.rack.max()) + 1), dtype=np.int64)
        np.add.at(in_rack.T, self.rack, chosen.T.astype(np.int64))
        return bool(
            (chosen.sum(axis=1) == self.factor).all()
            and (self.size_bytes @ chosen <= self.capacity_bytes).all()
            and (self.bytes_per_s @ chosen <= self.capacity_bytes_per_s).all()
            and (in_rack <= self.rack_limits[:, None]).all()
        )

    def infeasibility(self) -> str | None:
        """Return why no placement fits; None if the checks of single partitions and of the total load pass."""
        fits = (self.size_bytes[:, None] <= self.capacity_bytes) & (
            self.bytes_per_s[:, None] <= self.capacity_bytes_per_s
        )
        short = np.flatnonzero(fits.sum(axis=1) < self.factor)
        if len(short):
            row = int(short[0])
            rate = f" at {self.bytes_per_s[row]:,} bytes/s" if len(self.resources) > 1 else ""
            name = self.normalized.canonical.state.name(row)
            return (
                f"{name}: {self.factor[row]} replicas of {self.size_bytes[row]:,} bytes{rate} fit on "
                f"{fits[row].sum()} brokers only"
            )
        for unit, required, available in (
            ("bytes", self.size_bytes * self.factor, self.capacity_bytes),
            ("bytes/s", self.bytes_per_s * self.factor, self.capacity_bytes_per_s),
        ):
            if required.sum() > available.astype(object).sum():
                return f"all partitions: {required.sum():,} {unit} exceed the capacity of {available.sum():,} {unit}"
        return None


def _fixed_rates(state: ClusterState, rates: IntArray) -> IntArray:
    """Return the write rate on each broker of partitions that may not change, shape (B,)."""
    if state.fixed is None:
        return np.zeros(len(state.brokers), dtype=np.int64)
    return bytes_per_broker(state.fixed.replicas, rates, len(state.brokers))


def _subtract_fixed(usable: list[int | None] | list[int], fixed: IntArray) -> IntArray:
    """Return the remaining capacities."""
    remaining = [
        UNLIMITED if capacity is None else max(capacity - fixed_load, 0)
        for capacity, fixed_load in zip(usable, fixed.tolist(), strict=True)
    ]
    return np.array(remaining, dtype=np.int64)


def _with_unlimited(capacities: list[int | None]) -> IntArray:
    return np.array([UNLIMITED if capacity is None else capacity for capacity in capacities], dtype=np.int64)


def _min_count(capacities: IntArray, total: int) -> int:
    """Return the smallest number of capacities whose sum reaches a total."""
    sums = np.cumsum(np.minimum(np.sort(capacities)[::-1], total))
    return int(np.searchsorted(sums, total)) + 1 if total else 0
