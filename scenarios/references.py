"""What other sections of a scenario refer to: imported files, brokers with their racks, and clients."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Generic, TypeVar

from assignors.errors import ConfigError
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId
from scenarios.kafka.formats.broker_list import ListedBroker
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.topics import DescribedTopic
from scenarios.language import paths
from scenarios.language.application_entries import ClientEntry
from scenarios.language.client_configs import AssignorConfigs
from scenarios.language.cluster_entries import BrokerEntry, BrokerPool, ClusterSection
from scenarios.language.errors import Mistake, Mistakes, did_you_mean, format_list, format_value
from scenarios.language.fields import invalid_entries, valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.releases import FIRST_STREAMS_GROUP_RELEASE, parse_release
from scenarios.language.text_files import MAX_IMPORT_BYTES, UnreadableError, read_text
from scenarios.language.validation import SourceMap
from scenarios.sampling.blueprint import (
    MAX_BROKERS,
    MAX_CLIENTS,
    MAX_PARTITIONS,
    MAX_REPLICAS,
    MAX_THREADS,
    ClientBlueprint,
)
from simulator.world.group_configs import GroupConfigs
from simulator.world.world import Broker, HeldTasks, OffsetReports

_CLIENTS: ScenarioPath = ("clients",)
MAX_TAG_KEY: Final = 20
MAX_TAG_VALUE: Final = 30


@dataclass(slots=True)
class ResolvedClients:
    """The resolved clients.

    Attributes:
        plans: the valid clients, in the order of the scenario.
        groups: the clients by name, and the clients of an entry that defines several by the entry's name.
        is_complete: whether the names of all clients are known.
        origins: the path of the entry of each client.
        scaled: the clients that an autoscaler of a manifest starts and stops.
    """

    plans: tuple[ClientBlueprint, ...]
    groups: dict[str, tuple[str, ...]]
    is_complete: bool
    origins: dict[str, ScenarioPath]
    scaled: frozenset[str] = frozenset()

    def find(self, names: Sequence[str], path: ScenarioPath, source_map: SourceMap) -> tuple[str, ...]:
        """Return the clients that names refer to, without duplicates; report unknown names."""
        clients: dict[str, None] = {}
        for i, name in enumerate(names):
            if name in self.groups:
                clients.update(dict.fromkeys(self.groups[name]))
            elif self.is_complete:
                name_path = path if len(names) == 1 else (*path, i)
                hint = did_you_mean(name, list(self.groups), "clients")
                source_map.add_mistake(name_path, f"unknown client {format_value(name)} ({hint})")
        return tuple(clients)

    def check_tags(self, tags: Sequence[str], path: ScenarioPath, source_map: SourceMap) -> None:
        """Report the first client without one of `rack.aware.assignment.tags`, which Kafka Streams refuses to start."""
        for plan in self.plans:
            for tag in tags:
                if tag not in plan.tags and source_map.is_valid(*self.origins[plan.name]):
                    own_tags = format_list("tags", sorted(plan.tags))
                    source_map.add_mistake(
                        path,
                        f"client '{plan.name}' has no tag {format_value(tag)} ({own_tags}); Kafka refuses to start it",
                    )
                    return


def check_configs(configs: AssignorConfigs, path: ScenarioPath, source_map: SourceMap) -> dict[str, object]:
    """Report the configs that Kafka rejects; return the valid configs that are set, by field of `AssignmentConfigs`."""
    valid: dict[str, object] = {}
    for name, value in configs.changes().items():
        try:
            AssignmentConfigs(**{name: value})
        except ConfigError as error:
            key = AssignorConfigs.model_fields[name].alias or name
            source_map.add_mistake((*path, key), str(error.args[0]))
        else:
            valid[name] = value
    return valid


def check_membership(
    entries: Sequence[ClientEntry], groups: Iterable[GroupConfigs], releases: tuple[str, str], source_map: SourceMap
) -> None:
    """Report static members if no group can have any: Kafka refuses them in streams groups before 4.4.

    `groups`: the configs of the application's group, and of its group with each assignor; `releases`: the Kafka
    releases of clients and brokers.
    """
    if any(group.has_static_members for group in groups):
        return
    clients, brokers = releases
    for i, entry in valid_entries(entries):
        if entry.static_membership:
            message = (
                "Kafka rejects group.instance.id with group.protocol: streams before 4.4 "
                f"(application.kafka: {clients}, cluster.kafka: {brokers}); state 4.4 or remove it"
            )
            source_map.add_mistake(("clients", i, "static_membership"), message)


def check_streams_group(
    releases: tuple[str | None, str | None], path: ScenarioPath, *, is_stated: bool, source_map: SourceMap
) -> None:
    """Report clients that have no streams groups, and warn about brokers that damage a group of another protocol.

    `releases`: the Kafka releases of clients and brokers, as stated. `path`: where the release of the clients is
    stated. `is_stated` says whether the protocol is stated beside the release of the clients; if only assignors to
    compare have it, such clients are a warning.

    Source: KIP-1071; the upgrade notes of Kafka 4.2.
    """
    clients, brokers = releases
    if clients is not None and parse_release(clients) < FIRST_STREAMS_GROUP_RELEASE:
        message = (
            f"Kafka Streams {clients} has no streams groups; state 4.1 or later, or remove group.protocol: streams"
        )
        report = source_map.add_mistake if is_stated else source_map.add_warning
        report(path, message)
    if brokers == "4.2.0":
        message = (
            "brokers of 4.2.0 damage a classic group that becomes a streams group (KAFKA-20254); if the application "
            "had one, upgrade the brokers first"
        )
        source_map.add_warning(("cluster", "kafka"), message)


def warn_about_leak(clients: str | None, source_map: SourceMap) -> None:
    """Warn about a release of clients that runs out of memory.

    Source: the upgrade guide of Kafka Streams 4.2, "Streams API changes in 4.1.0".
    """
    if clients == "4.1.0":
        message = (
            "Kafka Streams 4.1.0 leaks memory in range scans, session and sliding windows and joins of streams "
            "(KAFKA-19748); state 4.1.1 or later"
        )
        source_map.add_warning(("application", "kafka"), message)


def resolve_clients(entries: Sequence[ClientEntry], threads: int, source_map: SourceMap) -> ResolvedClients:
    """Resolve the clients, by default with `threads` threads each, and report mistakes."""
    draft = ResolvedClients(
        (), {}, is_complete=not invalid_entries(entries) and source_map.is_present(*_CLIENTS), origins={}
    )
    process_ids: dict[ProcessId, str] = {}
    plans: list[ClientBlueprint] = []
    num_threads = 0
    for i, entry in valid_entries(entries):
        path = (*_CLIENTS, i)
        if not source_map.is_valid(*path) and entry.count is None:
            # The invalid part may be a count, so the entry may define several clients.
            draft.is_complete = False
        if len(plans) + (entry.count or 1) > MAX_CLIENTS:
            source_map.add_mistake(path, f"more than {MAX_CLIENTS:,} clients: the maximum that can be simulated")
            draft.is_complete = False
            break
        num_threads += (entry.count or 1) * (entry.threads or threads)
        if num_threads > MAX_THREADS:
            source_map.add_mistake(path, f"more than {MAX_THREADS:,} threads: the maximum that can be simulated")
            draft.is_complete = False
            break
        _check_entry(entry, path, source_map)
        process_id = _process_id(entry, path, process_ids, source_map)
        names = _names(entry)
        for name in dict.fromkeys([entry.name, *names]):
            if name in draft.groups:
                source_map.add_mistake((*path, "name"), f"{format_value(name)} is also the name of another client")
        draft.groups.update({name: (name,) for name in names})
        draft.groups[entry.name] = names
        draft.origins.update(dict.fromkeys(names, path))
        plans.extend(_plan(entry, k, name, process_id, threads) for k, name in enumerate(names))
    draft.plans = tuple(plans)
    return draft


def _names(entry: ClientEntry) -> tuple[str, ...]:
    return (entry.name,) if entry.count is None else tuple(f"{entry.name}-{i}" for i in range(entry.count))


def _plan(entry: ClientEntry, number: int, name: str, process_id: ProcessId | None, threads: int) -> ClientBlueprint:
    rack = entry.racks[number % len(entry.racks)] if entry.racks else entry.rack
    return ClientBlueprint(
        name=name,
        process_id=process_id,
        rack=rack,
        threads=entry.threads or threads,
        tags=dict(entry.tags),
        restore_bytes_per_s=entry.restore,
        starts=entry.starts,
        announces_rack=entry.client_rack,
        records_per_s=entry.records_per_s,
        is_static=entry.static_membership,
        reports=OffsetReports(entry.reports),
        tasks=HeldTasks(),
    )


def _check_entry(entry: ClientEntry, path: ScenarioPath, source_map: SourceMap) -> None:
    if entry.rack is not None and entry.racks is not None:
        source_map.add_mistake((*path, "racks"), "conflicts with rack; set rack, or racks for several clients")
    elif entry.racks is not None and entry.count is None and source_map.is_valid(*path, "count"):
        source_map.add_mistake((*path, "racks"), "one client has one rack; set rack, or count for several clients")
    if "client_rack" in entry.model_fields_set and not (entry.rack or entry.racks) and source_map.is_valid(*path):
        source_map.add_mistake((*path, "client_rack"), "the client has no rack; set rack, or racks for several clients")
    for key, value in entry.tags.items():
        if len(key) > MAX_TAG_KEY:
            source_map.add_mistake((*path, "tags", key), f"the tag key is too long (maximum {MAX_TAG_KEY} characters)")
        if len(value) > MAX_TAG_VALUE:
            source_map.add_mistake(
                (*path, "tags", key), f"{format_value(value)} is too long (maximum {MAX_TAG_VALUE} characters)"
            )


def _process_id(
    entry: ClientEntry, path: ScenarioPath, used_ids: dict[ProcessId, str], source_map: SourceMap
) -> ProcessId | None:
    if entry.process_id is None:
        return None
    path = (*path, "process_id")
    if entry.count is not None:
        source_map.add_mistake(path, "several clients cannot share a process id; define one entry per client")
        return None
    try:
        process_id = ProcessId.parse(entry.process_id)
    except ValueError:
        example = "80000000-0000-0000-0000-000000000001"
        source_map.add_mistake(
            path, f"{format_value(entry.process_id)} is not a process id (a UUID, such as {example})"
        )
        return None
    if process_id in used_ids:
        source_map.add_mistake(path, f"{entry.process_id} is also the process id of '{used_ids[process_id]}'")
    used_ids[process_id] = entry.name
    return process_id


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ImportedContent(Generic[T]):
    """The parsed content of a file, whose name for messages is `source`."""

    source: str
    content: T


_KEPT_CHARACTERS: Final = 1_000_000
"""Length up to which the content of a file is kept: a search or sweep loads it for each of its scenarios."""


@lru_cache(maxsize=8)
def _parsed(parse: Callable[[str], T], text: str) -> T:
    return parse(text)


class ImportedFiles:
    """Reads the files and folders that a scenario names, relative to its folder.

    `digests`: SHA-256 of each file or folder that was read, by name in the scenario.
    """

    def __init__(self, folder: Path, source_map: SourceMap, mistakes: Mistakes) -> None:
        self._folder = folder
        self._source_map = source_map
        self._mistakes = mistakes
        self.digests: dict[str, str] = {}

    def read(
        self,
        path: paths.ScenarioPath,
        name: str | None,
        parse: Callable[[str], T],
        max_bytes: int = MAX_IMPORT_BYTES,
    ) -> ImportedContent[T] | None:
        """Read and parse a file, and report mistakes.

        `path`: the path of the file name in the scenario. `name`: the file name; None if not set. `max_bytes`: the
        maximum size of the file. The result is None if the name is not set or the file is invalid.
        """
        if name is None:
            return None
        source = str(self._folder / name)
        try:
            text = read_text(Path(source), max_bytes, f"longer than {max_bytes:,} bytes")
            self.digests[name] = hashlib.sha256(text.encode()).hexdigest()
            return ImportedContent(source, _parsed(parse, text) if len(text) <= _KEPT_CHARACTERS else parse(text))
        except UnreadableError as error:
            self._source_map.add_mistake(path, f"'{error.place(source)}': {error}")
        except FormatError as error:
            self._mistakes.add(Mistake(source, error.line, "", str(error)))
        self._source_map.mark_invalid(path)
        return None

    def read_folder(
        self, path: paths.ScenarioPath, name: str, read: Callable[[Path], tuple[T, str]]
    ) -> ImportedContent[T] | None:
        """Read a folder, and report mistakes.

        `path`: the path of the folder name in the scenario. `read`: the reader; returns the content and its SHA-256.
        The result is None if the folder is invalid.
        """
        source = str(self._folder / name)
        try:
            content, digest = read(Path(source))
            earlier = self.digests.get(name)  # of other tables of the folder
            self.digests[name] = digest if earlier is None else hashlib.sha256((earlier + digest).encode()).hexdigest()
            return ImportedContent(source, content)
        except FormatError as error:
            self._source_map.add_mistake(path, f"'{source}': {error}")
        self._source_map.mark_invalid(path)
        return None


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
