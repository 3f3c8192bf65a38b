"""Execution of a sweep whose pairs stop when the sign of their difference is decided.

```
OUT/stops/stops.parquet       one row per pair and metric; written last, before the key `stopped` of the manifest
```

The runs of a look are complete before the next ones are chosen, and the choice depends on the stored runs only. A
killed sweep therefore chooses again what it had chosen, and its batches have the same numbers.

`--between settings` compares each setting with the baseline setting, for each assignor, paired by seed.

All differences of a sweep are one family: the probability that any of them is decided without an effect is at most α,
over all settings, assignors, metrics and looks (`reports.analysis.sequential_test.decide_family`). The p-values of a
setting depend on its runs and those of the baseline setting only, so workers compute them setting by setting.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pipeline.storage import Storage
from pipeline.sweep.job import SweepJob
from pipeline.sweep.run_groups import RunGroup
from pipeline.sweep.stop_rule import DECIDED_RUN, STOPS, StopRule, decide_setting, metric_values
from reports.analysis.sequential_test import decide_family, family_flips, sign_flip_p_values
from reports.analysis.statistics import Floats, without_rounding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


SETTING_STOPS = STOPS.set(STOPS.get_field_index("baseline"), pa.field("baseline_setting", pa.int64()))
"""One row per setting other than the baseline setting, assignor and metric, otherwise as `stop_rule.STOPS`."""

TESTS = pa.schema(
    [
        ("setting", pa.int64()),
        ("assignor", pa.string()),
        ("metric", pa.string()),
        ("look", pa.int64()),
        ("p", pa.float64()),
        ("mean_difference", pa.float64()),
        ("pairs", pa.int64()),
    ]
)
"""One row per difference and look: the p-value, the mean difference, and the number of seeds with both values."""

AssignorValues = dict[str, Floats]
"""Metrics by assignor, shape (seeds, metrics)."""


def baseline_values(rule: StopRule, looks: int, runs: pa.Table) -> AssignorValues:
    """Return the metrics of the baseline setting.

    `runs`: its runs, in any order, with the columns of `stop_rule.DECIDED_RUN`.
    """
    return metric_values(rule, runs.to_pylist(), rule.looks[looks - 1])


def setting_tests(rule: StopRule, looks: int, baseline: AssignorValues, runs: pa.Table) -> pa.Table:
    """Test the differences of a setting from the baseline setting at each look.

    `looks`: the number of looks so far; runs of later seeds are ignored. `runs`: the runs of the setting, in any order,
    with the columns of `stop_rule.DECIDED_RUN`. Returns rows of `TESTS`.
    """
    rows = runs.to_pylist()
    values = metric_values(rule, rows, rule.looks[looks - 1])
    tests: list[dict[str, Any]] = []
    for assignor in rule.assignors:
        differences = without_rounding(values[assignor] - baseline[assignor], values[assignor], baseline[assignor])
        for look, size in enumerate(rule.looks[:looks]):
            seen = differences[:size]
            p_values = sign_flip_p_values(seen, family_flips(rule.differences, look))
            for metric, p, column in zip(rule.metrics, p_values.tolist(), seen.T, strict=True):
                known = column[~np.isnan(column)]
                mean = float(known.mean()) if len(known) else None
                key = {"setting": rows[0]["setting"], "assignor": assignor, "metric": metric, "look": look}
                tests.append({**key, "p": p, "mean_difference": mean, "pairs": len(known)})
    return pa.Table.from_pylist(tests, schema=TESTS)


def decide_settings(rule: StopRule, looks: int, tests: pa.Table) -> pa.Table:
    """Decide which pairs of settings stop.

    `tests`: the tests of all settings but the baseline setting, in any order. Returns rows of `SETTING_STOPS`, by
    setting, assignor and metric. A difference without a test is undecided.
    """
    of_look = {(row["setting"], row["assignor"], row["metric"], row["look"]): row for row in tests.to_pylist()}
    settings = [setting for setting in range(rule.settings) if setting != rule.baseline_setting]
    pairs = [(setting, assignor) for setting in settings for assignor in rule.assignors]
    keys = [(*pair, metric) for pair in pairs for metric in rule.metrics]
    untested = {"p": 1.0, "mean_difference": None, "pairs": 0}
    found = [[of_look.get((*key, look), untested) for key in keys] for look in range(looks)]
    decisions = decide_family(np.array([[test["p"] for test in row] for row in found]))
    stops: list[dict[str, Any]] = []
    for index, ((setting, assignor, metric), decision) in enumerate(zip(keys, decisions, strict=True)):
        test = found[looks - 1 if decision.look is None else decision.look][index]
        first = index - index % len(rule.metrics)
        of_pair = [other.look for other in decisions[first : first + len(rule.metrics)]]
        known = [look for look in of_pair if look is not None]
        stops.append(
            {
                "setting": setting,
                "assignor": assignor,
                "baseline_setting": rule.baseline_setting,
                "metric": metric,
                "decided_after": None if decision.look is None else rule.looks[decision.look],
                "level": decision.level,
                "p": test["p"],
                "mean_difference": test["mean_difference"],
                "pairs": test["pairs"],
                "stopped_after": rule.looks[max(known)] if len(known) == len(of_pair) else None,
            }
        )
    return pa.Table.from_pylist(stops, schema=SETTING_STOPS)


STOPPED = "stopped"
"""Key of the manifest of a finished sweep: what was stopped."""


def run_groups(
    spark: SparkSession, storage: Storage, job: SweepJob, rule: StopRule, run_group: Callable[[RunGroup, int], None]
) -> dict[str, Any]:
    """Run the groups of a sweep until every pair is stopped or has all seeds, and write the table `stops`.

    `storage`: the output folder. `run_group` runs the missing batches of a group; it takes the group, and the number of
    runs in later groups if no further pair stops. Returns what was stopped, for the manifest.
    """
    declared = len(rule.seeds)
    sizes = (*rule.looks, declared)
    cells = len(job.prepared.sweep.settings) * len(rule.assignors)
    seeds = np.full(cells, declared)
    schema = STOPS if rule.baseline_setting is None else SETTING_STOPS
    stops, first, number = schema.empty_table(), 0, 0
    for look, size in enumerate(sizes):
        group = job.group(np.flatnonzero(seeds > first), range(first, size), number)
        if not group.runs:
            break
        run_group(group, len(group.cells) * (declared - size))
        number += len(group.batches)
        if size < declared:
            stops = _decide(spark, storage, job, rule, look + 1)
            seeds = _seeds_of_cells(rule, stops, cells)
        first = size
    file = io.BytesIO()
    pq.write_table(stops, file, compression="zstd")
    storage.write(file.getvalue(), "stops", "stops.parquet")
    return _summary(rule, stops, seeds)


def _decide(spark: SparkSession, storage: Storage, job: SweepJob, rule: StopRule, looks: int) -> pa.Table:
    """Return the stops after some looks, by setting, assignor and metric; Spark reads the runs."""
    from pyspark.sql.pandas.types import from_arrow_schema

    runs = (
        spark.read.schema(from_arrow_schema(DECIDED_RUN.remove_metadata()))
        .option("recursiveFileLookup", "true")
        .parquet(storage.path("runs"))
    )
    if rule.baseline_setting is not None:
        is_baseline = runs["setting"] == rule.baseline_setting
        # The runs of one setting: as many as assignors and seeds.
        baseline = baseline_values(rule, looks, runs.where(is_baseline).toArrow())
        tests = _by_setting(runs.where(~is_baseline), partial(setting_tests, rule, looks, baseline), TESTS)
        return decide_settings(rule, looks, tests)
    stops = _by_setting(runs, partial(decide_setting, rule, looks), STOPS)
    # Spark returns the settings in any order, but the rows of a setting together.
    assignor = pc.index_in(stops["assignor"], pa.array(rule.assignors))
    metric = pc.index_in(stops["metric"], pa.array(rule.metrics))
    order = np.lexsort((metric.to_numpy(), assignor.to_numpy(), stops["setting"].to_numpy()))
    return stops.take(pa.array(order)).combine_chunks()


def _by_setting(runs: DataFrame, function: Callable[[pa.Table], pa.Table], schema: pa.Schema) -> pa.Table:
    """Return what a function returns for the runs of each setting."""
    from pyspark.sql.pandas.types import from_arrow_schema

    def apply(runs: pa.Table) -> pa.Table:  # Spark inspects the type hints, which `partial` hides.
        return function(runs)

    return runs.groupBy("setting").applyInArrow(apply, from_arrow_schema(schema)).toArrow().cast(schema)


def _seeds_of_cells(rule: StopRule, stops: pa.Table, cells: int) -> NDArray[np.int64]:
    """Return the number of seeds that each cell gets by the decisions so far; a baseline gets the most of its pairs."""
    declared, labels = len(rule.seeds), len(rule.assignors)
    seeds = np.full(cells, declared).reshape(-1, labels)
    of_pair = stops.filter(pc.equal(stops["metric"], rule.metrics[0]))
    column = pc.index_in(of_pair["assignor"], pa.array(rule.assignors)).to_numpy()
    seeds[of_pair["setting"].to_numpy(), column] = pc.fill_null(of_pair["stopped_after"], declared).to_numpy()
    if rule.baseline_setting is not None:
        others = np.delete(seeds, rule.baseline_setting, axis=0)
        seeds[rule.baseline_setting] = others.max(axis=0)
    else:
        baseline = rule.assignors.index(rule.baseline)
        seeds[:, baseline] = np.delete(seeds, baseline, axis=1).max(axis=1)
    return seeds.ravel()


def _summary(rule: StopRule, stops: pa.Table, seeds: NDArray[np.int64]) -> dict[str, Any]:
    """Return the number of stopped pairs, cells and runs, and the stopped pairs of each look."""
    declared = len(rule.seeds)
    of_pair = stops.filter(pc.equal(stops["metric"], rule.metrics[0]))["stopped_after"]
    between = {} if rule.baseline_setting is None else {"baseline_setting": rule.baseline_setting}
    return {
        **between,
        "pairs": len(of_pair),
        "cells": int((seeds < declared).sum()),
        "runs": int((declared - seeds).sum()),
        "shared_seeds": int(seeds.min()),
        "looks": [
            {"seeds": size, "stopped_pairs": pc.sum(pc.equal(of_pair, size)).as_py() or 0} for size in rule.looks
        ],
    }
