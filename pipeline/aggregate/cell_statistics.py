"""Cell statistics of one setting, and the differences of its cells from the baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.aggregate.stored_sweeps import StoredSweep
from reports.analysis.metric import Run
from reports.analysis.metrics import METRICS
from reports.analysis.statistics import Floats, PairedDifference, SampleSummary, paired, summarize
from reports.analysis.sweeps.tables import CELLS, DIFFERENCES
from simulator.results.tables import RUNS
from simulator.results.verdict import INCOMPARABLE, Verdict

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
        runs: number of runs.
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

    Args:
        sweep: the sweep of the setting.
        runs: the runs of one setting, in any order, with the columns of `run_schema`.

    Returns:
        Rows of `cell_statistics_schema`, by assignor and metric.
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
