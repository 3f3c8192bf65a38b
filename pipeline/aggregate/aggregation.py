"""Aggregation of sweeps on Spark, in one pass over the runs.

Spark groups the runs by setting; all other tables are computed from the cell statistics. The driver never loads runs.

The output directory is written under a temporary name and moved when complete, the summary last.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from pipeline.aggregate.sensitivity import EFFECTS, effects
from pipeline.aggregate.stored_sweeps import AggregateError, StoredSweep, factor_columns, find_sweeps
from pipeline.aggregate.summary import FRONT_AND_FACTS, MAX_FACTORS, build_summary, scenario_front, with_all_seeds
from pipeline.parquet import write_parquet
from pipeline.spark_jobs import default_parallelism
from pipeline.storage import Storage
from reports.analysis.metrics import METRICS, Run
from reports.analysis.statistics import Floats, PairedDifference, SampleSummary, paired, summarize
from reports.analysis.sweeps.tables import AGGREGATE_SCHEMAS, CELLS, DIFFERENCES, OBJECTIVES
from simulator.results.tables import RUNS
from simulator.results.verdict import INCOMPARABLE, Verdict

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType


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
        assignor: its label.
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
