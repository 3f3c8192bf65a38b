"""The parts of a scenario that events refer to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scenarios.language.errors import Mistakes
from scenarios.language.validation import SourceMap
from scenarios.references.brokers import Brokers, PartitionBudget
from scenarios.references.clients import ResolvedClients
from scenarios.references.imported_files import ImportedFiles
from scenarios.resolution.traffic import ResolvedTraffic
from scenarios.resolution.upgrades import Releases
from scenarios.sampling.blueprint import TopicBlueprint
from simulator.world.world import Subtopology


@dataclass(frozen=True, slots=True)
class EventContext:
    """The parts of a scenario that events refer to, the reader of files, and the collectors of mistakes.

    Attributes:
        brokers: the resolved brokers.
        topics: the valid topics, by name.
        all_topics: the names of all topics; None if not all are known.
        subtopologies: the valid subtopologies of the application.
        budget: the number of partitions that can still be added.
        duration_ms: the end of the run; None if unknown.
        releases: the releases of brokers and clients.
        files: reads imported files.
        source_map: collects mistakes at paths of the scenario.
        mistakes: collects mistakes in other files.
    """

    brokers: Brokers
    clients: ResolvedClients
    topics: Mapping[str, TopicBlueprint]
    all_topics: frozenset[str] | None
    subtopologies: tuple[Subtopology, ...]
    budget: PartitionBudget
    traffic: ResolvedTraffic
    duration_ms: int | None
    releases: Releases
    files: ImportedFiles
    source_map: SourceMap
    mistakes: Mistakes
