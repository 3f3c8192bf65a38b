"""A recommended configuration: the configs to change, and the metrics before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeVar

import numpy as np

from reports.analysis.formatting import format_number, format_percent
from reports.analysis.metrics import METRIC, is_relevant
from reports.analysis.statistics import Floats, Interval, paired, summarize
from reports.analysis.text import listed
from simulator.plurals import counted

Name = TypeVar("Name", str, str | None)

RecommendationVerdict = Literal["recommended", "already_best", "none_feasible"]
"""Result of a search for better configs.

`recommended`: other configs are recommended. `already_best`: no evaluated configuration is significantly better than
the current one. `none_feasible`: no evaluated configuration meets the limits.
"""

MAIN_METRICS: Final = (
    "cross_rack_usd_per_day",
    "cross_rack_bytes_per_s",
    "active_moves",
    "standby_moves",
    "restored_bytes",
    "downtime_ms",
    "longest_downtime_ms",
    "worst_downtime_ms",
    "time_to_converge_ms",
    "load_skew",
    "tasks_without_rack_redundancy",
)
"""Metrics that a recommendation reports before and after."""


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A config to change.

    Attributes:
        key: Kafka's config key.
        before: current value; None if unset, so that Kafka's default applies.
        after: recommended value; None to unset it.
        notes: notes for setting it.
        is_property: whether it is a property of the application, not a config of brokers or groups.
    """

    key: str
    before: str | None
    after: str | None
    notes: tuple[str, ...] = ()
    is_property: bool = True


@dataclass(frozen=True, slots=True)
class MetricChange:
    """A metric, or the objective, with the current and the recommended configs over the same seeds.

    Attributes:
        name: key of the metric; None for the objective.
        pairs: number of seeds with both values known; the other attributes cover them and are None without any.
        before: mean with the current configs.
        before_interval: 95 % confidence interval of that mean; None, as the other intervals, for fewer than two pairs.
        after: mean with the recommended configs.
        after_interval: its confidence interval.
        difference: mean of after minus before.
        interval: its confidence interval.
        least: smallest difference that counts, in the unit of the metric, beside 1 % of the current value.
    """

    name: str | None
    pairs: int
    before: float | None = None
    before_interval: tuple[float, float] | None = None
    after: float | None = None
    after_interval: tuple[float, float] | None = None
    difference: float | None = None
    interval: tuple[float, float] | None = None
    least: float = 0.0

    @property
    def direction(self) -> int:
        """-1 if it decreases significantly and by a difference that counts, 1 if it increases so, otherwise 0."""
        if self.interval is None or self.difference is None or self.before is None:
            return 0
        if not is_relevant(self.difference, self.before, self.least):
            return 0
        return -1 if self.interval[1] < 0 else 1 if self.interval[0] > 0 else 0

    @property
    def relative(self) -> float | None:
        """The difference relative to the absolute current value; None if that is 0 or unknown."""
        return None if self.difference is None or not self.before else self.difference / abs(self.before)


def metric_changes(least: Mapping[Name, float], before: Floats, after: Floats, stream: str) -> tuple[MetricChange, ...]:
    """Compare metrics of two settings over the same seeds.

    `least`: smallest difference that counts of each metric by its key, or of the objective as None. `before`, shape
    (seeds, metrics): NaN where unknown. `after`: the same with the recommended configs. `stream`: name of the data,
    which seeds the resampling.
    """
    unknown = np.isnan(before) | np.isnan(after)
    before, after = np.where(unknown, np.nan, before), np.where(unknown, np.nan, after)
    compared = zip(
        least.items(), summarize(before, stream), summarize(after, stream), paired(after, before, stream), strict=True
    )
    return tuple(
        MetricChange(
            name=name,
            pairs=pair.pairs,
            before=first.mean,
            before_interval=_of_metric(first.interval, name),
            after=second.mean,
            after_interval=_of_metric(second.interval, name),
            difference=pair.mean,
            interval=None if pair.interval is None else (pair.interval.low, pair.interval.high),
            least=smallest,
        )
        for (name, smallest), first, second, pair in compared
    )


def _of_metric(interval: Interval | None, name: str | None) -> tuple[float, float] | None:
    """Return the ends of an interval; at least 0 for metrics, which are never negative."""
    if interval is None:
        return None
    return (interval.low if name is None else max(interval.low, 0.0), interval.high)


@dataclass(frozen=True, slots=True)
class SearchRound:
    """A round of the search.

    Attributes:
        settings: number of evaluated configurations.
        seeds: number of seeds per configuration.
        best: lowest mean objective of the configurations that meet the limits; None without any.
    """

    settings: int
    seeds: int
    best: float | None


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The result of a search.

    Attributes:
        scenario: name of the scenario.
        today: label of the assignor with the current configs.
        objective: text of the objective.
        limits: texts of the limits.
        verdict: whether to change configs.
        changes: configs to change; empty unless a change is recommended.
        gain: the objective before and after; None if it was not evaluated.
        figures: known metrics of `MAIN_METRICS` before and after.
        seeds: number of additional seeds over which gain and metrics are computed.
        runs: total number of runs.
        settings: number of different configurations that were evaluated.
        steps: rounds of the search.
        remarks: further remarks.
        warnings: metrics that the recommended configs make worse and that the objective does not include.
    """

    scenario: str
    today: str
    objective: str
    limits: tuple[str, ...]
    verdict: RecommendationVerdict
    changes: tuple[SettingChange, ...]
    gain: MetricChange | None
    figures: tuple[MetricChange, ...]
    seeds: int
    runs: int
    settings: int
    steps: tuple[SearchRound, ...]
    remarks: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def conclude_recommendation(recommendation: Recommendation) -> list[str]:
    """Return what to set, what that gains, and what it changes otherwise, in sentences."""
    if recommendation.verdict == "none_feasible":
        return ["No evaluated setting is feasible; relax a limit, or add runs (--runs)."]
    if recommendation.verdict == "already_best":
        number = counted(recommendation.settings, "evaluated setting")
        return [f"Keep the current setting ({recommendation.today}): no better one found among {number}."]
    changes = [
        f"{change.key}={change.after}" if change.after is not None else f"no {change.key}"
        for change in recommendation.changes
    ]
    findings = [f"Set {listed(changes)}: {_gain(recommendation.gain)}."]
    for direction, word in ((-1, "lower"), (1, "higher")):
        names = [
            METRIC[change.name].title.partition(" (")[0].lower()
            for change in recommendation.figures
            if change.name is not None and change.direction == direction
        ]
        if names:
            findings.append(f"Significantly {word}: {listed(names)}.")
    return [*findings, *(f"WARNING: {warning}." for warning in recommendation.warnings)]


def _gain(gain: MetricChange | None) -> str:
    """Return the gain in words."""
    if gain is None or gain.before is None or gain.after is None or gain.difference is None:
        return "the objective of the current setting is unknown"
    before, after = (f"{'−' if value < 0 else ''}{format_number(abs(value))}" for value in (gain.before, gain.after))
    change = f"the objective is {after} instead of {before}"
    if gain.relative is not None:
        share = format_percent(abs(100 * gain.relative))
        change += f" ({share} {'less' if gain.difference < 0 else 'more'})" if gain.difference else ""
    over = f"{change}, over {gain.pairs} fresh seeds"
    return over if gain.direction else f"{over}, which may be chance"


def record(recommendation: Recommendation) -> dict[str, Any]:
    """Return the recommendation as a record for JSON."""
    values = asdict(recommendation)
    if recommendation.gain is not None:
        values["gain"]["relative"] = recommendation.gain.relative
    return values
