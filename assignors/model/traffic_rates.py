"""The traffic of partitions and tasks, which a KIP-924 state does not contain.

An assignor that minimizes bytes takes rates as a parameter, or from a run (see `RateAwareAssignor`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol, Self, runtime_checkable

import numpy as np

from assignors.errors import AssignorError
from assignors.model.assignment import TaskAssignor
from assignors.model.columns import BoolArray, IntArray
from assignors.model.ids import TaskId, TopicPartition
from assignors.model.state import ApplicationState


def check_count(name: str, value: object) -> None:
    """Check that a parameter is a whole number that is not negative.

    Raises:
        ValueError: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{name} must be a whole number, 0 or more, not {value!r}")


RATES = "rates"
"""Name of the parameter that takes a `TrafficRates`; it cannot be set in a file."""

_UNKNOWN = -1


class TrafficUnit(StrEnum):
    """The unit of traffic: partitions as in Kafka, bytes per second, or US dollars a day."""

    PARTITIONS = "partitions"
    BYTES = "bytes"
    DOLLARS = "dollars"


@dataclass(frozen=True, slots=True)
class PartitionRate:
    """The traffic and the size of a partition.

    Attributes:
        bytes_per_s: rate at which data is produced, and read by each consumer.
        leader_rack: rack of the leader; None if unknown.
        size_bytes: size, for a changelog.
        record_bytes: mean size of a record, for a changelog.
    """

    bytes_per_s: int
    leader_rack: str | None = None
    size_bytes: int = 0
    record_bytes: int = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class TrafficRates:
    """The rates of an application at its usual traffic.

    Attributes:
        partitions: partitions that tasks read, changelogs included. A missing partition has the mean rate of the
            others.
        writes: bytes per second that each task writes to leaders in each rack, without its changelogs.
        reads_from_nearest: whether consumers read from a replica in their rack if one exists, not from the leader.
        usd_per_gb: price of 10⁹ bytes that cross racks; None if unknown.
    """

    partitions: Mapping[TopicPartition, PartitionRate]
    writes: Mapping[TaskId, Mapping[str, int]] = field(default_factory=dict)
    reads_from_nearest: bool = True
    usd_per_gb: float | None = None


@runtime_checkable
class RateAwareAssignor(Protocol):
    """An assignor that may minimize bytes; a run passes the rates of its world where the assignor needs them."""

    @property
    def needs_rates(self) -> bool:
        """Return whether the assignor minimizes bytes and has no rates."""
        ...

    def with_rates(self, rates: TrafficRates) -> TaskAssignor:
        """Return the same assignor with these rates."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class PartitionRateColumns:
    """The rates of the P partitions and R racks of a state.

    Attributes:
        bytes_per_s: shape (P,).
        is_remote: shape (P, R); whether a client in the rack reads the partition from another rack.
        is_leader_remote: shape (P, R); whether a client in the rack writes to a leader in another rack.
        size_bytes: shape (P,).
        record_bytes: shape (P,).
    """

    bytes_per_s: IntArray
    is_remote: BoolArray
    is_leader_remote: BoolArray
    size_bytes: IntArray
    record_bytes: IntArray

    @classmethod
    def of(cls, state: ApplicationState, rates: TrafficRates) -> Self:
        """Convert rates to columns."""
        racks = {rack: column for column, rack in enumerate(state.partitions.racks)}
        partition_rates = [rates.partitions.get(name) for name in state.partitions.names]
        rates_or_unknown = [_UNKNOWN if rate is None else rate.bytes_per_s for rate in partition_rates]
        bytes_per_s = np.array(rates_or_unknown, dtype=np.int64)
        is_known = bytes_per_s != _UNKNOWN
        bytes_per_s[~is_known] = round(float(bytes_per_s[is_known].mean())) if is_known.any() else 0
        leaders = [None if rate is None else rate.leader_rack for rate in partition_rates]
        leader = np.array([_UNKNOWN if rack is None else racks.get(rack, len(racks)) for rack in leaders], np.int64)
        is_leader_remote = (leader[:, None] != np.arange(len(racks))) & (leader[:, None] != _UNKNOWN)
        return cls(
            bytes_per_s=bytes_per_s,
            is_remote=~state.partitions.in_rack if rates.reads_from_nearest else is_leader_remote,
            is_leader_remote=is_leader_remote,
            size_bytes=np.array([0 if rate is None else rate.size_bytes for rate in partition_rates], dtype=np.int64),
            record_bytes=np.array(
                [1 if rate is None else max(1, rate.record_bytes) for rate in partition_rates], dtype=np.int64
            ),
        )


def effective_rates(
    state: ApplicationState, bytes_per_s: Mapping[str, int], rates: TrafficRates | None
) -> TrafficRates | None:
    """Return the rates of the given topics, with the price of `rates`; `rates` if no topic is given.

    Args:
        state: the state with the partitions.
        bytes_per_s: rate of each topic.
        rates: rates of partitions; None if unknown.
    """
    if not bytes_per_s:
        return rates
    return replace(rates_of_topics(state, bytes_per_s), usd_per_gb=None if rates is None else rates.usd_per_gb)


def effective_price(usd_per_gb: float | None, rates: TrafficRates) -> float:
    """Return the given price, else the price of the rates, in US dollars.

    Raises:
        AssignorError: neither is known.
    """
    chosen = rates.usd_per_gb if usd_per_gb is None else usd_per_gb
    if chosen is None:
        raise AssignorError("the price of cross-rack traffic is unknown: set usd_per_gb, or a price in the scenario")
    return chosen


def rates_of_topics(state: ApplicationState, bytes_per_s: Mapping[str, int]) -> TrafficRates:
    """Return the rates of partitions, computed from the rates of topics.

    Leaders are unknown: reads are local wherever a replica is in the rack, and writes do not count.

    Args:
        state: the state with the partitions.
        bytes_per_s: rate of each topic, which its partitions share evenly.
    """
    names = state.partitions.names
    num_partitions = Counter(name.topic for name in names)
    partition_rate = {topic: -(-rate // max(1, num_partitions[topic])) for topic, rate in bytes_per_s.items()}
    partitions = {name: PartitionRate(partition_rate[name.topic]) for name in names if name.topic in partition_rate}
    return TrafficRates(partitions)


def check_topic_rates(bytes_per_s: object) -> Mapping[str, int]:
    """Check rates of topics.

    Returns:
        The rates, read-only and sorted.

    Raises:
        TypeError: the argument is not a mapping.
        ValueError: a rate is not a whole number, or is negative.
    """
    if not isinstance(bytes_per_s, Mapping):
        raise TypeError(
            f"bytes_per_s must map topics to bytes per second, such as {{orders: 5000000}}, not {bytes_per_s!r}"
        )
    for topic, rate in bytes_per_s.items():
        check_count(f"bytes_per_s of {topic}", rate)
    return MappingProxyType({str(topic): int(bytes_per_s[topic]) for topic in sorted(bytes_per_s)})
