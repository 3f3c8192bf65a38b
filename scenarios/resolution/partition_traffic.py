"""Resolve rates and sizes of topics into values per partition."""

from __future__ import annotations

from dataclasses import dataclass

from scenarios.language.application_entries import RepartitionEntry, StoreEntry
from scenarios.language.cluster_entries import PartitionDefaults, TopicEntry
from scenarios.language.paths import ScenarioPath
from scenarios.language.validation import SourceMap
from simulator.plurals import counted


@dataclass(frozen=True, slots=True)
class PartitionTraffic:
    """The rates and sizes of a topic's partitions; tuples have one entry per partition."""

    bytes_per_s: tuple[int, ...]
    size_bytes: tuple[int, ...]
    record_bytes: int


@dataclass(frozen=True, slots=True)
class StatedTraffic:
    """The traffic that a scenario sets for a topic; None where it sets nothing.

    Attributes:
        path: the path of the topic in the scenario.
        bytes_per_s: rate of the whole topic, or rates per partition.
        size: size of the whole topic, or sizes per partition.
        record_size: mean record size.
    """

    path: ScenarioPath
    bytes_per_s: int | list[int] | None
    size: int | list[int] | None
    record_size: int | None

    @classmethod
    def of(cls, entry: TopicEntry | RepartitionEntry | StoreEntry, path: ScenarioPath) -> StatedTraffic:
        """Return the traffic that the entry at this path sets."""
        return cls(path, entry.bytes_per_s, entry.size, entry.record_size)

    @property
    def keys(self) -> frozenset[str]:
        """Return the keys that are set."""
        stated = {"bytes_per_s": self.bytes_per_s, "size": self.size, "record_size": self.record_size}
        return frozenset(key for key, value in stated.items() if value is not None)


def split_evenly(total: int, num_partitions: int) -> tuple[int, ...]:
    """Split a total evenly over partitions; the first ones get the remainder."""
    quotient, remainder = divmod(total, num_partitions)
    return (quotient + 1,) * remainder + (quotient,) * (num_partitions - remainder)


def default_traffic(num_partitions: int, defaults: PartitionDefaults) -> PartitionTraffic:
    """Return the default traffic of partitions."""
    return PartitionTraffic(
        (defaults.bytes_per_s,) * num_partitions, (defaults.size,) * num_partitions, defaults.record_size
    )


def resolve_partition_traffic(
    num_partitions: int, base: PartitionTraffic, stated: StatedTraffic, source_map: SourceMap
) -> PartitionTraffic:
    """Return the traffic of partitions: the values that are set, or else the base values."""
    return PartitionTraffic(
        _resolve_values(
            num_partitions, stated.bytes_per_s, base.bytes_per_s, (*stated.path, "bytes_per_s"), source_map
        ),
        _resolve_values(num_partitions, stated.size, base.size_bytes, (*stated.path, "size"), source_map),
        base.record_bytes if stated.record_size is None else stated.record_size,
    )


def _resolve_values(
    num_partitions: int,
    value: int | list[int] | None,
    base: tuple[int, ...],
    path: ScenarioPath,
    source_map: SourceMap,
) -> tuple[int, ...]:
    if value is None:
        return base
    if isinstance(value, int):
        return split_evenly(value, num_partitions)
    if len(value) != num_partitions:
        partitions = counted(num_partitions, "partition")
        source_map.add_mistake(path, f"{counted(len(value), 'value')}, but the topic has {partitions}")
        return base
    return tuple(value)
