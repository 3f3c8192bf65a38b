"""An aggregated sweep, read from its tables: its cells in a fixed order, and their metrics by index."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from reports.analysis.metrics import METRIC, METRICS, Metric
from reports.analysis.sweeps.sweep_directory import SweepAggregate
from reports.analysis.text import printable
from simulator.results.result_directory import ResultsError

Row = Mapping[str, Any]

_SCENARIO = re.compile(r"""^scenario:[ ]*["']?([^"'#\n]*[^"'#\s])""", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean with its confidence interval.

    Attributes:
        low: lower end of the interval; None without an interval.
        high: upper end.
        runs: number of values.
    """

    mean: float
    low: float | None
    high: float | None
    runs: int


CellEstimates = Mapping[str, Mapping[int, MeanEstimate]]
"""Estimates by key of the metric, then by index of the cell; cells with an unknown value are missing."""


@dataclass(frozen=True, slots=True)
class SweepFactor:
    """A factor of a sweep.

    Attributes:
        name: name of the factor.
        levels: its levels as text, in order.
    """

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AggregatedCell:
    """An assignor in a setting.

    Attributes:
        label: text of the setting.
        assignor: label of the assignor.
        levels: index of its level of each factor, in the order of `AggregatedSweep.factors`.
        args: arguments of `--set` for the setting, `path=value`.
        row: its row in the table `front`.
    """

    setting: int
    label: str
    assignor: str
    levels: tuple[int, ...]
    args: tuple[str, ...]
    row: Row


@dataclass(frozen=True, slots=True)
class AggregatedSweep:
    """An aggregated sweep.

    Attributes:
        name: name of the sweep.
        baseline: label of the baseline assignor.
        assignors: labels of all assignors.
        objectives: metrics of the Pareto front.
        metrics: known metrics: objectives first, then those of which lower values are better, then the others.
        factors: factors of the sweep; the last one is the assignor.
        cells: cells by setting, then in the order of `assignors`.
        differences: differences from the baseline in the same setting, paired by seed.
        aggregate: tables and summary that it was read from.
    """

    name: str
    baseline: str
    assignors: tuple[str, ...]
    objectives: tuple[Metric, ...]
    metrics: tuple[Metric, ...]
    factors: tuple[SweepFactor, ...]
    cells: tuple[AggregatedCell, ...]
    means: CellEstimates
    differences: CellEstimates
    aggregate: SweepAggregate

    def indices(self) -> dict[tuple[int, str], int]:
        """Return the index of each cell by setting and assignor."""
        return {(cell.setting, cell.assignor): index for index, cell in enumerate(self.cells)}


def command(sweep: AggregatedSweep, assignor: str, args: Sequence[str] = ()) -> str:
    """Return the command that repeats the runs of a cell.

    `args`: `path=value` arguments of the setting; by default, only those that all settings have in common.
    """
    manifest = sweep.aggregate.manifest
    # Of a sweep that stopped seeds, those that all cells have, over which the means of the objectives are.
    shared = sweep.aggregate.summary["sweeps"][0].get("stopped", {}).get("shared_seeds")
    seeds = [word for seed in manifest.get("seeds", ())[:shared] for word in ("--seed", str(seed))]
    fixed = [f"{path}={value}" for path, value in manifest.get("changes", ())]
    return printable(
        shlex.join(
            [
                "assignor-sim",
                "run",
                _scenario_file(manifest),
                "--assignor",
                assignor,
                *seeds,
                *set_args([*fixed, *args]),
            ]
        )
    )


def _scenario_file(manifest: Mapping[str, Any]) -> str:
    """Return the file name of the scenario as the sweep file says; without it, the name of the scenario."""
    named = _SCENARIO.search(str(manifest.get("text", "")))
    if named is None:
        return str(manifest["scenario"]["name"])
    return f"{PurePath(named[1]).name.removesuffix('.yaml')}.yaml"


def set_args(args: Sequence[str]) -> list[str]:
    """Return `--set path=value` arguments as separate command-line words."""
    return [word for arg in args for word in ("--set", arg)]


_ASSIGNOR = "assignor"
_LAST_COMMON_COLUMN = "ci_high"
_ROUNDING = 1e-6

Value = float | str | None


def read_sweep(aggregate: SweepAggregate) -> AggregatedSweep:
    """Return the sweep of an aggregate, with cells in their display order.

    Raises ResultsError if no level of a factor contains the value of a setting.
    """
    sweep_summary = aggregate.summary["sweeps"][0]
    objectives = [METRIC[name] for name in aggregate.summary["scenarios"][0]["objectives"]]
    rows = aggregate.tables["front"].to_pylist()
    assignors = _in_order(sweep_summary["assignors"], [row[_ASSIGNOR] for row in rows])
    rows.sort(key=lambda row: (row["setting"], assignors.index(row[_ASSIGNOR])))
    indices = {(row["setting"], row[_ASSIGNOR]): index for index, row in enumerate(rows)}
    means = _estimates(aggregate.tables["cells"], indices, ("mean", "ci_low", "ci_high", "known"))
    if "stopped" in sweep_summary:
        means = _with_means_of_front(means, rows, [metric.name for metric in objectives])
    names = ("mean_difference", "difference_low", "difference_high", "pairs")
    values = _values(aggregate.tables["cells"])
    factors, levels = _factors(aggregate, [factor["name"] for factor in sweep_summary["factors"]], values, assignors)
    cells = [
        AggregatedCell(
            row["setting"],
            row["label"],
            row[_ASSIGNOR],
            (*levels[row["setting"]], factors[-1].levels.index(row[_ASSIGNOR])),
            _args(aggregate.manifest, values[row["setting"]]),
            row,
        )
        for row in rows
    ]
    return AggregatedSweep(
        sweep_summary["sweep"],
        sweep_summary["baseline"],
        tuple(assignors),
        tuple(objectives),
        tuple(_metrics(objectives, means)),
        tuple(factors),
        tuple(cells),
        means,
        _estimates(aggregate.tables["differences"], indices, names),
        aggregate,
    )


def level_text(value: Value) -> str:
    """Return a value as in a scenario: whole numbers without a decimal point."""
    if value is None:
        return "null"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def _in_order(preferred: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the names without duplicates, preferred ones first."""
    return list(dict.fromkeys([*(name for name in preferred if name in set(names)), *names]))


def _metrics(objectives: Sequence[Metric], means: CellEstimates) -> list[Metric]:
    known = [metric for metric in METRICS if means.get(metric.name)]
    better = [metric for metric in known if metric.lower_is_better]
    return list(dict.fromkeys([*objectives, *better, *known]))


def _estimates(table: pa.Table, indices: Mapping[tuple[int, str], int], names: Sequence[str]) -> CellEstimates:
    known = table.filter(pc.is_valid(table[names[0]]))
    columns = [known[name].to_pylist() for name in ("metric", "setting", _ASSIGNOR, *names)]
    estimates: dict[str, dict[int, MeanEstimate]] = {}
    for metric, setting, assignor, *numbers in zip(*columns, strict=True):
        if metric in METRIC:
            estimates.setdefault(metric, {})[indices[setting, assignor]] = _estimate(*numbers)
    return estimates


def _with_means_of_front(means: CellEstimates, rows: Sequence[Row], objectives: Sequence[str]) -> CellEstimates:
    """Return the means with those of the objectives over the seeds that all cells have, by which the front compares."""
    changed = {name: dict(estimates) for name, estimates in means.items()}
    for name in objectives:
        for index, row in enumerate(rows):
            if row[name] is not None:
                changed[name][index] = _estimate(row[name], row[f"{name}_low"], row[f"{name}_high"], row["runs"])
    return changed


def _estimate(mean: float, low: float | None, high: float | None, runs: int) -> MeanEstimate:
    """Return an estimate; a mean that is tiny relative to its interval is a rounding error of 0."""
    scale = max(abs(low or 0.0), abs(high or 0.0))
    return MeanEstimate(0.0 if abs(mean) < _ROUNDING * scale else mean, low, high, runs)


def _values(cells: pa.Table) -> dict[int, tuple[Value, ...]]:
    """Return the values of the factors by setting, from the columns after the common ones."""
    first = cells.column_names.index(_LAST_COMMON_COLUMN) + 1
    names = cells.column_names[first:]
    distinct = cells.select(["setting", *names]).group_by(["setting", *names], use_threads=False).aggregate([])
    columns = [distinct[name].to_pylist() for name in ("setting", *names)]
    return {setting: tuple(values) for setting, *values in zip(*columns, strict=True)}


def _factors(
    aggregate: SweepAggregate, names: Sequence[str], values: Mapping[int, Sequence[Value]], assignors: Sequence[str]
) -> tuple[list[SweepFactor], dict[int, tuple[int, ...]]]:
    """Return the factors, and the indices of the levels of each setting."""
    rows: dict[str, dict[int, Row]] = {}
    for row in aggregate.tables["levels"].to_pylist():
        rows.setdefault(row["factor"], {})[row["position"]] = row
    table = f"{aggregate.name}/aggregate/levels"
    factors = []
    columns: list[dict[int, int]] = []
    for number, name in enumerate(names):
        by_setting = {setting: setting_values[number] for setting, setting_values in values.items()}
        levels = [rows[name][position] for position in sorted(rows[name])] if name in rows else []
        texts = [row["level"] for row in levels] or sorted({level_text(value) for value in by_setting.values()})
        factors.append(SweepFactor(name, tuple(texts)))
        columns.append(
            {setting: _level_index(value, levels, texts, name, table) for setting, value in by_setting.items()}
        )
    by_position = rows.get(_ASSIGNOR, {})
    known = [by_position[position]["level"] for position in sorted(by_position)]
    factors.append(SweepFactor(_ASSIGNOR, tuple(_in_order(known, assignors))))
    return factors, {setting: tuple(column[setting] for column in columns) for setting in values}


def _level_index(value: Value, levels: Sequence[Row], texts: Sequence[str], factor: str, table: str) -> int:
    """Return the index of the level of a value: its own level, or the bin that contains it.

    Raises ResultsError if no level contains the value.
    """
    text = level_text(value)
    if text in texts:
        return texts.index(text)
    if isinstance(value, float):
        for index, row in enumerate(levels):
            if row["low"] is not None and row["high"] is not None and row["low"] <= value <= row["high"]:
                return index
    raise ResultsError(f"{table}: factor {factor!r}: no level contains {text[:60]!r} of the table cells")


def _args(manifest: Mapping[str, Any], values: Sequence[Value]) -> tuple[str, ...]:
    args: list[str] = []
    for factor, value in zip(manifest.get("factors", ()), values, strict=True):
        is_amount = factor.get("unit") is not None and isinstance(value, float)
        text = f"{level_text(value)} {factor['unit']}" if is_amount else level_text(value)
        args.extend(f"{path}={text}" for path in factor["paths"])
    return tuple(args)
