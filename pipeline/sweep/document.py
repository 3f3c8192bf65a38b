"""What may stand in a sweep file: one pydantic model a section. What a sweep comes to is in `pipeline.sweep.design`."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from scenarios.language.configs import ScenarioSection
from scenarios.language.errors import format_value
from scenarios.language.fields import ListEntry, Name, NameList
from scenarios.language.units import LONG_MAX

MAX_SETTINGS: Final = 1_000_000

Text = Annotated[str, Field(max_length=10_000)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Seed = Annotated[int, Field(ge=0, le=LONG_MAX)]


def _count_to_seeds(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= 100_000:
            raise ValueError(f"{format_value(value)} is no number of seeds (1 to 100,000)")
        return list(range(1, value + 1))
    return value


def _by_kind(value: Any) -> Any:
    return {value: True} if value == "grid" else value


def _check_range(ends: list[float]) -> list[float]:
    if ends[0] >= ends[1]:
        raise ValueError(f"the range from {ends[0]:g} to {ends[1]:g} is empty; the smaller end comes first")
    return ends


class FactorEntry(ScenarioSection):
    """Something that differs from run to run, and the values it takes."""

    name: Name = Field(description="What tables and pictures call it.")
    path: NameList = Field(
        description="Where in the scenario it stands, as in --set: application.configs.num.standby.replicas. "
        "Several places get the same value."
    )
    values: Annotated[list[Any], Field(min_length=1, max_length=10_000)] | None = Field(
        default=None, description="The values it takes, as they would stand in the scenario."
    )
    between: Annotated[list[Number], Field(min_length=2, max_length=2), AfterValidator(_check_range)] | None = Field(
        default=None, description="The range that it is drawn from, or cut into steps, in place of values."
    )
    steps: Annotated[int, Field(ge=2, le=10_000)] | None = Field(
        default=None, description="How many values of the range a grid takes, both ends among them."
    )
    scale: Literal["linear", "log"] = Field(default="linear", description="How values lie in the range.")
    whole: bool = Field(default=False, description="Whether only whole numbers will do.")
    unit: Name | None = Field(default=None, description="What follows the number in the scenario, such as MB/s.")


class DesignEntry(ScenarioSection):
    """How settings are chosen: exactly one of the three."""

    grid: Literal[True] | None = Field(default=None, description="Every combination of values.")
    random: Annotated[int, Field(ge=1, le=MAX_SETTINGS)] | None = Field(
        default=None, description="So many settings, each value drawn on its own."
    )
    latin_hypercube: Annotated[int, Field(ge=2, le=MAX_SETTINGS)] | None = Field(
        default=None, description="So many settings, in which each factor's values are spread evenly."
    )
    seed: Seed = Field(default=1, description="What the settings are drawn from; the runs have seeds of their own.")


class SweepDocument(ScenarioSection):
    """A sweep of assignor-sim: a scenario, what is to be varied in it, and how often it is run."""

    name: Name | None = Field(default=None, description="What the sweep is called; its file's name if not given.")
    description: Text | None = Field(default=None, description="What it is to find out.")
    scenario: Name = Field(description="The scenario: a file beside this one, or the name of a shipped one.")
    changes: dict[Name, Any] = Field(
        default={}, alias="set", description="What is changed in the scenario for all runs: paths, as in --set."
    )
    factors: list[ListEntry[FactorEntry]] = Field(default=[], description="What is varied.")
    design: Annotated[DesignEntry, BeforeValidator(_by_kind)] | None = Field(
        default=None, description="How settings are chosen from the factors: grid, unless rows say which there are."
    )
    rows: Annotated[list[dict[Name, Any]], Field(min_length=1, max_length=MAX_SETTINGS)] | None = Field(
        default=None, description="Settings one by one, with a value for each factor, beside those of the design."
    )
    assignors: Annotated[list[Name], Field(min_length=1)] | None = Field(
        default=None,
        description="Labels of the scenario's assignors, or names of built-in ones; the scenario's own if not given.",
    )
    baseline: Name | None = Field(
        default=None, description="The assignor that the others are compared with; the first if not given."
    )
    seeds: Annotated[list[Seed], BeforeValidator(_count_to_seeds), Field(min_length=1, max_length=100_000)] = Field(
        default=[1], description="One run of every setting and assignor for each; a number n means 1 to n."
    )
    tables: list[
        Literal["tasks", "assignments", "moves", "lives", "traffic", "losses", "events", "convergence", "clients"]
    ] = Field(default=[], description="What is kept of each run beside runs and rounds.")
