"""Search space of an application: the configs that may change, and their levels.

A candidate has one level per dimension. A dimension without effect under the candidate's assignor or strategy has its
current level, so that two candidates are equal if no run can distinguish them. A candidate is written as an entry of a
scenario's `assignors`, or as changes of Kafka's configs.

Source: `org.apache.kafka.streams.StreamsConfig`, KIP-924 (`task.assignor.class`), KIP-1071 (`group.protocol`,
`streams.num.standby.replicas`), and the upgrade guide of Kafka Streams on `internal.task.assignor.class`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from assignors import registry
from pipeline.advise.objective import RecommendError
from reports.analysis.recommendation import SettingChange
from scenarios.language.errors import did_you_mean
from scenarios.load import AssignorSpec, Scenario
from scenarios.run_estimate import count_tasks
from scenarios.sweeps.design import DesignEntry, FactorEntry, generate_settings

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

_INTERNAL_CLASS: Final = "internal.task.assignor.class"
_PUBLIC_CLASS: Final = "task.assignor.class"
PROTOCOL: Final = "group.protocol"
_GROUP_STANDBYS: Final = "streams.num.standby.replicas"

_INTERNAL_PACKAGE: Final = "org.apache.kafka.streams.processor.internals.assignment"
_SELECTED_BY: Final = {
    "legacy_sticky": (_INTERNAL_CLASS, f"{_INTERNAL_PACKAGE}.LegacyStickyTaskAssignor"),
    "fallback_prior": (_INTERNAL_CLASS, f"{_INTERNAL_PACKAGE}.FallbackPriorTaskAssignor"),
    "sticky_task_assignor": (
        _PUBLIC_CLASS,
        "org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor",
    ),
}
"""The config that selects each assignor; without one, Kafka uses the high availability assignor."""

_ASSIGNOR_KEYS: Final = (_INTERNAL_CLASS, _PUBLIC_CLASS, PROTOCOL, _GROUP_STANDBYS)
"""Configs that depend on the assignor."""

_NOTES: Final = {
    _INTERNAL_CLASS: ("an internal config that Kafka may remove; in Kafka 3.x the class is StickyTaskAssignor",),
    _PUBLIC_CLASS: ("Kafka 3.8 or newer",),
    PROTOCOL: ("Kafka 4.2 or newer, on brokers and clients; see KIP-1071 for the migration",),
    STRATEGY: ("has an effect only if every client sets client.rack to its rack",),
}

LevelValue = Any
"""The value of a dimension: a tuple with one value per config if it has several."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """Configs that change together, and their levels.

    Attributes:
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

    def with_level(self, candidate: Candidate, index: int, level: LevelValue) -> Candidate:
        """Return the candidate with another level in one dimension."""
        return self.normalize((*candidate.levels[:index], level, *candidate.levels[index + 1 :]))

    def neighbors(self, candidate: Candidate) -> list[Candidate]:
        """Return the distinct candidates that differ by one step in one dimension."""
        neighbors: dict[Candidate, None] = {}
        for index, dimension in enumerate(self.dimensions):
            for level in _steps(dimension, candidate.levels[index]):
                neighbors[self.with_level(candidate, index, level)] = None
        neighbors.pop(candidate, None)
        return list(neighbors)

    def sample(self, number: int) -> list[Candidate]:
        """Return a space-filling sample: all candidates if there are at most `number`, else a Latin hypercube.

        Duplicates are removed, so there may be fewer.
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
    """Raise a `RecommendError` if a config of `keep` is unknown."""
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


def entry_values(scenario: Scenario, today: AssignorSpec, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `assignor`, `parameters` and `configs` of a candidate, with the configs that depend on the assignor.

    The values are those of `SearchSpace.values`; `today` is the current assignor of the scenario.
    """
    name = values[ASSIGNOR]
    is_current = name == today.info.name
    current_protocol = scenario.protocol_of(today)
    own_protocol = "streams" if registry.find(name).in_streams_groups else "classic"
    configs = {key: value for key, value in values.items() if key != ASSIGNOR}
    return {
        "assignor": name,
        "parameters": dict(today.parameters) if is_current else {},
        "configs": {PROTOCOL: current_protocol.value if is_current else own_protocol, **configs},
    }


def config_changes(space: SearchSpace, candidate: Candidate, application: str) -> list[SettingChange]:
    """Return the configs that differ from the current ones: new and changed ones first, then removed ones."""
    today, recommended = (_kafka_configs(space.values(choice)) for choice in (space.today, candidate))
    changed = {key for index in space.changed(candidate) for key in space.dimensions[index].keys if key in recommended}
    changes = []
    for key in (*recommended, *(key for key in today if key not in recommended)):
        before, after = today.get(key), recommended.get(key)
        is_new_for_clients = key == STANDBYS and before is None and after != "0"
        if before == after or not (key in changed or key in _ASSIGNOR_KEYS or is_new_for_clients):
            continue
        notes = _NOTES.get(key, ()) if after is not None else ()
        if key == _GROUP_STANDBYS:
            notes = (_group_command(application, after),)
        changes.append(SettingChange(key, before, after, notes, is_property=key != _GROUP_STANDBYS))
    return changes


def _kafka_configs(values: dict[str, Any]) -> dict[str, str]:
    """Return the configs that Kafka reads; those left to the default of the assignor are not set."""
    info = registry.find(values[ASSIGNOR])
    if info.in_streams_groups:
        standbys = {_GROUP_STANDBYS: str(values[STANDBYS])} if values[STANDBYS] else {}
        return {PROTOCOL: "streams", **standbys}
    name = info.name_without_release
    chosen = dict([_SELECTED_BY[name]]) if name in _SELECTED_BY else {}
    is_rack_aware = values[STRATEGY] != "none"
    return chosen | {
        key: str(value)
        for key, value in values.items()
        if key != ASSIGNOR and value is not None and (is_rack_aware or key not in (TRAFFIC_COST, NON_OVERLAP_COST))
    }


def _group_command(application: str, standbys: str | None) -> str:
    change = f"--delete-config {_GROUP_STANDBYS}" if standbys is None else f"--add-config {_GROUP_STANDBYS}={standbys}"
    return f"group config: kafka-configs.sh --alter --entity-type groups --entity-name {application} {change}"


def current_assignor(scenario: Scenario, label: str | None) -> AssignorSpec:
    """Return the current assignor of a scenario: the one with this label, or the first one by default.

    Raises RecommendError if no assignor has this label.
    """
    for spec in scenario.assignors:
        if label in (None, spec.label):
            return spec
    known = ", ".join(spec.label for spec in scenario.assignors)
    raise RecommendError(f"--today {label}: no assignor of the scenario has this label (labels: {known})")


def with_current_assignor(scenario: Scenario, label: str | None) -> tuple[Scenario, AssignorSpec]:
    """Return a scenario with the Kafka releases of its current assignor, and that assignor.

    Raises RecommendError if no assignor has this label.
    """
    today = current_assignor(scenario, label)
    scenario = scenario.of(today)
    return scenario, current_assignor(scenario, today.label)
