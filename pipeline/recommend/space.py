"""The settings that may be changed, and the steps in which they may be.

A candidate has a level for each dimension. What has no effect with its assignor or strategy stands at today's level, so
that two candidates are equal if they cannot differ in any run.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from assignors import registry
from pipeline.recommend.errors import RecommendError
from pipeline.sweep.document import DesignEntry, FactorEntry
from pipeline.sweep.settings import generate_settings
from scenarios.language.errors import did_you_mean
from scenarios.load import AssignorChoice, Scenario

ASSIGNOR: Final = "assignor"
STRATEGY: Final = "rack.aware.assignment.strategy"
TRAFFIC_COST: Final = "rack.aware.assignment.traffic_cost"
NON_OVERLAP_COST: Final = "rack.aware.assignment.non_overlap_cost"
STANDBYS: Final = "num.standby.replicas"
WARMUPS: Final = "max.warmup.replicas"
PROBING: Final = "probing.rebalance.interval.ms"
LAG: Final = "acceptable.recovery.lag"

_COSTS: Final = (TRAFFIC_COST, NON_OVERLAP_COST)
_OF_WARMUPS: Final = (WARMUPS, PROBING, LAG)
_WARMING_UP: Final = ("high_availability",)
"""The only assignor that lets clients warm up before it moves tasks to them."""

_PUBLIC: Final = ("high_availability", "sticky_task_assignor")
"""Assignors of classic groups that Kafka lets everybody choose."""

_RATIOS: Final = ((1, 100), (1, 10), (1, 1), (10, 1), (100, 1))
_STANDBYS: Final = (0, 1, 2)
_WARMUPS: Final = (1, 2, 4, 8, 16, 32, 64, 128)
_PROBING_MS: Final = (60_000, 120_000, 300_000, 600_000, 1_200_000)
_LAGS: Final = (1_000, 10_000, 100_000, 1_000_000)

Level = Any
"""The value of a dimension: a tuple with one value a key where it has several keys."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """Keys that are changed together, and the levels that they may have.

    Attributes:
        name: what it is called.
        keys: Kafka's, or `ASSIGNOR`.
        levels: each once, today's among them.
        is_ordered: whether levels next to each other are more alike than others.
    """

    name: str
    keys: tuple[str, ...]
    levels: tuple[Level, ...]
    is_ordered: bool = True


@dataclass(frozen=True, slots=True)
class Candidate:
    """A setting: a level for each dimension, in the order of the space."""

    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SearchSpace:
    """All candidates, and what stands today, which is one of them.

    Attributes:
        dimensions: what is varied.
        today: the candidate that changes nothing.
        has_effect: whether the levels of a dimension make a difference, given the levels of all dimensions by name.
    """

    dimensions: tuple[Dimension, ...]
    today: Candidate
    has_effect: Callable[[Dimension, Mapping[str, Level]], bool]

    def settled(self, levels: Sequence[Level]) -> Candidate:
        """The candidate with these levels, where they have an effect."""
        here = dict(zip((each.name for each in self.dimensions), levels, strict=True))
        kept = (
            level if self.has_effect(each, here) else of_today
            for each, level, of_today in zip(self.dimensions, levels, self.today.levels, strict=True)
        )
        return Candidate(tuple(kept))

    def neighbors(self, candidate: Candidate) -> list[Candidate]:
        """Those that differ by one step in one dimension; each once."""
        found: dict[Candidate, None] = {}
        for place, dimension in enumerate(self.dimensions):
            for level in _steps(dimension, candidate.levels[place]):
                found[self._with(candidate, place, level)] = None
        found.pop(candidate, None)
        return list(found)

    def sample(self, number: int) -> list[Candidate]:
        """Candidates spread evenly: all there are if they are no more than asked for, else a Latin hypercube.

        Fewer than asked for, as some of those drawn do not differ.
        """
        if math.prod(len(each.levels) for each in self.dimensions) <= number:
            drawn: Iterable[Sequence[Level]] = itertools.product(*(each.levels for each in self.dimensions))
        else:
            factors = [
                FactorEntry(name=each.name, path=[each.name], values=list(each.levels)) for each in self.dimensions
            ]
            drawn = generate_settings(DesignEntry(latin_hypercube=max(number, 2)), factors)[:number]
        return list(dict.fromkeys(map(self.settled, drawn)))

    def changed(self, candidate: Candidate) -> list[int]:
        """The places of the dimensions in which a candidate is not as today's."""
        both = zip(candidate.levels, self.today.levels, strict=True)
        return [place for place, (level, of_today) in enumerate(both) if level != of_today]

    def undone(self, candidate: Candidate, places: Iterable[int]) -> Candidate:
        """The candidate with today's levels in some places."""
        levels = list(candidate.levels)
        for place in places:
            levels[place] = self.today.levels[place]
        return self.settled(levels)

    def order(self, candidate: Candidate) -> tuple[int, ...]:
        """What stands first of two equally good ones: fewer changes, then smaller levels."""
        ranks = (each.levels.index(level) for each, level in zip(self.dimensions, candidate.levels, strict=True))
        return (len(self.changed(candidate)), *ranks)

    def values(self, candidate: Candidate) -> dict[str, Any]:
        """A candidate key by key."""
        found: dict[str, Any] = {}
        for dimension, level in zip(self.dimensions, candidate.levels, strict=True):
            found |= zip(dimension.keys, level if len(dimension.keys) > 1 else (level,), strict=True)
        return found

    def _with(self, candidate: Candidate, place: int, level: Level) -> Candidate:
        return self.settled((*candidate.levels[:place], level, *candidate.levels[place + 1 :]))


def search_space(
    scenario: Scenario, today: AssignorChoice, assignors: Sequence[str] = (), keep: Sequence[str] = ()
) -> SearchSpace:
    """Lay out what may be changed about a scenario's application.

    Args:
        scenario: bounds how far it makes sense to go.
        today: what stands.
        assignors: which may be recommended, today's in any case; if none are named, those that Kafka lets everybody
            choose in classic groups, and today's alone in streams groups.
        keep: keys that stay as they are; of the two costs only the ratio counts, so keeping one keeps both.

    Raises:
        RecommendError: no such key.
        UnknownAssignorError: no such assignor.
    """
    configs = today.configs
    chosen = [registry.find(name).name for name in assignors]
    if not assignors and not registry.find(today.assignor).in_streams_groups:
        chosen = list(_PUBLIC)
    standbys = [level for level in _STANDBYS if level < len(scenario.blueprint.clients)]
    warmups = [level for level in _WARMUPS if level < 2 * _tasks(scenario)]
    costs = (configs.rack_aware_traffic_cost, configs.rack_aware_non_overlap_cost)
    strategy = configs.rack_aware_assignment_strategy
    dimensions = (
        Dimension(ASSIGNOR, (ASSIGNOR,), tuple(dict.fromkeys((today.assignor, *chosen))), is_ordered=False),
        Dimension(STRATEGY, (STRATEGY,), tuple(each.value for each in type(strategy)), is_ordered=False),
        Dimension("costs", _COSTS, _ladder(_RATIOS, costs), is_ordered=None not in costs),
        Dimension(STANDBYS, (STANDBYS,), _ladder(standbys, configs.num_standby_replicas)),
        Dimension(WARMUPS, (WARMUPS,), _ladder(warmups, configs.max_warmup_replicas)),
        Dimension(PROBING, (PROBING,), _ladder(_PROBING_MS, configs.probing_rebalance_interval_ms)),
        Dimension(LAG, (LAG,), _ladder(_LAGS, configs.acceptable_recovery_lag)),
    )
    levels = (
        today.assignor,
        strategy.value,
        costs,
        configs.num_standby_replicas,
        configs.max_warmup_replicas,
        configs.probing_rebalance_interval_ms,
        configs.acceptable_recovery_lag,
    )
    _check_keys(keep, [key for each in dimensions for key in each.keys])
    kept = tuple(
        Dimension(each.name, each.keys, (level,), each.is_ordered) if set(each.keys) & set(keep) else each
        for each, level in zip(dimensions, levels, strict=True)
    )
    return SearchSpace(kept, Candidate(levels), _has_effect)


def _check_keys(keep: Sequence[str], known: Sequence[str]) -> None:
    for key in keep:
        if key not in known:
            raise RecommendError(f"--keep {key}: nothing that is searched ({did_you_mean(key, known, 'keys')})")


def _has_effect(dimension: Dimension, here: Mapping[str, Level]) -> bool:
    """Whether Kafka looks at a dimension, under the assignor and the strategy that are chosen."""
    if dimension.name == ASSIGNOR:
        return True
    assignor = here[ASSIGNOR]
    info = registry.find(assignor)
    if any(info.ignores(key) for key in dimension.keys):
        return False
    if dimension.keys == _COSTS:
        return bool(here[STRATEGY] != "none")
    return dimension.name not in _OF_WARMUPS or assignor in _WARMING_UP


def _steps(dimension: Dimension, level: Level) -> Iterator[Level]:
    if not dimension.is_ordered:
        yield from (other for other in dimension.levels if other != level)
        return
    place = dimension.levels.index(level)
    yield from dimension.levels[max(place - 1, 0) : place]
    yield from dimension.levels[place + 1 : place + 2]


def _ladder(levels: Iterable[Level], today: Level) -> tuple[Level, ...]:
    """The levels with today's among them, in order; costs by their ratio, the assignor's own choice first."""
    return tuple(sorted({*levels, today}, key=_height))


def _height(level: Level) -> tuple[float, str]:
    if not isinstance(level, tuple):
        return float(level), ""
    traffic, non_overlap = level
    ratio = -1.0 if traffic is None or non_overlap is None else traffic / max(non_overlap, 1e-9)
    return ratio, repr(level)


def _tasks(scenario: Scenario) -> int:
    """How many tasks the application has, each as many as its subtopology's largest source has partitions."""
    plan = scenario.blueprint
    partitions = {topic.name: topic.num_partitions for topic in plan.topics}
    return sum(
        max((partitions.get(source, 1) for source in subtopology.source_topics), default=1)
        for subtopology in plan.application.subtopologies
    )
