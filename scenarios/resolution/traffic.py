"""How much flows over the day: factors that the scenario gives, or what was measured of each partition.

Priority: what the scenario says of a topic, or a file on sizes that it names; what was measured; what the scenario says
of partitions in general.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from scenarios.language.errors import format_list
from scenarios.language.paths import ScenarioPath
from scenarios.language.schema import TrafficSection
from scenarios.language.validation import SourceMap
from scenarios.resolution.application import ResolvedApplication
from scenarios.resolution.imported_files import ImportedContent, ImportedFiles
from scenarios.resolution.measured_traffic import FloatArray, MeasuredTopic, MeasuredTraffic, read_measured_traffic
from scenarios.sampling.blueprint import TopicBlueprint
from scenarios.sampling.traffic_profile import HOURS_A_DAY, TrafficProfile
from simulator.world.world import Subtopology

TRAFFIC: ScenarioPath = ("traffic",)


@dataclass(frozen=True, slots=True)
class ResolvedTraffic:
    """How much flows.

    Attributes:
        topics: all topics, with what was measured of them.
        source_bytes_per_s: what is produced to all topics that the application reads and does not write: one amount, or
            one for each hour of the day.
        hourly: factors from the start on; none if nobody gave them.
        starts_at_ms: the time of the day at which the run starts, if topics have rates for each hour; else None.
        notes: what was taken from the measurements, and what was not found there.
    """

    topics: dict[str, TopicBlueprint]
    source_bytes_per_s: tuple[int, ...]
    hourly: tuple[float, ...] = ()
    starts_at_ms: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def changes_hourly(self) -> bool:
        """Whether something may be different in each hour."""
        return bool(self.hourly) or self.starts_at_ms is not None

    @property
    def path(self) -> ScenarioPath:
        """Where the scenario says that it changes hourly."""
        return (*TRAFFIC, "hourly" if self.hourly else "from")

    def profile(self, events: Sequence[tuple[int, float]]) -> TrafficProfile:
        """The profile, with the times and factors of events."""
        return TrafficProfile(self.hourly, events, self.starts_at_ms)


def resolve_traffic(
    section: TrafficSection | None, application: ResolvedApplication, files: ImportedFiles, source_map: SourceMap
) -> ResolvedTraffic:
    """Understand the traffic; what is wrong goes to `places`."""
    topics, subtopologies = application.topics, application.subtopologies
    section = section or TrafficSection()
    if section is not None:
        _check(section, source_map)
    if section.folder is None:
        return ResolvedTraffic(topics, (_produced(subtopologies, topics, None),), tuple(section.hourly or ()))
    quantile = section.quantile or "mean"
    path = (*TRAFFIC, "from")
    found = files.read_folder(path, section.folder, lambda folder: read_measured_traffic(folder, quantile, topics))
    if found is None:
        return ResolvedTraffic(topics, (_produced(subtopologies, topics, None),))
    taking = _Taking(found, source_map)
    topics = {name: taking.apply(plan) for name, plan in topics.items()}
    hours = range(HOURS_A_DAY) if any(plan.hourly_bytes_per_s for plan in topics.values()) else None
    return ResolvedTraffic(
        topics=topics,
        source_bytes_per_s=tuple(_produced(subtopologies, topics, hour) for hour in hours or [None]),
        starts_at_ms=None if hours is None else section.starts_at or 0,
        notes=tuple(taking.notes(quantile, subtopologies)),
    )


def _check(section: TrafficSection, source_map: SourceMap) -> None:
    if section.hourly is not None and section.folder is not None:
        source_map.add_mistake(
            (*TRAFFIC, "hourly"), "the measurements of traffic.from say that already; leave one of the two out"
        )
    if section.folder is None and source_map.is_valid(*TRAFFIC, "from"):
        for key in ("quantile", "starts_at"):
            if getattr(section, key) is not None:
                source_map.add_mistake(
                    (*TRAFFIC, key), "this is about measurements; say in from where they are, or leave it out"
                )
        if section.hourly is None and source_map.is_valid(*TRAFFIC):
            source_map.add_mistake(TRAFFIC, "give hourly, or from: FOLDER")


def _produced(subtopologies: Sequence[Subtopology], topics: Mapping[str, TopicBlueprint], hour: int | None) -> int:
    """What is produced in all to topics that are read and not written, in an hour of the day or usually."""
    read = {topic for subtopology in subtopologies for topic in subtopology.source_topics}
    written = {topic for subtopology in subtopologies for topic in subtopology.written_topics}
    plans = [topics[topic] for topic in read - written if topic in topics]
    return sum(
        sum(plan.bytes_per_s if hour is None or not plan.hourly_bytes_per_s else plan.hourly_bytes_per_s[hour])
        for plan in plans
    )


@dataclass(slots=True)
class _Taking:
    """Takes what was measured into topics, and keeps a list of it."""

    found: ImportedContent[MeasuredTraffic]
    source_map: SourceMap
    rates: list[str] = field(default_factory=list)
    stated: list[str] = field(default_factory=list)
    sizes: list[str] = field(default_factory=list)
    record_sizes: list[str] = field(default_factory=list)
    filled: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)

    def apply(self, plan: TopicBlueprint) -> TopicBlueprint:
        """The topic, with what was measured of it and the scenario does not say."""
        measured = self.found.content.topics.get(plan.name)
        if measured is not None and "bytes_per_s" in plan.stated_keys:
            self.stated.append(plan.name)
        elif measured is not None and self._fits(plan, "rates", int(measured.partitions[-1])):
            plan = self._with_rates(plan, measured)
        if measured is not None and measured.record_bytes is not None and "record_size" not in plan.stated_keys:
            plan = replace(plan, record_bytes=max(1, round(measured.record_bytes)))
            self.record_sizes.append(plan.name)
        sizes = self.found.content.sizes.get(plan.name)
        if sizes and "size" not in plan.stated_keys and self._fits(plan, "sizes", max(sizes)):
            known = [sizes.get(partition) for partition in range(plan.num_partitions)]
            either = zip(known, plan.size_bytes, strict=True)
            plan = replace(plan, size_bytes=tuple(here if size is None else size for size, here in either))
            self.sizes.append(plan.name)
        return plan

    def _fits(self, plan: TopicBlueprint, what: str, last: int) -> bool:
        if last + 1 != plan.num_partitions:
            here = f"{plan.num_partitions} partitions here, but {last + 1} in the {what} of '{self.found.source}'"
            self.source_map.add_mistake((*TRAFFIC, "from"), f"'{plan.name}' has {here}")
        return last + 1 == plan.num_partitions

    def _with_rates(self, plan: TopicBlueprint, measured: MeasuredTopic) -> TopicBlueprint:
        known = np.isfinite(measured.bytes_per_s).any(axis=0)
        partitions, by_hour = measured.partitions[known], measured.bytes_per_s[:, known]
        gaps = np.isnan(by_hour)
        rates = np.tile(np.array(plan.bytes_per_s, dtype=np.float64), (HOURS_A_DAY, 1))
        rates[:, partitions] = np.where(gaps, _means(by_hour), by_hour)
        self.rates.append(plan.name)
        if gaps.any():
            hours = np.flatnonzero(gaps.any(axis=1)).tolist()
            self.filled.append(f"{plan.name} ({format_list('hours', hours, most=HOURS_A_DAY)})")
        if len(partitions) < plan.num_partitions:
            missing = np.setdiff1d(np.arange(plan.num_partitions), partitions).tolist()
            self.unseen.extend(f"{plan.name}-{partition}" for partition in missing)
        hourly = np.rint(rates).astype(np.int64)
        usual = np.maximum(np.rint(hourly.mean(axis=0)).astype(np.int64), hourly.any(axis=0))
        return replace(plan, bytes_per_s=tuple(usual.tolist()), hourly_bytes_per_s=tuple(map(tuple, hourly.tolist())))

    def notes(self, quantile: str, subtopologies: Sequence[Subtopology]) -> Iterator[str]:
        """What was taken, and what was not found of what the application reads and writes."""
        read = [topic for part in subtopologies for topic in part.source_topics]
        logs = [store.changelog for part in subtopologies for store in part.stores if store.changelog is not None]
        written = dict.fromkeys((*(topic for part in subtopologies for topic in part.written_topics), *logs))
        seen = self.found.content.topics
        told = {
            f"rates ({quantile}) of each hour are taken of": self.rates,
            "mean sizes of records are taken of": self.record_sizes,
            "sizes are taken of": self.sizes,
            "rates are not taken, as the scenario gives them, of": self.stated,
            "no rates were measured, so they are those of the scenario, of": [
                topic for topic in read if topic not in seen and topic not in written
            ],
            "no rates were measured, so they follow what the application reads, of": [
                topic for topic in written if topic not in seen
            ],
            "hours without a rate have the mean of those with one, in": self.filled,
            "partitions without a rate have that of the scenario": self.unseen,
        }
        yield from (f"{self.found.source}: {format_list(what, names)}" for what, names in told.items() if names)


def _means(by_hour: FloatArray) -> FloatArray:
    """The mean of the hours that are known, shape (K,); each partition has one at least."""
    known = np.isfinite(by_hour)
    means: FloatArray = np.where(known, by_hour, 0.0).sum(axis=0) / known.sum(axis=0)
    return means
