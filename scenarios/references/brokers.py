"""Resolve the brokers and their racks, and check references to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scenarios.kafka.formats.broker_list import ListedBroker
from scenarios.kafka.formats.topics import DescribedTopic
from scenarios.language.cluster_entries import BrokerEntry, BrokerPool, ClusterSection
from scenarios.language.errors import format_list, format_value
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.validation import SourceMap
from scenarios.references.imported_files import ImportedContent
from scenarios.sampling.blueprint import MAX_BROKERS, MAX_PARTITIONS, MAX_REPLICAS
from simulator.world.world import Broker

CLUSTER: ScenarioPath = ("cluster",)
_BROKERS: ScenarioPath = (*CLUSTER, "brokers")


@dataclass(frozen=True, slots=True)
class Brokers:
    """The resolved brokers.

    Attributes:
        known: all brokers; None if any of them is invalid.
        source_map: collects mistakes in references to brokers.
    """

    known: tuple[Broker, ...] | None
    source_map: SourceMap

    @property
    def ids(self) -> list[int]:
        """Return the broker ids, in the order of the scenario."""
        return [broker.id for broker in self.known or ()]

    @property
    def racks(self) -> list[str]:
        """Return the racks with brokers, sorted."""
        return sorted({broker.rack for broker in self.known or () if broker.rack is not None})

    def check_rack(self, rack: str, path: ScenarioPath, others: Iterable[str] = ()) -> None:
        """Report a rack that is neither a rack of brokers nor one of `others`."""
        racks = sorted({*self.racks, *others})
        if self.known is not None and rack not in racks:
            known = format_list("racks", racks) if racks else "no broker has a rack"
            self.source_map.add_mistake(path, f"unknown rack {format_value(rack)} ({known})")

    def check_ids(self, ids: Sequence[int], path: ScenarioPath) -> bool:
        """Report unknown and duplicate broker ids; return whether all are valid."""
        duplicates = [broker for broker, count in Counter(ids).items() if count > 1]
        if duplicates:
            self.source_map.add_mistake(path, f"duplicate broker {duplicates[0]}")
            return False
        unknown = [broker for broker in ids if broker not in self.ids]
        if self.known is not None and unknown:
            self.source_map.add_mistake(path, f"unknown broker {unknown[0]} ({format_list('brokers', self.ids)})")
            return False
        return True

    def check_placement(self, factor: int, path: ScenarioPath) -> bool:
        """Report a replication factor that Kafka could not place; return whether it could."""
        if self.known is None:
            return False
        if factor > len(self.known):
            self.source_map.add_mistake(
                path, f"{factor} replicas need at least as many brokers, but the cluster has {len(self.known)}"
            )
            return False
        rackless = [broker.id for broker in self.known if broker.rack is None]
        if rackless and len(rackless) < len(self.known):
            rule = "Kafka places replicas only if all brokers have a rack or none has"
            self.source_map.add_mistake(_BROKERS, f"{rule} ({format_list('brokers without rack', rackless)})")
            return False
        return True


class PartitionBudget:
    """The number of partitions and replicas that can still be added; exceeding it is a mistake."""

    def __init__(self, source_map: SourceMap) -> None:
        self._source_map = source_map
        self._partitions = MAX_PARTITIONS
        self._replicas = MAX_REPLICAS

    def reserve(self, partitions: int, factor: int) -> bool:
        """Reserve partitions with this replication factor; return whether they fit."""
        self._partitions -= partitions
        self._replicas -= partitions * factor
        if self._partitions < 0:
            limit = f"more than {MAX_PARTITIONS:,} partitions, internal topics included"
        elif self._replicas < 0:
            limit = f"more than {MAX_REPLICAS:,} replicas, internal topics included"
        else:
            return True
        self._source_map.add_mistake(CLUSTER, f"{limit}: the maximum that can be simulated")
        return False


def resolve_brokers(
    section: ClusterSection,
    described: ImportedContent[tuple[ListedBroker, ...]] | None,
    topics: ImportedContent[tuple[DescribedTopic, ...]] | None,
    source_map: SourceMap,
) -> Brokers:
    """Resolve the brokers from the scenario, else from a file, else from the replicas of imported topics."""
    return Brokers(_resolve(section, described, topics, source_map), source_map)


def _resolve(
    section: ClusterSection,
    described: ImportedContent[tuple[ListedBroker, ...]] | None,
    topics: ImportedContent[tuple[DescribedTopic, ...]] | None,
    source_map: SourceMap,
) -> tuple[Broker, ...] | None:
    if not source_map.is_valid(*_BROKERS):
        return None
    if section.brokers is not None:
        if section.files is not None and section.files.brokers is not None:
            source_map.add_mistake(_BROKERS, "conflicts with cluster.from.brokers; remove one of the two")
            return None
        if isinstance(section.brokers, BrokerPool):
            return _expand_pool(section.brokers, source_map)
        return _list(section.brokers, source_map)
    if described is not None:
        return tuple(
            Broker(broker.id, broker.rack, None, broker.capacity_bytes, broker.capacity_bytes_per_s)
            for broker in described.content
        )
    if not source_map.is_valid(*CLUSTER, "from"):
        return None
    if topics is not None:
        ids = {broker for topic in topics.content for replicas in topic.replicas for broker in replicas}
        return tuple(Broker(broker) for broker in sorted(ids))
    source_map.add_mistake(
        CLUSTER, "no brokers; set brokers: {count: 3, racks: [az1, az2, az3]}, or from: {brokers: FILE}"
    )
    return None


def _expand_pool(pool: BrokerPool, source_map: SourceMap) -> tuple[Broker, ...] | None:
    if pool.count > MAX_BROKERS:
        source_map.add_mistake((*_BROKERS, "count"), f"{pool.count:,} is too large (at most {MAX_BROKERS:,})")
        return None
    racks = list(pool.racks or [])
    limits = pool.restore, pool.capacity, pool.throughput, pool.replication
    return tuple(
        Broker(pool.first_id + i, racks[i % len(racks)] if racks else None, *limits) for i in range(pool.count)
    )


def _list(entries: Sequence[BrokerEntry], source_map: SourceMap) -> tuple[Broker, ...] | None:
    brokers: dict[int, Broker] = {}
    has_unique_ids = True
    for i, entry in valid_entries(entries):
        if entry.id in brokers:
            source_map.add_mistake((*_BROKERS, i, "id"), f"{entry.id} is also the id of another broker")
            has_unique_ids = False
        brokers[entry.id] = Broker(
            entry.id, entry.rack, entry.restore, entry.capacity, entry.throughput, entry.replication
        )
    if len(brokers) > MAX_BROKERS:
        source_map.add_mistake(_BROKERS, f"{len(brokers):,} brokers are too many (maximum {MAX_BROKERS:,})")
        return None
    return tuple(brokers.values()) if has_unique_ids else None
