"""A recommended configuration: the configs to change, and the metrics before and after."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

RecommendationVerdict = Literal["recommended", "already_best", "none_feasible"]
"""Result of a search for better configs.

`recommended`: other configs are recommended. `already_best`: no evaluated configuration is significantly better than
the current one. `none_feasible`: no evaluated configuration meets the limits.
"""

MAIN_METRICS: Final = (
    "cross_rack_usd",
    "cross_rack_bytes",
    "active_moves",
    "standby_moves",
    "restored_bytes",
    "downtime_ms",
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
    """

    name: str | None
    pairs: int
    before: float | None = None
    before_interval: tuple[float, float] | None = None
    after: float | None = None
    after_interval: tuple[float, float] | None = None
    difference: float | None = None
    interval: tuple[float, float] | None = None

    @property
    def direction(self) -> int:
        """-1 if it decreases significantly, 1 if it increases significantly, otherwise 0."""
        if self.interval is None:
            return 0
        return -1 if self.interval[1] < 0 else 1 if self.interval[0] > 0 else 0

    @property
    def relative(self) -> float | None:
        """The difference relative to the absolute current value; None if that is 0 or unknown."""
        return None if self.difference is None or not self.before else self.difference / abs(self.before)


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


def record(recommendation: Recommendation) -> dict[str, Any]:
    """Return the recommendation as a record for JSON."""
    values = asdict(recommendation)
    if recommendation.gain is not None:
        values["gain"]["relative"] = recommendation.gain.relative
    return values
