"""Arrow schemas of the tables of an aggregate.

As in `simulator.results.tables`, the metadata of a field describes the column; the reference is generated from it.
"""

from __future__ import annotations

import pyarrow as pa

from simulator.results.tables import table_schema

MONEY = ("cross_rack_usd_per_day", "cross_rack_bytes_per_s")
"""Metrics of steady cross-rack traffic, best first; the first one that every run of every cell has is used."""

OBJECTIVES = (*MONEY, "active_moves", "downtime_ms", "time_to_converge_ms")
"""Metrics compared by the Pareto front; lower is better."""


_SETTING = (
    ("scenario", pa.string(), "name of the scenario, with the start of a hash if several scenarios have that name"),
    ("sweep", pa.string(), "name of the sweep, numbered if several sweeps have that name"),
    ("setting", pa.int64(), "number of the setting in the sweep"),
    ("label", pa.string(), "the setting as text: `standbys=1, traffic_cost=10`"),
    ("assignor", pa.string(), "label of the assignor"),
)
_METRIC = ("metric", pa.string(), "name of the metric; only runs that produced an assignment count")

CELLS = table_schema(
    "One row per cell and metric. After these columns follows one column per factor of any sweep.",
    *_SETTING,
    _METRIC,
    ("runs", pa.int64(), "runs of the cell"),
    ("errors", pa.int64(), "runs that raised an error"),
    ("failed", pa.int64(), "runs that ended early or without an assignment (verdicts failed, stopped and empty)"),
    ("stable", pa.float64(), "share of the runs that converged (verdict stable)"),
    ("known", pa.int64(), "runs that have the metric; basis of the following columns"),
    ("mean", pa.float64(), "mean"),
    ("p50", pa.float64(), "median"),
    ("p95", pa.float64(), "95th percentile, interpolated"),
    ("sd", pa.float64(), "standard deviation; null for fewer than two values"),
    (
        "ci_low",
        pa.float64(),
        "lower end of the 95 % bootstrap interval of the mean, at least 0; null for fewer than two values",
    ),
    ("ci_high", pa.float64(), "upper end"),
)

DIFFERENCES = table_schema(
    "One row per metric and cell of an assignor other than the baseline: differences from the baseline in the same "
    "setting, paired by seed.",
    *_SETTING,
    ("baseline", pa.string(), "label of the baseline"),
    _METRIC,
    ("pairs", pa.int64(), "seeds for which both have the metric; basis of the following columns"),
    ("mean_difference", pa.float64(), "mean of the differences, assignor minus baseline"),
    ("relative_difference", pa.float64(), "mean difference as a share of the mean of the baseline; null if that is 0"),
    (
        "difference_low",
        pa.float64(),
        "lower end of the 95 % bootstrap interval of the mean difference; null for fewer than two pairs",
    ),
    ("difference_high", pa.float64(), "upper end"),
    ("excludes_zero", pa.bool_(), "whether the interval excludes 0 (significant difference); null without an interval"),
    ("effect_size", pa.float64(), "d_z: mean difference divided by the standard deviation of the differences"),
    ("effect_unknown", pa.string(), "reason if there is no effect size; null otherwise"),
    ("better", pa.float64(), "share of the pairs with a lower value; null if lower is not better for this metric"),
    ("worse", pa.float64(), "share of the pairs with a higher value; null if lower is not better for this metric"),
)

FRONT = table_schema(
    "One row per cell: whether it is on the Pareto front of its scenario, and if not, why. An objective that some run "
    "of the cell does not have, such as the time to converge, counts as worse than any value.",
    *_SETTING,
    ("runs", pa.int64(), "runs of the cell"),
    ("errors", pa.int64(), "runs that raised an error"),
    ("failed", pa.int64(), "runs that ended without an assignment"),
    ("stable", pa.float64(), "share of the runs that converged (verdict stable)"),
    (
        "on_front",
        pa.bool_(),
        "whether the cell is Pareto-optimal: no other cell is at least as good in every objective and better in one",
    ),
    ("place", pa.int64(), "rank on the front, from 1, by the first objective, then the next; null if not on the front"),
    (
        "best_of",
        pa.list_(pa.string()),
        "objectives with the lowest value of all cells; ties go to the cell with the lowest other objectives",
    ),
    ("left_out", pa.string(), "reason if the cell was not considered; null otherwise"),
    ("dominated_by_sweep", pa.string(), "if dominated: sweep of the first front cell that dominates it"),
    ("dominated_by_setting", pa.int64(), "if dominated: setting of that cell"),
    ("dominated_by_assignor", pa.string(), "if dominated: assignor of that cell"),
    *(
        column
        for name in OBJECTIVES
        for column in (
            (name, pa.float64(), "mean of the metric; null unless every run has it"),
            (f"{name}_low", pa.float64(), "lower end of the interval of that mean"),
            (f"{name}_high", pa.float64(), "upper end"),
        )
    ),
)

_EFFECT = (
    ("scenario", pa.string(), "name of the scenario"),
    ("sweep", pa.string(), "name of the sweep"),
    ("metric", pa.string(), "name of the metric"),
)

SENSITIVITY = table_schema(
    "One row per metric and factor: share of the variance of all runs that the factor explains alone. The assignor is "
    "a factor, too. Factors with a single level are left out.",
    *_EFFECT,
    ("factor", pa.string(), "name of the factor"),
    ("rank", pa.int64(), "1 for the factor with the largest share for this metric"),
    ("levels", pa.int64(), "number of levels"),
    ("runs", pa.int64(), "runs that have the metric"),
    ("share", pa.float64(), "epsilon²: eta² corrected for the number of levels, at least 0"),
    ("unknown", pa.string(), "reason if there is no share; null otherwise"),
)

LEVELS = table_schema(
    "One row per metric, factor and level. A numeric factor with more than 10 distinct values is divided into bins of "
    "about equally many settings.",
    *_EFFECT,
    ("factor", pa.string(), "name of the factor"),
    ("position", pa.int64(), "index of the level in the factor, from 0"),
    ("level", pa.string(), "the value, or the range of the bin"),
    ("low", pa.float64(), "smallest value in the bin, or the value itself; null unless numeric"),
    ("high", pa.float64(), "largest value in the bin, or the value itself; null unless numeric"),
    ("runs", pa.int64(), "runs that have the metric"),
    ("mean", pa.float64(), "mean over these runs; null without runs"),
    ("sd", pa.float64(), "standard deviation over these runs; null for fewer than two"),
)

PAIRS = table_schema(
    "One row per metric and pair of levels of two factors that occur together.",
    *_EFFECT,
    ("factor", pa.string(), "name of the first factor"),
    ("other", pa.string(), "name of the second factor"),
    ("position", pa.int64(), "index of the level of the first factor, as in `levels`"),
    ("other_position", pa.int64(), "index of the level of the second factor"),
    ("level", pa.string(), "level of the first factor"),
    ("other_level", pa.string(), "level of the second factor"),
    ("runs", pa.int64(), "runs that have the metric"),
    ("mean", pa.float64(), "mean over these runs; null without runs"),
)

AGGREGATE_SCHEMAS: dict[str, pa.Schema] = {
    "cells": CELLS,
    "differences": DIFFERENCES,
    "front": FRONT,
    "sensitivity": SENSITIVITY,
    "levels": LEVELS,
    "pairs": PAIRS,
}
"""Every table of an aggregate by name."""
