"""Rates and sizes of whole topics, made into one of each partition."""

from __future__ import annotations

from dataclasses import dataclass

from scenarios.language.application_entries import RepartitionEntry, StoreEntry
from scenarios.language.cluster_entries import PartitionDefaults, TopicEntry
from scenarios.language.paths import ScenarioPath
from scenarios.language.validation import SourceMap


@dataclass(frozen=True, slots=True)
class PartitionTraffic:
    """What a topic's partitions have, one entry a partition."""

    bytes_per_s: tuple[int, ...]
    size_bytes: tuple[int, ...]
    record_bytes: int


@dataclass(frozen=True, slots=True)
class StatedTraffic:
    """What a scenario says about the traffic of a topic, and where; None where it says nothing."""

    path: ScenarioPath
    bytes_per_s: int | list[int] | None
    size: int | list[int] | None
    record_size: int | None

    @classmethod
    def of(cls, entry: TopicEntry | RepartitionEntry | StoreEntry, path: ScenarioPath) -> StatedTraffic:
        """What an entry says that stands at a path."""
        return cls(path, entry.bytes_per_s, entry.size, entry.record_size)

    @property
    def keys(self) -> frozenset[str]:
        """The keys of which it says something."""
        stated = {"bytes_per_s": self.bytes_per_s, "size": self.size, "record_size": self.record_size}
        return frozenset(key for key, value in stated.items() if value is not None)


def split_evenly(total: int, num_partitions: int) -> tuple[int, ...]:
    """Split a total evenly; the first partitions have what does not divide."""
    each, rest = divmod(total, num_partitions)
    return (each + 1,) * rest + (each,) * (num_partitions - rest)


def default_traffic(num_partitions: int, defaults: PartitionDefaults) -> PartitionTraffic:
    """What partitions have of which nothing is said."""
    return PartitionTraffic(
        (defaults.bytes_per_s,) * num_partitions, (defaults.size,) * num_partitions, defaults.record_size
    )


def resolve_partition_traffic(
    num_partitions: int, base: PartitionTraffic, stated: StatedTraffic, source_map: SourceMap
) -> PartitionTraffic:
    """What partitions have: what is said, and for the rest the base."""
    return PartitionTraffic(
        _each(num_partitions, stated.bytes_per_s, base.bytes_per_s, (*stated.path, "bytes_per_s"), source_map),
        _each(num_partitions, stated.size, base.size_bytes, (*stated.path, "size"), source_map),
        base.record_bytes if stated.record_size is None else stated.record_size,
    )


def _each(
    num_partitions: int,
    value: int | list[int] | None,
    otherwise: tuple[int, ...],
    path: ScenarioPath,
    source_map: SourceMap,
) -> tuple[int, ...]:
    if value is None:
        return otherwise
    if isinstance(value, int):
        return split_evenly(value, num_partitions)
    if len(value) != num_partitions:
        source_map.add_mistake(path, f"{len(value)} given, but the topic has {num_partitions} partitions")
        return otherwise
    return tuple(value)
