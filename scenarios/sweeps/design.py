"""A sweep: the settings of a scenario, its assignors and its seeds.

`load_sweep` reads and checks a sweep file and computes settings from its factors: a grid, a random sample, or a Latin
hypercube. Every setting with every assignor and seed is a run. A sweep depends only on its file, so an interrupted one
can be resumed.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Field

from scenarios.language.errors import Mistake, Mistakes, ScenarioError, did_you_mean, format_value
from scenarios.language.fields import ListEntry, Name, NameList, ScenarioSection, valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.text_files import UnreadableError, read_text
from scenarios.language.units import LONG_MAX
from scenarios.language.validation import SourceMap, parse_document
from scenarios.language.yaml_reader import MAX_BYTES, TOO_LONG_MESSAGE, YamlReadError, read_yaml
from scenarios.load import shipped_hint
from scenarios.shipped import find_scenario, find_shipped, list_sweeps
from simulator.random_streams import random_stream

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


MAX_RUNS = 10_000_000


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor of a sweep. `paths` in the scenario take its value; `unit` is appended to numbers."""

    name: str
    paths: tuple[str, ...]
    unit: str | None
    is_number: bool

    def overrides(self, value: Value) -> list[tuple[str, str]]:
        """Return the overrides of the scenario for a value, as with `--set`."""
        text = json.dumps(value, ensure_ascii=False)
        if self.unit is not None and is_number(value):
            text = json.dumps(f"{value} {self.unit}")
        return [(path, text) for path in self.paths]


@dataclass(frozen=True, slots=True)
class Sweep:
    """A validated sweep file.

    `changes`: overrides for all runs, as path and value. `settings`: distinct, in the order of the design. `assignors`:
    labels or names; empty for those of the scenario. `baseline`: None for the first assignor. `seeds`: one run per
    setting, assignor and seed. `tables`: those besides `runs` and `rounds`. `lines`: line of each entry that causes
    overrides, such as `factors[standbys]`, in the file.
    """

    name: str
    description: str
    text: str
    file: Path
    scenario: Path
    changes: tuple[tuple[str, str], ...]
    factors: tuple[Factor, ...]
    settings: tuple[Setting, ...]
    assignors: tuple[str, ...]
    baseline: str | None
    seeds: tuple[int, ...]
    tables: tuple[str, ...]
    lines: Mapping[str, int] = field(default_factory=dict)

    def overrides(self, setting: Setting) -> list[tuple[str, str]]:
        """Return all overrides of the scenario for a setting, as with `--set`; the last one of a path applies."""
        varied = [
            change for factor, value in zip(self.factors, setting, strict=True) for change in factor.overrides(value)
        ]
        return [*self.changes, *varied]

    def name_override(self, path: str, value: str) -> str:
        """Name an override in messages, by the entry of the sweep file that causes it."""
        factor = next((factor.name for factor in self.factors if path in factor.paths), None)
        entry = f"set[{path}]" if factor is None else f"factors[{factor}]"
        line = f":{self.lines[entry]}" if entry in self.lines else ""
        return f"{self.file}{line}: {entry}: {value}"


def load_sweep(path: str | os.PathLike[str]) -> Sweep:
    """Read a sweep file.

    `path`: the file, or the name of a shipped sweep if no such file exists; its scenario is searched next to it, then
    among the shipped ones. Raises ScenarioError if the file is invalid; the message lists every mistake.
    """
    file = find_shipped(Path(path), list_sweeps())
    source = str(file)
    mistakes = Mistakes(source)
    try:
        text = read_text(file, MAX_BYTES, TOO_LONG_MESSAGE)
        tree = read_yaml(text)
    except (UnreadableError, YamlReadError) as error:
        hint = shipped_hint(file, list_sweeps(), "sweep")
        raise ScenarioError([Mistake(source, error.line, "", f"{error}{hint}")]) from None
    if not isinstance(tree.value, dict):
        what = f"expected a mapping with scenario and factors, found {format_value(tree.value)}"
        raise ScenarioError([Mistake(source, tree.lines[()], "", what)])
    places = SourceMap(source, tree.lines, {}, mistakes)
    document = parse_document(tree.value, places, SweepDocument)
    if document is None:
        raise ScenarioError(mistakes)
    sweep = _resolve(document, text, file, places)
    mistakes.raise_any()
    return sweep


def _resolve(document: SweepDocument, text: str, file: Path, places: SourceMap) -> Sweep:
    entries = list(valid_entries(document.factors))
    _check_names([(i, entry.name) for i, entry in entries], places)
    _check_factors(entries, document, places)
    rows = _check_rows(document.rows or [], [entry.name for _, entry in entries], places)
    _check_seeds(document.seeds, places)
    settings = () if not places.is_valid() else _choose(document, [entry for _, entry in entries], rows, places)
    local_file = file.parent / document.scenario
    scenario = local_file if local_file.exists() else find_scenario(Path(document.scenario))
    if not scenario.is_file():
        places.add_mistake(
            ("scenario",),
            f"{format_value(document.scenario)}: no such file next to the sweep, and no such shipped scenario",
        )
    runs = len(settings) * len(document.seeds) * len(document.assignors or [""])
    if runs > MAX_RUNS:
        places.add_mistake((), f"{runs:,} runs, more than the maximum of {MAX_RUNS:,}")
    return Sweep(
        name=document.name or file.stem,
        description=(document.description or "").strip(),
        text=text,
        file=file,
        scenario=scenario,
        changes=tuple((path, json.dumps(value, ensure_ascii=False)) for path, value in document.changes.items()),
        factors=tuple(
            Factor(entry.name, tuple(entry.path), entry.unit, all(is_number(setting[index]) for setting in settings))
            for index, (_, entry) in enumerate(entries)
        ),
        settings=settings,
        assignors=tuple(document.assignors or ()),
        baseline=document.baseline,
        seeds=tuple(document.seeds),
        tables=tuple(dict.fromkeys(document.tables)),
        lines=_entry_lines(document, entries, places),
    )


def _entry_lines(
    document: SweepDocument, factors: Sequence[tuple[int, FactorEntry]], places: SourceMap
) -> dict[str, int]:
    """Return the line of each entry that causes overrides, by its name in messages."""
    paths: dict[str, ScenarioPath] = {f"factors[{entry.name}]": ("factors", i) for i, entry in factors}
    paths |= {f"set[{path}]": ("set", path) for path in document.changes}
    lines = {entry: places.line(path) for entry, path in paths.items()}
    return {entry: line for entry, line in lines.items() if line is not None}


def _choose(
    document: SweepDocument, factors: Sequence[FactorEntry], rows: Sequence[Setting], places: SourceMap
) -> tuple[Setting, ...]:
    design = _design(document)
    number = 0 if design is None else count_settings(design, factors)
    if number > MAX_SETTINGS:
        places.add_mistake(("factors",), f"the grid has {number:,} settings, more than the maximum of {MAX_SETTINGS:,}")
        return ()
    chosen = [] if design is None else generate_settings(design, factors)
    return tuple({json.dumps(setting): setting for setting in (*chosen, *rows)}.values())


def _check_names(named: Sequence[tuple[int, str]], places: SourceMap) -> None:
    seen: set[str] = set()
    for i, name in named:
        # Spark and DuckDB ignore case in column names.
        if name.lower() in seen:
            places.add_mistake(("factors", i, "name"), f"duplicate factor name {format_value(name)}")
        if name.lower() in ("setting", "sweep", "assignor", "seed", "run_id"):
            places.add_mistake(
                ("factors", i, "name"), f"{format_value(name)} is a column of the tables; choose another name"
            )
        seen.add(name.lower())


def _check_factors(entries: Sequence[tuple[int, FactorEntry]], document: SweepDocument, places: SourceMap) -> None:
    design = _design(document)
    kinds = () if design is None else (design.grid, design.random, design.latin_hypercube)
    if design is not None and sum(kind is not None for kind in kinds) != 1:
        places.add_mistake(("design",), "expected one of grid, random: 100 and latin_hypercube: 100")
    for i, entry in entries:
        path = ("factors", i)
        if entry.values is not None and entry.between is not None:
            places.add_mistake(path, "has both values and between; use one of them")
        elif design is not None and entry.values is None and entry.between is None:
            places.add_mistake(path, "needs values: [0, 1, 2] or between: [1, 100]")
        if design is not None and design.grid and entry.between is not None and entry.steps is None:
            places.add_mistake(path, "between needs steps in a grid: the number of values")
        if entry.between is not None and entry.scale == "log" and entry.between[0] <= 0:
            places.add_mistake((*path, "between"), f"{entry.between[0]:g} has no logarithm; start above 0")
        if entry.values is not None and len({json.dumps(value) for value in entry.values}) < len(entry.values):
            places.add_mistake((*path, "values"), "duplicate value")


def _check_rows(rows: Sequence[Mapping[str, Any]], names: Sequence[str], places: SourceMap) -> list[Setting]:
    for i, row in enumerate(rows):
        for name in row:
            if name not in names:
                places.add_mistake(
                    ("rows", i, name), f"unknown factor {format_value(name)} ({did_you_mean(name, names)})"
                )
        missing = [name for name in names if name not in row]
        if missing:
            places.add_mistake(("rows", i), f"missing value of {', '.join(missing)}")
    return [tuple(row.get(name) for name in names) for row in rows]


def _check_seeds(seeds: Sequence[int], places: SourceMap) -> None:
    duplicates = [seed for seed, count in zip(*np.unique(seeds, return_counts=True), strict=True) if count > 1]
    if duplicates:
        places.add_mistake(("seeds",), f"duplicate seed {duplicates[0]}")


def _design(document: SweepDocument) -> DesignEntry | None:
    """Return how settings are chosen; None if only `rows` defines them."""
    if document.design is None and document.rows is None:
        return DesignEntry(grid=True)
    return document.design


Value = Any
Setting = tuple[Value, ...]
"""One value per factor, in the order of the factors."""


def count_settings(design: DesignEntry, factors: Sequence[FactorEntry]) -> int:
    """Return the number of settings that `generate_settings` returns, including duplicates."""
    return (
        design.random
        or design.latin_hypercube
        or math.prod(len(factor.values) if factor.values is not None else factor.steps or 2 for factor in factors)
    )


def generate_settings(design: DesignEntry, factors: Sequence[FactorEntry]) -> list[Setting]:
    """Return the settings of a design; in a grid, the last factor varies fastest."""
    if design.grid:
        return list(itertools.product(*map(_levels, factors)))
    number = count_settings(design, factors)
    columns = [_draw(factor, number, design) for factor in factors]
    return list(zip(*columns, strict=True)) if columns else [()]


def is_number(value: Value) -> bool:
    """Return whether a value is numeric (not a boolean)."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _levels(factor: FactorEntry) -> list[Value]:
    if factor.values is not None:
        return factor.values
    return list(dict.fromkeys(_values_at(factor, np.linspace(0.0, 1.0, factor.steps or 2))))


def _draw(factor: FactorEntry, number: int, design: DesignEntry) -> list[Value]:
    """Draw the values of a factor; return one value per setting.

    Each factor has its own random stream, so adding a factor does not change the values of others. In a Latin
    hypercube, the unit interval is cut into as many strips as there are settings, and each strip is used once (McKay,
    Beckman and Conover, 1979).
    """
    generator = random_stream(design.seed, "design", factor.name)
    positions = generator.random(number)
    if design.latin_hypercube:
        positions = (generator.permutation(number) + positions) / number
    if factor.values is not None:
        return [factor.values[int(position * len(factor.values))] for position in positions]
    return _values_at(factor, positions)


def _values_at(factor: FactorEntry, positions: NDArray[np.float64]) -> list[Value]:
    """Return the values at positions between 0 and 1 of a range, rounded to six digits."""
    low, high = factor.between or (0.0, 1.0)
    if factor.scale == "log":
        values = np.exp(np.log(low) + positions * (np.log(high) - np.log(low)))
    else:
        values = low + positions * (high - low)
    if factor.whole:
        return [round(value) for value in values.tolist()]
    return [float(f"{value:.6g}") for value in values.tolist()]
