"""Drafts of subtopologies, common to listed and imported ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from scenarios.language.paths import ScenarioPath
from scenarios.resolution.partition_traffic import StatedTraffic

APPLICATION: Final[ScenarioPath] = ("application",)

ReportMistake = Callable[[str], None]
"""Reports a mistake at a fixed location."""


@dataclass(frozen=True, slots=True)
class SourceDraft:
    """A source topic, by its name in the cluster."""

    topic: str
    report_mistake: ReportMistake


@dataclass(frozen=True, slots=True)
class StoreDraft:
    """A state store.

    Attributes:
        logged: whether the store has a changelog.
        changelog: the source topic that serves as the changelog; None if the changelog is a topic of its own.
        traffic: the traffic that the scenario sets for the changelog.
    """

    name: str
    logged: bool
    persistent: bool
    write_buffer_bytes: int
    changelog: str | None
    traffic: StatedTraffic | None
    report_mistake: ReportMistake


@dataclass(frozen=True, slots=True)
class RepartitionDraft:
    """A repartition topic that a subtopology writes, by its full name.

    Attributes:
        partitions: the requested number of partitions; None if not set.
        traffic: the traffic that the scenario sets.
    """

    topic: str
    partitions: int | None
    traffic: StatedTraffic | None
    report_mistake: ReportMistake


@dataclass(frozen=True, slots=True)
class ResultDraft:
    """A result topic that a subtopology writes, by its name in the cluster."""

    topic: str
    report_mistake: ReportMistake


@dataclass(slots=True)
class SubtopologyDraft:
    """A subtopology.

    Attributes:
        writes: the repartition topics that it writes; they may not exist yet.
        results: the other topics that it writes; they exist.
        copartitioned: groups of sources that must have the same number of partitions.
        is_valid: whether all of it is valid.
    """

    id: int
    report_mistake: ReportMistake
    sources: list[SourceDraft] = field(default_factory=list)
    stores: list[StoreDraft] = field(default_factory=list)
    writes: list[RepartitionDraft] = field(default_factory=list)
    results: list[ResultDraft] = field(default_factory=list)
    copartitioned: list[list[SourceDraft]] = field(default_factory=list)
    is_valid: bool = True
