"""The program of a checkup: which situations, settings and areas there are for one kind of subject.

What the rollouts of all programs share: seeds, ranges of figures, and how to verify the grades afterwards.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import mean
from typing import Any, ClassVar, Final, Generic

import numpy as np

from pipeline.advise.evaluator import Setting, SituationRuns
from reports.analysis.checkup.areas import Area, worst_situation
from reports.analysis.checkup.report import CheckupSubject, ReportCard, Rollout, SeedRuns
from reports.analysis.metrics import METRIC
from reports.analysis.recommendation import SettingChange
from scenarios.checkup.situations import Document, LeftOut, Situation
from scenarios.events.event_entry import FAILURES
from scenarios.load import AssignorSpec, Scenario
from scenarios.resolution.config_warnings import describe_default_factor
from scenarios.run_estimate import count_tasks
from simulator.plurals import counted

LABEL: Final = "checkup"
"""Label of the only assignor of each scenario."""

STEADY: Final = "steady"

SEEDS: Final = 10
"""Minimum number of seeds of a rollout: which member leads is random, and matters while configs are mixed."""

HOURS: Final = 24
"""Duration of a simulated rollout, in hours."""

START: Final = "10m"

RolloutValues = Mapping[str, Sequence[float]]
"""The metrics of a rollout by key, with a value for each seed."""


def rollout_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """Return the seeds of a rollout: those of the comparison, and further ones up to `SEEDS`."""
    return tuple(range(seeds[0], seeds[0] + max(SEEDS, len(seeds))))


def known_values(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[float]]]:
    """Yield the metrics that all runs have, with a value for each run."""
    for name in names:
        values = [METRIC[name].of(row) for row in rows]
        known = [float(value) for value in values if value is not None]
        if known and len(known) == len(values):
            yield name, known


def build_rollout(note: str, steps: Iterator[str], checks: Iterator[str], values: RolloutValues) -> Rollout:
    """Return a rollout with the mean and the range of each metric."""
    metrics = {name: float(np.mean(known)) for name, known in values.items()}
    ranges = {name: (min(known), max(known)) for name, known in values.items()}
    return Rollout(note, tuple(steps), tuple(checks), metrics, ranges)


def format_range(values: Sequence[float], format_value: Callable[[float], str]) -> str:
    """Return the lowest and the highest of some values, or the only one."""
    lowest, highest = format_value(min(values)), format_value(max(values))
    return lowest if lowest == highest else f"{lowest} to {highest}"


def grade_checks(before: ReportCard, after: ReportCard, subject: str) -> Iterator[str]:
    """Yield which grades another checkup of the subject should find after a rollout, if any is another one."""
    better = [
        (old, new)
        for old, new in zip(before.areas, after.areas, strict=True)
        if old.grade is not None and new.grade is not None and old.grade != new.grade
    ]
    if better:
        grades = ", ".join(f"{old.definition.title} {old.grade} → {new.grade}" for old, new in better)
        yield f"Import the {subject} again and repeat the checkup: {grades}."


class CheckupProgram(ABC, Generic[Setting]):
    """The situations, settings and areas of a scenario.

    Attributes:
        task: what is assigned, in the singular.
        thread: what it is assigned to.
        shown_metrics: metrics of situations that are compared between the current and the recommended setting.
        other_metrics: those of all other situations.
        left_out: the situations that the subject cannot have.
        renames_members: whether static membership is left out because a rollout gives members new names.
    """

    subject: ClassVar[CheckupSubject]
    areas: ClassVar[tuple[Area, ...]]
    task: ClassVar[str]
    thread: ClassVar[str]
    shown_metrics: ClassVar[Mapping[str, tuple[str, ...]]]
    other_metrics: ClassVar[tuple[str, ...]]
    today: Setting
    situations: Sequence[Situation]
    left_out: Sequence[LeftOut]
    renames_members: bool

    def __init__(self, scenario: Scenario, assignor: AssignorSpec) -> None:
        """Keep the scenario and its current assignor."""
        self.scenario, self.assignor = scenario, assignor
        self._blueprint = scenario.blueprint
        self._clients = [client for client in scenario.blueprint.clients if client.starts]
        self._tasks, self._threads = count_tasks(scenario), sum(client.threads for client in self._clients)

    @abstractmethod
    def single_changes(self) -> Iterator[Setting]:
        """Yield the settings that differ from the current one in one change, with what it needs to have an effect."""

    @abstractmethod
    def combine(self, one: Setting, other: Setting) -> Setting | None:
        """Return a setting with the changes of two; None if they exclude each other."""

    @abstractmethod
    def without_each_change(self, setting: Setting) -> list[Setting]:
        """Return the settings with one change less."""

    @abstractmethod
    def is_migration(self, setting: Setting) -> bool:
        """Return whether a setting needs a migration for which a checkup never recommends it."""

    @abstractmethod
    def document(self, situation: Document, setting: Setting) -> Document:
        """Return the scenario of a situation with a setting."""

    @abstractmethod
    def describe(self, setting: Setting) -> str:
        """Return the changes of a setting in one line; `current` without any."""

    @abstractmethod
    def changes(self, setting: Setting) -> tuple[SettingChange, ...]:
        """Return the configs that a setting changes."""

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

    def size(self) -> str:
        """Return tasks or partitions, clients, threads or consumers, zones and brokers in one line."""
        zones = {client.rack for client in self._clients} - {None}
        return (
            f"{counted(self._tasks, self.task)} on {counted(len(self._clients), 'instance')} with "
            f"{counted(self._threads, self.thread)} in {counted(len(zones), 'zone') if zones else 'unknown zones'}, "
            f"{counted(len(self._blueprint.brokers), 'broker')}"
        )

    def facts(self) -> dict[str, Any]:
        """Return what the grades depend on: topics, clients, brokers and configs."""
        blueprint = self._blueprint
        topics = sorted({topic for one in blueprint.application.subtopologies for topic in one.source_topics})
        partitions = {topic.name: topic.num_partitions for topic in blueprint.topics}
        return {
            "topics": {topic: partitions.get(topic) for topic in topics},
            **self._topology(),
            "clients": len(self._clients),
            f"{self.thread}s": self._threads,
            "client racks": _counted_racks(client.rack for client in self._clients),
            "broker racks": _counted_racks(broker.rack for broker in blueprint.brokers),
            "configs": self._configs(),
            **self._announced(),
            "static members": sum(client.is_static for client in self._clients),
        }

    def _topology(self) -> dict[str, Any]:
        """Return the topology, if the subject has one."""
        return {}

    @abstractmethod
    def _configs(self) -> dict[str, str | None]:
        """Return the current configs."""

    def _announced(self) -> dict[str, Any]:
        """Return how many clients announce their rack, if a setting can change it alone."""
        return {}

    @property
    def _lacks_client_rack(self) -> bool:
        """Whether clients with a rack do not announce it."""
        return any(client.rack is not None and not client.announces_rack for client in self._clients)

    def remarks(self) -> Iterator[str]:
        """Yield remarks on the subject, one sentence each."""
        defaulted = self._blueprint.topics_with_default_factor()
        events = [event for situation in self.situations for event in situation.document["events"]]
        if defaulted and any(kind in event for event in events for kind in FAILURES):
            yield (
                f"{describe_default_factor(defaulted)}. The failure of a broker therefore stops tasks, which counts "
                "for Availability; set the value of the real cluster under cluster.configs."
            )
        if self.renames_members:
            yield (
                "Static membership is not tried: a rollout gives the pods of a Deployment new names, so that the "
                "static members that they replace would keep their tasks until session.timeout.ms is over. Pods of a "
                "StatefulSet keep their names."
            )


def _counted_racks(racks: Iterable[str | None]) -> dict[str, int]:
    """Return how often each rack occurs, by name."""
    counts = Counter("unknown" if rack is None else rack for rack in racks)
    return dict(sorted(counts.items()))


def unavailable_evidence(areas: Iterable[Area], runs: SeedRuns) -> Mapping[str, str]:
    """Return how many partitions the worst failure makes unavailable, as evidence of availability."""
    availability = next(area for area in areas if area.key == "availability")
    key = worst_situation(availability, runs[0])
    unavailable = 0 if key is None else runs[0][key].metrics["unavailable_partitions"]
    if not unavailable:
        return {}
    return {
        "availability": f"{counted(unavailable, 'partition has', 'partitions have')} no leader or too few "
        "in-sync replicas in the failure, so no setting of clients helps: check their replication factors"
    }


def mean_metric(runs: SeedRuns, key: str, name: str) -> float | None:
    """Return the mean of a metric in a situation; None if a run does not know it."""
    values = [run[key].metrics[name] for run in runs]
    return None if None in values else float(mean(values))
