"""Schema of sweep files: one pydantic model per section; `scenarios.sweeps.design` resolves them."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from scenarios.language.errors import format_value
from scenarios.language.fields import ListEntry, Name, NameList
from scenarios.language.section import ScenarioSection
from scenarios.language.units import LONG_MAX

MAX_SETTINGS: Final = 1_000_000

Text = Annotated[str, Field(max_length=10_000)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Seed = Annotated[int, Field(ge=0, le=LONG_MAX)]


def _count_to_seeds(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= 100_000:
            raise ValueError(f"{format_value(value)}: the number of seeds must be 1 to 100,000")
        return list(range(1, value + 1))
    return value


def _by_kind(value: Any) -> Any:
    return {value: True} if value == "grid" else value


def _check_range(ends: list[float]) -> list[float]:
    if ends[0] >= ends[1]:
        raise ValueError(f"the range from {ends[0]:g} to {ends[1]:g} is empty; put the smaller end first")
    return ends


class FactorEntry(ScenarioSection):
    """A factor that varies between runs, and its values."""

    name: Name = Field(description="Name in tables and figures.")
    path: NameList = Field(
        description="Path in the scenario, as in --set: application.configs.num.standby.replicas. "
        "Several paths get the same value."
    )
    values: Annotated[list[Any], Field(min_length=1, max_length=10_000)] | None = Field(
        default=None, description="Values, as written in the scenario."
    )
    between: Annotated[list[Number], Field(min_length=2, max_length=2), AfterValidator(_check_range)] | None = Field(
        default=None, description="Range to draw from or to divide into steps, instead of values."
    )
    steps: Annotated[int, Field(ge=2, le=10_000)] | None = Field(
        default=None, description="Number of values of the range in a grid, including both ends."
    )
    scale: Literal["linear", "log"] = Field(default="linear", description="Spacing of the values in the range.")
    whole: bool = Field(default=False, description="Use whole numbers only.")
    unit: Name | None = Field(default=None, description="Unit appended to numbers in the scenario, such as MB/s.")


class DesignEntry(ScenarioSection):
    """How settings are chosen; exactly one of the three."""

    grid: Literal[True] | None = Field(default=None, description="Every combination of values.")
    random: Annotated[int, Field(ge=1, le=MAX_SETTINGS)] | None = Field(
        default=None, description="Number of settings, with each value drawn independently."
    )
    latin_hypercube: Annotated[int, Field(ge=2, le=MAX_SETTINGS)] | None = Field(
        default=None, description="Number of settings, with the values of each factor spread evenly."
    )
    seed: Seed = Field(default=1, description="Random seed of the settings; the runs have their own seeds.")


class SweepDocument(ScenarioSection):
    """A sweep: a scenario, the factors to vary in it, and the number of runs."""

    name: Name | None = Field(default=None, description="Name of the sweep; by default the file name.")
    description: Text | None = Field(default=None, description="Purpose of the sweep.")
    scenario: Name = Field(description="Scenario: a file next to this one, or the name of a shipped one.")
    changes: dict[Name, Any] = Field(
        default={}, alias="set", description="Overrides of the scenario for all runs, by path as in --set."
    )
    factors: list[ListEntry[FactorEntry]] = Field(default=[], description="Factors to vary.")
    design: Annotated[DesignEntry, BeforeValidator(_by_kind)] | None = Field(
        default=None,
        description="How settings are chosen from the factors; by default a grid, or only the rows if given.",
    )
    rows: Annotated[list[dict[Name, Any]], Field(min_length=1, max_length=MAX_SETTINGS)] | None = Field(
        default=None, description="Explicit settings with a value for each factor, in addition to those of the design."
    )
    assignors: Annotated[list[Name], Field(min_length=1)] | None = Field(
        default=None,
        description="Labels of assignors of the scenario, or names of built-in ones; by default all of the scenario.",
    )
    baseline: Name | None = Field(
        default=None, description="Assignor that the others are compared with; by default the first."
    )
    seeds: Annotated[list[Seed], BeforeValidator(_count_to_seeds), Field(min_length=1, max_length=100_000)] = Field(
        default=[1], description="Random seeds of the runs of each setting and assignor; a number n means 1 to n."
    )
    tables: list[
        Literal[
            "tasks",
            "assignments",
            "moves",
            "task_states",
            "traffic",
            "thread_loads",
            "overloads",
            "losses",
            "events",
            "convergence",
            "clients",
            "neighbors",
        ]
    ] = Field(default=[], description="Result tables besides runs and rounds.")
