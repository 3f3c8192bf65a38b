"""Search space: the configs that may change, and their levels.

A candidate has one level per dimension. A dimension without effect under the candidate's assignor or strategy has its
current level, so that two candidates are equal if no run can distinguish them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from assignors import registry
from pipeline.recommend.errors import RecommendError
from scenarios.language.errors import did_you_mean
from scenarios.load import AssignorSpec, Scenario
from scenarios.run_time import count_tasks
from scenarios.sweeps.document import DesignEntry, FactorEntry
from scenarios.sweeps.settings import generate_settings

ASSIGNOR: Final = "assignor"
STRATEGY: Final = "rack.aware.assignment.strategy"
TRAFFIC_COST: Final = "rack.aware.assignment.traffic_cost"
NON_OVERLAP_COST: Final = "rack.aware.assignment.non_overlap_cost"
STANDBYS: Final = "num.standby.replicas"
WARMUPS: Final = "max.warmup.replicas"
PROBING: Final = "probing.rebalance.interval.ms"
LAG: Final = "acceptable.recovery.lag"

_COSTS: Final = (TRAFFIC_COST, NON_OVERLAP_COST)
_WARMUP_CONFIGS: Final = (WARMUPS, PROBING, LAG)
_ASSIGNORS_WITH_WARMUPS: Final = ("high_availability",)
"""Assignors that use warm-up replicas before they move tasks."""

_PUBLIC_ASSIGNORS: Final = ("high_availability", "sticky_task_assignor")
"""Assignors of classic groups that Kafka supports as public config."""

_RATIOS: Final = ((1, 100), (1, 10), (1, 1), (10, 1), (100, 1))
_STANDBYS: Final = (0, 1, 2)
_WARMUPS: Final = (1, 2, 4, 8, 16, 32, 64, 128)
_PROBING_MS: Final = (60_000, 120_000, 300_000, 600_000, 1_200_000)
_LAGS: Final = (1_000, 10_000, 100_000, 1_000_000)

LevelValue = Any
"""The value of a dimension: a tuple with one value per config if it has several."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """Configs that change together, and their levels.

    Attributes:
        name: name of the dimension.
        keys: config names, or `ASSIGNOR`.
        levels: distinct levels, including the current one.
        is_ordered: whether adjacent levels are more similar than others.
    """

    name: str
    keys: tuple[str, ...]
    levels: tuple[LevelValue, ...]
    is_ordered: bool = True


@dataclass(frozen=True, slots=True)
class Candidate:
    """A setting: one level per dimension, in the order of the space."""

    levels: tuple[LevelValue, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SearchSpace:
    """All candidates, including the current setting.

    Attributes:
        today: the candidate that changes nothing.
        has_effect: whether a dimension has an effect, given the levels of all dimensions by name.
    """

    dimensions: tuple[Dimension, ...]
    today: Candidate
    has_effect: Callable[[Dimension, Mapping[str, LevelValue]], bool]

    def normalize(self, levels: Sequence[LevelValue]) -> Candidate:
        """Return the candidate with these levels; dimensions without effect get their current level."""
        level_by_name = dict(zip((dimension.name for dimension in self.dimensions), levels, strict=True))
        effective_levels = (
            level if self.has_effect(dimension, level_by_name) else current
            for dimension, level, current in zip(self.dimensions, levels, self.today.levels, strict=True)
        )
        return Candidate(tuple(effective_levels))

    def neighbors(self, candidate: Candidate) -> list[Candidate]:
        """Return the distinct candidates that differ by one step in one dimension."""
        neighbors: dict[Candidate, None] = {}
        for index, dimension in enumerate(self.dimensions):
            for level in _steps(dimension, candidate.levels[index]):
                neighbors[self._with(candidate, index, level)] = None
        neighbors.pop(candidate, None)
        return list(neighbors)

    def sample(self, number: int) -> list[Candidate]:
        """Return a space-filling sample: all candidates if there are at most `number`, else a Latin hypercube.

        `number`: maximum number of candidates; duplicates are removed, so there may be fewer. Returns distinct
        candidates.
        """
        if math.prod(len(dimension.levels) for dimension in self.dimensions) <= number:
            drawn: Iterable[Sequence[LevelValue]] = itertools.product(
                *(dimension.levels for dimension in self.dimensions)
            )
        else:
            factors = [
                FactorEntry(name=dimension.name, path=[dimension.name], values=list(dimension.levels))
                for dimension in self.dimensions
            ]
            drawn = generate_settings(DesignEntry(latin_hypercube=max(number, 2)), factors)[:number]
        return list(dict.fromkeys(map(self.normalize, drawn)))

    def changed(self, candidate: Candidate) -> list[int]:
        """Return the indices of the dimensions that differ from the current setting."""
        pairs = zip(candidate.levels, self.today.levels, strict=True)
        return [index for index, (level, current) in enumerate(pairs) if level != current]

    def revert(self, candidate: Candidate, indices: Iterable[int]) -> Candidate:
        """Return the candidate with the current levels in some dimensions."""
        levels = list(candidate.levels)
        for index in indices:
            levels[index] = self.today.levels[index]
        return self.normalize(levels)

    def tie_breaker(self, candidate: Candidate) -> tuple[int, ...]:
        """Return the tie-breaker between equally good candidates: fewer changes, then smaller levels."""
        ranks = (
            dimension.levels.index(level) for dimension, level in zip(self.dimensions, candidate.levels, strict=True)
        )
        return (len(self.changed(candidate)), *ranks)

    def values(self, candidate: Candidate) -> dict[str, Any]:
        """Return the configs of a candidate."""
        configs: dict[str, Any] = {}
        for dimension, level in zip(self.dimensions, candidate.levels, strict=True):
            configs |= zip(dimension.keys, level if len(dimension.keys) > 1 else (level,), strict=True)
        return configs

    def _with(self, candidate: Candidate, index: int, level: LevelValue) -> Candidate:
        return self.normalize((*candidate.levels[:index], level, *candidate.levels[index + 1 :]))


def search_space(
    scenario: Scenario, today: AssignorSpec, assignors: Sequence[str] = (), keep: Sequence[str] = ()
) -> SearchSpace:
    """Build the search space of a scenario.

    `scenario`: limits the levels to those that make sense for it. `today`: the current assignor and configs.
    `assignors`: assignors that may be recommended besides the current one; by default the public ones of classic
    groups, and only the current one in streams groups. `keep`: configs that must not change; only the ratio of the two
    costs matters, so keeping one keeps both. Raises RecommendError if a config of `keep` is unknown.
    """
    configs = today.configs
    chosen = [registry.find(name).name for name in assignors]
    if not assignors and not today.info.in_streams_groups:
        chosen = [name for name in _PUBLIC_ASSIGNORS if name != today.info.name_without_release]
    standbys = [level for level in _STANDBYS if level < len(scenario.blueprint.clients)]
    warmups = [level for level in _WARMUPS if level < 2 * count_tasks(scenario)]
    costs = (configs.rack_aware_traffic_cost, configs.rack_aware_non_overlap_cost)
    strategy = configs.rack_aware_assignment_strategy
    dimensions = (
        Dimension(ASSIGNOR, (ASSIGNOR,), tuple(dict.fromkeys((today.info.name, *chosen))), is_ordered=False),
        Dimension(STRATEGY, (STRATEGY,), tuple(choice.value for choice in type(strategy)), is_ordered=False),
        Dimension("costs", _COSTS, _sorted_levels(_RATIOS, costs), is_ordered=None not in costs),
        Dimension(STANDBYS, (STANDBYS,), _sorted_levels(standbys, configs.num_standby_replicas)),
        Dimension(WARMUPS, (WARMUPS,), _sorted_levels(warmups, configs.max_warmup_replicas)),
        Dimension(PROBING, (PROBING,), _sorted_levels(_PROBING_MS, configs.probing_rebalance_interval_ms)),
        Dimension(LAG, (LAG,), _sorted_levels(_LAGS, configs.acceptable_recovery_lag)),
    )
    levels = (
        today.info.name,
        strategy.value,
        costs,
        configs.num_standby_replicas,
        configs.max_warmup_replicas,
        configs.probing_rebalance_interval_ms,
        configs.acceptable_recovery_lag,
    )
    _check_keys(keep, [key for dimension in dimensions for key in dimension.keys])
    searched = tuple(
        Dimension(dimension.name, dimension.keys, (level,), dimension.is_ordered)
        if set(dimension.keys) & set(keep)
        else dimension
        for dimension, level in zip(dimensions, levels, strict=True)
    )
    return SearchSpace(searched, Candidate(levels), _has_effect)


def _check_keys(keep: Sequence[str], known: Sequence[str]) -> None:
    """Check that all configs of `keep` are known; raise RecommendError if a config is unknown."""
    for key in keep:
        if key not in known:
            raise RecommendError(f"--keep {key}: not a searched config ({did_you_mean(key, known, 'keys')})")


def _has_effect(dimension: Dimension, levels: Mapping[str, LevelValue]) -> bool:
    """Return whether a dimension has an effect under the assignor and strategy of the levels."""
    if dimension.name == ASSIGNOR:
        return True
    assignor = levels[ASSIGNOR]
    info = registry.find(assignor)
    if any(info.ignores(key) for key in dimension.keys):
        return False
    if dimension.keys == _COSTS:
        return bool(levels[STRATEGY] != "none")
    return dimension.name not in _WARMUP_CONFIGS or info.name_without_release in _ASSIGNORS_WITH_WARMUPS


def _steps(dimension: Dimension, level: LevelValue) -> Iterator[LevelValue]:
    if not dimension.is_ordered:
        yield from (other_level for other_level in dimension.levels if other_level != level)
        return
    index = dimension.levels.index(level)
    yield from dimension.levels[max(index - 1, 0) : index]
    yield from dimension.levels[index + 1 : index + 2]


def _sorted_levels(levels: Iterable[LevelValue], current: LevelValue) -> tuple[LevelValue, ...]:
    """Return the levels including the current one in order; costs by their ratio, defaults of the assignor first."""
    return tuple(sorted({*levels, current}, key=_sort_key))


def _sort_key(level: LevelValue) -> tuple[float, str]:
    if not isinstance(level, tuple):
        return float(level), ""
    traffic, non_overlap = level
    ratio = -1.0 if traffic is None or non_overlap is None else traffic / max(non_overlap, 1e-9)
    return ratio, repr(level)
