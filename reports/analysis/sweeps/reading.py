"""From the tables of an aggregate to a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from reports.analysis.metric import Metric
from reports.analysis.metrics import METRIC, METRICS
from reports.analysis.sweeps.aggregated_sweep import (
    AggregatedSweep,
    Cell,
    CellEstimates,
    MeanEstimate,
    Row,
    SweepFactor,
)
from reports.analysis.sweeps.sweep_directory import SweepAggregate

_ASSIGNOR = "assignor"
_VALUE_COLUMNS_AFTER = "ci_high"
_NOTHING = 1e-6

Value = float | str | None


def read_sweep(aggregate: SweepAggregate) -> AggregatedSweep:
    """Put the rows of an aggregate in the order of its cells."""
    facts = aggregate.summary["sweeps"][0]
    objectives = [METRIC[name] for name in aggregate.summary["scenarios"][0]["objectives"]]
    rows = aggregate.tables["front"].to_pylist()
    assignors = _in_order(facts["assignors"], [row[_ASSIGNOR] for row in rows])
    rows.sort(key=lambda row: (row["setting"], assignors.index(row[_ASSIGNOR])))
    places = {(row["setting"], row[_ASSIGNOR]): place for place, row in enumerate(rows)}
    figures = _figures(aggregate.tables["cells"], places, ("mean", "ci_low", "ci_high", "known"))
    names = ("mean_difference", "difference_low", "difference_high", "pairs")
    values = _values(aggregate.tables["cells"])
    factors, levels = _factors(aggregate, [factor["name"] for factor in facts["factors"]], values, assignors)
    cells = [
        Cell(
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
        facts["sweep"],
        facts["baseline"],
        tuple(assignors),
        tuple(objectives),
        tuple(_metrics(objectives, figures)),
        tuple(factors),
        tuple(cells),
        figures,
        _figures(aggregate.tables["differences"], places, names),
        aggregate,
    )


def level_text(value: Value) -> str:
    """A value as a scenario would have it: whole numbers without a point."""
    if value is None:
        return "null"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def _in_order(named: Sequence[str], found: Sequence[str]) -> list[str]:
    """Those that were named first, then what else is there."""
    return list(dict.fromkeys([*(name for name in named if name in set(found)), *found]))


def _metrics(objectives: Sequence[Metric], figures: CellEstimates) -> list[Metric]:
    known = [metric for metric in METRICS if figures.get(metric.name)]
    better = [metric for metric in known if metric.lower_is_better]
    return list(dict.fromkeys([*objectives, *better, *known]))


def _figures(table: pa.Table, places: Mapping[tuple[int, str], int], names: Sequence[str]) -> CellEstimates:
    known = table.filter(pc.is_valid(table[names[0]]))
    columns = [known[name].to_pylist() for name in ("metric", "setting", _ASSIGNOR, *names)]
    found: dict[str, dict[int, MeanEstimate]] = {}
    for metric, setting, assignor, *numbers in zip(*columns, strict=True):
        if metric in METRIC:
            found.setdefault(metric, {})[places[setting, assignor]] = _figure(*numbers)
    return found


def _figure(mean: float, low: float | None, high: float | None, runs: int) -> MeanEstimate:
    """What is next to nothing beside its own interval is what sums of floats leave of 0."""
    far = max(abs(low or 0.0), abs(high or 0.0))
    return MeanEstimate(0.0 if abs(mean) < _NOTHING * far else mean, low, high, runs)


def _values(cells: pa.Table) -> dict[int, tuple[Value, ...]]:
    """The values of the factors by setting: the columns behind those that every aggregate has."""
    first = cells.column_names.index(_VALUE_COLUMNS_AFTER) + 1
    names = cells.column_names[first:]
    distinct = cells.select(["setting", *names]).group_by(["setting", *names]).aggregate([])
    columns = [distinct[name].to_pylist() for name in ("setting", *names)]
    return {setting: tuple(values) for setting, *values in zip(*columns, strict=True)}


def _factors(
    aggregate: SweepAggregate, names: Sequence[str], values: Mapping[int, Sequence[Value]], assignors: Sequence[str]
) -> tuple[list[SweepFactor], dict[int, tuple[int, ...]]]:
    """The factors, and the places of the levels of each setting."""
    found: dict[str, dict[int, Row]] = {}
    for row in aggregate.tables["levels"].to_pylist():
        found.setdefault(row["factor"], {})[row["position"]] = row
    factors = []
    columns: list[dict[int, int]] = []
    for number, name in enumerate(names):
        of_setting = {setting: each[number] for setting, each in values.items()}
        levels = [found[name][position] for position in sorted(found[name])] if name in found else []
        texts = [row["level"] for row in levels] or sorted({level_text(value) for value in of_setting.values()})
        factors.append(SweepFactor(name, tuple(texts)))
        columns.append({setting: _place(value, levels, texts) for setting, value in of_setting.items()})
    by_position = found.get(_ASSIGNOR, {})
    known = [by_position[position]["level"] for position in sorted(by_position)]
    factors.append(SweepFactor(_ASSIGNOR, tuple(_in_order(known, assignors))))
    return factors, {setting: tuple(column[setting] for column in columns) for setting in values}


def _place(value: Value, levels: Sequence[Row], texts: Sequence[str]) -> int:
    """Where a value belongs: to the level of its own, else to the bin that it is in."""
    text = level_text(value)
    if text in texts:
        return texts.index(text)
    return next(
        place
        for place, row in enumerate(levels)
        if isinstance(value, float) and row["low"] is not None and row["low"] <= value <= row["high"]
    )


def _args(manifest: Mapping[str, Any], values: Sequence[Value]) -> tuple[str, ...]:
    args: list[str] = []
    for factor, value in zip(manifest.get("factors", ()), values, strict=True):
        is_amount = factor.get("unit") is not None and isinstance(value, float)
        text = f"{level_text(value)} {factor['unit']}" if is_amount else level_text(value)
        args.extend(f"{path}={text}" for path in factor["paths"])
    return tuple(args)
