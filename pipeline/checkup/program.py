"""The program of a checkup: which situations, settings and areas there are for one kind of subject."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from statistics import mean
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

from pipeline.checkup.runs import SituationRuns
from reports.analysis.checkup.area import Area, worst_situation
from reports.analysis.checkup.report import CheckupSubject, ReportCard, Rollout, SeedRuns
from reports.analysis.recommendation import SettingChange
from scenarios.checkup.base import Document
from scenarios.checkup.situations import LeftOut, Situation
from scenarios.load import Scenario
from scenarios.resolution.config_warnings import FAILURES, describe_default_factor

Setting = TypeVar("Setting", bound=Hashable)
"""What a checkup may change: configs, and how clients start and close."""

STEADY: Final = "steady"
"""The situation without events."""


class CheckupSettings(Protocol[Setting]):
    """The settings of a scenario."""

    @property
    def scenario(self) -> Scenario:
        """The scenario."""

    @property
    def today(self) -> Setting:
        """The current setting."""

    @property
    def renames_members(self) -> bool:
        """Whether static membership is left out because a rollout gives members new names."""

    def single_changes(self) -> list[Setting]:
        """Return the settings that differ from the current one in one change, with what it needs to have an effect."""

    def combine(self, one: Setting, other: Setting) -> Setting | None:
        """Return a setting with the changes of two; None if they exclude each other."""

    def without_each_change(self, setting: Setting) -> list[Setting]:
        """Return the settings with one change less."""

    def is_migration(self, setting: Setting) -> bool:
        """Return whether a setting needs a migration for which a checkup never recommends it."""

    def document(self, situation: Document, setting: Setting) -> Document:
        """Return the scenario of a situation with a setting."""

    def describe(self, setting: Setting) -> str:
        """Return the changes of a setting in one line; `current` without any."""

    def changes(self, setting: Setting) -> tuple[SettingChange, ...]:
        """Return the configs that a setting changes."""


class CheckupProgram(ABC, Generic[Setting]):
    """The situations, settings and areas of a scenario.

    Attributes:
        subject: what is checked.
        areas: the areas to grade.
        left_out: the situations that the subject cannot have.
    """

    subject: ClassVar[CheckupSubject]
    areas: ClassVar[tuple[Area, ...]]
    settings: CheckupSettings[Setting]
    situations: Sequence[Situation]
    left_out: Sequence[LeftOut]

    @abstractmethod
    def shown_metrics(self, key: str) -> tuple[str, ...]:
        """Return the metrics of a situation that are compared between the current and the recommended setting."""

    @abstractmethod
    def size(self) -> str:
        """Return the size of the subject in one line."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Return what the grades depend on: topics, clients, brokers and configs."""

    @abstractmethod
    def evidence(self, runs: SeedRuns) -> Mapping[str, str]:
        """Return further figures of the current setting by area."""

    @abstractmethod
    def rollout(
        self, setting: Setting, before: ReportCard, after: ReportCard, run_requests: SituationRuns, seeds: Sequence[int]
    ) -> Rollout:
        """Simulate the rollout of a setting, if the simulation can change it during a run.

        `before`: report card of the current setting. Returns how to roll out, the predicted figures, and how to verify
        it.
        """

    def remarks(self) -> tuple[str, ...]:
        """Return remarks on the subject, one sentence each."""
        return tuple(self._remarks())

    def _remarks(self) -> Iterator[str]:
        defaulted = self.settings.scenario.blueprint.topics_with_default_factor()
        events = [event for situation in self.situations for event in situation.document["events"]]
        if defaulted and any(kind in event for event in events for kind in FAILURES):
            yield (
                f"{describe_default_factor(defaulted)}. The failure of a broker therefore stops tasks, which counts "
                "for Availability; set the value of the real cluster under cluster.configs."
            )
        if self.settings.renames_members:
            yield (
                "Static membership is not tried: a rollout gives the pods of a Deployment new names, so that the "
                "static members that they replace would keep their tasks until session.timeout.ms is over. Pods of a "
                "StatefulSet keep their names."
            )


def counted_racks(racks: Iterable[str | None]) -> dict[str, int]:
    """Return how often each rack occurs, by name."""
    counts = Counter("unknown" if rack is None else rack for rack in racks)
    return dict(sorted(counts.items()))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def zones(racks: Iterable[str | None]) -> str:
    """Return the number of zones of clients."""
    known = {rack for rack in racks if rack is not None}
    return counted(len(known), "zone") if known else "unknown zones"


def unavailable_evidence(areas: Iterable[Area], runs: SeedRuns) -> Mapping[str, str]:
    """Return how many partitions the worst failure makes unavailable, as evidence of availability."""
    availability = next(area for area in areas if area.key == "availability")
    key = worst_situation(availability, runs[0])
    unavailable = 0 if key is None else runs[0][key].metrics["unavailable_partitions"]
    if not unavailable:
        return {}
    return {
        "availability": f"{unavailable:,} partition{' has' if unavailable == 1 else 's have'} no leader or too few "
        "in-sync replicas in the failure, so no setting of clients helps: check their replication factors"
    }


def mean_metric(runs: SeedRuns, key: str, name: str) -> float | None:
    """Return the mean of a metric in a situation; None if a run does not know it."""
    values = [run[key].metrics[name] for run in runs]
    return None if None in values else float(mean(values))
