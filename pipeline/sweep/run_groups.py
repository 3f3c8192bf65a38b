"""The groups of runs of `sweep --until-significant`: run one, decide in Spark which pairs stop, run the next one."""

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
from pipeline.sweep.job import RunGroup, SweepJob
from pipeline.sweep.stop_rule import (
    DECIDED_RUN,
    SETTING_STOPS,
    STOPS,
    TESTS,
    StopRule,
    baseline_values,
    decide_setting,
    decide_settings,
    setting_tests,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
