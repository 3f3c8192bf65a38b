"""What events refer to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scenarios.blueprint import TopicPlan
from scenarios.errors import Mistakes
from scenarios.resolution.brokers import Brokers
from scenarios.resolution.clients import ClientsDraft
from scenarios.resolution.files import Files
from scenarios.resolution.traffic import TrafficDraft
from scenarios.validation import Places


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What events refer to, and who reads files and takes mistakes.

    Attributes:
        topics: those that are understood, by name.
        all_topics: the names of all topics; None if not all are known.
        traffic: how much flows over the day, and to which topics.
        duration_ms: when the run ends; None if not known.
    """

    brokers: Brokers
    clients: ClientsDraft
    topics: Mapping[str, TopicPlan]
    all_topics: frozenset[str] | None
    traffic: TrafficDraft
    duration_ms: int | None
    files: Files
    places: Places
    mistakes: Mistakes
