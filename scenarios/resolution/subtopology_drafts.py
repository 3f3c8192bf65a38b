"""Subtopologies in the one form that both ways of stating them are brought into."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from scenarios.language.paths import ScenarioPath
from scenarios.resolution.partition_traffic import StatedTraffic

APPLICATION: Final[ScenarioPath] = ("application",)

ReportMistake = Callable[[str], None]
"""Notes a mistake at one place."""


@dataclass(frozen=True, slots=True)
class SourceDraft:
    """A topic that a subtopology reads, by the name it has in the cluster."""

    topic: str
    report_mistake: ReportMistake


@dataclass(frozen=True, slots=True)
class StoreDraft:
    """A store.

    Attributes:
        logged: whether it has a changelog.
        changelog: the source topic that is its changelog, if one is.
        said: what the scenario says about its changelog.
    """

    name: str
    logged: bool
    persistent: bool
    changelog: str | None
    traffic: StatedTraffic | None
    report_mistake: ReportMistake


@dataclass(frozen=True, slots=True)
class RepartitionDraft:
    """A repartition topic that a subtopology writes, by its full name.

    Attributes:
        partitions: how many are asked for, if that is said.
        said: what else the scenario says about it.
    """

    topic: str
    partitions: int | None
    traffic: StatedTraffic | None
    report_mistake: ReportMistake


@dataclass(frozen=True, slots=True)
class ResultDraft:
    """A result topic that a subtopology writes, by the name it has in the cluster."""

    topic: str
    report_mistake: ReportMistake


@dataclass(slots=True)
class SubtopologyDraft:
    """A subtopology.

    Attributes:
        writes: the repartition topics that it writes and that may still have to be made.
        results: the other topics that it writes; they are there.
        copartitioned: groups of sources that need the same number of partitions.
        is_sound: whether all of it is understood.
    """

    id: int
    report_mistake: ReportMistake
    sources: list[SourceDraft] = field(default_factory=list)
    stores: list[StoreDraft] = field(default_factory=list)
    writes: list[RepartitionDraft] = field(default_factory=list)
    results: list[ResultDraft] = field(default_factory=list)
    copartitioned: list[list[SourceDraft]] = field(default_factory=list)
    is_valid: bool = True


def repartition_topic(application_id: str, name: str) -> str:
    """The topic's name in the cluster."""
    return f"{application_id}-{name}-repartition"


def changelog_topic(application_id: str, store: str) -> str:
    """The name of a store's changelog in the cluster."""
    return f"{application_id}-{store}-changelog"
