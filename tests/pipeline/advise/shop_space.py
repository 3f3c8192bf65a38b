"""The search space of a small scenario."""

from __future__ import annotations

from typing import Any

from pipeline.advise.space import Candidate, SearchSpace, current_assignor, search_space
from scenarios.load import Scenario, loads
from tests.pipeline.sweep.examples import SCENARIO

SHOP = loads(SCENARIO, "shop")
STREAMS = SCENARIO.replace(
    "[high_availability, legacy_sticky]",
    "[{label: old, assignor: streams_group_sticky, configs: {group.protocol: streams, num.standby.replicas: 1}}]",
)


def space_of(scenario: Scenario = SHOP, label: str | None = None, **options: Any) -> SearchSpace:
    return search_space(scenario, current_assignor(scenario, label), **options)


def with_levels(space: SearchSpace, **levels: Any) -> Candidate:
    """Return the current candidate with other levels, named by the last part of the dimension's name."""
    names = [dimension.name.rpartition(".")[2] for dimension in space.dimensions]
    return space.normalize([levels.get(name, current) for name, current in zip(names, space.today.levels, strict=True)])
