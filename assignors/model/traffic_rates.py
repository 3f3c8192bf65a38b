"""How much flows through partitions and out of tasks: what a state as KIP-924 shows it does not tell.

An assignor that weighs bytes is told by its parameters, or by whoever knows the cluster: see `Rated`.
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
from assignors.model.parameters import check_count
from assignors.model.state import ApplicationState

RATES = "rates"
"""The parameter by which an assignor is given a `TrafficRates`; no file can say that."""

_UNKNOWN = -1


class TrafficUnit(StrEnum):
    """In what traffic is counted: partitions, as Kafka does, bytes per second, or US dollars a day."""

    PARTITIONS = "partitions"
    BYTES = "bytes"
    DOLLARS = "dollars"


@dataclass(frozen=True, slots=True)
class PartitionRate:
    """What is known of a partition.

    Attributes:
        bytes_per_s: what is produced to it, and so what each of its readers reads.
        leader_rack: the rack of its leader; None if that is not known.
        size_bytes: what it holds, for a changelog.
        record_bytes: the mean size of its records, for a changelog.
    """

    bytes_per_s: int
    leader_rack: str | None = None
    size_bytes: int = 0
    record_bytes: int = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class TrafficRates:
    """What flows at the usual traffic.

    Attributes:
        partitions: those that tasks read, changelogs included. One that is missing has the mean rate of the others.
        writes: what each task writes to leaders in each rack besides its changelogs, in bytes per second.
        reads_from_nearest: whether consumers are served by a replica in their rack if there is one, not by the leader.
        usd_per_gb: what a gigabyte (10⁹ bytes) costs that crosses racks; None if nobody said.
    """

    partitions: Mapping[TopicPartition, PartitionRate]
    writes: Mapping[TaskId, Mapping[str, int]] = field(default_factory=dict)
    reads_from_nearest: bool = True
    usd_per_gb: float | None = None


@runtime_checkable
class RateAwareAssignor(Protocol):
    """An assignor that may weigh bytes. Where it wants rates, a run gives it those of its world at the start."""

    @property
    def needs_rates(self) -> bool:
        """Whether it weighs bytes, and nobody gave it rates."""
        ...

    def with_rates(self, rates: TrafficRates) -> TaskAssignor:
        """The same assignor, with these."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class PartitionRateColumns:
    """The rates along the P partitions and R racks of a state.

    Attributes:
        bytes_per_s: shape (P,).
        is_remote: shape (P, R); whether what a client in the rack reads of it comes from another rack.
        is_led_elsewhere: shape (P, R); whether what a client in the rack writes to it goes to another rack.
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
        """Lay rates out."""
        racks = {rack: column for column, rack in enumerate(state.partitions.racks)}
        found = [rates.partitions.get(name) for name in state.partitions.names]
        known = [_UNKNOWN if one is None else one.bytes_per_s for one in found]
        per_s = np.array(known, dtype=np.int64)
        is_known = per_s != _UNKNOWN
        per_s[~is_known] = round(float(per_s[is_known].mean())) if is_known.any() else 0
        leaders = [None if one is None else one.leader_rack for one in found]
        leader = np.array([_UNKNOWN if rack is None else racks.get(rack, len(racks)) for rack in leaders], np.int64)
        elsewhere = (leader[:, None] != np.arange(len(racks))) & (leader[:, None] != _UNKNOWN)
        return cls(
            bytes_per_s=per_s,
            is_remote=~state.partitions.in_rack if rates.reads_from_nearest else elsewhere,
            is_leader_remote=elsewhere,
            size_bytes=np.array([0 if one is None else one.size_bytes for one in found], dtype=np.int64),
            record_bytes=np.array([1 if one is None else max(1, one.record_bytes) for one in found], dtype=np.int64),
        )


def effective_rates(
    state: ApplicationState, bytes_per_s: Mapping[str, int], rates: TrafficRates | None
) -> TrafficRates | None:
    """Those of topics if there are any, and at the price of the others; else the others."""
    if not bytes_per_s:
        return rates
    return replace(rates_of_topics(state, bytes_per_s), usd_per_gb=None if rates is None else rates.usd_per_gb)


def effective_price(usd_per_gb: float | None, rates: TrafficRates) -> float:
    """The price that is given, else that of the rates.

    Raises:
        AssignorError: there is none.
    """
    chosen = rates.usd_per_gb if usd_per_gb is None else usd_per_gb
    if chosen is None:
        raise AssignorError("nobody says what a gigabyte costs: give usd_per_gb, or the scenario a price")
    return chosen


def rates_of_topics(state: ApplicationState, bytes_per_s: Mapping[str, int]) -> TrafficRates:
    """The rates where only those of topics are known.

    Nobody knows leaders then: reads are local wherever there is a replica, and writes count for nothing.

    Args:
        state: whose partitions.
        bytes_per_s: what is produced to each topic; its partitions share that evenly.
    """
    names = state.partitions.names
    number = Counter(name.topic for name in names)
    of_each = {topic: -(-rate // max(1, number[topic])) for topic, rate in bytes_per_s.items()}
    partitions = {name: PartitionRate(of_each[name.topic]) for name in names if name.topic in of_each}
    return TrafficRates(partitions)


def check_topic_rates(bytes_per_s: object) -> Mapping[str, int]:
    """Refuse what is no mapping of topics to bytes per second.

    Raises:
        TypeError: it is no mapping.
        ValueError: a rate is not a whole number, or less than 0.
    """
    if not isinstance(bytes_per_s, Mapping):
        raise TypeError(
            f"bytes_per_s says how many bytes are read of each topic, as in {{orders: 5000000}}, not {bytes_per_s!r}"
        )
    for topic, rate in bytes_per_s.items():
        check_count(f"bytes_per_s of {topic}", rate)
    return MappingProxyType({str(topic): int(bytes_per_s[topic]) for topic in sorted(bytes_per_s)})
