"""What events refer to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scenarios.language.errors import Mistakes
from scenarios.language.validation import SourceMap
from scenarios.resolution.brokers import Brokers
from scenarios.resolution.clients import ResolvedClients
from scenarios.resolution.imported_files import ImportedFiles
from scenarios.resolution.traffic import ResolvedTraffic
from scenarios.sampling.blueprint import TopicBlueprint


@dataclass(frozen=True, slots=True)
class EventContext:
    """What events refer to, and who reads files and takes mistakes.

    Attributes:
        topics: those that are understood, by name.
        all_topics: the names of all topics; None if not all are known.
        traffic: how much flows over the day, and to which topics.
        duration_ms: when the run ends; None if not known.
    """

    brokers: Brokers
    clients: ResolvedClients
    topics: Mapping[str, TopicBlueprint]
    all_topics: frozenset[str] | None
    traffic: ResolvedTraffic
    duration_ms: int | None
    files: ImportedFiles
    source_map: SourceMap
    mistakes: Mistakes
