"""Resolve the traffic over the day: hourly factors, or measured rates and sizes per partition.

Priority: values that the scenario or its log_dirs file sets for a topic; measured values; `partition_defaults`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from scenarios.language.errors import format_list
from scenarios.language.paths import ScenarioPath
from scenarios.language.validation import SourceMap
from scenarios.references import ImportedContent, ImportedFiles
from scenarios.resolution.application import ResolvedApplication
from scenarios.resolution.measured_traffic import FloatArray, MeasuredTopic, MeasuredTraffic, read_measured_traffic
from scenarios.sampling.blueprint import TopicBlueprint
from scenarios.sampling.traffic_profile import HOURS_A_DAY, TrafficProfile
from scenarios.schema import TrafficSection
from simulator.plurals import counted
from simulator.world.world import Subtopology

TRAFFIC: ScenarioPath = ("traffic",)


@dataclass(frozen=True, slots=True)
class ResolvedTraffic:
    """The traffic of a scenario.

    `topics`: all, with measured rates and sizes. `source_bytes_per_s`: total rate of all topics that the application
    reads and does not write: one value, or 24 hourly values. `hourly`: factors from the start; empty if not given.
    `starts_at_ms`: the time of day at which the run starts, if topics have hourly rates. `notes`: which measurements
    were used, and which are missing.
    """

    topics: dict[str, TopicBlueprint]
    source_bytes_per_s: tuple[int, ...]
    hourly: tuple[float, ...] = ()
    starts_at_ms: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def changes_hourly(self) -> bool:
        """Return whether the traffic can change every hour."""
        return bool(self.hourly) or self.starts_at_ms is not None

    @property
    def path(self) -> ScenarioPath:
        """Return the path of the hourly traffic in the scenario."""
        return (*TRAFFIC, "hourly" if self.hourly else "from")

    def profile(self, events: Sequence[tuple[int, float]]) -> TrafficProfile:
        """Return the traffic profile, given the times and factors of traffic events."""
        return TrafficProfile(self.hourly, events, self.starts_at_ms)


def resolve_traffic(
    section: TrafficSection | None, application: ResolvedApplication, files: ImportedFiles, source_map: SourceMap
) -> ResolvedTraffic:
    """Resolve the traffic, and report mistakes to `source_map`."""
    topics, subtopologies = application.topics, application.subtopologies
    if section is None:
        section = TrafficSection()
    else:
        _check(section, source_map)
    if section.folder is None:
        return ResolvedTraffic(topics, (_source_rate(subtopologies, topics, None),), tuple(section.hourly or ()))
    quantile = section.quantile or "mean"
    path = (*TRAFFIC, "from")
    measurements = files.read_folder(
        path, section.folder, lambda folder: read_measured_traffic(folder, quantile, topics)
    )
    if measurements is None:
        return ResolvedTraffic(topics, (_source_rate(subtopologies, topics, None),))
    overlay = _MeasurementOverlay(measurements, source_map)
    topics = {name: overlay.apply(plan) for name, plan in topics.items()}
    hours = range(HOURS_A_DAY) if any(plan.hourly_bytes_per_s for plan in topics.values()) else None
    return ResolvedTraffic(
        topics=topics,
        source_bytes_per_s=tuple(_source_rate(subtopologies, topics, hour) for hour in hours or [None]),
        starts_at_ms=None if hours is None else section.starts_at or 0,
        notes=tuple(overlay.notes(quantile, subtopologies)),
    )


def _check(section: TrafficSection, source_map: SourceMap) -> None:
    if section.hourly is not None and section.folder is not None:
        source_map.add_mistake(
            (*TRAFFIC, "hourly"), "conflicts with the measurements of traffic.from; remove one of the two"
        )
    if section.folder is None and source_map.is_valid(*TRAFFIC, "from"):
        for key in ("quantile", "starts_at"):
            if getattr(section, key) is not None:
                source_map.add_mistake((*TRAFFIC, key), "applies to measurements only; set from, or remove it")
        if section.hourly is None and source_map.is_valid(*TRAFFIC):
            source_map.add_mistake(TRAFFIC, "set hourly, or from: FOLDER")


def _source_rate(subtopologies: Sequence[Subtopology], topics: Mapping[str, TopicBlueprint], hour: int | None) -> int:
    """Return the total rate of topics that are read and not written, in an hour of the day (None: mean rates)."""
    read = {topic for subtopology in subtopologies for topic in subtopology.source_topics}
    written = {topic for subtopology in subtopologies for topic in subtopology.written_topics}
    plans = [topics[topic] for topic in read - written if topic in topics]
    return sum(
        sum(plan.bytes_per_s if hour is None or not plan.hourly_bytes_per_s else plan.hourly_bytes_per_s[hour])
        for plan in plans
    )


@dataclass(slots=True)
class _MeasurementOverlay:
    """Applies measured rates and sizes to topics, and records which ones."""

    measurements: ImportedContent[MeasuredTraffic]
    source_map: SourceMap
    rates: list[str] = field(default_factory=list)
    stated: list[str] = field(default_factory=list)
    sizes: list[str] = field(default_factory=list)
    record_sizes: list[str] = field(default_factory=list)
    filled: list[str] = field(default_factory=list)
    unmeasured: list[str] = field(default_factory=list)

    def apply(self, plan: TopicBlueprint) -> TopicBlueprint:
        """Return the topic with measured values where the scenario sets none."""
        measured = self.measurements.content.topics.get(plan.name)
        if measured is not None and "bytes_per_s" in plan.stated_keys:
            self.stated.append(plan.name)
        elif measured is not None and self._fits(plan, "rates", int(measured.partitions[-1])):
            plan = self._with_rates(plan, measured)
        if measured is not None and measured.record_bytes is not None and "record_size" not in plan.stated_keys:
            plan = replace(plan, record_bytes=max(1, round(measured.record_bytes)))
            self.record_sizes.append(plan.name)
        sizes = self.measurements.content.sizes.get(plan.name)
        if sizes and "size" not in plan.stated_keys and self._fits(plan, "sizes", max(sizes)):
            known = [sizes.get(partition) for partition in range(plan.num_partitions)]
            pairs = zip(known, plan.size_bytes, strict=True)
            plan = replace(plan, size_bytes=tuple(default if size is None else size for size, default in pairs))
            self.sizes.append(plan.name)
        return plan

    def _fits(self, plan: TopicBlueprint, what: str, last: int) -> bool:
        if last + 1 != plan.num_partitions:
            measured = f"{last + 1} in the {what} of '{self.measurements.source}'"
            partitions = counted(plan.num_partitions, "partition")
            message = f"'{plan.name}' has {partitions} in the scenario, but {measured}"
            self.source_map.add_mistake((*TRAFFIC, "from"), message)
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
            self.filled.append(f"{plan.name} ({format_list('hours', hours, max_names=HOURS_A_DAY)})")
        if len(partitions) < plan.num_partitions:
            missing = np.setdiff1d(np.arange(plan.num_partitions), partitions).tolist()
            self.unmeasured.extend(f"{plan.name}-{partition}" for partition in missing)
        hourly = np.rint(rates).astype(np.int64)
        mean = np.maximum(np.rint(hourly.mean(axis=0)).astype(np.int64), hourly.any(axis=0))
        return replace(plan, bytes_per_s=tuple(mean.tolist()), hourly_bytes_per_s=tuple(map(tuple, hourly.tolist())))

    def notes(self, quantile: str, subtopologies: Sequence[Subtopology]) -> Iterator[str]:
        """Yield notes on the measurements used, and on missing ones of topics that the application reads or writes."""
        read = [topic for subtopology in subtopologies for topic in subtopology.source_topics]
        stores = [store for subtopology in subtopologies for store in subtopology.stores]
        changelogs = [store.changelog for store in stores if store.changelog is not None]
        results = [topic for subtopology in subtopologies for topic in subtopology.written_topics]
        written = dict.fromkeys((*results, *changelogs))
        seen = self.measurements.content.topics
        names_by_note = {
            f"measured hourly rates ({quantile}) used for": self.rates,
            "measured mean record sizes used for": self.record_sizes,
            "measured sizes used for": self.sizes,
            "measured rates ignored, because the scenario sets rates, for": self.stated,
            "no measured rates, so rates of the scenario used for": [
                topic for topic in read if topic not in seen and topic not in written
            ],
            "no measured rates, so rates derived from the input for": [topic for topic in written if topic not in seen],
            "missing hours filled with the mean of the measured ones for": self.filled,
            "no measured rate, so rate of the scenario used for partitions": self.unmeasured,
        }
        for note, names in names_by_note.items():
            if names:
                yield f"{self.measurements.source}: {format_list(note, names)}"


def _means(by_hour: FloatArray) -> FloatArray:
    """Return the mean of the known hours per partition, shape (K,).

    `by_hour`: rates, shape (24, K), NaN where unknown; each partition has at least one known hour.
    """
    known = np.isfinite(by_hour)
    means: FloatArray = np.where(known, by_hour, 0.0).sum(axis=0) / known.sum(axis=0)
    return means
