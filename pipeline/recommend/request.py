"""Request for a recommendation, except its objective and limits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipeline.recommend.errors import RecommendError
from pipeline.recommend.objective import Objective
from pipeline.recommend.space import SearchSpace
from scenarios.load import AssignorSpec, Scenario

_MONEY: Final = ("cross_rack_usd", "cross_rack_usd_per_day")


@dataclass(frozen=True, slots=True)
class RecommendationRequest:
    """A request for a recommendation.

    Attributes:
        file: file of the scenario.
        scenario: the scenario with its overrides.
        today: the current assignor and configs.
        space: the candidates.
        runs: approximate maximum number of runs.
        seeds: number of fresh seeds that the result is measured with.
    """

    file: Path
    scenario: Scenario
    today: AssignorSpec
    space: SearchSpace
    runs: int
    seeds: int


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


def check_price(scenario: Scenario, objective: Objective) -> None:
    """Check that the objective can be computed.

    Raises RecommendError if the objective has a cost, but the scenario has no price.
    """
    if scenario.blueprint.price is None and any(name in _MONEY for name in objective.metrics):
        raise RecommendError(
            f"--objective: {objective.text}: the scenario has no price, so traffic costs are unknown; "
            "use --set price=aws, or add price: aws (or price: {provider: mine, usd_per_gb: 0.03}) to the scenario"
        )
