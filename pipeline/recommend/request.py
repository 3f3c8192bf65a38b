"""What is asked of a recommendation, apart from what is to be small."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipeline.recommend.errors import RecommendError
from pipeline.recommend.objective import Objective
from pipeline.recommend.space import SearchSpace
from scenarios.load import AssignorChoice, Scenario

_MONEY: Final = ("cross_rack_usd", "cross_rack_usd_per_day")


@dataclass(frozen=True, slots=True)
class RecommendationRequest:
    """What is asked.

    Attributes:
        file: the scenario's.
        scenario: read from it, with what was changed in it.
        today: what stands.
        space: what may be recommended.
        runs: about how many may be made.
        seeds: over how many fresh ones the answer is measured.
    """

    file: Path
    scenario: Scenario
    today: AssignorChoice
    space: SearchSpace
    runs: int
    seeds: int


def current_assignor(scenario: Scenario, label: str | None) -> AssignorChoice:
    """What stands today: the scenario's assignor with this label, else its first one.

    Raises:
        RecommendError: it has none of that label.
    """
    for choice in scenario.assignors:
        if label in (None, choice.label):
            return choice
    known = ", ".join(choice.label for choice in scenario.assignors)
    raise RecommendError(f"--today {label}: no assignor of the scenario has this label (labels: {known})")


def check_price(scenario: Scenario, objective: Objective) -> None:
    """See that what is to be small can be known.

    Raises:
        RecommendError: the objective is about money, and nothing in the scenario has a price.
    """
    if scenario.blueprint.price is None and any(name in _MONEY for name in objective.metrics):
        raise RecommendError(
            f"--objective: {objective.text}: the scenario gives no price, so what traffic costs is not known; "
            "say --set price=aws, or put price: aws (or cross_rack_usd_per_gb of your own) into it"
        )
