"""The tables of an aggregate: their Arrow schemas, column by column.

As in `simulator.results.tables`, a field's metadata says what the column means, and the reference is made from it.
"""

from __future__ import annotations

import pyarrow as pa

from simulator.results.tables import table_schema

MONEY = ("cross_rack_usd", "cross_rack_bytes")
"""What traffic between racks is judged by: the first one that is known of every run of every cell."""

OBJECTIVES = (*MONEY, "active_moves", "downtime_ms", "time_to_converge_ms")
"""The metrics that the Pareto front weighs against each other, less being better."""


_SETTING = (
    ("scenario", pa.string(), "name of the scenario; with the start of a hash if several scenarios have that name"),
    ("sweep", pa.string(), "name of the sweep; with a number if several sweeps have that name"),
    ("setting", pa.int64(), "number of the setting within the sweep"),
    ("label", pa.string(), "the setting in words: `standbys=1, traffic_cost=10`"),
    ("assignor", pa.string(), "label of the assignor"),
)
_METRIC = ("metric", pa.string(), "name of the metric; the runs that count are those that came to an assignment")

CELLS = table_schema(
    "One row a cell and metric, and behind these columns one for each factor of any of the sweeps, by its name.",
    *_SETTING,
    _METRIC,
    ("runs", pa.int64(), "runs of the cell that were made or tried"),
    ("errors", pa.int64(), "of these, how many could not be made"),
    ("failed", pa.int64(), "of these, how many were made and came to no assignment (verdicts failed and empty)"),
    ("stable", pa.float64(), "share of the runs that came to rest (verdict stable)"),
    ("known", pa.int64(), "runs that have the metric; the columns that follow are over these"),
    ("mean", pa.float64(), "mean"),
    ("p50", pa.float64(), "median"),
    ("p95", pa.float64(), "95th percentile, interpolated"),
    ("sd", pa.float64(), "standard deviation; null of fewer than two values"),
    (
        "ci_low",
        pa.float64(),
        "lower end of the 95 % bootstrap interval of the mean, at least 0; null of fewer than two values",
    ),
    ("ci_high", pa.float64(), "upper end"),
)

DIFFERENCES = table_schema(
    "One row a cell of another assignor than the baseline, and metric: run by run against the baseline in the same "
    "setting with the same seed.",
    *_SETTING,
    ("baseline", pa.string(), "label of the assignor it is compared with"),
    _METRIC,
    ("pairs", pa.int64(), "seeds of which both know the metric; the columns that follow are over these"),
    ("mean_difference", pa.float64(), "mean of the differences, assignor minus baseline"),
    ("relative_difference", pa.float64(), "the same as a share of the baseline's mean; null where that is 0"),
    ("difference_low", pa.float64(), "lower end of the 95 % bootstrap interval of it; null of fewer than two pairs"),
    ("difference_high", pa.float64(), "upper end"),
    ("excludes_zero", pa.bool_(), "whether the interval says that there is a difference; null without an interval"),
    ("effect_size", pa.float64(), "d_z: the mean difference in standard deviations of the differences"),
    ("effect_unknown", pa.string(), "why there is no effect size; null if there is one"),
    ("better", pa.float64(), "share of the pairs in which it has less; null if less of the metric is not better"),
    ("worse", pa.float64(), "share of the pairs in which it has more; null if less of the metric is not better"),
)

FRONT = table_schema(
    "One row a cell: whether it is on the Pareto front of its scenario, and if not, why. An objective that some run of "
    "the cell does not have is worse than any number, as the time to converge of a run that did not.",
    *_SETTING,
    ("runs", pa.int64(), "runs of the cell that were made or tried"),
    ("errors", pa.int64(), "of these, how many could not be made"),
    ("failed", pa.int64(), "of these, how many came to no assignment"),
    ("stable", pa.float64(), "share of the runs that came to rest"),
    ("on_front", pa.bool_(), "whether no other cell is at least as good in every objective and better in one"),
    ("place", pa.int64(), "place on the front, from 1, by the first objective, then the next; null if not on it"),
    (
        "best_of",
        pa.list_(pa.string()),
        "the objectives of which it has least; of several such cells, the one with least of the other objectives",
    ),
    ("left_out", pa.string(), "why it was not considered; null if it was"),
    ("dominated_by_sweep", pa.string(), "of a dominated cell: the first cell of the front that dominates it"),
    ("dominated_by_setting", pa.int64(), "the same"),
    ("dominated_by_assignor", pa.string(), "the same"),
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
    "One row a metric and factor: how much of the variance of all runs the factor explains by itself. The assignor is "
    "a factor, too; factors with a single level are left out.",
    *_EFFECT,
    ("factor", pa.string(), "name of the factor"),
    ("rank", pa.int64(), "1 for the factor that explains most of this metric"),
    ("levels", pa.int64(), "how many levels it has"),
    ("runs", pa.int64(), "runs that have the metric"),
    ("share", pa.float64(), "eta², corrected for the number of levels (epsilon²), at least 0"),
    ("unknown", pa.string(), "why there is no share; null if there is one"),
)

LEVELS = table_schema(
    "One row a metric, factor and level. A number with more than 10 different values is cut into bins of about as many "
    "settings each.",
    *_EFFECT,
    ("factor", pa.string(), "name of the factor"),
    ("position", pa.int64(), "place of the level among those of the factor, from 0"),
    ("level", pa.string(), "the value, or from where to where the bin goes"),
    ("low", pa.float64(), "least value in the bin; the value itself if there are no bins; null unless a number"),
    ("high", pa.float64(), "greatest value in the bin"),
    ("runs", pa.int64(), "runs that have the metric"),
    ("mean", pa.float64(), "mean of these runs; null if there are none"),
    ("sd", pa.float64(), "standard deviation of these runs; null of fewer than two"),
)

PAIRS = table_schema(
    "One row a metric and pair of levels of two factors, for those that occur together.",
    *_EFFECT,
    ("factor", pa.string(), "name of one factor"),
    ("other", pa.string(), "name of the other one, which comes later among the factors"),
    ("position", pa.int64(), "place of the level among those of the one, as in `levels`"),
    ("other_position", pa.int64(), "place of the level among those of the other"),
    ("level", pa.string(), "the level of the one"),
    ("other_level", pa.string(), "the level of the other"),
    ("runs", pa.int64(), "runs that have the metric"),
    ("mean", pa.float64(), "mean of these runs; null if there are none"),
)

AGGREGATE_SCHEMAS: dict[str, pa.Schema] = {
    "cells": CELLS,
    "differences": DIFFERENCES,
    "front": FRONT,
    "sensitivity": SENSITIVITY,
    "levels": LEVELS,
    "pairs": PAIRS,
}
"""Every table of an aggregate by its name."""
