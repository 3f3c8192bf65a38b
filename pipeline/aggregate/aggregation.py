"""Aggregation of sweeps on Spark, in one pass over the runs.

Spark groups the runs by setting; all other tables are computed from the cell statistics. The driver never loads runs.

The output directory is written under a temporary name and moved when complete, the summary last.

The sensitivity of a metric to the factors of a sweep is computed from the cell statistics, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.aggregate.stored_sweeps import (
    ASSIGNOR,
    AggregateError,
    StoredSweep,
    Value,
    factor_columns,
    find_sweeps,
    level_text,
)
from pipeline.aggregate.summary import FRONT_AND_FACTS, MAX_FACTORS, build_summary, scenario_front, with_all_seeds
from pipeline.spark_jobs import default_parallelism
from pipeline.storage import Storage, write_parquet
from reports.analysis.metrics import METRICS, Run
from reports.analysis.statistics import Floats, PairedDifference, SampleSummary, paired, summarize
from reports.analysis.sweeps.tables import AGGREGATE_SCHEMAS, CELLS, DIFFERENCES, LEVELS, OBJECTIVES, PAIRS, SENSITIVITY
from simulator.results.tables import RUNS
from simulator.results.verdict import INCOMPARABLE, Verdict

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType


MAX_LEVELS = 10
"""Numeric factors with more distinct values are binned into this many bins, or fewer if quantiles coincide."""

_TABLES = {"sensitivity": SENSITIVITY, "levels": LEVELS, "pairs": PAIRS}
_FIELDS = {field.name: pa.field(field.name, field.type) for schema in _TABLES.values() for field in schema}

EFFECTS = pa.schema([pa.field("table", pa.string()), *_FIELDS.values()])
"""The rows of all three tables in one schema; column `table` names the table."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Level:
    """A value of a factor, or a bin of several values.

    Attributes:
        text: the value or the range of the bin, for display.
        low: smallest value; None unless numeric.
        high: largest value; None unless numeric.
    """

    text: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class LeveledFactor:
    """A factor with its values grouped into levels.

    Attributes:
        levels: numbers ascending, then texts alphabetically; null last.
        of_cell: shape (cells,); index of the level of each cell.
    """

    name: str
    levels: tuple[Level, ...]
    of_cell: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Moments:
    """Count, mean and sum of squared deviations of groups of runs; the mean of an empty group is 0.

    Attributes:
        count: shape (groups,); number of runs.
        mean: shape (groups,).
        squares: shape (groups,); sum of squared deviations from the mean.
    """

    count: Floats
    mean: Floats
    squares: Floats

    def merged(self, group: NDArray[np.int64], groups: int) -> Moments:
        """Merge groups into larger ones.

        `group`, shape (groups,): index of the larger group that each group belongs to.
        """
        count = _sums(group, self.count, groups)
        # Deviations from the first mean, so that equal means stay exactly equal.
        first = self.mean[np.argmax(self.count > 0)] if self.count.any() else 0.0
        total = _sums(group, self.count * (self.mean - first), groups)
        mean = np.where(count > 0, first + total / np.maximum(count, 1), 0.0)
        within = self.squares + self.count * (self.mean - mean[group]) ** 2
        return Moments(count, mean, _sums(group, within, groups))


def effects(sweep: StoredSweep, statistics: pa.Table) -> pa.Table:
    """Compute how one metric depends on the factors of a sweep.

    `statistics`: statistics of all cells for this metric, in any order, with the columns of `cell_statistics_schema`.
    Returns rows of `EFFECTS`.
    """
    statistics = statistics.sort_by([("setting", "ascending"), (ASSIGNOR, "ascending")])
    moments = _moments(statistics)
    columns = zip((*(factor.name for factor in sweep.factors), ASSIGNOR), (*sweep.columns, ASSIGNOR), strict=True)
    leveled = [group_levels(name, statistics.column(column).to_pylist()) for name, column in columns]
    key = {"scenario": sweep.scenario, "sweep": sweep.name, "metric": statistics.column("metric")[0].as_py()}
    rows = [*_sensitivity(leveled, moments), *_levels(leveled, moments), *_pairs(leveled, moments)]
    return pa.Table.from_pylist([key | row for row in rows], schema=EFFECTS)


def group_levels(name: str, values: Sequence[Value]) -> LeveledFactor:
    """Group the values of a factor into levels, and numbers with many distinct values into bins.

    `values`: one per cell. Returns the levels and the level of each cell.
    """
    known = [value for value in values if value is not None]
    levels, place = _bins(known) if _is_many_numbers(known) else _distinct_levels(known)
    if len(known) < len(values):
        levels = [*levels, Level(level_text(None))]
    places = [len(levels) - 1 if value is None else place[value] for value in values]
    return LeveledFactor(name, tuple(levels), np.array(places, dtype=np.int64))


def explained_share(moments: Moments) -> tuple[float | None, str | None]:
    """Return the share of the variance that lies between groups of runs, or the reason why it is unknown.

    The share is corrected for chance differences between groups: T. L. Kelley's epsilon² (1935), 1 - (1 - eta²)(runs -
    1)/(runs - groups), at least 0. Returns the share and None, or None and the reason.
    """
    groups, runs = int(np.count_nonzero(moments.count)), float(moments.count.sum())
    if not runs:
        return None, "no run has the metric"
    whole = moments.merged(np.zeros(len(moments.count), dtype=np.int64), 1)
    if whole.squares[0] <= 1e-24 * runs * whole.mean[0] ** 2:
        return None, "all runs have the same value"
    if runs <= groups:
        return None, "not more runs than levels"
    within = float(moments.squares.sum() / whole.squares[0])
    return max(0.0, 1.0 - within * (runs - 1) / (runs - groups)), None


def _sums(group: NDArray[np.int64], values: Floats, groups: int) -> Floats:
    return np.bincount(group, values, groups).astype(np.float64)


def _moments(statistics: pa.Table) -> Moments:
    count, mean, sd = (
        np.array(statistics.column(name).to_pylist(), dtype=np.float64) for name in ("known", "mean", "sd")
    )
    return Moments(count, np.nan_to_num(mean), np.nan_to_num(sd) ** 2 * np.maximum(count - 1, 0))


def _is_many_numbers(values: Sequence[Value]) -> bool:
    return all(isinstance(value, float) for value in values) and len(set(values)) > MAX_LEVELS


def _distinct_levels(values: Sequence[Any]) -> tuple[list[Level], dict[Value, int]]:
    ordered = sorted(set(values))
    return [_level(value) for value in ordered], {value: place for place, value in enumerate(ordered)}


def _level(value: Value) -> Level:
    number = value if isinstance(value, float) else None
    return Level(level_text(value), number, number)


def _bins(values: Sequence[Any]) -> tuple[list[Level], dict[Value, int]]:
    different = np.unique(np.array(values, dtype=np.float64))
    edges = np.unique(np.quantile(values, np.linspace(0, 1, MAX_LEVELS + 1)[1:-1]))
    _, bins = np.unique(np.searchsorted(edges, different, side="left"), return_inverse=True)
    levels = []
    for number in range(int(bins.max()) + 1):
        inside = different[bins == number].tolist()
        low, high = inside[0], inside[-1]
        text = level_text(low) if low == high else f"{level_text(low)} to {level_text(high)}"
        levels.append(Level(text, low, high))
    return levels, dict(zip(different.tolist(), bins.tolist(), strict=True))


def _sensitivity(leveled: Sequence[LeveledFactor], moments: Moments) -> Iterator[Row]:
    rows: list[Row] = []
    for factor in leveled:
        if len(factor.levels) > 1:
            share, unknown = explained_share(moments.merged(factor.of_cell, len(factor.levels)))
            row = {"factor": factor.name, "levels": len(factor.levels), "runs": int(moments.count.sum())}
            rows.append(row | {"share": share, "unknown": unknown})
    ranked = sorted(rows, key=lambda row: -(-1.0 if row["share"] is None else row["share"]))
    for rank, row in enumerate(ranked, start=1):
        yield {"table": "sensitivity", "rank": rank} | row


def _levels(leveled: Sequence[LeveledFactor], moments: Moments) -> Iterator[Row]:
    for factor in leveled:
        of_levels = moments.merged(factor.of_cell, len(factor.levels))
        for position, level in enumerate(factor.levels):
            row = {"factor": factor.name, "position": position, "level": level.text}
            yield {"table": "levels"} | row | {"low": level.low, "high": level.high} | _statistics(of_levels, position)


def _pairs(leveled: Sequence[LeveledFactor], moments: Moments) -> Iterator[Row]:
    for first, second in combinations(leveled, 2):
        width = len(second.levels)
        joint = first.of_cell * width + second.of_cell
        merged = moments.merged(joint, len(first.levels) * width)
        for group in np.unique(joint).tolist():
            position, other_position = divmod(group, width)
            row = {"factor": first.name, "other": second.name, "level": first.levels[position].text}
            row |= {"position": position, "other_position": other_position}
            yield (
                {"table": "pairs"}
                | row
                | {"other_level": second.levels[other_position].text}
                | _statistics(merged, group)
            )


def _statistics(moments: Moments, group: int) -> Row:
    count = int(moments.count[group])
    sd = float(np.sqrt(moments.squares[group] / (count - 1))) if count > 1 else None
    return {"runs": count, "mean": float(moments.mean[group]) if count else None, "sd": sd}


SUMMARY = "summary.json"
"""The summary as JSON; its presence identifies a directory as an aggregate."""

_FILE = "part-00000.parquet"

_ORDER = {
    "cells": ("scenario", "sweep", "setting", "assignor", "metric"),
    "differences": ("scenario", "sweep", "setting", "assignor", "metric"),
    "front": ("scenario", "sweep", "setting", "assignor"),
    "sensitivity": ("scenario", "sweep", "metric", "rank"),
    "levels": ("scenario", "sweep", "metric", "factor", "position"),
    "pairs": ("scenario", "sweep", "metric", "factor", "other", "position", "other_position"),
}
"""Sort key of each table; unique for every row."""


class AggregateDirectory:
    """The directory that an aggregate is written to.

    `spark`: the session whose file systems are used. `directory`: path or URI; an existing aggregate is replaced.
    Raises AggregateError if the directory contains something else.
    """

    def __init__(self, spark: SparkSession, directory: str) -> None:
        root = Storage(spark, directory).root.rstrip("/")
        parent, _, self._name = root.rpartition("/")
        self._storage = Storage(spark, parent)
        self._temporary = f".{self._name}.part"
        if self._storage.children(self._name) and not self._is_aggregate():
            raise AggregateError(f"{root}: exists and is not an aggregate; choose another --out")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Exclude other processes, and remove what a killed one has left."""
        with self._storage.lock(self._name):
            self._storage.complete_replacement(self._temporary, self._name, SUMMARY)
            self._storage.remove(self._temporary)
            yield

    def write(self, table: DataFrame, name: str) -> None:
        """Write a table as a folder with a single file of fixed name and reproducible bytes."""
        ordered = table.repartition(1).sortWithinPartitions(*_ORDER[name])
        write_parquet(ordered, self._storage.path(self._temporary, f"{name}.spark"))
        [file] = [
            child for child in self._storage.children(self._temporary, f"{name}.spark") if child.endswith(".parquet")
        ]
        self._storage.move((self._temporary, f"{name}.spark", file), (self._temporary, name, _FILE))
        self._storage.remove(self._temporary, f"{name}.spark")

    def finish(self, summary: str) -> None:
        """Write the summary and move the directory to its final name."""
        self._storage.write_text(summary, self._temporary, SUMMARY)
        self._storage.replace(self._temporary, self._name, SUMMARY)

    def _is_aggregate(self) -> bool:
        """Return whether the directory holds an aggregate, or was about to get one when a process was killed."""
        return self._storage.exists(self._name, SUMMARY) or self._storage.is_being_replaced(self._temporary)


CELL_STATISTICS = tuple(
    pa.field(field.name, field.type)
    for field in (*CELLS, *(field for field in DIFFERENCES if field.name not in CELLS.names))
)
"""The columns of `cells` and of `differences` side by side; one row per cell and metric."""


def run_schema(sweep: StoredSweep) -> pa.Schema:
    """Return the schema of the runs of a sweep, joined with the factor values of their setting."""
    runs = (pa.field(field.name, field.type) for field in RUNS)
    return pa.schema([("setting", pa.int64()), *runs, ("error", pa.string()), *factor_fields(sweep)])


def cell_statistics_schema(sweep: StoredSweep) -> pa.Schema:
    """Return the schema of the statistics of a sweep: `CELL_STATISTICS` and the factor values of the setting."""
    return pa.schema([*CELL_STATISTICS, *factor_fields(sweep)])


def factor_fields(sweep: StoredSweep) -> list[pa.Field]:
    """Return the columns with the factor values of a setting, in the order of the factors."""
    kinds = (pa.float64() if factor.is_number else pa.string() for factor in sweep.factors)
    return [pa.field(name, kind) for name, kind in zip(sweep.columns, kinds, strict=True)]


@dataclass(frozen=True, slots=True)
class _Cell:
    """The runs of one assignor in one setting, sorted by seed.

    Attributes:
        errors: number of runs that raised an error.
        failed: number of runs that ended without an assignment.
        stable: share of the runs that converged.
        seeds: seeds of the runs that produced an assignment.
        values: shape (len(seeds), len(METRICS)); NaN where the metric is unknown.
    """

    assignor: str
    runs: int
    errors: int
    failed: int
    stable: float
    seeds: tuple[int, ...]
    values: Floats


def cell_statistics(sweep: StoredSweep, runs: pa.Table) -> pa.Table:
    """Compute the statistics of all cells of a setting.

    `runs`: the runs of one setting, in any order, with the columns of `run_schema`. Returns rows of
    `cell_statistics_schema`, by assignor and metric.
    """
    rows = runs.to_pylist()
    factors = {name: rows[0][name] for name in sweep.columns}
    label = sweep.label(list(factors.values()))
    by_assignor: dict[str, list[Run]] = {}
    for row in sorted(rows, key=lambda row: (row["assignor"], row["seed"])):
        by_assignor.setdefault(row["assignor"], []).append(row)
    cells = {assignor: _cell(assignor, assignor_runs) for assignor, assignor_runs in by_assignor.items()}
    key = {"scenario": sweep.scenario, "sweep": sweep.name, "setting": rows[0]["setting"], "label": label} | factors
    statistics = [key | row for cell in cells.values() for row in _rows(sweep, cell, cells.get(sweep.baseline))]
    return pa.Table.from_pylist(statistics, schema=cell_statistics_schema(sweep))


def _cell(assignor: str, runs: Sequence[Run]) -> _Cell:
    assigned = [run for run in runs if run["error"] is None and run["verdict"] not in INCOMPARABLE]
    errors = sum(run["error"] is not None for run in runs)
    return _Cell(
        assignor=assignor,
        runs=len(runs),
        errors=errors,
        failed=len(runs) - errors - len(assigned),
        stable=sum(run["verdict"] == Verdict.STABLE for run in assigned) / len(runs),
        seeds=tuple(run["seed"] for run in assigned),
        values=np.array([[metric.of(run) for metric in METRICS] for run in assigned], dtype=np.float64).reshape(
            len(assigned), len(METRICS)
        ),
    )


def _rows(sweep: StoredSweep, cell: _Cell, baseline: _Cell | None) -> Iterator[dict[str, Any]]:
    differences: Sequence[PairedDifference | None] = [None] * len(METRICS)
    if cell.assignor != sweep.baseline:
        differences = _differences(cell, baseline)
    for metric, summary, pair in zip(METRICS, summarize(cell.values), differences, strict=True):
        row: dict[str, Any] = {
            "assignor": cell.assignor,
            "metric": metric.name,
            "runs": cell.runs,
            "errors": cell.errors,
        }
        row |= {"failed": cell.failed, "stable": cell.stable} | _summary_columns(summary)
        if pair is not None:
            row |= {"baseline": sweep.baseline} | _difference_columns(pair, metric.lower_is_better)
        yield row


def _differences(cell: _Cell, baseline: _Cell | None) -> list[PairedDifference]:
    """Return the difference of each metric over the seeds that the cell and the baseline have in common."""
    baseline_row = {} if baseline is None else {seed: row for row, seed in enumerate(baseline.seeds)}
    common = [(row, baseline_row[seed]) for row, seed in enumerate(cell.seeds) if seed in baseline_row]
    values = cell.values[[row for row, _ in common]]
    baseline_values = np.empty_like(values) if baseline is None else baseline.values[[row for _, row in common]]
    return paired(values, baseline_values)


def _summary_columns(summary: SampleSummary) -> dict[str, Any]:
    # Metrics are never negative, so a mean is at least 0.
    low, high = (None, None) if summary.interval is None else (max(summary.interval.low, 0.0), summary.interval.high)
    facts = {"known": summary.known, "mean": summary.mean, "p50": summary.p50, "p95": summary.p95}
    return {**facts, "sd": summary.sd, "ci_low": low, "ci_high": high}


def _difference_columns(pair: PairedDifference, lower_is_better: bool) -> dict[str, Any]:
    low, high = (None, None) if pair.interval is None else (pair.interval.low, pair.interval.high)
    return {
        "pairs": pair.pairs,
        "mean_difference": pair.mean,
        "relative_difference": pair.relative,
        "difference_low": low,
        "difference_high": high,
        "excludes_zero": pair.excludes_zero,
        "effect_size": pair.effect,
        "effect_unknown": pair.effect_unknown,
        "better": pair.less if lower_is_better else None,
        "worse": pair.more if lower_is_better else None,
    }


_RUNS_PER_TASK = 500


def aggregate(
    spark: SparkSession, dirs: Sequence[str], out: str | None = None, baseline: str | None = None
) -> dict[str, Any]:
    """Aggregate sweeps; write each table of `AGGREGATE_SCHEMAS` as a folder with one Parquet file, and `summary.json`.

    Guarantees:
        The same runs produce the same bytes, however they are distributed over files and machines. An existing
        aggregate is replaced only after the new one is complete.

    Args:
        spark: the session.
        dirs: sweep directories, finished or not, as paths or URIs.
        out: output directory; by default the folder `aggregate` in the single sweep directory.
        baseline: label of the assignor to compare with; overrides the baseline of each sweep.

    Returns:
        The summary.

    Raises:
        AggregateError: a directory is not a sweep directory, or the output directory contains something else.
    """
    sweeps = find_sweeps(spark, dirs, baseline)
    if out is None and len(sweeps) != 1:
        raise AggregateError(f"{len(sweeps)} sweeps: choose an output directory with --out DIR")
    output = AggregateDirectory(spark, f"{sweeps[0].root}/aggregate" if out is None else out)
    cells = [_cells(spark, sweep).persist() for sweep in sweeps]
    all_cells = _all_cells(cells)
    # Cells with different numbers of seeds are compared by the seeds that all of them have.
    have_other_seeds = any(sweep.shared_seeds is not None for sweep in sweeps)
    compared = [
        cells_of_sweep if sweep.shared_seeds is None else _cells(spark, sweep, sweep.shared_seeds).persist()
        for sweep, cells_of_sweep in zip(sweeps, cells, strict=True)
    ]
    fronts = _fronts(_all_cells(compared)).persist()
    all_effects = reduce(_union, map(_effects, sweeps, compared)).persist()
    tables = {"cells": reduce(_union, _with_factors(sweeps, cells))}
    tables["front"] = fronts.select(*AGGREGATE_SCHEMAS["front"].names)
    tables["differences"] = all_cells.where("baseline is not null").select(*AGGREGATE_SCHEMAS["differences"].names)
    for name in ("sensitivity", "levels", "pairs"):
        tables[name] = all_effects.where(f"table = '{name}'").select(*AGGREGATE_SCHEMAS[name].names)
    try:
        with output.lock():
            for name, table in tables.items():
                output.write(table, name)
            facts = _facts(fronts)
            if have_other_seeds:
                of_all_seeds = {fact["scenario"]["scenario"]: fact for fact in _facts(_fronts(all_cells))}
                facts = [with_all_seeds(fact, of_all_seeds[fact["scenario"]["scenario"]]) for fact in facts]
            strongest = tables["sensitivity"].where(f"rank <= {MAX_FACTORS}").collect()
            summary = build_summary(sweeps, facts, [row.asDict() for row in strongest])
            output.finish(json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    finally:
        for cached in (*cells, *compared, fronts, all_effects):
            cached.unpersist()
    return summary


def _all_cells(cells: Sequence[DataFrame]) -> DataFrame:
    names = [field.name for field in CELL_STATISTICS]
    return reduce(_union, (cells_of_sweep.select(*names) for cells_of_sweep in cells))


def _facts(fronts: DataFrame) -> list[dict[str, Any]]:
    return [json.loads(row["facts"]) for row in fronts.where("facts is not null").select("facts").collect()]


def _cells(spark: SparkSession, sweep: StoredSweep, seeds: Sequence[int] | None = None) -> DataFrame:
    """Return the cell statistics of a sweep: join its settings to its runs of some seeds and group by setting.

    The groups are repartitioned evenly. Spark would otherwise partition by bytes and put all groups,
    which are small but expensive, into one task.
    """
    from pyspark.sql import functions

    settings = _read(spark, f"{sweep.root}/settings", _settings_schema(sweep)).toDF("setting", *sweep.columns)
    wanted = run_schema(sweep)
    runs = _read(spark, f"{sweep.root}/runs", pa.schema([field for field in wanted if field.name not in sweep.columns]))
    if seeds is not None:
        runs = runs.where(runs["seed"].isin(*seeds))
    tasks = min(-(-sweep.planned // _RUNS_PER_TASK), 4 * default_parallelism(spark))
    joined = runs.join(functions.broadcast(settings), "setting").repartition(max(1, tasks), "setting")
    return _grouped(
        joined.select(*wanted.names), "setting", partial(cell_statistics, sweep), cell_statistics_schema(sweep)
    )


def _settings_schema(sweep: StoredSweep) -> pa.Schema:
    fields = (field.with_name(factor.name) for field, factor in zip(factor_fields(sweep), sweep.factors, strict=True))
    return pa.schema([("setting", pa.int64()), *fields])


def _read(spark: SparkSession, path: str, schema: pa.Schema) -> DataFrame:
    """Read columns by name; passing the schema saves a Spark job that infers it."""
    return spark.read.schema(_spark_schema(schema)).option("recursiveFileLookup", "true").parquet(path)


def _fronts(cells: DataFrame) -> DataFrame:
    objectives = cells.where(cells["metric"].isin(*OBJECTIVES))
    return _grouped(objectives, "scenario", scenario_front, FRONT_AND_FACTS)


def _effects(sweep: StoredSweep, cells: DataFrame) -> DataFrame:
    return _grouped(cells, "metric", partial(effects, sweep), EFFECTS)


def _with_factors(sweeps: Sequence[StoredSweep], cells: Sequence[DataFrame]) -> Iterator[DataFrame]:
    """Yield the table `cells` of each sweep, with columns for the factors of all sweeps."""
    fixed = AGGREGATE_SCHEMAS["cells"].names
    columns = factor_columns(sweeps, fixed)
    for sweep, table in zip(sweeps, cells, strict=True):
        own_columns = {
            factor.name: (column, factor.is_number) for column, factor in zip(sweep.columns, sweep.factors, strict=True)
        }
        values = (_value(own_columns.get(name), numbers).alias(column) for name, (column, numbers) in columns.items())
        yield table.select(*fixed, *values)


def _value(own: tuple[str, bool] | None, wants_number: bool) -> Column:
    """Return a factor column as numbers, or as text if another sweep has text; null if this sweep lacks the factor."""
    from pyspark.sql import functions

    if own is None:
        return functions.lit(None).cast("double" if wants_number else "string")
    column, is_number = own
    value = functions.col(column)
    if wants_number or not is_number:
        return value
    whole = value.cast("long")
    return functions.when(value == whole, whole.cast("string")).otherwise(value.cast("string"))


def _union(upper: DataFrame, lower: DataFrame) -> DataFrame:
    return upper.unionByName(lower)


def _grouped(table: DataFrame, key: str, work: Callable[[pa.Table], pa.Table], schema: pa.Schema) -> DataFrame:
    def apply(group: pa.Table) -> pa.Table:  # Spark inspects the type hints, which `partial` hides.
        return work(group)

    return table.groupBy(key).applyInArrow(apply, _spark_schema(schema))


def _spark_schema(schema: pa.Schema) -> StructType:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(pa.schema([pa.field(field.name, field.type) for field in schema]))
