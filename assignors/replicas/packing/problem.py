"""Replicas with sizes and rates, and brokers whose disks and networks take so much of them: a bin packing."""

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
"""Stands for the network capacity of a broker of which nobody said one."""

PER_MILLE = 1_000
"""Utilizations are counted in thousandths of a capacity, rounded up."""


class Resource(NamedTuple):
    """A resource that brokers have limits of.

    Attributes:
        weight: shape (P,); what a replica of each partition takes.
        capacities: shape (B,); headroom included.
        fixed: shape (B,); what the partitions take that may not change.
    """

    weight: IntArray
    capacities: IntArray
    fixed: IntArray


class BrokerRates(NamedTuple):
    """What is written to one replica of each partition that may change, and of each that may not."""

    planned: IntArray
    fixed: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class PackingProblem:
    """What has to fit; P partitions, B brokers that may hold replicas.

    Attributes:
        question: the partitions and brokers.
        factor: shape (P,); replicas of each partition.
        size_bytes: shape (P,); what one takes on disk.
        bytes_per_s: shape (P,); what is written to one.
        disk_bytes: shape (B,); the capacity of the disks, headroom included.
        network_bytes_per_s: shape (B,); the capacity of the network, headroom included; UNLIMITED where unknown.
        fixed_bytes: shape (B,); what the partitions take there that may not change.
        fixed_bytes_per_s: shape (B,); what is written to those.
        capacity_bytes: shape (B,); how much of the disks may be used, for the others.
        capacity_bytes_per_s: shape (B,); how much of the network may be used; UNLIMITED where unknown.
        rack: shape (B,); the rack of each broker, zero throughout if racks do not matter.
        most_in_a_rack: shape (P,); how many replicas of a partition a rack may hold.
        held: shape (P, B); who holds what.
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
        """Build the problem for a cluster whose partitions have sizes, and whose brokers have capacities.

        Args:
            question: the cluster.
            rates: what is written to one replica of each partition.
            headroom: the share of every capacity to keep free.
        """
        state = normalized.canonical.state
        assert state.size_bytes is not None
        brokers = [state.brokers[row] for row in normalized.brokers]
        disk = [broker.capacity_bytes or 0 for broker in brokers]
        network = [broker.capacity_bytes_per_s for broker in brokers]
        usable = 1 - Fraction(str(headroom))
        fixed, fixed_rate = (
            fixed_bytes_per_broker(state)[normalized.brokers],
            _fixed_rates(state, rates.fixed)[normalized.brokers],
        )
        return cls(
            normalized=normalized,
            factor=normalized.factors,
            size_bytes=state.size_bytes,
            bytes_per_s=rates.planned,
            disk_bytes=np.array(disk, dtype=np.int64),
            network_bytes_per_s=_known(network),
            fixed_bytes=fixed,
            fixed_bytes_per_s=fixed_rate,
            capacity_bytes=_left([int(each * usable) for each in disk], fixed),
            capacity_bytes_per_s=_left([None if each is None else int(each * usable) for each in network], fixed_rate),
            rack=normalized.rack,
            rack_limits=normalized.rack_limits,
            held=broker_membership(normalized.held, len(brokers)),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """P and B."""
        return self.held.shape[0], self.held.shape[1]

    @property
    def resources(self) -> list[Resource]:
        """The resources that brokers have limits for: disk, and network where any broker has one."""
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

    def least_peak(self) -> int:
        """Return a lower bound of `peak` over all placements: all replicas cut up at will, or the largest one."""
        return max(
            max(
                -(-int((weight * self.factor).sum() + fixed.sum()) * PER_MILLE // int(sum(capacities.tolist()))),
                -(-int(weight.max()) * PER_MILLE // int(capacities.max())),
                int((-(-fixed * PER_MILLE // capacities))[capacities < UNLIMITED].max(initial=0)),
            )
            for weight, capacities, fixed in self.resources
        )

    def preference(self) -> IntArray:
        """Brokers in the order in which they are taken into use.

        One of each rack by turns; in a rack those that take much, then those that hold much, then by id.
        """
        holds = self.held.sum(axis=0)
        order = np.lexsort((np.arange(len(holds)), -holds, -self.capacity_bytes_per_s, -self.capacity_bytes))
        turn = np.empty(len(order), dtype=np.int64)
        for rack in np.unique(self.rack):
            members = order[self.rack[order] == rack]
            turn[members] = np.arange(len(members))
        return order[np.argsort(turn[order], kind="stable")]

    def least_brokers(self) -> int:
        """So many brokers at least: the largest ones that take all bytes, all rates, and the highest factor.

        Racks ask for as much by themselves: some replicas have to be in a rack, since the others may not have more.
        """
        everywhere = np.ones(len(self.rack), dtype=np.bool_)
        racks = [self.rack == rack for rack in np.unique(self.rack)]
        room = np.minimum(self.rack_limits[:, None], [brokers.sum() for brokers in racks])
        forced = np.maximum(self.factor[:, None] - (room.sum(axis=1)[:, None] - room), 0)
        by_rack = sum(self._fewest(brokers, forced[:, place]) for place, brokers in enumerate(racks))
        return max(self._fewest(everywhere, self.factor), by_rack)

    def _fewest(self, brokers: BoolArray, replicas: IntArray) -> int:
        """The fewest of these brokers that take so many replicas of each partition, cut up at will."""
        disk = _fewest(self.capacity_bytes[brokers], int((self.size_bytes * replicas).sum()))
        network = _fewest(self.capacity_bytes_per_s[brokers], int((self.bytes_per_s * replicas).sum()))
        return max(disk, network, int(replicas.max()))

    def fits(self, chosen: BoolArray) -> bool:
        """Whether a placement, shape (P, B), keeps to everything."""
        in_rack = np.zeros((len(chosen), int(self.rack.max()) + 1), dtype=np.int64)
        np.add.at(in_rack.T, self.rack, chosen.T.astype(np.int64))
        return bool(
            (chosen.sum(axis=1) == self.factor).all()
            and (self.size_bytes @ chosen <= self.capacity_bytes).all()
            and (self.bytes_per_s @ chosen <= self.capacity_bytes_per_s).all()
            and (in_rack <= self.rack_limits[:, None]).all()
        )

    def misfit(self) -> str | None:
        """Why nothing can fit, as far as one look tells: a partition that too few brokers take, or all together."""
        takes = (self.size_bytes[:, None] <= self.capacity_bytes) & (
            self.bytes_per_s[:, None] <= self.capacity_bytes_per_s
        )
        short = np.flatnonzero(takes.sum(axis=1) < self.factor)
        if len(short):
            row = int(short[0])
            rate = f" at {self.bytes_per_s[row]:,} bytes/s" if len(self.resources) > 1 else ""
            return (
                f"{self.normalized.canonical.state.name(row)}: {self.factor[row]} replicas of {self.size_bytes[row]:,} bytes"
                f"{rate} need as many brokers that take one, {takes[row].sum()} do"
            )
        for what, asked, there in (
            ("bytes", self.size_bytes * self.factor, self.capacity_bytes),
            ("bytes/s", self.bytes_per_s * self.factor, self.capacity_bytes_per_s),
        ):
            if asked.sum() > there.astype(object).sum():
                return f"all partitions: they come to {asked.sum():,} {what}, brokers take {there.sum():,}"
        return None


def _fixed_rates(state: ClusterState, rates: IntArray) -> IntArray:
    """Return what is written on each broker to partitions that may not change, shape (B,)."""
    if state.fixed is None:
        return np.zeros(len(state.brokers), dtype=np.int64)
    return bytes_per_broker(state.fixed.replicas, rates, len(state.brokers))


def _left(usable: list[int | None] | list[int], fixed: IntArray) -> IntArray:
    """Return what is left of capacities."""
    left = [
        UNLIMITED if each is None else max(each - taken, 0) for each, taken in zip(usable, fixed.tolist(), strict=True)
    ]
    return np.array(left, dtype=np.int64)


def _known(capacities: list[int | None]) -> IntArray:
    return np.array([UNLIMITED if capacity is None else capacity for capacity in capacities], dtype=np.int64)


def _fewest(capacities: IntArray, total: int) -> int:
    """The fewest capacities that come to a total."""
    sums = np.cumsum(np.minimum(np.sort(capacities)[::-1], total))
    return int(np.searchsorted(sums, total)) + 1 if total else 0
