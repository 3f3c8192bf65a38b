"""A recommendation: what to set, what that gains against today's settings, and what it costs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

RecommendationVerdict = Literal["recommended", "already_best", "none_feasible"]
"""Something else than today's is to be set; nothing that was tried is surely better than today's; nothing that was
tried is acceptable."""

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
"""What is told of before and after."""


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A key of Kafka's that is to be set otherwise.

    Attributes:
        key: Kafka's name for it.
        before: today's value; None if it is not set, and Kafka's default holds.
        after: the value to set; None if the key is to be removed.
        notes: what has to be known to set it.
        is_property: whether it stands in the properties of the application, and not elsewhere in Kafka.
    """

    key: str
    before: str | None
    after: str | None
    notes: tuple[str, ...] = ()
    is_property: bool = True


@dataclass(frozen=True, slots=True)
class MetricChange:
    """A metric, or the objective, with today's and with the recommended settings, over the same seeds.

    Attributes:
        name: of the metric; None for the objective.
        pairs: seeds of which both know it; the rest is over these, and None without one.
        before: mean with today's.
        before_interval: of that mean (95 %); None, as the others, of fewer than two pairs.
        after: mean with the recommended.
        after_interval: of that mean.
        difference: mean of after minus before.
        interval: of the mean difference.
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
        """-1 if it is surely less than before, 1 if surely more, 0 if that cannot be told."""
        if self.interval is None:
            return 0
        return -1 if self.interval[1] < 0 else 1 if self.interval[0] > 0 else 0

    @property
    def relative(self) -> float | None:
        """The difference as a share of the size of today's; None where that is 0 or not known."""
        return None if self.difference is None or not self.before else self.difference / abs(self.before)


@dataclass(frozen=True, slots=True)
class SearchRound:
    """A round of the search: how many settings were tried, with how many seeds each, and the least mean objective of
    the acceptable ones; None if there was none."""

    settings: int
    seeds: int
    best: float | None


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What came of a search.

    Attributes:
        scenario: its name.
        today: label of the assignor that stands for today's settings.
        objective: as it was written.
        limits: as they were asked for.
        verdict: what to do.
        changes: what to set; empty unless the verdict is to set something.
        gain: the objective before and after; None where nothing was measured.
        figures: the same for `MAIN_METRICS` that are known.
        seeds: fresh ones, over which gain and figures are.
        runs: made in all.
        settings: different ones that were tried.
        steps: the rounds of the search.
        remarks: what else is to be said.
        warnings: what the setting to be recommended makes worse without the objective showing it.
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


def record(found: Recommendation) -> dict[str, Any]:
    """A recommendation as a record for scripts."""
    told = asdict(found)
    if found.gain is not None:
        told["gain"]["relative"] = found.gain.relative
    return told
